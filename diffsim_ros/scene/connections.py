"""Resolving `sdfs`, `contact` and `links`: what bodies touch and what they are tied to."""

from __future__ import annotations

import math

import numpy as np

from diffsim_ros.errors import nearest
from diffsim_ros.scene import schema
from diffsim_ros.scene.bodies import box_size, orientation
from diffsim_ros.scene.fields import Reader, join, present
from diffsim_ros.scene.rotation import matrix_from_quaternion

DAMPING_VALUES = {"continuous": {"c_n": 0.0}, "ramped": {"k_d": 0.0, "d_0": 5e-4},
                  "thesis": {"k_d": 0.0}}  # fmt: skip
"""Values that each damping law takes, and what they are when given nowhere."""


def resolve_sdfs(reader: Reader, given: dict) -> dict:
    """Resolve named surfaces; a name may be used before it is defined, but not in a circle."""
    resolved = {}
    for name, value in given.items():
        reader.value(schema.CONTACT["points"], name, f"sdfs.{name}")
        resolved[name] = _sdf(reader, given, value, f"sdfs.{name}", (name,))
    return resolved


def _sdf(reader: Reader, named: dict, value: object, key: str, above: tuple = ()) -> object:
    if isinstance(value, str):
        if value not in named:
            raise reader.error(
                key, value, "a name of `sdfs` or an inline surface", nearest(value, named)
            )
        if value in above:
            raise reader.error(key, value, "surfaces that do not refer to themselves")
        _sdf(reader, named, named[value], f"sdfs.{value}", (*above, value))
        return value
    kind, values = reader.variant(schema.SDFS, value, key)
    key = join(key, kind)
    if kind == "plane":
        norm = math.sqrt(sum(x * x for x in values["normal"]))
        if norm == 0:
            raise reader.error(join(key, "normal"), values["normal"], "a vector that is not zero")
        if abs(norm - 1) > 1e-15:
            values["normal"] = [x / norm for x in values["normal"]]
    elif kind == "box":
        values = box_size(reader, values, key)
    elif kind == "transform":
        values["of"] = _sdf(reader, named, values["of"], join(key, "of"), above)
        values["orientation"] = orientation(reader, values, key)
        del values["rotation"]
    elif kind == "union":
        if not values["of"]:
            raise reader.error(join(key, "of"), values["of"], "at least one surface")
        parts = enumerate(values["of"])
        values["of"] = [_sdf(reader, named, v, f"{key}.of[{i}]", above) for i, v in parts]
    return {kind: values}


def resolve_contact(reader: Reader, scene: dict, value: object, key: str) -> dict:
    contact = reader.section(schema.CONTACT, value, key)
    body = _body_named(reader, scene, contact["points"], join(key, "points"))
    if "proxies" not in body:
        raise reader.error(
            join(key, "points"),
            contact["points"],
            "a body with proxies",
            "give it a shape or proxies",
        )
    contact["against"] = _sdf(reader, scene["sdfs"], contact["against"], join(key, "against"))
    if contact["name"] is None:
        surface = contact["against"] if isinstance(contact["against"], str) else "surface"
        contact["name"] = f"{contact['points']}_{surface}"
    _contact_values(reader, scene, contact, body, key)
    _check_weights(reader, contact, body, key)
    return present(contact)


def _contact_values(reader: Reader, scene: dict, contact: dict, body: dict, key: str) -> None:
    material = scene["materials"].get(body.get("material"), {})
    takes = DAMPING_VALUES[contact["damping"]]
    unused = {"c_n", "k_d", "d_0"} - set(takes)
    for other in sorted(unused):
        if contact[other] is not None:
            raise reader.error(
                join(key, other),
                contact[other],
                f"{' and '.join(takes)} with damping: {contact['damping']}",
                "choose another damping, or remove the key",
            )
    for name in schema.CONTACT_VALUES:
        if contact[name] is None and name not in unused:
            contact[name] = material.get(name)
    if (contact["c_s"] is None) != (contact["f_0"] is None):
        given, lacking = ("c_s", "f_0") if contact["f_0"] is None else ("f_0", "c_s")
        raise reader.error(
            join(key, lacking), None, schema.CONTACT[lacking].rule(), f"{given} needs it; give both"
        )
    if contact["k_n"] is None:
        raise reader.error(
            join(key, "k_n"),
            None,
            schema.CONTACT["k_n"].rule(),
            "give k_n here or in the body's material",
        )
    if contact["k_t"] is None:
        contact["k_t"] = contact["k_n"] * scene["world"]["step"]
    contact["c_f"] = contact["c_f"] or 0.0
    for name, default in takes.items():
        contact[name] = default if contact[name] is None else contact[name]


