"""Labelled markers on a body released from rest: the sections of their YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ...errors import InputError
from ...fields import Field, Reader
from ..kinds import Kind, by_role, imported
from ..options import FitOptions, read_options, read_paths
from .options import (
    ConditionOptions,
    MarkerDataOptions,
    MarkerFilesOptions,
    MarkerMeasurementOptions,
    MarkerSimulationOptions,
)

NUMBER = Field("number", "value of a scene parameter")


@dataclass(frozen=True)
class Condition:
    """engine parameters of the recordings whose names fit a pattern."""

    records: str
    sets: Mapping[str, float]


@dataclass(frozen=True)
class MarkerFiles:
    """Recordings of a role, and the conditions that hold for them by name."""

    place: str
    key: str
    files: tuple[Path, ...]
    conditions: tuple[Condition, ...] = ()

    def condition(self, name: str) -> Mapping[str, float]:
        """engine parameters of a recording; InputError if no pattern fits its name."""
        if not self.conditions:
            return {}
        for condition in self.conditions:
            if fnmatchcase(name, condition.records):
                return condition.sets
        rule = "a name that fits " + " or ".join(c.records for c in self.conditions)
        raise InputError(self.place, self.key, name, rule, "add it to data.conditions")


def selections(reader: Reader, data: Mapping, base: Path) -> tuple[MarkerFiles, MarkerFiles | None]:
    """Recordings of training and validation; nothing is opened yet."""
    options = read_options(MarkerDataOptions, reader, data, "data")
    conditions = tuple(
        _condition(reader, value, f"data.conditions[{i}]")
        for i, value in enumerate(options.conditions)
    )
    return by_role(options, lambda value, key: _files(reader, value, base, key, conditions))


def _condition(reader: Reader, value: object, key: str) -> Condition:
    options = read_options(ConditionOptions, reader, value, key)
    sets = {}
    for name, number in options.sets.items():
        sets[name] = reader.value(NUMBER, number, f"{key}.sets.{name}")
    return Condition(options.records, sets)


def _files(reader, value, base, key, conditions) -> MarkerFiles:
    options = read_options(MarkerFilesOptions, reader, value, key)
    files = read_paths(reader, options.files, base, key, "a CSV, C3D or rosbag2 file")
    return MarkerFiles(reader.place, key, files, conditions)


def whole_files(kept: MarkerFiles, place: str, key: str, files: Sequence[str | Path]):
    """Other files under the same conditions, and the same in the words of the YAML."""
    paths = tuple(Path(file).resolve() for file in files)
    return MarkerFiles(place, key, paths, kept.conditions), {"files": [str(path) for path in paths]}


KIND = Kind(
    measurement=MarkerMeasurementOptions,
    simulation=MarkerSimulationOptions,
    fit=FitOptions,
    selections=selections,
    whole_files=whole_files,
    experiment=imported(".markers.experiment", "MarkerExperiment"),
)
