"""Contacts that are too soft for what rests on them: friction that acts like a damper, sinking.

F_t = min(k_t v, c_f N) [G 4.3]: a body that rests with N = m g creeps, and slides as it should only
above v = c_f N / (s k_t), with s the share of k_t of the points that carry (contacts/defaults.py).
It sinks by N / (s k_n). Defaults are not too soft; values that are given may be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from diffsim_ros.scene.contacts.defaults import extent_of, resting_load, share, stiffness
from diffsim_ros.scene.sdfs import surface_of
from diffsim_ros.scene.sdfs.plane import PlaneSdf

if TYPE_CHECKING:
    from diffsim_ros.scene.contacts import Contact
    from diffsim_ros.scene.parts import Parts

NOTICED, WANTED = 0.05, 0.001
"""[m/s] from which it is said, and that the k_t which is offered gives."""
CREEPS = 0.0015
"""[m/s] from which it is said of what gravity pulls along a plane."""
DEEP = 0.05
"""Of the smaller extent: depth at rest from which it is said."""


def damped_friction(parts: Parts) -> list[str]:
    """One sentence for every contact of the implicit stepper that is too soft for its body."""
    if parts.world["stepper"] != "implicit" or not any(parts.world["gravity"]):
        return []
    found = []
    for contact in parts.contacts:
        body = parts.bodies[contact.points]
        if not body.MOVES or body.SOFT:
            continue
        load, part = resting_load(parts, contact), share(parts, contact)
        limit, pulled = contact.c_f * load / part, _pulled(parts, contact) * load / part
        if contact.friction != "hybrid" and (
            limit > NOTICED * contact.k_t or CREEPS * contact.k_t < pulled < limit
        ):
            speed, better = _rounded(limit / contact.k_t), _rounded(limit / WANTED)
            found.append(
                f"contact {contact.name}: friction acts like a damper below {speed} m/s, as k_t is "
                f"{contact.k_t:.3g} N s/m; k_t: {better} lowers that to {WANTED:g} m/s"
            )
        depth, extent = load / (part * contact.k_n), extent_of(parts, contact)
        if depth > DEEP * extent:
            better = _rounded(stiffness(parts, contact))
            found.append(
                f"contact {contact.name}: what rests on it sinks {1e3 * depth:.2g} mm, "
                f"{100 * depth / extent:.2g} % of its size, as k_n is {contact.k_n:.3g} N/m; "
                f"k_n: {better} lets it sink 0.1 %"
            )
    return found


def _pulled(parts: Parts, contact: Contact) -> float:
    """Share of its weight that pulls a body along a plane that stands, else 0."""
    surface = surface_of(contact.against, parts.sdfs)
    if contact.carrier is not None or not isinstance(surface, PlaneSdf):
        return 0.0
    down = np.array(parts.world["gravity"]) / np.linalg.norm(parts.world["gravity"])
    normal = np.array(surface.normal) / np.linalg.norm(surface.normal)
    return float(np.linalg.norm(np.cross(down, normal)))


def _rounded(value: float) -> str:
    """Two digits, without an exponent."""
    return f"{float(f'{value:.2g}'):g}" if value < 1e6 else f"{value:.1e}"
