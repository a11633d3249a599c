"""Kinematic bodies, solids, cloth and strings of a resolved scene in the engine's scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffsim_ros.scene.soft_shapes import SoftShape, region, soft_shape

Array = np.ndarray
SOLID_VALUES = (
    "density", "young", "poisson", "viscosity", "model", "viscosity_model", "element",
)  # fmt: skip
SPRINGS = ("stretch", "shear", "bend")


def springs_name(body: str, kind: str) -> str:
    """Name of a cloth's or string's springs in the engine: parameters NAME.stiffness, .damping."""
    return f"{body}_{kind}"


def glued_vertices(body: dict, shape: SoftShape) -> list[tuple[str, list[int]]]:
    """(carrier, its vertices) of every entry of a body's `glue`; "", the world, of `pinned`."""
    held = [(entry["to"], entry["where"]) for entry in body["glue"]]
    held += [("", where) for where in body["pinned"]]
    return [(carrier, region(where, shape.vertices).tolist()) for carrier, where in held]


def add_kinematic_body(scene: Any, name: str, body: dict) -> None:
    keys = body["keys"]
    scene.add_kinematic_body(
        name, interval=keys["interval"], position=keys["positions"], rotation=keys["rotations"]
    )


def add_soft(scene: Any, name: str, body: dict, contact_spheres: str) -> None:
    """A solid, or masses and springs, and its contact points as the set `contact_spheres`."""
    shape = soft_shape(body)
    start = {
        "position": body["pose"]["position"],
        "orientation": body["pose"]["orientation"],
        "velocity": body["velocity"],
        "angular_velocity": body["angular_velocity"],
    }
    start["glued"] = glued_vertices(body, shape)
    if body["type"] == "solid":
        values = {key: body[key] for key in SOLID_VALUES} | {"mass": body["mass_matrix"]}
        scene.add_solid(name, vertices=shape.vertices, tets=shape.tets, **values, **start)
    else:
        mass, shares = mass_of_soft(body), shape.web.shares
        scene.add_mass_points(name, vertices=shape.vertices, mass=mass, shares=shares, **start)
        for kind in SPRINGS:
            if kind in body:
                _add_springs(scene, name, kind, body, shape)
    if "surface" in body["contact_spheres"]:
        radius = body["contact_spheres"]["surface"]["radius"]
        scene.add_subset(contact_spheres, points=name, index=shape.contact.tolist(), radius=radius)


def _add_springs(scene: Any, name: str, kind: str, body: dict, shape: SoftShape) -> None:
    pairs = shape.web.pairs[kind]
    if not len(pairs):
        return
    scene.add_springs(
        springs_name(name, kind),
        points_a=name,
        index_a=pairs[:, 0].tolist(),
        points_b=name,
        index_b=pairs[:, 1].tolist(),
        stiffness=body[kind]["stiffness"],
        damping=body[kind]["damping"],
        rest_length=shape.web.lengths(kind) * body["rest_scale"],
    )


def mass_of_soft(body: dict) -> float:
    """Mass [kg] of a resolved solid, cloth or string, glued vertices included."""
    if "mass" in body:
        return body["mass"]
    shape = soft_shape(body)
    if body["type"] == "solid":
        return body["density"] * shape.volume
    return body["mass_per_area"] * shape.area
