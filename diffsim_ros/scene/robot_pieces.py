"""What robots of every source are put together from: entries of a scene's bodies and links."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from diffsim_ros.fields import Reader, join
from diffsim_ros.robots.geoms import Law, TouchingGeom
from diffsim_ros.robots.joint_values import NamedJoint, joint_values
from diffsim_ros.robots.robot import FrameMotion, Inertial
from diffsim_ros.rotation import quat_from_matrix, quat_matrix
from diffsim_ros.scene import schema_robots
from diffsim_ros.scene.placing import resolve_pose
from diffsim_ros.scene.shapes import six_of, symmetric
from diffsim_ros.units import MOST_TURNED

Array = np.ndarray
BEYOND = 1e-6
"""[rad or m], or share of a larger coordinate: how far beyond a limit is rounding."""


@dataclass
class ModelTouching:
    """What of a robot touches, from its file.

    geoms  number -> TouchingGeom carried by a body of the scene, None: by the world
    pairs  those of the robot itself that may touch, and how
    """

    geoms: dict[int, TouchingGeom]
    pairs: list[tuple[int, int, Law]]


@dataclass
class RobotParts:
    """Entries of `bodies`, `links` and `sdfs` that a robot stands for; what of it touches."""

    bodies: dict[str, dict]
    links: list[dict]
    sdfs: dict[str, dict] = field(default_factory=dict)
    touching: ModelTouching | None = None


@dataclass(frozen=True)
class OneRobot:
    """A robot among the parts of a scene: its bodies, surfaces, what of it touches, whether it is
    lifted."""

    bodies: tuple[str, ...]
    sdfs: tuple[str, ...]
    touching: ModelTouching | None
    lift: bool


def placed(reader: Reader, options: dict, key: str) -> tuple[Array, Array]:
    """Rotation (3, 3) and position (3,) of `pose`."""
    pose = resolve_pose(reader, options["pose"], join(key, "pose"))
    return quat_matrix(pose["orientation"]), np.array(pose["position"])


def six(inertia: Array) -> list[float]:
    """xx, yy, zz, xy, xz, yz of a matrix (3, 3)."""
    return inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist()


def body_part(inertial: Inertial, motion: FrameMotion, options: dict) -> dict:
    """A rigid body whose axes are those of a frame in motion, in which the inertial is."""
    arm = motion.turn @ inertial.centre
    return {
        "mass": inertial.mass,
        "inertia": six(inertial.inertia),
        "pose": {
            "position": (motion.position + arm).tolist(),
            "orientation": quat_from_matrix(motion.turn).tolist(),
        },
        "velocity": (motion.velocity + np.cross(motion.omega, arm)).tolist(),
        "angular_velocity": motion.omega.tolist(),
        "colour": options["colour"],
    }


def placed_member(kind: str, shape: dict, pose: Array, centre: Array) -> dict:
    """A member of a `picture`: a shape by its pose (4, 4) where the body's centre of mass is
    `centre`."""
    turn = quat_from_matrix(pose[:3, :3])
    return {kind: shape, "position": (pose[:3, 3] - centre).tolist(), "orientation": turn.tolist()}


def values(
    reader: Reader, joints: Sequence[NamedJoint], options: dict, key: str, name: str,
    default: float | Array = 0.0,
) -> Array:  # fmt: skip
    """Numbers per joint of an option whose unit schema_robots.UNITS has."""
    unit = schema_robots.UNITS[name]
    return joint_values(joints, options[name], join(key, name), default, reader.place, unit)


class DrivenJoint(NamedJoint, Protocol):
    """A joint whose motors have limits of torque or force, infinite where there are none."""

    @property
    def effort_lower(self) -> float: ...

    @property
    def effort_upper(self) -> float: ...


class LimitedJoint(NamedJoint, Protocol):
    """A joint that may have limits, infinite where there are none."""

    @property
    def lower(self) -> float: ...

    @property
    def upper(self) -> float: ...


def limits_act(reader: Reader, options: dict, key: str) -> bool:
    """Whether limits of joints press: unless `limits` is none; InputError for other words."""
    given = options["limits"]
    if given == "none":
        return False
    if given is not None and not isinstance(given, Mapping):
        raise reader.error(join(key, "limits"), given, "none, or stiffness and damping")
    return True


def limit_laws(
    reader: Reader, joints: Sequence[NamedJoint], options: dict, key: str,
    defaults: Mapping[str, Array],
) -> list[dict[str, float]]:  # fmt: skip
    """Stiffness, damping, damping depth of each joint's limits: the scene's, else `defaults` (n,).

    A scene's damping without a depth is alone: it means what it does for a link.
    """
    given = (options["limits"] or {}) if limits_act(reader, options, key) else {}
    where = join(key, "limits")
    read = reader.section(schema_robots.LIMITS, given, where)
    found: list[dict[str, float]] = [{} for _ in joints]
    for name in ("stiffness", "damping"):
        place, unit = join(where, name), schema_robots.LIMIT_UNITS[name]
        numbers = joint_values(joints, read[name], place, defaults[name], reader.place, unit)
        for own, number in zip(found, numbers.tolist(), strict=True):
            own[name] = number
    name = "damping_depth"
    place, unit = join(where, name), schema_robots.LIMIT_UNITS[name]
    depths = joint_values(joints, read[name], place, 0.0, reader.place, unit)
    for i, (joint, own) in enumerate(zip(joints, found, strict=True)):
        if _gives(read[name], joint):
            own[name] = float(depths[i])
        elif name in defaults and not _gives(read["damping"], joint):
            own[name] = float(defaults[name][i])
    return found


def _gives(numbers: object, joint: NamedJoint) -> bool:
    """Whether numbers per joint have one for this one."""
    return joint.name in numbers if isinstance(numbers, Mapping) else numbers is not None


def check_start(
    reader: Reader, joints: Sequence[LimitedJoint], options: dict, key: str, q: Array
) -> list[str]:
    """InputError for an angle of the scene beyond the limits of its joint, where they act; a
    sentence for each joint that the file itself has beyond them."""
    found: list[str] = []
    if not limits_act(reader, options, key):
        return found
    given = options["angles"]
    for joint, value in zip(joints, q.tolist(), strict=True):
        room = BEYOND * max(1.0, abs(value))
        if joint.lower - room <= value <= joint.upper + room:
            continue
        if given is not None and (not isinstance(given, Mapping) or joint.name in given):
            rule = f"{joint.lower:g} to {joint.upper:g}, the limits of the file"
            remedy = "start within them, or switch them off: `limits: none`"
            raise reader.error(join(join(key, "angles"), joint.name), value, rule, remedy)
        found.append(
            f"joint {joint.name} starts at {value:g}, beyond its limits {joint.lower:g} to "
            f"{joint.upper:g}, which push it back"
        )
    return found


def coordinate_value(q: float, turns: bool) -> float | str:
    """A coordinate as a file has it: an angle beyond a turn names its unit."""
    q = float(q)
    return f"{q!r} rad" if turns and abs(q) > MOST_TURNED else q


def coordinates(reader: Reader, options: dict, key: str) -> str:
    """Of the joints: those asked for, else reduced ones unless a stiffness is given."""
    stiffness = options["joint_stiffness"]
    chosen = options["coordinates"] or ("reduced" if stiffness is None else "maximal")
    if chosen == "reduced" and stiffness is not None:
        rule = "none: reduced coordinates hold exactly"
        raise reader.error(join(key, "joint_stiffness"), stiffness, rule)
    return str(chosen)


def motor_name(joint: str) -> str:
    """Name of the motor on a robot's joint."""
    return f"{joint}_drive"


