"""Resolving `bodies`: shape, pose, mass, inertia and contact spheres with their defaults."""

from __future__ import annotations

import numpy as np

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Reader, join, present
from diffsim_ros.scene import schema, schema_bodies
from diffsim_ros.scene.placing import box_size, resolve_pose
from diffsim_ros.scene.soft_bodies import resolve_kinematic, resolve_soft
from diffsim_ros.scene.soft_shapes import SOFT

CORNER_SHARE = 0.05  # default corner radius as a share of the smallest half edge


def _material(reader: Reader, scene: dict, name: str | None, key: str) -> dict:
    if name is None:
        return {}
    if name not in scene["materials"]:
        accepted = "a name of `materials`"
        raise reader.error(key, name, accepted, nearest(name, scene["materials"]))
    return scene["materials"][name]


def resolve_body(reader: Reader, scene: dict, name: str, value: object) -> dict:
    """A body with every default filled in, by its type; raises InputError."""
    key = f"bodies.{name}"
    reader.value(schema.CONTACT["points"], name, key)
    kind = reader.mapping(value, key).get("type") or "rigid"
    kind = reader.value(schema_bodies.TYPE, kind, join(key, "type"))
    body = reader.section(schema_bodies.BODIES[kind], value, key)
    if kind == "kinematic":
        body["shape"] = _shape(reader, body["shape"], join(key, "shape"))
        return resolve_kinematic(reader, scene, body, key)
    material = _material(reader, scene, body["material"], join(key, "material"))
    body["pose"] = resolve_pose(reader, body["pose"], join(key, "pose"))
    if kind in SOFT:
        return resolve_soft(reader, scene, body, material, key)
    body["shape"] = _shape(reader, body["shape"], join(key, "shape"))
    if body["type"] == "particle":
        _check_particle(reader, body, value, key)
    _mass(reader, body, material, key)
    _inertia(reader, body, key)
    _contact_spheres(reader, body, join(key, "contact_spheres"))
    return present(body)


def _shape(reader: Reader, value: object, key: str) -> dict | None:
    if value is None:
        return None
    kind, shape = reader.variant(schema_bodies.SHAPES, value, key)
    return {kind: box_size(reader, shape, join(key, kind)) if kind == "box" else shape}


def _check_particle(reader: Reader, body: dict, given: object, key: str) -> None:
    """A particle has no orientation: refuse what would be silently ignored, then drop it."""
    given = dict(given or {})
    pose = dict(given.get("pose") or {})
    for name in ("orientation", "rotation"):
        if pose.get(name) is not None:
            raise reader.error(
                f"{key}.pose.{name}", pose[name], "no orientation for a particle", "use type: rigid"
            )
    for name in ("inertia", "angular_velocity"):
        if given.get(name) is not None:
            raise reader.error(
                join(key, name), given[name], f"no {name} for a particle", "use type: rigid"
            )
        body[name] = None
    if body["shape"] and "box" in body["shape"]:
        raise reader.error(join(key, "shape"), body["shape"], "a sphere for a particle")
    body["pose"] = {"position": body["pose"]["position"]}


def _mass(reader: Reader, body: dict, material: dict, key: str) -> None:
    """Exactly one of mass and density remains; a density needs a shape."""
    if body["mass"] is not None and body["density"] is not None:
        raise reader.error(
            join(key, "density"), body["density"], "either mass or density", "remove one"
        )
    if body["mass"] is None and body["density"] is None:
        body["density"] = material.get("density")
        if body["density"] is None:
            raise reader.error(
                join(key, "mass"),
                None,
                schema_bodies.BODY["mass"].rule(),
                "give mass, density, or a material with a density",
            )
    if body["mass"] is None and body["shape"] is None:
        raise reader.error(join(key, "shape"), None, "a shape, because a density is given")


def _inertia(reader: Reader, body: dict, key: str) -> None:
    key = join(key, "inertia")
    if body["type"] == "particle":
        return
    if body["inertia"] is None:
        body["inertia"] = "uniform"
    if body["inertia"] == "uniform":
        if body["shape"] is None:
            raise reader.error(key, None, schema_bodies.BODY["inertia"].rule(), "or give a shape")
        return
    if isinstance(body["inertia"], list):
        xx, yy, zz, xy, xz, yz = (body["inertia"] + [0.0] * 3)[:6]
        moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if moments[0] <= 0 or moments[2] > (moments[0] + moments[1]) * (1 + 1e-9):
            raise reader.error(
                key,
                body["inertia"],
                "positive principal moments, none above the sum of the others",
                "principal moments are " + ", ".join(f"{m:.4g}" for m in moments),
            )


def _contact_spheres(reader: Reader, body: dict, key: str) -> None:
    """Evaluate the default contact spheres of the shape and their default radius."""
    shape = next(iter(body["shape"].items())) if body["shape"] else (None, None)
    default = {"box": "corners", "sphere": "sphere", None: "point"}[shape[0]]
    if body["contact_spheres"] is None and default == "point" and body["type"] == "rigid":
        return
    kind, values = reader.variant(
        schema_bodies.CONTACT_SPHERES, body["contact_spheres"] or default, key
    )
    key = join(key, kind)
    if kind in ("corners", "face_grid") and shape[0] != "box":
        raise reader.error(key, shape[0] or "no shape", "a box as shape")
    if kind == "sphere" and values["radius"] is None:
        if shape[0] != "sphere":
            raise reader.error(
                join(key, "radius"), None, schema_bodies.CONTACT_SPHERES[kind]["radius"].rule()
            )
        values["radius"] = shape[1]["radius"]
    if kind == "corners" and values["radius"] is None:
        values["radius"] = CORNER_SHARE * min(shape[1]["size"]) / 2
    if kind in ("corners", "face_grid"):
        limit = values["scale"] * min(shape[1]["size"]) / 2
        if values["radius"] > limit:
            raise reader.error(
                join(key, "radius"),
                values["radius"],
                f"at most the smallest half edge, {limit:g} m",
            )
    body["contact_spheres"] = {kind: values}
