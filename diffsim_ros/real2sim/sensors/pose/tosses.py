"""Figures of starts by height: open-loop predictions in widths, beside published simulators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ....inverse.simulation_problem import SimulationProblem
from ....inverse.trial import Trial
from ....sensing.observation import PoseTrial
from ...comparison import QUANTITIES, TossErrors, as_rows, best_of, compare, interval, toss_errors
from ...experiment import predicted
from ...results import Prediction, count_by, median_and_mean
from ...scenarios.height import measured_start, start_state
from .model import PoseModel
from .selection import Selection


@dataclass(frozen=True)
class Predicted:
    """Predictions of the tosses that could be simulated, and sentences about the others.

    errors  one per prediction
    """

    predictions: list[Prediction]
    errors: list[TossErrors]
    trials: list[PoseTrial]
    rules: list[str]
    failures: list[str]


def predict(
    model: PoseModel,
    trials: Sequence[PoseTrial],
    z: np.ndarray,
    *,
    own_gravity: bool,
    role: str,
    cancel: Any = None,
) -> Predicted:
    """Open-loop rollouts of all tosses at z from the metric's start; nothing is fitted per toss."""

    def problem(some: list[PoseTrial], spf: int) -> SimulationProblem:
        rolled = []
        for trial in some:
            frames = int(trial.frames[-1] - trial.frames[model.flight(trial).start])
            start = measured_start(model, model.metric, trial, z, own_gravity=own_gravity)
            rolled.append(Trial(f"toss {trial.id}", frames * spf, (), (start,)))
        return model.of_trials(rolled, model.framed(some, spf))

    def one(trial: PoseTrial, run: Any) -> tuple:
        rule = start_state(trial, model.metric).rule
        return *_prediction(model, trial, run, role), trial, rule

    runs = model.refined_rollouts(problem, trials, z, cancel)
    found, failures = predicted(one, trials, runs)
    columns = [list(column) for column in zip(*found, strict=True)] or [[], [], [], []]
    return Predicted(*columns, failures)


def _prediction(
    model: PoseModel, trial: PoseTrial, run: Any, role: str
) -> tuple[Prediction, TossErrors]:
    """Simulated poses at the measured frames, and their errors."""
    first = model.flight(trial).start
    frames = trial.frames[first:] - trial.frames[first]
    body = model.scene.engine.nodes_of(model.config.body)[0]
    position, orientation = run.position[frames, body], run.orientation[frames, body]
    measured = trial.position[first:], trial.orientation[first:]
    errors = toss_errors(position, orientation, *measured, model.metric)
    contact = {}
    if run.contact_point.shape[1]:
        contact = {
            "contact_point": run.contact_point[frames],
            "contact_force": run.contact_force[frames],
        }
    prediction = Prediction(
        trial.id,
        role,
        trial.source,
        frames * trial.dt,
        *measured,
        position,
        orientation,
        (2.0 * model.metric.half,) * 3,
        errors={QUANTITIES[key]: value for key, value in asdict(errors).items()},
        **contact,
    )
    return prediction, errors


def figures(found: Predicted, seed: int = 0) -> dict:
    """Means, medians and 95 % intervals of the mean over the predicted tosses."""
    rows = as_rows(found.errors)
    names = list(QUANTITIES.values())
    result: dict = {"tosses": len(rows), "failed": len(found.failures)}
    result.update(median_and_mean(rows, names))
    ranges = interval(rows, seed) if len(rows) else [None] * len(names)
    result.update({f"{name}_interval": r for name, r in zip(names, ranges, strict=True)})
    result["start_rules"] = count_by(found.rules)
    return result


def validated(
    model: PoseModel,
    trials: Sequence[PoseTrial],
    selection: Selection,
    z: np.ndarray,
    cancel: Any = None,
) -> tuple[Predicted, dict, list[str]]:
    """Predictions, figures of metrics.json's `validate`, and notes.

    Both refits of v_z are reported: with the README's gravity and with the model's own; the one
    that the configuration asks for stands at the top, the other beside it.
    """
    own = model.config.measurement.own_gravity
    main = predict(model, trials, z, own_gravity=own, role="validate", cancel=cancel)
    result, notes = figures(main), []
    result["start_gravity"] = "own" if own else model.metric.gravity
    other = predict(model, trials, z, own_gravity=not own, role="validate", cancel=cancel)
    key = "with_readme_gravity" if own else "with_own_gravity"
    names = [n for q in QUANTITIES.values() for n in (q, f"{q}_median")]
    result[key] = {name: value for name, value in figures(other).items() if name in names}
    theirs = selection.published_for(main.trials)
    comparison = compare(main.errors, theirs)
    result["published"], result["best_published"] = comparison, best_of(comparison)
    without = sum(not row for row in theirs)
    if without == len(theirs):
        notes.append("no published errors for the validated tosses: the comparison is left out")
    elif without:
        notes.append(
            f"{without} of {len(theirs)} validated tosses have no published errors and are left "
            "out of the comparison"
        )
    result["per_toss"] = [
        {"toss_id": trial.id, **prediction.errors}
        for trial, prediction in zip(main.trials, main.predictions, strict=True)
    ]
    notes += [f"validation: {sentence}" for sentence in main.failures]
    return main, result, notes
