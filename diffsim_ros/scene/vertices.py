"""Vertices and centres of bodies in a recorded motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.scene.placement import vertices_at

if TYPE_CHECKING:
    from diffsim_ros.scene.model import SceneModel

Array = np.ndarray


def vertex_positions(model: SceneModel, rollout: Any, name: str, frames: Any = None) -> Array:
    """Positions [m] (F, n, 3), world, of a soft body's vertices at recorded frames [all]."""
    chosen = slice(None) if frames is None else frames
    position = np.asarray(rollout.position)[chosen]
    orientation = np.asarray(rollout.orientation)[chosen]
    return vertices_at(model.parts, model.engine, position, orientation, name)


def centre_of(
    model: SceneModel, rollout: Any, name: str, values: Array | None = None
) -> dict[str, Array]:
    """Position and velocity (F, 3) of a body over a motion; of frames also orientation and spin.

    Those of a soft body are its free nodes' centre of mass.
    values  of the engine's parameters that the motion ran with [the scene's]
    """
    first, count = model.engine.nodes_of(name)
    keys = ("position", "velocity", "orientation", "angular_velocity")
    if not model.parts.bodies[name].SOFT:
        return {key: np.asarray(getattr(rollout, key))[:, first] for key in keys}
    rows = slice(first, first + count)
    mass = model.engine.masses(model.engine.values if values is None else values)[rows]
    return {
        key: np.einsum("n,fni->fi", mass / mass.sum(), np.asarray(getattr(rollout, key))[:, rows])
        for key in keys[:2]
    }
