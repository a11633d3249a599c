"""From a resolved scene to the engine's scene."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.scene import build_links, build_soft, shapes
from diffsim_ros.scene.build_sdf import engine_sdf
from diffsim_ros.scene.links import start_pose
from diffsim_ros.scene.schema import CONTACT_VALUES
from diffsim_ros.scene.soft_shapes import SOFT, soft_shape

Array = np.ndarray
DEEP = 0.1  # share of a body's smallest extent that may be inside a surface at the start


def contact_spheres_name(body: str) -> str:
    """Name of a body's contact points in the engine: its parameters are NAME.scale, NAME.radius."""
    return f"{body}_contact_spheres"


def shape_of(body: dict) -> tuple[str | None, Array]:
    """Kind (box, sphere, soft or None) and bounding edges [m] (3,) of a resolved body."""
    if body["type"] in SOFT:
        return "soft", soft_shape(body).extent()
    if not body.get("shape"):
        return None, np.zeros(3)
    ((kind, values),) = body["shape"].items()
    size = np.array(values["size"]) if kind == "box" else np.full(3, 2 * values["radius"])
    return kind, size


def mass_of(body: dict) -> float:
    """Mass [kg] of a resolved body."""
    if body["type"] in SOFT:
        return build_soft.mass_of_soft(body)
    return body["mass"] if "mass" in body else body["density"] * shapes.volume(*shape_of(body))


def inertia_of(body: dict) -> Array:
    """Inertia xx, yy, zz, xy, xz, yz about the centre of mass, body frame [kg m^2]  (6,)."""
    inertia = body["inertia"]
    if inertia == "uniform":
        return mass_of(body) * shapes.uniform_inertia(*shape_of(body))
    if isinstance(inertia, list):
        return np.array((inertia + [0.0] * 3)[:6])
    return np.array([inertia] * 3 + [0.0] * 3)


def contact_spheres_of(body: dict) -> shapes.ContactSpheres:
    """Contact spheres of a resolved body, at its start if it is soft."""
    ((kind, values),) = body["contact_spheres"].items()
    if body["type"] in SOFT:
        shape = soft_shape(body)
        return shapes.spheres_at(shape.vertices[shape.contact], values["radius"])
    return shapes.contact_spheres(kind, values, shape_of(body)[1])


def engine_options(world: dict, *, record_modes: bool = False) -> Any:
    """_engine.Options of a resolved world; `record_modes` keeps every contact's branch."""
    from diffsim_ros import _engine

    return _engine.Options(
        step=world["step"],
        order=2 if world["scheme"] == "bdf2" else 1,
        record_every=world["record_every"],
        tolerance=world["tolerance"],
        max_iterations=world["max_iterations"],
        max_halvings=world["max_halvings"],
        record_modes=record_modes,
    )


def engine_scene(description: dict, place: object) -> tuple[Any, dict[str, Any]]:
    """Return (_engine.Scene, contact name -> _engine SDF) of a resolved scene.

    What only the engine refuses (ValueError) comes out as an InputError of `place`.
    """
    from diffsim_ros import _engine

    scene, surfaces = _engine.Scene(), {}
    key = "world.gravity"
    try:
        scene.set_gravity(description["world"]["gravity"])
        for name in build_order(description["bodies"]):
            key = f"bodies.{name}"
            _add_body(scene, name, description["bodies"][name])
        for i, contact in enumerate(description["contact"]):
            key = f"contact[{i}]"
            surfaces[contact["name"]] = engine_sdf(contact["against"], description["sdfs"])
            body = description["bodies"][contact["points"]]
            _add_contact(scene, contact, body, surfaces[contact["name"]])
        for i, link in enumerate(description["links"]):
            key = f"links[{i}]"
            build_links.add_link(scene, link, description["bodies"], contact_spheres_name)
        key = "links"
        build_links.fill_chosen(description, scene)
        known = {info.name for info in scene.parameters} if description["values"] else set()
        for name, value in description["values"].items():
            key = f"values.{name}"
            if name not in known:
                accepted = "an entry of this scene's engine"
                raise InputError(place, key, value, accepted, nearest(name, known))
            scene.set_value(name, value)
    except (ValueError, KeyError) as error:
        raise InputError(place, key, str(error), "what the engine can build") from error
    return scene, surfaces


def build_order(bodies: dict) -> list[str]:
    """Names of bodies, those that may carry others before those that may be glued to them."""
    return sorted(bodies, key=lambda name: bodies[name]["type"] in SOFT)


def _add_body(scene: Any, name: str, body: dict) -> None:
    if body["type"] == "kinematic":
        return build_soft.add_kinematic_body(scene, name, body)
    if body["type"] in SOFT:
        return build_soft.add_soft(scene, name, body, contact_spheres_name(name))
    _add_lumped(scene, name, body)


def _add_lumped(scene: Any, name: str, body: dict) -> None:
    """A rigid body or particle, and its contact points."""
    pose, mass = body["pose"], mass_of(body)
    if body["type"] == "particle":
        scene.add_particle(name, mass=mass, position=pose["position"], velocity=body["velocity"])
    else:
        inertia = inertia_of(body)
        kind, size = shape_of(body)
        scene.add_rigid_body(
            name,
            mass=mass,
            inertia=inertia.tolist(),
            position=pose["position"],
            orientation=pose["orientation"],
            velocity=body["velocity"],
            angular_velocity=body["angular_velocity"],
            radius=shapes.torque_radius(kind, size, inertia, mass),
        )
    if "contact_spheres" in body:
        points = contact_spheres_of(body)
        scene.add_points(
            contact_spheres_name(name),
            bodies=[name] * len(points.local),
            local=points.local,
            inset=points.inset,
            radius=points.radius,
            scale=points.scale,
        )


def _add_contact(scene: Any, contact: dict, body: dict, sdf: Any) -> None:
    keys = (*CONTACT_VALUES, "friction", "damping")
    law = {key: contact[key] for key in keys if key in contact}
    weights = contact.get("weights")
    if weights is None and body["type"] in SOFT:
        weights = soft_shape(body).weights
    scene.add_contact(
        contact["name"],
        points=contact_spheres_name(contact["points"]),
        sdf=sdf,
        carrier=contact.get("carrier", ""),
        weights=weights,
        **law,
    )


def check_start(description: dict, surfaces: dict[str, Any], place: object) -> None:
    """Refuse bodies that start deep inside a surface (InputError naming body, depth and remedy).

    Deep: more than 10 % of the body's smallest extent and more than twice the depth m |g| / k_n at
    which the body rests on its own weight.
    """
    gravity = math.hypot(*description["world"]["gravity"])
    for contact in description["contact"]:
        name = contact["points"]
        body = description["bodies"][name]
        points = contact_spheres_of(body)
        at, turn = start_pose(body)
        centres = at + points.centres() @ turn.T
        if "carrier" in contact:
            at, turn = start_pose(description["bodies"][contact["carrier"]])
            centres = (centres - at) @ turn
        gap, *_ = surfaces[contact["name"]].evaluate(centres)
        depth = float(points.radius - np.min(gap))
        resting = 2 * mass_of(body) * gravity / contact["k_n"]
        extent = max(float(np.min(shape_of(body)[1])), 2 * points.radius)
        limit = max(DEEP * extent, resting, 1e-6)
        if depth > limit:
            raise InputError(
                place,
                f"bodies.{name}.pose.position",
                body["pose"]["position"],
                f"a start at most {limit:.3g} m deep in the surface of contact {contact['name']!r}",
                f"its deepest contact sphere is {depth:.4g} m inside; move the body out by so much",
            )
