"""Solvers: Levenberg-Marquardt with bounds and nuisance elimination, and L-BFGS-B.

Both use a `Problem` and nothing else, are deterministic, never let a failed simulation or a NaN
out, and end with the best point when cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from .normal_equations import NormalEquations
from .problem import Evaluation, Problem
from .solution import Callback, Iteration, Recorder, Solution

DAMPING_MAX = 1e16
MARGIN = 2.0
"""Times what a step promises that must not reach a target for it to be given up."""
BELIEVED = 0.7
"""Gain of a step over what it promised, or its inverse, from which on promises are believed."""
KINK_STEPS = 8


@dataclass(frozen=True, kw_only=True)
class LMOptions:
    """Settings of `levenberg_marquardt`.

    max_iterations      trial steps, rejected ones included
    gradient_tolerance  on |g_i| / sqrt(2 cost H_ii) of the free variables, the cosine between the
                        residual and a column of its Jacobian
    cost_tolerance      on the relative decrease, predicted and achieved
    kink_tolerance      on the relative decrease over KINK_STEPS trial steps, and on the undamped
                        prediction when no step helps: where contacts switch the cost has kinks, at
                        which the slope never vanishes
    step_tolerance      on the largest change of a scaled variable
    negligible          absolute decrease of the cost, as predicted, below which no step is tried
    damping             first lambda, relative to the Hessian's diagonal
    target              only whether the cost can be below it is asked: ends where it is, or where
                        a step gained what it promised and MARGIN times what an undamped one
                        promises now does not bring it there
    """

    max_iterations: int = 100
    gradient_tolerance: float = 1e-8
    cost_tolerance: float = 1e-9
    kink_tolerance: float = 1e-5
    step_tolerance: float = 1e-9
    negligible: float = 1e-300
    damping: float = 1e-3
    target: float | None = None

    def __post_init__(self) -> None:
        if self.max_iterations < 0:
            raise InputError("LMOptions", "max_iterations", self.max_iterations, "0 or more")
        for key, value in vars(self).items():
            if key not in ("max_iterations", "target") and not value > 0:
                raise InputError("LMOptions", key, value, "a number > 0")


def starting_point(
    problem: Problem, z: np.ndarray | None, y: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return copies (z clipped to the bounds, y); defaults: the problem's start and zeros."""
    z = np.array(problem.start if z is None else z, float)
    if z.shape != problem.start.shape or not np.all(np.isfinite(z)):
        raise InputError("start", "z", z, f"finite, shape {problem.start.shape}")
    y = np.zeros(problem.nuisance_shape) if y is None else np.array(y, float)
    if y.shape != tuple(problem.nuisance_shape) or not np.all(np.isfinite(y)):
        raise InputError("start", "y", y.shape, f"finite, shape {problem.nuisance_shape}")
    return np.clip(z, problem.lower, problem.upper), y


