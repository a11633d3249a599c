"""Legged robots from YAML: a short description of legs, or a URDF or MJCF with its feet named."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.fields import Reader, Section, join, present
from diffsim_ros.robots.joint_values import joint_values
from diffsim_ros.robots.mjcf import load_mjcf
from diffsim_ros.robots.mjcf_tree import robot_of_mjcf
from diffsim_ros.robots.plain_names import plain
from diffsim_ros.robots.robot import Joint, Robot
from diffsim_ros.robots.urdf import load_robot, tree_of
from diffsim_ros.yaml_file import read_mapping, read_yaml

from . import schema
from .build import build_robot
from .description import BodyBox, Leg, LegCopy, LegEnd, LegJoint, RobotDescription
from .end_effector import SPINNING, EndEffector
from .legged_robot import LeggedRobot

DIRECTIONS = {
    f"{sign}{axis}": (-1.0 if sign else 1.0) * np.eye(3)[k]
    for k, axis in enumerate("xyz")
    for sign in ("", "-")
}

LARGEST = 1e5
"""Largest number of a description [SI]."""
DEEPEST = 8
"""Most robots that are like one another in a row."""


def load_legged_robot(
    source: str | Path | Mapping, *, base: str | Path | None = None, standing: bool = True
) -> LeggedRobot:
    """Read a legged robot from a YAML file or mapping.

    base      folder, or file, that paths of a mapping are relative to
    standing  whether a standing pose is refused whose feet are not all on one plane
    Raises InputError naming file, key, value and rule; of a URDF or MJCF all that its reader
    refuses.
    """
    content, place = read_mapping(source, base)
    reader = Reader(place if place != "scene" else "robot")
    folder = base if isinstance(source, Mapping) else Path(place)
    given = _whole(reader, reader.mapping(content, ""), folder)
    if "urdf" in given or "mjcf" in given:
        robot = _from_file(reader, given)
    else:
        robot = build_robot(_description(reader, given))
        _check_stance(reader, robot)
    if standing:
        robot.standing_pose()
    return robot


def _section(reader: Reader, section: Section, given: object, key: str) -> dict:
    """A section whose numbers are those of a robot: at most LARGEST."""
    read = reader.section(section, given, key)
    for name, value in read.items():
        numbers = value if isinstance(value, list) else [value]
        for number in numbers:
            if isinstance(number, (int, float)) and abs(number) > LARGEST:
                rule = f"numbers of a robot, at most {LARGEST:g}"
                raise reader.error(join(key, name), value, rule)
    return read


def inside(folder: str | Path | None, path: str) -> Path:
    """A path of a file, relative to its folder, or to the file that names it."""
    if folder is None or Path(path).is_absolute():
        return Path(path)
    folder = Path(folder)
    return (folder if folder.is_dir() else folder.parent) / path


def _whole(reader: Reader, given: dict, folder: str | Path | None, level: int = 0) -> dict:
    """What a file says, and of the robot that it is `like` what it does not say itself."""
    for key in ("urdf", "mjcf"):
        if isinstance(given.get(key), str):
            given[key] = str(inside(folder, given[key]))
    if "like" not in given:
        return given
    like: Any = reader.value(schema.LIKE, given.pop("like"), "like")
    if level == DEEPEST:
        raise reader.error("like", like, f"at most {DEEPEST} robots that are like one another")
    path = inside(folder, like)
    other = reader.mapping(read_yaml(path), f"like: {path}")
    return _over(_whole(reader, other, path, level + 1), given)


def _over(below: Mapping, above: Mapping) -> dict:
    """Mappings one over the other, level by level."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _over(merged[key], value) if both else value
    return merged


def _axis(reader: Reader, given: object, key: str) -> np.ndarray:
    """A unit direction (3,)."""
    if isinstance(given, str) and given in DIRECTIONS:
        return DIRECTIONS[given].copy()
    if not isinstance(given, (list, tuple)):
        raise reader.error(key, given, schema.AXIS)
    axis = np.array(reader.value(schema.END["at"], given, key), float)
    length = float(np.linalg.norm(axis))
    if not 1e-6 < length < 1e6:
        raise reader.error(key, given, "three numbers that are not all zero")
    return axis / length


def _check_stance(reader: Reader, robot: LeggedRobot) -> None:
    for joint, value in zip(robot.robot.joints, robot.stance, strict=True):
        if not joint.lower - 1e-9 <= value <= joint.upper + 1e-9:
            rule = f"a position within the joint's limits {joint.lower:g} to {joint.upper:g}"
            raise reader.error(f"stance of {joint.name}", float(value), rule)


def _description(reader: Reader, given: dict) -> RobotDescription:
    top = reader.section(schema.DESCRIBED, given)
    body = _section(reader, schema.BODY, top["body"], "body")
    usual = _section(reader, schema.JOINT_DEFAULTS, top["joint"], "joint")
    box = BodyBox(np.array(body["size"]), body["mass"], np.array(body["centre"]))
    legs = tuple(
        _leg(reader, _name(reader, name, "legs"), entry, usual)
        for name, entry in top["legs"].items()
    )
    if not any(leg.end_effectors for leg in legs):
        raise reader.error("legs", top["legs"], "at least one leg with an end effector")
    name = top["name"] or plain(Path(reader.place).stem)
    return RobotDescription(reader.place, name, box, legs)


