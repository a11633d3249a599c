"""Sections of an estimation YAML that are those of clouds."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ....errors import InputError, nearest
from ....fields import REQUIRED, Reader
from ....sensing.observation import Observation
from ...options import FilesOptions, FitOptions, option, positive
from ...recordings import Recordings


@dataclass(frozen=True, kw_only=True)
class CloudFilesOptions(FilesOptions):
    """Sections `data.train` and `data.validate` of clouds."""

    topic: str = option("text", "of a bag with several PointCloud2 topics", "")
    rate: float = positive("of files whose names are no stamps", None, "Hz")
    begin: list = option(
        "numbers",
        "stamp from which each of `files` counts, e.g. a robot's release; absent: its first",
        None,
        "s",
    )
    sensors: dict = option(
        "mapping",
        "name of one of measurement.sensors -> its recordings (CSV or bags), one for each of "
        "`files`; absent: topics of the same bags",
        {},
    )


@dataclass(frozen=True)
class CloudFiles(Recordings):
    """Recordings of a role; nothing is opened before `read`.

    sensors  name -> recordings of another sensor, one for each of `files`
    begin    [s] stamp from which each of `files` counts, empty: from its first
    """

    topic: str = ""
    rate: float | None = None
    sensors: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    begin: tuple[float, ...] = ()

    section: ClassVar[type[FilesOptions]] = CloudFilesOptions
    accepted: ClassVar[str] = "a recording of clouds"

    @classmethod
    def details(
        cls, reader: Reader, options: CloudFilesOptions, base: Path, key: str, data: Any
    ) -> dict[str, Any]:
        """Topic, rate, recordings of other sensors, and stamps from which files count."""
        sensors, count = {}, len(options.files)
        for name, paths in options.sensors.items():
            place, given = f"{key}.sensors.{name}", paths if isinstance(paths, list) else []
            if len(given) != count or not all(isinstance(path, str) for path in given):
                raise reader.error(place, paths, f"a list of {count} files, one for each of files")
            sensors[str(name)] = tuple(base / path for path in given)
        begin = tuple(options.begin or ())
        if begin and len(begin) != count:
            rule = f"a list of {count} stamps, one for each of files"
            raise reader.error(f"{key}.begin", list(begin), rule)
        return {"topic": options.topic, "rate": options.rate, "sensors": sensors, "begin": begin}

    def whole(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Files are read once; other sensors are topics of them."""
        words = {k: v for k, v in (("topic", self.topic), ("rate", self.rate)) if v}
        return {"sensors": {}, "begin": ()}, words

    def read(self, sensors: Sequence[Any]) -> list[dict[str, Observation]]:
        """All throws: what each sensor recorded, the first of them first."""
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
            found += [{first.name: throw, **auxiliary} for throw in throws]
        return found

    def _begun(self, throw: Observation, begin: float, key: str) -> Observation:
        """A recording without what came before a stamp."""
        kept = throw.kept(throw.t >= begin)
        if not len(kept):
            rule = f"a stamp of {throw.place}: from {throw.t[0]:.3f} to {throw.t[-1]:.3f} s"
            raise InputError(self.place, key, begin, rule)
        return kept


@dataclass(frozen=True, kw_only=True)
class CloudMeasurementOptions:
    """Section `measurement` of clouds."""

    cloud: dict = option(
        "mapping",
        "place of the camera, pipeline and noise, see below; absent: the first of `sensors` counts "
        "as the reference",
        None,
    )
    floor: str = option(
        "text",
        "plane of the scene's sdfs that the floor found in each recording is put on",
        "",
    )
    refine: int = option(
        "integer", "times that a soft ball's faces are cut into four", 2, minimum=0
    )
    radius: float = positive("of a soft ball, where its mesh was made with another", None, "m")
    outlier: float = positive("residual beyond which a point counts less (Huber)", 2.0, "sigma")
    clear: float = option(
        "number", "gap to every surface down to which a frame is of the free flight", 0.02, "m",
        minimum=0,
    )  # fmt: skip
    check_gravity: bool = option("flag", "compare free flight with the world's gravity", True)
    turning: bool = option(
        "flag", "orientation and spin at the start are unknown too (false: as in the scene)", False
    )
    sensors: dict = option("mapping", "name -> another sensor of the same throws, see below", {})
    start_sigma: tuple = option(
        "numbers",
        "standard deviations of the start that the free flight gives: place [m], velocity [m/s], "
        "orientation [rad], spin [rad/s]; wide, as the same frames are fitted",
        (0.03, 0.3, 0.3, 3.0),
        minimum=0,
        strict=True,
    )


@dataclass(frozen=True, kw_only=True)
class CloudSensorOptions:
    """One of `measurement.sensors`: a sensor of the throws."""

    kind: str = option(
        "choice", "what it shows of the body", REQUIRED, choices=("poses", "markers", "clouds")
    )
    cloud: dict = option("mapping", "of another camera: its place, pipeline and noise", None)
    topic: str = option("text", "of a bag with several of its kind", "")
    position: object = option(
        "any",
        "of its frame in the scene's: three numbers [m] or names of parameters",
        (0.0, 0.0, 0.0),
    )
    orientation: tuple = option("quaternion", "of its frame, x, y, z, w", (0.0, 0.0, 0.0, 1.0))
    pivot: object = option(
        "any",
        "of poses: where the tracked pivot sits in the body, x, y, z [m] and a rotation vector "
        "[rad], numbers or names of parameters",
        (0.0,) * 6,
    )
    markers: dict = option("mapping", "name -> place at the start of the scene [m, world]", {})
    sigma_position: float = positive("noise of a place, per axis", 1e-3, "m")
    sigma_rotation: float = positive("noise of a rotation, per axis", 0.5, "deg")
    delay: object = option(
        "any",
        "how much later its stamps are than those of the first sensor [s]: a number, or the name "
        "of a parameter; to be given where the stamps of either begin at 0",
        0.0,
    )
    drift: object = option(
        "any", "seconds that its clock loses per second of its own, likewise", 0.0
    )
    outlier: float = positive("residual beyond which a sample counts less (Huber)", 3.0, "sigma")
    weight: float = positive("of its squares: below 1 where errors are correlated over time", 1.0)


@dataclass(frozen=True, kw_only=True)
class CloudFitOptions(FitOptions):
    """Section `fit` of clouds: points have a robust loss of their own."""

    loss: str = option(
        "choice",
        "how a recording's sum of squares counts",
        "squared",
        choices=("squared", "soft_l1", "cauchy"),
    )
