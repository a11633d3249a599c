"""What other simulators can represent: inertia, material and contact of a scene's bodies.

Drake's point contact is this engine's law, f_n = k_n d (1 + c_n d'), so its numbers are copied.
Linear dashpots (MuJoCo's solref, Gazebo's kd) cannot be the same at every speed: they are given the
restitution e that the law has at IMPACT m/s when one point carries the whole mass,

    a (1 + e) = ln((1 + a)/(1 - e a)),  a = c_n IMPACT,    zeta = -ln e / sqrt(pi^2 + ln^2 e).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as xml

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from diffsim_ros.scene.model import SceneModel
from diffsim_ros.scene.rigid_shape import RigidShape

IMPACT = 1.0
"""Speed [m/s] at which a linear dashpot gets the restitution of the continuous one."""
LEAST = 1e-3
"""Restitution of what does not bounce."""
IMPEDANCE = 0.95
"""MuJoCo's d: the share of the contact's acceleration that the constraint takes over."""


def restitution(c_n: float) -> float:
    """Restitution of f_n = k_n d (1 + c_n d') at IMPACT for one point that carries the mass."""
    a = c_n * IMPACT

    def excess(e: float) -> float:
        return math.log((1 + a) / (1 - e * a)) - a * (1 + e)

    if a < 1e-3:  # there the two sides differ by rounding only
        return 1.0 - 2.0 * a / 3.0
    top = min(1.0, (1 - 1e-12) / a)
    return brentq(excess, 0.0, top) if excess(top) > 0 else top


def dissipation(e: float) -> float:
    """The c_n [s/m] whose restitution is e, 0 < e <= 1."""
    return brentq(lambda c_n: restitution(c_n) - e, 0.0, 1e6) if e < 1.0 else 0.0


def damping_ratio(e: float) -> float:
    """Damping ratio of a linear spring and dashpot with restitution e, 0 < e <= 1."""
    log = -math.log(max(e, LEAST)) if e < 1.0 else 0.0
    return log / math.hypot(math.pi, log)


class Exported:
    """Numbers of a scene as the engine has them: `values` and `estimated` of the file included."""

    def __init__(self, model: SceneModel) -> None:
        self.model = model
        names = [info.name for info in model.engine.parameters]
        self.entries = dict(zip(names, model.engine.values.tolist(), strict=True))

    def contact(self, body: str, mass: float) -> dict[str, float] | None:
        """k_n, c_n, c_f, c_spin, c_roll, e of the first contact that the body's points make."""
        for contact in self.model.parts.contacts:
            if contact.points == body:
                keys = ("k_n", "c_n", "k_d", "c_f", "c_spin", "c_roll")
                got = {k: self.entries.get(f"{contact.name}.{k}", 0.0) for k in keys}
                if got["k_d"]:  # a linear dashpot already
                    zeta = min(got["k_d"] / (2 * math.sqrt(got["k_n"] * mass)), 0.99)
                    got["e"] = max(math.exp(-math.pi * zeta / math.sqrt(1 - zeta**2)), LEAST)
                    got["c_n"] = dissipation(got["e"])
                else:
                    got["e"] = restitution(got["c_n"])
                return got
        return None

    def rigid(self) -> dict[str, dict[str, Any]]:
        """Mass [kg], inertia (6,) [kg m^2] and `geoms`, the pieces of its shape, of every rigid
        body; one without a shape has none."""
        found = {}
        for name, body in self.model.parts.bodies.items():
            if body.WORD == "rigid":
                inertia = [self.entries[f"{name}.inertia.{k}"] for k in AXES]
                mass = self.entries[f"{name}.mass"]
                found[name] = {"mass": mass, "inertia": inertia, "geoms": geoms(name, body.form)}
        return found

    def files(self) -> dict[str, str]:
        """Name -> content (.obj) of the meshes of rigid bodies, metres, frame of the file."""
        found = {}
        for name, body in self.rigid().items():
            pieces = self.model.parts.bodies[name].form
            for k, geom in enumerate(body["geoms"]):
                if geom.file:
                    found[geom.file] = _obj(*pieces.pieces[k].mesh)
        return found

    def solid(self) -> dict[str, dict[str, float]]:
        """young [Pa], poisson, viscosity [Pa s] (means over a field), mass [kg] of every solid."""
        found = {}
        for name, body in self.model.parts.bodies.items():
            if body.WORD == "solid":
                keys = ("young", "poisson", "viscosity")
                got = {k: self._mean(f"{name}.{k}") for k in keys}
                found[name] = {**got, "mass": body.total_mass()}
        return found

    def _mean(self, name: str) -> float:
        field = [v for k, v in self.entries.items() if k == name or k.startswith(name + "[")]
        return float(np.mean(field)) if field else 0.0


@dataclass(frozen=True, eq=False)
class Geom:
    """A piece of a body's shape in the body's frame.

    kind  box, sphere, cylinder, capsule or mesh;  size  bounding edges [m] (3,)
    position [m] (3,);  orientation  x, y, z, w (4,);  file  of a mesh
    """

    name: str
    kind: str
    size: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    file: str = ""

    @property
    def along(self) -> float:
        """Height of a cylinder; of a capsule between the centres of its ends [m]."""
        return float(self.size[2] - (self.size[0] if self.kind == "capsule" else 0.0))

    @property
    def euler(self) -> np.ndarray:
        """Roll, pitch, yaw about the fixed axes x, y, z [rad]  (3,)."""
        return Rotation.from_quat(self.orientation).as_euler("xyz")

    @property
    def moved(self) -> bool:
        """Whether it is not at the body's own pose."""
        return bool(self.position.any() or self.orientation[:3].any())


def geoms(name: str, shape: RigidShape | None) -> list[Geom]:
    """Pieces of a body's shape."""
    found = []
    for k, piece in enumerate(shape.pieces if shape else ()):
        own = name if len(shape.pieces) == 1 else f"{name}_{k}"
        file = f"{own}.obj" if piece.kind == "mesh" else ""
        at = piece.position - shape.origin
        found.append(Geom(own, piece.kind, piece.size, at, piece.orientation, file))
    return found


def _obj(vertices: np.ndarray, triangles: np.ndarray) -> str:
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]
    return "\n".join(lines) + "\n"


