"""URDF files, read by urchin and checked: what it would guess or ignore is refused here."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.files import is_regular

from .kinematics import joint_motion
from .robot import KINDS, NOTHING, Capsule, Frame, Inertial, Joint, Mimic, Robot
from .urdf_file import (
    UrdfFile,
    across,
    axis_of,
    ends,
    number_of,
    pose_of,
    raw_tree,
    read_urdf,
    vector_of,
)  # fmt: skip
from .urdf_mimic import mimics_of

MESHES = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off")


def load_robot(
    path: str | Path,
    *,
    meshes: str = "require",
    packages: Mapping[str, str | Path] | None = None,
    joints: Collection[str] | None = None,
    held: Mapping[str, float] | None = None,
    least_joints: int = 1,
    inertia: str = "refuse",
    quiet: bool = False,
) -> Robot:
    """Read a URDF.

    meshes    "require": files of visuals and collisions must exist; "ignore": nothing is searched
    packages  folder of each package:// name; else a parent folder of the file with that name
    joints    names of those that move, None: all. The others are held still, whatever their kind,
              and what they carry is merged as behind fixed joints: wheels, a head, a hand. What
              follows a joint (<mimic>) moves or is held with it, unless `held` names it
    held      position [rad or m] of held joints, 0 where none is given
    least_joints  how many must move; 0 for a body that only wheels carry
    inertia   "mend": one that no body has is replaced by the nearest, however far it is
    Of a planar joint NAME that moves it has NAME.x, NAME.y and NAME.  A floating joint between an
    empty root and the rest makes the rest the robot; its base is what the joint carries.
    Warns (UserWarning), unless `quiet`, of what is read in another way than written (an inertia
    that is mended, `mending.physical_inertia`) and of what nobody reads: `Robot.notes`, `unused`.
    Raises InputError: missing file or library, broken XML, masses or inertias that no body has,
    joints of unknown kinds or names, held positions beyond their limits, loops, missing meshes.
    """
    path = Path(path)
    file = read_urdf(path, inertia=inertia)
    if meshes == "require":
        _check_meshes(path, file.root, packages or {})
    elif meshes != "ignore":
        raise InputError(path, "meshes", meshes, "require or ignore")
    still = _held(path, file.root, joints, held or {})
    floating = _without_floating_root(file, still)
    _check_kinds(path, file.root, still)
    _split_planar(path, file.root, still)
    try:
        robot = _Tree(file, _model(file), still, held or {}).robot(least_joints)
    except RecursionError as error:
        rule = "a tree that is no deeper than some hundred joints"
        raise InputError(path, "joints", "a chain of too many", rule) from error
    if not quiet:
        warn_of(path, robot.notes, robot.unused)
    count = sum(len(link.findall("collision")) for link in file.root.findall("link"))
    return replace(robot, floating=floating, collisions=count)


def warn_of(place: object, notes: Collection[str], unused: Collection[str]) -> None:
    """One UserWarning of what a file's reader takes otherwise, or not at all."""
    parts = [f"read as: {'; '.join(notes)}"] if notes else []
    parts += [f"not used of the file: {'; '.join(unused)}"] if unused else []
    if parts:
        warnings.warn(f"{place}: {'. '.join(parts)}", UserWarning, stacklevel=3)


def tree_of(path: Path, *, comments: bool = False) -> ElementTree.Element:
    """A URDF's elements as written; InputError for a file that cannot be one."""
    return raw_tree(path, comments=comments)


