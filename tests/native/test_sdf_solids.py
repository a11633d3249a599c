"""Capsule, cylinder, torus and half-space sets: batteries, exact distances, refusals."""

import itertools
import math

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.sdf_battery import check_sdf


def nearest_of(surface, points):
    """Distance from each point to the nearest of many points of a surface."""
    return np.array([np.min(np.linalg.norm(surface - x, axis=1)) for x in points])


def test_battery_of_capsule(points):
    sdf = _engine.Capsule(half_length=0.4, radius=0.3)
    g, region = check_sdf(sdf, points)
    foot = points * [0, 0, 1]
    foot[:, 2] = np.clip(foot[:, 2], -0.4, 0.4)
    assert g == pytest.approx(np.linalg.norm(points - foot, axis=1) - 0.3)
    assert set(region.tolist()) == {0, 1, 2}
    assert sdf.thickness == pytest.approx(0.6)


def test_battery_of_cylinder(points):
    sdf = _engine.Cylinder(half_height=0.35, radius=0.5)
    g, region = check_sdf(sdf, points)
    assert set(region.tolist()) == set(range(5))
    rho, z = np.hypot(points[:, 0], points[:, 1]), np.abs(points[:, 2])
    out = np.hypot(np.maximum(rho - 0.5, 0), np.maximum(z - 0.35, 0))
    depth = np.minimum(0.5 - rho, 0.35 - z)
    assert g == pytest.approx(np.where(depth >= 0, -depth, out))
    assert sdf.thickness == pytest.approx(0.7)


def test_battery_of_torus(points):
    sdf = _engine.Torus(ring_radius=0.5, tube_radius=0.2)
    g, _ = check_sdf(sdf, points)
    turn = np.arctan2(points[:, 1], points[:, 0])
    ring = 0.5 * np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    assert g == pytest.approx(np.linalg.norm(points - ring, axis=1) - 0.2)
    assert (g < 0).any()
    assert sdf.thickness == pytest.approx(0.4)


@pytest.mark.parametrize(
    "sdf", [_engine.Capsule(0.4, 0.3), _engine.Cylinder(0.35, 0.5), _engine.Torus(0.5, 0.2)]
)
def test_axis_and_core_of_a_solid_of_revolution_are_finite(sdf):
    axis = np.array([[0, 0, z] for z in (-0.9, -0.4, 0, 0.35, 0.4, 0.9)] + [[0.5, 0, 0]])
    g, n, kappa, _ = sdf.evaluate(axis)
    assert np.isfinite(g).all()
    assert np.linalg.norm(n, axis=1) == pytest.approx(1)
    assert np.isfinite(kappa).all()


def test_the_poles_of_a_capsule_curve_like_a_sphere():
    _, n, kappa, _ = _engine.Capsule(0.4, 0.3).evaluate(np.array([[0, 0, 0.9]]))
    assert n[0] == pytest.approx([0, 0, 1])
    assert kappa[0] == pytest.approx(np.diag([2.0, 2.0, 0.0]))


def box_planes(half):
    normals = np.concatenate([np.eye(3), -np.eye(3)])
    return normals, np.concatenate([half, half])


def test_battery_of_half_spaces_agrees_with_a_box(points):
    half = np.array([0.5, 0.4, 0.3])
    sdf = _engine.HalfSpaces(*box_planes(half))
    g, region = check_sdf(sdf, points)
    box = _engine.Box(half)
    expected = box.evaluate(points)
    assert g == pytest.approx(expected[0], abs=1e-12)
    assert sdf.evaluate(points)[1] == pytest.approx(expected[1], abs=1e-9)
    assert sdf.evaluate(points)[2] == pytest.approx(expected[2], abs=1e-7)
    assert sdf.regions == 6 + 12 + 8
    assert set(region.tolist()) == set(range(26))
    assert sdf.thickness == pytest.approx(0.6)


def octahedron():
    normals = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    return normals, np.full(8, 0.5 / math.sqrt(3))


def test_battery_of_half_spaces_of_an_octahedron(points):
    """Distances against a brute-force search over its surface; redundant planes change nothing."""
    normals, offsets = octahedron()
    sdf = _engine.HalfSpaces(normals, offsets)
    g, _ = check_sdf(sdf, points)
    assert sdf.regions == 8 + 12 + 6
    assert sdf.thickness == pytest.approx(1 / math.sqrt(3))
    share = np.array([w for w in itertools.product(range(41), repeat=3) if sum(w) == 40]) / 40
    faces = np.concatenate([share * 0.5 * sign for sign in normals])
    outside = g > 0.05
    distance = nearest_of(faces, points[outside])
    assert np.all(distance >= g[outside] - 1e-12)
    assert np.all(distance <= g[outside] + 0.5 * math.sqrt(2) / 40)
    more = _engine.HalfSpaces(
        np.concatenate([normals, [[0, 0, 1], [1, 1, 1]]]), np.concatenate([offsets, [0.5, 0.9]])
    )
    assert more.evaluate(points)[0] == pytest.approx(g, abs=1e-9)


def test_battery_of_half_spaces_without_bounds(points):
    """A wedge (one line as edge), a slab (no edge) and an open corner (rays)."""
    wedge = _engine.HalfSpaces([[1, 0, 0], [0, 1, 0]], [0.1, -0.2])
    g, _ = check_sdf(wedge, points)
    a, b = points[:, 0] - 0.1, points[:, 1] + 0.2
    inside = np.maximum(a, b)
    outside = np.hypot(np.maximum(a, 0), np.maximum(b, 0))
    assert g == pytest.approx(np.where(inside <= 0, inside, outside))
    assert wedge.regions == 3
    assert wedge.thickness == math.inf
    slab = _engine.HalfSpaces([[0, 0, 1], [0, 0, -1]], [0.3, 0.1])
    g, _ = check_sdf(slab, points)
    assert g == pytest.approx(np.abs(points[:, 2] - 0.1) - 0.2)
    assert slab.thickness == pytest.approx(0.4)
    corner = _engine.HalfSpaces(np.eye(3), [0, 0, 0])
    g, _ = check_sdf(corner, points)
    octant = (points > 0).all(axis=1)
    assert g[octant] == pytest.approx(np.linalg.norm(points[octant], axis=1))
    assert corner.regions == 3 + 3 + 1


@pytest.mark.parametrize("seed", range(5))
def test_battery_of_half_spaces_at_random(points, seed):
    """A random polytope about the origin: never farther than any of its planes allows."""
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(14, 3))
    offsets = rng.uniform(0.2, 0.6, 14)
    sdf = _engine.HalfSpaces(normals, offsets)
    g, _ = check_sdf(sdf, points)
    unit = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    gaps = points @ unit.T - offsets
    assert np.all(g >= gaps.max(axis=1) - 1e-12)
    feet = points - g[:, None] * sdf.evaluate(points)[1]
    outside = g > 0
    assert np.abs((feet[outside] @ unit.T - offsets).max(axis=1)).max() < 1e-8
    if math.isfinite(sdf.thickness):
        assert sdf.thickness >= 2 * offsets.min() - 1e-12


def test_planes_have_no_thickness_to_pass_through():
    assert _engine.Plane([0, 0, 1]).thickness == math.inf
    assert _engine.Sphere(0.3).thickness == pytest.approx(0.6)
    assert _engine.Box([0.5, 0.2, 0.3]).thickness == pytest.approx(0.4)
    assert _engine.Transformed(_engine.Sphere(0.3), [1, 2, 3]).thickness == pytest.approx(0.6)
