"""Sections of an estimation YAML that are those of joint logs."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

from dataclasses import dataclass

from ...fields import REQUIRED
from ..options import FitOptions, option


@dataclass(frozen=True, kw_only=True)
class JointDataOptions:
    """Section `data` of joint logs."""

    train: dict = option("mapping", "trials that are fitted: {files, trials}", REQUIRED)
    validate: dict = option("mapping", "trials that are predicted: {files, trials}", None)


@dataclass(frozen=True, kw_only=True)
class JointFilesOptions:
    """Sections `data.train` and `data.validate` of joint logs."""

    files: tuple = option("list", "NPZ or CSV files, relative to the YAML", REQUIRED)
    trials: object = option("any", "all, or a list of trial numbers", "all")


@dataclass(frozen=True, kw_only=True)
class JointMeasurementOptions:
    """Section `measurement` of joint logs."""

    joints: tuple = option("list", "joints whose readings count; absent: all of the log", ())
    position: dict = option("mapping", "readings of positions, see below; absent: not used", None)
    velocity: dict = option("mapping", "readings of velocities; absent: not used", None)
    effort: dict = option(
        "mapping", "readings of the drives' torques or forces; absent: not used", None
    )
    still: float = option(
        "number",
        "every trial begins at rest for this long; its mean position is where the robot starts",
        0.1,
        "s",
        minimum=0,
        strict=True,
    )
    skip: float = option("number", "samples before this time do not count", 0.0, "s", minimum=0)
    start: str = option(
        "choice",
        "start at the measured positions, or at the commanded ones (needed where positions have a "
        "gain or bias)",
        "measured",
        choices=("measured", "command"),
    )


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Sections `measurement.position`, `.velocity` and `.effort`."""

    sigma: object = option(
        "any", "noise [rad, rad/s, N m; of sliders m, m/s, N]: a number, or {joint: number}",
        REQUIRED,
    )  # fmt: skip
    delay: object = option("any", "of the sensor [s]: a number, or the name of a parameter", 0.0)
    drift: object = option(
        "any",
        "what its clock loses per second of its own: a number > -1, or a parameter",
        0.0,
    )
    gain: object = option(
        "any", "reading = gain * value + bias: a number, a parameter, or {joint: either}", 1.0
    )
    bias: object = option("any", "a number, a parameter, or {joint: either}", 0.0)


@dataclass(frozen=True, kw_only=True)
class JointSimulationOptions:
    """Section `simulation` of joint logs; steps are the scene's."""

    commands: str = option(
        "choice",
        "what the drives get between the samples of the log: a cubic spline, or a straight line",
        "cubic",
        choices=("cubic", "linear"),
    )
    threads: int = option("integer", "0 uses every core; results do not change", 0, minimum=0)


@dataclass(frozen=True, kw_only=True)
class JointFitOptions(FitOptions):
    """Section `fit` of joint logs: sums of squares of readings over their sigmas."""

    loss: str = option(
        "choice",
        "how a trial's sum of squares counts",
        "squared",
        choices=("squared",),
    )
