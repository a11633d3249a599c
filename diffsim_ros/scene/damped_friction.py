"""Friction that acts like a damper where it should hold: penalty friction with a soft k_t.

F_t = min(k_t v, c_f N) [G 4.3]: a body that rests with N = m g creeps, and slides as it should only
above v = c_f m g / k_t.  The default k_t = k_n * step becomes small with the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from diffsim_ros.scene.parts import Parts

NOTICED, WANTED = 0.05, 0.01
"""[m/s] from which it is said, and that the k_t which is offered gives."""


def damped_friction(parts: Parts) -> list[str]:
    """One sentence for every contact of the implicit stepper whose k_t is its default and too soft
    for the weight of its body."""
    gravity, step = float(np.linalg.norm(parts.world["gravity"])), parts.world["step"]
    if parts.world["stepper"] != "implicit":
        return []
    found = []
    for contact in parts.contacts:
        body = parts.bodies[contact.points]
        if not body.MOVES or contact.friction == "hybrid":
            continue
        limit = contact.c_f * body.total_mass() * gravity  # [N]
        if limit > NOTICED * contact.k_t and np.isclose(contact.k_t, contact.k_n * step, 1e-9):
            speed, better = _rounded(limit / contact.k_t), _rounded(limit / WANTED)
            found.append(
                f"contact {contact.name}: friction acts like a damper below {speed} m/s, as k_t is "
                f"k_n x step = {contact.k_t:.3g} N s/m; k_t: {better} lowers that to {WANTED:g} m/s"
            )
    return found


def _rounded(value: float) -> str:
    """Two digits, without an exponent."""
    return f"{float(f'{value:.2g}'):g}"
