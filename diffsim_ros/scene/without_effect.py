"""Keys of contacts that the scene's stepper does not use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diffsim_ros.scene.parts import Parts

PENALTY = {"friction": "linear", "damping": "continuous"}
"""Choices of penalty contacts, with their defaults: hard ones have neither."""


def without_effect(parts: Parts) -> list[str]:
    """One sentence for every such key that was given something else than its default."""
    stepper, found = parts.world["stepper"], []
    for contact in parts.contacts:
        if stepper == "velocity":
            words = [word for word, usual in PENALTY.items() if getattr(contact, word) != usual]
        else:
            words = ["restitution"] if contact.restitution else []
        for word in words:
            found.append(
                f"contact {contact.name}: {word}: {getattr(contact, word)} has no effect with "
                f"stepper: {stepper}"
            )
    return found
