"""Resolving deformable bodies and kinematic bodies: material, mesh, gluing and keys with their
defaults."""

from __future__ import annotations

import math

import numpy as np

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Reader, join, present
from diffsim_ros.rotation import quat_log
from diffsim_ros.scene import schema_bodies as schema
from diffsim_ros.scene.placing import absolute, box_size, resolve_pose
from diffsim_ros.scene.soft_shapes import SoftShape, region, soft_shape

SOLID_VALUES = ("density", "young", "poisson", "viscosity")
LONGEST_TURN = 6.2  # rotation vectors of keys must be shorter [rad]


def resolve_soft(reader: Reader, scene: dict, body: dict, material: dict, key: str) -> dict:
    """Fill in the defaults of a solid, cloth or string whose keys are checked (bodies.py)."""
    {"solid": _solid, "cloth": _cloth, "string": _string}[body["type"]](reader, body, material, key)
    kind, values = reader.variant(
        schema.SOFT_CONTACT_SPHERES,
        body["contact_spheres"] or "surface",
        join(key, "contact_spheres"),
    )
    body["contact_spheres"] = {kind: values}
    shape = soft_shape(body, reader.place, join(key, "shape"))
    _glue(reader, scene, body, shape, key)
    return present(body)


def _solid(reader: Reader, body: dict, material: dict, key: str) -> None:
    for name in SOLID_VALUES:
        body[name] = material.get(name) if body[name] is None else body[name]
        if body[name] is None and name == "viscosity":
            body[name] = 0.0
        if body[name] is None:
            raise reader.error(
                join(key, name),
                None,
                schema.SOLID[name].rule(),
                f"give {name} or a material with it",
            )
    if not body["poisson"] < 0.5:
        raise reader.error(
            join(key, "poisson"),
            body["poisson"],
            "a number from 0 to below 0.5",
            "0.499 with element: p1_fbar or p2 is nearly incompressible",
        )
    kind, shape = reader.variant(schema.SOLID_SHAPES, body["shape"], join(key, "shape"))
    place = f"{key}.shape.{kind}"
    if kind == "mesh":
        shape = _mesh_file(reader, shape)
        body["shape"] = {kind: shape}
        shape["digest"] = soft_shape(body, reader.place, join(key, "shape")).digest
        return
    if kind == "cylinder":
        body["shape"] = {kind: shape}
        return
    if kind == "ball":
        _resolution(reader, shape, "layers", place)
        if shape["layers"] is None:
            shape["layers"] = max(1, round(shape["radius"] / shape["edge"]))
    else:
        shape |= box_size(reader, shape, place)
        _resolution(reader, shape, "cells", place)
        if shape["cells"] is None:
            shape["cells"] = [max(1, round(length / shape["edge"])) for length in shape["size"]]
        _cells(reader, shape, 3, place)
    body["shape"] = {kind: {k: v for k, v in shape.items() if k not in ("edge", "half_extents")}}


def _resolution(reader: Reader, shape: dict, name: str, key: str) -> None:
    if (shape[name] is None) == (shape["edge"] is None):
        raise reader.error(key, present(shape), f"either {name} or edge [m]", "give exactly one")


def _cells(reader: Reader, shape: dict, count: int, key: str) -> None:
    if len(shape["cells"]) != count:
        raise reader.error(
            join(key, "cells"), shape["cells"], f"{count} whole numbers >= 1, one per edge"
        )


def _mesh_file(reader: Reader, shape: dict) -> dict:
    """The file's path made absolute, from the folder of the scene."""
    return present({**shape, "file": absolute(reader, shape["file"])})


def _cloth(reader: Reader, body: dict, material: dict, key: str) -> None:
    kind, shape = reader.variant(schema.CLOTH_SHAPES, body["shape"], join(key, "shape"))
    if kind == "rectangle":
        _cells(reader, shape, 2, f"{key}.shape.{kind}")
    else:
        shape = _mesh_file(reader, shape)
    body["shape"] = {kind: shape}
    if (body["mass"] is None) == (body["mass_per_area"] is None):
        raise reader.error(
            join(key, "mass"),
            body["mass"],
            "either mass [kg] or mass_per_area [kg/m^2]",
            "give exactly one",
        )
    _springs(reader, body, ("stretch", "shear", "bend"), key)
    if kind == "mesh" and body["shear"] is not None:
        raise reader.error(
            join(key, "shear"),
            body["shear"],
            "no shear springs on a mesh of triangles",
            "its edges resist shear: use stretch",
        )