def _name(reader: Reader, name: str, key: str) -> str:
    return str(reader.value(schema.DESCRIBED["name"], name, key))


def _leg(reader: Reader, name: str, given: object, usual: dict) -> Leg:
    key = f"legs.{name}"
    read = reader.section(schema.LEG, given, key)
    joints = []
    for one, entry in read["joints"].items():
        at = join(key, f"joints.{_name(reader, one, f'{key}.joints')}")
        own = {**usual, **present(_section(reader, schema.JOINT, entry, at))}
        lower, upper = own.pop("range")
        own["at"], own["axis"] = np.array(own["at"]), _axis(reader, own["axis"], join(at, "axis"))
        own["tip"] = np.array(own["tip"]) if "tip" in own else None
        joints.append(LegJoint(one, lower=lower, upper=upper, **own))
    ends = tuple(
        _end(reader, _name(reader, one, f"{key}.end_effectors"), entry, key)
        for one, entry in read["end_effectors"].items()
    )
    if not ends and not (joints and joints[-1].tip is not None):
        rule, remedy = "at least one end effector", "give the last joint of a neck or tail a `tip`"
        raise reader.error(f"{key}.end_effectors", {}, rule, remedy)
    twice = {joint.name for joint in joints} & {end.name for end in ends}
    if twice:
        rule = "names that no joint of the leg has"
        raise reader.error(f"{key}.end_effectors", sorted(twice)[0], rule)
    copies = []
    for one, entry in (read["copies"] or {name: {}}).items():
        at = f"{key}.copies.{_name(reader, one, f'{key}.copies')}"
        own = _section(reader, schema.COPY, entry, at)
        stance = _copy_stance(reader, own["stance"], joints, f"{at}.stance")
        mirror = "" if own["mirror"] == "none" else own["mirror"]
        copies.append(LegCopy(one, mirror, own["turn"], np.array(own["shift"]), stance))
    return Leg(name, tuple(joints), ends, tuple(copies))


def _copy_stance(reader: Reader, given: dict, joints: list, key: str) -> dict[str, float]:
    names = [joint.name for joint in joints]
    found: dict[str, float] = {}
    for name, value in given.items():
        if name not in names:
            raise reader.error(join(key, name), value, "a joint of the leg", nearest(name, names))
        number: Any = reader.value(schema.JOINT["stance"], value, join(key, name))
        found[name] = float(number)
    return found


def _end(reader: Reader, name: str, given: object, leg: str) -> LegEnd:
    key = f"{leg}.end_effectors.{name}"
    own = _section(reader, schema.END, given, key)
    axis = _wheel_axis(reader, own, key, "y")
    own["at"], own["axis"] = np.array(own["at"]), axis
    if own["kind"] != "actuated":
        own["speed"] = math.inf
    return LegEnd(name, **own)


def _wheel_axis(reader: Reader, own: dict, key: str, default: str) -> np.ndarray | None:
    """The axis of a wheel, None for a point foot; radius and kind must agree."""
    if own["kind"] == "point":
        if own["axis"] is not None:
            raise reader.error(join(key, "axis"), own["axis"], "no axis: a point foot has none")
        return None
    if own["radius"] <= 0.0:
        rule = "a radius > 0 [m] of a wheel or skate"
        raise reader.error(join(key, "radius"), own["radius"], rule)
    return _axis(reader, own["axis"] or default, join(key, "axis"))


# Of a URDF or MJCF


def _from_file(reader: Reader, given: dict) -> LeggedRobot:
    top = reader.section(schema.FILE, given)
    if (top["urdf"] is None) == (top["mjcf"] is None):
        raise reader.error("urdf", given, "`urdf` or `mjcf`", "give exactly one")
    path = Path(top["urdf"] or top["mjcf"])
    entries = {
        _name(reader, name, "end_effectors"): _section(
            reader, schema.FILE_END, entry, f"end_effectors.{name}"
        )
        for name, entry in top["end_effectors"].items()
    }
    if not entries:
        raise reader.error("end_effectors", {}, "at least one end effector")
    for name, entry in entries.items():
        key, joint = f"end_effectors.{name}", entry["joint"]
        if (joint is None) == (entry["link"] is None):
            raise reader.error(key, entry["link"] or joint, "`link` or `joint`", "give exactly one")
        if joint is not None and entry["kind"] not in SPINNING:
            rule = f"a wheel that spins: {' or '.join(SPINNING)}"
            raise reader.error(f"{key}.kind", entry["kind"], rule, "give its `link`")
    held = {entry["joint"]: 0.0 for entry in entries.values() if entry["joint"] is not None}
    for name, value in top["held"].items():
        number: Any = reader.value(schema.JOINT["stance"], value, f"held.{name}")
        held[name] = float(number)
    read = _read_urdf if top["urdf"] is not None else _read_mjcf
    robot, wheels = read(path, held)
    robot = _limited(reader, robot, top["speed"])
    stance = robot.values(top["stance"], "stance", 0.0, reader.place, "rad or m")
    effectors = tuple(
        _file_end(reader, robot, wheels, name, entry) for name, entry in entries.items()
    )
    made = LeggedRobot(top["name"] or robot.name, robot, effectors, stance)
    _check_stance(reader, made)
    balls = {name: entry["radius"] for name, entry in entries.items() if entry["kind"] == "point"}
    return _with_lowest_points(made, balls)


