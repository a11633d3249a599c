"""A URDF as its readers have it: every element checked, dialects read, the rest counted.

`read_urdf` gives one tree of elements for planners (`load_robot`), scenes, `load_tree`, collisions
and pictures.  What it gives has unique names, one tree of links, numbers in all attributes, one
known shape in every geometry and inertias that bodies can have.  So no reader of it can fail.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from diffsim_ros.errors import InputError, nearest

from .mending import physical_inertia
from .urdf_mimic import check_mimics
from .xml_file import prefixed_tree, xml_content

Element = ElementTree.Element
LINKS = 1000
"""Most links of a robot."""
FARTHEST = 1e6
"""Largest coordinate of an origin [m]."""
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
SHAPES = {"box": {"size": 3}, "sphere": {"radius": 1}, "cylinder": {"radius": 1, "length": 1},
          "capsule": {"radius": 1, "length": 1}}  # fmt: skip
"""Primitives -> numbers of each of their sizes."""
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
KNOWN: dict[str, tuple[set[str], set[str]]] = {
    "robot": ({"name", "version"}, {"link", "joint", "material"}),
    "link": ({"name"}, {"inertial", "visual", "collision"}),
    "joint": ({"name", "type"},
              {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"}),
    "inertial": (set(), {"origin", "mass", "inertia"}),
    "visual": ({"name"}, {"origin", "geometry", "material"}),
    "collision": ({"name"}, {"origin", "geometry"}),
    "geometry": (set(), {*SHAPES, "mesh"}),
    "material": ({"name"}, {"color"}),
    "color": ({"rgba"}, set()),
    "origin": ({"xyz", "rpy"}, set()),
    "mass": ({"value"}, set()),
    "inertia": (set(INERTIA), set()),
    "parent": ({"link"}, set()),
    "child": ({"link"}, set()),
    "axis": ({"xyz"}, set()),
    "limit": ({"lower", "upper", "effort", "velocity"}, set()),
    "dynamics": ({"damping", "friction"}, set()),
    "mimic": ({"joint", "multiplier", "offset"}, set()),
    "mesh": ({"filename", "scale"}, set()),
    **{name: (set(sizes), set()) for name, sizes in SHAPES.items()},
}  # fmt: skip
"""Element -> attributes and elements of it that are read."""
SEVERAL = {"link", "joint", "material", "visual", "collision"}
"""Elements of which their parent may have several."""


@dataclass
class UrdfFile:
    """A URDF's elements as every reader has them.

    notes    what is taken in another way than written, a sentence each
    unread   elements and attributes (`limit/@jerk`) that nobody reads -> how many
    limits   as notes, of the limits of joints
    odd_limits  joints with lower >= upper: read otherwise, as notes have it
    """

    path: Path
    root: Element
    notes: list[str] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)
    limits: list[str] = field(default_factory=list)
    odd_limits: list[str] = field(default_factory=list)

    def unused(self) -> list[str]:
        """Phrases: `2 gazebo`, `1 joint/safety_controller`."""
        return [f"{count} {name}" for name, count in self.unread.items()]


def raw_tree(path: Path, *, comments: bool = False, notes: list[str] | None = None) -> Element:
    """A URDF's elements as written; InputError for a file that cannot be one."""
    notes = [] if notes is None else notes
    content = xml_content(path, "an existing URDF", "*.urdf", {"link": LINKS}, notes)
    root = prefixed_tree(path, content, comments)
    prefix, _, tag = str(root.tag).rpartition(":")
    if prefix and tag == "robot" and prefix != "xacro":
        for one in root.iter():
            if isinstance(one.tag, str):
                one.tag = one.tag.removeprefix(f"{prefix}:")
    if root.tag != "robot":
        remedy = "is it a xacro? expand it first" if "xacro" in str(root.tag) else ""
        raise InputError(path, "", f"<{root.tag}>", "<robot> at the top", remedy)
    for one in root.iter():
        if str(one.tag).startswith("xacro:") and one.tag not in ("xacro:property", "xacro:arg"):
            remedy = "expand it first: xacro FILE > OUT"
            raise InputError(path, "", f"<{one.tag}>", "a file that is no xacro any more", remedy)
    return root


def read_urdf(path: str | Path, *, inertia: str = "refuse") -> UrdfFile:
    """Read and check a URDF (see the module).

    inertia  mend: an inertia that no body has is replaced by the nearest, however far it is
    Raises InputError naming file, element and value.
    """
    if inertia not in ("refuse", "mend"):
        raise InputError(path, "inertia", inertia, "refuse or mend")
    return _Reading(Path(path), inertia == "mend").file