def _model(file: UrdfFile):
    """urchin's model of the links' inertials and the joints: the rest it does not get."""
    try:
        from urchin import URDF
    except ImportError as error:
        remedy = "pip install urchin (extra urdf)"
        raise InputError(file.path, "", "urchin is not installed", "a reader", remedy) from error
    root = ElementTree.Element("robot", name=file.root.get("name", ""))
    for link in file.root.findall("link"):
        own = ElementTree.SubElement(root, "link", name=link.get("name", ""))
        own.extend(link.findall("inertial"))
    for joint in file.root.findall("joint"):
        kind = joint.get("type", "")
        kind = kind if kind in KINDS else "fixed"
        own = ElementTree.SubElement(root, "joint", name=joint.get("name", ""), type=kind)
        own.extend(one for tag in ("origin", "parent", "child", "dynamics")
                   for one in joint.findall(tag))  # fmt: skip
        if kind in KINDS and joint.get("axis") is None:
            own.extend(joint.findall("axis"))
        if kind in KINDS:  # urchin needs both; 0 is none
            given = joint.find("limit")
            limit = ElementTree.SubElement(own, "limit", {"effort": "0", "velocity": "0"})
            limit.attrib.update({} if given is None else given.attrib)
    source = io.BytesIO(ElementTree.tostring(root))
    source.name = str(file.path)  # type: ignore[attr-defined]  # where urchin looks for meshes
    try:
        return URDF.load(source, lazy_load_meshes=True)
    except RecursionError:
        raise
    except Exception as error:  # of lxml, NumPy and urchin's own checks
        raise InputError(file.path, "", f"urchin: {error}", "a valid URDF") from error


def _held(
    path: Path, root: ElementTree.Element, moving: Collection[str] | None,
    given: Mapping[str, float],
) -> dict[str, float]:  # fmt: skip
    """Positions of the joints that are held still; InputError for names that no joint has."""
    joints = {joint.get("name") or "": joint for joint in root.findall("joint")}
    free = [name for name, joint in joints.items() if joint.get("type") != "fixed"]
    wanted = list(free) if moving is None else list(moving)
    for key, names in (("joints", wanted), ("held", list(given))):
        for name in names:
            if name not in free:
                rule = "a joint of the URDF that is not fixed"
                raise InputError(path, key, name, rule, nearest(name, free))
    mimics = {name: own for name, own in mimics_of(joints).items() if name in free}
    for name, value in given.items():
        if name in wanted and (moving is not None or name not in mimics):
            raise InputError(path, f"held.{name}", value, "a joint that is not among `joints`")
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise InputError(path, f"held.{name}", value, "a finite number [rad or m]")
    still = {name: float(given.get(name, 0.0)) for name in free if name not in wanted}
    still |= {name: float(value) for name, value in given.items()}
    for name, (leader, ratio, shift) in mimics.items():
        if name in given:
            continue
        if not leader or leader in still:
            if leader and moving is not None and name in moving:
                rule = f"joints that move by themselves: {name} follows {leader}, which is held"
                remedy = f"let {leader} move too, or hold it still"
                raise InputError(path, f"joint {name}", "mimic", rule, remedy)
            still[name] = ratio * still.get(leader, 0.0) + shift
        else:
            still.pop(name, None)
    return still


def _without_floating_root(file: UrdfFile, held: Mapping[str, float]) -> bool:
    """Take away an empty root whose one joint floats; whether there was one."""
    root = file.root
    joints = {joint.get("name", ""): joint for joint in root.findall("joint")}
    children = {ends(joint)[1] for joint in joints.values()}
    links = {link.get("name", ""): link for link in root.findall("link")}
    top = next(name for name in links if name not in children)
    below = [(name, joint) for name, joint in joints.items() if ends(joint)[0] == top]
    if len(below) != 1 or links[top].find("inertial") is not None:
        return False
    ((name, joint),) = below
    if joint.get("type") != "floating" or name in held:
        return False
    child = ends(joint)[1]
    file.notes.append(f"floating joint {name}: the robot begins at link {child}, whose pose is "
                      f"given where the robot is used; without link {top}")  # fmt: skip
    root.remove(joint)
    root.remove(links[top])
    return True


def _check_kinds(path: Path, root: ElementTree.Element, held: Mapping[str, float]) -> None:
    for joint in root.findall("joint"):
        if joint.get("type") == "floating" and joint.get("name") not in held:
            rule = " or ".join([*KINDS, "planar", "fixed"])
            remedy = "hold it still, or give what it carries a file of its own"
            raise InputError(path, f"joint {joint.get('name')}: type", "floating", rule, remedy)


