"""Slopes over a width instead of at a point, for costs with discontinuities closer than that.

Where a contact begins inside a step, residuals have discontinuities (planning.md in docs/): a slope
at a point is exact and yet not the trend of the cost.  Small slopes, such as those of a mean over
samples, are lost in it.  Central differences over a width that spans several discontinuities
resolve them; they cost two rollouts without derivatives per parameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from .losses import Loss
from .normal_equations import NormalEquations
from .problem import Evaluation
from .simulation_problem import SimulationProblem

Residuals = Callable[[Sequence[np.ndarray], Any], list[list[np.ndarray] | None]]
"""(points, cancel) -> of each point the residuals (m,) of each trial, None if a rollout failed."""


def _own(problem: SimulationProblem) -> Residuals:
    return lambda points, cancel: problem.residuals(points, cancel=cancel)


class Widened:
    """A `Problem`: the cost of a SimulationProblem, Gauss-Newton equations by wide differences.

    width      of z to each side, less at a bound
    residuals  (points, cancel) -> what the problem's `residuals` are, done elsewhere
    Plain losses and no nuisance starts; InputError else.
    """

    def __init__(
        self, problem: SimulationProblem, width: float, residuals: Residuals | None = None
    ) -> None:
        if problem.nuisance:
            raise InputError("Widened", "nuisance", True, "starts that are held")
        for trial in problem.trials:
            losses = [trial.loss, *(o.loss for o in trial.objectives)]
            if any(type(loss) is not Loss for loss in losses):
                raise InputError("Widened", trial.name, "a robust loss", "plain squares")
        self.problem, self.width = problem, float(width)
        self._residuals = residuals or _own(problem)

    def __getattr__(self, name: str) -> Any:
        """Names, start, bounds, values ... are the problem's."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.problem, name)

    def evaluate(
        self, z: np.ndarray, y: np.ndarray | None = None, *, want: str = "value",
        cancel: Any = None,
    ) -> Evaluation:  # fmt: skip
        """See `Problem.evaluate`; a failed rollout near z makes a failed evaluation."""
        if want == "value":
            return self.problem.evaluate(z, want=want, cancel=cancel)
        z = np.asarray(z, float)
        lower = np.maximum(z - self.width, self.problem.lower)
        upper = np.minimum(z + self.width, self.problem.upper)
        sides = [np.where(np.eye(len(z), dtype=bool), end, z) for end in (lower, upper)]
        found = self._residuals([z, *sides[0], *sides[1]], cancel)
        if getattr(cancel, "cancelled", False):
            return Evaluation(math.inf, cancelled=True)
        rows = [row for row in found if row is not None]
        if len(rows) < len(found):
            return Evaluation(math.inf, ("a rollout beside the point failed",))
        return self._equations(z, rows, upper - lower)

    def _equations(
        self, z: np.ndarray, found: Sequence[list[np.ndarray]], apart: np.ndarray
    ) -> Evaluation:
        """Value and equations of the residuals at z, below and above it."""
        here, n, K = found[0], len(z), len(self.problem.trials)
        low, high = found[1 : n + 1], found[n + 1 :]
        g, H, costs = np.zeros((K, n)), np.zeros((K, n, n)), np.zeros(K)
        for k, r in enumerate(here):
            J = np.stack([(high[i][k] - low[i][k]) / apart[i] for i in range(n)], axis=1)
            g[k], H[k], costs[k] = J.T @ r, J.T @ J, 0.5 * r @ r
        residual, slope = self.problem.map.prior(z)
        by_prior = residual * slope
        still = np.zeros((K, 0)), np.zeros((K, 0, 0)), np.zeros((K, 0, n))
        equations = NormalEquations(by_prior, np.diag(slope**2), g, H, *still)
        return Evaluation(
            float(costs.sum() + 0.5 * residual @ residual),
            equations=equations,
            gradient=(by_prior + g.sum(axis=0), still[0]),
            trial_costs=costs,
            count=sum(r.size for r in here),
        )
