"""SDFormat: a model of links with joints, surface friction, bounce and contact."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as xml

from scipy.spatial.transform import Rotation

from diffsim_ros.scene.export.chain import Chain, Hung
from diffsim_ros.scene.export.laws import linear
from diffsim_ros.scene.export.numbers import Exported, Geom, document, geoms, six, text
from diffsim_ros.scene.export.urdf import sizes

TYPES = {"hinge": "revolute", "slider": "prismatic", "ball": "ball", "weld": "fixed"}


def sdf(data: Exported) -> tuple[str, list[str]]:
    """The file, and what of the scene it lacks."""
    chain = Chain(data)
    root = xml.Element("sdf", version="1.9")
    top = xml.SubElement(root, "model", name=data.name)
    for name in chain.tree.held:
        position, turn = chain.poses[name]
        pose = text(*position, *Rotation.from_matrix(turn).as_euler("xyz"))
        if not data.parts.bodies[name].MOVES:
            chain.notes.append(f"the motion of {name}")
        _link(top, data, name, pose)
    for name in chain.tree.held:
        if chain.held(name).joint is not None:
            _joint(top, chain, name, chain.hung(name))
    return document(root, chain.notes), chain.notes


def _link(top: xml.Element, data: Exported, name: str, pose: str) -> None:
    link, body = xml.SubElement(top, "link", name=name), data.parts.bodies[name]
    xml.SubElement(link, "pose").text = pose
    law, mass = None, 1.0
    if body.MOVES:
        mine = data.inertial(name)
        mass, law = mine.mass, data.first_law(name, mine.mass)
        inertial = xml.SubElement(link, "inertial")
        if mine.centre.any():
            xml.SubElement(inertial, "pose").text = text(*mine.centre, 0, 0, 0)
        xml.SubElement(inertial, "mass").text = text(mass)
        inertia = xml.SubElement(inertial, "inertia")
        for axis, value in six(mine.inertia).items():
            xml.SubElement(inertia, f"i{axis}").text = value
    else:
        xml.SubElement(link, "kinematic").text = "true"
    touching = data.contact_geoms(name) if body.MOVES and body.touches else geoms(name, body.form)
    seen = data.picture(name)
    if seen is not None:
        _shape(link, "visual", seen)
    for geom in touching:
        if body.form:
            _shape(link, "visual", geom)
        node = _shape(link, "collision", geom)
        if law is not None:
            _surface(xml.SubElement(node, "surface"), law, mass)


def _shape(link: xml.Element, tag: str, geom: Geom) -> xml.Element:
    node = xml.SubElement(link, tag, name=f"{geom.name}_{tag}")
    if geom.moved:
        xml.SubElement(node, "pose").text = text(*geom.position, *geom.euler)
    shape = xml.SubElement(xml.SubElement(node, "geometry"), geom.kind)
    for key, value in sizes(geom, "uri").items():
        xml.SubElement(shape, key).text = value
    return node


def _joint(top: xml.Element, chain: Chain, name: str, hung: Hung) -> None:
    joint, parent = hung.joint, chain.held(name).parent
    kind = TYPES.get(joint.kind)
    if kind is None:
        chain.notes.append(f"joint {joint.name}: a {joint.kind}")
        return
    node = xml.SubElement(top, "joint", name=joint.name, type=kind)
    xml.SubElement(node, "parent").text = "world" if parent is None else parent
    xml.SubElement(node, "child").text = name
    xml.SubElement(node, "pose").text = text(*hung.anchor, 0, 0, 0)
    if kind not in ("revolute", "prismatic"):
        return
    axis = xml.SubElement(node, "axis")
    xml.SubElement(axis, "xyz").text = text(*hung.axis)
    limit = xml.SubElement(axis, "limit")
    for word, value in (("lower", hung.lower), ("upper", hung.upper)):
        if value is not None:  # SDF's coordinate is 0 in the first pose
            xml.SubElement(limit, word).text = text(value - joint.coordinate)
    dynamics = xml.SubElement(axis, "dynamics")
    xml.SubElement(dynamics, "damping").text = text(hung.damping)
    xml.SubElement(dynamics, "friction").text = text(hung.friction)


def _surface(surface: xml.Element, contact: Mapping[str, float], mass: float) -> None:
    ode = xml.SubElement(xml.SubElement(surface, "friction"), "ode")
    for tag in ("mu", "mu2"):
        xml.SubElement(ode, tag).text = text(contact["c_f"])
    bounce = xml.SubElement(surface, "bounce")
    xml.SubElement(bounce, "restitution_coefficient").text = text(contact["e"])
    ode = xml.SubElement(xml.SubElement(surface, "contact"), "ode")
    for tag, value in zip(("kp", "kd"), linear(contact, mass), strict=True):
        xml.SubElement(ode, tag).text = text(value)
