"""A simulated depth camera: rays against triangles, then a sensor's errors.

Rays are cast by Open3D, not by the code under test.  Of each pixel

    r = r_true + N(0, sigma(r)),   sigma = constant + quadratic (r - reference)^2,

after a jitter of the ray's direction by `jitter` pixels (which blurs rims into flying pixels);
surfaces at a grazing angle, single pixels and whole blobs return nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

from ..sensing.clouds.cloud import Cloud, checked
from ..sensing.clouds.library import open3d
from ..sensing.clouds.options import DepthNoise

KINECT = DepthNoise(0.0012, 0.0019, 0.4)  # [m], [1/m], [m]: axial noise of the first Kinect


@dataclass(frozen=True)
class DepthCamera:
    """Pinhole camera, x right, y down, z forward (an optical frame).

    eye, target [m, world]; the image's top is towards +z of the world; view: horizontal angle [deg]
    """

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    size: tuple[int, int] = (320, 240)
    view: float = 58.0
    noise: DepthNoise = KINECT
    jitter: float = 0.3
    grazing: float = 0.15
    missing: float = 0.02
    holes: float = 0.02

    @property
    def rotation(self) -> np.ndarray:
        """(3, 3) camera to world."""
        forward = np.subtract(self.target, self.eye)
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(forward, right), forward], axis=1)

    @property
    def focal(self) -> float:
        """[pixels]."""
        return 0.5 * self.size[0] / np.tan(np.deg2rad(self.view) / 2)

    def directions(self, shift=0.0) -> np.ndarray:
        """Unit rays (h, w, 3) in the camera's frame; shift (h, w, 2) or 0 [pixels]."""
        w, h = self.size
        grid = np.stack(np.meshgrid(np.arange(w) + 0.5, np.arange(h) + 0.5), axis=-1) + shift
        flat = (grid - [w / 2, h / 2]) / self.focal
        rays = np.concatenate([flat, np.ones((h, w, 1))], axis=-1)
        return rays / np.linalg.norm(rays, axis=-1, keepdims=True)

    def frame(
        self, meshes: Sequence[tuple[np.ndarray, np.ndarray]], stamp: float, generator, *,
        frame: str = "camera",
    ) -> Cloud:  # fmt: skip
        """The camera's image of meshes (vertices (n, 3), triangles (m, 3)) [m, world].

        Raises InputError where nothing returns.
        """
        distance, cosine = self._cast(meshes, generator)
        w, h = self.size
        corrupted = distance + generator.normal(size=(h, w)) * self.noise.along(
            np.where(np.isfinite(distance), distance, 0.0)
        )
        blobs = gaussian_filter(generator.normal(size=(h, w)), 3.0)
        lost = (cosine < self.grazing) | (generator.random((h, w)) < self.missing)
        lost |= blobs > np.quantile(blobs, 1 - self.holes)
        points = self.directions() * np.where(lost, np.nan, corrupted)[..., None]
        points[~np.isfinite(points).all(axis=-1)] = np.nan
        return checked(
            points.reshape(-1, 3), source=f"camera at {stamp:.3f} s", shape=(h, w), stamp=stamp,
            frame=frame,
        )  # fmt: skip

    def _cast(self, meshes, generator):
        """Distance (h, w) [m] along jittered rays, infinite where nothing is hit; |cos|."""
        o3d = open3d()
        scene = o3d.t.geometry.RaycastingScene()
        for vertices, triangles in meshes:
            scene.add_triangles(
                o3d.core.Tensor(np.asarray(vertices, np.float32)),
                o3d.core.Tensor(np.asarray(triangles, np.uint32)),
            )
        w, h = self.size
        rays = self.directions(self.jitter * generator.normal(size=(h, w, 2))) @ self.rotation.T
        start = np.broadcast_to(np.asarray(self.eye), rays.shape)
        packed = np.concatenate([start, rays], axis=-1).astype(np.float32)
        hit = scene.cast_rays(o3d.core.Tensor(packed))
        cosine = np.abs(np.einsum("hwi,hwi->hw", hit["primitive_normals"].numpy(), rays))
        return hit["t_hit"].numpy().astype(np.float64), cosine


def floor_mesh(height: float, reach: float = 6.0) -> tuple[np.ndarray, np.ndarray]:
    """A level square about the origin."""
    x = reach * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], float)
    x[:, 2] = height
    return x, np.array([[0, 1, 2], [0, 2, 3]])
