"""How far a fit's parameters would move if it had been simulated by a finer model.

With r the residuals of the model at the end (z, y) of the fit, r' those of the finer one at the
same (z, y), and J, H its Jacobian and Hessian there, starts eliminated, one Gauss-Newton step is

    dz = -H^-1 J^T (r' - r)                                                        [Eq. 25]

and r' - r + J dz is what no parameter and no start takes up: it stays in the residuals, like a law
that is wrong.  An error of order k in h is 1/(1 - 2^-k) times as large as the change that half of h
makes: 4/3 where it falls as h^2, 2 where it falls as h.  It costs one rollout of each trial by the
finer model, without derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .resampled import Refined
from .simulation_problem import SimulationProblem
from .solution import Solution
from .time_correlation import Series, unseen
from .uncertainty import Expansion, expansion_at, free_inverse

HALF = 2.0
"""Times as many steps."""


@dataclass(frozen=True)
class Shift:
    """What a finer model changes at the end of a fit.

    dz      parameter -> change of its scaled variable;  values: in its natural unit
    change  root mean square of the change of the residuals, in their sigmas
    left    of what of it parameters and starts do not take up;  count  residuals that these are of
    """

    dz: Mapping[str, float]
    values: Mapping[str, float]
    change: float
    left: float
    count: int

    def over(self, covariance_z: np.ndarray, names: tuple[str, ...]) -> dict[str, float]:
        """Parameter -> change over its standard deviation, the largest first; those without one are
        left out.

        covariance_z  (nz, nz) of scaled variables, in the order of `names`
        """
        sigma = dict(zip(names, np.sqrt(np.diagonal(covariance_z)).tolist(), strict=True))
        found = {n: d / sigma[n] for n, d in self.dz.items() if sigma.get(n, 0.0) > 0.0}
        return dict(sorted(found.items(), key=lambda pair: -abs(pair[1])))


def moving_trials(problem: SimulationProblem) -> list[int]:
    """Trials of a problem that are simulated and count."""
    return [k for k, one in enumerate(problem.trials) if one.steps > 0 and problem.weights[k] != 0]


def of_half_steps(problem: SimulationProblem, trials: Sequence[int]) -> SimulationProblem:
    """The problem of these trials, simulated with half the step."""
    return problem.only(trials).simulated_by(Refined(HALF))


def shift_to(
    finer: SimulationProblem, problem: SimulationProblem, solution: Solution,
    trials: Sequence[int], cancel: Any = None, expansion: Expansion | None = None,
) -> Shift | None:  # fmt: skip
    """What another model changes at a solution; None where it cannot be simulated there.

    finer      the problem of `trials`, numbers of those of `problem`, by the other model: with the
               same parameters, starts and samples
    expansion  of `problem` there, where it is known

    Where only some trials are simulated again, the others are taken to change as these do.
    Parameters at a bound stay there.
    """
    z, y = solution.z, solution.y
    rows = None if y is None else np.asarray(y)[list(trials)]
    found = finer.evaluate(z, rows, want="residuals", cancel=cancel)
    if not found.ok:
        return None
    if expansion is None:
        expansion = expansion_at(problem, solution)
    equations = expansion.evaluation.equations
    gz, gy = np.zeros_like(equations.gz), np.zeros_like(equations.gy)
    changes = _changes(expansion.series, found.series, trials)
    if not changes:
        return None
    share = len(moving_trials(problem)) / len(trials)
    for series, change in changes:
        gz[series.trial] += np.einsum("mqn,mq->n", series.by_z, change)
        gy[series.trial] += np.einsum("mqn,mq->n", series.by_y, change)
    own = replace(equations, prior_g=np.zeros_like(equations.prior_g), gz=gz, gy=gy)
    g, _, X = own.reduced()
    dz = -share * free_inverse(problem, solution, expansion) @ g
    dy = -(X[:, :, 0] + X[:, :, 1:] @ dz) if X.size else np.zeros_like(gy)
    square, remains, count = 0.0, 0.0, 0
    for series, change in changes:
        left = change + series.by_z @ dz + series.by_y @ dy[series.trial]
        seen = ~unseen(series)
        square += float(np.sum(change[seen] ** 2))
        remains += float(np.sum(left[seen] ** 2))
        count += int(np.count_nonzero(seen))
    values = dz * problem.value_slopes(z)
    size = np.sqrt(np.array([square, remains]) / max(count, 1))
    free = [i for i, name in enumerate(problem.names) if name not in solution.at_bound]
    scaled, natural = ({problem.names[i]: float(v[i]) for i in free} for v in (dz, values))
    change, rest = size.tolist()
    return Shift(scaled, natural, change, rest, round(share * count))


def _changes(
    base: tuple[Series, ...], finer: tuple[Series, ...], trials: Sequence[int]
) -> list[tuple[Series, np.ndarray]]:
    """Series of these trials, and by how much their residuals (M, q) change."""
    mine = [one for k in trials for one in base if one.trial == k]
    both = zip(mine, finer, strict=True)
    return [(a, b.residual - a.residual) for a, b in both if a.residual.shape == b.residual.shape]
