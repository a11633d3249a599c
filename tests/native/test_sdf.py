"""Derivative batteries of every signed distance function: value, normal and curvature."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.sdf_battery import check_sdf

TURN = [0.3, -0.2, 0.1, 0.9]


def test_battery_of_plane(points):
    g, _ = check_sdf(_engine.Plane([0, 0, 2], 0.25), points)
    assert g == pytest.approx(points[:, 2] - 0.25)


def test_battery_of_sphere(points):
    g, _ = check_sdf(_engine.Sphere(0.6), points)
    assert g == pytest.approx(np.linalg.norm(points, axis=1) - 0.6)
    assert (g < 0).any()
    assert np.all(np.isfinite(_engine.Sphere(0.6).evaluate(np.zeros((1, 3)))[1]))


def test_battery_of_box(points):
    """Faces, edges and corners outside and faces inside are all met; the distance is exact."""
    half = np.array([0.5, 0.4, 0.3])
    g, region = check_sdf(_engine.Box(half), points)
    assert len(set(region.tolist())) == 26 + 6
    nearest = np.clip(points, -half, half)
    outside = g > 0
    distance = np.linalg.norm(points - nearest, axis=1)
    assert g[outside] == pytest.approx(distance[outside])
    assert g[~outside] == pytest.approx(-np.min(half - np.abs(points[~outside]), axis=1))


def test_battery_of_transformed(points):
    place = np.array([0.2, -0.1, 0.3])
    g, _ = check_sdf(_engine.Transformed(_engine.Box([0.5, 0.4, 0.3]), place, TURN), points)
    x, y, z, w = np.array(TURN) / np.linalg.norm(TURN)
    hat = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    R = np.eye(3) + 2 * w * hat + 2 * hat @ hat
    assert g == pytest.approx(_engine.Box([0.5, 0.4, 0.3]).evaluate((points - place) @ R)[0])


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: _engine.Plane([0, 0, 0], 1), "plane: normal"),
        (lambda: _engine.Sphere(-1), "sphere: radius"),
        (lambda: _engine.Box([1, np.nan, 1]), "box: half_extents"),
        (lambda: _engine.Transformed(_engine.Sphere(1), [0, 0, 0], [0, 0, 0, 0]), "orientation"),
        (lambda: _engine.Capsule(-0.1, 1), "capsule: half_length"),
        (lambda: _engine.Capsule(0.1, 0), "capsule: radius"),
        (lambda: _engine.Cylinder(np.inf, 1), "cylinder: half_height"),
        (lambda: _engine.Torus(0.2, 0.2), "torus: tube_radius"),
        (lambda: _engine.HalfSpaces([[0, 0, 1]], [0, 1]), "halfspaces: offsets"),
        (lambda: _engine.HalfSpaces([[0, 0, 0]], [0]), r"halfspaces: normals\[0\]"),
        (lambda: _engine.HalfSpaces([[0, 0, 1], [0, 0, -1]], [0, -1]), "enclose a volume"),
        (lambda: _engine.HalfSpaces([[0, 0, 1], [0, 0, -1]], [0, 0]), "enclose a volume"),
        (lambda: _engine.HalfSpaces(np.ones((65, 3)), np.ones(65)), "1 to 64"),
        (lambda: _engine.Union([]), "union: members"),
        (lambda: _engine.Intersection([_engine.Sphere(1)], width=-1), "intersection: width"),
        (lambda: _engine.Difference([_engine.Sphere(1)], width=np.nan), "difference: width"),
        (lambda: _engine.Offset(_engine.Sphere(1), -1), "offset: distance"),
        (lambda: _engine.Offset(_engine.Sphere(1), np.inf), "offset: distance"),
    ],
)
def test_unusable_shapes_are_refused_by_name(make, names):
    with pytest.raises(_engine.InvalidInput, match=names):
        make()
