"""Resolving `links`: springs, joints, motors, cables, forces, torques and drag."""

from __future__ import annotations

import numpy as np

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Reader, join, present
from diffsim_ros.rotation import quat_exp, quat_matrix
from diffsim_ros.scene import schema_links
from diffsim_ros.scene.placing import body_named
from diffsim_ros.scene.soft_bodies import resolve_region
from diffsim_ros.scene.soft_shapes import SOFT, soft_shape
from diffsim_ros.scene.surfaces import unit


def resolve_link(reader: Reader, scene: dict, value: object, key: str, earlier: list) -> dict:
    """A link with every default filled in, by its type; `earlier` are the links before it."""
    kind = reader.mapping(value, key).get("type") or "spring"
    kind = reader.value(schema_links.TYPE, kind, join(key, "type"))
    link = reader.section(schema_links.LINKS[kind], value, key)
    {
        "spring": _springs,
        "joint": _joint,
        "motor": _motor,
        "payload": _payload,
        "cable": _cable,
        "bundle": _bundle,
        "force": _force,
        "torque": _torque,
        "drag": _drag,
    }[kind](reader, scene, link, key, earlier)
    return present(link)


def _springs(reader: Reader, scene: dict, link: dict, key: str, earlier: list) -> None:
    if not link["pairs"]:
        raise reader.error(join(key, "pairs"), link["pairs"], "at least one pair of ends")
    pairs, lengths = [], []
    for i, given in enumerate(link["pairs"]):
        pair_key = f"{key}.pairs[{i}]"
        pair = reader.section(schema_links.PAIR, given, pair_key)
        ends = {side: _end(reader, scene, pair[side], join(pair_key, side)) for side in "ab"}
        for side, end in ends.items():
            if "vertex" in end:
                raise reader.error(
                    f"{pair_key}.{side}.vertex",
                    end["vertex"],
                    "an end on a rigid body or particle",
                    "glue the vertices to a body, or use type: cable",
                )
        if "world" in ends["a"] and "world" in ends["b"]:
            raise reader.error(pair_key, given, "at least one end on a body")
        pairs.append(ends)
        lengths.append(
            float(np.linalg.norm(place_of(scene, ends["a"]) - place_of(scene, ends["b"])))
        )
    link["pairs"] = pairs
    if link["rest_length"] is None:
        if max(lengths) - min(lengths) > 1e-9 * max(lengths):
            raise reader.error(
                join(key, "rest_length"),
                None,
                schema_links.LINK["rest_length"].rule(),
                f"the lengths at the start differ: {min(lengths):g} to {max(lengths):g} m",
            )
        link["rest_length"] = lengths[0]


def _joint(reader: Reader, scene: dict, link: dict, key: str, earlier: list) -> None:
    for side in ("body_a", "body_b"):
        if link[side] is not None:
            _frame(reader, scene, link[side], join(key, side))
    if link["body_a"] == link["body_b"]:
        raise reader.error(join(key, "body_b"), link["body_b"], "another body than body_a")
    link["axis"] = unit(reader, link["axis"], join(key, "axis"))
    if (link["second_axis"] is not None) != (link["kind"] == "universal"):
        rule = "a second axis for a universal joint, and for no other"
        raise reader.error(join(key, "second_axis"), link["second_axis"], rule)
    if link["second_axis"] is not None:
        link["second_axis"] = unit(reader, link["second_axis"], join(key, "second_axis"))
    for name in ("coulomb_friction", "armature"):
        if link[name] is not None:
            _moving(reader, link, join(key, name))
    if link["coordinate"]:
        _moving(reader, link, join(key, "coordinate"))
    if link["limits"] is not None:
        place = join(key, "limits")
        limits = present(reader.section(schema_links.LIMITS, link["limits"], place))
        low, high = limits.get("lower"), limits.get("upper")
        if low is None and high is None:
            raise reader.error(place, link["limits"], "a lower or upper limit, or both")
        if low is not None and high is not None and not low < high:
            raise reader.error(
                join(place, "upper"), high, f"a number above the lower limit, {low:g}"
            )
        _moving(reader, link, join(key, "limits"))
        link["limits"] = limits


def _moving(reader: Reader, joint: dict, key: str) -> None:
    """Only a joint with one free coordinate has limits and motors."""
    if joint["kind"] not in ("hinge", "slider", "planar"):
        raise reader.error(key, f"a {joint['kind']} joint", "a hinge, slider or planar joint")


