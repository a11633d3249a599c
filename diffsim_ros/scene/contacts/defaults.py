"""Numbers of contacts that are given nowhere: by loads, sizes and stated speeds, by no step.

The load N of a contact is at least the weight of the heavier body of the two, and at most that of
all bodies that contacts, joints and glue connect with it, which could come to rest on it. Of its
points those that carry have the share s of k_n and k_t: CARRY of a body with a frame,
SOFT_CARRY of a soft one's area. With L the smaller extent of the two,

    k_n = max(N_own / (OWN_SINKS L), N_all / (ALL_SINK L)) / s
    k_t = max(c_f, c_s) N_all / (CREEP s)
    c_n = DAMPING

so what rests has sunk by OWN_SINKS of its size at most and creeps slower than CREEP.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from diffsim_ros.scene.links.joint import JointLink
from diffsim_ros.scene.parts import Parts

OWN_SINKS, ALL_SINK = 0.001, 0.003
"""Of the smaller extent: under the heavier body's weight, and under all that could rest on it."""
CARRY = 4
"""Contact spheres of a body with a frame that carry it: a box lies on four."""
SOFT_CARRY = 0.1
"""Of a soft body's area that carries it at the least."""
CREEP = 1e-3
"""Slip [m/s] at which friction reaches Coulomb's limit: sticking bodies creep slower."""
DAMPING = 1.0
"""c_n [s/m]: 0.59 of an impact's speed is left of 1 m/s, 0.81 of 0.3 m/s; rocking and bouncing
die out with exp(-c_n g t / 2), whatever the stiffness."""
UNIT_FRICTION = 1.0
"""c_f in k_t of a contact that has none."""
GRAVITY = 9.81
"""[m/s^2] for loads in a world without."""
POINT_EXTENT = 0.1
"""L [m] where neither has an extent: a particle on a plane."""


def complete(parts: Parts) -> None:
    """Give every contact the numbers that it lacks."""
    together = _together(parts)
    for i, contact in enumerate(parts.contacts):
        chosen: dict[str, float] = {}
        if contact.k_n is None:
            chosen["k_n"] = stiffness(parts, contact, together)
        if contact.k_t is None:
            load = load_of(parts, contact, together)
            friction = max(contact.c_f, contact.c_s or 0.0) or UNIT_FRICTION
            chosen["k_t"] = friction * load / (CREEP * share(parts, contact))
        if chosen:
            parts.contacts[i] = replace(contact, **chosen)


def stiffness(parts: Parts, contact: Any, together: dict[str, float] | None = None) -> float:
    """k_n [N/m] by loads and sizes."""
    own = _gravity(parts) * _own_mass(parts, contact)
    every = load_of(parts, contact, together or _together(parts))
    needed = max(own / OWN_SINKS, every / ALL_SINK)
    return needed / (extent_of(parts, contact) * share(parts, contact))


def load_of(parts: Parts, contact: Any, together: dict[str, float]) -> float:
    """All that could come to rest on a contact [N]."""
    masses = [together[name] for name in _movers(parts, contact)]
    return _gravity(parts) * max(masses)


def resting_load(parts: Parts, contact: Any) -> float:
    """Weight [N] of the body of a contact that rests on the other: the higher one at the start."""
    down = np.asarray(parts.world["gravity"], float)
    bodies = [parts.bodies[name] for name in _movers(parts, contact)]
    upper = min(bodies, key=lambda body: float(down @ body.start_pose()[0]))
    return _gravity(parts) * float(upper.total_mass())


def share(parts: Parts, contact: Any) -> float:
    """Share of k_n and k_t of the points that carry."""
    body = parts.bodies[contact.points]
    if body.SOFT:
        return SOFT_CARRY
    weights = contact.weights
    if weights is None and contact.spheres is None:
        weights = body.contact_weights()
    if weights is None:
        count = len(contact.spheres_at_start(parts).local)
        return min(CARRY, count) / count
    return float(np.sort(np.asarray(weights))[:CARRY].sum())


def extent_of(parts: Parts, contact: Any) -> float:
    """The smaller extent [m] of the body and of the one that carries the surface."""
    names = [contact.points] + ([contact.carrier] if contact.carrier else [])
    found = [float(x) for name in names for x in parts.bodies[name].outline()[1] if x > 0]
    return min(found, default=POINT_EXTENT)


def _movers(parts: Parts, contact: Any) -> list[str]:
    names = [contact.points] + ([contact.carrier] if contact.carrier else [])
    return [name for name in names if parts.bodies[name].MOVES]


def _own_mass(parts: Parts, contact: Any) -> float:
    return max(parts.bodies[name].total_mass() for name in _movers(parts, contact))


def _gravity(parts: Parts) -> float:
    return float(np.linalg.norm(parts.world["gravity"])) or GRAVITY


def _together(parts: Parts) -> dict[str, float]:
    """Body that moves -> mass [kg] of all that contacts, joints and glue connect with it."""
    first = {name: name for name, body in parts.bodies.items() if body.MOVES}
    ties = [(c.points, c.carrier) for c in parts.contacts]
    ties += [(link.body_a, link.body_b) for link in parts.links if isinstance(link, JointLink)]
    for body in parts.bodies.values():
        if body.SOFT:
            ties += [(carrier, body.name) for carrier, _ in body.held_vertices()]

    def root(name: str) -> str:
        while first[name] != name:
            name = first[name]
        return name

    for a, b in ties:
        if a in first and b in first:
            first[root(a)] = root(b)
    total: dict[str, float] = {}
    for name in first:
        total[root(name)] = total.get(root(name), 0.0) + parts.bodies[name].total_mass()
    return {name: total[root(name)] for name in first}
