"""Articulated models of the engine from URDF files and from robots that were read already.

`load_tree` keeps every link of the file, by name: what is fixed joins its carrier inside the
engine, so that it costs nothing.  Planar and floating joints become two or three joints with links
without mass between them, and so does a base that floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.errors import InputError

from .robot import Robot
from .urdf import warn_of
from .urdf_file import across, axis_of, ends, number_of, pose_of, read_urdf
from .urdf_mimic import mimics_of

GRAVITY = (0.0, 0.0, -9.81)
"""[m/s^2] in axes of the base frame."""
SINGLE = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic",
          "fixed": "fixed"}  # fmt: skip
"""URDF's kinds of one joint, in the engine's words."""


@dataclass(frozen=True)
class LoadedTree:
    """A model and what of its file it does not have.

    model    engine's `ArticulatedModel`; of a planar joint NAME it has NAME.x, NAME.y and NAME,
             of a floating one NAME.position and NAME
    ignored  elements and attributes of the file that were not read -> how many:
             {"transmission": 6}
    mimics   joint that follows another -> (leader, ratio, shift): q = ratio q_leader + shift; the
             model has both. Leader "": the joint stays at the shift
    """

    model: Any
    ignored: dict[str, int]
    mimics: dict[str, tuple[str, float, float]] = field(default_factory=dict)

    def followed(self, q: np.ndarray) -> np.ndarray:
        """Positions (..., n) with those of followers as their leaders' are."""
        found, at = np.array(q, float), self.model.position_at
        for name, (leader, ratio, shift) in self.mimics.items():
            found[..., at(name)] = shift + (ratio * found[..., at(leader)] if leader else 0.0)
        return found

    def coupling(self) -> np.ndarray:
        """G (n, m) with q' = G z', z' the velocities of joints that follow none: the mass matrix of
        the coupled tree is Gᵀ M G, its efforts are Gᵀ tau."""
        whole = np.eye(self.model.velocity_size)
        row = {joint.name: i for joint, i in zip(self.model.joints, _columns(self.model.joints),
                                                  strict=True)}  # fmt: skip
        lost = [row[name] for name in self.mimics]
        for name, (leader, ratio, _) in self.mimics.items():
            whole[row[name], row[name]] = 0.0
            if leader:
                whole[row[name], row[leader]] = ratio
        return np.delete(whole, lost, axis=1)


def _columns(joints: Sequence[Any]) -> list[int]:
    """Where each joint's velocities begin."""
    sizes = {"fixed": 0, "revolute": 1, "prismatic": 1}
    return [0, *np.cumsum([sizes.get(joint.type, 3) for joint in joints])[:-1].tolist()]


def model_of(
    robot: Robot, gravity: Sequence[float] = GRAVITY, armature: Sequence[float] | None = None
) -> Any:
    """`ArticulatedModel` of a robot: joint i and its body are its i-th, followers too.

    gravity   (3,) [m/s^2] in axes of the base frame
    armature  (n,) [kg m^2 or kg] of the joints' coordinates, None: none
    InputError names a coordinate along which nothing has inertia.
    """
    joints, links = [], []
    rotors = [0.0] * len(robot.joints) if armature is None else armature
    for joint, rotor in zip(robot.joints, rotors, strict=True):
        kind = "revolute" if joint.turns else "prismatic"
        R, r = joint.origin[:3, :3], joint.origin[:3, 3]
        joints.append(_engine.TreeJoint(joint.name, kind, joint.parent, R, r, joint.axis, rotor))
        own = joint.inertial
        links.append(_engine.TreeLink(joint.body, own.mass, own.centre, own.inertia))
    return _checked(robot.place, joints, links, gravity)