def box_step(g: np.ndarray, H: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Minimiser d (n,) of g.d + d.H d/2 in the box low <= d <= high; H positive definite."""
    scale = 1.0 / np.sqrt(np.diagonal(H))
    factor = np.linalg.cholesky(H * np.outer(scale, scale))
    target = -np.linalg.solve(factor, scale * g)
    free = high > low
    unbounded = np.linalg.solve(factor.T, target) * scale
    if np.all((unbounded >= low) & (unbounded <= high)):
        return unbounded
    d = np.clip(0.0, low, high) + np.zeros_like(g)
    if np.any(free):
        from scipy.optimize import lsq_linear  # takes a third of a second: not at a node's start

        box = (low[free] / scale[free], high[free] / scale[free])
        A = factor.T[:, free]
        found = lsq_linear(A, target, box, method="bvls", tol=1e-14, max_iter=100 + 10 * len(g))
        inner = found.x * scale[free]
        inner = np.where(found.active_mask < 0, low[free], inner)  # at a bound to the last bit
        d[free] = np.where(found.active_mask > 0, high[free], inner)
    return np.clip(d, low, high)


def _slope_measure(problem: Problem, z: np.ndarray, evaluation: Evaluation) -> float:
    """Largest cosine between residual and free Jacobian column (0 at a constrained minimum)."""
    e = evaluation.equations
    diag_z, diag_y = e.diagonals()
    gz = e.gradient_z
    blocked = ((z <= problem.lower) & (gz > 0)) | ((z >= problem.upper) & (gz < 0))
    norm = 2.0 * max(abs(evaluation.value), np.finfo(float).tiny)
    cos_z = np.abs(gz) / np.sqrt(np.maximum(norm * diag_z, np.finfo(float).tiny))
    cos_z[blocked | (gz == 0)] = 0.0
    cos_y = np.abs(e.gy) / np.sqrt(norm * diag_y) if e.gy.size else np.zeros(1)
    return float(max(cos_z.max(initial=0.0), cos_y.max(initial=0.0)))


class _Damping:
    """Lambda by Nielsen's rule and the running scale of the variables (MINPACK)."""

    def __init__(self, start: float) -> None:
        self.value, self.growth = start, 2.0
        self.scale_z: np.ndarray = np.array(-np.inf)
        self.scale_y: np.ndarray = np.array(-np.inf)

    def scale_by(self, equations: NormalEquations) -> None:
        """Raise the scales to the present diagonals; none is zero."""
        diag_z, diag_y = equations.diagonals()
        floor = 1e-10 * max(float(diag_z.max(initial=0.0)), np.finfo(float).tiny) + 1e-300
        self.scale_z = np.maximum(np.maximum(diag_z, floor), self.scale_z)
        self.scale_y = np.maximum(diag_y, self.scale_y)

    def accept(self, ratio: float) -> None:
        """Lower lambda after a good step."""
        self.value = max(self.value * max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3), 1e-12)
        self.growth = 2.0

    def reject(self) -> None:
        """Raise lambda, faster each time in a row."""
        self.value *= self.growth
        self.growth *= 2.0


def _step(
    problem: Problem, z: np.ndarray, equations: NormalEquations, damping: _Damping
) -> tuple[np.ndarray, np.ndarray, float]:
    """Damped step (dz, dy) within the bounds, y eliminated [Eqs. 9, 10], and its predicted gain."""
    while True:
        g, H, X = equations.reduced(damping.value * damping.scale_y)
        H = H + np.diag(damping.value * damping.scale_z)
        try:
            dz = box_step(g, H, problem.lower - z, problem.upper - z)
            break
        except np.linalg.LinAlgError:  # round-off of the elimination ate a small eigenvalue
            damping.reject()
    dy = -(X[:, :, 0] + X[:, :, 1:] @ dz)
    return dz, dy, -equations.change(dz, dy)


