"""The last stretch of a rough cost: BFGS with a weak Wolfe line search.

Where contacts switch the cost has kinks.  Levenberg-Marquardt uses the slope of one side only and
stops there, though the cost may still fall along the kink; quasi-Newton updates learn it (Lewis and
Overton, Nonsmooth optimization via quasi-Newton methods, 2013).  The inverse Hessian starts as the
Gauss-Newton one, so that a smooth minimum does not change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .normal_equations import NormalEquations
from .problem import Problem
from .solution import Callback, Recorder, Solution

MEMORY = 60
LINE_STEPS = 15
MISSES = 6  # line searches in a row without decrease


class _Metric:
    """Inverse of the undamped Gauss-Newton Hessian on x = (free z, y), then L-BFGS updates."""

    def __init__(self, equations: NormalEquations, free: np.ndarray) -> None:
        _, H, X = equations.reduced()
        scale = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-12))[free]
        values, vectors = np.linalg.eigh(H[np.ix_(free, free)] * np.outer(scale, scale))
        root = vectors / np.sqrt(np.maximum(values, 1e-9))
        self.reduced = scale[:, None] * (root @ root.T) * scale
        self.follow = X[:, :, 1:][:, :, free]  # H_yy^-1 H_yz
        self.inner = np.linalg.inv(equations.Hyy) if equations.gy.size else equations.Hyy
        self.pairs: list[tuple[np.ndarray, np.ndarray, float]] = []
        self.n, self.shape = len(free), equations.gy.shape

    def _gauss_newton(self, g: np.ndarray) -> np.ndarray:
        """Solve the arrow system [Eqs. 9, 10] for the right-hand side g."""
        gz, gy = g[: self.n], g[self.n :].reshape(self.shape)
        dz = self.reduced @ (gz - np.einsum("kyz,ky->z", self.follow, gy))
        dy = np.einsum("kij,kj->ki", self.inner, gy) - self.follow @ dz
        return np.concatenate([dz, dy.ravel()])

    def times(self, g: np.ndarray) -> np.ndarray:
        """Inverse Hessian times g, by the two-loop recursion."""
        g, kept = g.copy(), []
        for s, d, rho in reversed(self.pairs):
            kept.append(rho * (s @ g))
            g -= kept[-1] * d
        x = self._gauss_newton(g)
        for (s, d, rho), a in zip(self.pairs, reversed(kept), strict=True):
            x += (a - rho * (d @ x)) * s
        return x

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """Update with the gradient's change along a step."""
        curvature = float(step @ change)
        if curvature > 0:
            self.pairs = [*self.pairs, (step, change, 1.0 / curvature)][-MEMORY:]


class _Line:
    """The cost along x = (free z, y); evaluations by the adjoint, or through S if that is asked."""

    def __init__(
        self, problem: Problem, recorder: Recorder, z: np.ndarray, free: np.ndarray,
        shape: tuple[int, ...], want: str, cancel: Any,
    ) -> None:  # fmt: skip
        self.problem, self.recorder, self.cancel, self.want = problem, recorder, cancel, want
        self.z, self.free, self.shape = z, free, shape

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(z, y) of x."""
        z = self.z.copy()
        z[self.free] = x[: len(self.free)]
        return z, x[len(self.free) :].reshape(self.shape)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray | None]:
        """Value and gradient; (inf, None) for a failure."""
        found = self.problem.evaluate(*self.split(x), want=self.want, cancel=self.cancel)
        self.recorder.counted(found)
        if not found.ok:
            return np.inf, None
        return found.value, np.concatenate(
            [found.gradient[0][self.free], found.gradient[1].ravel()]
        )

    def room(self, x: np.ndarray, d: np.ndarray) -> float:
        """Longest step along d that keeps the free z within their bounds."""
        n = len(self.free)
        z, dz = x[:n], d[:n]
        low, high = self.problem.lower[self.free], self.problem.upper[self.free]
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(dz > 0, (high - z) / dz, np.where(dz < 0, (low - z) / dz, np.inf))
        return float(reach.min(initial=np.inf))


def _weak_wolfe(
    line: _Line, x: np.ndarray, value: float, slope: float, d: np.ndarray
) -> tuple[tuple[np.ndarray, float, np.ndarray] | None, tuple[np.ndarray, np.ndarray] | None]:
    """Bisection for decrease and a flatter slope.

    Returns the best point (x, value, gradient) or None without decrease, and the last point beyond
    (step, gradient) or None: on the other side of a kink.
    """
    best: tuple[np.ndarray, float, np.ndarray] | None = None
    beyond: tuple[np.ndarray, np.ndarray] | None = None
    low, high = 0.0, line.room(x, d)
    t = min(1.0, 0.9 * high)
    for _ in range(LINE_STEPS):
        new, g = line(x + t * d)
        if getattr(line.cancel, "cancelled", False):
            break
        if g is None or not new < value + 1e-4 * t * slope:
            high = t
            beyond = beyond if g is None else (t * d, g)
        else:
            best = (x + t * d, new, g)
            if g @ d >= 0.5 * slope:
                break
            low = t
        t = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
        if t == low or (best is not None and high - low < 1e-3 * high):
            break
    return best, beyond


def polish(
    problem: Problem, solution: Solution, *, max_iterations: int = 60, tolerance: float = 1e-3,
    window: int = 8, want: str = "equations", callback: Callback | None = None,
    cancel: Any = None,
) -> Solution:  # fmt: skip
    """Continue from a solution until `window` iterations together gain less than `tolerance`.

    tolerance  on the cost itself, whose unit is one: a rise by 1/2 is one standard deviation
    want       gradients through S ("equations") or the adjoint ("gradient"), the same to 1e-9
    Parameters at their bounds stay there.  Returns the better Solution, with the status and the
    history of this stage, or the given one when it cannot be simulated.
    """
    recorder = Recorder(problem, max_iterations, callback)
    z, y = solution.z, solution.y
    first = recorder.counted(problem.evaluate(z, y, want="equations", cancel=cancel))
    if not first.ok:
        return solution
    free = np.array([i for i, n in enumerate(problem.names) if n not in solution.at_bound], int)
    metric = _Metric(first.equations, free)
    line = _Line(problem, recorder, z, free, y.shape, want, cancel)
    x, value = np.concatenate([z[free], y.ravel()]), first.value
    g = np.concatenate([first.gradient[0][free], first.gradient[1].ravel()])
    values, status, misses = [value], "max_iterations", 0
    for _ in range(max_iterations):
        d = -metric.times(g)
        if abs(g @ d) < 0.1 * tolerance:  # twice the decrease that the quadratic model promises
            status = "gradient"
            break
        found, beyond = _weak_wolfe(line, x, value, float(g @ d), d)
        if getattr(cancel, "cancelled", False):
            status = "cancelled"
            break
        if found is None:  # at a kink: learn its other side and look along it
            misses += 1
            if beyond is None or misses > MISSES:
                status = "kink"
                break
            metric.learn(beyond[0], beyond[1] - g)
            continue
        misses = 0
        new_x, value, new_g = found
        step = float(np.abs(new_x - x).max())
        metric.learn(new_x - x, new_g - g)
        x, g = new_x, new_g
        values.append(value)
        slope = float(np.sqrt(max(g @ metric.times(g), 0.0) / max(2 * abs(value), 1e-300)))
        recorder.record(line.split(x)[0], value, slope, step, 0.0, True)
        if len(values) > window and values[-1 - window] - value < tolerance:
            status = "objective"
            break
    return recorder.solution(*line.split(x), value, status)
