"""A scene's numbers as the engine has them, `values` and `estimated` of the file included."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from xml.etree import ElementTree as xml

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros.robots.robot import Inertial
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene.bodies.body import contact_spheres_name
from diffsim_ros.scene.contacts import Contact
from diffsim_ros.scene.export.laws import IMPACT, LEAST, bounce, dissipation, restitution
from diffsim_ros.scene.links.joint import JointLink
from diffsim_ros.scene.links.payload import PayloadLink
from diffsim_ros.scene.model import SceneModel
from diffsim_ros.scene.rigid_shape import RigidShape
from diffsim_ros.scene.shapes import symmetric
from diffsim_ros.scene.targets import AXES, INERTIA

Array = np.ndarray
POINT = 1e-4
"""Radius [m] of a contact point without one: other simulators have no points."""
ROUNDING = 1e-15
UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Geom:
    """A piece of a body's shape in the body's frame.

    kind  box, sphere, cylinder, capsule, mesh or plane (along z);  size  bounding edges [m] (3,)
    position [m] (3,);  orientation  x, y, z, w (4,);  file  of a mesh
    """

    name: str
    kind: str
    size: Array
    position: Array
    orientation: Array
    file: str = ""

    @property
    def along(self) -> float:
        """Height of a cylinder; of a capsule between the centres of its ends [m]."""
        return float(self.size[2] - (self.size[0] if self.kind == "capsule" else 0.0))

    @property
    def euler(self) -> Array:
        """Roll, pitch, yaw about the fixed axes x, y, z [rad]  (3,)."""
        return Rotation.from_quat(self.orientation).as_euler("xyz")

    @property
    def moved(self) -> bool:
        """Whether it is not at the body's own pose."""
        return bool(self.position.any() or self.orientation[:3].any())


@dataclass(frozen=True, eq=False)
class StartState:
    """Position (3,) [m], rotation (3, 3), velocity (3,) and angular velocity (3,), all in world
    axes."""

    position: Array
    turn: Array
    velocity: Array
    spin: Array


