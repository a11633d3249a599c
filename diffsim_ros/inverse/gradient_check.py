"""Exact gradients against finite differences, by the protocol of docs/design.md.

Random unit directions d in the scaled variables x; eps = 1e-3 ... 1e-9, two per decade; a pair of
runs is clean when both took the base's branches.  The plateau is the three consecutive clean eps
whose central differences differ least, FD their median, and with D = max(|g.d|, 1e-3 |g| |d|)

    error = |g.d - FD|/D,  spread = (max - min)/D,  pass: error <= max(1e-6, 3 spread) and <= 1e-4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError

from .optimizers import starting_point
from .problem import Problem

EPSILONS = 10.0 ** -np.arange(3.0, 9.25, 0.5)
FINE, COARSE = 1e-6, 1e-4
ADJOINT = 1e-9
WINDOW = 3


@dataclass(frozen=True)
class DirectionCheck:
    """One direction: g.d, its finite difference, and how they compare.

    epsilon  middle of the plateau; NaN, like difference, error and spread, without a plateau
    clean    number of clean eps
    """

    label: str
    exact: float
    difference: float
    error: float
    spread: float
    epsilon: float
    clean: int

    @property
    def has_plateau(self) -> bool:
        """True when three consecutive eps were clean."""
        return bool(np.isfinite(self.difference))

    @property
    def passed(self) -> bool:
        """True within the tolerances of a counted direction."""
        return self.has_plateau and self.error <= min(max(FINE, 3.0 * self.spread), COARSE)


@dataclass(frozen=True)
class GradientReport:
    """Many directions; adjoint: largest |g_S - g_lambda| / |g|, None if not compared."""

    checks: tuple[DirectionCheck, ...]
    adjoint: float | None = None

    @property
    def lacking(self) -> tuple[str, ...]:
        """Labels of the directions without a plateau (listed, not counted)."""
        return tuple(c.label for c in self.checks if not c.has_plateau)

    @property
    def counted(self) -> tuple[DirectionCheck, ...]:
        """Directions with a plateau."""
        return tuple(c for c in self.checks if c.has_plateau)

    @property
    def failed(self) -> tuple[DirectionCheck, ...]:
        """Counted directions out of tolerance, worst first."""
        return tuple(sorted((c for c in self.counted if not c.passed), key=lambda c: -c.error))

    @property
    def fine_share(self) -> float:
        """Share of the counted directions with error <= 1e-6."""
        return float(np.mean([c.error <= FINE for c in self.counted])) if self.counted else 0.0

    @property
    def passed(self) -> bool:
        """All rules: each counted direction, >= 95 % fine, <= 2 % lacking, S against lambda."""
        return (
            bool(self.counted)
            and not self.failed
            and self.fine_share >= 0.95
            and len(self.lacking) <= 0.02 * len(self.checks)
            and (self.adjoint is None or self.adjoint <= ADJOINT)
        )

    @property
    def worst(self) -> float:
        """Largest error of a counted direction."""
        return max((c.error for c in self.counted), default=float("nan"))

    def summary(self) -> str:
        """One line with all the counts."""
        text = (
            f"{'passed' if self.passed else 'FAILED'}: {len(self.checks)} directions, "
            f"{len(self.lacking)} without a plateau, {len(self.failed)} of {len(self.counted)} out "
            f"of tolerance, {100 * self.fine_share:.1f} % within 1e-6, worst {self.worst:.2e}"
        )
        return text if self.adjoint is None else f"{text}, S against adjoint {self.adjoint:.1e}"

    @classmethod
    def merged(cls, reports: Iterable[GradientReport]) -> GradientReport:
        """All directions of several reports as one."""
        reports = list(reports)
        adjoints = [r.adjoint for r in reports if r.adjoint is not None]
        return cls(tuple(c for r in reports for c in r.checks), max(adjoints, default=None))


Runs = Callable[[np.ndarray], tuple[Sequence[float], Sequence[object]]]


def check_gradient(
    runs: Runs, x: np.ndarray, gradient: np.ndarray, *, directions: int = 3, seed: int = 0,
    label: str = "", along: np.ndarray | None = None,
) -> GradientReport:  # fmt: skip
    """Compare `gradient` (nx,) at x (nx,) with finite differences of a scalar function.

    runs   X (n, nx) -> (values (n,), signatures (n,)): a signature names the branches taken, a
           failed run has a non-finite value
    along  (n, nx) directions, normalised here, instead of random ones
    """
    x, gradient = np.asarray(x, float), np.asarray(gradient, float)
    if gradient.shape != x.shape or not np.all(np.isfinite(gradient)):
        raise InputError("check_gradient", "gradient", gradient, f"finite, shape {x.shape}")
    if along is None:
        along = np.random.default_rng(seed).normal(size=(directions, len(x)))
    along = along / np.linalg.norm(along, axis=1, keepdims=True)
    shifts = np.concatenate([EPSILONS, -EPSILONS])
    points = x + (along[:, None, :] * shifts[:, None]).reshape(-1, len(x))
    values, signatures = runs(np.concatenate([x[None], points]))
    if not np.isfinite(values[0]):
        raise InputError("check_gradient", "x", x, "a point at which the function can be evaluated")
    table = np.asarray(values, float)[1:].reshape(len(along), 2, -1)
    same = np.array([s == signatures[0] for s in signatures[1:]]).reshape(table.shape)
    clean = np.all(same & np.isfinite(table), axis=1)
    with np.errstate(invalid="ignore"):
        central = (table[:, 0] - table[:, 1]) / (2.0 * EPSILONS)
    norm = float(np.linalg.norm(gradient))
    return GradientReport(
        tuple(
            _compared(f"{label}[{i}]", float(gradient @ d), norm, central[i], clean[i])
            for i, d in enumerate(along)
        )
    )


def _compared(
    label: str, exact: float, norm: float, central: np.ndarray, clean: np.ndarray
) -> DirectionCheck:
    """Find the plateau of one direction and compare."""
    best = None
    for first in range(len(central) - WINDOW + 1):
        window = slice(first, first + WINDOW)
        if np.all(clean[window]):
            width = float(np.ptp(central[window]))
            if best is None or width < best[0]:
                best = (width, first)
    if best is None:
        nan = float("nan")
        return DirectionCheck(label, exact, nan, nan, nan, nan, int(clean.sum()))
    width, first = best
    difference = float(np.median(central[first : first + WINDOW]))
    scale = max(abs(exact), 1e-3 * norm) or max(abs(difference), np.finfo(float).tiny)
    return DirectionCheck(
        label, exact, difference, abs(exact - difference) / scale, width / scale,
        float(EPSILONS[first + 1]), int(clean.sum()),
    )  # fmt: skip


def check_problem(
    problem: Problem, z: np.ndarray | None = None, y: np.ndarray | None = None, *,
    directions: int = 3, seed: int = 0, label: str = "",
) -> GradientReport:  # fmt: skip
    """Check a problem's gradients by z and y at a point: finite differences, and S against lambda.

    Simulations run to Newton's stagnation with their branches recorded (`SimulationProblem.exact`).
    """
    problem = problem.exact() if hasattr(problem, "exact") else problem
    z, y = starting_point(problem, z, y)
    nz = len(z)
    direct = problem.evaluate(z, y, want="equations")
    backward = problem.evaluate(z, y, want="gradient")
    for evaluation in (direct, backward):
        if not evaluation.ok:
            cause = "; ".join(evaluation.failures) or "cancelled"
            raise InputError("check_problem", "z", cause, "a point that can be simulated")
    g_direct, g_backward = (
        np.concatenate([e.gradient[0], e.gradient[1].ravel()]) for e in (direct, backward)
    )

    def runs(X: np.ndarray) -> tuple[list[float], list[tuple[int, ...]]]:
        points = [(x[:nz], x[nz:].reshape(y.shape)) for x in X]
        if hasattr(problem, "evaluate_many"):
            found = problem.evaluate_many(*zip(*points, strict=True))
        else:
            found = [problem.evaluate(*point) for point in points]
        return [e.value for e in found], [e.signature for e in found]

    x = np.concatenate([z, y.ravel()])
    report = check_gradient(runs, x, g_direct, directions=directions, seed=seed, label=label)
    norm = max(float(np.linalg.norm(g_direct)), np.finfo(float).tiny)
    return GradientReport(report.checks, float(np.linalg.norm(g_direct - g_backward)) / norm)
