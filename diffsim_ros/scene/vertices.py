"""Vertices of soft bodies in a recorded motion: free ones are nodes, glued ones are carried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.scene.build_soft import glued_vertices
from diffsim_ros.scene.links import start_pose
from diffsim_ros.scene.rotation import matrix_from_quaternion
from diffsim_ros.scene.soft_shapes import soft_shape

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
        at, by = start_pose(bodies[carrier])
        local = (start[vertices] - at) @ by
        node = model.engine.nodes_of(carrier)[0]
        arm = np.einsum("fij,nj->fni", matrix_from_quaternion(orientation[:, node]), local)
        found[:, vertices] = position[:, node, None] + arm
    first, nodes = model.engine.nodes_of(name)
    found[:, free] = position[:, first : first + nodes]
    return found


def centre_of(model: SceneModel, rollout: Any, name: str) -> dict[str, Array]:
    """Position, velocity (F, 3) and, of bodies with one node, orientation and spin over a motion.

    A soft body's are those of its free nodes' centre of mass; it has no orientation: (0, 0, 0, 1).
    """
    first, count = model.engine.nodes_of(name)
    keys = ("position", "velocity", "orientation", "angular_velocity")
    if count == 1:
        return {key: np.asarray(getattr(rollout, key))[:, first] for key in keys}
    rows = slice(first, first + count)
    mass = model.engine.masses(model.engine.values)[rows]
    share = mass / mass.sum()
    position = np.einsum("n,fni->fi", share, np.asarray(rollout.position)[:, rows])
    velocity = np.einsum("n,fni->fi", share, np.asarray(rollout.velocity)[:, rows])
    upright = np.tile([0.0, 0.0, 0.0, 1.0], (len(position), 1))
    return dict(zip(keys, (position, velocity, upright, np.zeros_like(position)), strict=True))
