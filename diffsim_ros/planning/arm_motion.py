"""The joints' motion that executes a plan: its checks, and the command that is sent for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..robots.arm import Arm
from ..robots.controlled import anticipated, executed
from ..robots.controller import Settings
from ..robots.obstacles import Clearance
from ..robots.robot import Capsule
from ..robots.time_scaling import peaks
from ..robots.trajectory import JointTrajectory
from ..robots.trajectory_check import check_motion
from ..rotation import quat_exp, quat_from_matrix, quat_log, quat_multiply
from ..scene.model import SceneModel

RATES = ("velocity", "acceleration", "jerk")
ROOM = 0.999
"""Of the limits of rates, at most: points are sent in whole nanoseconds, and checked so."""
LESS = 0.9
"""Of the rate that a joint had, in the next round."""


@dataclass(frozen=True)
class Carried:
    """An arm's motion for a plan.

    trajectory  the command, from rest to rest; its `release` is when what it holds is released
    motion      of the joints then: the same, or the one that `trajectory` anticipates
    (robot.tracking) figures     shares of limits by `motion`, duration, speed at the release,
    largest correction
                [rad or m] that anticipates the lag: plain data for metrics.json
    """

    trajectory: JointTrajectory
    motion: JointTrajectory
    figures: Mapping[str, Any]


def sent(
    arm: Arm, tracking: Settings | None, wanted: JointTrajectory, clear: Clearance,
    figures: Mapping[str, Any],
) -> Carried:  # fmt: skip
    """The command whose execution is the wanted motion; both are checked."""
    check_motion(wanted, arm)
    check_clear(clear, wanted)
    figures = {**shares(arm, wanted), **figures}
    if tracking is None:
        return Carried(wanted, wanted, figures)
    ahead = anticipated(wanted, tracking)
    check_motion(ahead, arm)
    check_clear(clear, ahead)
    figures["anticipated"] = float(np.abs(ahead.positions - wanted.at(ahead.times)[0]).max())
    return Carried(ahead, wanted, figures)


def executed_motion(
    carried: Carried, names: Sequence[str], tracking: Settings | None
) -> tuple[JointTrajectory, float]:
    """The joints' motion for what is sent, and the controller's pure delay [s].

    tracking  None: the simulated controller of the package, with ur_robot_driver's parameters
    """
    settings = Settings() if tracking is None else tracking
    motion = executed(carried.trajectory, names, settings).motion
    return motion, float(settings.dynamics.delay)


def turn_difference(turns: np.ndarray, turned: np.ndarray) -> np.ndarray:
    """Change (..., 3) of rotation vectors `turns` (..., 3) when `turned` (..., 3, 3) comes after.

    Of the vectors of the new rotation, whole turns apart, the nearest counts.
    """
    new = quat_log(quat_multiply(quat_from_matrix(turned), quat_exp(turns)))
    angle = np.linalg.norm(new, axis=-1, keepdims=True)
    axis = new / np.where(angle > 1e-12, angle, 1.0)
    found = np.stack([new + 2 * np.pi * k * axis for k in (-1, 0, 1)]) - turns
    nearest = np.argmin(np.linalg.norm(found, axis=-1), axis=0)
    return np.take_along_axis(found, nearest[None, ..., None], axis=0)[0]


def clearance(scene: SceneModel, arm: Arm, held: list[Capsule]) -> Clearance:
    """Distances of the arm, and of what it holds, to the scene's surfaces that stand still."""
    carried = {c["name"] for c in scene.description["contact"] if c.get("carrier") is not None}
    still = {name: sdf for name, sdf in scene.surfaces.items() if name not in carried}
    return Clearance(arm, still, held)


def check_clear(clear: Clearance, trajectory: JointTrajectory) -> None:
    """InputError naming what collides, when and how deep."""
    distances, near = clear(trajectory.positions)
    k = int(np.argmin(distances))
    if distances[k] < 0:
        place = f"{near[k]} at {trajectory.times[k]:.3f} s"
        raise InputError("motion", place, f"{distances[k]:.4f} m", "a distance of at least 0 m")


def derated(arm: Arm, margin: float) -> Arm:
    """The arm with limits of rates with room for a controller's overshoot, and rounding.

    margin  share of them that is used
    """
    share = min(margin, ROOM)
    rates = {name: share * getattr(arm.limits, name) for name in RATES}
    return replace(arm, limits=replace(arm.limits, **rates))


def shares(arm: Arm, trajectory: JointTrajectory) -> dict[str, Any]:
    """Duration [s] and peaks as shares of the limits, each of the joint that has the largest."""
    found = peaks(trajectory)
    out: dict[str, Any] = {"duration": trajectory.duration}
    for name in RATES:
        share = found[name] / getattr(arm.limits, name)
        out[f"{name}_share"] = float(share.max())
        out[f"{name}_joint"] = trajectory.names[int(share.argmax())]
    return out


def arm_line(carried: Carried) -> str:
    """One sentence about the arm's motion."""
    f = carried.figures
    let_go = "" if "release" not in f else (
        f", releases at {f['release']:.3f} s at {f['release_speed']:.2f} m/s"
    )  # fmt: skip
    lag = "" if "anticipated" not in f else (
        f"; what is sent leads by up to {1e3 * f['anticipated']:.2g} mrad or mm"
    )  # fmt: skip
    return (
        f"arm: {f['duration']:.2f} s{let_go}; {100 * f['velocity_share']:.0f} % of the velocity "
        f"limit ({f['velocity_joint']}), {100 * f['acceleration_share']:.0f} % of the acceleration "
        f"limit ({f['acceleration_joint']}){lag}"
    )
