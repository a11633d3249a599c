"""Detections of one sensor in a throw: the body's surface registered to each of its frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from ....inverse.cloud_track import RigidSkin, SoftSkin
from ....scene.body_surface import body_surface
from ....scene.model import SceneModel
from ....sensing.clouds.cloud import Cloud
from ....sensing.clouds.planes import Plane

ROUND = 0.04
"""Share of its radius within which the surface of a body lies that counts as round."""
ROUNDS = 20
STILL = 1e-7  # [m], and of the size of the object for a turn
TRIMMED = 3.0  # median absolute distances


class RegisteredSurface(NamedTuple):
    """A surface put onto the points of one frame: x = turn @ vertices + place.

    turn (3, 3); place (3,) [m]; cosine (n,) between each point's ray and the surface behind it
    """

    turn: np.ndarray
    place: np.ndarray
    cosine: np.ndarray


def posed(
    vertices: ArrayLike, triangles: np.ndarray, cloud: Cloud, guess: np.ndarray | None = None,
    turn: np.ndarray | None = None, *, turning: bool = False,
) -> RegisteredSurface:  # fmt: skip
    """Move a surface onto measured points of one side of it.

    Gauss-Newton on the points' distances to the nearest visible triangle, far ones left out.
    vertices (n, 3) [m], triangles (m, 3) about the object's origin; guess (3,), by default so
    that the middle of the surface is half its size behind the middle of the points; turn (3, 3)
    is the first orientation, which changes only if `turning`.
    """
    vertices = np.asarray(vertices, float)
    turn = np.eye(3) if turn is None else np.array(turn)
    if guess is None:
        middle = cloud.points.mean(axis=0)
        ray = (middle - cloud.eye) / np.linalg.norm(middle - cloud.eye)
        guess = middle + 0.3 * np.ptp(vertices, axis=0).mean() * ray
        guess = guess - turn @ vertices.mean(axis=0)
    place, size = np.array(guess, float), np.ptp(vertices, axis=0).mean()
    # first with all points: a whole face may be far at first
    for trimmed in (np.inf, TRIMMED):
        for _ in range(ROUNDS):
            normal, away = _distances(vertices @ turn.T + place, triangles, cloud)
            near = np.abs(away) <= trimmed * (np.median(np.abs(away)) + 1e-12)
            columns = normal
            if turning:
                columns = np.hstack([normal, np.cross(cloud.points - place, normal) / size])
            step, *_ = np.linalg.lstsq(columns[near], away[near], rcond=1e-6)
            place = place + step[:3]
            if turning:
                turn = Rotation.from_rotvec(step[3:] / size).as_matrix() @ turn
            if np.abs(step).max() < STILL:
                break
    normal, _ = _distances(vertices @ turn.T + place, triangles, cloud)
    ray = cloud.points - cloud.eye
    ray /= np.linalg.norm(ray, axis=1, keepdims=True)
    return RegisteredSurface(turn, place, np.abs(np.einsum("ni,ni->n", ray, normal)))


def registered(
    vertices: ArrayLike, triangles: np.ndarray, cloud: Cloud, guess: np.ndarray | None = None
) -> np.ndarray:
    """Translation (3,) [m] alone of `posed`."""
    return posed(vertices, triangles, cloud, guess).place


def _distances(x: np.ndarray, triangles: np.ndarray, cloud: Cloud) -> tuple[np.ndarray, np.ndarray]:
    """Normals (n, 3) of the visible triangles that are nearest, and heights (n,) above them."""
    from .... import _engine

    triangle, weights, _ = _engine.nearest_on_surface(
        x[None], triangles, cloud.points, [0] * len(cloud), cloud.eye
    )
    at = x[np.asarray(triangles)[triangle]]
    normal = np.cross(at[:, 1] - at[:, 0], at[:, 2] - at[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    foot = np.einsum("nc,nci->ni", weights, at)
    return normal, np.einsum("ni,ni->n", normal, cloud.points - foot)


def followed(
    vertices: np.ndarray, triangles: np.ndarray, clouds: Sequence[Cloud], turn: np.ndarray, *,
    turning: bool = False,
) -> list[RegisteredSurface]:  # fmt: skip
    """The surface put onto every frame in turn, its orientation starting from `turn` (3, 3).

    A turning object is expected to keep its rate between the last two frames.
    """
    found: list[RegisteredSurface] = []
    for cloud in clouds:
        expected = turn
        if turning and len(found) > 1:
            expected = found[-1].turn @ found[-2].turn.T @ found[-1].turn
        elif found:
            expected = found[-1].turn
        found.append(posed(vertices, triangles, cloud, None, expected, turning=turning))
    return found


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
        """True for a ball, whose orientation no camera can measure."""
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
    planes      found in it, with the sensor's pose of the YAML
    turn, shift scene's frame = turn @ (YAML's frame) + shift
    stages      table of the pipeline
    samples     Observation of a sensor that is no camera, None of one
    """

    clouds: Sequence[Cloud]
    registered: Sequence[RegisteredSurface]
    frames: int
    planes: Sequence[Plane] = ()
    turn: np.ndarray = field(default_factory=lambda: np.eye(3))
    shift: np.ndarray = field(default_factory=lambda: np.zeros(3))
    stages: Sequence[Mapping] = ()
    samples: Any = None

    @property
    def stamps(self) -> np.ndarray:
        """Of `clouds` [s] (F,)."""
        return np.array([cloud.stamp for cloud in self.clouds])


def skin_of(
    model: SceneModel, name: str, refine: int = 2, radius: float | None = None
) -> SoftSkin | RigidSkin:
    """See scene.body_surface."""
    found = body_surface(model, name, refine, radius)
    if found.nodes is None or found.weights is None:
        return RigidSkin(found.triangles, found.fixed)
    return SoftSkin(found.triangles, found.nodes, found.weights, found.fixed)
