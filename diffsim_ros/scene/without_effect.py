"""Keys without effect: of contacts for the stepper, of motors that do not follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from diffsim_ros.scene.links.motor import MotorLink

if TYPE_CHECKING:
    from diffsim_ros.scene.parts import Parts

PENALTY = {"friction": "linear", "damping": "continuous"}
"""Choices of penalty contacts, with their defaults: hard ones have neither."""


def without_effect(parts: Parts, values: Mapping[str, float]) -> list[str]:
    """One sentence for every such key that was given something else than its default.

    values  of the engine's parameters, as the motion has them
    """
    return [*_of_contacts(parts), *_of_motors(parts, values)]


def _of_contacts(parts: Parts) -> Iterator[str]:
    stepper = parts.world["stepper"]
    for contact in parts.contacts:
        if stepper == "velocity":
            words = [word for word, usual in PENALTY.items() if getattr(contact, word) != usual]
        else:
            words = ["restitution"] if contact.restitution else []
        for word in words:
            yield (
                f"contact {contact.name}: {word}: {getattr(contact, word)} has no effect with "
                f"stepper: {stepper}"
            )


def _of_motors(parts: Parts, values: Mapping[str, float]) -> Iterator[str]:
    for link in parts.links:
        if not isinstance(link, MotorLink) or link.kind != "position":
            continue
        stiffness, damping = (values[f"{link.name}.{word}"] for word in link.GAINS)
        if stiffness == 0 and (damping == 0 or len(link.keys) == 1):
            acts = "it does nothing" if damping == 0 else "it only damps"
            yield f"motor {link.name}: its target has no effect with stiffness: 0: {acts}"
