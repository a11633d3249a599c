"""What one sensor saw of a throw, made ready, whichever kind of sensor it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....inverse.cloud_track import RigidSkin, SoftSkin
from ....scene.body_surface import body_surface
from ....scene.model import SceneModel
from ....sensing.clouds.cloud import Cloud
from ....sensing.clouds.planes import Plane
from ....sensing.clouds.samples import Samples
from .registration import RegisteredSurface

ROUND = 0.04
"""Share of its radius within which the surface of a body lies that looks alike from all sides."""


@dataclass(frozen=True, eq=False)
class Outline:
    """A body's surface as sensors place it.

    name      of the body;  skin  its surface
    vertices  (n, 3) of it as the scene starts, body's frame [m]
    at, turn  place (3,) [m] and orientation (3, 3) at the start of the scene
    """

    name: str
    skin: SoftSkin | RigidSkin
    vertices: np.ndarray
    at: np.ndarray
    turn: np.ndarray

    @property
    def size(self) -> float:
        """Mean edge of its box [m]."""
        return float(np.ptp(self.vertices, axis=0).mean())

    @property
    def round(self) -> bool:
        """True for a ball, whose orientation no camera can see."""
        faces = self.vertices[np.asarray(self.skin.triangles)].mean(axis=1)
        every = np.concatenate([self.vertices, faces]) - self.vertices.mean(axis=0)
        away = np.linalg.norm(every, axis=1)
        return bool(np.ptp(away) < ROUND * away.mean())


@dataclass(frozen=True, eq=False)
class Detections:
    """See the module; everything in the scene's frame.

    clouds      points of the body in every frame that shows it, by the sensor's stamps
    placed      the undeformed body put onto each of them
    frames      of the recording, also those without the body
    planes      found in it, sensor's pose as the YAML says
    turn, shift scene's frame = turn @ (YAML's frame) + shift
    stages      table of the pipeline
    samples     of a sensor that is no camera
    """

    clouds: Sequence[Cloud]
    registered: Sequence[RegisteredSurface]
    frames: int
    planes: Sequence[Plane] = ()
    turn: np.ndarray = None
    shift: np.ndarray = None
    stages: Sequence[Mapping] = ()
    samples: Samples | None = None

    def __post_init__(self):
        for key, still in (("turn", np.eye(3)), ("shift", np.zeros(3))):
            if getattr(self, key) is None:
                object.__setattr__(self, key, still)

    @property
    def stamps(self) -> np.ndarray:
        """Of `clouds` [s] (F,)."""
        return np.array([cloud.stamp for cloud in self.clouds])


def skin_of(
    model: SceneModel, name: str, refine: int = 2, radius: float | None = None
) -> SoftSkin | RigidSkin:
    """See scene.body_surface."""
    found = body_surface(model, name, refine, radius)
    if found.nodes is None:
        return RigidSkin(found.triangles, found.fixed)
    return SoftSkin(found.triangles, found.nodes, found.weights, found.fixed)
