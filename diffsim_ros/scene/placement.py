"""Where a soft body's vertices are at given poses: free ones are nodes, glued ones are carried."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene.parts import Parts

Array = np.ndarray


def vertices_at(parts: Parts, engine: Any, position: Array, orientation: Array, name: str) -> Array:
    """Positions [m] (F, n, 3), world, of a soft body's vertices.

    position     (F, nodes, 3) of the engine's nodes [m]
    orientation  (F, nodes, 4) quaternions as the engine gives them
    """
    bodies = parts.bodies
    start = bodies[name].placed_vertices()
    found = np.zeros((len(position), len(start), 3))
    for carrier, vertices in bodies[name].held_vertices():
        if not carrier:
            found[:, vertices] = start[vertices]
            continue
        at, by = bodies[carrier].start_pose()
        local = (start[vertices] - at) @ by
        node = engine.nodes_of(carrier)[0]
        arm = np.einsum("fij,nj->fni", quat_matrix(orientation[:, node]), local)
        found[:, vertices] = position[:, node, None] + arm
    first, nodes = engine.nodes_of(name)
    found[:, bodies[name].free()] = position[:, first : first + nodes]
    return found
