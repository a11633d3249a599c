"""Articulated models of the engine from URDF files and from robots that were read already.

`load_tree` keeps every link of the file, by name: what is fixed joins its carrier inside the
engine, so that it costs nothing.  Planar and floating joints become two or three joints with links
without mass between them, and so does a base that floats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, nearest

from .mending import physical_inertia
from .robot import Robot
from .urdf import tree_of

GRAVITY = (0.0, 0.0, -9.81)
"""[m/s^2] in axes of the base frame."""
SINGLE = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic",
          "fixed": "fixed"}  # fmt: skip
"""URDF's kinds of one joint, in the engine's words."""
KINDS = (*SINGLE, "planar", "floating")
READ = {"link": {"inertial", "visual", "collision"},
        "joint": {"origin", "parent", "child", "axis", "limit", "dynamics"}}  # fmt: skip
"""Elements that are read, or mean nothing to the dynamics of a tree."""


@dataclass(frozen=True)
class LoadedTree:
    """A model and what of its file it does not have.

    model    engine's `ArticulatedModel`; of a planar joint NAME it has NAME.x, NAME.y and NAME,
             of a floating one NAME.position and NAME
    ignored  elements of the file that were not read -> how many: {"transmission": 6}
    """

    model: Any
    ignored: dict[str, int]


def model_of(robot: Robot, gravity: Sequence[float] = GRAVITY) -> Any:
    """`ArticulatedModel` of a robot: joint i and its body are its i-th.

    gravity  (3,) [m/s^2] in axes of the base frame
    """
    joints, links = [], []
    for joint in robot.joints:
        kind = "revolute" if joint.turns else "prismatic"
        R, r = joint.origin[:3, :3], joint.origin[:3, 3]
        joints.append(_engine.TreeJoint(joint.name, kind, joint.parent, R, r, joint.axis))
        own = joint.inertial
        links.append(_engine.TreeLink(joint.body, own.mass, own.centre, own.inertia))
    return _checked(robot.place, joints, links, gravity)


def load_tree(
    path: str | Path, *, floating_base: bool = False, gravity: Sequence[float] = GRAVITY
) -> LoadedTree:
    """Read a URDF with all its links.

    floating_base  the root link moves freely (joints `base.position`, `base`), else it is fixed to
                   the world (joint `base`)
    gravity        (3,) [m/s^2] in axes of the world
    Limits, damping, friction and rotors are not the tree's.  Warns (UserWarning) where an inertia
    is mended (`mending.physical_inertia`).
    Raises InputError: missing file, broken XML, loops, links with two parents, joints of unknown
    kinds, mimic joints, axes without length, masses or inertias that no body has.
    """
    path = Path(path)
    root = tree_of(path)
    links = {_name(path, link): link for link in root.findall("link")}
    below: dict[str, list[ElementTree.Element]] = {name: [] for name in links}
    parents: dict[str, str] = {}
    for joint in root.findall("joint"):
        above, child = (_end(path, joint, end, links) for end in ("parent", "child"))
        if child in parents:
            got = f"parents {parents[child]!r} and {above!r}"
            raise InputError(path, f"link {child}", got, "one parent", "close loops by constraints")
        parents[child] = above
        below[above].append(joint)
    roots = [name for name in links if name not in parents]
    if len(roots) != 1:
        rule = "one link without a parent: a tree has one root, and no cycle"
        raise InputError(path, "links", roots, rule)
    tree = _Building(path)
    base = tree.base(links[roots[0]], floating_base)
    waiting = [(joint, base) for joint in reversed(below[roots[0]])]
    while waiting:
        joint, carrier = waiting.pop()
        child = _end(path, joint, "child", links)
        index = tree.add(joint, carrier, links[child])
        waiting.extend((one, index) for one in reversed(below[child]))
    if len(tree.links) < len(links):
        lost = sorted(set(links) - tree.names)
        raise InputError(path, "links", lost, "links that joints tie to the root, without a cycle")
    return LoadedTree(_checked(path, tree.joints, tree.links, gravity), _ignored(root))


class _Building:
    """Joints and links of a tree, in the order in which they come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.joints: list[Any] = []
        self.links: list[Any] = []
        self.names: set[str] = set()

    def base(self, link: ElementTree.Element, floating: bool) -> int:
        """The root link on the world; its index."""
        if not floating:
            return self._append("base", "fixed", -1, np.eye(4), None, link)
        middle = self._append("base.position", "translation", -1, np.eye(4), None, "base.position")
        return self._append("base", "spherical", middle, np.eye(4), None, link)

    def add(self, joint: ElementTree.Element, carrier: int, link: ElementTree.Element) -> int:
        """A joint of the file and the link it moves; the link's index."""
        name, kind = _name(self.path, joint), joint.get("type")
        if kind not in KINDS:
            rule = " or ".join(KINDS)
            remedy = nearest(kind, KINDS)
            raise InputError(self.path, f"joint {name}: type", kind, rule, remedy)
        if joint.find("mimic") is not None:
            rule = "joints that move by themselves"
            remedy = "take <mimic> away, and tie its coordinate to the other's"
            raise InputError(self.path, f"joint {name}", "mimic", rule, remedy)
        place = _pose(self.path, f"joint {name}: origin", joint.find("origin"))
        if kind in SINGLE:
            axis = None if kind == "fixed" else self._axis(name, joint)
            return self._append(name, SINGLE[kind], carrier, place, axis, link)
        if kind == "floating":
            key = f"{name}.position"
            middle = self._append(key, "translation", carrier, place, None, key)
            return self._append(name, "spherical", middle, np.eye(4), None, link)
        axis = self._axis(name, joint)  # planar: two slides across the axis, then a turn about it
        across = np.linalg.svd(axis[None])[2][1:]
        for key, along in zip((f"{name}.x", f"{name}.y"), across, strict=True):
            carrier = self._append(key, "prismatic", carrier, place, along, key)
            place = np.eye(4)
        return self._append(name, "revolute", carrier, place, axis, link)

    def _append(self, name, kind, parent, place, axis, link) -> int:
        axis = np.array([0.0, 0.0, 1.0]) if axis is None else axis
        self.joints.append(_engine.TreeJoint(name, kind, parent, place[:3, :3], place[:3, 3], axis))
        if isinstance(link, str):
            self.links.append(_engine.TreeLink(link))
        else:
            self.names.add(_name(self.path, link))
            self.links.append(_inertial(self.path, link))
        return len(self.links) - 1

    def _axis(self, name: str, joint: ElementTree.Element) -> np.ndarray:
        """Unit axis: of a file it may have any length but 0."""
        found = joint.find("axis")
        key = f"joint {name}: axis"
        axis = np.array([1.0, 0.0, 0.0]) if found is None else _three(self.path, key, found, "xyz")
        length = float(np.linalg.norm(axis))
        if not 1e-6 < length < 1e150:
            raise InputError(self.path, key, axis.tolist(), "three finite numbers, not all zero")
        return axis / length


