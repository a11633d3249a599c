"""Ellipsoids and height fields: battery, exact distances, shapes that are known."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from tests.native.sdf_battery import check_sdf

HALF = (0.5, 0.3, 0.2)


def test_battery_of_ellipsoid():
    points = np.random.default_rng(0).uniform(-1, 1, (600, 3))
    points = points[np.linalg.norm(points / HALF, axis=1) > 0.6]  # off the medial axis
    g, _ = check_sdf(_engine.Ellipsoid(HALF), points)
    assert ((g < 0) == (np.linalg.norm(points / HALF, axis=1) < 1)).all()


def test_a_distance_from_an_ellipsoid_is_that_from_its_surface():
    rng = np.random.default_rng(1)
    ball = rng.normal(size=(200_000, 3))
    surface = ball / np.linalg.norm(ball, axis=1, keepdims=True) * HALF
    for x in [*rng.uniform(-0.8, 0.8, (10, 3)), np.zeros(3), [0.4, 0, 0], [0, 0, 0.1]]:
        g, n, *_ = _engine.Ellipsoid(HALF).evaluate(np.array([x]))
        far = np.linalg.norm(surface - x, axis=1).min()
        assert abs(g[0]) == pytest.approx(far, abs=2e-4 + 1e-4 / max(far, 0.1))
        assert np.isfinite(n).all()


def test_an_equal_ellipsoid_is_a_sphere():
    points = np.random.default_rng(2).uniform(-1, 1, (200, 3))
    for one, other in zip(_engine.Ellipsoid([0.4] * 3).evaluate(points),
                          _engine.Sphere(0.4).evaluate(points), strict=True):  # fmt: skip
        assert one == pytest.approx(other, abs=1e-9)


@pytest.fixture
def hills():
    x, y = np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1.5, 1.5, 13), indexing="ij")
    return _engine.HeightField(0.1 * np.sin(2 * x) * np.cos(y), 1.0, 1.5)


def test_battery_of_height_field(hills):
    rng = np.random.default_rng(3)
    points = rng.uniform([-0.95, -1.4, -0.3], [0.95, 1.4, 0.5], (600, 3))
    g, _ = check_sdf(hills, points, smooth_share=0.95)
    assert (g > 0).any()
    assert (g < 0).any()


def test_a_height_field_goes_through_its_heights_and_stays_between_them():
    heights = np.random.default_rng(4).uniform(0, 0.2, (5, 4))
    field = _engine.HeightField(heights, 1.0, 0.9)
    x, y = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-0.9, 0.9, 4), indexing="ij")
    at = np.stack([x.ravel(), y.ravel(), heights.ravel()], axis=1)
    assert field.evaluate(at)[0] == pytest.approx(0, abs=1e-9)
    step = np.array([[0.0] * 3, [0.0] * 3, [0.2] * 3, [0.2] * 3, [0.2] * 3])
    stairs = _engine.HeightField(step, 1.0, 1.0)
    flat = np.stack([np.linspace(-1, -0.5, 9), np.zeros(9), np.zeros(9)], axis=1)
    assert stairs.evaluate(flat)[0] == pytest.approx(0, abs=1e-12)  # as level as its heights


def test_a_plane_of_heights_is_a_plane():
    x, y = np.meshgrid(np.linspace(-1, 1, 6), np.linspace(-1, 1, 5), indexing="ij")
    field = _engine.HeightField(0.3 * x - 0.2 * y, 1.0, 1.0)
    plane = _engine.Plane([-0.3, 0.2, 1.0], 0.0)
    points = np.random.default_rng(5).uniform(-0.5, 0.5, (50, 3))
    for one, other in zip(field.evaluate(points)[:3], plane.evaluate(points)[:3], strict=True):
        assert one == pytest.approx(other, abs=1e-9)


def test_ground_goes_on_level_beyond_its_border(hills):
    g, n, *_ = hills.evaluate([[0.0, 4.0, 1.0], [5.0, 5.0, 1.0]])
    assert n == pytest.approx(np.array([[0, 0, 1.0]] * 2), abs=0.25)
    assert np.isfinite(g).all()


@pytest.mark.parametrize("make", [
    lambda: _engine.Ellipsoid([1, 0, 1]), lambda: _engine.Ellipsoid([1, np.nan, 1]),
    lambda: _engine.HeightField(np.zeros((1, 5)), 1, 1),
    lambda: _engine.HeightField(np.full((3, 3), np.nan), 1, 1),
    lambda: _engine.HeightField(np.zeros((3, 3)), 0, 1),
])  # fmt: skip
def test_what_is_none_is_refused(make):
    with pytest.raises(InputError):
        make()


def scene(surface):
    return load_scene({
        "world": {"step": 1e-3, "duration": 0.3},
        "bodies": {"ball": {"shape": {"sphere": {"radius": 0.05}}, "mass": 0.1,
                            "pose": {"position": [0, 0, 0.25]}}},
        "contact": [{"points": "ball", "against": surface, "k_n": 1e4, "c_n": 10, "c_f": 1}],
    })  # fmt: skip


def test_a_ball_rests_on_them():
    for surface in ({"ellipsoid": {"half_axes": [0.5, 0.5, 0.2]}},
                    {"height_field": {"heights": [[0.2] * 3] * 3, "size": [1, 1]}}):  # fmt: skip
        end = scene(surface)
        run = _engine.rollout(end.engine, end.engine.values, end.steps, end.options)
        assert run.position[-1, 0] == pytest.approx([0, 0, 0.25], abs=2e-4)


@pytest.mark.parametrize("heights", [[[0, 1], [0]], [[0, 1]], "text", [["a", 1], [1, 1]]])
def test_heights_that_are_no_grid_are_refused(heights):
    with pytest.raises(InputError, match="heights"):
        scene({"height_field": {"heights": heights, "size": [1, 1]}})