def levenberg_marquardt(
    problem: Problem, z: np.ndarray | None = None, y: np.ndarray | None = None, *,
    options: LMOptions | None = None, callback: Callback | None = None, cancel: Any = None,
) -> Solution:  # fmt: skip
    """Minimise a sum of squares; z stays in its bounds, y is eliminated by Schur complement.

    callback  called with a `Progress` after every step, accepted or not
    cancel    object with `.cancelled`; when it turns True the best point so far is returned
    """
    options = options or LMOptions()
    z, y = starting_point(problem, z, y)
    recorder = Recorder(problem, options.max_iterations, callback)
    now = recorder.counted(problem.evaluate(z, y, want="equations", cancel=cancel))
    if not now.ok:
        status = "cancelled" if now.cancelled else "start_failed"
        return recorder.solution(z, y, np.inf, status, "; ".join(now.failures[:3]))
    damping, eager, status = _Damping(options.damping), True, "max_iterations"
    believed = False
    slope = _slope_measure(problem, z, now)
    for _ in range(options.max_iterations):
        answer = _answered(problem, z, now, options.target, believed)
        if answer or slope <= options.gradient_tolerance:
            status = answer or "gradient"
            break
        damping.scale_by(now.equations)
        dz, dy, predicted = _step(problem, z, now.equations, damping)
        if predicted <= options.negligible:
            status = "objective" if damping.value < 1.0 else "stalled"
            break
        size = float(max(np.abs(dz).max(initial=0.0), np.abs(dy).max(initial=0.0)))
        new_z, new_y = np.clip(z + dz, problem.lower, problem.upper), y + dy
        # after a rejection the cost alone is asked first: derivatives would likely be wasted
        new = _evaluate(problem, recorder, new_z, new_y, eager, cancel)
        if new.cancelled or (getattr(cancel, "cancelled", False) and not new.ok):
            status = "cancelled"
            break
        gain = now.value - new.value
        ratio = gain / predicted if predicted > 0 and new.ok else -1.0
        eager = accepted = ratio > 1e-4
        believed = BELIEVED < ratio < 1.0 / BELIEVED
        tiny = predicted <= options.cost_tolerance * abs(now.value) and damping.value < 1.0
        if accepted:
            flat = tiny and gain <= options.cost_tolerance * abs(now.value)
            z, y, now = new_z, new_y, new
            slope = _slope_measure(problem, z, now)
            damping.accept(ratio)
        else:
            flat = tiny and new.ok and abs(gain) <= options.cost_tolerance * abs(now.value)
            damping.reject()
        recorder.record(z, now.value, slope, size, damping.value, accepted, new.failures)
        if getattr(cancel, "cancelled", False):
            status = "cancelled"
            break
        if flat or now.value == 0.0:
            status = "objective"
            break
        if size <= options.step_tolerance or damping.value > DAMPING_MAX:
            status = "step" if accepted or damping.value < 1.0 else "stalled"
            break
        if _slow(recorder.history, options.kink_tolerance):
            status = "kink"
            break
    if status == "stalled" and _promise(problem, z, now) <= 100 * options.kink_tolerance:
        status = "kink"
    return recorder.solution(z, y, now.value, status)


def _slow(history: Sequence[Iteration], tolerance: float) -> bool:
    """True when the last KINK_STEPS steps, some of them accepted, gained next to nothing."""
    recent = history[-KINK_STEPS - 1 :]
    if len(recent) <= KINK_STEPS or not any(p.accepted for p in recent[1:]):
        return False
    return recent[0].value - recent[-1].value <= tolerance * abs(recent[-1].value)


def _answered(
    problem: Problem, z: np.ndarray, evaluation: Evaluation, target: float | None, believed: bool
) -> str:
    """Status if it is known whether the cost can be below the target, else ""."""
    if target is None:
        return ""
    if evaluation.value < target:
        return "target"
    promised = _promise(problem, z, evaluation) * abs(evaluation.value) if believed else np.inf
    return "beyond" if evaluation.value - MARGIN * promised >= target else ""


def _promise(problem: Problem, z: np.ndarray, evaluation: Evaluation) -> float:
    """Relative decrease of the cost that an undamped step promises."""
    undamped = _Damping(1e-12)
    undamped.scale_by(evaluation.equations)
    *_, predicted = _step(problem, z, evaluation.equations, undamped)
    return predicted / max(abs(evaluation.value), np.finfo(float).tiny)


def _evaluate(
    problem: Problem, recorder: Recorder, z: np.ndarray, y: np.ndarray, eager: bool, cancel: Any
) -> Evaluation:
    """Evaluation with equations; not eager: the cost first, equations only if it is lower."""
    if not eager:
        new = recorder.counted(problem.evaluate(z, y, want="value", cancel=cancel))
        best = recorder.history[-1].value if recorder.history else np.inf
        if not new.ok or new.value >= best:
            return new
    return recorder.counted(problem.evaluate(z, y, want="equations", cancel=cancel))


