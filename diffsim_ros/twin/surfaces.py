"""Triangles of a scene's bodies and surfaces, for a camera."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from .. import meshes
from ..scene.body_surface import BodySurface
from ..scene.model import SceneModel
from .depth_camera import floor_mesh
from .record import TwinRecord


def vertices_at(surface: BodySurface, record: TwinRecord, body: str, time: float) -> np.ndarray:
    """Vertices (n, 3) [m], world, of a body's surface at a time of the record."""
    if surface.nodes is None:
        state = record.state(body, time)
        return state.position[0] + Rotation.from_quat(state.orientation[0]).apply(surface.fixed)
    nodes = record.nodes(body, time)
    return surface.fixed + np.einsum("nk,nki->ni", surface.weights, nodes[surface.nodes])


def surroundings(scene: SceneModel) -> list[tuple[np.ndarray, np.ndarray]]:
    """Vertices (n, 3) and triangles (m, 3) of the surfaces that stand still, world."""
    found = []
    for info in scene.sdfs:
        if info.carrier is not None:
            continue
        if info.kind == "plane":
            vertices, triangles = floor_mesh(0.0)
        elif info.kind == "box":
            vertices, tets = meshes.box(info.size, (1, 1, 1))
            triangles = meshes.surface(tets)
        elif info.kind == "sphere":
            vertices, tets = meshes.ball(8, info.size[0] / 2)
            triangles = meshes.surface(tets)
        else:
            half = np.array(info.size) / 2
            vertices, triangles = info.sdf.outline(low=-half, high=half)
        turn = Rotation.from_quat(info.orientation)
        found.append((np.array(info.position) + turn.apply(vertices), triangles))
    return found
