"""Tosses of a tracked rigid body: the sections of their YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..fields import Reader
from .kinds import Kind, by_role, imported
from .options import (
    DataOptions,
    RandomOptions,
    SelectionOptions,
    TossFitOptions,
    TossMeasurementOptions,
    TossSimulationOptions,
    read_options,
    read_paths,
)
from .selection import Selection


def selections(reader: Reader, data: Mapping, base: Path):
    """Training and validation selections of the YAML."""
    options = read_options(DataOptions, reader, data, "data")
    train, validate = by_role(options, lambda value, key: _selection(reader, value, base, key))
    if validate is not None and validate.exclude_train:
        validate = replace(validate, excluded=train)
    return train, validate


def _selection(reader: Reader, value: object, base: Path, key: str) -> Selection:
    """One checked selection; nothing is opened yet."""
    options = read_options(SelectionOptions, reader, value, key)
    files = read_paths(reader, options.files, base, key, "an npz file or a bag")
    trials = options.trials
    if isinstance(trials, Mapping):
        trials = read_options(RandomOptions, reader, trials, f"{key}.trials")
    elif isinstance(trials, (list, tuple)):
        bad = [t for t in trials if isinstance(t, bool) or not isinstance(t, int)]
        if bad or not trials:
            raise reader.error(f"{key}.trials", bad or [], "whole numbers, at least one")
        trials = tuple(trials)
    elif trials != "all":
        rule = "all, a list of ids, or {random: COUNT, seed: SEED}"
        raise reader.error(f"{key}.trials", trials, rule)
    published = options.published
    if isinstance(published, (list, tuple)):
        published = tuple(base / str(name) for name in published)
    elif published not in ("beside", "none"):
        raise reader.error(f"{key}.published", published, "beside, none, or a list of tables")
    return Selection(reader.place, key, files, trials, options.exclude_train, published)


def whole_files(kept: Selection, place: str, key: str, files: Sequence[str | Path]):
    """Every toss of every file, and the same in the words of the YAML."""
    selection = Selection.whole_files(place, key, files)
    names = [str(file) for file in selection.files]
    return selection, {"files": names, "trials": "all", "exclude_train": False}


def check_fit(reader: Reader, fit: TossFitOptions) -> None:
    """Refuse a search over starts."""
    if fit.initial_state == "nuisance" and fit.search_evaluations:
        rule = "0 with initial_state: nuisance (a search has no place for starts)"
        raise reader.error("fit.search_evaluations", fit.search_evaluations, rule)


KIND = Kind(
    measurement=TossMeasurementOptions,
    simulation=TossSimulationOptions,
    fit=TossFitOptions,
    selections=selections,
    whole_files=whole_files,
    check_fit=check_fit,
    experiment=imported(".toss_experiment", "TossExperiment"),
)
