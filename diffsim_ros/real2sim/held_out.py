"""Trials that a model was not fitted to, as tasks: one fold, or one validated trial."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inverse.optimizers import levenberg_marquardt
from ..inverse.pinned import Pinned
from .experiment import Data, Experiment
from .fit import Fit, descend
from .model import on_one_thread
from .progress import Reporter

Task = tuple[str, tuple[int, ...] | None, int | np.ndarray | None]
"""Model; fold, and z (nz,) fitted without it where that is known; or None and a validated trial."""


@dataclass(frozen=True)
class Fitted:
    """A model that is fitted to all trials.

    z (nz,), y (K, ny)  the fit's end;  kept  its trials;  validate  others
    horizon             last frame that counts, 0: all
    """

    experiment: Experiment
    kept: list
    validate: list
    z: np.ndarray
    y: np.ndarray
    horizon: int

    @classmethod
    def of(cls, experiment: Experiment, fit: Fit, validate: list, horizon: int) -> Fitted:
        """The end of a fit."""
        return cls(experiment, fit.kept, validate, fit.z, fit.y, horizon)

    def for_workers(self, kept: list, validate: list) -> Fitted:
        """The same on one thread, with these trials, equal to its own."""
        one = copy.copy(self.experiment)
        one.model = on_one_thread(one.model)
        return Fitted(one, kept, validate, self.z, self.y, self.horizon)

    def predicted(self, task: Task, cancel: Any) -> list[list]:
        """Name, mean square and errors of every trial of a task."""
        _, fold, more = task
        if fold is None:
            assert isinstance(more, int)
            return [self._one(self.validate[more], self.z, cancel)]
        z = more if isinstance(more, np.ndarray) else self._without(set(fold), cancel)
        return [self._one(self.kept[i], z, cancel) for i in fold]

    def _without(self, fold: set[int], cancel: Any) -> np.ndarray:
        """Parameters (nz,) fitted to the trials that are not in the fold."""
        kept = [t for i, t in enumerate(self.kept) if i not in fold]
        y = np.array([row for i, row in enumerate(self.y) if i not in fold])
        model = self.experiment.model
        problem = model.problem(kept, self.z, horizon=self.horizon)
        y = y[:, : problem.nuisance_shape[1]]  # loads alone have no starts
        return descend(model.config.fit, problem, self.z, y, cancel=cancel).z

    def _one(self, trial: Any, z: np.ndarray, cancel: Any) -> list:
        """What the model with these parameters makes of a trial; its start may be fitted."""
        experiment = self.experiment
        problem = experiment.model.problem([trial], z, horizon=self.horizon)
        name = problem.trials[0].name
        y = np.zeros(problem.nuisance_shape)
        if y.size:
            pinned = Pinned(problem, dict(enumerate(z)))
            y = levenberg_marquardt(pinned, pinned.start, cancel=cancel).y
        evaluated = problem.evaluate(z, y, cancel=cancel)
        if not evaluated.ok:
            return [name, math.nan, {}]
        one = Fit(z, y, evaluated.value, "converged", "", problem, [trial], [])
        assessed = experiment.assess(Data([], [], []), one, Reporter(None, []), cancel)
        shown = [*assessed.predictions, *assessed.at_rest]
        errors = shown[0].errors if shown else {}
        figures = {k: float(v) for k, v in errors.items() if "." not in k}
        return [name, 2.0 * float(evaluated.trial_costs.sum()) / evaluated.count, figures]


def held_out(shared: Mapping[str, Fitted], task: Task, cancel: Any) -> list[list]:
    """`Fitted.predicted` as a task of an executor; shared: by model."""
    return shared[task[0]].predicted(task, cancel)


def tasks_of(
    name: str, fit: Fit, folds: Sequence[tuple[int, ...]], validate: Sequence
) -> list[Task]:
    """Each fold, predicted by a fit without it, then each validated trial, by that of all."""
    found: list[Task] = []
    for fold in folds:
        z = None
        if fit.surface is not None:  # rugged: the minimum of the others' smoothed costs
            weights = np.array([float(i not in fold) for i in range(len(fit.kept))])
            z = fit.surface.minimum(weights)
            z = np.clip(z, fit.problem.lower, fit.problem.upper)
        found.append((name, tuple(fold), z))
    return [*found, *((name, None, k) for k in range(len(validate)))]