def _check_weights(reader: Reader, contact: dict, body: dict, key: str) -> None:
    weights = contact["weights"]
    if weights is None:
        return
    ((kind, values),) = body["proxies"].items()
    if kind == "face_grid":
        count = values["per_edge"] ** 3 - (values["per_edge"] - 2) ** 3
    else:
        count = {"corners": 8, "points": len(values.get("positions", ()))}.get(kind, 1)
    key = join(key, "weights")
    if len(weights) != count:
        raise reader.error(key, len(weights), f"one weight for each of the {count} proxies")
    if abs(sum(weights) - 1) > 1e-9:
        raise reader.error(
            key, weights, "weights whose sum is 1", f"their sum is {sum(weights):.12g}"
        )


def _body_named(reader: Reader, scene: dict, name: str, key: str) -> dict:
    if name not in scene["bodies"]:
        raise reader.error(key, name, "a name of `bodies`", nearest(name, scene["bodies"]))
    return scene["bodies"][name]


def resolve_link(reader: Reader, scene: dict, value: object, key: str) -> dict:
    link = reader.section(schema.LINK, value, key)
    if not link["pairs"]:
        raise reader.error(join(key, "pairs"), link["pairs"], "at least one pair of ends")
    pairs, lengths = [], []
    for i, given in enumerate(link["pairs"]):
        pair_key = f"{key}.pairs[{i}]"
        pair = reader.section(schema.PAIR, given, pair_key)
        ends = {side: _end(reader, scene, pair[side], join(pair_key, side)) for side in "ab"}
        if "world" in ends["a"] and "world" in ends["b"]:
            raise reader.error(pair_key, given, "at least one end on a body")
        pairs.append(ends)
        lengths.append(float(np.linalg.norm(_place(scene, ends["a"]) - _place(scene, ends["b"]))))
    link["pairs"] = pairs
    if link["rest_length"] is None:
        if max(lengths) - min(lengths) > 1e-9 * max(lengths):
            raise reader.error(
                join(key, "rest_length"),
                None,
                schema.LINK["rest_length"].rule(),
                f"the lengths at the start differ: {min(lengths):g} to {max(lengths):g} m",
            )
        link["rest_length"] = lengths[0]
    return link


def _end(reader: Reader, scene: dict, value: object, key: str) -> dict:
    end = reader.section(schema.END, value, key)
    if end["world"] is not None:
        if end["body"] is not None or end["point"] is not None:
            raise reader.error(key, present(end), "either world, or body and point", "remove one")
        return {"world": end["world"]}
    if end["body"] is None:
        raise reader.error(key, present(end), "body (and point), or world")
    body = _body_named(reader, scene, end["body"], join(key, "body"))
    point = end["point"] or [0.0, 0.0, 0.0]
    if body["type"] == "particle" and any(point):
        raise reader.error(join(key, "point"), point, "no point on a particle", "use type: rigid")
    return {"body": end["body"], "point": point}


def _place(scene: dict, end: dict) -> np.ndarray:
    """Position of a spring's end at the start, world frame [m]  (3,)."""
    if "world" in end:
        return np.array(end["world"])
    pose = scene["bodies"][end["body"]]["pose"]
    rotation = matrix_from_quaternion(pose.get("orientation", [0.0, 0.0, 0.0, 1.0]))
    return np.array(pose["position"]) + rotation @ np.array(end["point"])
