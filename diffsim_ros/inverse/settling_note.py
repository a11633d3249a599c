"""Whether the derivatives that ended a fit or a plan are those of the motion, at little cost.

J, the Jacobian of the residuals of a few trials by the parameters, is compared between the steps as
run and steps up to a sixth shorter, at which contacts begin elsewhere within a step (the phases of
gradient_settling.py).  With J' at those, column i is unsettled where

    |J'_i - J_i| > 0.25 |J_i|   (rms over phases and trials).

`check_settling` looks closer: at smaller steps too, and at secants.  How large a change a
derivative predicts (gradient_reach.py) is not looked at here: it compares the gradient of the
objective with differences, and where a fit has ended that gradient is zero but for the tolerance,
so nothing is left to compare; it takes 4 to 12 rollouts a parameter, which is more than SHARE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .gradient_settling import ROUGH, percent, phases
from .resampled import Refined
from .settling_cause import Cause, cause_of
from .simulation_problem import SimulationProblem
from .time_correlation import Series

SHARE = 0.1  # of the rollouts of the run, at most, or those of one trial
TRIALS = 3  # at most: the first, the middle and the last
LOOKS = 2  # phases
NAMED = 5  # parameters in a sentence


@dataclass(frozen=True)
class Unsettled:
    """Parameters whose derivatives depend on the phase of contacts.

    error  largest relative change of a column of J
    names  of the parameters, the worst first;  trial  in which it changes most
    cause  what begins or ends there, None: nothing was found
    """

    error: float
    names: tuple[str, ...]
    trial: str
    cause: Cause | None

    @property
    def _derivatives(self) -> str:
        """Whose, the worst by name."""
        rest = len(self.names) - NAMED
        more = f" and {rest} more" if rest > 0 else ""
        return f"derivatives by {', '.join(self.names[:NAMED])}{more}"

    @property
    def short(self) -> str:
        """For one-line messages."""
        return f"{self._derivatives} are not settled, see the notes"

    def __str__(self) -> str:
        where = f", most in {self.trial}" if self.trial else ""
        where += f" where {self.cause}" if self.cause else ""
        return (
            f"{self._derivatives} are not settled: they change by up to "
            f"{percent(self.error)} with the phase of contacts within a step{where}; so what "
            "depends on them (the end of the search, standard deviations) may be off. Smaller "
            "steps may help; `diffsim check-gradient` says more"
        )


def unsettled(
    problem: SimulationProblem, z: np.ndarray, y: np.ndarray | None, rollouts: int,
    cancel: Any = None,
) -> Unsettled | None:  # fmt: skip
    """What is not settled at (z, y); None: all is, or it cannot be simulated with other steps.

    rollouts  those of the run that ended here: more than SHARE of them are spent on one trial only
    """
    moving = np.array([trial.steps > 0 for trial in problem.trials])
    weighed = np.flatnonzero(moving & (problem.weights != 0))
    count = min(TRIALS, len(weighed), max(1, int(SHARE * rollouts) // (LOOKS + 1)))
    if count == 0:
        return None
    chosen = weighed[np.unique(np.linspace(0, len(weighed) - 1, count).round().astype(int))]
    few = problem.only(chosen).watched()
    y = None if y is None else np.asarray(y)[chosen]
    base = _run(few, z, y, 1.0, cancel)
    found = [_run(few, z, y, f, cancel) for f in phases(1, LOOKS)] if base else []
    others = [one for one in found if one is not None]
    if base is None or not others:
        return None
    change, size = np.zeros((2, len(few.trials), len(few.names)))
    for one in base.series:
        size[one.trial] += np.sum(one.by_z**2, axis=(0, 1))
    for other in others:
        for one, two in zip(base.series, other.series, strict=True):
            if one.by_z.shape == two.by_z.shape:
                square = np.sum((two.by_z - one.by_z) ** 2, axis=(0, 1))
                change[one.trial] += square / len(others)
    scale = np.where(size.sum(axis=0) > 0, size.sum(axis=0), np.inf)
    error = np.sqrt(change.sum(axis=0) / scale)
    loose = error > ROUGH
    if not np.any(loose):
        return None
    worst = int(np.argmax((change / scale)[:, loose].sum(axis=1)))
    every = [run.rollouts for run in (base, *others)]
    cause = cause_of(few, z, y, base.rollouts, every, loose)
    trial = few.trials[worst].name if len(problem.trials) > 1 else ""
    names = tuple(few.names[i] for i in np.argsort(-error) if loose[i])
    return Unsettled(float(error.max()), names, trial, cause)


@dataclass(frozen=True)
class _Run:
    """Series of residuals with their Jacobians, and the rollouts of all trials."""

    series: tuple[Series, ...]
    rollouts: list[Any]


def _run(
    problem: SimulationProblem, z: np.ndarray, y: np.ndarray | None, factor: float, cancel: Any
) -> _Run | None:
    """With `factor` times as many steps; None where it failed."""
    simulator = Refined(factor)
    found = problem.simulated_by(simulator).evaluate(z, y, want="curvature", cancel=cancel)
    return _Run(found.series, simulator.rollouts) if found.ok else None
