"""A described robot as a URDF, with a YAML beside it that names end effectors and stance."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.output import write_text, write_yaml

from .build import BuiltLink, parts_of
from .legged_robot import LeggedRobot


def urdf_text(robot: LeggedRobot, *, floating: bool = False) -> str:
    """A described robot as a URDF: wheels are links on joints of their own, with shapes.

    floating  adds a link `world` with a floating joint to the base, for simulators that would fix
              the base to their world (MuJoCo)
    InputError: a robot that was read from a URDF or MJCF.
    """
    if robot.description is None:
        rule = "a robot of a description with legs"
        raise InputError(robot.robot.place, "URDF", robot.name, rule, "copy its own file")
    parts, _, _ = parts_of(robot.description)
    root = ElementTree.Element("robot", name=robot.name)
    if floating:
        ElementTree.SubElement(root, "link", name="world")
    for part in parts:
        _write_link(root, part)
    if floating:
        joint = ElementTree.SubElement(root, "joint", name="world_to_base", type="floating")
        ElementTree.SubElement(joint, "parent", link="world")
        ElementTree.SubElement(joint, "child", link=parts[0].link)
    for part in parts[1:]:
        _write_joint(root, part)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def write_urdf(robot: LeggedRobot, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write `urdf_text` of a described robot, and beside it NAME.yaml with end effectors and
    stance, of which `load_legged_robot` reads the same robot.

    Returns the YAML's path.  InputError: as of `urdf_text`, and a file that exists already (unless
    `overwrite`).
    """
    path, companion = Path(path), Path(path).with_suffix(".yaml")
    write_text(path, urdf_text(robot), overwrite=overwrite)
    write_yaml(companion, _companion(robot, path.name), overwrite=overwrite)
    return companion


def _companion(robot: LeggedRobot, urdf: str) -> dict[str, Any]:
    by_name: dict[str, Any] = {}
    for effector in robot.end_effectors:
        entry: dict[str, Any] = {
            "kind": effector.kind, "leg": effector.leg, "radius": float(effector.radius)
        }  # fmt: skip
        if effector.joint:
            entry["joint"] = effector.joint
        else:
            entry |= {"link": effector.link, "at": effector.position.tolist()}
            if effector.axis is not None:
                entry["axis"] = effector.axis.tolist()
        if math.isfinite(effector.speed):
            entry["speed"] = float(effector.speed)
        by_name[effector.name] = entry
    stance = dict(zip(robot.joint_names, robot.stance.tolist(), strict=True))
    return {"name": robot.name, "urdf": urdf, "end_effectors": by_name, "stance": stance}


def _placed(at: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = at
    return pose


def _numbers(values: np.ndarray) -> str:
    return " ".join(repr(float(value) + 0.0) for value in values)


def _origin(parent: ElementTree.Element, pose: np.ndarray) -> None:
    turn = pose[:3, :3]
    pitch = math.atan2(-turn[2, 0], math.hypot(turn[0, 0], turn[1, 0]))
    if math.hypot(turn[0, 0], turn[1, 0]) > 1e-9:
        roll, yaw = math.atan2(turn[2, 1], turn[2, 2]), math.atan2(turn[1, 0], turn[0, 0])
    else:
        roll, yaw = math.atan2(-turn[1, 2], turn[1, 1]), 0.0
    rpy = _numbers(np.array([roll, pitch, yaw]))
    ElementTree.SubElement(parent, "origin", xyz=_numbers(pose[:3, 3]), rpy=rpy)


def _write_link(root: ElementTree.Element, part: BuiltLink) -> None:
    link = ElementTree.SubElement(root, "link", name=part.link)
    inertial = ElementTree.SubElement(link, "inertial")
    _origin(inertial, _placed(part.inertial.centre))
    ElementTree.SubElement(inertial, "mass", value=repr(float(part.inertial.mass)))
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2),
             "izz": (2, 2)}  # fmt: skip
    values = {name: repr(float(part.inertial.inertia[at])) for name, at in names.items()}
    ElementTree.SubElement(inertial, "inertia", values)
    for solid in part.solids:
        for use in ("visual", "collision"):
            shape = ElementTree.SubElement(link, use)
            _origin(shape, solid.pose)
            geometry = ElementTree.SubElement(shape, "geometry")
            if solid.kind == "box":
                ElementTree.SubElement(geometry, "box", size=_numbers(np.array(solid.size)))
            elif solid.kind == "ball":
                ElementTree.SubElement(geometry, "sphere", radius=repr(float(solid.size[0])))
            else:
                radius, length = (repr(float(value)) for value in solid.size)
                ElementTree.SubElement(geometry, "cylinder", radius=radius, length=length)


def _write_joint(root: ElementTree.Element, part: BuiltLink) -> None:
    kind = "revolute" if part.joint is not None else "continuous" if part.spinning else "fixed"
    name = part.spinning or part.name
    joint = ElementTree.SubElement(root, "joint", name=name, type=kind)
    ElementTree.SubElement(joint, "parent", link=part.parent)
    ElementTree.SubElement(joint, "child", link=part.link)
    _origin(joint, _placed(part.at))
    if part.joint is not None:
        given = part.joint
        ElementTree.SubElement(joint, "axis", xyz=_numbers(given.axis))
        limits = {"lower": given.lower, "upper": given.upper, "velocity": given.speed,
                  "effort": given.effort}  # fmt: skip
        ElementTree.SubElement(joint, "limit", {k: repr(float(v)) for k, v in limits.items()})
    elif part.spinning and part.end is not None and part.end.axis is not None:
        ElementTree.SubElement(joint, "axis", xyz=_numbers(part.end.axis))
        if part.end.kind == "actuated" and math.isfinite(part.end.speed):
            speed = repr(float(part.end.speed))
            ElementTree.SubElement(joint, "limit", effort="0", velocity=speed)
