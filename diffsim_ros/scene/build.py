"""From the parts of a scene to the engine's scene."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from diffsim_ros.errors import EngineInputError, InputError, nearest
from diffsim_ros.parameter import with_followers
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene.joint_start import check_joints, check_reduced
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.placement import vertices_at
from diffsim_ros.scene.sdfs import surface_of
from diffsim_ros.scene.start import apply_start

DEEP = 0.1  # share of a body's smallest extent that may be inside a surface at the start


def engine_options(
    world: Mapping[str, Any], *, record_modes: bool = False, record_end: bool = False
) -> Any:
    """_engine.Options of a resolved world.

    record_modes  keep every contact's branch
    record_end    record the last state too where `record_every` does not divide the steps
    """
    from diffsim_ros import _engine

    return _engine.Options(
        step=world["step"],
        order=1 if world["scheme"] == "bdf1" else 2,
        spectral_radius=world["spectral_radius"],
        record_every=world["record_every"],
        tolerance=world["tolerance"],
        max_iterations=world["max_iterations"],
        max_halvings=world["max_halvings"],
        record_modes=record_modes,
        record_end=record_end,
        stepper=world["stepper"],
        friction_cone=world["friction_cone"],
    )


def engine_scene(parts: Parts) -> tuple[Any, dict[str, Any]]:
    """Return (_engine.Scene, contact name -> _engine SDF) of the parts of a scene.

    What only the engine refuses becomes an InputError with the scene's place. Values
    that the engine chooses by masses and radii are written into the parts.
    """
    from diffsim_ros import _engine

    scene, surfaces = _engine.Scene(), {}
    built: dict[int, Any] = {}  # a surface that several contacts share is built once
    key = "world.gravity"
    try:
        scene.set_gravity(parts.world["gravity"])
        # those that may carry others before those that may be glued to them
        for name in sorted(parts.bodies, key=lambda name: parts.bodies[name].SOFT):
            key = f"bodies.{name}"
            parts.bodies[name].add(scene, parts)
        for i, contact in enumerate(parts.contacts):
            key = f"contact[{i}]"
            surface = surface_of(contact.against, parts.sdfs)
            if id(surface) not in built:
                built[id(surface)] = surface.engine(parts.sdfs)
            sdf = built[id(surface)]
            surfaces[contact.name] = sdf
            contact.add(scene, parts, sdf)
        for i, link in enumerate(parts.links):
            key = f"links[{i}]"
            link.add(scene, parts)
        key = "links"
        parts.write_chosen(scene)
        key = "start"
        apply_start(parts, scene)
        scene.follows = follows = {}
        for body in parts.bodies.values():
            follows.update(body.follows())
        known = {info.name for info in scene.parameters} if parts.values else set()
        for name, value in with_followers(follows, parts.values).items():
            key = f"values.{name}"
            if name not in known:
                accepted = "a parameter of this scene's engine"
                raise parts.reader.error(key, value, accepted, nearest(name, known))
            scene.set_value(name, value)
    except (ValueError, KeyError) as error:
        if isinstance(error, EngineInputError):  # names its element, not the place in the file
            raise type(error)(f"{parts.reader.place}: {key}: {error}") from None
        if isinstance(error, InputError):
            raise
        raise parts.reader.error(key, str(error), "what the engine can build") from error
    return scene, surfaces


def check_start(parts: Parts, surfaces: dict[str, Any], engine: Any) -> None:
    """Refuse bodies that start deep inside a surface (InputError naming body, depth and remedy),
    where `pose`, `start` and `values` have them, and joints that start open.

    Deep: more than 10 % of the body's smallest extent and more than twice the depth m |g| / k_n at
    which the body rests on its own weight.
    """
    gravity = math.hypot(*parts.world["gravity"])
    position, orientation, _ = engine.start_pose(engine.values, [])

    def pose(name: str) -> tuple[np.ndarray, np.ndarray]:
        node = engine.nodes_of(name)[0]
        return position[node], quat_matrix(orientation[node])

    names = [info.name for info in engine.parameters]
    check_joints(parts, dict(zip(names, engine.values.tolist(), strict=True)), pose)
    check_reduced(parts, engine.start_moved(engine.values))
    for contact in parts.contacts:
        body = parts.bodies[contact.points]
        if not body.MOVES:
            continue  # what moves has points of its own, or the start is its carrier's
        points = contact.spheres_at_start(parts)
        if body.SOFT:
            placed = vertices_at(parts, engine, position[None], orientation[None], body.name)
            centres = placed[0][body.mesh.contact]
        else:
            at, turn = pose(body.name)
            centres = at + points.centres() @ turn.T
        if contact.carrier is not None:
            at, turn = pose(contact.carrier)
            centres = (centres - at) @ turn
        gap, *_ = surfaces[contact.name].evaluate(centres)
        depth = float(points.radius - np.min(gap))
        mover = body if body.MOVES else parts.bodies[contact.carrier]
        resting = 2 * mover.total_mass() * gravity / contact.k_n
        extent = max(float(np.min(body.outline()[1])), 2 * points.radius)
        if contact.spheres is not None:
            extent = max(extent, float(np.ptp(points.local, axis=0).max()))
        limit = max(DEEP * extent, resting, 1e-6)
        if depth > limit:
            moved = isinstance(parts.start, str) or mover.name in (parts.start or {})
            key, value = f"bodies.{mover.name}.pose.position", mover.pose["position"]
            if moved:
                key, value = "start", f"{mover.name} in {parts.start}"
            raise parts.reader.error(
                key,
                value,
                f"a start at most {limit:.3g} m deep in the surface of contact {contact.name!r}",
                f"its deepest contact sphere is {depth:.4g} m inside; move the body out by so much"
                + (", or `lift: true` its robot" if contact.spheres is not None else ""),
            )