class Exported:
    """The numbers of a scene's bodies, joints and contacts.

    impact  speed [m/s] at which a linear dashpot gets the restitution of the scene's law
    """

    def __init__(self, model: SceneModel, impact: float = IMPACT) -> None:
        self.model, self.parts, self.impact = model, model.parts, impact
        names = [info.name for info in model.engine.parameters]
        self.entries = dict(zip(names, model.engine.values.tolist(), strict=True))

    @property
    def name(self) -> str:
        """The scene's."""
        return self.model.description["name"] or "diffsim"

    @property
    def gravity(self) -> list[float]:
        """[m/s^2]  (3,)."""
        return [self.entries[f"gravity.{axis}"] for axis in AXES]

    def of_type(self, *words: str) -> dict[str, Any]:
        """Bodies of these types."""
        return {n: body for n, body in self.parts.bodies.items() if body.WORD in words}

    def joints(self) -> list[JointLink]:
        """In the order of the file."""
        return [link for link in self.parts.links if isinstance(link, JointLink)]

    def inertial(self, name: str) -> Inertial:
        """Of a rigid body or particle, with the payload that it carries."""
        mass, body = self.entries[f"{name}.mass"], self.parts.bodies[name]
        if not body.TURNS:
            return Inertial(mass, np.zeros(3), 0.4 * mass * POINT**2 * np.eye(3))
        about = symmetric(np.array([self.entries[f"{name}.inertia.{k}"] for k in INERTIA]))
        moment = np.zeros(3)
        for link in self.parts.links:
            if isinstance(link, PayloadLink) and link.body == name:
                more = {key: self.entries[f"{link.name}.{key}"] for key in link.VALUES}
                mass += more["mass"]
                moment = moment + [more[f"moment.{axis}"] for axis in AXES]
                about = about + symmetric(np.array([more[f"inertia.{k}"] for k in INERTIA]))
        centre = moment / mass
        about = about - mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        return Inertial(mass, centre, about)

    @cached_property
    def states(self) -> dict[str, StartState]:
        """Body with a frame, or particle -> where it starts."""
        from diffsim_ros import _engine

        engine, options = self.model.engine, self.model.options
        run = _engine.rollout(engine, engine.values, options.record_every, options)
        found = {}
        for name in self.of_type("rigid", "kinematic", "particle"):
            row = engine.nodes_of(name)[0]
            turn = quat_matrix(run.orientation[0, row])
            motion = run.velocity[0, row], run.angular_velocity[0, row]
            found[name] = StartState(run.position[0, row], turn, *motion)
        return found

    def anchor(self, joint: JointLink, side: str) -> Array:
        """The joint's point in body_a (side a) or body_b, from its centre, its axes [m]  (3,)."""
        name = joint.body_a if side == "a" else joint.body_b
        at, turn = self.file_pose(name)
        moved = joint.vector(self.entries, "position", joint.position) - joint.position
        own = turn.T @ (np.array(joint.position) - at)
        if side == "b" and joint.kind == "slider":  # `position` is its point at a displacement of 0
            own = own + turn.T @ (joint.coordinate * np.array(joint.axis))
        return joint.vector(self.entries, f"anchor_{side}", own) + turn.T @ moved

    def axis(self, joint: JointLink) -> Array:
        """World axes, as the scene's poses have the bodies  (3,)."""
        return joint.turned(self.entries, joint.axis)

    def second_axis(self, joint: JointLink) -> Array:
        """As `axis`, of a universal joint."""
        return joint.turned(self.entries, joint.second_axis)

    def file_pose(self, name: str | None) -> tuple[Array, Array]:
        """Position (3,) and rotation (3, 3) in the scene's file; of None, the world."""
        return (np.zeros(3), np.eye(3)) if name is None else self.parts.bodies[name].start_pose()

    def law(self, contact: Contact, mass: float) -> dict[str, float]:
        """k_n, c_n, c_f, c_spin, c_roll and the restitution e of a contact that carries `mass`.

        One that is `hard` gets the k_n with which it lasts 20 steps.
        """
        keys = ("k_n", "c_n", "k_d", "c_f", "c_spin", "c_roll", "restitution")
        got = {k: self.entries.get(f"{contact.name}.{k}", 0.0) for k in keys}
        got["hard"] = float(self.parts.world["stepper"] == "velocity")
        if got["hard"]:
            got["k_n"] = mass * (math.pi / (20 * self.parts.world["step"])) ** 2
            got["e"] = max(got["restitution"], LEAST)
            got["c_n"] = dissipation(got["e"])
        elif got["k_d"]:  # a linear dashpot already
            got["e"] = max(bounce(got["k_d"] / (2 * math.sqrt(got["k_n"] * mass))), LEAST)
            got["c_n"] = dissipation(got["e"])
        else:
            got["e"] = restitution(got["c_n"], self.impact)
        return got

    def first_law(self, body: str, mass: float) -> dict[str, float] | None:
        """Of the first contact that the body's points make."""
        own = [contact for contact in self.parts.contacts if contact.points == body]
        return self.law(own[0], mass) if own else None

    def contact_geoms(self, name: str) -> tuple[Geom, ...]:
        """What of a rigid body or particle touches: its shape, or spheres that are given alone."""
        body = self.parts.bodies[name]
        ((kind, _),) = (body.contact_spheres or {"": None}).items()
        if body.CARRIES and body.form and kind != "points":
            return geoms(name, body.form)
        spheres, own = body.contact_spheres_at_start(), contact_spheres_name(name)
        radius = self.entries.get(f"{own}.radius", spheres.radius)
        scale = self.entries.get(f"{own}.scale", spheres.scale)
        centres = scale * spheres.local + radius * spheres.inset
        size = np.full(3, 2 * (radius or POINT))
        return tuple(Geom(f"{name}_contact_{k}", "sphere", size, at, UPRIGHT)
                     for k, at in enumerate(centres))  # fmt: skip

    def solids(self) -> dict[str, dict[str, float]]:
        """young [Pa], poisson, viscosity [Pa s] (means over a field), mass [kg] of every solid."""
        found = {}
        for name, body in self.of_type("solid").items():
            keys = ("young", "poisson", "viscosity")
            got = {k: self._mean(f"{name}.{k}") for k in keys}
            found[name] = {**got, "mass": body.total_mass()}
        return found

    def _mean(self, name: str) -> float:
        field = [v for k, v in self.entries.items() if k == name or k.startswith(name + "[")]
        return float(np.mean(field)) if field else 0.0

    def picture(self, name: str) -> Geom | None:
        """What is seen of a rigid body that has no shape: its `picture`, else a box as heavy and
        as hard to turn; None where nothing is."""
        body = self.parts.bodies[name]
        if body.WORD != "rigid" or body.info().kind != "mesh" or (body.form and not body.picture):
            return None
        size = np.array(body.info().size)
        own = f"{name}_picture"
        return Geom(own, "mesh", size, np.zeros(3), UPRIGHT, f"{own}.obj")

    def meshes(self) -> dict[str, str]:
        """Name -> content (.obj) of meshes of shapes, frame of the file, and of pictures [m]."""
        found = {}
        for name in self.of_type("rigid"):
            seen = self.picture(name)
            if seen is not None:
                info = self.parts.bodies[name].info()
                found[seen.file] = obj(np.asarray(info.vertices), np.asarray(info.triangles))
        for name, body in self.of_type("rigid", "kinematic").items():
            for geom, piece in zip(
                geoms(name, body.form), body.form.pieces if body.form else (), strict=True
            ):
                if geom.file:
                    found[geom.file] = obj(*piece.mesh)
        return found


def geoms(name: str, shape: RigidShape | None) -> tuple[Geom, ...]:
    """Pieces of a body's shape."""
    found = []
    for k, piece in enumerate(shape.pieces if shape else ()):
        own = name if len(shape.pieces) == 1 else f"{name}_{k}"
        file = f"{own}.obj" if piece.kind == "mesh" else ""
        at = piece.position - shape.origin
        found.append(Geom(own, piece.kind, piece.size, at, piece.orientation, file))
    return tuple(found)


def obj(vertices: Array, triangles: Array) -> str:
    """Content of an .obj file."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]
    return "\n".join(lines) + "\n"


def text(*numbers: float) -> str:
    """Numbers of an attribute, without the rounding of zeros."""
    return " ".join(f"{float(x) if abs(x) > ROUNDING else 0.0:.12g}" for x in numbers)


def document(root: xml.Element, notes: list[str]) -> str:
    """The file; what it lacks stands at its head."""
    for k, note in enumerate(notes):
        root.insert(k, xml.Comment(f" lacks {note} ".replace("--", "- -")))
    xml.indent(root)
    return xml.tostring(root, encoding="unicode") + "\n"


def six(inertia: Array) -> dict[str, str]:
    """xx, yy, zz, xy, xz, yz of an inertia (3, 3), as text."""
    values = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return {key: text(value) for key, value in zip(INERTIA, values, strict=True)}