class _Cancelled(Exception):
    """Leaves SciPy's loop."""


class _Descent:
    """The function for L-BFGS-B: x = (z, y), failures replaced by a bowl around the best."""

    def __init__(self, problem: Problem, recorder: Recorder, cancel: Any) -> None:
        self.problem, self.recorder, self.cancel = problem, recorder, cancel
        self.nz, nothing = len(problem.names), np.zeros(0)
        self.best: tuple[float, np.ndarray, np.ndarray] = (np.inf, nothing, nothing)
        self.failed: tuple[str, ...] = ()

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(z, y) of x."""
        return x[: self.nz], x[self.nz :].reshape(self.problem.nuisance_shape)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at x."""
        z, y = self.split(x)
        new = self.recorder.counted(
            self.problem.evaluate(z, y, want="gradient", cancel=self.cancel)
        )
        if new.cancelled or (getattr(self.cancel, "cancelled", False) and not new.ok):
            raise _Cancelled
        if not new.ok:
            self.failed += new.failures
            return self._bowl(x)
        gradient = np.concatenate([new.gradient[0], new.gradient[1].ravel()])
        if new.value < self.best[0]:
            self.best = (new.value, x.copy(), gradient)
        return new.value, gradient

    def _bowl(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """A value clearly above the best and a slope that leads the line search back."""
        value, centre, _ = self.best
        away = x - centre
        height = (abs(value) + 1.0) / max(float(away @ away), 1e-300)
        return value + height * float(away @ away), 2.0 * height * away


def lbfgs(
    problem: Problem, z: np.ndarray | None = None, y: np.ndarray | None = None, *,
    max_iterations: int = 200, gradient_tolerance: float = 1e-8, cost_tolerance: float = 1e-12,
    callback: Callback | None = None, cancel: Any = None,
) -> Solution:  # fmt: skip
    """Minimise any cost with bounds by SciPy's L-BFGS-B, gradients by the adjoint.

    gradient_tolerance is absolute on the projected gradient, cost_tolerance relative.
    """
    z, y = starting_point(problem, z, y)
    recorder = Recorder(problem, max_iterations, callback)
    x = np.concatenate([z, y.ravel()])
    first = recorder.counted(problem.evaluate(z, y, want="gradient", cancel=cancel))
    if not first.ok:
        status = "cancelled" if first.cancelled else "start_failed"
        return recorder.solution(z, y, np.inf, status, "; ".join(first.failures[:3]))
    from scipy.optimize import minimize

    descent = _Descent(problem, recorder, cancel)
    descent.best = (first.value, x, np.concatenate([first.gradient[0], first.gradient[1].ravel()]))
    free = np.full(y.size, np.inf)
    low, high = np.concatenate([problem.lower, -free]), np.concatenate([problem.upper, free])
    last = x

    def after_iteration(intermediate: np.ndarray) -> None:
        nonlocal last
        value, best, gradient = descent.best
        slope = np.abs(np.clip(best - gradient, low, high) - best).max()
        step, last = np.abs(best - last).max(), best
        recorder.record(best[: len(z)], value, slope, step, 0.0, step > 0, descent.failed)
        descent.failed = ()
        if getattr(cancel, "cancelled", False):
            raise _Cancelled

    try:
        found = minimize(
            descent, x, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
            callback=after_iteration,
            options={
                "maxiter": max_iterations, "maxfun": 50 * max_iterations + 50,
                "ftol": cost_tolerance, "gtol": gradient_tolerance, "maxcor": 30,
            },
        )  # fmt: skip
        status = {0: "objective", 1: "max_iterations"}.get(found.status, "stalled")
        if "PROJECTED GRADIENT" in str(found.message).upper():
            status = "gradient"
    except _Cancelled:
        status = "cancelled"
    value, best, _ = descent.best
    return recorder.solution(*descent.split(best), value, status)
