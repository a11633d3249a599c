"""Names of a URDF as a scene has them: letters, digits, _ and -, joints and links told apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from diffsim_ros.robots.plain_names import Names
from diffsim_ros.robots.robot import Robot

PER_JOINT = ("angles", "rates", "damping", "friction", "armature")
LAWS = ("limits", "drive")
"""Options whose own keys are mappings of joints."""


def renamed(robot: Robot) -> Robot:
    """The robot by names that a scene can have; `Robot.renamed` has those that differ.

    Other characters become _; a joint named as a link is NAME_joint; what is there twice then gets
    a number.
    """
    names = Names()
    links = {name: names.take("link", name, "") for name in robot.frames}
    joints = {joint.name: names.take("joint", joint.name, "", "_joint") for joint in robot.joints}
    if not names.renamed:
        return robot
    return replace(
        robot,
        base=links[robot.base],
        joints=tuple(
            replace(joint, name=joints[joint.name], body=links[joint.body])
            for joint in robot.joints
        ),
        frames={links[name]: replace(frame, parent=links.get(frame.parent, ""))
                for name, frame in robot.frames.items()},
        shapes=tuple(replace(shape, link=links[shape.link]) for shape in robot.shapes),
        odd_limits=tuple(joints[name] for name in robot.odd_limits),
        renamed={(kind, old): new for kind, old, new in names.renamed},
    )  # fmt: skip


def by_new_names(robot: Robot, options: dict) -> None:
    """Give the options of a robot the names that it has here in place of those of its file."""

    def new(kind: str, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        return {robot.renamed.get((kind, name), name): value for name, value in given.items()}

    for name in PER_JOINT:
        options[name] = new("joint", options[name])
    for name in LAWS:
        if isinstance(options[name], Mapping):
            options[name] = {word: new("joint", own) for word, own in options[name].items()}
    options["contact_spheres"] = new("link", options["contact_spheres"])
    carried = options["payload"]
    if isinstance(carried, Mapping) and ("link", carried.get("link")) in robot.renamed:
        options["payload"] = {**carried, "link": robot.renamed["link", carried["link"]]}
