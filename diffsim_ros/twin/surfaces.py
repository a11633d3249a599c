"""Triangles of a scene's bodies and surfaces, as a camera sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from .. import meshes
from ..real2sim.clouds.skin import skin_of
from ..scene.model import SceneModel
from ..scene.soft_shapes import SOFT
from .depth_camera import floor_mesh
from .record import TwinRecord


@dataclass(frozen=True, eq=False)
class Surface:
    """triangles (m, 3) of vertices x = fixed + sum_k weights_k x_nodes_k of a soft body's nodes;
    of a rigid one (weights None) `fixed` (n, 3) [m] is in its own frame."""

    triangles: np.ndarray
    fixed: np.ndarray
    nodes: np.ndarray | None = None
    weights: np.ndarray | None = None

    def at(self, record: TwinRecord, body: str, time: float) -> np.ndarray:
        """Vertices (n, 3) [m], world."""
        if self.weights is None:
            state = record.state(body, time)
            return state.position[0] + Rotation.from_quat(state.orientation[0]).apply(self.fixed)
        places = record.nodes(body, time)
        return self.fixed + np.einsum("nk,nki->ni", self.weights, places[self.nodes])


def surface_of(scene: SceneModel, body: str, radius: float | None = None) -> Surface:
    """Surface of a box, a ball or a soft body; radius: of a soft ball of another mesh [m]."""
    if scene.description["bodies"][body]["type"] in SOFT:
        skin = skin_of(scene, body, 1, radius)
        return Surface(skin.triangles, skin.fixed, skin.nodes, skin.weights)
    skin = skin_of(scene, body)
    return Surface(skin.triangles, skin.local)


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