def _read_urdf(path: Path, held: dict[str, float]) -> tuple[Robot, dict]:
    """The robot, and of every joint of the file (link that it moves, axis, largest speed)."""
    wheels = {}
    for joint in tree_of(path).findall("joint"):
        child, axis, limit = (joint.find(tag) for tag in ("child", "axis", "limit"))
        words = "1 0 0" if axis is None else axis.get("xyz", "1 0 0")
        speed = "0" if limit is None else limit.get("velocity", "0")
        link = "" if child is None else child.get("link", "")
        try:
            wheels[joint.get("name", "")] = (link, np.array(words.split(), float), float(speed))
        except ValueError:  # load_robot says what is wrong
            continue
    moving = None
    if held:
        moving = [name for name in wheels if name not in held and _moves(path, name)]
    robot = load_robot(path, meshes="ignore", joints=moving, least_joints=0,
                       held={name: value for name, value in held.items() if value})  # fmt: skip
    if robot.followers:
        rule = "joints that follow no others: a plan moves each by itself"
        remedy = "hold them and their leaders still: `held`"
        raise InputError(path, f"joint {robot.followers[0]}", "mimic", rule, remedy)
    return robot, wheels


def _moves(path: Path, name: str) -> bool:
    """Whether a joint moves by itself."""
    joints = {joint.get("name"): joint for joint in tree_of(path).findall("joint")}
    return joints[name].get("type") != "fixed" and joints[name].find("mimic") is None


def _read_mjcf(path: Path, held: dict[str, float]) -> tuple[Robot, dict]:
    return robot_of_mjcf(load_mjcf(path), held)


def _limited(reader: Reader, robot: Robot, speed: object) -> Robot:
    """With limits of speed in place of the file's."""
    if speed is None:
        return robot
    known = robot.limits["velocity"]
    limits = joint_values(robot.joints, speed, "speed", known, reader.place, "rad/s or m/s")
    if not np.all(limits > 0.0):
        raise reader.error("speed", speed, "numbers > 0 [rad/s or m/s]")
    joints = tuple(
        Joint(**{**vars(joint), "velocity": float(limit)})
        for joint, limit in zip(robot.joints, limits, strict=True)
    )
    return replace(robot, joints=joints)


def _file_end(reader: Reader, robot: Robot, wheels: dict, name: str, own: dict) -> EndEffector:
    key = f"end_effectors.{name}"
    point, joint = own["kind"] == "point", own["joint"]
    link, speed = own["link"], own["speed"] or math.inf
    if joint is not None:
        if joint not in wheels:
            raise reader.error(f"{key}.joint", joint, "a joint of the file", nearest(joint, wheels))
        link, own_axis, limit = wheels[joint]
        if own["axis"] is not None:
            raise reader.error(f"{key}.axis", own["axis"], "none beside `joint`, whose axis it is")
        own["axis"] = own_axis.tolist()
        speed = own["speed"] or limit or math.inf
    axis = None
    if point:
        if own["axis"] is not None:
            raise reader.error(f"{key}.axis", own["axis"], "no axis: a point foot has none")
    else:
        axis = _wheel_axis(reader, own, key, "y")
    if own["kind"] == "actuated" and not math.isfinite(speed):
        raise reader.error(f"{key}.speed", None, "the wheel's largest speed [rad/s]")
    if link not in robot.frames:
        rule = "a link of the robot"
        raise reader.error(f"{key}.link", link, rule, nearest(link, robot.frames))
    frame = robot.frames[link]
    body = robot.base if frame.carrier < 0 else robot.joints[frame.carrier].body
    turn = frame.pose[:3, :3]
    at = turn @ np.array(own["at"]) + frame.pose[:3, 3]
    return EndEffector(
        name, own["kind"], body, at, None if axis is None else turn @ axis,
        0.0 if point else own["radius"], speed if own["kind"] == "actuated" else math.inf,
        own["leg"] or name, joint or "",
    )  # fmt: skip


def _with_lowest_points(robot: LeggedRobot, balls: dict[str, float]) -> LeggedRobot:
    """Point feet at the lowest points of their balls when the robot stands."""
    if not any(balls.values()):
        return robot
    base, _ = robot._settled
    poses = robot.link_poses(robot.stance, base)
    moved = []
    for effector in robot.end_effectors:
        turn = poses[robot.robot.frame(effector.link).carrier + 1][:3, :3]
        down = balls.get(effector.name, 0.0) * turn.T @ np.array([0.0, 0.0, -1.0])
        moved.append(replace(effector, position=effector.position + down))
    return replace(robot, end_effectors=tuple(moved))
