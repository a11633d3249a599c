"""A robot at its place: URDF, tool, pose of the base, limits, home. Read from robots/*.yaml."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.yaml_file import read_yaml

from .robot import Robot
from .urdf import load_robot

KEYS = ("urdf", "tool", "base", "home", "limits", "gripper", "surroundings")
GRIPPER_KEYS = ("from", "to", "radius")
LARGEST = 1e300
"""Numbers beyond are refused; whole numbers of YAML may be longer than any float."""
LIMIT_KEYS = ("velocity_share", "acceleration", "jerk")


@dataclass(frozen=True)
class Limits:
    """Of every joint, arrays (n,) in the order of the robot's joints.

    lower, upper  [rad or m];  velocity [rad/s or m/s];  acceleration [../s^2];  jerk [../s^3]
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray


@dataclass(frozen=True)
class Arm:
    """robot: its tree; tool: link of the gripper; base: pose (4, 4) of the root link in the
    world, None where it is not known (nothing is planned for it or sent to it); home: (n,).

    gripper       ends (2, 3) [m] in the tool's frame and radius [m] of a capsule about the gripper
    surroundings  name -> surface with the keys of a scene's `sdfs`, frame of the root link; read
                  where scenes are known
    place         file of its YAML, for messages; paths of `surroundings` are relative to it
    """

    robot: Robot
    tool: str
    base: np.ndarray | None
    home: np.ndarray
    limits: Limits
    gripper: tuple[np.ndarray, float] | None = None
    surroundings: Mapping[str, object] = field(default_factory=dict)
    place: str = "robot"


def load_arm(source: str | Path | Mapping, base: str | Path = ".") -> Arm:
    """Read an arm's YAML (paths relative to it), or a mapping (relative to `base`).

    Raises InputError naming file, key, value and rule.
    """
    place, folder, given = "robot", Path(base), source
    if not isinstance(source, Mapping):
        place, folder = str(source), Path(source).parent
        given = read_yaml(source)
    _known(place, "", given, KEYS)
    if not isinstance(given.get("urdf"), str):
        raise InputError(place, "urdf", given.get("urdf"), "path of a URDF")
    robot = load_robot(folder / given["urdf"], meshes="ignore")
    tool, start = given.get("tool", next(reversed(robot.frames))), given.get("home")
    if not isinstance(tool, str) or tool not in robot.frames:
        near = nearest(tool, robot.frames)
        raise InputError(place, "tool", tool, f"a link of {robot.place}", near)
    if robot.followers:
        robot, start = _held_followers(place, robot, tool, start)
    if robot.odd_limits:
        rule, remedy = "joints with lower < upper: a plan must keep them", "mend the file"
        raise InputError(robot.place, f"joint {robot.odd_limits[0]}: limit", "lower >= upper", rule,
                         remedy)  # fmt: skip
    limits = _limits(place, robot, given.get("limits", {}))
    home = robot.values(start, "home", place=place, unit="rad or m")
    for name, value, low, high in zip(
        robot.joint_names, home, limits.lower, limits.upper, strict=True
    ):
        if not low <= value <= high:
            raise InputError(place, f"home.{name}", float(value), f"from {low:g} to {high:g}")
    surroundings = given.get("surroundings") or {}
    if not isinstance(surroundings, Mapping):
        raise InputError(place, "surroundings", surroundings, "a mapping of names to surfaces")
    return Arm(
        robot, tool, _pose(place, given.get("base")), home, limits,
        gripper=_gripper(place, given.get("gripper")), surroundings=surroundings,
        place=str(folder) if isinstance(source, Mapping) else place,
    )  # fmt: skip


