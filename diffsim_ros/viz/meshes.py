"""Markers -> triangles in the world, and the camera that projects them to pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from diffsim_ros.rotation import quat_matrix
from diffsim_ros.viz.markers import Marker, MarkerKind
from diffsim_ros.viz.motion import FACES, corners

TRIANGLES = np.array([(f[0], f[i], f[i + 1]) for f in FACES for i in (1, 2)])


@dataclass(frozen=True)
class Viewpoint:
    """A pinhole camera, z up: eye and target [m], vertical field of view [deg]."""

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    fov: float = 30.0

    def axes(self) -> np.ndarray:
        """Return the rows right, up, forward of the camera in the world (3, 3)."""
        forward = np.subtract(self.target, self.eye)
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])


def focal_length(camera: Viewpoint, height: int) -> float:
    """Return the focal length in pixels of a picture of that height."""
    return 0.5 * height / np.tan(np.radians(camera.fov) / 2)


def project(points: np.ndarray, camera: Viewpoint, width: int, height: int):
    """World points (..., 3) -> pixels (..., 2) and depth along the view [m] (...)."""
    in_camera = (points - np.asarray(camera.eye)) @ camera.axes().T
    depth = in_camera[..., 2]
    safe = np.where(np.abs(depth) < 1e-9, 1e-9, depth)
    f = focal_length(camera, height)
    pixels = np.stack(
        [0.5 * width + f * in_camera[..., 0] / safe, 0.5 * height - f * in_camera[..., 1] / safe],
        -1,
    )
    return pixels, depth


def clip_near(face: np.ndarray, camera: Viewpoint, near: float = 0.01) -> list[np.ndarray]:
    """Return the part of a triangle that is at least `near` [m] in front of the camera."""
    depth = (face - np.asarray(camera.eye)) @ camera.axes()[2] - near
    if (depth > 0).all():
        return [face]
    polygon = []
    for i in range(3):
        j = (i + 1) % 3
        if depth[i] > 0:
            polygon.append(face[i])
        if (depth[i] > 0) != (depth[j] > 0):
            polygon.append(face[i] + (face[j] - face[i]) * depth[i] / (depth[i] - depth[j]))
    return [np.array([polygon[0], polygon[i], polygon[i + 1]]) for i in range(1, len(polygon) - 1)]


@dataclass
class Soup:
    """Triangles ready to draw: corners (n, 3, 3) [m], colour (n, 4), normal (n, 3; 0 = unlit).

    closed   faces that look away are hidden by others, or have a twin that looks the other way
    """

    corners: np.ndarray
    colour: np.ndarray
    normal: np.ndarray
    table: bool = False
    closed: bool = False


def _placed(marker: Marker, points: np.ndarray) -> np.ndarray:
    """Points of the marker's own frame (n, 3) -> world frame."""
    unit = marker.orientation / np.linalg.norm(marker.orientation)
    return marker.position + points @ quat_matrix(unit).T


def extent(marker: Marker) -> np.ndarray:
    """Return points (n, 3) [m] in the world that span the marker."""
    return _placed(marker, marker.points if len(marker.points) else corners(marker.scale))


