"""Whether the derivative of the simulated motion is that of the continuous one.

The exact derivative of steps of h may depend on where within a step contacts begin (their phase).
With g_h a problem's gradient at steps h, G its mean over phases at h/4, and the scale
D_i = max(|G_i|, 1e-3 |G|), each parameter i has

    spread_i = rms over phases of (g_h - mean)_i/D_i,   change_i = |g_{h/2} - g_h|_i/D_i (h/4 too),
    error_i = rms over phases of (g_h - G)_i/D_i.

Phases are those of steps up to a sixth shorter, whose motions are read at the same times.

Where a force jumps at touchdown, g_h may be the same at all phases and steps, and still be wrong:
the motion jumps whenever a touchdown moves to another step, which no derivative contains.  Secants
of the motion at h/8 over changes that move touchdowns across many steps do: they take the place of
G where they differ from it.  If a start grows so much that secants mean nothing, there are none.

Third, a derivative that converges may still hold only for changes that nobody makes, because the
motion is chaotic: differences over decades of size are beside it (gradient_reach.py).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from .gradient_reach import LEAST, MOST, NAMED, Reach, reaches
from .optimizers import starting_point
from .resampled import APART, Refined
from .settling_cause import Cause, cause_of
from .simulation_problem import SimulationProblem

SETTLED, ROUGH = 0.05, 0.25
FLOOR = 1e-3  # of |G|: smaller components count as this
SHIFT = 0.2  # more steps, at most; never fewer: motors' keys may be a step apart
PHASES, FEWER = 8, 4  # at h, and at smaller steps
GROWTH = 100.0
PERTURBED = (1e-9, 1e-8, 1e-7, 1e-6)
ROWS, MEMORY = 256, 2e8  # rows and bytes of S at most, where only the last row counts
CHANGES = 10.0 ** -np.arange(3.0, 1.25, -0.5)  # of the scaled variables, for secants
AGREEING, STRAIGHT = 3, 0.1  # as many consecutive changes have secants that differ by less
SECANTS = 8  # times finer; twice that where the motion jumps
PARAMETERS = 16  # at most, the largest, whose own secants are taken
LASTING = 0.5  # of the spread at h, at a quarter and an eighth of it: no limit


@dataclass(frozen=True)
class Settling:
    """One parameter: g_h, G, and relative to D_i (see the module) the rest.

    verdict  settled | rough | does not mean the motion | small changes only | grows
    reach    for which changes it is right; None: not tried, as of many others that are off
    """

    name: str
    gradient: float
    reference: float
    spread: float
    half: float
    quarter: float
    error: float
    verdict: str
    reach: Reach | None = None

    @property
    def converged(self) -> bool:
        """Whether it is the derivative of the motion, if only for small changes."""
        return self.error <= SETTLED

    @property
    def reaches(self) -> bool:
        """Whether it is right for changes that users make, as far as is known."""
        return self.reach is None or self.reach.enough


@dataclass(frozen=True)
class SettlingReport:
    """All parameters of a problem.

    growth   of a perturbation of the start of 1e-9 ... 1e-6 until the end; NaN: nothing to perturb
    spreads  (n, rms spread over phases of the unsettled parameters at h/n)
    limit    False: as the step decreases, the derivative does not approach that of the motion
    jumps    how much of the motion's change no derivative contains, 0: none was found (none is
             looked for where `growth` is large)
    lawless  contacts whose force jumps at touchdown (damping: thesis)
    failed   runs that could not be simulated, and were left out
    """

    label: str
    step: float
    parameters: tuple[Settling, ...]
    growth: float
    cause: Cause | None
    spreads: tuple[tuple[int, float], ...]
    limit: bool
    jumps: float
    lawless: tuple[str, ...]
    failed: int

    @property
    def settled(self) -> bool:
        """True when every parameter is, and there is a limit."""
        return self.limit and all(p.verdict == "settled" for p in self.parameters)

    @property
    def worst(self) -> float:
        """Largest error of a parameter."""
        return max(p.error for p in self.parameters)

    def summary(self) -> str:
        """A sentence on each thing that a user should know."""
        loose = [p for p in self.parameters if not p.converged]
        head = f"{self.label}: " if self.label else ""
        if self.settled:
            count = f"all {len(self.parameters)} derivatives"
            lines = [f"settled: {count} are the motion's, to {percent(self.worst)} at this step"]
            if any(p.reach is not None for p in self.parameters):
                lines[0] += f", and right for changes of {percent(LEAST)} of usual ones"
        else:
            lines = self._unsettled(loose)
        if any(p.verdict == "grows" for p in self.parameters):
            lines.append(
                f"a small change of the start grows {self.growth:.2g} times until the end"
                + (": no step near this one gives a derivative that has converged" if loose else "")
                + "; shorten the motion"
            )
        if not self.limit:
            lines.append(self._no_limit())
        unseen = sum(p.reach is None and p.error <= ROUGH for p in self.parameters)
        if unseen and unseen < len(self.parameters):
            lines.append(f"changes were tried of the {MOST} largest derivatives, of {unseen} not")
        if self.failed:
            lines.append(f"{self.failed} runs with other steps failed and were left out")
        return head + "\n".join(lines)

    def _unsettled(self, loose: list[Settling]) -> list[str]:
        """Which derivatives do not converge, and which hold only for small changes."""
        lines = []
        if loose or not self.limit:
            count = f"{len(loose)} of {len(self.parameters)} derivatives"
            lines = [f"NOT SETTLED: {count} are not the motion's, by up to {percent(self.worst)}"]
            if self.cause and any(p.spread > SETTLED for p in loose):
                lines[0] += f"; most of it arises where {self.cause}"
            elif self.limit:
                lines[0] += "; a smaller step helps, the phase of contacts matters little"
        short = [p for p in self.parameters if not p.reaches]
        if short:
            count = f"{len(short)} of {len(self.parameters)} derivatives"
            word = "" if lines else "NOT SETTLED: "
            lines.append(f"{word}{count} do not predict changes of {percent(LEAST)} of usual ones:")
            lines += [f"  {p.name}: {p.reach}" for p in sorted(short, key=_narrow)[:NAMED]]
        return lines

    def _no_limit(self) -> str:
        text = "the derivative does not converge to the motion's as the step decreases: "
        if self.jumps:
            text += f"it lacks up to {percent(self.jumps)} of how the motion changes, which jumps "
            text += "whenever a touchdown moves to another step"
        else:
            levels = ", ".join(f"{percent(s)} at h/{n}" for n, s in self.spreads)
            text += f"its spread over phases is {levels}"
        if self.lawless:
            text += f"; {', '.join(self.lawless)}: damping thesis has a force that jumps at "
            text += "touchdown, take continuous or ramped"
        return text


def _narrow(parameter: Settling) -> tuple[float, float]:
    """Sorts the narrowest reaches first, the largest derivatives before others."""
    reach = parameter.reach
    assert reach is not None
    return reach.right_up_to / reach.usual, -abs(parameter.gradient)


def percent(share: float) -> str:
    """A share in words."""
    if share < 1e-4:
        return "< 0.01 %"
    return "> 999 %" if share > 9.99 else f"{100 * share:.{2 if share < 0.0995 else 3}g} %"


def check_settling(
    problem: SimulationProblem, z: np.ndarray | None = None, y: np.ndarray | None = None, *,
    label: str = "", cancel: Any = None,
) -> SettlingReport:  # fmt: skip
    """Compare the gradient by z at a point between steps and phases; default: the problem's start.

    The parameters of the engine, k_t among them, stay as they are when the step changes.
    """
    z, y = starting_point(problem, z, y)
    runs = _Runs(_thinned(problem), z, y, cancel)
    base, *finer = runs.gradients([1.0, 2.0, 4.0])
    coarse = runs.gradients(phases(1, PHASES))
    fine = [finer[-1], *runs.gradients(phases(4, FEWER - 1))]
    if base is None or min(_count(coarse), _count(fine)) < 3:
        why = runs.failure or "too many runs failed"
        raise InputError("check_settling", "z", why, "a point that can be simulated at any step")
    g, at_coarse, at_fine = base.gradient, _stack(coarse), _stack(fine)
    every = np.vstack([g[None], at_coarse])

    def relative(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """D (nz,), and the error."""
        least = max(FLOOR * float(np.linalg.norm(G)), np.finfo(float).tiny)
        D = np.maximum(np.abs(G), least)
        return D, np.sqrt(np.mean(((every - G) / D) ** 2, axis=0))

    G, growth, jumps = at_fine.mean(axis=0), runs.growth(), 0.0
    if not growth > GROWTH:
        jumps = runs.jumps(at_fine)
        chosen = (relative(G)[1] > SETTLED) | (jumps > 0)
        G = runs.corrected(G, chosen, 2 * SECANTS if jumps else SECANTS)
    D, error = relative(G)
    loose = error > SETTLED
    reach = reaches(runs.problem, z, y, g, lost=error > ROUGH, threads=runs.workers, cancel=cancel)
    cause = None
    if np.any(loose):
        others = [run.rollouts for run in coarse if run is not None]
        cause = cause_of(runs.problem, z, y, base.rollouts, others, loose)
    levels, limit = runs.levels(at_coarse, at_fine, D, loose, growth)
    changes = [np.full(len(g), np.nan) if r is None else np.abs(r.gradient - g) / D for r in finer]
    wide = at_fine.std(axis=0) / D
    columns = np.array([g, G, at_coarse.std(axis=0) / D, *changes, error]).T.tolist()
    parameters = tuple(
        Settling(name, g_i, G_i, s_i, half, quarter, e_i, _verdict(e_i, w_i, growth, of), of)
        for name, w_i, of, (g_i, G_i, s_i, half, quarter, e_i) in zip(
            problem.names, wide.tolist(), reach, columns, strict=True
        )
    )
    return SettlingReport(
        label, problem.options.step, parameters, growth, cause, levels, limit and not jumps, jumps,
        _lawless(problem.scene), runs.failed,
    )  # fmt: skip


def phases(refinement: int, count: int) -> list[float]:
    """Times as many steps for `count` phases: irregular, so that no contact sees a phase twice."""
    parts = np.arange(count) + np.random.default_rng(0).random(count)
    return (refinement * (1.0 + SHIFT * parts / count)).tolist()


def _verdict(error: float, fine: float, growth: float, reach: Reach | None) -> str:
    """By the error at h, the spread at h/4, and for which changes it is right."""
    if error <= ROUGH:
        if reach is not None and not reach.enough:
            return "grows" if growth > GROWTH else "small changes only"
        return "settled" if error <= SETTLED else "rough"
    return "grows" if growth > GROWTH and fine > ROUGH else "does not mean the motion"


def _thinned(problem: SimulationProblem) -> SimulationProblem:
    """The problem at its usual tolerance, with few rows where objectives read the last one only."""
    other = problem.watched()
    other.options.stagnate = False
    read = [getattr(o, "frame", None) for t in other.trials for o in t.objectives]
    last = all(isinstance(frame, int) and frame == -1 for frame in read)
    if last and len(other.trials) == 1:
        steps = other.trials[0].steps
        most = max(8, min(ROWS, int(MEMORY / (16 * other.scene.ndof * len(other.active)))))
        rows = [k for k in range(8, most + 1) if steps % k == 0 and steps // k >= APART]
        if rows:
            other.options.record_every = steps // rows[-1]
    return other


@dataclass(frozen=True)
class _Run:
    """Gradient (nz,) and, for each trial, the rollout."""

    gradient: np.ndarray
    rollouts: Sequence[Any]


def _stack(runs: Sequence[_Run | None]) -> np.ndarray:
    return np.array([run.gradient for run in runs if run is not None])


def _count(runs: Sequence[_Run | None]) -> int:
    return sum(run is not None for run in runs)


class _Runs:
    """The problem at one point with any steps."""

    def __init__(
        self, problem: SimulationProblem, z: np.ndarray, y: np.ndarray, cancel: Any
    ) -> None:
        self.problem, self.z, self.y, self.cancel = problem, z, y, cancel
        self.workers = problem.threads or os.cpu_count() or 1
        problem.threads = 1
        self.failed, self.failure = 0, ""

    def gradients(self, factors: Sequence[float]) -> list[_Run | None]:
        """One run for each factor, side by side; None where it failed."""
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(self._gradient, factors))

    def _gradient(self, factor: float) -> _Run | None:
        simulator = Refined(factor)
        finer = self.problem.simulated_by(simulator)
        found = finer.evaluate(self.z, self.y, want="equations", cancel=self.cancel)
        if found.cancelled:
            raise InputError("check_settling", "run", "cancelled", "a run to its end")
        if not found.ok:
            self.failed, self.failure = self.failed + 1, "; ".join(found.failures)
            return None
        return _Run(found.gradient[0], simulator.rollouts)

    def secants(self, along: np.ndarray, finer: int) -> tuple[np.ndarray, np.ndarray]:
        """Slope of the value at h/finer along (n, nz), and how far its secants are apart.

        Of central differences over `CHANGES` those that agree best; NaN, infinity without any.
        """
        problem = self.problem.simulated_by(Refined(float(finer)))

        def value(change: np.ndarray) -> float:
            return float(problem.evaluate(self.z + change, self.y, cancel=self.cancel).value)

        sizes = np.array([*CHANGES, *-CHANGES])
        points = (along[:, None] * sizes[:, None]).reshape(-1, along.shape[1])
        with ThreadPoolExecutor(self.workers) as pool:
            values = np.array(list(pool.map(value, points))).reshape(len(along), 2, -1)
        with np.errstate(invalid="ignore"):
            slopes = (values[:, 0] - values[:, 1]) / (2.0 * CHANGES)
        windows = np.lib.stride_tricks.sliding_window_view(slopes, AGREEING, axis=1)
        apart = np.ptp(windows, axis=2)
        apart[~np.isfinite(apart)] = np.inf
        rows, best = np.arange(len(along)), np.argmin(apart, axis=1)
        return np.median(windows[rows, best], axis=1), apart[rows, best]

    def jumps(self, fine: np.ndarray) -> float:
        """Largest relative difference of secants from the gradients at h/4 (n, nz); 0: none."""
        along = np.stack([fine.mean(axis=0), np.random.default_rng(0).normal(size=fine.shape[1])])
        if not np.any(along[0]):
            return 0.0
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        secant, apart = self.secants(along, 2 * SECANTS)
        exact = fine @ along.T
        mean = exact.mean(axis=0)
        D = np.maximum(np.maximum(np.abs(secant), np.abs(mean)), FLOOR * mean[0])
        off = np.abs(secant - mean)
        sure = (apart <= STRAIGHT * D) & (off > np.maximum(3.0 * exact.std(axis=0), ROUGH * D))
        return float(np.max(off[sure] / D[sure], initial=0.0))

    def corrected(self, G: np.ndarray, chosen: np.ndarray, finer: int) -> np.ndarray:
        """G (nz,) with the secants of the largest of the chosen (nz,), where they agree."""
        order = np.argsort(-np.abs(G))
        largest = order[chosen[order]][:PARAMETERS]
        found = G.copy()
        if len(largest):
            secant, apart = self.secants(np.eye(len(G))[largest], finer)
            D = np.maximum(np.abs(secant), FLOOR * np.linalg.norm(G))
            enough = np.maximum(STRAIGHT * D, np.abs(secant - G[largest]) / 3.0)
            found[largest] = np.where(apart <= enough, secant, G[largest])
        return found

    def growth(self) -> float:
        """Largest growth of a small random change of all starts, among four sizes of it.

        Changes are relative to the longest way L of a node in the time T: L, L/T, 1 rad, 1 rad/s;
        they have grown by how far nodes are then from where they were, rms over nodes, over L.
        """
        return max((self._growth(k) for k in range(len(self.problem.trials))), default=np.nan)

    def _growth(self, trial: int) -> float:
        problem = self.problem.exact()
        scene, options = problem.scene, problem.options
        p = problem._vector(trial, self.z, problem._rows(self.y)[trial])
        steps = problem.trials[trial].steps
        duration = max(steps * options.step, options.step)
        base = Refined(1.0)(scene, p[None], np.array([steps]), options, None, "none", 0, None)[0]
        way = float(np.abs(base.position - base.position[0]).max())
        usual = {"m": way, "m/s": way / duration, "rad": 1.0, "rad/s": 1.0 / duration}
        free = [
            (i, usual[info.unit])
            for i, info in enumerate(scene.parameters)
            if info.initial and info.unit in usual and info.lower < p[i] < info.upper
        ]
        if not free or not way > 0:
            return float("nan")
        index, scale = np.array([i for i, _ in free]), np.array([s for _, s in free])
        random = np.random.default_rng(0).normal(size=(len(PERTURBED), len(index)))
        P = np.repeat(p[None], len(PERTURBED), axis=0)
        P[:, index] += np.array(PERTURBED)[:, None] * random * scale
        counts = np.full(len(P), steps)
        moved = Refined(1.0)(scene, P, counts, options, None, "none", 0, self.cancel)
        grown = [
            np.sqrt(np.mean(np.sum((run.position - base.position) ** 2, axis=2), axis=1)).max()
            / (way * size)
            for run, size in zip(moved, PERTURBED, strict=True)
            if run.ok
        ]
        return float(max(grown, default=np.nan))

    def levels(
        self, coarse: np.ndarray, fine: np.ndarray, D: np.ndarray, loose: np.ndarray, growth: float
    ) -> tuple[tuple[tuple[int, float], ...], bool]:
        """(n, spread at h/n), and whether it decreases; h/8 is run only if it seems not to."""
        if not np.any(loose):
            return (), True

        def spread(g: np.ndarray) -> float:
            part = (g - g.mean(axis=0))[:, loose] / D[loose]
            return float(np.sqrt(np.sum(part**2) / ((len(g) - 1) * loose.sum())))

        found = [(1, spread(coarse)), (4, spread(fine))]
        lasting = LASTING * found[0][1]
        if growth > GROWTH or found[0][1] <= SETTLED or found[1][1] <= lasting:
            return tuple(found), True
        finest = self.gradients(phases(8, FEWER))
        if _count(finest) < 3:
            return tuple(found), True
        found.append((8, spread(_stack(finest))))
        return tuple(found), found[2][1] <= lasting


def _lawless(scene: Any) -> tuple[str, ...]:
    """Contacts with a dashpot that acts in full from the first touch on (damping: thesis)."""
    names = {info.name for info in scene.parameters}
    return tuple(c for c in scene.contact_names if f"{c}.k_d" in names and f"{c}.d_0" not in names)