def _string(reader: Reader, body: dict, material: dict, key: str) -> None:
    kind, shape = reader.variant(schema.STRING_SHAPES, body["shape"], join(key, "shape"))
    body["shape"] = {kind: shape}
    _springs(reader, body, ("stretch", "bend"), key)


def _springs(reader: Reader, body: dict, kinds: tuple[str, ...], key: str) -> None:
    for kind in kinds:
        if body[kind] is not None:
            body[kind] = reader.section(schema.SPRING_VALUES, body[kind], join(key, kind))


def _glue(reader: Reader, scene: dict, body: dict, shape: SoftShape, key: str) -> None:
    """Read gluing and pinning; every vertex has one carrier at most, and one vertex is free."""
    taken: dict[int, str] = {}
    glued = []
    for i, value in enumerate(body["glue"]):
        place = f"{key}.glue[{i}]"
        entry = reader.section(schema.GLUED, value, place)
        _check_carrier(reader, scene, entry["to"], join(place, "to"))
        where = resolve_region(reader, entry["where"], shape, join(place, "where"))
        _take(reader, taken, where, shape, entry["to"], join(place, "where"))
        glued.append({"to": entry["to"], "where": where})
    pinned = []
    for i, value in enumerate(body["pinned"]):
        place = f"{key}.pinned[{i}]"
        pinned.append(resolve_region(reader, value, shape, place))
        _take(reader, taken, pinned[-1], shape, "pinned", place)
    if len(taken) == len(shape.vertices):
        raise reader.error(
            join(key, "glue"),
            f"all {len(taken)} vertices",
            "at least one free vertex",
            "a body glued all over is a rigid one",
        )
    body["glue"], body["pinned"] = glued, pinned


def _check_carrier(reader: Reader, scene: dict, name: str, key: str) -> None:
    """The carrier is a rigid body or kinematic body; it may stand further down in the file."""
    bodies = scene["bodies"]
    if name not in bodies:
        raise reader.error(key, name, "a name of `bodies`", nearest(name, bodies))
    kind = reader.mapping(bodies[name], f"bodies.{name}").get("type") or "rigid"
    if kind not in ("rigid", "kinematic"):
        raise reader.error(key, f"{name} of type {kind}", "a rigid body or kinematic body")


def resolve_region(reader: Reader, value: object, shape: SoftShape, key: str) -> dict:
    """A region {kind: values} of a soft body's vertices; a list is one of vertices."""
    if isinstance(value, (list, tuple)):
        value = {"vertices": {"numbers": list(value)}}
    kind, values = reader.variant(schema.REGIONS, value, key)
    if kind == "plane":
        norm = math.sqrt(sum(x * x for x in values["normal"]))
        if norm == 0:
            raise reader.error(join(key, "plane.normal"), values["normal"], "a vector, not zero")
        values["normal"] = [x / norm for x in values["normal"]]
    count = len(shape.vertices)
    if kind == "vertices" and values["numbers"] and max(values["numbers"]) >= count:
        raise reader.error(
            f"{key}.vertices.numbers", max(values["numbers"]), f"vertices from 0 to {count - 1}"
        )
    return {kind: values}


def _take(
    reader: Reader, taken: dict, where: dict, shape: SoftShape, carrier: str, key: str
) -> None:
    chosen = region(where, shape.vertices).tolist()
    if not chosen:
        low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
        extent = " to ".join(str([float(f"{x:.4g}") for x in corner]) for corner in (low, high))
        raise reader.error(
            key,
            where,
            "a region with at least one vertex of the body",
            f"its vertices lie within {extent}, body frame",
        )
    for vertex in chosen:
        if vertex in taken:
            raise reader.error(
                key,
                f"vertex {vertex}",
                "vertices that nothing else holds",
                f"{taken[vertex]} holds it already",
            )
        taken[vertex] = carrier


