"""Volumes, uniform inertias and contact spheres of boxes and spheres (body frame, SI units)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
SAMPLES = 200  # of a sphere


@dataclass(frozen=True)
class ContactSpheres:
    """Contact points of a body: xhat_i = scale * local_i + radius * inset_i, spheres of `radius`.

    local    nominal points, body frame [m]  (n, 3)
    inset    direction in which a radius moves the sphere's centre [1]  (n, 3)
    radius   [m]
    scale    factor on the nominal shape [1]
    """

    local: Array
    inset: Array
    radius: float
    scale: float = 1.0

    def centres(self) -> Array:
        """Sphere centres in the body frame [m]  (n, 3)."""
        return self.scale * self.local + self.radius * self.inset


def volume(kind: str, size: Array) -> float:
    """Volume [m^3] of a box or sphere with bounding edges `size` [m] (3,)."""
    box = float(np.prod(size))
    return box if kind == "box" else math.pi / 6 * box


def uniform_inertia(kind: str, size: Array) -> Array:
    """Inertia per mass [m^2]: xx, yy, zz, xy, xz, yz about the centre of a uniform shape  (6,)."""
    square = np.asarray(size, float) ** 2
    share = 1 / 12 if kind == "box" else 1 / 20  # sphere: 2/5 r^2 = (d^2 + d^2) / 20
    return np.concatenate([share * (square.sum() - square), np.zeros(3)])


def samples(kind: str | None, size: Array) -> Array:
    """Points on the surface of a shape, body frame [m]  (n, 3)."""
    if kind == "box":
        return face_grid_contact_spheres(size, 9, 0.0, 1.0).local
    if kind == "sphere":
        return fibonacci_sphere(SAMPLES) * np.asarray(size) / 2
    return np.zeros((0, 3))


def fibonacci_sphere(count: int) -> Array:
    """Evenly spread unit vectors (count, 3)."""
    k = np.arange(count) + 0.5
    z, turn = 1 - 2 * k / count, k * math.pi * (1 + 5**0.5)
    rim = np.sqrt(1 - z**2)
    return np.stack([rim * np.cos(turn), rim * np.sin(turn), z], axis=1)


def torque_radius(kind: str | None, size: Array, inertia: Array, mass: float) -> float:
    """Length [m] by which torques are divided in the residual norm.

    Bounding radius of the shape; without a shape, radius of the uniform sphere with this inertia.
    """
    if kind == "sphere":
        return float(size[0]) / 2
    if kind == "box":
        return float(np.linalg.norm(size)) / 2
    return math.sqrt(float(np.sum(inertia[:3])) / (1.2 * mass))


def corner_contact_spheres(size: Array, radius: float, scale: float) -> ContactSpheres:
    """Eight corner spheres, inset so that they touch the three faces of the nominal box."""
    sign = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    return ContactSpheres(sign * np.asarray(size) / 2, -sign, radius, scale)


def face_grid_contact_spheres(
    size: Array, per_edge: int, radius: float, scale: float
) -> ContactSpheres:
    """Points on all faces, `per_edge` along each edge, shared ones once (dense faces, [G A.2.3]).

    With a radius the spheres' centres lie on the box that is smaller by it on every side.
    """
    ticks = np.linspace(-1.0, 1.0, per_edge)
    unit = np.array([u for u in itertools.product(ticks, repeat=3) if max(map(abs, u)) == 1.0])
    return ContactSpheres(unit * np.asarray(size) / 2, -unit, radius, scale)


def spheres_at(positions: Array, radius: float, scale: float = 1.0) -> ContactSpheres:
    """Given points as spheres of `radius` around them, not inset."""
    local = np.asarray(positions, float).reshape(-1, 3)
    return ContactSpheres(local, np.zeros_like(local), radius, scale)


def contact_spheres(kind: str, values: dict, size: Array) -> ContactSpheres:
    """Contact spheres of a resolved `contact_spheres: {kind: values}` entry for a shape of edges
    `size`."""
    if kind == "corners":
        return corner_contact_spheres(size, values["radius"], values["scale"])
    if kind == "face_grid":
        return face_grid_contact_spheres(
            size, values["per_edge"], values["radius"], values["scale"]
        )
    if kind == "points":
        return spheres_at(values["positions"], values["radius"], values["scale"])
    return spheres_at(np.zeros((1, 3)), values.get("radius", 0.0))


def six_of(inertia: float | list[float]) -> list[float]:
    """xx, yy, zz, xy, xz, yz of one number, three or six."""
    if isinstance(inertia, list):
        return (inertia + [0.0] * 3)[:6]
    return [inertia] * 3 + [0.0] * 3


def symmetric(six: object) -> Array:
    """Matrix (3, 3) of xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
