"""Sections of an estimation YAML that are those of clouds."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

from dataclasses import dataclass

from ...scene.fields import REQUIRED
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


@dataclass(frozen=True, kw_only=True)
class CloudMeasurementOptions:
    """Section `measurement` of clouds."""

    cloud: dict = option("mapping", "place of the camera, pipeline and noise, see below", REQUIRED)
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
    start_sigma: tuple = option(
        "numbers",
        "belief in what the free flight says of the start: place [m], velocity [m/s], orientation "
        "[rad], spin [rad/s]; wide, as the same frames are fitted",
        (0.03, 0.3, 0.3, 3.0),
        minimum=0,
        strict=True,
    )


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
