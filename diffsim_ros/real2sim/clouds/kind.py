"""A thrown body before a depth camera: the sections of their YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..kinds import Kind, by_role, imported
from ..options import FitOptions, OptionReader, read_options, read_paths
from .kind_options import (
    CloudDataOptions,
    CloudFilesOptions,
    CloudFitOptions,
    CloudMeasurementOptions,
    CloudSimulationOptions,
)
from .recording import CloudRecording, read_recordings


@dataclass(frozen=True)
class Files:
    """Recordings of a role; nothing is opened before `read`."""

    key: str
    files: tuple[Path, ...]
    topic: str = ""
    rate: float | None = None

    def read(self, scale: float) -> list[CloudRecording]:
        """All of them; scale: metres per unit of the clouds."""
        options = {"topic": self.topic, "rate": self.rate, "scale": scale}
        return [one for file in self.files for one in read_recordings(file, **options)]


def selections(reader: OptionReader, data: Mapping, base: Path) -> tuple[Files, Files | None]:
    """Recordings of training and validation."""
    options = read_options(CloudDataOptions, reader, data, "data")
    return by_role(options, lambda value, key: _files(reader, value, base, key))


def _files(reader, value, base, key) -> Files:
    options = read_options(CloudFilesOptions, reader, value, key)
    files = read_paths(reader, options.files, base, key, "a recording of clouds")
    return Files(key, files, options.topic, options.rate)


def whole_files(kept: Files, place: str, key: str, files: Sequence[str | Path]):
    """Other files read alike, and the same in the words of the YAML."""
    paths = tuple(Path(file).resolve() for file in files)
    words = {"files": [str(path) for path in paths]}
    words |= {k: v for k, v in (("topic", kept.topic), ("rate", kept.rate)) if v}
    return replace(kept, key=key, files=paths), words


def check_fit(reader: OptionReader, fit: FitOptions) -> None:
    """Refuse a search over starts: every recording has one that is fitted."""
    if fit.search_evaluations:
        rule = "0 for clouds (a search has no place for starts)"
        raise reader.error("fit.search_evaluations", fit.search_evaluations, rule)


KIND = Kind(
    measurement=CloudMeasurementOptions,
    simulation=CloudSimulationOptions,
    fit=CloudFitOptions,
    selections=selections,
    whole_files=whole_files,
    check_fit=check_fit,
    experiment=imported(".clouds.experiment", "CloudExperiment"),
)