AXES = ("xx", "yy", "zz", "xy", "xz", "yz")


def mjcf(data: Exported) -> str:
    """MuJoCo: bodies with inertial and geom; flexes' elasticity as children of a deformable."""
    root = xml.Element("mujoco", model=data.model.description["name"] or "diffsim")
    assets, world = xml.Element("asset"), xml.SubElement(root, "worldbody")
    for name, body in data.rigid().items():
        node = xml.SubElement(world, "body", name=name)
        xml.SubElement(node, "freejoint")
        xml.SubElement(node, "inertial", pos="0 0 0", mass=_text(body["mass"]),
                       fullinertia=_text(*body["inertia"]))  # fmt: skip
        contact = data.contact(name, body["mass"])
        law = {} if contact is None else _mujoco_contact(contact, body["mass"])
        for geom in body["geoms"] or [NO_SHAPE]:
            own = f"{geom.name or name}_geom"
            xml.SubElement(node, "geom", name=own, **_geom(geom), **law)
            if geom.file:
                xml.SubElement(assets, "mesh", name=geom.name, file=geom.file)
    for name, solid in data.solid().items():
        shear = solid["young"] / (2 * (1 + solid["poisson"]))
        comment = f" {name}: child of its flexcomp, whose mass is {_text(solid['mass'])} kg "
        root.append(xml.Comment(comment))
        text = xml.Element("elasticity", young=_text(solid["young"]),
                           poisson=_text(solid["poisson"]),
                           damping=_text(solid["viscosity"] / shear if shear else 0.0))  # fmt: skip
        root.append(xml.Comment(" " + xml.tostring(text, encoding="unicode") + " "))
    if len(assets):
        root.insert(0, assets)
    return _document(root)


def _mujoco_contact(contact: Mapping[str, float], mass: float) -> dict[str, str]:
    """Friction, and solref in MuJoCo's direct form: -stiffness, -damping per mass."""
    stiffness = contact["k_n"] / (mass * IMPEDANCE)
    damping = 2 * damping_ratio(contact["e"]) * math.sqrt(contact["k_n"] / mass) / IMPEDANCE
    return {
        "condim": "6" if contact["c_roll"] else "4" if contact["c_spin"] else "3",
        "friction": _text(contact["c_f"], contact["c_spin"], contact["c_roll"]),
        "solref": _text(-stiffness, -damping),
        "solimp": _text(IMPEDANCE, IMPEDANCE, 0.001),
    }


