"""Bounds of every sdf, and its surface as triangles."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native import surfaces

BALL = _engine.Transformed(_engine.Sphere(0.3), [0.3, 0.1, 0])
TURN = [0.3, -0.2, 0.1, 0.9]
MESH = _engine.TriangleMesh(*surfaces.turned(surfaces.angle()))
BOUNDED = {
    "sphere": _engine.Sphere(0.6),
    "box": _engine.Box([0.5, 0.4, 0.3]),
    "capsule": _engine.Capsule(0.4, 0.3),
    "cylinder": _engine.Cylinder(0.35, 0.5),
    "torus": _engine.Torus(0.5, 0.2),
    "halfspaces": _engine.HalfSpaces([[1, 1, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], [0.4] * 4),
    "level set": _engine.LevelSet(MESH, 0.04),
    "turned": _engine.Transformed(_engine.Cylinder(0.35, 0.2), [0.1, 0.2, -0.1], TURN),
    "offset": _engine.Offset(_engine.Box([0.4, 0.3, 0.2]), 0.1),
    "smooth union": _engine.Union([_engine.Sphere(0.4), BALL], width=0.3),
    "intersection": _engine.Intersection([_engine.Box([0.4] * 3), BALL]),
    "grown intersection": _engine.Offset(_engine.Intersection([_engine.Sphere(0.4), BALL]), 0.1),
    "difference": _engine.Difference([_engine.Box([0.4] * 3), BALL], width=0.05),
}
UNBOUNDED = {
    "plane": _engine.Plane([0, 0, 1], 0),
    "wedge": _engine.HalfSpaces([[1, 0, 0], [0, 1, 0]], [0, 0]),
    "slab": _engine.HalfSpaces([[0, 0, 1], [0, 0, -1]], [0.1, 0.1]),
    "complement": _engine.Complement([_engine.Sphere(1)]),
    "turned plane": _engine.Transformed(_engine.Plane([0, 0, 1], 0), [0, 0, 1], TURN),
}


@pytest.mark.parametrize("level", [0.0, 0.15])
@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_hold_all_points_below_a_level_and_little_more(name, level):
    sdf = BOUNDED[name]
    low, high = sdf.bounds(level)
    x = np.random.default_rng(0).uniform(low - 0.1, high + 0.1, (200000, 3))
    below = x[sdf.evaluate(x)[0] < level]
    assert len(below) > 200
    assert np.all(below >= low)
    assert np.all(below <= high)
    assert np.max([below.min(axis=0) - low, high - below.max(axis=0)]) < 0.3


@pytest.mark.parametrize("name", UNBOUNDED)
def test_what_has_no_end_has_infinite_bounds(name):
    low, high = UNBOUNDED[name].bounds()
    assert np.all(low == -np.inf)
    assert np.all(high == np.inf)
    with pytest.raises(_engine.InvalidInput, match="outline: box: must be finite"):
        UNBOUNDED[name].outline()


@pytest.mark.parametrize("name", BOUNDED)
def test_the_outline_is_a_closed_surface_on_the_sdf(name):
    sdf = BOUNDED[name]
    vertices, triangles = sdf.outline(cells=40)
    low, high = sdf.bounds()
    cell = np.max(high - low) / 36
    g = sdf.evaluate(vertices)[0]
    assert np.abs(g).max() < 0.3 * cell
    assert np.quantile(np.abs(g), 0.95) < 1e-3 * cell
    edges = {}
    for t in triangles:
        for k in range(3):
            edge = (int(t[k]), int(t[(k + 1) % 3]))
            edges[edge] = edges.get(edge, 0) + 1
    assert all(edges.get((b, a)) == n for (a, b), n in edges.items())
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
    x = np.random.default_rng(1).uniform(low, high, (100000, 3))
    sampled = np.prod(high - low) * np.mean(sdf.evaluate(x)[0] < 0)
    assert volume == pytest.approx(sampled, rel=0.04)


def test_an_open_outline_ends_at_the_box():
    vertices, triangles = UNBOUNDED["plane"].outline([-1, -1, -0.3], [1, 1, 0.4], cells=20)
    assert vertices[:, 2] == pytest.approx(0, abs=1e-12)
    assert np.abs(vertices).max() > 0.9
    assert len(triangles) > 500
    normal = np.cross(*(vertices[triangles[:, k]] - vertices[triangles[:, 0]] for k in (1, 2)))
    assert np.all(normal[:, 2] > 0)


def test_too_fine_an_outline_is_refused():
    with pytest.raises(_engine.InvalidInput, match="outline: cells: must be 4 to 256"):
        BOUNDED["box"].outline(cells=1000)