def _motor(reader: Reader, scene: dict, link: dict, key: str, earlier: list) -> None:
    joints = {item["name"]: item for item in earlier if item["type"] == "joint"}
    if link["joint"] not in joints:
        raise reader.error(
            join(key, "joint"),
            link["joint"],
            "a joint that stands before it in `links`",
            nearest(link["joint"], joints),
        )
    _moving(reader, joints[link["joint"]], join(key, "joint"))
    slides = joints[link["joint"]]["kind"] == "slider"
    if link["kind"] == ("torque" if slides else "force"):
        right = "force" if slides else "torque"
        raise reader.error(join(key, "kind"), link["kind"], f"position or {right} on this joint")
    if link["kind"] != "position":
        for name in ("stiffness", "damping"):
            if link[name]:
                raise reader.error(
                    join(key, name), link[name], f"no {name} for this kind", "remove it"
                )
            link[name] = None
    _interval(reader, link, link["keys"], key)


def _payload(reader: Reader, scene: dict, link: dict, key: str, earlier: list) -> None:
    body = body_named(reader, scene, link["body"], join(key, "body"))
    if body["type"] != "rigid":
        got = f"{link['body']} of type {body['type']}"
        raise reader.error(join(key, "body"), got, "a rigid body")
    inertia = link["inertia"]
    if inertia == "uniform":
        raise reader.error(join(key, "inertia"), inertia, "numbers: a payload has no shape")
    moments = np.linalg.eigvalsh(symmetric(six_of(inertia)))
    if moments[0] < 0 or moments[2] > (moments[0] + moments[1]) * (1 + 1e-9):
        rule = "principal moments >= 0, none above the sum of the others"
        raise reader.error(join(key, "inertia"), inertia, rule)


def six_of(inertia: float | list[float]) -> list[float]:
    """xx, yy, zz, xy, xz, yz of one number, three or six."""
    if isinstance(inertia, list):
        return (inertia + [0.0] * 3)[:6]
    return [inertia] * 3 + [0.0] * 3