class _Reading:
    """The checks of one file, in the order of its levels."""

    def __init__(self, path: Path, mend: bool) -> None:
        notes: list[str] = []
        self.path, self.mend = path, mend
        self.file = UrdfFile(path, raw_tree(path, notes=notes), notes)
        root = self.file.root
        for name in [name for name in root.attrib if name.split(":")[0] == "xmlns"]:
            del root.attrib[name]
        self._strip(root, "robot")
        if not root.get("name"):
            root.set("name", path.stem or "robot")
            self._note(f"the robot without a name as {path.stem!r}")
        links = {self._name(link, "link"): link for link in root.findall("link")}
        joints = {self._name(joint, "joint"): joint for joint in root.findall("joint")}
        for tag, found in (("link", links), ("joint", joints)):
            if len(found) != len(root.findall(tag)):
                names = [one.get("name") for one in root.findall(tag)]
                twice = next(name for name in names if names.count(name) > 1)
                raise self.error(tag, twice, f"{tag}s of different names")
        if not links:
            raise self.error("links", [], "at least one <link>")
        for name, link in links.items():
            self._link(name, link)
        for material in root.findall("material"):
            self._colour(material, f"material {material.get('name')}")
        for name, joint in joints.items():
            self._joint(name, joint, links)
        check_mimics(path, joints, self.file.notes)
        self._tree(links, joints)
        self.file.unread = +self.file.unread

    def error(self, key: str, value: object, rule: str, remedy: str = "") -> InputError:
        return InputError(self.path, key, value, rule, remedy)

    def _note(self, text: str) -> None:
        self.file.notes.append(text)

    def _name(self, element: Element, tag: str) -> str:
        name = element.get("name")
        if not name:
            raise self.error(tag, name, f"a {tag} with a name")
        return name

    def _strip(self, element: Element, key: str) -> None:
        """Take away what nobody reads, and count it; of what is there once the first one stays."""
        attributes, elements = KNOWN[element.tag]
        for name in [name for name in element.attrib if name not in attributes]:
            self.file.unread[f"{element.tag}/@{name}"] += 1
            del element.attrib[name]
        seen: set[str] = set()
        for one in list(element):
            if one.tag not in elements:
                top = element.tag == "robot"
                self.file.unread[one.tag if top else f"{element.tag}/{one.tag}"] += 1
                element.remove(one)
                continue
            own = f"{one.tag} {one.get('name')}" if one.tag in ("link", "joint") else one.tag
            if one.tag in seen and one.tag not in SEVERAL:
                self._note(f"{key}: the first of several <{one.tag}>")
                element.remove(one)
                continue
            seen.add(one.tag)
            self._strip(one, own if key == "robot" else f"{key}: {own}")

    def numbers(
        self, key: str, element: Element, name: str, count: int = 1, *,
        absent: str | None = None, endless: bool = False,
    ) -> list[float]:  # fmt: skip
        """Numbers of an attribute, which are finite unless `endless`."""
        text = element.get(name, absent)
        try:
            found = [float(word) for word in (text or "").split()]
        except ValueError:
            found = []
        sound = len(found) == count and not any(math.isnan(x) for x in found)
        if not sound or not (endless or all(map(math.isfinite, found))):
            rule = "a finite number" if count == 1 else f"{count} finite numbers"
            xacro = text is not None and "$" in text
            remedy = f"{text} is a xacro's: expand the file first (xacro FILE > OUT)"
            raise self.error(f"{key}: {name}", text, rule, remedy if xacro else "")
        return found

    def _origin(self, key: str, element: Element) -> None:
        origin = element.find("origin")
        if origin is not None:
            for name in ("xyz", "rpy"):
                found = self.numbers(f"{key}: origin", origin, name, 3, absent="0 0 0")
                if max(map(abs, found)) > FARTHEST:
                    rule = f"finite numbers below {FARTHEST:g}"
                    raise self.error(f"{key}: origin: {name}", found, rule)

    def _link(self, name: str, link: Element) -> None:
        inertial = link.find("inertial")
        if inertial is not None:
            self._inertial(f"link {name}: inertial", link, inertial)
        for tag in ("visual", "collision"):
            for shape in link.findall(tag):
                key = f"link {name}: {tag}"
                self._origin(key, shape)
                geometry = shape.find("geometry")
                if geometry is None or not len(geometry):
                    link.remove(shape)
                    self._note(f"{key}: nothing, as it has no known shape")
                    continue
                self._shape(key, geometry)
                material = shape.find("material")
                if material is not None:
                    self._colour(material, key)

    def _shape(self, key: str, geometry: Element) -> None:
        for other in list(geometry)[1:]:
            geometry.remove(other)
            self._note(f"{key}: the first of several shapes, without the {other.tag}")
        shape = geometry[0]
        for name, count in SHAPES.get(shape.tag, {}).items():
            self.numbers(f"{key}: {shape.tag}", shape, name, count)
        if shape.tag == "mesh":
            scale = shape.get("scale", "1 1 1").split()
            if len(scale) == 1:
                shape.set("scale", " ".join(scale * 3))
                self._note(f"{key}: scale {scale[0]!r} along all axes")
            self.numbers(f"{key}: mesh", shape, "scale", 3, absent="1 1 1")

    def _colour(self, material: Element, key: str) -> None:
        colour = material.find("color")
        if colour is None:
            return
        try:
            self.numbers(key, colour, "rgba", 4, absent="1 1 1 1")
        except InputError:
            material.remove(colour)
            self._note(f"{key}: no colour, as {colour.get('rgba')!r} is none")

    def _inertial(self, key: str, link: Element, inertial: Element) -> None:
        self._origin(key, inertial)
        mass, six = inertial.find("mass"), inertial.find("inertia")
        value = 0.0
        if mass is not None:
            (value,) = self.numbers(f"{key}: mass", mass, "value")
        if value < 0.0:
            raise self.error(f"{key}: mass", value, "a finite number >= 0 [kg]")
        if six is not None:
            for name in INERTIA:
                if name not in six.attrib:
                    self._note(f"{key}: {name}, which is absent, as 0")
        numbers = {} if six is None else {
            name: self.numbers(f"{key}: inertia", six, name, absent="0")[0] for name in INERTIA
        }  # fmt: skip
        if value == 0.0:
            if any(numbers.values()):
                self._note(f"{key}: nothing, as moments without a mass are no body's")
            elif mass is None:
                self._note(f"{key}: nothing, as it has no mass")
            link.remove(inertial)
            return
        if six is None:
            self._note(f"{key}: a point mass, as it has no <inertia>")
            six, numbers = ElementTree.SubElement(inertial, "inertia"), dict.fromkeys(INERTIA, 0.0)
        xx, xy, xz, yy, yz, zz = (numbers[name] for name in INERTIA)
        given = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        own = f"{key}: inertia"
        taken, note = physical_inertia(str(self.path), own, value, given, far=self.mend)
        if note:
            self._note(note)
        for name, number in zip(INERTIA, taken[np.triu_indices(3)].tolist(), strict=True):
            six.set(name, repr(number))

    def _joint(self, name: str, joint: Element, links: dict[str, Element]) -> None:
        key, kind = f"joint {name}", joint.get("type")
        if kind not in TYPES:
            raise self.error(f"{key}: type", kind, " or ".join(TYPES), nearest(kind, TYPES))
        for end in ("parent", "child"):
            found = joint.find(end)
            link = None if found is None else found.get("link")
            if link not in links:
                raise self.error(f"{key}: {end}", link, "a link of the file", nearest(link, links))
        self._origin(key, joint)
        if kind in ("fixed", "floating"):
            for tag in ("axis", "limit", "dynamics", "mimic"):  # which mean nothing there
                if (one := joint.find(tag)) is not None:
                    self.file.unread["mimic of fixed joints"] += tag == "mimic"
                    joint.remove(one)
            return
        axis = joint.find("axis")
        if axis is not None:
            words = self.numbers(f"{key}: axis", axis, "xyz", 3, absent="1 0 0")
            if not 1e-6 < math.hypot(*words) < 1e150:
                joint.set("axis", "none")  # refused where the joint moves
        self._limit(name, kind, joint)
        self._dynamics(key, kind, joint)

    def _limit(self, name: str, kind: str, joint: Element) -> None:
        """Numbers of what there is: an end, effort or velocity that is infinite is taken away."""
        key, limit = f"joint {name}: limit", joint.find("limit")
        if limit is None:
            if kind in ("revolute", "prismatic"):
                self.file.limits.append(f"joint {name}: without limits, as it has no <limit>")
            return
        for word in ("effort", "velocity"):
            if word not in limit.attrib:
                continue
            (value,) = self.numbers(key, limit, word, endless=True)
            if value < 0.0:
                self.file.limits.append(f"{key}: {word} {value:g} as none")
            if value <= 0.0 or math.isinf(value):
                del limit.attrib[word]
        given = [word for word in ("lower", "upper") if word in limit.attrib]
        ends = [self.numbers(key, limit, word, absent="0", endless=True)[0]
                for word in ("lower", "upper")]  # fmt: skip
        if kind in ("continuous", "planar"):
            for word in given:
                if math.isfinite(float(limit.attrib.pop(word))):
                    self.file.unread[f"limit/@{word} of {kind} joints"] += 1
            return
        low, high = ends
        if given and low > high:
            text = f"{key}: lower {low:g} and upper {high:g} as {high:g} to {low:g}"
            self.file.limits.append(text)
            self.file.odd_limits.append(name)
            ends.reverse()
        if given and low == high:
            remedy = "to hold it still, name it in `held`"
            self.file.limits.append(f"{key}: lower = upper = {low:g} as no limits ({remedy})")
            self.file.odd_limits.append(name)
            given = []
        if not given:
            ends = [-math.inf, math.inf]
        for word, end in zip(("lower", "upper"), ends, strict=True):
            limit.set(word, repr(end))
            if math.isinf(end):
                del limit.attrib[word]

    def _dynamics(self, key: str, kind: str, joint: Element) -> None:
        dynamics = joint.find("dynamics")
        if dynamics is None:
            return
        for name in ("damping", "friction"):
            (value,) = self.numbers(f"{key}: dynamics", dynamics, name, absent="0")
            if value < 0.0:
                raise self.error(f"{key}: dynamics {name}", value, "a finite number >= 0")
            if value and kind == "planar":
                self.file.unread[f"dynamics/@{name} of planar joints"] += 1

    def _tree(self, links: dict[str, Element], joints: dict[str, Element]) -> None:
        """InputError unless joints tie all links to one root."""
        parents: dict[str, str] = {}
        for joint in joints.values():
            above, child = ends(joint)
            if child in parents:
                got, remedy = f"parents {parents[child]!r} and {above!r}", "a loop has one cut open"
                raise self.error(f"link {child}", got, "one parent", remedy)
            parents[child] = above
        roots = [name for name in links if name not in parents]
        if len(roots) != 1:
            rule = "one link without a parent: a tree has one root, and no cycle"
            raise self.error("links", roots, rule)
        tied, lost = set(roots), []
        for name in links:
            way = [name]
            while way[-1] not in tied and len(way) <= len(links):
                way.append(parents[way[-1]])
            if way[-1] in tied:
                tied.update(way)
            else:
                lost.append(name)
        if lost:
            rule = "links that joints tie to the root, without a cycle"
            raise self.error("links", lost, rule)