def _split_planar(path: Path, root: ElementTree.Element, held: Mapping[str, float]) -> None:
    """Two slides and a turn, with empty links between them, in place of every planar joint."""
    names = {one.get("name") for one in root}
    for joint in root.findall("joint"):
        name = joint.get("name", "")
        if joint.get("type") != "planar" or name in held:
            continue
        axis, above = axis_of(path, joint), joint.find("parent")
        assert above is not None
        for word, along in zip(("x", "y"), across(axis).tolist(), strict=True):
            own, between = f"{name}.{word}", f"{name}.{word}_link"
            if names & {own, between}:
                raise InputError(path, f"joint {name}", own, "a name that nothing else has")
            ElementTree.SubElement(root, "link", name=between)
            slide = ElementTree.SubElement(root, "joint", name=own, type="prismatic")
            ElementTree.SubElement(slide, "parent", dict(above.attrib))
            ElementTree.SubElement(slide, "child", link=between)
            ElementTree.SubElement(slide, "axis", xyz=" ".join(map(repr, along)))
            if (origin := joint.find("origin")) is not None:
                slide.append(origin)
                joint.remove(origin)
            above.set("link", between)
        joint.set("type", "continuous")
        for tag in ("limit", "dynamics"):
            for one in joint.findall(tag):
                joint.remove(one)


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

    def __init__(
        self, file: UrdfFile, model, held: Mapping[str, float], asked: Collection[str]
    ) -> None:
        self.file, self.place, self.model, self.held = file, str(file.path), model, held
        self.asked = asked
        self.links = {link.get("name", ""): link for link in file.root.findall("link")}
        self.own = {joint.get("name", ""): joint for joint in file.root.findall("joint")}
        self.inertials = {link.name: link.inertial for link in model.links}
        self.below: dict[str, list] = {name: [] for name in self.links}
        for joint in model.joints:
            self.below[joint.parent].append(joint)
        self.joints: list[Joint] = []
        self.frames: dict[str, Frame] = {}
        self.shapes: list[Capsule] = []

    def error(self, key, value, rule, remedy=""):
        return InputError(self.place, key, value, rule, remedy)

    def robot(self, least_joints: int) -> Robot:
        children = {joint.child for joint in self.model.joints}
        (root,) = (name for name in self.links if name not in children)
        base = self._merged(root, -1, np.eye(4))
        if len(self.joints) < least_joints:
            raise self.error("joints", 0, "at least one joint that moves")
        index = {joint.name: i for i, joint in enumerate(self.joints)}
        for name, (leader, ratio, shift) in mimics_of(self.own).items():
            if name in index:
                i = index[name]
                mimic = Mimic(index[leader], ratio, shift)
                self.joints[i] = replace(self.joints[i], mimic=mimic)
        notes = tuple(self.file.notes + self.file.limits)
        odd = tuple(name for name in self.file.odd_limits if name in index)
        return Robot(self.place, self.model.name, root, tuple(self.joints), self.frames,
                     tuple(self.shapes), base, tuple(self.file.unused()), notes,
                     odd)  # fmt: skip

    def _merged(self, link: str, carrier: int, pose: np.ndarray, parent: str = "") -> Inertial:
        """Inertial of a link and all that is fixed to it, in the carrier's frame; walks on."""
        self.frames[link] = Frame(carrier, pose, parent)
        for collision in self.links[link].findall("collision"):
            found = _capsule(collision)
            if found is not None:
                ends_of, at = found[0], pose @ pose_of(collision)
                self.shapes.append(
                    Capsule(link, carrier, ends_of @ at[:3, :3].T + at[:3, 3], found[1])
                )
        total = self._inertial(link).moved(pose)
        moving = []
        for joint in self.below[link]:
            at = pose @ pose_of(self.own[joint.name])
            if joint.name in self.held:
                at = at @ self._still(joint)
            if self.own[joint.name].get("type") == "fixed" or joint.name in self.held:
                total = total.plus(self._merged(joint.child, carrier, at, link))
            else:
                moving.append((joint, at))
        for joint, at in moving:
            self._moved(joint, carrier, at)
        return total

    def _range(self, name: str) -> tuple[float, float]:
        """Limits of a joint's position."""
        limit = self.own[name].find("limit")
        return number_of(limit, "lower", -math.inf), number_of(limit, "upper", math.inf)

    def _still(self, joint) -> np.ndarray:
        """Pose (4, 4) of what a held joint carries, in the joint's frame."""
        value, key = self.held[joint.name], f"held.{joint.name}"
        kind = self.own[joint.name].get("type")
        if kind not in KINDS:
            if value != 0.0:
                raise self.error(key, value, f"0, as the joint is {kind}")
            return np.eye(4)
        lower, upper = self._range(joint.name)
        follows = joint.name not in self.asked and self.own[joint.name].find("mimic") is not None
        if not lower <= value <= upper and not follows:
            rule = f"a position within the joint's limits {lower:g} to {upper:g}"
            raise self.error(key, value, rule)
        if value == 0.0:
            return np.eye(4)
        axis = axis_of(self.file.path, self.own[joint.name])
        return joint_motion(axis, kind != "prismatic", np.array(value))

    def _moved(self, joint, parent: int, origin: np.ndarray) -> None:
        index, own = len(self.joints), self.own[joint.name]
        lower, upper = self._range(joint.name)
        limit, dynamics = own.find("limit"), joint.dynamics
        blank = Joint(
            joint.name, joint.joint_type, parent, joint.child, origin,
            axis_of(self.file.path, own), lower, upper, number_of(limit, "velocity", math.inf),
            number_of(limit, "effort", math.inf),
            float(getattr(dynamics, "damping", 0.0) or 0.0),
            float(getattr(dynamics, "friction", 0.0) or 0.0), NOTHING,
        )  # fmt: skip
        self.joints.append(blank)
        inertial = self._merged(joint.child, index, np.eye(4), joint.parent)
        size = _box(self.links[joint.child], inertial.centre)
        self.joints[index] = replace(blank, inertial=inertial, size=size)

    def _inertial(self, link: str) -> Inertial:
        """A link's own; nothing where the file has none (urchin would guess 1 kg)."""
        inertial = self.links[link].find("inertial")
        if inertial is None:
            return NOTHING
        found = self.inertials[link]
        own = Inertial(float(found.mass), np.zeros(3), np.asarray(found.inertia, float))
        return own.moved(pose_of(inertial))


