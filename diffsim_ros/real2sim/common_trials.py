"""The same trials and the same samples for all models that are compared.

Criteria and held-out errors of models mean nothing beside each other where one has fitted fewer
trials, or other samples of them: which recordings begin in free flight, when that ends, and which
can be simulated at the first guess, depends on the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..inverse.simulation_problem import SimulationProblem
from .experiment import Data, Experiment


def of_all(lists: Sequence[Sequence[Any]]) -> tuple[list[list], list[str]]:
    """Of each model's trials those that every model has, and the places of the others."""
    places = [{trial.place: trial for trial in trials} for trials in lists]
    every = list(dict.fromkeys(place for known in places for place in known))
    gone = [place for place in every if not all(place in known for known in places)]
    kept = [[t for t in trials if t.place not in set(gone)] for trials in lists]
    return kept, gone


def shared_data(
    experiments: Sequence[Experiment], data: Sequence[Data]
) -> tuple[list[Data], list[str]]:
    """Every model's data with the trials that all have, from the same samples on, and notes.

    Sets the flights of the experiments' models.  InputError where no trial is left.
    """
    train, gone = of_all([one.train for one in data])
    validate, more = of_all([one.validate for one in data])
    notes = [_note(gone, "trained on")] if gone else []
    notes += [_note(more, "validated on")] if more else []
    if not train[0]:
        rule = "a trial that every model can use"
        raise InputError("compare", "trials", "none", rule, "compare fewer models")
    every = [*train[0], *validate[0]]
    if sum(_share_flight(experiments, trial) for trial in every):
        notes.append(
            "flights end earlier in some models than in others: samples count from the earliest "
            "end on, in all"
        )
    pairs = zip(data, train, validate, strict=True)
    return [replace(one, train=t, validate=v) for one, t, v in pairs], notes


def _note(gone: Sequence[str], what: str) -> str:
    rest = f" and {len(gone) - 3} more" if len(gone) > 3 else ""
    return f"not {what}, as not every model can use them: {', '.join(gone[:3])}{rest}"


def _share_flight(experiments: Sequence[Experiment], trial: Any) -> bool:
    """Give all models the trial's flight that ends first; whether they had others."""
    flights = [one.flight_of(trial) for one in experiments]
    known = [flight for flight in flights if flight is not None]
    if len(known) < len(flights) or len(set(known)) < 2:
        return False
    earliest = min(known, key=lambda flight: flight.last)
    for one in experiments:
        one.set_flight(trial, earliest)
    return True


def check_samples(names: Sequence[str], problems: Sequence[SimulationProblem]) -> None:
    """InputError where two models count other samples of a trial."""
    first = problems[0]
    for name, problem in zip(names[1:], problems[1:], strict=True):
        for ours, theirs in zip(first.trials, problem.trials, strict=True):
            a, b = _samples(ours), _samples(theirs)
            if a != b:
                rule = f"the {a[1]} that {names[0]} counts, so that errors can be compared"
                raise InputError(f"model {name}", ours.name, f"{b[1]} samples", rule)


def _samples(trial: Any) -> tuple[tuple, int]:
    """Which samples the objectives of a trial are of, and how many."""
    found, count = [], 0
    for objective in trial.objectives:
        own = (
            getattr(objective, key) for key in ("frames", "frame", "t") if hasattr(objective, key)
        )
        used = np.asarray(next(own, ()))  # of clouds the frame of every point
        found.append((objective.name, used.shape, used.tobytes()))
        count += used.size
    return tuple(found), count
