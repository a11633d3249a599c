"""Resolving `sdfs`: surfaces that bodies touch, by name or inline."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Reader, join, present
from diffsim_ros.scene import schema, schema_sdfs
from diffsim_ros.scene.build_sdf import COMBINED, surface_triangles
from diffsim_ros.scene.mesh_files import suffix_of
from diffsim_ros.scene.placing import absolute, box_size, orientation

VOXELS = 64  # default voxel: the longest extent of the mesh divided by this


def resolve_sdfs(reader: Reader, given: dict) -> dict:
    """Resolve named surfaces; a name may be used before it is defined, but not in a circle."""
    resolved = {}
    for name, value in given.items():
        reader.value(schema.CONTACT["points"], name, f"sdfs.{name}")
        resolved[name] = resolve_surface(reader, given, value, f"sdfs.{name}", (name,))
    return resolved


def resolve_surface(
    reader: Reader, named: dict, value: object, key: str, above: tuple = ()
) -> object:
    """A surface with its defaults: a name of `named` stays one, an inline one is {kind: values}."""
    if isinstance(value, str):
        if value not in named:
            raise reader.error(
                key, value, "a name of `sdfs` or an inline surface", nearest(value, named)
            )
        if value in above:
            raise reader.error(key, value, "surfaces that do not refer to themselves")
        resolve_surface(reader, named, named[value], f"sdfs.{value}", (*above, value))
        return value
    kind, values = reader.variant(schema_sdfs.SDFS, value, key)
    key = join(key, kind)
    if kind in ("transform", "offset"):
        values["of"] = resolve_surface(reader, named, values["of"], join(key, "of"), above)
    if kind == "transform":
        values["orientation"] = orientation(reader, values, key)
        del values["rotation"]
    elif kind in COMBINED:
        if not values["of"]:
            raise reader.error(join(key, "of"), values["of"], "at least one surface")
        parts = enumerate(values["of"])
        values["of"] = [
            resolve_surface(reader, named, v, f"{key}.of[{i}]", above) for i, v in parts
        ]
    elif kind == "plane":
        values["normal"] = unit(reader, values["normal"], join(key, "normal"))
    elif kind == "box":
        values = box_size(reader, values, key)
    elif kind == "half_spaces":
        _half_spaces(reader, values, key)
    elif kind in ("mesh", "vdb"):
        values = _file(reader, kind, values, key)
    elif kind == "torus" and values["tube_radius"] >= values["ring_radius"]:
        raise reader.error(
            join(key, "tube_radius"),
            values["tube_radius"],
            f"a tube thinner than the ring's radius, {values['ring_radius']:g} m",
        )
    return {kind: values}


def unit(reader: Reader, vector: list[float], key: str) -> list[float]:
    """The vector at length 1; a unit vector stays as it is, to the bit."""
    norm = math.sqrt(sum(x * x for x in vector))
    if norm == 0:
        raise reader.error(key, vector, "a vector that is not zero")
    return vector if abs(norm - 1) <= 1e-15 else [x / norm for x in vector]


def _half_spaces(reader: Reader, values: dict, key: str) -> None:
    count = len(values["normals"])
    if len(values["offsets"]) != count:
        raise reader.error(
            join(key, "offsets"), values["offsets"], f"one offset for each of the {count} normals"
        )
    values["normals"] = [
        unit(reader, n, f"{key}.normals[{i}]") for i, n in enumerate(values["normals"])
    ]


def _file(reader: Reader, kind: str, values: dict, key: str) -> dict:
    """Absolute path of a mesh or .vdb; of a mesh also its voxel."""
    values = {**values, "file": absolute(reader, values["file"])}
    path = Path(values["file"])
    if kind == "vdb":
        suffix_of(path, (".vdb",), reader.place, join(key, "file"))
        return values
    vertices, _ = surface_triangles(values, reader.place, join(key, "file"))
    if values["voxel"] is None:
        values["voxel"] = float(np.ptp(vertices, axis=0).max()) / VOXELS
    return present(values)