NO_SHAPE = Geom("", "sphere", np.full(3, 0.02), np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
"""A body without shape becomes a ball of 1 cm."""


def _geom(geom: Geom) -> dict[str, str]:
    """Type, size and pose of a MuJoCo geom."""
    place = {}
    if geom.moved:
        turn = geom.orientation[[3, 0, 1, 2]]
        place = {"pos": _text(*geom.position), "quat": _text(*turn)}
    if geom.kind == "mesh":
        return {"type": "mesh", "mesh": geom.name, **place}
    half = 0.5 * geom.size
    size = {"box": half, "sphere": half[:1]}.get(geom.kind, (half[0], 0.5 * geom.along))
    return {"type": geom.kind, "size": _text(*size), **place}


def urdf(data: Exported) -> str:
    """URDF: a link per rigid body; contact in Drake's and Gazebo's extensions."""
    root = xml.Element("robot", name=data.model.description["name"] or "diffsim")
    root.set("xmlns:drake", "http://drake.mit.edu")
    for name, body in data.rigid().items():
        link = xml.SubElement(root, "link", name=name)
        _inertial(link, body)
        collisions = _collisions(link, name, body, sdf=False)
        contact = data.contact(name, body["mass"])
        if contact is None:
            continue
        for collision in collisions:
            drake = xml.SubElement(collision, "drake:proximity_properties")
            for tag, value in (
                ("point_contact_stiffness", contact["k_n"]),
                ("hunt_crossley_dissipation", contact["c_n"]),
                ("mu_static", contact["c_f"]),
                ("mu_dynamic", contact["c_f"]),
            ):
                xml.SubElement(drake, f"drake:{tag}", value=_text(value))
        gazebo = xml.SubElement(root, "gazebo", reference=name)
        kp, kd = _linear(contact, body["mass"])
        for tag, value in (
            ("mu1", contact["c_f"]),
            ("mu2", contact["c_f"]),
            ("kp", kp),
            ("kd", kd),
        ):
            xml.SubElement(gazebo, tag).text = _text(value)
    return _document(root)


def sdf(data: Exported) -> str:
    """SDFormat: a model with a link per rigid body, surface friction, bounce and contact."""
    root = xml.Element("sdf", version="1.9")
    top = xml.SubElement(root, "model", name=data.model.description["name"] or "diffsim")
    for name, body in data.rigid().items():
        link = xml.SubElement(top, "link", name=name)
        inertial = xml.SubElement(link, "inertial")
        xml.SubElement(inertial, "mass").text = _text(body["mass"])
        inertia = xml.SubElement(inertial, "inertia")
        for axis, value in zip(AXES, body["inertia"], strict=True):
            xml.SubElement(inertia, f"i{axis}").text = _text(value)
        contact = data.contact(name, body["mass"])
        for collision in _collisions(link, name, body, sdf=True):
            if contact is not None:
                _surface(xml.SubElement(collision, "surface"), contact, body["mass"])
    return _document(root)


def _surface(surface: xml.Element, contact: Mapping[str, float], mass: float) -> None:
    ode = xml.SubElement(xml.SubElement(surface, "friction"), "ode")
    for tag in ("mu", "mu2"):
        xml.SubElement(ode, tag).text = _text(contact["c_f"])
    bounce = xml.SubElement(surface, "bounce")
    xml.SubElement(bounce, "restitution_coefficient").text = _text(contact["e"])
    ode = xml.SubElement(xml.SubElement(surface, "contact"), "ode")
    for tag, value in zip(("kp", "kd"), _linear(contact, mass), strict=True):
        xml.SubElement(ode, tag).text = _text(value)


def _linear(contact: Mapping[str, float], mass: float) -> tuple[float, float]:
    """Spring [N/m] and dashpot [N s/m] with the law's restitution at IMPACT."""
    zeta = damping_ratio(contact["e"])
    return contact["k_n"], 2 * zeta * math.sqrt(contact["k_n"] * mass)


def _inertial(link: xml.Element, body: Mapping[str, Any]) -> None:
    inertial = xml.SubElement(link, "inertial")
    xml.SubElement(inertial, "mass", value=_text(body["mass"]))
    names = [f"i{axis}" for axis in AXES]
    values = map(_text, body["inertia"])
    xml.SubElement(inertial, "inertia", dict(zip(names, values, strict=True)))


def _collisions(link: xml.Element, name: str, body: Mapping[str, Any], *, sdf: bool) -> list:
    """A collision element for each piece of the shape, a capsule as URDF 1.2 has it."""
    found = []
    for geom in body["geoms"] or [NO_SHAPE]:
        node = xml.SubElement(link, "collision", name=f"{geom.name or name}_collision")
        if geom.moved and sdf:
            xml.SubElement(node, "pose").text = _text(*geom.position, *geom.euler)
        elif geom.moved:
            place = {"xyz": _text(*geom.position), "rpy": _text(*geom.euler)}
            xml.SubElement(node, "origin", place)
        shape = xml.SubElement(xml.SubElement(node, "geometry"), geom.kind)
        for key, value in _sizes(geom, "uri" if sdf else "filename").items():
            if sdf:
                xml.SubElement(shape, key).text = value
            else:
                shape.set(key, value)
        found.append(node)
    return found


def _sizes(geom: Geom, file: str) -> dict[str, str]:
    if geom.kind == "mesh":
        return {file: geom.file}
    if geom.kind == "box":
        return {"size": _text(*geom.size)}
    values = {"radius": _text(0.5 * geom.size[0])}
    return values if geom.kind == "sphere" else {**values, "length": _text(geom.along)}


def _text(*numbers: float) -> str:
    return " ".join(f"{float(x):.9g}" for x in numbers)


def _document(root: xml.Element) -> str:
    xml.indent(root)
    return xml.tostring(root, encoding="unicode") + "\n"
