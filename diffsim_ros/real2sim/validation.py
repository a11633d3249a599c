"""Predicting tosses that were not trained on, open loop, and the figures of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ..inverse.simulation_problem import SimulationProblem
from ..inverse.trial import Trial
from ..sensing.observation import PoseTrial
from .comparison import QUANTITIES, as_rows, best_of, compare, interval
from .framed import spacing
from .metric import TossErrors, start_state, toss_errors
from .model import Model
from .results import Prediction, count_by, median_and_mean
from .selection import Selection
from .toss_model import TossModel

REFINE = (1, 2, 4)
"""Steps per frame are multiplied by these in turn where a rollout fails."""


@dataclass(frozen=True)
class Predicted:
    """Predictions of the tosses that could be simulated, and what became of the others.

    errors     one per prediction;  rules  start rule of every toss
    failures   sentences about tosses without a prediction
    """

    predictions: list[Prediction]
    errors: list[TossErrors]
    trials: list[PoseTrial]
    rules: list[str]
    failures: list[str]


def predict(
    model: TossModel,
    trials: Sequence[PoseTrial],
    z: np.ndarray,
    *,
    own_gravity: bool,
    role: str,
    cancel=None,
) -> Predicted:
    """Open-loop rollouts of all tosses at z from the metric's start; nothing is fitted per toss."""

    def problem(some: list[PoseTrial], spf: int) -> SimulationProblem:
        return _open_loop(model, some, z, own_gravity, spf)

    runs = refined_rollouts(model, problem, trials, z, cancel)
    found = Predicted([], [], [], [], [])
    for k, trial in enumerate(trials):
        run = runs.get(k)
        if run is None or not run.ok:
            what = "cancelled" if run is None else f"{run.status}: {run.message}"
            found.failures.append(f"{trial.place}: {what}")
            continue
        prediction, errors = _prediction(model, trial, run, role)
        found.predictions.append(prediction)
        found.errors.append(errors)
        found.trials.append(trial)
        found.rules.append(start_state(trial, model.metric).rule)
    return found


def refined_rollouts(
    model: Model,
    problem: Callable[[list, int], SimulationProblem],
    trials: Sequence,
    z: np.ndarray,
    cancel=None,
) -> dict[int, object]:
    """Rollouts at z by the number of the trial; those that fail are run again in finer steps.

    problem  (trials, steps per frame) -> what is rolled out
    """
    simulation = model.config.simulation
    spf = simulation.validate_steps_per_frame or simulation.steps_per_frame
    runs: dict[int, object] = {}
    for factor in REFINE:
        missing = [k for k in range(len(trials)) if k not in runs or not runs[k].ok]
        if not missing or getattr(cancel, "cancelled", False):
            break
        again = problem([trials[k] for k in missing], spf * factor)
        runs.update(zip(missing, again.rollouts(z, cancel=cancel), strict=True))
    return runs


def _open_loop(model, trials, z, own_gravity, spf) -> SimulationProblem:
    """A problem without measurements, whose rollouts are the predictions."""
    rolled = []
    for trial in trials:
        first = model.sample(trial)
        frames = int(trial.frames[-1] - trial.frames[first])
        start = model.start(trial, z, own_gravity=own_gravity)
        rolled.append(Trial(f"toss {trial.id}", frames * spf, (), (start,)))
    return SimulationProblem(
        model.scene.engine,
        model.engine_options(spacing(trials), spf),
        model.map,
        rolled,
        threads=model.config.simulation.threads,
    )


def _prediction(
    model: TossModel, trial: PoseTrial, run, role: str
) -> tuple[Prediction, TossErrors]:
    """Simulated poses at the measured frames, and their errors."""
    first = model.sample(trial)
    frames = trial.frames[first:] - trial.frames[first]
    body = model.scene.engine.nodes_of(model.config.body)[0]
    position, orientation = run.position[frames, body], run.orientation[frames, body]
    measured_p, measured_q = trial.position[first:], trial.orientation[first:]
    errors = toss_errors(position, orientation, measured_p, measured_q, model.metric)
    contact = {}
    if run.contact_point.shape[1]:
        contact = {
            "contact_point": run.contact_point[frames],
            "contact_force": run.contact_force[frames],
        }
    prediction = Prediction(
        trial.id,
        role,
        trial.poses.source,
        frames * trial.dt,
        measured_p,
        measured_q,
        position,
        orientation,
        model.size,
        errors={QUANTITIES[key]: value for key, value in asdict(errors).items()},
        **contact,
    )
    return prediction, errors


def figures(predicted: Predicted, seed: int = 0) -> dict:
    """Means, medians and 95 % intervals of the mean over the predicted tosses."""
    rows = as_rows(predicted.errors)
    names = list(QUANTITIES.values())
    result: dict = {"tosses": len(rows), "failed": len(predicted.failures)}
    result.update(median_and_mean(rows, names))
    ranges = interval(rows, seed) if len(rows) else [None] * len(names)
    result.update({f"{name}_interval": r for name, r in zip(names, ranges, strict=True)})
    result["start_rules"] = count_by(predicted.rules)
    return result


def validated(
    model: TossModel, trials: Sequence[PoseTrial], selection: Selection, z: np.ndarray, cancel=None
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
    notes += [f"validation: no prediction for {sentence}" for sentence in main.failures]
    return main, result, notes
