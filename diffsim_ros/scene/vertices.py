"""Vertices of soft bodies in a recorded motion: free ones are nodes, glued ones are carried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.rotation import quat_matrix

if TYPE_CHECKING:
    from diffsim_ros.scene.model import SceneModel

Array = np.ndarray


def vertex_positions(model: SceneModel, rollout: Any, name: str, frames: Any = None) -> Array:
    """Positions [m] (F, n, 3), world, of a soft body's vertices at recorded frames [all]."""
    chosen = slice(None) if frames is None else frames
    position = np.asarray(rollout.position)[chosen]
    orientation = np.asarray(rollout.orientation)[chosen]
    bodies = model.parts.bodies
    start = bodies[name].placed_vertices()
    found = np.zeros((len(position), len(start), 3))
    for carrier, vertices in bodies[name].held_vertices():
        if not carrier:
            found[:, vertices] = start[vertices]
            continue
        at, by = bodies[carrier].start_pose()
        local = (start[vertices] - at) @ by
        node = model.engine.nodes_of(carrier)[0]
        arm = np.einsum("fij,nj->fni", quat_matrix(orientation[:, node]), local)
        found[:, vertices] = position[:, node, None] + arm
    first, nodes = model.engine.nodes_of(name)
    found[:, bodies[name].free()] = position[:, first : first + nodes]
    return found


def centre_of(model: SceneModel, rollout: Any, name: str) -> dict[str, Array]:
    """Position and velocity (F, 3) of a body over a motion; of frames also orientation and spin.

    Those of a soft body are its free nodes' centre of mass.
    """
    first, count = model.engine.nodes_of(name)
    keys = ("position", "velocity", "orientation", "angular_velocity")
    if not model.parts.bodies[name].SOFT:
        return {key: np.asarray(getattr(rollout, key))[:, first] for key in keys}
    rows = slice(first, first + count)
    mass = model.engine.masses(model.engine.values)[rows]
    return {
        key: np.einsum("n,fni->fi", mass / mass.sum(), np.asarray(getattr(rollout, key))[:, rows])
        for key in keys[:2]
    }