def ends(joint: Element) -> tuple[str, str]:
    """Names of a joint's parent and child."""
    parent, child = joint.find("parent"), joint.find("child")
    assert parent is not None and child is not None  # `read_urdf` has seen them
    return parent.get("link", ""), child.get("link", "")


def vector_of(element: Element | None, name: str, absent: str = "0 0 0") -> np.ndarray:
    """Numbers (n,) of an attribute of a read URDF."""
    text = absent if element is None else element.get(name, absent)
    return np.array([float(word) for word in text.split()])


def number_of(element: Element | None, name: str, absent: float = 0.0) -> float:
    """A number of an attribute of a read URDF."""
    return absent if element is None else float(element.get(name, absent))


def pose_of(element: Element) -> np.ndarray:
    """(4, 4) of the <origin> of a read URDF's element; absent: the identity."""
    pose, origin = np.eye(4), element.find("origin")
    if origin is not None:
        turn = vector_of(origin, "rpy")
        (a, b, c), (d, e, f) = np.cos(turn), np.sin(turn)
        pose[:3, :3] = [  # turns about x, then y, then z
            [c * b, c * e * d - f * a, c * e * a + f * d],
            [f * b, f * e * d + c * a, f * e * a - c * d],
            [-e, b * d, b * a],
        ]
        pose[:3, 3] = vector_of(origin, "xyz")
    return pose


def axis_of(path: Path, joint: Element) -> np.ndarray:
    """Unit axis (3,) of a joint that moves; InputError for one without length."""
    axis = vector_of(joint.find("axis"), "xyz", "1 0 0")
    if joint.get("axis") is not None:
        rule = "three finite numbers, not all zero"
        raise InputError(path, f"joint {joint.get('name')}: axis", axis.tolist(), rule)
    return axis / np.linalg.norm(axis)


def across(axis: np.ndarray) -> np.ndarray:
    """Two unit directions (2, 3) across a unit axis: the slides of a planar joint."""
    return np.linalg.svd(axis[None])[2][1:]
