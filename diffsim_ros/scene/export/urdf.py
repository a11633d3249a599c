"""URDF: a tree of links; contact in Drake's and Gazebo's extensions.

A link's origin is at its joint, its axes are the body's; joints are 0 where the scene's are.
"""

from __future__ import annotations

from xml.etree import ElementTree as xml

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros.rotation import quat_exp, quat_matrix
from diffsim_ros.scene.export.chain import Chain, Hung
from diffsim_ros.scene.export.laws import linear
from diffsim_ros.scene.export.numbers import (
    Exported,
    Geom,
    document,
    geoms,
    six,
    text,
)

Array = np.ndarray
WORLD = "world"
MOST = 1e3
"""Effort [N m or N], speed and displacement of a joint that has no limits: URDF wants numbers."""
TYPES = {"hinge": "revolute", "slider": "prismatic", "weld": "fixed", "planar": "planar"}


def urdf(data: Exported) -> tuple[str, list[str]]:
    """The file, and what of the scene it lacks."""
    chain = Chain(data)
    root = xml.Element("robot", name=data.name)
    root.set("xmlns:drake", "http://drake.mit.edu")
    single = len(chain.tree.roots()) == 1 and not chain.tree.children(None)
    if not single:
        xml.SubElement(root, "link", name=WORLD)
    origins = {}
    for name in chain.tree.held:
        hung = chain.hung(name) if chain.held(name).joint is not None else None
        origins[name] = np.zeros(3) if hung is None else hung.anchor
        _link(root, data, name, origins[name])
        if hung is not None:
            _joint(root, chain, name, hung, origins)
        elif not single:
            moves = data.parts.bodies[name].MOVES
            kind = "floating" if moves else "fixed"
            node = xml.SubElement(root, "joint", name=f"{WORLD}_{name}", type=kind)
            xml.SubElement(node, "parent", link=WORLD)
            xml.SubElement(node, "child", link=name)
            _origin(node, *chain.poses[name])
            if not moves:
                chain.notes.append(f"the motion of {name}")
    return document(root, chain.notes), chain.notes


def _joint(
    root: xml.Element, chain: Chain, name: str, hung: Hung, origins: dict[str, Array]
) -> None:
    joint, parent = hung.joint, chain.held(name).parent
    kind = TYPES.get(joint.kind, "floating")
    limited = hung.lower is not None or hung.upper is not None
    if kind == "revolute" and not limited:
        kind = "continuous"
    if kind == "floating":
        chain.notes.append(f"joint {joint.name}: URDF has no {joint.kind} joint, it floats")
    node = xml.SubElement(root, "joint", name=joint.name, type=kind)
    xml.SubElement(node, "parent", link=WORLD if parent is None else parent)
    xml.SubElement(node, "child", link=name)
    above, above_turn = (np.zeros(3), np.eye(3)) if parent is None else chain.poses[parent]
    shift = np.zeros(3) if parent is None else above_turn @ origins[parent]
    at, turn = chain.data.file_pose(name)
    at = at + turn @ hung.anchor - above - shift
    if joint.kind == "slider":
        at = at - joint.coordinate * (turn @ hung.axis)
    elif joint.kind in ("hinge", "planar"):
        turn = turn @ quat_matrix(quat_exp(-joint.coordinate * hung.axis))
    _origin(node, above_turn.T @ at, above_turn.T @ turn)
    if kind in ("revolute", "continuous", "prismatic", "planar"):
        xml.SubElement(node, "axis", xyz=text(*hung.axis))
        xml.SubElement(node, "dynamics", damping=text(hung.damping), friction=text(hung.friction))
    if kind in ("revolute", "prismatic"):
        low = -MOST if hung.lower is None else hung.lower
        high = MOST if hung.upper is None else hung.upper
        xml.SubElement(node, "limit", lower=text(low), upper=text(high), effort=text(MOST),
                       velocity=text(MOST))  # fmt: skip
    if joint.mimic is not None:
        xml.SubElement(node, "mimic", joint=joint.mimic, multiplier=text(joint.ratio),
                       offset=text(joint.shift))  # fmt: skip


def _link(root: xml.Element, data: Exported, name: str, origin: Array) -> None:
    link, body = xml.SubElement(root, "link", name=name), data.parts.bodies[name]
    law = None
    if body.MOVES:
        mine = data.inertial(name)
        inertial = xml.SubElement(link, "inertial")
        _origin(inertial, mine.centre - origin, np.eye(3))
        xml.SubElement(inertial, "mass", value=text(mine.mass))
        xml.SubElement(inertial, "inertia", {f"i{k}": v for k, v in six(mine.inertia).items()})
        law = data.first_law(name, mine.mass)
    seen = data.picture(name)
    if seen is not None:
        _shape(link, "visual", seen, origin)
    touching = data.contact_geoms(name) if body.MOVES and body.touches else geoms(name, body.form)
    for geom in touching:
        if body.form:
            _shape(link, "visual", geom, origin)
        collision = _shape(link, "collision", geom, origin)
        if law is not None:
            drake = xml.SubElement(collision, "drake:proximity_properties")
            for tag, value in (
                ("point_contact_stiffness", law["k_n"]), ("hunt_crossley_dissipation", law["c_n"]),
                ("mu_static", law["c_f"]), ("mu_dynamic", law["c_f"]),
            ):  # fmt: skip
                xml.SubElement(drake, f"drake:{tag}", value=text(value))
    if law is None:
        return
    gazebo = xml.SubElement(root, "gazebo", reference=name)
    kp, kd = linear(law, mine.mass)
    for tag, value in (("mu1", law["c_f"]), ("mu2", law["c_f"]), ("kp", kp), ("kd", kd)):
        xml.SubElement(gazebo, tag).text = text(value)


def _shape(link: xml.Element, tag: str, geom: Geom, origin: Array) -> xml.Element:
    """A capsule as URDF 1.2 has it."""
    node = xml.SubElement(link, tag, name=f"{geom.name}_{tag}")
    _origin(node, geom.position - origin, quat_matrix(geom.orientation))
    shape = xml.SubElement(xml.SubElement(node, "geometry"), geom.kind)
    for key, value in sizes(geom, "filename").items():
        shape.set(key, value)
    return node


def sizes(geom: Geom, file: str) -> dict[str, str]:
    """Of a geometry, `file` the word for a mesh's."""
    if geom.kind == "mesh":
        return {file: geom.file}
    if geom.kind == "box":
        return {"size": text(*geom.size)}
    values = {"radius": text(0.5 * geom.size[0])}
    return values if geom.kind == "sphere" else {**values, "length": text(geom.along)}


def _origin(node: xml.Element, position: Array, turn: Array) -> None:
    if np.abs(position).max() < 1e-12 and np.abs(turn - np.eye(3)).max() < 1e-12:
        return
    rpy = Rotation.from_matrix(turn).as_euler("xyz")
    xml.SubElement(node, "origin", xyz=text(*position), rpy=text(*rpy))
