"""An experiment reads recordings, makes trials of them, and judges predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import InputError
from .fit import Fit
from .model import Model
from .progress import Reporter


@dataclass(frozen=True)
class Data:
    """Trials to train on and to predict, what was noticed about them, and frames they lack.

    A trial has `place` (file and trial, for messages) and `source`; the rest is its kind's.
    """

    train: list
    validate: list
    notes: list[str]
    missing: int = 0


@dataclass(frozen=True)
class Assessment:
    """Predictions with their figures: metrics.json's train and validate, and notes."""

    predictions: list
    train: dict
    validate: dict | None
    notes: list[str]


class Experiment(Protocol):
    """One estimation's recordings and how they are simulated."""

    model: Model

    def read(self, observations: Mapping[str, Sequence]) -> Data:
        """Recordings handed over, else the YAML's; InputError if they contradict the scene."""
        ...

    def counts(self, fit: Fit) -> dict:
        """Which trials were fitted, for metrics.json's `train`."""
        ...

    def assess(self, data: Data, fit: Fit, reporter: Reporter, cancel: Any) -> Assessment:
        """Predict the trials of training and validation at the end of the fit."""
        ...


def refuse_twice(names: Sequence[str], place: object, key: str) -> None:
    """InputError naming a recording's name that comes twice: figures go by names."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(place, key, twice[0], "recordings of different names")


def notes_on_validation(both: Sequence[str], validated: int, what: str = "recordings") -> list[str]:
    """Sentences on what the figures of validation are worth.

    both  validated trials that were trained on too;  validated  how many there are;  what  they are
    """
    if not validated:
        return [f"nothing to validate on: the figures are those of the trained {what}"]
    if not both:
        return []
    return [
        f"{len(both)} of {validated} validated {what} were trained on too (first: {both[0]}): the "
        "validation is no test for them"
    ]