def motors(
    reader: Reader, joints: Sequence[DrivenJoint], options: dict, q: Array, key: str
) -> list[dict]:
    """The motors of `drive` on every joint, whose coordinates are q (n,) at the start."""
    drive = reader.section(schema_robots.DRIVE, options["drive"], key)
    follows = drive["kind"] == "position"
    gains = {name: joint_values(joints, drive[name], join(key, name), 0.0, reader.place,
                                schema_robots.DRIVE_UNITS[name])
             for name in schema_robots.DRIVE_UNITS}  # fmt: skip
    if not follows and any(drive[name] is not None for name in gains):
        raise reader.error(join(key, "kind"), drive["kind"], "position, with stiffness and damping")
    if drive["keys"] > 1 and drive["interval"] is None:
        raise reader.error(join(key, "interval"), None, "seconds between the keys")
    limits = _effort_limits(reader, joints, drive["effort"], join(key, "effort"))
    found = []
    for i, joint in enumerate(joints):
        name = options["prefix"] + joint.name
        motor = {"name": motor_name(name), "type": "motor", "joint": name}
        motor["kind"] = "position" if follows else "torque" if joint.turns else "force"
        at = coordinate_value(q[i], joint.turns) if follows else 0.0
        motor["keys"] = [at] * drive["keys"]
        if follows:
            motor |= {name: float(gain[i]) for name, gain in gains.items()}
        if drive["interval"] is not None:
            motor["interval"] = drive["interval"]
        motor |= limits[i]
        found.append(motor)
    return found


def _effort_limits(
    reader: Reader, joints: Sequence[DrivenJoint], given: object, key: str
) -> list[dict[str, float]]:
    """Keys of each motor for where it is cut off: by the scene, either way, else by the file."""
    if given == "none":
        return [{} for _ in joints]
    unit = schema_robots.EFFORT_UNIT
    most = joint_values(joints, given, key, 0.0, reader.place, unit)
    found = []
    for joint, own in zip(joints, most.tolist(), strict=True):
        lower, upper = joint.effort_lower, joint.effort_upper
        if _gives(given, joint):
            lower, upper = -own, own
            if not own > 0:
                raise reader.error(f"{key}.{joint.name}", own, f"more than 0 [{unit}]")
        ends = {"effort_lower": lower, "effort_upper": upper}
        found.append({word: end for word, end in ends.items() if math.isfinite(end)})
    return found


def payload(
    reader: Reader, options: dict, key: str, carrier: Callable[[str, str], tuple[str, Array]]
) -> dict:
    """The payload on a link; `carrier` has its body's name, and its pose (4, 4) from the body's
    centre of mass, whose node it is, for the link's name and a key."""
    carried = reader.section(schema_robots.CARRIED, options["payload"], key)
    body, pose = carrier(carried["link"], join(key, "link"))
    inertia = carried["inertia"]
    if inertia == "uniform":
        raise reader.error(join(key, "inertia"), inertia, "numbers: a payload has no shape")
    turn = pose[:3, :3]
    return {
        "name": options["prefix"] + carried["name"],
        "type": "payload",
        "body": options["prefix"] + body,
        "mass": carried["mass"],
        "origin": pose[:3, 3].tolist(),
        "centre": (turn @ carried["centre"]).tolist(),
        "inertia": six(turn @ symmetric(six_of(inertia)) @ turn.T),
    }
