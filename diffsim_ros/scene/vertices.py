"""Vertices of soft bodies in a recorded motion: free ones are nodes, glued ones are carried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene.build_soft import glued_vertices
from diffsim_ros.scene.links import start_pose
from diffsim_ros.scene.soft_shapes import SOFT, soft_shape

if TYPE_CHECKING:
    from diffsim_ros.scene.model import SceneModel

Array = np.ndarray


def vertex_positions(model: SceneModel, rollout: Any, name: str, frames: Any = None) -> Array:
    """Positions [m] (F, n, 3), world, of a soft body's vertices at recorded frames [all]."""
    chosen = slice(None) if frames is None else frames
    position = np.asarray(rollout.position)[chosen]
    orientation = np.asarray(rollout.orientation)[chosen]
    bodies = model.description["bodies"]
    body = bodies[name]
    shape = soft_shape(body)
    found = np.zeros((len(position), len(shape.vertices), 3))
    free = np.ones(len(shape.vertices), bool)
    place, turn = start_pose(body)
    start = place + shape.vertices @ turn.T
    for carrier, vertices in glued_vertices(body, shape):
        free[vertices] = False
        if not carrier:
            found[:, vertices] = start[vertices]
            continue
        at, by = start_pose(bodies[carrier])
        local = (start[vertices] - at) @ by
        node = model.engine.nodes_of(carrier)[0]
        arm = np.einsum("fij,nj->fni", quat_matrix(orientation[:, node]), local)
        found[:, vertices] = position[:, node, None] + arm
    first, nodes = model.engine.nodes_of(name)
    found[:, free] = position[:, first : first + nodes]
    return found


def centre_of(model: SceneModel, rollout: Any, name: str) -> dict[str, Array]:
    """Position and velocity (F, 3) of a body over a motion; of frames also orientation and spin.

    Those of a soft body are its free nodes' centre of mass.
    """
    first, count = model.engine.nodes_of(name)
    keys = ("position", "velocity", "orientation", "angular_velocity")
    if model.description["bodies"][name]["type"] not in SOFT:
        return {key: np.asarray(getattr(rollout, key))[:, first] for key in keys}
    rows = slice(first, first + count)
    mass = model.engine.masses(model.engine.values)[rows]
    return {
        key: np.einsum("n,fni->fi", mass / mass.sum(), np.asarray(getattr(rollout, key))[:, rows])
        for key in keys[:2]
    }