def _checked(place: object, joints: list, links: list, gravity: Sequence[float]) -> Any:
    try:
        return _engine.ArticulatedModel(joints, links, np.asarray(gravity, float))
    except _engine.InvalidInput as error:
        raise InputError(place, "tree", str(error), "a tree of bodies") from error


def _name(path: Path, element: ElementTree.Element) -> str:
    name = element.get("name")
    if not name:
        raise InputError(path, element.tag, name, "an element with a name")
    return name


def _end(path: Path, joint: ElementTree.Element, end: str, links: dict) -> str:
    found = joint.find(end)
    name = None if found is None else found.get("link")
    if name not in links:
        key = f"joint {_name(path, joint)}: {end}"
        raise InputError(path, key, name, "a link of the file", nearest(name, links))
    return str(name)


def _three(path: Path, key: str, element: ElementTree.Element, name: str) -> np.ndarray:
    text = element.get(name, "0 0 0")
    try:
        found = np.array([float(word) for word in text.split()])
    except ValueError:
        found = np.zeros(0)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise InputError(path, f"{key}: {name}", text, "three finite numbers")
    return found


def _pose(path: Path, key: str, origin: ElementTree.Element | None) -> np.ndarray:
    """(4, 4) of an <origin>; absent: the identity."""
    pose = np.eye(4)
    if origin is not None:
        (a, b, c), (d, e, f) = (
            function(_three(path, key, origin, "rpy")) for function in (np.cos, np.sin)
        )
        pose[:3, :3] = [  # turns about x, then y, then z
            [c * b, c * e * d - f * a, c * e * a + f * d],
            [f * b, f * e * d + c * a, f * e * a - c * d],
            [-e, b * d, b * a],
        ]
        pose[:3, 3] = _three(path, key, origin, "xyz")
    return pose


def _inertial(path: Path, link: ElementTree.Element) -> Any:
    """A link with its <inertial>; without one it is a frame."""
    name, inertial = _name(path, link), link.find("inertial")
    if inertial is None:
        return _engine.TreeLink(name)
    key = f"link {name}: inertial"
    mass = _number(path, f"{key}: mass", inertial.find("mass"), "value")
    six = inertial.find("inertia")
    xx, xy, xz, yy, yz, zz = (
        _number(path, f"{key}: inertia", six, entry)
        for entry in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    given = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if mass < 0.0:
        raise InputError(path, f"{key}: mass", mass, "a finite number >= 0 [kg]")
    if mass == 0.0 and not given.any():
        return _engine.TreeLink(name)
    pose = _pose(path, key, inertial.find("origin"))
    own = physical_inertia(str(path), f"{key}: inertia", mass, given)
    turn = pose[:3, :3]
    return _engine.TreeLink(name, mass, pose[:3, 3], turn @ own @ turn.T)


def _number(path: Path, key: str, element: ElementTree.Element | None, name: str) -> float:
    text = "0" if element is None else element.get(name, "0")
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InputError(path, f"{key}: {name}", text, "a finite number")
    return value


def _ignored(root: ElementTree.Element) -> dict[str, int]:
    """Elements that nobody read, counted by their tag."""
    unknown = [one.tag for one in root if one.tag not in (*READ, "material")]
    for tag, known in READ.items():
        unknown += [f"{tag}/{one.tag}" for part in root.findall(tag) for one in part
                    if one.tag not in known]  # fmt: skip
    return dict(Counter(unknown))
