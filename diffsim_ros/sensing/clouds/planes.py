"""Planes of a scene: found by RANSAC, refined by least squares, with their uncertainty.

With c the centre of the inliers and t_1, t_2 the plane's own axes, the plane moves by

    n -> n + a_1 t_1 + a_2 t_2,   h -> h + b,   residual of a point  r = n.(x - c) - b,

whose least squares solution about c is a principal component analysis.  Depth errors are correlated
over whole patches of an image, so that the covariance of (a_1, a_2, b) is a sandwich over BLOCKS x
BLOCKS patches of the plane; counting points as independent makes it ten times too small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from .library import o3d_cloud, open3d

BLOCKS = 6
LEVEL = np.cos(np.deg2rad(20.0))
ROUNDS = 10
FACING, FACING_LEVEL = 0.5, 0.9
"""Least cosine between a floor's normal and up: -y of an optical frame, z of a level one."""


@dataclass(frozen=True, eq=False)
class Plane:
    """normal . x = offset, the normal towards the sensor: g(x) = normal . x - offset is free space.

    centre      of the inliers [m] (3,);  axes (2, 3) in the plane, along its extents
    covariance  of (tilt about axes[1] [rad], tilt about -axes[0] [rad], height at the centre [m])
    rms         of the inliers' distances [m];  inliers: how many;  extent (2,) [m]
    name        floor, floor_2 ... where it is level, else wall, wall_2 ...
    """

    normal: np.ndarray
    offset: float
    centre: np.ndarray
    axes: np.ndarray
    covariance: np.ndarray
    rms: float
    inliers: int
    extent: np.ndarray
    name: str = "plane"

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Signed distances (n,) [m], > 0 on the sensor's side."""
        return np.asarray(points) @ self.normal - self.offset

    @property
    def sigma_normal(self) -> float:
        """Standard deviation of the normal's direction [rad], the larger of the two tilts."""
        return float(np.sqrt(np.linalg.eigvalsh(self.covariance[:2, :2])[-1]))

    def sigma_height(self, place: np.ndarray | None = None) -> float:
        """Standard deviation of the plane's height [m] at a place (3,), by default its centre."""
        arm = np.zeros(2) if place is None else self.axes @ (np.asarray(place) - self.centre)
        slope = np.array([-arm[0], -arm[1], 1.0])
        return float(np.sqrt(slope @ self.covariance @ slope))

    def sdf(self) -> dict:
        """Its keys in `sdfs:` of a scene."""
        normal = [float(v) for v in self.normal]
        return {"plane": {"normal": normal, "offset": float(self.offset)}}


def find_planes(points: np.ndarray, eye: np.ndarray, options: Mapping) -> list[Plane]:
    """Planes among points (n, 3), the largest first; options as options.PLANES.

    Seeded; Open3D draws the candidates.
    """
    o3d = open3d()
    left, found, least = points, [], max(3, options["share"] * len(points))
    for k in range(options["count"]):
        if len(left) < least:
            break
        o3d.utility.random.seed(k)
        model, _ = o3d_cloud(left).segment_plane(options["distance"], 3, options["iterations"])
        plane = refined(left, model[:3], -model[3], eye, options["distance"])
        if plane.inliers < least:
            break
        found.append(plane)
        left = left[np.abs(plane.distance(left)) > options["distance"]]
    return _named(found, np.asarray(options["up"], float))


def is_floor(plane: Plane) -> bool:
    """Whether a plane may be a floor: it faces up in an optical frame or in a level one."""
    return bool(-plane.normal[1] > FACING or plane.normal[2] > FACING_LEVEL)


def refined(
    points: np.ndarray, normal: np.ndarray, offset: float, eye: np.ndarray, distance: float
) -> Plane:
    """The least squares plane of the points within `distance` [m], from a first guess.

    Raises InputError if these points do not span a plane.
    """
    size = float(np.linalg.norm(normal))
    normal, offset = np.asarray(normal, float) / size, offset / size
    inside: np.ndarray | None = None
    for _ in range(ROUNDS):
        before, inside = inside, np.abs(points @ normal - offset) <= distance
        if before is not None and np.array_equal(before, inside):
            break
        near = points[inside]
        centre = near.mean(axis=0) if len(near) > 3 else np.zeros(3)
        values, axes = np.linalg.eigh((near - centre).T @ (near - centre))
        if len(near) <= 3 or values[1] < 1e-12 * values[2]:
            rule = "points that span a plane"
            raise InputError("planes", "inliers", f"{len(near)} on a line", rule)
        normal = axes[:, 0]
        offset = float(normal @ centre)
    if normal @ (eye - centre) < 0:
        normal, offset = -normal, -offset
    along = np.stack([axes[:, 2], np.cross(normal, axes[:, 2])])
    flat = (near - centre) @ along.T
    residual = near @ normal - offset
    return Plane(
        normal, offset, centre, along, _covariance(flat, residual),
        float(np.sqrt(np.mean(residual**2))), len(near), np.ptp(flat, axis=0),
    )  # fmt: skip


def _covariance(flat: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """(3, 3) of (a_1, a_2, b) by patches of the plane; flat (n, 2) places about the centre."""
    slopes = np.column_stack([-flat, np.ones(len(flat))])
    inverse = np.linalg.inv(slopes.T @ slopes)
    low, size = flat.min(axis=0), np.maximum(np.ptp(flat, axis=0), 1e-12)
    cell = np.minimum((BLOCKS * (flat - low) / size).astype(int), BLOCKS - 1)
    patch = cell[:, 0] * BLOCKS + cell[:, 1]
    score = np.zeros((BLOCKS * BLOCKS, 3))
    np.add.at(score, patch, slopes * residual[:, None])
    filled = len(np.unique(patch))
    factor = filled / max(filled - 3, 1)
    return factor * inverse @ (score.T @ score) @ inverse


def _named(planes: Sequence[Plane], up: np.ndarray) -> list[Plane]:
    up = up / np.linalg.norm(up)
    counts = {"floor": 0, "wall": 0}
    named = []
    for plane in planes:
        kind = "floor" if plane.normal @ up > LEVEL else "wall"
        counts[kind] += 1
        name = kind if counts[kind] == 1 else f"{kind}_{counts[kind]}"
        named.append(Plane(**{**vars(plane), "name": name}))
    return named


def scene_snippet(planes: Sequence[Plane]) -> str:
    """`sdfs:` of a scene file with these planes as contact surfaces, sigmas as comments."""
    lines = ["sdfs:"]
    for plane in planes:
        tilt = np.degrees(plane.sigma_normal)
        lines += [
            f"  # {plane.inliers} points, rms {1e3 * plane.rms:.2f} mm; +- {tilt:.3f} deg,"
            f" +- {1e3 * plane.sigma_height():.2f} mm at its centre,"
            f" +- {1e3 * plane.sigma_height(np.zeros(3)):.2f} mm at the origin",
            f"  {plane.name}:",
            f"    plane: {{normal: [{', '.join(f'{v:.6f}' for v in plane.normal)}],"
            f" offset: {plane.offset:.5f}}}",
        ]
    return "\n".join(lines) + "\n"
