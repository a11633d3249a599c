"""Warnings of motions so fast that a point may pass through an obstacle between two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.scene.soft_shapes import SOFT, soft_shape

if TYPE_CHECKING:
    from diffsim_ros.scene.model import SceneModel


def start_warnings(description: dict, surfaces: dict[str, Any]) -> list[str]:
    """One sentence for each contact whose bodies start too fast for its surface and the step."""
    bodies = description["bodies"]

    def speed(name: str | None) -> float:
        if name is None or bodies[name]["type"] == "handle":
            return 0.0
        body = bodies[name]
        spin = np.linalg.norm(body.get("angular_velocity") or [0.0])
        return float(np.linalg.norm(body["velocity"]) + spin * reach(body))

    found = []
    for contact in description["contact"]:
        fastest = speed(contact["points"]) + speed(contact.get("carrier"))
        found += _sentence(contact, surfaces, fastest, description["world"]["step"], "starts")
    return found


def reach(body: dict) -> float:
    """Farthest distance [m] of a resolved body's shape from its origin."""
    if body["type"] in SOFT:
        return float(np.linalg.norm(soft_shape(body).vertices, axis=1).max())
    if not body.get("shape"):
        return 0.0
    ((kind, values),) = body["shape"].items()
    return float(np.linalg.norm(values["size"]) / 2 if kind == "box" else values["radius"])


def motion_warnings(model: SceneModel, rollout: Any) -> list[str]:
    """One sentence for each contact whose bodies moved too far in a step, at recorded frames."""
    bodies = model.description["bodies"]
    speed = np.linalg.norm(rollout.velocity, axis=-1)
    spin = np.linalg.norm(rollout.angular_velocity, axis=-1)

    def fastest(name: str | None) -> np.ndarray:
        if name is None:
            return np.zeros(len(speed))
        first, count = model.engine.nodes_of(name)
        rows = slice(first, first + count)
        turning = spin[:, rows] * (reach(bodies[name]) if count == 1 else 0.0)
        return (speed[:, rows] + turning).max(axis=1)

    found = []
    for contact in model.description["contact"]:
        both = fastest(contact["points"]) + fastest(contact.get("carrier"))
        step = model.options.step
        found += _sentence(contact, model.surfaces, float(both.max()), step, "moves at up to")
    return found


def _sentence(contact: dict, surfaces: dict, speed: float, step: float, verb: str) -> list[str]:
    thickness = surfaces[contact["name"]].thickness
    if not speed * step > thickness / 2:
        return []
    verb = "starts with" if verb == "starts" else verb
    return [
        f"{contact['points']} {verb} {speed:.3g} m/s, {1e3 * speed * step:.3g} mm a step, and may "
        f"pass through the surface of contact {contact['name']}, which is {1e3 * thickness:.3g} mm "
        f"thick: use a step below {thickness / 2 / speed:.2g} s"
    ]
