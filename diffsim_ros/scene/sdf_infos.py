"""The surroundings of a scene for pictures: planes, boxes, spheres, and other solids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffsim_ros import rotation
from diffsim_ros.scene.build_sdf import COMBINED, engine_sdf

Array = np.ndarray
UNBOUNDED = 2.0  # half the box in which an unbounded solid is drawn [m]


@dataclass(frozen=True)
class SdfInfo:
    """One primitive of the surroundings for pictures.

    kind          plane, box, sphere, or implicit: drawn by the zero set of `sdf`
    position      a point of the plane, or the centre; world or carrier's frame [m]  (3,)
    orientation   x, y, z, w; for a plane its local z axis is the outward normal  (4,)
    size          edges, diameters, box around an implicit one; zero for a plane [m]  (3,)
    carrier       body in whose frame it stands, None: the world
    sdf           _engine SDF about the origin of an implicit one
    """

    name: str
    kind: str
    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]
    size: tuple[float, float, float]
    carrier: str | None = None
    sdf: Any = field(default=None, repr=False, compare=False)


def sdf_infos(description: dict) -> list[SdfInfo]:
    """Parts of every surface that a contact uses, or that is named."""
    named = description["sdfs"]
    carried: dict[str, list[str | None]] = {}
    used = dict(named)
    for contact in description["contact"]:
        against = contact["against"]
        key = against if isinstance(against, str) else contact["name"]
        used[key] = against if not isinstance(against, str) else named[key]
        carried.setdefault(key, []).append(contact.get("carrier"))
    inner = _referred(named.values())
    identity = (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    infos = []
    for name, value in used.items():
        if name not in inner or name in carried:
            for carrier in dict.fromkeys(carried.get(name, [None])):
                infos += _flatten(name, carrier, value, named, *identity)
    return infos


def _referred(surfaces: object) -> set[str]:
    """Names that surfaces are made of (their bare form is not part of the world)."""
    found = set()
    for value in surfaces:
        if isinstance(value, str):
            found.add(value)
            continue
        ((_, values),) = value.items()
        parts = values.get("of", [])
        found |= _referred([parts] if isinstance(parts, (str, dict)) else parts)
    return found


def _flatten(
    name: str, carrier: str | None, value: object, named: dict, position: Array, turn: Array
) -> list[SdfInfo]:
    """Parts of a surface that stands at a pose (position (3,), quaternion (4,))."""
    if isinstance(value, str):
        return _flatten(name, carrier, named[value], named, position, turn)
    ((kind, values),) = value.items()
    if kind == "union" and values["width"] == 0:
        return [
            info
            for part in values["of"]
            for info in _flatten(name, carrier, part, named, position, turn)
        ]
    matrix = rotation.quat_matrix(turn)
    if kind == "transform":
        position = position + matrix @ np.array(values["position"])
        turn = rotation.quat_multiply(turn, values["orientation"])
        return _flatten(name, carrier, values["of"], named, position, turn)
    size, sdf = np.zeros(3), None
    if kind == "plane":
        normal = np.array(values["normal"])
        position = position + matrix @ (values["offset"] * normal)
        turn = rotation.quat_multiply(turn, rotation.quat_between([0.0, 0.0, 1.0], normal))
    elif kind == "box":
        size = np.array(values["size"])
    elif kind == "sphere":
        size = np.full(3, 2 * values["radius"])
    else:
        kind, sdf = "implicit", engine_sdf(value, named)
        low, high = bounds(value, named)
        size = 2 * np.maximum(np.abs(low), np.abs(high))
    place = (tuple(a.tolist()) for a in (position, turn, size))
    return [SdfInfo(name, kind, *place, carrier=carrier, sdf=sdf)]


def bounds(value: object, named: dict) -> tuple[Array, Array]:
    """Corners of a box around a surface, cut at UNBOUNDED [m] (3,), (3,)."""
    if isinstance(value, str):
        return bounds(named[value], named)
    ((kind, values),) = value.items()
    if kind == "transform":
        corners = _corners(*bounds(values["of"], named))
        turned = corners @ rotation.quat_matrix(values["orientation"]).T
        turned = turned + np.array(values["position"])
        return turned.min(axis=0), turned.max(axis=0)
    if kind == "offset":
        low, high = bounds(values["of"], named)
        return low - values["distance"], high + values["distance"]
    if kind in COMBINED:
        parts = [bounds(part, named) for part in values["of"]]
        if kind == "difference":
            return parts[0]
        if kind == "intersection":
            return np.max([p[0] for p in parts], axis=0), np.min([p[1] for p in parts], axis=0)
        grow = values["width"] + (0.1 if kind == "complement" else 0.0)  # walls have a thickness
        low, high = np.min([p[0] for p in parts], axis=0), np.max([p[1] for p in parts], axis=0)
        return low - grow, high + grow
    half = _half_extent(kind, values)
    if half is not None:
        return -half, half
    sdf = engine_sdf(value, named)
    return np.array(sdf.low), np.array(sdf.high)


def _half_extent(kind: str, values: dict) -> Array | None:
    """Half the box about the origin around a primitive; None for level sets."""
    match kind:
        case "box":
            return np.array(values["size"]) / 2
        case "sphere":
            return np.full(3, values["radius"])
        case "capsule":
            radius = values["radius"]
            return np.array([radius, radius, values["length"] / 2 + radius])
        case "cylinder":
            return np.array([values["radius"], values["radius"], values["height"] / 2])
        case "torus":
            outer = values["ring_radius"] + values["tube_radius"]
            return np.array([outer, outer, values["tube_radius"]])
        case "plane" | "half_spaces":
            return np.full(3, UNBOUNDED)
    return None


def _corners(low: Array, high: Array) -> Array:
    bits = (np.arange(8)[:, None] >> np.arange(3)) & 1
    return np.where(bits, high, low)