def sizes_of(shape: ElementTree.Element) -> tuple[str, dict[str, np.ndarray]]:
    """Kind of a <visual> or <collision> of a read URDF, and the numbers of its shape (n,)."""
    geometry = shape.find("geometry")
    assert geometry is not None  # `read_urdf` has seen it
    (given,) = geometry
    return given.tag, {name: vector_of(given, name) for name in ("size", "radius", "length")
                       if name in given.attrib}  # fmt: skip


def _capsule(shape: ElementTree.Element) -> tuple[np.ndarray, float] | None:
    """Ends (2, 3) and radius of the capsule about a primitive; None for a mesh."""
    kind, sizes = sizes_of(shape)
    if kind == "mesh":
        return None
    if kind == "box":
        edges = sizes["size"]
        axis = int(np.argmax(edges))
        half, radius = edges[axis] / 2, np.linalg.norm(np.delete(edges, axis)) / 2
    else:
        axis, radius = 2, sizes["radius"][0]
        half = sizes["length"][0] / 2 if kind != "sphere" else 0.0
    return np.outer([-half, half], np.eye(3)[axis]), float(radius)


def _box(link: ElementTree.Element, centre: np.ndarray) -> tuple[float, ...] | None:
    """Edges along the link's axes of its first visual, if a primitive about its centre of mass."""
    for visual in link.findall("visual")[:1]:
        (kind, sizes), pose = sizes_of(visual), pose_of(visual)
        if kind == "box":
            edges = sizes["size"]
        elif kind == "sphere":
            edges = np.full(3, 2.0 * sizes["radius"][0])
        elif kind == "cylinder":
            radius = sizes["radius"][0]
            edges = np.array([2 * radius, 2 * radius, sizes["length"][0]])
        else:
            return None
        turn = np.abs(pose[:3, :3])
        upright = np.allclose(np.sort(turn, axis=1)[:, :2], 0.0, atol=1e-6)
        if upright and np.allclose(pose[:3, 3], centre, atol=1e-6):
            return tuple((turn @ edges).tolist())
    return None
