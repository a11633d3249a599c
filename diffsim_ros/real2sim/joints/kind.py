"""Logs of a robot's joints: the sections of their YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...fields import Reader
from ...sensing.joints.log import JointLog, read_logs
from ..kinds import Kind, by_role, imported
from ..options import read_options, read_paths
from .options import (
    JointDataOptions,
    JointFilesOptions,
    JointFitOptions,
    JointMeasurementOptions,
    JointSimulationOptions,
)


@dataclass(frozen=True)
class JointFiles:
    """Files of a role and the numbers of their trials, None: all."""

    place: str
    key: str
    files: tuple[Path, ...]
    trials: tuple[int, ...] | None

    def read(self) -> list[JointLog]:
        """Every trial of the role."""
        return [log for file in self.files for log in read_logs(file, self.trials)]


def selections(reader: Reader, data: Mapping, base: Path) -> tuple[JointFiles, JointFiles | None]:
    """Trials of training and validation; nothing is opened yet."""
    options = read_options(JointDataOptions, reader, data, "data")
    return by_role(options, lambda value, key: _files(reader, value, base, key))


def _files(reader: Reader, value: object, base: Path, key: str) -> JointFiles:
    options = read_options(JointFilesOptions, reader, value, key)
    files = read_paths(reader, options.files, base, key, "an NPZ or CSV file")
    trials = options.trials
    if trials == "all":
        return JointFiles(reader.place, key, files, None)
    whole = isinstance(trials, (list, tuple)) and trials
    if not whole or not all(isinstance(t, int) and not isinstance(t, bool) for t in trials):
        raise reader.error(f"{key}.trials", trials, "all, or a list of whole numbers")
    return JointFiles(reader.place, key, files, tuple(trials))


def whole_files(kept: JointFiles, place: str, key: str, files: Sequence[str | Path]):
    """Every trial of other files, and the same in the words of the YAML."""
    paths = tuple(Path(file).resolve() for file in files)
    words = {"files": [str(path) for path in paths], "trials": "all"}
    return JointFiles(place, key, paths, None), words


KIND = Kind(
    measurement=JointMeasurementOptions,
    simulation=JointSimulationOptions,
    fit=JointFitOptions,
    selections=selections,
    whole_files=whole_files,
    experiment=imported(".joints.experiment", "JointExperiment"),
)
