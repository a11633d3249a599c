"""Profile likelihood: the cost along one parameter, all others fitted again at each of its values.

    rise(v) = 2 (min over the others O(v, .) - O) / factor ,   interval {v : rise <= threshold} [19]

Unlike a standard deviation it shows that a parameter's two sides differ, and sides that the data
leave open.  `factor` is the ratio of the noise's variance to the squared sigmas for this
parameter, correlation over time included (the ratio of two covariances): so that the threshold of
chi-square holds for model error too (Pace, Salvan and Sartori, 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, nearest

from .optimizers import LMOptions, levenberg_marquardt
from .pinned import Pinned
from .problem import Problem
from .solution import Solution

POINTS = 12  # of one side at most
SPACING = 0.4  # of the root of the rise between points, in units of the threshold's root
BEYOND = 1.0  # root of the rise at which a side ends
HALVINGS = 3  # of a step whose simulation fails
SECANTS = 4  # that close in on a side's end, where the last step went far beyond it
CLOSE = 1.5  # root of the rise that is near the threshold's, in units of that


@dataclass(frozen=True)
class Profile:
    """Rise of the cost along one parameter.

    values, rise   (m,) natural values, ascending, and the rise there [19]
    low, high      ends of the interval; None: the rise does not reach the threshold (see `note`)
    value          at the least cost found;  logarithmic: the parameter's scale
    threshold      of the rise;  factor: by which the rise was divided
    """

    name: str
    unit: str
    value: float
    values: np.ndarray
    rise: np.ndarray
    low: float | None
    high: float | None
    threshold: float
    factor: float
    logarithmic: bool
    note: str = ""

    def document(self) -> dict:
        """Plain data for result.yaml."""
        return {
            "interval": [self.low, self.high], "value": self.value, "unit": self.unit,
            "threshold": self.threshold, "noise_factor": self.factor, "note": self.note,
            "values": self.values.tolist(), "rise": self.rise.tolist(),
        }  # fmt: skip


def profile(
    problem: Problem, solution: Solution, name: str, sigma: float, *, unit: str = "",
    factor: float = 1.0, threshold: float = 3.841458820694124,
    options: LMOptions | None = None, on_progress: Callable[[float], None] | None = None,
    cancel: Any = None,
) -> Profile:  # fmt: skip
    """Profile of one parameter around a solution.

    sigma    guess of its standard deviation in z: the first step
    factor, threshold  see the module; 3.84 is the 95 % quantile of chi-square with one parameter
    on_progress     called with the share that is done, 0 ... 1
    cancel   ends it; unfinished sides are then open
    """
    if name not in problem.names:
        near = nearest(name, problem.names)
        raise InputError("profile", "parameter", name, "an estimated parameter", near)
    if not (np.isfinite(sigma) and sigma > 0 and factor > 0):
        rule = "a finite standard deviation > 0 and a factor > 0"
        raise InputError("profile", name, (sigma, factor), rule)
    walk = Walk(problem, solution, problem.names.index(name), factor, threshold, options, cancel)
    report = on_progress or (lambda share: None)
    sides = []
    for k, sign in enumerate((-1.0, 1.0)):

        def side_done(share: float, k: int = k) -> None:
            report(0.5 * (k + share))

        sides.append(walk.side(sign, sigma, side_done))
    return walk.profile(name, unit, *sides)


@dataclass
class _Side:
    """Points (z, cost) away from the solution, and why they end."""

    points: list[tuple[float, float]]
    end: str


class Walk:
    """Re-optimised points along one variable, each started from the one before."""

    def __init__(
        self, problem: Problem, solution: Solution, index: int, factor: float, threshold: float,
        options: LMOptions | None, cancel: Any,
    ) -> None:  # fmt: skip
        self.problem, self.index, self.cancel = problem, index, cancel
        self.factor, self.threshold = factor, threshold
        self.solution, self.least = solution, solution.value
        # a cost that is right to a hundredth of the threshold is right enough
        enough = 0.005 * threshold * factor / max(abs(solution.value), 1e-300)
        self.options = options or LMOptions(
            max_iterations=20, cost_tolerance=float(np.clip(enough, 1e-10, 1e-3)),
            gradient_tolerance=1e-7, step_tolerance=1e-7,
        )  # fmt: skip

    def _root(self, cost: float) -> float:
        return float(np.sqrt(max(0.0, 2.0 * (cost - self.least) / self.factor)))

    def _solved(self, z: float, last: Solution, whole: np.ndarray) -> tuple[Solution, np.ndarray]:
        """Solution with the variable at z, and all variables there."""
        pinned = Pinned(self.problem, {self.index: z})
        found = levenberg_marquardt(
            pinned, whole[pinned.kept], last.y, options=self.options, cancel=self.cancel
        )
        return found, pinned.whole(found.z)

    def reaches(self, z: float, rise: float) -> bool:
        """Whether the cost rises by that much with the variable at z; True where it cannot be
        simulated.

        That a prior alone rises so far beyond its slope is enough where the rest is convex.  Else
        the others are fitted again until it is known, from the better of two starts: where they
        are at the solution, and where the equations there put them.
        """
        away, at = z - float(self.solution.z[self.index]), self.solution
        pinned = Pinned(self.problem, {self.index: z})
        starts = [(at.z[pinned.kept], at.y)]
        if self._slopes is not None:
            prior, by_z, by_y = self._slopes
            if prior * away**2 >= rise * self.factor:
                return True
            near = np.clip(at.z + away * by_z, self.problem.lower, self.problem.upper)
            starts.append((near[pinned.kept], at.y + away * by_y))
        costs = [pinned.evaluate(*start, cancel=self.cancel).value for start in starts]
        target = self.least + 0.5 * rise * self.factor
        best = int(np.argmin(costs))
        if not np.isfinite(costs[best]) or costs[best] < target:
            return not np.isfinite(costs[best])
        options = replace(self.options, target=target)
        found = levenberg_marquardt(pinned, *starts[best], options=options, cancel=self.cancel)
        return found.value >= target

    @cached_property
    def _slopes(self) -> tuple[float, np.ndarray, np.ndarray] | None:
        """Of the variable: the curvature of its prior; how all variables z (nz,) and y (K, ny)
        follow it by the equations at the solution.  None: these are singular."""
        at, i = self.solution, self.index
        found = self.problem.evaluate(at.z, at.y, want="curvature", cancel=self.cancel)
        if not found.ok:
            return None
        _, H, X = found.equations.reduced()
        inside = (at.z > self.problem.lower + 1e-9) & (at.z < self.problem.upper - 1e-9)
        free = np.flatnonzero(inside & (np.arange(len(at.z)) != i))
        by_z = np.zeros(len(at.z))
        by_z[i] = 1.0
        try:
            by_z[free] = -np.linalg.solve(H[np.ix_(free, free)], H[free, i])
        except np.linalg.LinAlgError:
            return None
        return float(found.equations.prior_H[i, i]), by_z, -(X[:, :, 1:] @ by_z)

    def end(self, sign: float, sigma: float, points: int) -> float | None:
        """z at which the rise passes the threshold on one side, closed in on by secants; None where
        it does not, in so many points."""
        side = self.side(sign, sigma, lambda share: None, points)
        if side.end:
            return None
        start = (float(self.solution.z[self.index]), float(self.solution.value))
        known = [start, *side.points]
        best, self.least = min(known, key=lambda p: p[1])
        goal, whole, last = float(np.sqrt(self.threshold)), self.solution.z, self.solution
        for _ in range(SECANTS):
            below = max((p for p in known if self._root(p[1]) < goal), key=lambda p: sign * p[0])
            above = min((p for p in known if self._root(p[1]) >= goal), key=lambda p: sign * p[0])
            roots = self._root(below[1]), self._root(above[1])
            if roots[1] < CLOSE * goal:
                break
            share = float(np.clip((goal - roots[0]) / (roots[1] - roots[0]), 0.2, 0.8))
            z = below[0] + share * (above[0] - below[0])
            found, _ = self._solved(z, last, whole)
            if not np.isfinite(found.value):
                break
            known.append((z, found.value))
        return self._crossing(sign, best, sorted(known))

    def side(
        self, sign: float, sigma: float, report: Callable[[float], None], most: int = POINTS
    ) -> _Side:
        """Step until the threshold is passed, a bound is reached, or a simulation fails."""
        low, high = self.problem.lower[self.index], self.problem.upper[self.index]
        bound, goal = (low if sign < 0 else high), float(np.sqrt(self.threshold))
        whole, last = self.solution.z.copy(), self.solution
        at, root, step, failed = whole[self.index], 0.0, SPACING * goal * sigma, 0
        points: list[tuple[float, float]] = []
        step *= np.sqrt(self.factor)
        while len(points) < most:
            if sign * (bound - at) <= 1e-9:
                return _Side(points, f"its {'lower' if sign < 0 else 'upper'} bound")
            z = float(np.clip(at + sign * step, low, high))
            found, there = self._solved(z, last, whole)
            if getattr(self.cancel, "cancelled", False):
                return _Side(points, "cancelled")
            if not np.isfinite(found.value):
                failed += 1
                if failed > HALVINGS:
                    return _Side(points, "a simulation that fails there")
                step *= 0.5
                continue
            points.append((z, found.value))
            new = self._root(found.value)
            gained = (new - root) / max(abs(z - at), 1e-300)
            at, root, last, whole = z, new, found, there
            report(min(1.0, root / goal))
            if root >= BEYOND * goal:
                return _Side(points, "")
            wanted = SPACING * goal / gained if gained > 0 else 2.5 * step
            step = float(np.clip(wanted, step / 3.0, 2.5 * step))
        return _Side(points, f"{most} points")

    def profile(self, name: str, unit: str, below: _Side, above: _Side) -> Profile:
        """Both sides together, their crossings with the threshold found."""
        start = (float(self.solution.z[self.index]), float(self.solution.value))
        points = sorted([*below.points, start, *above.points])
        best, least = min(points, key=lambda p: p[1])
        gain, self.least = self.least - least, least
        notes = []
        if 2.0 * gain / self.factor > 0.1:
            notes.append("a lower cost was found along the profile: the fit had not ended")
        ends = []
        for sign, side in ((-1.0, below), (1.0, above)):
            ends.append(self._crossing(sign, best, points))
            if ends[-1] is None:
                word = "below" if sign < 0 else "above"
                notes.append(f"open {word}: the threshold is not reached before {side.end}")
        z = np.array([p[0] for p in points])
        rise = np.array([self._root(p[1]) ** 2 for p in points])
        low, high = (None if e is None else self.value(e) for e in ends)
        return Profile(
            name, unit, self.value(best), np.array([self.value(v) for v in z]), rise, low, high,
            self.threshold, self.factor, bool(self.problem.logarithmic[self.index]),
            "; ".join(notes),
        )  # fmt: skip

    def _crossing(
        self, sign: float, best: float, points: Sequence[tuple[float, float]]
    ) -> float | None:
        """Value of z at which the root of the rise passes that of the threshold."""
        goal, z, roots = np.sqrt(self.threshold), [best], [0.0]
        for at, cost in points if sign > 0 else reversed(points):
            if sign * (at - best) > 0:
                z.append(at)
                roots.append(max(self._root(cost), roots[-1] + 1e-12))
        if roots[-1] < goal:
            return None
        from scipy.interpolate import PchipInterpolator  # not at a node's start

        return float(PchipInterpolator(roots, z)(goal))

    def value(self, z: float) -> float:
        """Natural value of the variable at z."""
        whole = self.solution.z.copy()
        whole[self.index] = z
        return float(self.problem.values(whole)[self.index])
