"""Scenes whose solids have finer meshes, or another element: to see what numbers owe to these.

Edges are about half as long.  A ball or cylinder keeps its volume, which the flat faces of a coarse
mesh cut off: its radius changes with them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from diffsim_ros import meshes
from diffsim_ros.scene.tets import cylinder

OTHER = {"p1": "p2", "p1_fbar": "p2_p0", "p2": "p1", "p2_p0": "p1_fbar"}
"""Element -> the one of the other order."""
LINEAR = ("p1", "p1_fbar")
RESOLUTION = {"ball": ("layers",), "box": ("cells",), "cylinder": ("rings", "layers"),
              "mesh": ("refine",)}  # fmt: skip
"""Keys of shapes that say how fine they are."""


def solids(description: Mapping) -> list[str]:
    """Names of the solids of a resolved scene."""
    return [name for name, body in description["bodies"].items() if body["type"] == "solid"]


def numbered(description: Mapping) -> str:
    """Where a resolved scene names vertices of a solid by number, which change with it; ""."""
    own = set(solids(description))
    for name in own:
        body = description["bodies"][name]
        held = [*body.get("pinned", ()), *(one["where"] for one in body.get("glue", ()))]
        if any("vertices" in where for where in held):
            return f"bodies.{name}"
    for link in description.get("links") or ():
        for end in _mappings(link):
            if end.get("body") in own and end.get("vertex") is not None:
                return f"link {link.get('name')}"
            if "numbers" in end:
                return f"link {link.get('name')}"
    return ""


def finer(description: Mapping, times: float = 2) -> dict[str, Any]:
    """The resolved scene with the edges of all its solids `times` shorter; of meshes from files by
    the next power of two."""
    found = copy.deepcopy(dict(description))
    for name in solids(found):
        body = found["bodies"][name]
        ((kind, shape),) = body["shape"].items()
        body["shape"] = {kind: finer_shape(kind, shape, times)}
    return found


def finer_shape(kind: str, shape: Mapping, times: float) -> dict[str, Any]:
    """Values of a solid's shape with edges `times` shorter."""
    new = dict(shape)
    if kind == "box":
        return new | {"cells": [math.ceil(times * n) for n in shape["cells"]]}
    if kind == "mesh":
        new.pop("digest", None)
        return new | {"refine": int(shape.get("refine") or 0) + math.ceil(math.log2(times))}
    for key in RESOLUTION[kind]:
        new[key] = math.ceil(times * shape[key])
    if kind == "ball":
        before, after = flat_faces(shape["layers"]), flat_faces(new["layers"])
    else:
        before, after = flat_sides(shape["rings"]), flat_sides(new["rings"])
    return new | {"radius": shape["radius"] * after / before}


def with_elements(description: Mapping, elements: Mapping[str, str]) -> dict[str, Any]:
    """The resolved scene with these elements, by body."""
    found = copy.deepcopy(dict(description))
    for name, element in elements.items():
        found["bodies"][name]["element"] = element
    return found


@cache
def flat_faces(layers: int) -> float:
    """Radius of a meshed ball over that of the round one with its volume."""
    vertices, tets = meshes.ball(layers, 1.0)
    edges = vertices[tets[:, 1:]] - vertices[tets[:, :1]]
    return float((4.0 * np.pi / 3.0 / (np.linalg.det(edges).sum() / 6.0)) ** (1.0 / 3.0))


@cache
def flat_sides(rings: int) -> float:
    """Radius of a meshed cylinder over that of the round one with its volume."""
    return float(np.sqrt(np.pi / cylinder(1.0, 1.0, rings, 1).volumes().sum()))


def _mappings(value: object) -> Iterator[Mapping]:
    """All mappings in plain data."""
    if isinstance(value, Mapping):
        yield value
        for one in value.values():
            yield from _mappings(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _mappings(one)
