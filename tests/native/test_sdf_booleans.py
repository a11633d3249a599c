"""Union, intersection, difference, complement, sharp and blended, and offset."""

import math

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.sdf_battery import check_sdf

OPERATIONS = ["Union", "Intersection", "Difference", "Complement"]


def pair():
    return [_engine.Sphere(0.6), _engine.Transformed(_engine.Box([0.3] * 3), [0.5, 0.1, 0])]


def gaps(members, points):
    return np.array([m.evaluate(points)[0] for m in members])


def sharp(name, g):
    """What the operation does to the gaps of its members (m, n)."""
    if name == "Difference":
        return np.max(np.concatenate([g[:1], -g[1:]]), axis=0)
    return {"Union": g.min(0), "Intersection": g.max(0), "Complement": -g.min(0)}[name]


@pytest.mark.parametrize("name", OPERATIONS)
def test_battery_of_boolean(points, name):
    members = [*pair(), _engine.Transformed(_engine.Torus(0.5, 0.2), [0, 0, 0.5])]
    sdf = getattr(_engine, name)(members)
    g, region = check_sdf(sdf, points)
    assert g == pytest.approx(sharp(name, gaps(members, points)))
    assert {0} < set(region.tolist())
    assert sdf.regions == sum(m.regions for m in members)


@pytest.mark.parametrize("name", OPERATIONS)
def test_battery_of_boolean_with_a_blend(points, name):
    members, width = pair(), 0.4
    sdf = getattr(_engine, name)(members, width=width)
    g, region = check_sdf(sdf, points, unit=False)
    a, b = gaps(members, points)
    added = (
        width / 6 * np.maximum(0, 1 - np.abs(a + b if name == "Difference" else a - b) / width) ** 3
    )
    side = -1 if name == "Union" else 1
    assert g == pytest.approx(sharp(name, np.array([a, b])) + side * added)
    assert added.max() > 0.95 * width / 6
    assert np.all(np.linalg.norm(sdf.evaluate(points)[1], axis=1) <= 1 + 1e-12)
    blended = added > 0
    assert blended.any()
    assert region[blended].min() >= 1 + 33 > region[~blended].max()


@pytest.mark.parametrize("name", ["Union", "Intersection", "Difference"])
def test_a_blend_is_twice_continuously_differentiable(name):
    """Value, normal and curvature do not jump where the blend begins, ends, or members change."""
    sdf = getattr(_engine, name)(
        [_engine.Sphere(0.6), _engine.Plane([0.2, 0.1, 1], -0.1)], width=0.3
    )
    start, end = np.array([-0.9, -0.35, 0.7]), np.array([0.8, 0.15, -0.9])
    t = np.linspace(0, 1, 40001)[:, None]
    g, n, kappa, region = sdf.evaluate(start + t * (end - start))
    assert len(set(region.tolist())) == 3
    for values, jump in ((g, 1e-4), (n, 1e-3), (kappa, 1e-2)):
        assert np.abs(np.diff(values, axis=0)).max() < jump


def test_battery_of_boolean_in_a_boolean(points):
    inner = _engine.Difference(pair(), width=0.2)
    sdf = _engine.Union([inner, _engine.Plane([0, 0, 1], -0.3), _engine.Sphere(0.2)], width=0.1)
    check_sdf(sdf, points, unit=False)
    assert sdf.regions < 40000


def test_battery_of_offset(points):
    box = _engine.Box([0.4, 0.3, 0.2])
    sdf = _engine.Offset(box, 0.1)
    g, _ = check_sdf(sdf, points)
    assert g == pytest.approx(box.evaluate(points)[0] - 0.1)
    assert sdf.thickness == pytest.approx(0.6)
    assert _engine.Offset(box, -0.15).thickness == pytest.approx(0.1)


def test_thickness_of_combinations():
    sphere, box = _engine.Sphere(0.6), _engine.Box([0.3] * 3)
    assert _engine.Union([sphere, box]).thickness == pytest.approx(0.6)
    assert _engine.Intersection([sphere, _engine.Plane([0, 0, 1])]).thickness == pytest.approx(1.2)
    assert _engine.Difference([sphere, box]).thickness == pytest.approx(1.2)
    assert _engine.Complement([box]).thickness == math.inf
