"""Cones: battery, exact distances, and a particle that slides down one by Coulomb's law."""

import itertools
import math

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from tests.native.sdf_battery import check_sdf

SHAPES = [(0.4, 0.5, 0.2), (0.4, 0.1, 0.6), (0.5, 0.4, 0.0), (0.3, 0.0, 0.4), (0.35, 0.5, 0.5)]


@pytest.fixture
def points():
    return np.random.default_rng(0).uniform(-1, 1, (600, 3))


@pytest.mark.parametrize("shape", SHAPES)
def test_battery_of_cone(points, shape):
    """Distances are those to a closely sampled meridian."""
    g, region = check_sdf(_engine.Cone(*shape), points)
    h, bottom, top = shape
    corners = np.array([[0, -h], [bottom, -h], [top, h], [0, h]])
    share = np.linspace(0, 1, 4001)[:, None]
    outline = np.concatenate([a + share * (b - a) for a, b in itertools.pairwise(corners)])
    place = np.stack([np.hypot(points[:, 0], points[:, 1]), points[:, 2]], axis=1)
    far = np.array([np.linalg.norm(outline - x, axis=1).min() for x in place])
    assert np.abs(g) == pytest.approx(far, abs=2e-7 + 1e-7 / far.min())
    inside = (np.abs(place[:, 1]) < h) & (
        place[:, 0] < bottom + (top - bottom) * (place[:, 1] + h) / (2 * h)
    )
    assert ((g < 0) == inside).all()
    assert len(set(region.tolist())) >= 4


def test_an_equal_cone_is_a_cylinder(points):
    for one, other in zip(_engine.Cone(0.35, 0.5, 0.5).evaluate(points),
                          _engine.Cylinder(0.35, 0.5).evaluate(points), strict=True):  # fmt: skip
        assert one == pytest.approx(other, abs=1e-12)


def test_a_particle_slides_down_a_cone_as_coulomb_says():
    slope, c_f = math.radians(40), 0.3
    height = 2.0
    cone = {"height": height, "bottom_radius": height / math.tan(slope)}
    along = np.array([math.cos(slope), 0, -math.sin(slope)])
    normal = np.array([math.sin(slope), 0, math.cos(slope)])
    start = np.array([0, 0, height / 2]) + 0.5 * along + 1e-4 * normal
    model = load_scene({
        "world": {"step": 5e-4, "duration": 0.4},
        "bodies": {"dot": {"type": "particle", "mass": 0.1, "pose": {"position": start.tolist()}}},
        "contact": [{"points": "dot", "against": {"cone": cone}, "k_n": 1e4, "c_n": 5.0,
                     "c_f": c_f}],
    })  # fmt: skip
    assert [s.kind for s in model.sdfs] == ["implicit"]
    r = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    late = r.time > 0.2
    measured = np.polyfit(r.time[late], r.velocity[late, 0] @ along, 1)[0]
    expected = 9.81 * (math.sin(slope) - c_f * math.cos(slope))
    assert measured == pytest.approx(expected, rel=5e-3)


def test_wrong_cones_are_refused():
    with pytest.raises(_engine.InvalidInput, match="one of them > 0"):
        _engine.Cone(1.0, 0.0, 0.0)
    scene = {"world": {"step": 1, "duration": 1}, "sdfs": {"c": {"cone": {"height": 1,
             "bottom_radius": 0}}}, "bodies": {"dot": {"type": "particle", "mass": 1}}}  # fmt: skip
    with pytest.raises(InputError, match=r"sdfs\.c\.cone\.bottom_radius.*above 0"):
        load_scene(scene)
