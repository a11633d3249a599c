"""Regions of a soft body: which of its vertices lie in a box, a sphere, a half-space ..."""

from __future__ import annotations

import math

import numpy as np

from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join

Array = np.ndarray
CENTRE = Field("vector3", "body frame", "m", [0.0, 0.0, 0.0])
REGIONS: dict[str, Section] = {
    "all": {},
    "box": {
        "centre": CENTRE,
        "size": Field("vector3", "edges", "m", REQUIRED, minimum=0, strict=True),
    },
    "sphere": {
        "centre": CENTRE,
        "radius": Field("number", "radius", "m", REQUIRED, minimum=0, strict=True),
    },
    "plane": {
        "normal": Field("vector3", "points away from the region", "1", REQUIRED),
        "offset": Field("number", "the region is normal . x <= offset", "m", 0.0),
    },
    "vertices": {
        "numbers": Field("integers", "vertices of the mesh, from 0", default=REQUIRED, minimum=0)
    },
}


def resolve_region(reader: Reader, value: object, vertices: Array, key: str) -> dict:
    """A region {kind: values} of a soft body's vertices (n, 3); a list is one of vertices."""
    if isinstance(value, (list, tuple)):
        value = {"vertices": {"numbers": list(value)}}
    kind, values = reader.variant(REGIONS, value, key)
    if kind == "plane":
        norm = math.sqrt(sum(x * x for x in values["normal"]))
        if norm == 0:
            raise reader.error(join(key, "plane.normal"), values["normal"], "a vector, not zero")
        values["normal"] = [x / norm for x in values["normal"]]
    count = len(vertices)
    if kind == "vertices" and values["numbers"] and max(values["numbers"]) >= count:
        raise reader.error(
            f"{key}.vertices.numbers", max(values["numbers"]), f"vertices from 0 to {count - 1}"
        )
    return {kind: values}


def region(where: dict, vertices: Array) -> Array:
    """Vertices of a region {kind: values}, body frame (n,)."""
    ((kind, values),) = where.items()
    if kind == "all":
        return np.arange(len(vertices))
    if kind == "vertices":
        return np.unique(values["numbers"])
    if kind == "plane":
        inside = vertices @ np.asarray(values["normal"]) <= values["offset"] + 1e-9
    elif kind == "sphere":
        apart = np.linalg.norm(vertices - values["centre"], axis=1)
        inside = apart <= values["radius"] + 1e-9
    else:
        apart = np.abs(vertices - values["centre"])
        inside = (apart <= np.asarray(values["size"]) / 2 + 1e-9).all(axis=1)
    return np.flatnonzero(inside)
