"""Physics against closed forms, independent simulations and conservation laws.

The studies are in physics_orders, physics_contact, physics_friction and physics_rotation; each
docstring writes out the closed form it is held to.
"""

from __future__ import annotations

from .physics_contact import study_bouncing_cube, study_restitution
from .physics_friction import study_friction, study_symmetry
from .physics_orders import study_impact_order, study_orders
from .physics_rotation import study_charts, study_mujoco, study_tumbling

STUDIES = {
    "orders": study_orders,
    "impact_order": study_impact_order,
    "restitution": study_restitution,
    "bouncing_cube": study_bouncing_cube,
    "friction": study_friction,
    "symmetry": study_symmetry,
    "tumbling": study_tumbling,
    "charts": study_charts,
    "mujoco": study_mujoco,
}


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """All of them; runs to the end and then raises AssertionError with every bar missed."""
    figures, missed = {}, []
    for name, one in STUDIES.items():
        try:
            figures[name] = one(fraction, seed)
        except AssertionError as error:
            missed.append(f"{name}: {error}")
    assert not missed, "\n".join(missed)
    return figures
