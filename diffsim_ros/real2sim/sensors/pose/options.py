"""Sections of an estimation YAML that are those of poses."""

from __future__ import annotations

from dataclasses import dataclass

from ....fields import REQUIRED
from ...options import FilesOptions, FitOptions, SimulationOptions, option, positive


@dataclass(frozen=True, kw_only=True)
class SelectionOptions(FilesOptions):
    """Sections `data.train` and `data.validate` of poses."""

    trials: object = option("any", "all, a list of ids, or {random: COUNT, seed: SEED}", "all")
    exclude_train: bool = option("flag", "leave out tosses that the YAML trains on", True)


@dataclass(frozen=True, kw_only=True)
class RandomOptions:
    """Section `data.*.trials` when tosses are drawn."""

    random: int = option("integer", "how many tosses", REQUIRED, minimum=1)
    seed: int = option("integer", "seed of the draw", 0, minimum=0)


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
        "flight: fitted to the frames before the first contact; height: as measured, a little "
        "before the body is as low as its half diagonal; file: first frame, its velocity columns "
        "(poses alone: fitted); "
        "scene: as the scene says, whose start parameters may be estimated",
        "flight",
        choices=("flight", "height", "file", "scene"),
    )
    body_offset: object = option(
        "any",
        "body -> the tracker's pivot in it: x, y, z [m] and a rotation vector [rad]; a parameter's "
        "name in place of a number: estimated. Of one body the six numbers suffice",
        {},
    )
    sigma_position: float = positive("noise of a position", 1e-3, "m")
    sigma_rotation: float = positive("noise of a rotation, per axis", 0.5, "deg")
    sigma_velocity: float = positive("noise of a velocity", 0.05, "m/s")
    sigma_spin: float = positive("noise of an angular velocity", 0.5, "rad/s")
    clearance: float = option(
        "number", "gap of the nearest contact point that ends the flight", 2e-3, "m", minimum=0
    )
    flight_frames: tuple = option(
        "numbers", "fewest frames of a flight, and the most that are looked at", (6, 40), minimum=3
    )
    flight_misfit: float = positive(
        "root mean square residual of a simulated flight, in sigmas, beyond which a recording is "
        "left out: held by a hand, or a tracker that jumped",
        3.0,
    )
    window: float = option(
        "number", "frames up to this time after the flight count (0: all)", 0.0, "s", minimum=0
    )
    half_edge: float = positive(
        "start: height; half edge of the cube, recorded lengths", 0.0524, "m"
    )
    start_gravity: float = option(
        "number", "start: height; gravity of the refit of v_z", 9.81, "m/s^2", minimum=0
    )
    own_gravity: bool = option(
        "flag",
        "start: height; refit v_z with the model's gravity",
        False,
    )
    frames_before: int = option(
        "integer", "frames from the start to the first below sqrt(3) half edges", 3, minimum=0
    )
    check_gravity: bool = option(
        "flag", "compare the fall of the bodies' mass centre with the world's gravity", True
    )


@dataclass(frozen=True, kw_only=True)
class PoseSimulationOptions(SimulationOptions):
    """Section `simulation` of poses."""

    steps_per_frame: int = option("integer", "time steps per frame", 8, minimum=1)
    validate_steps_per_frame: int = option(
        "integer", "the same when predicting (default: as in training)", None, minimum=1
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
        renamed=(("metric", "held"),),
    )
    length: float = positive(
        "distance that counts as much as a turn by one radian, with starts held", 0.05, "m"
    )
    position_weight: float = positive(
        "start: height; factor on the square of the position error, over `half_edge`, in a "
        "recording's mean square; in place of `length`",
        1.0,
    )