def load_tree(
    path: str | Path, *, floating_base: bool = False, gravity: Sequence[float] = GRAVITY,
    inertia: str = "refuse",
) -> LoadedTree:  # fmt: skip
    """Read a URDF with all its links.

    floating_base  the root link moves freely (joints `base.position`, `base`), else it is fixed to
                   the world (joint `base`)
    gravity        (3,) [m/s^2] in axes of the world
    inertia        "mend": one that no body has is replaced by the nearest, however far it is
    Limits, damping, friction and rotors are not the tree's.  Warns (UserWarning) of what is read in
    another way than written (an inertia that is mended, `mending.physical_inertia`).
    Raises InputError: missing file, broken XML, loops, links with two parents, joints of unknown
    kinds, axes without length, masses or inertias that no body has.
    """
    file = read_urdf(path, inertia=inertia)
    root, path = file.root, file.path
    links = {link.get("name", ""): link for link in root.findall("link")}
    joints = {joint.get("name", ""): joint for joint in root.findall("joint")}
    below: dict[str, list[ElementTree.Element]] = {name: [] for name in links}
    for joint in joints.values():
        below[ends(joint)[0]].append(joint)
    children = {ends(joint)[1] for joint in joints.values()}
    (top,) = (name for name in links if name not in children)
    tree = _Building(path)
    base = tree.base(links[top], floating_base)
    waiting = [(joint, base) for joint in reversed(below[top])]
    while waiting:
        joint, carrier = waiting.pop()
        child = ends(joint)[1]
        index = tree.add(joint, carrier, links[child])
        waiting.extend((one, index) for one in reversed(below[child]))
    warn_of(path, file.notes, ())
    model = _checked(path, tree.joints, tree.links, gravity)
    mimics = {name: own for name, own in mimics_of(joints).items()
              if joints[name].get("type") != "fixed"}  # fmt: skip
    return LoadedTree(model, dict(file.unread), mimics)


class _Building:
    """Joints and links of a tree, in the order in which they come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.joints: list[Any] = []
        self.links: list[Any] = []

    def base(self, link: ElementTree.Element, floating: bool) -> int:
        """The root link on the world; its index."""
        if not floating:
            return self._append("base", "fixed", -1, np.eye(4), None, link)
        middle = self._append("base.position", "translation", -1, np.eye(4), None, "base.position")
        return self._append("base", "spherical", middle, np.eye(4), None, link)

    def add(self, joint: ElementTree.Element, carrier: int, link: ElementTree.Element) -> int:
        """A joint of the file and the link it moves; the link's index."""
        name, kind = joint.get("name", ""), joint.get("type", "")
        place = pose_of(joint)
        if kind in SINGLE:
            axis = None if kind == "fixed" else axis_of(self.path, joint)
            return self._append(name, SINGLE[kind], carrier, place, axis, link)
        if kind == "floating":
            key = f"{name}.position"
            middle = self._append(key, "translation", carrier, place, None, key)
            return self._append(name, "spherical", middle, np.eye(4), None, link)
        axis = axis_of(self.path, joint)  # planar: two slides across the axis, a turn about it
        for key, along in zip((f"{name}.x", f"{name}.y"), across(axis), strict=True):
            carrier = self._append(key, "prismatic", carrier, place, along, key)
            place = np.eye(4)
        return self._append(name, "revolute", carrier, place, axis, link)

    def _append(self, name, kind, parent, place, axis, link) -> int:
        axis = np.array([0.0, 0.0, 1.0]) if axis is None else axis
        self.joints.append(_engine.TreeJoint(name, kind, parent, place[:3, :3], place[:3, 3], axis))
        if isinstance(link, str):
            self.links.append(_engine.TreeLink(link))
        else:
            self.links.append(_inertial(link))
        return len(self.links) - 1


def _checked(place: object, joints: list, links: list, gravity: Sequence[float]) -> Any:
    try:
        return _engine.ArticulatedModel(joints, links, np.asarray(gravity, float))
    except _engine.InvalidInput as error:
        raise InputError(place, "tree", str(error), "a tree of bodies") from error


def _inertial(link: ElementTree.Element) -> Any:
    """A link with its <inertial>; without one it is a frame."""
    name, inertial = link.get("name", ""), link.find("inertial")
    if inertial is None:
        return _engine.TreeLink(name)
    six, pose = inertial.find("inertia"), pose_of(inertial)
    xx, xy, xz, yy, yz, zz = (
        number_of(six, entry) for entry in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    turn, own = pose[:3, :3], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    mass = number_of(inertial.find("mass"), "value")
    return _engine.TreeLink(name, mass, pose[:3, 3], turn @ own @ turn.T)
