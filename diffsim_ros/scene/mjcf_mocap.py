"""Prescribed motions of an MJCF's mocap bodies: keys of kinematic bodies, of `mocap` of a robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Reader, join
from diffsim_ros.robots.mjcf import Mjcf, MjcfState
from diffsim_ros.rotation import left_jacobian, quat_from_matrix, quat_log, quat_matrix
from diffsim_ros.scene.bodies.kinematic import KEYS, WAYPOINT
from diffsim_ros.scene.placing import resolve_pose

Array = np.ndarray
WORDS = ("pose", "keys", "waypoints")


def prescribed(reader: Reader, mjcf: Mjcf, given: dict, key: str) -> dict[int, dict]:
    """Number of a mocap body -> entry of `bodies`, of a mapping name -> pose, keys or waypoints.

    Raises InputError: no mocap body of that name, not one of the three.
    """
    known = {mjcf.body_names[b]: b for b in mjcf.standing}
    known |= {mjcf.name_of("body", b): b for b in mjcf.standing}
    found = {}
    for name, value in given.items():
        place = join(key, name)
        if name not in known:
            rule = "a mocap body of the MJCF"
            raise reader.error(place, name, rule, nearest(name, list(known)))
        words = list(reader.mapping(value, place))
        if len(words) != 1 or words[0] not in WORDS:
            raise reader.error(place, words, "one of pose, keys and waypoints", "give exactly one")
        found[known[name]] = {"type": "kinematic", **value}
    return found


def started(
    reader: Reader, mjcf: Mjcf, state: MjcfState, bodies: dict[int, dict], key: str,
    turn: Array, at: Array,
) -> MjcfState:  # fmt: skip
    """A state whose mocap bodies are where their motions begin.

    turn, at  of the file's world in the scene's
    """
    places, turns = (rows.copy() for rows in state.mocap)
    drift = np.zeros((len(places), 3)), np.zeros((len(places), 3))
    for b, body in bodies.items():
        pose, *rates = _first(reader, body, join(key, mjcf.body_names[b]))
        row = int(mjcf.model.body_mocapid[b])
        if row < 0:
            continue  # it stands in a file where nothing moves
        places[row] = turn.T @ (np.array(pose["position"]) - at)
        own = turn.T @ quat_matrix(pose["orientation"])
        turns[row] = quat_from_matrix(own)[[3, 0, 1, 2]]
        for rows, rate in zip(drift, rates, strict=True):
            rows[row] = turn.T @ rate
    return replace(state, mocap=(places, turns), drift=drift)


def _first(reader: Reader, body: dict, key: str) -> tuple[dict, Array, Array]:
    """Position and orientation, velocity and angular velocity (3,) at the start."""
    if "pose" in body:
        return resolve_pose(reader, body["pose"], join(key, "pose")), np.zeros(3), np.zeros(3)
    if "keys" in body:
        place = join(key, "keys")
        keys = reader.section(KEYS, body["keys"], place)
        turns = keys["rotations"] or [[0.0] * 3] * len(keys["positions"])
        pairs = zip(keys["positions"][:2], turns[:2], strict=False)
        points = [resolve_pose(reader, {"position": p, "rotation": r}, place) for p, r in pairs]
        return _rates(points, keys["interval"])
    place = join(key, "waypoints")
    if not isinstance(body["waypoints"], list) or not body["waypoints"]:
        raise reader.error(place, body["waypoints"], "at least one waypoint")
    points, times = [], []
    for i, value in enumerate(body["waypoints"][:2]):
        point = reader.section(WAYPOINT, value, f"{place}[{i}]")
        words = [w for w in ("position", "rotation", "orientation") if point[w] is not None]
        points.append(resolve_pose(reader, {w: point[w] for w in words}, f"{place}[{i}]"))
        times.append(point["time"])
    return _rates(points, times[-1] - times[0])


def _rates(points: list[dict], interval: float) -> tuple[dict, Array, Array]:
    """The first of one or two poses, and the rates towards the second: rotation vectors go
    straight."""
    if len(points) < 2 or not interval > 0:
        return points[0], np.zeros(3), np.zeros(3)
    places = [np.array(point["position"]) for point in points]
    turns = [quat_log(point["orientation"]) for point in points]
    omega = left_jacobian(turns[0]) @ (turns[1] - turns[0]) / interval
    return points[0], (places[1] - places[0]) / interval, omega
