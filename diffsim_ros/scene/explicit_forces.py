"""Forces that the velocity stepper takes where a step begins, and that its step is too long for.

Forces on joints' coordinates are implicit there. Springs and cables between bodies are not: with k,
c and the inverse mass w of their two ends, semi-implicit Euler is stable for (h^2 k + 2 h c) w < 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from diffsim_ros.scene.links.cable import CableLink
from diffsim_ros.scene.links.link import End
from diffsim_ros.scene.links.spring import SpringLink

if TYPE_CHECKING:
    from diffsim_ros.scene.parts import Parts

STABLE = 4.0
"""Bound of (h^2 k + 2 h c) w."""


def explicit_forces(parts: Parts, values: Mapping[str, float]) -> list[str]:
    """One sentence for every such spring or cable, by the masses of its ends.

    values  of the engine's parameters, as the motion has them
    """
    if parts.world["stepper"] != "velocity":
        return []
    step, found = float(parts.world["step"]), []
    for link in parts.links:
        if isinstance(link, SpringLink):
            w = max(_inverse_mass(parts, values, pair.values()) for pair in link.pairs)
            damping = values[f"{link.name}.damping"]
        elif isinstance(link, CableLink):
            w, damping = _inverse_mass(parts, values, (link.via[0], link.via[-1])), 0.0
        else:
            continue
        growth = (step**2 * values[f"{link.name}.stiffness"] + 2 * step * damping) * w
        if growth > STABLE:
            longest = step * (STABLE / growth) ** 0.5
            found.append(
                f"{link.WORD} {link.name}: it is unstable with stepper: velocity at world.step = "
                f"{step:g} s, as forces between bodies are explicit there; take a step below "
                f"{longest:.1g} s, stepper: implicit, or a joint with a position motor"
            )
    return found


def _inverse_mass(parts: Parts, values: Mapping[str, float], ends: Iterable[End]) -> float:
    """Sum over the ends [1/kg]; 0 of the world and of bodies whose motion is prescribed."""
    moving = (end.body for end in ends if end.body is not None and parts.bodies[end.body].MOVES)
    return sum(1 / values[f"{body}.mass"] for body in moving)
