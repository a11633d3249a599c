"""Kinds of experiments: what an estimation YAML's `kind` chooses.

A kind brings the sections of the YAML that are its own, and an experiment (experiment.py).
Everything else is shared: parameters, optimiser, standard deviations, results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..fields import Reader
from .options import KINDS, FitOptions

if TYPE_CHECKING:
    from .estimation import EstimationConfig
    from .experiment import Experiment


T = TypeVar("T")


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
    selections: Callable[[Reader, Mapping, Path], tuple[Any, Any]]
    whole_files: Callable[[Any, str, str, Sequence[str | Path]], tuple[Any, dict]]
    experiment: Callable[[EstimationConfig], Experiment]
    check_fit: Callable[[Reader, FitOptions], None] = lambda reader, fit: None
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