def symmetric(six: object) -> np.ndarray:
    """Matrix (3, 3) of xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _interval(reader: Reader, link: dict, keys: list, key: str) -> None:
    if len(keys) > 1 and link["interval"] is None:
        rule = schema_links.INTERVAL.rule()
        raise reader.error(join(key, "interval"), None, rule, f"there are {len(keys)} keys")


def _cable(reader: Reader, scene: dict, link: dict, key: str, earlier: list) -> None:
    if len(link["via"]) < 2:
        raise reader.error(join(key, "via"), link["via"], "at least two ends")
    ends = [_end(reader, scene, end, f"{key}.via[{i}]") for i, end in enumerate(link["via"])]
    if all("world" in end for end in ends):
        raise reader.error(join(key, "via"), link["via"], "at least one end on a body")
    link["via"] = ends
    if link["rest_length"] is None:
        places = np.array([place_of(scene, end) for end in ends])
        link["rest_length"] = float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())


def _bundle(reader: Reader, scene: dict, link: dict, key: str, earlier: list) -> None:
    body = _soft(reader, scene, link["body"], join(key, "body"))
    shape = soft_shape(body)
    link["where"] = resolve_region(reader, link["where"], shape, join(key, "where"))
    to, place = link["to"], join(key, "to")
    other = scene["bodies"].get(to.get("body")) if isinstance(to.get("body"), str) else None
    if other is None or other["type"] not in SOFT or "vertex" in to:
        link["to"] = _end(reader, scene, to, place)
        return
    twin = _soft(reader, scene, to["body"], join(place, "body"))
    if to["body"] == link["body"] or not len(shared_vertices(body, twin)):
        rule = f"another body with vertices where {link['body']} has some"
        raise reader.error(join(place, "body"), to["body"], rule)
    if link["acts"] == "threads":
        raise reader.error(join(key, "acts"), "threads", "springs: twins start in one place")
    link["to"] = {"body": to["body"]}


def _soft(reader: Reader, scene: dict, name: str, key: str) -> dict:
    body = body_named(reader, scene, name, key)
    if body["type"] not in SOFT:
        raise reader.error(key, f"{name} of type {body['type']}", "a solid, cloth or string")
    return body


def _force(reader: Reader, scene: dict, link: dict, key: str, earlier: list) -> None:
    body = body_named(reader, scene, link["body"], join(key, "body"))
    kind = body["type"]
    if kind == "kinematic":
        raise reader.error(join(key, "body"), link["body"], "a body that forces can move")
    if kind in SOFT:
        if link["point"] is not None or link["where"] is None:
            raise reader.error(key, link["body"], f"`where` and no `point` on a {kind}")
        link["where"] = resolve_region(reader, link["where"], soft_shape(body), join(key, "where"))
        if link["frame"] == "body":
            raise reader.error(join(key, "frame"), "body", f"world: a {kind} has no frame")
    else:
        if link["where"] is not None:
            raise reader.error(
                join(key, "where"), link["where"], f"`point`, not `where`, on a {kind}"
            )
        link["point"] = _point(reader, body, link["point"], join(key, "point"))
    _interval(reader, link, link["force"], key)


def _torque(reader: Reader, scene: dict, link: dict, key: str, earlier: list) -> None:
    body = body_named(reader, scene, link["body"], join(key, "body"))
    if body["type"] != "rigid":
        raise reader.error(
            join(key, "body"), f"{link['body']} of type {body['type']}", "a rigid body"
        )
    _interval(reader, link, link["torque"], key)


def _drag(reader: Reader, scene: dict, link: dict, key: str, earlier: list) -> None:
    body = body_named(reader, scene, link["body"], join(key, "body"))
    if body["type"] not in SOFT and "contact_spheres" not in body:
        raise reader.error(
            join(key, "body"), link["body"], "a body with contact spheres", "give it some"
        )


def _frame(reader: Reader, scene: dict, name: str, key: str) -> None:
    kind = body_named(reader, scene, name, key)["type"]
    if kind not in ("rigid", "kinematic"):
        raise reader.error(
            key,
            f"{name} of type {kind}",
            "a rigid body or kinematic body",
            "glue soft bodies to a rigid body that the joint holds",
        )


def _end(reader: Reader, scene: dict, value: object, key: str) -> dict:
    end = reader.section(schema_links.END, value, key)
    if end["world"] is not None:
        if end["body"] is not None or end["point"] is not None or end["vertex"] is not None:
            raise reader.error(key, present(end), "either world, or body and point", "remove one")
        return {"world": end["world"]}
    if end["body"] is None:
        raise reader.error(key, present(end), "body (and point), or world")
    body = body_named(reader, scene, end["body"], join(key, "body"))
    if body["type"] in SOFT:
        count = len(soft_shape(body).vertices)
        if end["vertex"] is None or end["point"] is not None or end["vertex"] >= count:
            rule = f"a vertex from 0 to {count - 1}, and no point, on a {body['type']}"
            raise reader.error(key, present(end), rule)
        return {"body": end["body"], "vertex": end["vertex"]}
    if end["vertex"] is not None:
        rule = f"a point, not a vertex, on a {body['type']}"
        raise reader.error(join(key, "vertex"), end["vertex"], rule)
    return {"body": end["body"], "point": _point(reader, body, end["point"], join(key, "point"))}


def _point(reader: Reader, body: dict, point: list | None, key: str) -> list[float]:
    point = point or [0.0, 0.0, 0.0]
    if body["type"] == "particle" and any(point):
        raise reader.error(key, point, "no point on a particle", "use type: rigid")
    return point


def shared_vertices(one: dict, other: dict) -> np.ndarray:
    """Pairs (n, 2) of vertices of two resolved soft bodies that start in one place."""
    here, there = placed_vertices(one), placed_vertices(other)
    apart = np.linalg.norm(here[:, None] - there, axis=2)
    return np.argwhere(apart < 1e-6 * np.ptp(here, axis=0).max())


def placed_vertices(body: dict) -> np.ndarray:
    """Vertices (n, 3) of a resolved soft body at the start, world frame [m]."""
    position, rotation = start_pose(body)
    return position + soft_shape(body).vertices @ rotation.T


def start_pose(body: dict) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) and rotation matrix (3, 3) of a resolved body at the start."""
    if body["type"] == "kinematic":
        keys = body["keys"]
        turn = quat_exp(keys["rotations"][0])
        return np.array(keys["positions"][0]), quat_matrix(turn)
    pose = body["pose"]
    turn = pose.get("orientation", [0.0, 0.0, 0.0, 1.0])
    return np.array(pose["position"]), quat_matrix(turn)


def standing(scene: dict, contact: dict) -> tuple[np.ndarray, np.ndarray] | None:
    """Position (3,) and rotation (3, 3) of a contact's surface that stands, as in the world or on a
    kinematic body at its start; None of one that a free body carries."""
    if "carrier" not in contact:
        return np.zeros(3), np.eye(3)
    carrier = scene["bodies"][contact["carrier"]]
    return start_pose(carrier) if carrier["type"] == "kinematic" else None


def place_of(scene: dict, end: dict) -> np.ndarray:
    """Position of a link's end at the start, world frame [m]  (3,)."""
    if "world" in end:
        return np.array(end["world"])
    body = scene["bodies"][end["body"]]
    position, rotation = start_pose(body)
    local = soft_shape(body).vertices[end["vertex"]] if "vertex" in end else np.array(end["point"])
    return position + rotation @ local
