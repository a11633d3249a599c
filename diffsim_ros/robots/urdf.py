"""URDF files, read by urchin and checked: what it would guess or ignore is refused here."""

from __future__ import annotations

import io
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.files import is_regular

from .kinematics import joint_motion
from .mending import physical_inertia
from .robot import KINDS, NOTHING, Capsule, Frame, Inertial, Joint, Robot
from .xml_file import xml_content, xml_tree

READ = (*KINDS, "fixed")
HELD = (*READ, "floating", "planar")
"""Joints that may be held still."""
LINKS = 1000
"""Most links of a robot."""
MESHES = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off")
FARTHEST = 1e6
"""Largest coordinate of an origin [m]."""
LEAST_INERTIA = 1e-9  # share of m (1 m)^2 below which a moment is called zero


def load_robot(
    path: str | Path,
    *,
    meshes: str = "require",
    packages: Mapping[str, str | Path] | None = None,
    joints: Collection[str] | None = None,
    held: Mapping[str, float] | None = None,
    least_joints: int = 1,
) -> Robot:
    """Read a URDF.

    meshes    "require": files of visuals and collisions must exist; "ignore": nothing is searched
    packages  folder of each package:// name; else a parent folder of the file with that name
    joints    names of those that move, None: all. The others are held still, whatever their kind,
              and what they carry is merged as behind fixed joints: wheels, a head, a hand
    held      position [rad or m] of held joints, 0 where none is given
    least_joints  how many must move; 0 for a body that only wheels carry
    Warns (UserWarning) where an inertia is mended (`mending.physical_inertia`).
    Raises InputError: missing file or library, broken XML, links without inertia that move, masses
    or inertias that no body has, joints of unknown kinds or names, held positions beyond their
    limits, loops, missing meshes.
    """
    path = Path(path)
    content = _content(path)
    root = _parsed(path, content)
    held = _held(path, root, joints, held or {})
    _check_joints(path, root, held)
    if meshes == "require":
        _check_meshes(path, root, packages or {})
    elif meshes != "ignore":
        raise InputError(path, "meshes", meshes, "require or ignore")
    try:
        from urchin import URDF
    except ImportError as error:
        remedy = "pip install urchin (extra urdf)"
        raise InputError(path, "", "urchin is not installed", "a URDF reader", remedy) from error
    source = io.BytesIO(content)
    source.name = str(path)  # type: ignore[attr-defined]  # where urchin looks for meshes
    try:
        model = URDF.load(source, lazy_load_meshes=True)
    except Exception as error:  # of lxml, NumPy and urchin's own checks
        raise InputError(path, "", f"{type(error).__name__}: {error}", "a valid URDF") from error
    given = {link.get("name") for link in root.iter("link") if link.find("inertial") is not None}
    try:
        return _Tree(str(path), model, given, held).robot(least_joints)
    except RecursionError as error:
        rule = "a tree that is no deeper than some hundred joints"
        raise InputError(path, "joints", "a chain of too many", rule) from error


def tree_of(path: Path, *, comments: bool = False) -> ElementTree.Element:
    """A URDF's elements; InputError for a file that cannot be one."""
    return _parsed(path, _content(path), comments)


def _content(path: Path) -> bytes:
    return xml_content(path, "an existing URDF", "*.urdf", {"link": LINKS})


def _parsed(path: Path, content: bytes, comments: bool = False) -> ElementTree.Element:
    root = xml_tree(path, content, comments)
    if root.tag != "robot":
        rule = "<robot> at the top"
        remedy = "is it a xacro? expand it first" if "xacro" in root.tag else ""
        raise InputError(path, "", f"<{root.tag}>", rule, remedy)
    return root


def _held(
    path: Path, root: ElementTree.Element, moving: Collection[str] | None,
    given: Mapping[str, float],
) -> dict[str, float]:  # fmt: skip
    """Positions of the joints that are held still; InputError for names that no joint has."""
    kinds = {joint.get("name") or "": joint.get("type") for joint in root.findall("joint")}
    free = [name for name, kind in kinds.items() if kind != "fixed"]
    wanted = free if moving is None else list(moving)
    for key, names in (("joints", wanted), ("held", list(given))):
        for name in names:
            if name not in free:
                rule = "a joint of the URDF that is not fixed"
                raise InputError(path, key, name, rule, nearest(name, free))
    for name, value in given.items():
        if name in wanted:
            raise InputError(path, f"held.{name}", value, "a joint that is not among `joints`")
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise InputError(path, f"held.{name}", value, "a finite number [rad or m]")
    return {name: float(given.get(name, 0.0)) for name in free if name not in wanted}


