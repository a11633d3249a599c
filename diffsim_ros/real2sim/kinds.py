"""Kinds of experiments: what an estimation YAML's `kind` chooses.

A kind brings the sections of the YAML that are its own, and an experiment, which reads recordings,
makes trials of the inverse layer of them and judges predictions.  Everything else is shared:
parameters, optimiser, standard deviations, results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..errors import InputError
from .options import KINDS, FitOptions, OptionReader

if TYPE_CHECKING:
    from .config import EstimationConfig
    from .fit import Fit
    from .model import Model
    from .progress import Reporter


T = TypeVar("T")


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
class Judged:
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

    def judge(self, data: Data, fit: Fit, reporter: Reporter, cancel: Any) -> Judged:
        """Predict the trials of training and validation at the end of the fit."""
        ...


@dataclass(frozen=True)
class Kind:
    """See the module.

    measurement, simulation, fit  options of these sections of the YAML
    selections   (reader, section data, base folder) -> (train, validate or None)
    whole_files  (selection that they replace, place, key, files) -> (selection, what stands for it
                 in the YAML)
    experiment   (config) -> Experiment
    check_fit    (reader, fit options): rules between keys
    several      several bodies may be tracked at once
    """

    measurement: type
    simulation: type
    fit: type[FitOptions]
    selections: Callable[[OptionReader, Mapping, Path], tuple[Any, Any]]
    whole_files: Callable[[Any, str, str, Sequence[str | Path]], tuple[Any, dict]]
    experiment: Callable[[EstimationConfig], Experiment]
    check_fit: Callable[[OptionReader, FitOptions], None] = lambda reader, fit: None
    several: bool = False


def kind_of(name: str) -> Kind:
    """The kind of this name, one of KINDS."""
    return import_module(KINDS[name], __package__).KIND


def imported(module: str, name: str) -> Callable[[EstimationConfig], Experiment]:
    """(config) -> Experiment of this class; its module is imported when one is made."""

    def build(config: EstimationConfig) -> Experiment:
        return getattr(import_module(module, __package__), name)(config)

    return build


def by_role(options: Any, read: Callable[[Any, str], T]) -> tuple[T, T | None]:
    """What section `data` trains on and, unless it is absent, validates on.

    read  (value of the YAML, its key) -> what is wanted of it
    """
    train = read(options.train, "data.train")
    return train, None if options.validate is None else read(options.validate, "data.validate")


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
