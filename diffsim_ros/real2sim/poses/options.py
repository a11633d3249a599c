"""Sections of an estimation YAML that are those of poses."""

# ruff: noqa: RUF009  `option` returns a dataclasses.field, nothing is shared between instances
from __future__ import annotations

from dataclasses import dataclass

from ..options import FitOptions, option


@dataclass(frozen=True, kw_only=True)
class PoseMeasurementOptions:
    """Section `measurement` of poses: what was recorded, and where a rollout starts."""

    observed: str = option(
        "choice",
        "what is fitted and judged after the start",
        "poses",
        choices=("poses", "positions", "velocities"),
    )
    start: str = option(
        "choice",
        "flight: fitted to the frames before the first contact; file: first frame, its velocity "
        "columns; scene: as the scene says, whose start parameters may be estimated",
        "flight",
        choices=("flight", "file", "scene"),
    )
    body_offset: dict = option(
        "mapping",
        "body -> the tracker's pivot in it: x, y, z [m] and a rotation vector [rad]; a parameter's "
        "name in place of a number: estimated",
        {},
    )
    sigma_position: float = option(
        "number", "noise of a position", 1e-3, "m", minimum=0, strict=True
    )
    sigma_rotation: float = option(
        "number", "noise of a rotation, per axis", 0.5, "deg", minimum=0, strict=True
    )
    sigma_velocity: float = option(
        "number", "noise of a velocity", 0.05, "m/s", minimum=0, strict=True
    )
    sigma_spin: float = option(
        "number", "noise of an angular velocity", 0.5, "rad/s", minimum=0, strict=True
    )
    clearance: float = option(
        "number", "gap of the nearest contact point that ends the flight", 2e-3, "m", minimum=0
    )
    flight_frames: tuple = option(
        "numbers", "fewest frames of a flight, and the most that are looked at", (6, 40), minimum=3
    )
    flight_misfit: float = option(
        "number",
        "root mean square residual of a simulated flight, in sigmas, beyond which a recording is "
        "left out: held by a hand, or a tracker that jumped",
        3.0,
        minimum=0,
        strict=True,
    )
    window: float = option(
        "number",
        "frames up to this time after the flight count (0: all)",
        0.0,
        "s",
        minimum=0,
    )
    check_gravity: bool = option(
        "flag", "compare the fall of the bodies' mass centre with the world's gravity", True
    )


@dataclass(frozen=True, kw_only=True)
class PoseFitOptions(FitOptions):
    """Section `fit` of poses."""

    initial_state: str = option(
        "choice",
        "held: open loop from the measured start; nuisance: starts are fitted too, and residuals "
        "are in the sensor's sigmas",
        "held",
        choices=("held", "nuisance"),
    )
    length: float = option(
        "number",
        "distance that counts as much as a turn by one radian, with starts held",
        0.05,
        "m",
        minimum=0,
        strict=True,
    )
