"""Sections of an estimation YAML that are those of clouds."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

from dataclasses import dataclass

from ...fields import REQUIRED
from ..options import FitOptions, option


@dataclass(frozen=True, kw_only=True)
class CloudDataOptions:
    """Section `data` of clouds."""

    train: dict = option("mapping", "recordings that are fitted", REQUIRED)
    validate: dict = option("mapping", "recordings that are predicted", None)


@dataclass(frozen=True, kw_only=True)
class CloudFilesOptions:
    """Sections `data.train` and `data.validate` of clouds."""

    files: tuple = option(
        "list", "NPZ files, folders of PCD or PLY files, or bags, relative to the YAML", REQUIRED
    )
    topic: str = option("text", "of a bag with several PointCloud2 topics", "")
    rate: float = option(
        "number", "of files whose names are no stamps", None, "Hz", minimum=0, strict=True
    )
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
    radius: float = option(
        "number", "of a soft ball, where its mesh was made with another", None, "m", minimum=0,
        strict=True,
    )  # fmt: skip
    outlier: float = option(
        "number", "residual beyond which a point counts less (Huber)", 2.0, "sigma", minimum=0,
        strict=True,
    )  # fmt: skip
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
    sigma_position: float = option(
        "number", "noise of a place, per axis", 1e-3, "m", minimum=0, strict=True
    )
    sigma_rotation: float = option(
        "number", "noise of a rotation, per axis", 0.5, "deg", minimum=0, strict=True
    )
    delay: object = option(
        "any",
        "how much later its stamps are than those of the first sensor [s]: a number, or the name "
        "of a parameter",
        0.0,
    )
    drift: object = option(
        "any", "seconds that its clock loses per second of its own, likewise", 0.0
    )
    outlier: float = option(
        "number", "residual beyond which a sample counts less (Huber)", 3.0, "sigma", minimum=0,
        strict=True,
    )  # fmt: skip
    weight: float = option(
        "number", "of its squares: below 1 where its errors are alike over time", 1.0, minimum=0,
        strict=True,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CloudSimulationOptions:
    """Section `simulation` of clouds; steps are the scene's."""

    threads: int = option("integer", "0 uses every core; results do not change", 0, minimum=0)


@dataclass(frozen=True, kw_only=True)
class CloudFitOptions(FitOptions):
    """Section `fit` of clouds: points have a robust loss of their own."""

    loss: str = option(
        "choice",
        "how a recording's sum of squares counts",
        "squared",
        choices=("squared", "soft_l1", "cauchy"),
    )
