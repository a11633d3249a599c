"""A thrown body before sensors: the sections of their YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError, nearest
from ...fields import Reader
from ...sensing.clouds.recording import CloudRecording
from ..kinds import Kind, by_role, imported
from ..options import FitOptions, read_options, read_paths
from .kind_options import (
    CloudDataOptions,
    CloudFilesOptions,
    CloudFitOptions,
    CloudMeasurementOptions,
    CloudSimulationOptions,
)

if TYPE_CHECKING:
    from .camera import Camera
    from .sensors import Sensor


@dataclass(frozen=True)
class CloudFiles:
    """Recordings of a role; nothing is opened before `read`.

    place    YAML, and `key` in it, for messages
    sensors  name -> recordings of another sensor, one for each of `files`
    begin    [s] stamp from which each of `files` counts, empty: from its first
    """

    place: str
    key: str
    files: tuple[Path, ...]
    topic: str = ""
    rate: float | None = None
    sensors: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    begin: tuple[float, ...] = ()

    def read(self, sensors: Sequence[Camera | Sensor]) -> list[CloudRecording]:
        """All of them: throws of the first sensor, with what the others recorded."""
        first, others, found = sensors[0], sensors[1:], []
        names = [sensor.name for sensor in others]
        for name in self.sensors:
            if name not in names:
                rule = "names of measurement.sensors but the first: " + (", ".join(names) or "none")
                place, near = f"{self.key}.sensors", nearest(name, names)
                raise InputError(self.place, place, name, rule, near)
        for k, file in enumerate(self.files):
            throws = first.throws(file, self.rate, self.topic)
            auxiliary = {s.name: s.read(self.sensors.get(s.name, self.files)[k]) for s in others}
            if self.begin:
                throws = [self._begun(throw, self.begin[k], f"{self.key}.begin[{k}]")
                          for throw in throws]  # fmt: skip
            found += [
                replace(throw, auxiliary={**throw.auxiliary, **auxiliary}) for throw in throws
            ]
        return found

    def _begun(self, throw: CloudRecording, begin: float, key: str) -> CloudRecording:
        """A recording without what came before a stamp."""
        stamps, kept = throw.stamps, throw.begun(begin)
        if not len(kept.stamps):
            rule = f"a stamp of {throw.source}: from {stamps[0]:.3f} to {stamps[-1]:.3f} s"
            raise InputError(self.place, key, begin, rule)
        return kept


def selections(reader: Reader, data: Mapping, base: Path) -> tuple[CloudFiles, CloudFiles | None]:
    """Recordings of training and validation."""
    options = read_options(CloudDataOptions, reader, data, "data")
    return by_role(options, lambda value, key: _files(reader, value, base, key))


def _files(reader, value, base, key) -> CloudFiles:
    options = read_options(CloudFilesOptions, reader, value, key)
    files = read_paths(reader, options.files, base, key, "a recording of clouds")
    sensors = {}
    for name, paths in options.sensors.items():
        place, given = f"{key}.sensors.{name}", paths if isinstance(paths, list) else []
        if len(given) != len(files) or not all(isinstance(path, str) for path in given):
            raise reader.error(place, paths, f"a list of {len(files)} files, one for each of files")
        sensors[str(name)] = tuple(base / path for path in given)
    begin = tuple(options.begin or ())
    if begin and len(begin) != len(files):
        rule = f"a list of {len(files)} stamps, one for each of files"
        raise reader.error(f"{key}.begin", list(begin), rule)
    return CloudFiles(reader.place, key, files, options.topic, options.rate, sensors, begin)


def whole_files(kept: CloudFiles, place: str, key: str, files: Sequence[str | Path]):
    """Other files read alike, and the same in the words of the YAML; sensors are topics of them."""
    paths = tuple(Path(file).resolve() for file in files)
    words = {"files": [str(path) for path in paths]}
    words |= {k: v for k, v in (("topic", kept.topic), ("rate", kept.rate)) if v}
    return replace(kept, key=key, files=paths, sensors={}, begin=()), words


def check_fit(reader: Reader, fit: FitOptions) -> None:
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
