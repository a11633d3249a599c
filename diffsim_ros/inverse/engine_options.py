"""Options of the engine derived from others: the same scheme and Newton, other steps or records."""

from __future__ import annotations

from typing import Any

KEPT = (
    "step", "order", "spectral_radius", "record_every", "tolerance", "max_iterations",
    "max_halvings", "stepper", "friction_cone",
)  # fmt: skip


def options_like(options: Any, **changed: Any) -> Any:
    """Options that step as these do, but for what is given; records no modes, unless that is."""
    return type(options)(**{name: getattr(options, name) for name in KEPT} | changed)
