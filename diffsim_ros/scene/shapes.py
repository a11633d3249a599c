"""Volumes, uniform inertias, contact spheres and surfaces of primitives (own frame, SI units).

A box, sphere, cylinder or capsule about z is known by its kind and its bounding edges.
"""

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
    """Volume [m^3] of a shape with bounding edges `size` [m] (3,)."""
    if kind == "capsule":
        return sum(_capsule_volumes(size))
    share = {"box": 1.0, "sphere": math.pi / 6, "cylinder": math.pi / 4}[kind]
    return share * float(np.prod(size))


def _capsule_volumes(size: Array) -> tuple[float, float]:
    """Of the cylinder and of both half balls [m^3]."""
    radius, length = float(size[0]) / 2, float(size[2] - size[0])
    return math.pi * radius**2 * length, 4 / 3 * math.pi * radius**3


def uniform_inertia(kind: str, size: Array) -> Array:
    """Inertia per mass [m^2]: xx, yy, zz, xy, xz, yz about the centre of a uniform shape  (6,)."""
    square = np.asarray(size, float) ** 2
    if kind == "cylinder":
        side = square[0] / 16 + square[2] / 12
        return np.array([side, side, square[0] / 8, 0, 0, 0])
    if kind == "capsule":
        r, length = float(size[0]) / 2, float(size[2] - size[0])
        middle, ends = np.array(_capsule_volumes(size)) / volume(kind, size)
        side = middle * (r**2 / 4 + length**2 / 12)
        side += ends * (2 / 5 * r**2 + length**2 / 4 + 3 / 8 * length * r)
        return np.array([side, side, (middle / 2 + 2 / 5 * ends) * r**2, 0, 0, 0])
    share = 1 / 12 if kind == "box" else 1 / 20  # sphere: 2/5 r^2 = (d^2 + d^2) / 20
    return np.concatenate([share * (square.sum() - square), np.zeros(3)])


def samples(kind: str | None, size: Array) -> Array:
    """Points on the surface of a shape, body frame [m]  (n, 3)."""
    if kind == "box":
        return face_grid_contact_spheres(size, 9, 0.0, 1.0).local
    if kind == "sphere":
        return fibonacci_sphere(SAMPLES) * np.asarray(size) / 2
    return surface_mesh(kind, size)[0]


def surface_mesh(kind: str | None, size: Array, around: int = 32) -> tuple[Array, Array]:
    """Vertices (n, 3) [m] and outward triangles (m, 3) of a cylinder or capsule; else none."""
    half = np.asarray(size, float) / 2
    if kind == "cylinder":
        rows = 9
        profile = [(half[0], z) for z in np.linspace(-half[2], half[2], rows)]
    elif kind == "capsule":
        angles = np.linspace(-math.pi / 2, math.pi / 2, 18)[1:-1]
        ends = np.sign(angles) * (half[2] - half[0])
        rims = zip(half[0] * np.cos(angles), ends + half[0] * np.sin(angles), strict=True)
        profile = list(rims)
    else:
        return np.zeros((0, 3)), np.zeros((0, 3), int)
    turn = 2 * math.pi * np.arange(around) / around
    rings = [np.stack([r * np.cos(turn), r * np.sin(turn), np.full(around, z)], axis=1)
             for r, z in profile]  # fmt: skip
    poles = np.array([[0, 0, -half[2]], [0, 0, half[2]]])
    k, n = np.arange(around), len(profile)
    after, faces = (k + 1) % around, []
    for row in range(n - 1):
        a, b = row * around + k, row * around + after
        faces += [np.stack([a, b, b + around], 1), np.stack([a, b + around, a + around], 1)]
    low, high, top = n * around, n * around + 1, (n - 1) * around
    faces.append(np.stack([np.full(around, low), after, k], 1))
    faces.append(np.stack([np.full(around, high), top + k, top + after], 1))
    return np.concatenate([*rings, poles]), np.concatenate(faces)


def fibonacci_sphere(count: int) -> Array:
    """Evenly spread unit vectors (count, 3)."""
    k = np.arange(count) + 0.5
    z, turn = 1 - 2 * k / count, k * math.pi * (1 + 5**0.5)
    rim = np.sqrt(1 - z**2)
    return np.stack([rim * np.cos(turn), rim * np.sin(turn), z], axis=1)


def bounding_radius(kind: str, size: Array) -> float:
    """About the origin [m]."""
    if kind == "sphere":
        return float(size[0]) / 2
    if kind == "capsule":
        return float(size[2]) / 2
    if kind == "cylinder":
        return math.hypot(size[0], size[2]) / 2
    return float(np.linalg.norm(size)) / 2


def torque_radius(inertia: Array, mass: float) -> float:
    """Radius [m] of the uniform sphere with this inertia (6,) [kg m^2], of a body without shape."""
    return math.sqrt(float(np.sum(inertia[:3])) / (1.2 * mass))


def inertia_box(inertia: Array, mass: float) -> tuple[Array, Array]:
    """Edges (3,) [m] of the uniform box with this inertia (6,) [kg m^2], and its axes (3, 3)."""
    moments, axes = np.linalg.eigh(symmetric(inertia))
    axes[:, 2] *= np.linalg.det(axes)  # right-handed
    squares = 6.0 * (moments.sum() - 2.0 * moments) / mass
    return np.sqrt(np.maximum(squares, 1e-3 * squares.max())), axes


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


def rim_contact_spheres(size: Array, count: int, radius: float, scale: float) -> ContactSpheres:
    """`count` spheres along either rim of a cylinder, inset so that they touch side and end."""
    turn = 2 * math.pi * np.arange(count) / count
    out = [np.stack([np.cos(turn), np.sin(turn), np.full(count, end)], axis=1) for end in (-1, 1)]
    out = np.concatenate(out)
    return ContactSpheres(out * np.asarray(size) / 2, -out, radius, scale)


def axis_contact_spheres(size: Array, count: int, radius: float, scale: float) -> ContactSpheres:
    """`count` spheres along the axis of a capsule, the outer ones its ends."""
    reach = (size[2] - size[0]) / 2
    local = np.zeros((count, 3))
    local[:, 2] = np.linspace(-reach, reach, count)
    return spheres_at(local, radius, scale)


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
    if kind in ("rims", "axis"):
        place = rim_contact_spheres if kind == "rims" else axis_contact_spheres
        return place(size, values["count"], values["radius"], values["scale"])
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