def _held_followers(place: str, robot: Robot, tool: str, home: object) -> tuple[Robot, object]:
    """The robot with joints that follow others held where `home` has their leaders, those too; what
    is left of `home`.  Warns of them.  InputError where they move the tool."""
    leaders = {joint.mimic.leader for joint in robot.joints if joint.mimic is not None}
    names = (*robot.followers, *(robot.joint_names[i] for i in sorted(leaders)))
    moved = [robot.joint_names[i] for i in robot.branch(robot.frame(tool).carrier)]
    if set(moved) & set(names):
        rule = f"a link that none of {', '.join(names)} moves, of which some follow others"
        raise InputError(place, "tool", tool, rule, "name the link that the fingers are on")
    left, own = home, None
    if isinstance(home, Mapping):
        own = {name: value for name, value in home.items() if name in names}
        left = {name: value for name, value in home.items() if name not in names}
    q = robot.followed(robot.values(own, "home", place=place, unit="rad or m"))
    held = {robot.joint_names[i]: float(q[i]) for i in leaders}
    moving = [name for name in robot.joint_names if name not in names]
    warnings.warn(
        f"{place}: {', '.join(robot.followers)} of {robot.place} follow other joints: held at "
        f"`home`, with {', '.join(held)}",
        UserWarning,
        stacklevel=3,
    )
    found = load_robot(robot.place, meshes="ignore", joints=moving, held=held, quiet=True)
    return found, left


def _gripper(place: str, given: object) -> tuple[np.ndarray, float] | None:
    """Ends (2, 3) and radius of {from, to, radius}; None where nothing is given."""
    if given is None:
        return None
    _known(place, "gripper", given, GRIPPER_KEYS)
    first = _numbers(place, "gripper.from", given.get("from", (0, 0, 0)), "x, y, z in m")
    last = _numbers(place, "gripper.to", given.get("to"), "x, y, z in m")
    radius = given.get("radius")
    if isinstance(radius, bool) or not isinstance(radius, (int, float)) or not 0 < radius < 1:
        raise InputError(place, "gripper.radius", radius, "a number [m], above 0 and below 1")
    return np.stack([first, last]), float(radius)


def _known(place: str, key: str, given: object, keys: tuple[str, ...]) -> None:
    if not isinstance(given, Mapping):
        raise InputError(place, key, given, "a mapping of keys to values")
    for name in given:
        if name not in keys:
            at = f"{key}.{name}".lstrip(".")
            raise InputError(place, at, given[name], f"one of {', '.join(keys)}",
                             nearest(str(name), keys))  # fmt: skip


def _limits(place: str, robot: Robot, given: Mapping) -> Limits:
    _known(place, "limits", given, LIMIT_KEYS)
    share = given.get("velocity_share", 1.0)
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
        raise InputError(place, "limits.velocity_share", share, "greater than 0, at most 1")
    known = robot.limits
    arrays = {}
    for key, unit in (("acceleration", "rad/s^2 or m/s^2"), ("jerk", "rad/s^3 or m/s^3")):
        arrays[key] = robot.values(given.get(key, 1e3), f"limits.{key}", 1e3, place, unit)
        if np.any(arrays[key] <= 0):
            raise InputError(place, f"limits.{key}", given[key], "greater than 0")
    return Limits(known["lower"], known["upper"], share * known["velocity"], **arrays)


def _pose(place: str, given: object) -> np.ndarray | None:
    """(4, 4) of {position, orientation}; None where nothing is given."""
    if given is None:
        return None
    _known(place, "base", given, ("position", "orientation"))
    position = _numbers(place, "base.position", given.get("position", (0, 0, 0)), "x, y, z in m")
    turn = given.get("orientation", (0, 0, 0, 1))
    quaternion = _numbers(place, "base.orientation", turn, "x, y, z, w")
    if not np.linalg.norm(quaternion) > 1e-6:
        raise InputError(place, "base.orientation", turn, "x, y, z, w, not all zero")
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat(quaternion).as_matrix()
    pose[:3, 3] = position
    return pose


def _numbers(place: str, key: str, given: object, names: str) -> np.ndarray:
    """As many finite numbers as there are `names`."""
    count = names.count(",") + 1
    sound = isinstance(given, (list, tuple)) and len(given) == count
    if not sound or not all(
        isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) < LARGEST for x in given
    ):
        raise InputError(place, key, given, f"{count} finite numbers: {names}")
    return np.array(given, float)