def triangles(marker: Marker, camera: Viewpoint) -> list[Soup]:
    """Return the marker's triangles; ValueError for kinds that are not drawn."""
    if marker.kind is MarkerKind.CUBE:
        faces = _placed(marker, corners(marker.scale))[TRIANGLES]
        return [_lit(faces, marker.colour, table=marker.ns == "table")]
    if marker.kind in (MarkerKind.LINE_STRIP, MarkerKind.LINE_LIST):
        world = _placed(marker, marker.points)
        ends = (world[0::2], world[1::2])
        if marker.kind is MarkerKind.LINE_STRIP:
            ends = (world[:-1], world[1:])
        return [_ribbons(*ends, marker.scale[0], marker.colour, camera)]
    if marker.kind is MarkerKind.ARROW and len(marker.points) == 2:
        return _arrow(marker)
    if marker.kind is MarkerKind.SPHERE:
        return [_lit(_placed(marker, _ball() * np.asarray(marker.scale) / 2), marker.colour)]
    if marker.kind is MarkerKind.TRIANGLE_LIST:
        faces = _placed(marker, marker.points * np.asarray(marker.scale)).reshape(-1, 3, 3)
        colour = np.asarray(marker.colour)
        if len(marker.colours):
            colour = np.reshape(marker.colours, (-1, 3, 4)).mean(axis=1)
        return [replace(_lit(faces, colour), closed=True)]
    if marker.kind in (MarkerKind.POINTS, MarkerKind.SPHERE_LIST):
        ball = _ball(rings=4) * np.asarray(marker.scale) / 2
        faces = (_placed(marker, marker.points)[:, None, None] + ball).reshape(-1, 3, 3)
        return [_lit(faces, marker.colour)]
    raise ValueError(f"Marker {marker.ns}/{marker.id}: {marker.kind.name} is not drawn here")


def _lit(faces: np.ndarray, colour, table: bool = False) -> Soup:
    """Triangles of one colour (4,), or one each (n, 4)."""
    normal = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    keep = length[:, 0] > 1e-15
    colours = np.broadcast_to(colour, (len(faces), 4))[keep]
    return Soup(faces[keep], colours, normal[keep] / length[keep], table)


def _ribbons(start, end, width: float, colour, camera: Viewpoint) -> Soup:
    """Flat quads along start -> end (n, 3) that face the camera; pulled a little towards it."""
    along = end - start
    view = 0.5 * (start + end) - np.asarray(camera.eye)
    across = np.cross(along, view)
    length = np.linalg.norm(across, axis=1, keepdims=True)
    across = across / np.where(length > 1e-12, length, 1.0) * (0.5 * width)
    away = np.linalg.norm(view, axis=1, keepdims=True)
    lift, tip = (
        -view / away * width,
        along / np.maximum(np.linalg.norm(along, axis=1), 1e-12)[:, None],
    )
    overlap = tip * (0.0 if colour[3] < 1.0 else width / 4)  # translucent ends must not add up
    start, end = start + lift - overlap, end + lift + overlap
    a, b, c, d = start - across, start + across, end + across, end - across
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    return Soup(faces, np.tile(colour, (len(faces), 1)), np.zeros((len(faces), 3)))


def _arrow(marker: Marker) -> list[Soup]:
    """Shaft and head of an ARROW given by two points; the head never longer than the arrow."""
    start, tip = _placed(marker, marker.points)
    length = float(np.linalg.norm(tip - start))
    if length < 1e-9:
        return []
    along = (tip - start) / length
    side = np.cross(along, (1.0, 0, 0) if abs(along[0]) < 0.9 else (0, 1.0, 0))
    side /= np.linalg.norm(side)
    other = np.cross(along, side)
    angle = np.linspace(0, 2 * np.pi, 17)
    ring = np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * other
    shaft, head, head_length = marker.scale
    neck = tip - along * min(head_length, 0.6 * length)
    r, big = ring * shaft / 2, ring * head / 2
    faces = []
    for i in range(16):
        j = i + 1
        faces += [
            (start + r[i], start + r[j], neck + r[j]),
            (start + r[i], neck + r[j], neck + r[i]),
        ]
        faces += [(neck + big[i], neck + big[j], tip), (neck, neck + big[j], neck + big[i])]
    return [_lit(np.array(faces), marker.colour)]


def _ball(rings: int = 8) -> np.ndarray:
    """Triangles (m, 3, 3) of the unit sphere."""
    polar = np.linspace(0, np.pi, rings + 1)
    turn = np.linspace(0, 2 * np.pi, 2 * rings + 1)
    p, t = np.meshgrid(polar, turn, indexing="ij")
    grid = np.stack([np.sin(p) * np.cos(t), np.sin(p) * np.sin(t), np.cos(p)], -1)
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    return np.concatenate(
        [np.stack([a, b, c], -2).reshape(-1, 3, 3), np.stack([a, c, d], -2).reshape(-1, 3, 3)]
    )