def _check_joints(path: Path, root: ElementTree.Element, held: Mapping[str, float]) -> None:
    """Kinds and axes as the file has them: urchin turns an axis without length into x."""
    for joint in root.findall("joint"):
        axis = joint.find("axis")
        if axis is not None and joint.get("type") != "fixed":  # which none looks at
            text = axis.get("xyz") or ""
            try:
                length = sum(float(word) ** 2 for word in text.split())
            except (ValueError, OverflowError):  # a square beyond 1e308
                length = math.nan
            if len(text.split()) != 3 or not 1e-12 < length < math.inf:
                key = f"joint {joint.get('name')}: axis"
                raise InputError(path, key, text, "three finite numbers, not all zero")
        kind, still = joint.get("type"), joint.get("name") in held
        if kind not in (HELD if still else READ):
            rule = " or ".join(READ)
            raise InputError(path, f"joint {joint.get('name')}: type", kind, rule)
        if joint.find("mimic") is not None and not still:
            rule, remedy = "joints that move by themselves", "make it fixed, or hold it still"
            raise InputError(path, f"joint {joint.get('name')}", "mimic", rule, remedy)


def _check_meshes(path: Path, root: ElementTree.Element, packages: Mapping) -> None:
    for link in root.findall("link"):
        for mesh in link.iter("mesh"):
            name = mesh.get("filename") or ""
            found = mesh_file(path, name, packages)
            if found is None or not is_regular(found) or found.suffix.lower() not in MESHES:
                remedy = 'give packages={...}, or load with meshes="ignore"'
                key = f"link {link.get('name')}: mesh"
                raise InputError(path, key, name, "an existing mesh file", remedy)


def mesh_file(path: Path, name: str, packages: Mapping) -> Path | None:
    """File of a mesh: relative to the URDF, file://, or package://NAME/..."""
    if name.startswith("package://"):
        package, _, rest = name.removeprefix("package://").partition("/")
        if not package or ".." in Path(rest).parts or rest.startswith("/"):
            return None  # outside of any package
        if package in packages:
            return Path(packages[package]) / rest
        folder = next((p for p in path.resolve().parents if p.name == package), None)
        return None if folder is None else folder / rest
    return path.parent / name.removeprefix("file://")


class _Tree:
    """Walks urchin's model from the root, merging what fixed and held joints hold together."""

    def __init__(self, place: str, model, inertials: set, held: Mapping[str, float]) -> None:
        self.place, self.model, self.given, self.held = place, model, inertials, held
        self.links = {link.name: link for link in model.links}
        self.below: dict[str, list] = {name: [] for name in self.links}
        for joint in model.joints:
            self.below[joint.parent].append(joint)
        self.joints: list[Joint] = []
        self.frames: dict[str, Frame] = {}
        self.shapes: list[Capsule] = []

    def error(self, key, value, rule, remedy=""):
        return InputError(self.place, key, value, rule, remedy)

    def robot(self, least_joints: int) -> Robot:
        children = [joint.child for joint in self.model.joints]
        roots = [name for name in self.links if name not in children]
        twice = sorted({name for name in children if children.count(name) > 1})
        if len(roots) != 1 or twice:
            got = f"roots {roots}, links with two parents {twice}"
            raise self.error("joints", got, "one tree with one root")
        base = self._merged(roots[0], -1, np.eye(4))
        if len(self.joints) < least_joints:
            raise self.error("joints", 0, "at least one joint that moves")
        return Robot(self.place, self.model.name, roots[0], tuple(self.joints), self.frames,
                     tuple(self.shapes), base)  # fmt: skip

    def _merged(self, link: str, carrier: int, pose: np.ndarray, parent: str = "") -> Inertial:
        """Inertial of a link and all that is fixed to it, in the carrier's frame; walks on."""
        self.frames[link] = Frame(carrier, pose, parent)
        for collision in self.links[link].collisions:
            found = _capsule(collision.geometry.geometry)
            if found is not None:
                ends, at = found[0], pose @ self._pose(f"link {link}: collision", collision)
                self.shapes.append(
                    Capsule(link, carrier, ends @ at[:3, :3].T + at[:3, 3], found[1])
                )
        total = self._inertial(link).moved(pose)
        moving = []
        for joint in self.below[link]:
            at = pose @ self._pose(f"joint {joint.name}", joint)
            if joint.name in self.held:
                at = at @ self._still(joint)
            if joint.joint_type == "fixed" or joint.name in self.held:
                total = total.plus(self._merged(joint.child, carrier, at, link))
            else:
                moving.append((joint, at))
        for joint, at in moving:
            self._moved(joint, carrier, at)
        return total

    def _range(self, joint) -> tuple[float, float]:
        """Limits of a joint's position."""
        limit = joint.limit
        given = [] if limit is None else [x for x in (limit.lower, limit.upper) if x is not None]
        endless = joint.joint_type == "continuous" or not given
        lower, upper = -math.inf, math.inf
        if not endless:  # by the specification what is absent is 0; where both are, most mean none
            lower, upper = limit.lower or 0.0, limit.upper or 0.0
        if not lower < upper:
            raise self.error(f"joint {joint.name}: limit", [lower, upper], "lower < upper")
        return lower, upper

    def _still(self, joint) -> np.ndarray:
        """Pose (4, 4) of what a held joint carries, in the joint's frame."""
        value, key = self.held[joint.name], f"held.{joint.name}"
        if joint.joint_type not in KINDS:
            if value != 0.0:
                raise self.error(key, value, f"0, as the joint is {joint.joint_type}")
            return np.eye(4)
        lower, upper = self._range(joint)
        if not lower <= value <= upper:
            rule = f"a position within the joint's limits {lower:g} to {upper:g}"
            raise self.error(key, value, rule)
        axis = np.asarray(joint.axis, float)
        turns = joint.joint_type != "prismatic"
        return joint_motion(axis / np.linalg.norm(axis), turns, np.array(value))

    def _moved(self, joint, parent: int, origin: np.ndarray) -> None:
        index, key = len(self.joints), f"joint {joint.name}"
        axis = np.asarray(joint.axis, float)
        limit, dynamics = joint.limit, joint.dynamics
        lower, upper = self._range(joint)
        blank = Joint(
            joint.name, joint.joint_type, parent, joint.child, origin, axis / np.linalg.norm(axis),
            lower, upper, _limit(limit, "velocity"), _limit(limit, "effort"),
            self._rubs(key, dynamics, "damping"), self._rubs(key, dynamics, "friction"), NOTHING,
        )  # fmt: skip
        self.joints.append(blank)
        inertial = self._merged(joint.child, index, np.eye(4), joint.parent)
        self._check_moving(joint.child, inertial)
        size = _box(self.links[joint.child], inertial.centre)
        self.joints[index] = Joint(**{**vars(blank), "inertial": inertial, "size": size})

    def _rubs(self, key: str, dynamics, name: str) -> float:
        value = float((getattr(dynamics, name) if dynamics is not None else 0.0) or 0.0)
        if not (math.isfinite(value) and value >= 0.0):
            raise self.error(f"{key}: dynamics {name}", value, "a finite number >= 0")
        return value

    def _pose(self, key: str, of) -> np.ndarray:
        """(4, 4) of an origin."""
        pose = np.asarray(of.origin, float)
        if pose.shape != (4, 4) or not np.isfinite(pose).all() or np.abs(pose).max() > FARTHEST:
            got = np.round(pose, 9).tolist()
            raise self.error(f"{key}: origin", got, f"finite numbers below {FARTHEST:g}")
        return pose

    def _inertial(self, link: str) -> Inertial:
        """A link's own; nothing where the file has none (urchin would guess 1 kg)."""
        if link not in self.given:
            return NOTHING
        found = self.links[link].inertial
        key = f"link {link}: inertial"
        if not (math.isfinite(found.mass) and found.mass >= 0.0):
            raise self.error(f"{key}: mass", found.mass, "a finite number >= 0 [kg]")
        mass, inertia = float(found.mass), np.asarray(found.inertia, float)
        own = Inertial(
            mass, np.zeros(3), physical_inertia(self.place, f"{key}: inertia", mass, inertia)
        )
        return own.moved(self._pose(key, found))

    def _check_moving(self, link: str, inertial: Inertial) -> None:
        """What moves needs mass and inertia."""
        if inertial.mass <= 0.0:
            remedy = "give it an <inertial>, or make its joint fixed"
            raise self.error(f"link {link}: inertial", None, "a mass > 0 on a joint", remedy)
        if np.linalg.eigvalsh(inertial.inertia)[0] <= LEAST_INERTIA * inertial.mass:
            got = np.round(inertial.inertia, 12).tolist()
            rule = "three principal moments > 0 on a joint [kg m^2]"
            remedy = f"a ball of 5 cm and its mass has {0.4 * inertial.mass * 0.05**2:.3g} in each"
            raise self.error(f"link {link}: inertia", got, rule, remedy)


