"""`lift` of robots: free bodies that start inside something are moved out of it, against gravity.

A tree of bodies that nothing joins to the world moves as one, until the deepest of its contacts
with anything else just touches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.robot_pieces import OneRobot
from diffsim_ros.scene.sdfs import surface_of

CLOSED = 1e-9
"""Depth [m] that is left."""
MOST_MOVES = 200


def lift(parts: Parts, robots: Mapping[str, OneRobot], links: Sequence[Any]) -> None:
    """Move the bodies of robots whose `lift` is on, and the places of their joints in `links`.

    Raises InputError where moving against gravity does not help.
    """
    up = -np.array(parts.world["gravity"])
    for name, robot in robots.items():
        if not robot.lift:
            continue
        key = f"robots.{name}.lift"
        if not up.any():
            raise parts.reader.error(key, True, "no lift without gravity, which has the direction")
        for tree in _free_trees(robot, links):
            distance = _distance(parts, tree, up / np.linalg.norm(up), key)
            _move(parts, tree, links, distance * up / np.linalg.norm(up))


def _free_trees(robot: OneRobot, links: Sequence[Any]) -> list[set[str]]:
    """Bodies that joints connect, of those that none connects with another body or the world."""
    group: dict[str | None, str | None] = {None: None, **{name: name for name in robot.bodies}}
    for link in links:
        if not isinstance(link, Mapping) or link.get("type") != "joint":
            continue
        a, b = (group.get(link.get(f"body_{end}")) for end in "ab")
        low, high = (None, b if a is None else a) if None in (a, b) else (a, b)
        group = {name: low if own == high else own for name, own in group.items()}
    trees: dict[str, set[str]] = {}
    for name, own in group.items():
        if own is not None and name is not None:
            trees.setdefault(own, set()).add(name)
    return list(trees.values())


def _distance(parts: Parts, tree: set[str], up: np.ndarray, key: str) -> float:
    """By which the tree is to move along up [m]."""
    found = []
    for contact in parts.contacts:
        inside = contact.points in tree
        if inside == (contact.carrier in tree):
            continue  # both move or neither does
        sdf = surface_of(contact.against, parts.sdfs).engine(parts.sdfs)
        own = contact.spheres_at_start(parts)
        at, turn = parts.bodies[contact.points].start_pose()
        places, axis = at + own.centres() @ turn.T, up if inside else -up
        if contact.carrier is not None:
            at, turn = parts.bodies[contact.carrier].start_pose()
            places, axis = (places - at) @ turn, axis @ turn
        found.append((sdf, places, axis, own.radius))
    moved = 0.0
    for _ in range(MOST_MOVES):
        deepest = max(
            (float(np.max(radius - sdf.evaluate(places + moved * axis)[0]))
             for sdf, places, axis, radius in found), default=0.0,
        )  # fmt: skip
        if deepest <= CLOSED:
            return moved
        moved += deepest  # distances grow by as much at most
    rule = f"a start that {MOST_MOVES} moves against gravity bring out of what it is in"
    raise parts.reader.error(key, f"{deepest:.3g} m inside after {moved:.3g} m", rule)


def _move(parts: Parts, tree: set[str], links: Sequence[Any], by: np.ndarray) -> None:
    if not by.any():
        return
    for name in tree:
        body = parts.bodies[name]
        pose = {**body.pose, "position": (np.array(body.pose["position"]) + by).tolist()}
        parts.bodies[name] = replace(body, pose=pose)
    for link in links:
        ends = {link.get("body_a"), link.get("body_b")} if isinstance(link, Mapping) else set()
        if ends & tree and link.get("position") is not None:
            link["position"] = (np.array(link["position"], float) + by).tolist()