def resolve_kinematic(reader: Reader, scene: dict, body: dict, key: str) -> dict:
    """A kinematic body's keys from `pose`, `keys` or `waypoints`."""
    given = [name for name in ("pose", "keys", "waypoints") if body[name] is not None]
    if len(given) != 1:
        raise reader.error(key, given, "one of pose, keys and waypoints", "give exactly one")
    if given[0] == "pose":
        pose = resolve_pose(reader, body["pose"], join(key, "pose"))
        turn = quat_log(pose["orientation"]).tolist()
        keys = {"interval": 1.0, "positions": [list(pose["position"])], "rotations": [turn]}
    elif given[0] == "keys":
        keys = reader.section(schema.KEYS, body["keys"], join(key, "keys"))
        if keys["rotations"] is None:
            keys["rotations"] = [[0.0] * 3 for _ in keys["positions"]]
        count = keys.pop("count")
        if count is not None:
            if len(keys["positions"]) > 1 or len(keys["rotations"]) > 1:
                rule = "one position, and at most one rotation, that all keys have"
                raise reader.error(f"{key}.keys.count", count, rule)
            for name in ("positions", "rotations"):
                keys[name] = [list(keys[name][0]) for _ in range(count)]
        if len(keys["rotations"]) != len(keys["positions"]):
            raise reader.error(
                f"{key}.keys.rotations",
                len(keys["rotations"]),
                f"one rotation for each of the {len(keys['positions'])} positions",
            )
    else:
        keys = _waypoints(reader, scene, body["waypoints"], join(key, "waypoints"))
    for k, vector in enumerate(keys["rotations"]):
        if math.hypot(*vector) > LONGEST_TURN:
            raise reader.error(
                f"{key}.{given[0]}: rotation {k}",
                vector,
                f"a rotation vector shorter than {LONGEST_TURN} rad",
                "use the equivalent vector of length <= pi",
            )
    return present({**body, "keys": keys, "pose": None, "waypoints": None})


def _waypoints(reader: Reader, scene: dict, given: list, key: str) -> dict:
    """Keys at the greatest interval that meets all times; straight in between, as the engine is."""
    points = [reader.section(schema.WAYPOINT, v, f"{key}[{i}]") for i, v in enumerate(given)]
    if not points:
        raise reader.error(key, given, "at least one waypoint")
    step, ticks, turns = scene["world"]["step"], [], []
    for i, point in enumerate(points):
        tick = round(point["time"] / step)
        if abs(tick * step - point["time"]) > 1e-6 * step or (i == 0) != (tick == 0):
            rule = "0 s" if i == 0 else f"a whole number of steps of {step:g} s, above 0"
            raise reader.error(f"{key}[{i}].time", point["time"], rule)
        if i and tick <= ticks[-1]:
            raise reader.error(f"{key}[{i}].time", point["time"], "times that increase")
        ticks.append(tick)
        turns.append(_turn(reader, point, turns[-1] if turns else np.zeros(3), f"{key}[{i}]"))
    stride = math.gcd(*ticks) or 1
    at = np.arange(0, ticks[-1] + 1, stride)
    places = np.array([point["position"] for point in points])
    keys = {"interval": stride * step}
    for name, values in (("positions", places), ("rotations", np.array(turns))):
        keys[name] = np.stack([np.interp(at, ticks, values[:, a]) for a in range(3)], 1).tolist()
    return keys


def _turn(reader: Reader, point: dict, before: np.ndarray, key: str) -> np.ndarray:
    """Rotation vector of a waypoint; of an orientation the one nearest to the waypoint before."""
    if point["orientation"] is None:
        return np.array(point["rotation"] or [0.0] * 3)
    if point["rotation"] is not None:
        raise reader.error(
            join(key, "rotation"), point["rotation"], "either rotation or orientation", "remove one"
        )
    vector = quat_log(point["orientation"])
    angle = np.linalg.norm(vector)
    axis = vector / angle if angle > 0 else np.zeros(3)
    around = [vector + 2 * math.pi * k * axis for k in (-1, 0, 1)]
    return min(around, key=lambda v: float(np.linalg.norm(v - before)))