def _capsule(shape) -> tuple[np.ndarray, float] | None:
    """Ends (2, 3) and radius of the capsule about a cylinder, sphere or box; None for a mesh."""
    if hasattr(shape, "length"):
        axis, half, radius = 2, shape.length / 2, shape.radius
    elif hasattr(shape, "size"):
        edges = np.asarray(shape.size, float)
        axis = int(np.argmax(edges))
        half, radius = edges[axis] / 2, np.linalg.norm(np.delete(edges, axis)) / 2
    elif hasattr(shape, "radius"):
        axis, half, radius = 2, 0.0, shape.radius
    else:
        return None
    return np.outer([-half, half], np.eye(3)[axis]), float(radius)


def _box(link, centre: np.ndarray) -> tuple[float, ...] | None:
    """Edges along the link's axes of its first visual, if a primitive about its centre of mass."""
    for visual in link.visuals[:1]:
        shape, pose = visual.geometry.geometry, np.asarray(visual.origin, float)
        if hasattr(shape, "length"):
            edges = np.array([2 * shape.radius, 2 * shape.radius, shape.length])
        elif hasattr(shape, "size"):
            edges = np.asarray(shape.size, float)
        elif hasattr(shape, "radius"):
            edges = np.full(3, 2.0 * shape.radius)
        else:
            return None
        turn = np.abs(pose[:3, :3])
        upright = np.allclose(np.sort(turn, axis=1)[:, :2], 0.0, atol=1e-6)
        if upright and np.allclose(pose[:3, 3], centre, atol=1e-6):
            return tuple((turn @ edges).tolist())
    return None


def _limit(limit, name: str) -> float:
    """A limit of velocity or effort; URDF's 0 means none is known."""
    value = getattr(limit, name) if limit is not None else None
    return float(value) if value else math.inf
