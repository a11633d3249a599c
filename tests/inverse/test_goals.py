"""Goals and guides of plans: values, and partials against differences of the residual."""

from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse.goals import Goal, Smooth
from diffsim_ros.inverse.guides import ClearanceGuide, Heading, KeyLimit, affine_axis
from diffsim_ros.inverse.marker_track import RigidPoints, SoftPoints
from diffsim_ros.inverse.objectives import BodySlot
from tests.inverse.partials import check_own, check_partials

FRAMES = np.array([1, 2, 4])
CUBE, JELLY = BodySlot(0, 0, 6), BodySlot(1, 6, 12, 4)
GENERATOR = np.random.default_rng(5)
LOCAL, TARGETS = GENERATOR.normal(size=(2, 5, 3))
PICKED = SoftPoints(np.array([0, 2]), np.eye(2), np.zeros((2, 3)))


class Ball:
    """A sphere of radius 1.2 at the origin, as engine surfaces answer."""

    def evaluate(self, x):
        length = np.linalg.norm(x, axis=1)
        return length - 1.2, x / length[:, None], None, None


def objectives():
    across = np.eye(3)[:2]
    axis = SoftPoints(np.arange(4), np.array([[0.0] * 4, [1.0, 0.2, -0.5, -0.7]]), np.zeros((2, 3)))
    corners, ends = RigidPoints(LOCAL), RigidPoints(np.array([[0, 0, 0], [0.6, 0, 0.8]]))
    up = np.array([0.1, 0.2, 1.0])
    return {
        "centre": (Goal("cube", FRAMES, TARGETS[0], 0.1), CUBE),
        "speed": (Goal("cube", FRAMES, TARGETS[0], 0.1, rate=True), CUBE),
        "point": (Goal("cube", FRAMES, TARGETS[0], 0.1, local=LOCAL[0]), CUBE),
        "point's speed": (Goal("cube", FRAMES, TARGETS[0], 0.1, local=LOCAL[0], rate=True), CUBE),
        "line": (Goal("cube", FRAMES, TARGETS[0], 0.1, across=across), CUBE),
        "pose": (Goal("cube", FRAMES, TARGETS, 0.1, points=corners), CUBE),
        "any pose": (Goal("cube", FRAMES, TARGETS, 0.1, points=corners, softness=0.7), CUBE),
        "line some time": (
            Goal("cube", FRAMES, TARGETS[0], 0.1, across=across, softness=0.5), CUBE,
        ),
        "soft centre": (Goal("jelly", FRAMES, TARGETS[0], 0.1, weights=np.arange(1, 5)), JELLY),
        "nodes": (Goal("jelly", FRAMES, TARGETS[:2], 0.1, points=PICKED), JELLY),
        "nodes' speeds": (Goal("jelly", FRAMES, TARGETS[:2], 0.1, points=PICKED, rate=True), JELLY),
        "nodes some time": (
            Goal("jelly", FRAMES, TARGETS[:2], 0.1, points=PICKED, softness=0.7), JELLY,
        ),
        "heading": (Heading("cube", FRAMES, ends, up, 0.1), CUBE),
        "soft heading": (Heading("jelly", FRAMES, axis, up, 0.1), JELLY),
        "clearance": (ClearanceGuide("cube", FRAMES, corners, Ball(), 2.0, 0.1), CUBE),
        "soft clearance": (ClearanceGuide("jelly", FRAMES, PICKED, Ball(), 2.0, 0.1), JELLY),
    }  # fmt: skip


def rollout():
    generator = np.random.default_rng(11)
    q = generator.normal(size=(6, 5, 4))
    x, v, w = generator.normal(size=(3, 6, 5, 3))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    return SimpleNamespace(position=x, orientation=q, velocity=v, angular_velocity=w)


@pytest.mark.parametrize("kind", objectives())
def test_partials_by_the_state(kind):
    check_partials(objectives()[kind][0], rollout(), objectives()[kind][1])


@pytest.mark.parametrize(
    "kind", [k for k in objectives() if "some time" not in k and k != "any pose"]
)
def test_the_square_of_the_residual_is_that_of_the_distance(kind):
    objective, slot = objectives()[kind]
    run = rollout()
    r, reached = objective.term(run, slot, {}).residual, objective.reached(run, slot)
    if "clearance" in kind:
        assert reached == pytest.approx(0.1 * r.max())
    elif "heading" in kind:  # chords, not angles
        chord = 0.1 * np.linalg.norm(r)
        assert chord < reached < 1.6 * chord
    else:
        assert reached == pytest.approx(0.1 * np.linalg.norm(r))


def test_a_body_at_its_target_is_there():
    run = rollout()
    k = FRAMES[1]
    goal = Goal("jelly", FRAMES, run.position[k, [1, 3]], 0.1, points=PICKED, softness=1e-3)
    assert goal.reached(run, JELLY) == 0.0
    assert np.abs(goal.term(run, JELLY, {}).residual).max() < 1e-12


def test_the_axis_of_an_affine_motion_is_exact():
    generator = np.random.default_rng(3)
    vertices, masses = generator.normal(size=(9, 3)), generator.uniform(1, 2, 9)
    F, axis = generator.normal(size=(3, 3)), np.array([0.0, 0.6, 0.8])
    weights = affine_axis(vertices, masses, axis)
    np.testing.assert_allclose(weights @ (vertices @ F.T + 3.0), F @ axis, atol=1e-12)
    vertices[:, 2] = 0.0
    assert affine_axis(vertices, masses, np.array([0.0, 0, 1])) is None
    assert affine_axis(vertices, masses, np.array([1.0, 0, 0])) is not None


def limits(order, limit=1.0):
    keys = np.random.default_rng(0).normal(size=(5, 3))
    names = [("", "", ""), *((f"x{k}", "", f"z{k}") for k in range(1, 5))]
    return KeyLimit("hand", tuple(names), keys, 0.1, limit, order), keys


@pytest.mark.parametrize(("order", "limit"), [(1, 10.0), (2, 300.0), (3, 8000.0)])
def test_limits_of_keys_and_their_partials(order, limit):
    kept, keys = limits(order, limit)
    values = {n: float(keys[k, a]) for k, row in enumerate(kept.names) for a, n in enumerate(row)}
    above = kept.term(None, CUBE, values).residual[0, : 3 + order]
    assert 0 < np.count_nonzero(above) < above.size, "some above, some below"
    check_own(kept, None, CUBE, values, atol=1e-5)
    if order == 1:
        speeds = np.linalg.norm(np.diff(keys, axis=0), axis=1) / 0.1
        assert kept.peak(values) == pytest.approx(speeds.max())


def test_a_straight_motion_is_jerked_at_its_ends_alone():
    keys = np.linspace(0, 1, 5)[:, None] * np.ones(3)
    kept = KeyLimit("hand", (("", "", ""),) * 5, keys, 0.5, 1.0, order=2)
    assert kept.peak({}) == pytest.approx(np.sqrt(3) * 0.25 / 0.25)
    r = kept.term(None, CUBE, {}).residual[0, :5]
    np.testing.assert_array_equal(r > 0, [True, False, False, False, True])


def test_a_tighter_limit_does_not_pull_harder_where_it_is_kept():
    keys = np.random.default_rng(0).normal(size=(5, 3))
    given = ("hand", (("", "", ""),) * 5, keys, 1.0)
    wide, tight = (KeyLimit(*given, limit, order=3, usual=50.0) for limit in (50.0, 40.0))
    for kept in (wide, tight):
        r = kept.term(None, CUBE, {}).residual[0]
        assert kept.peak({}) < 40.0 and not r[:6].any()
        np.testing.assert_allclose(r[6:].reshape(-1, 3), kept._differences({}) / 50.0)


def test_smooth_pulls_keys_together():
    smooth = Smooth("hand", (("a",), ("b",)), np.zeros(1), 0.5)
    term = smooth.term(None, CUBE, {"a": 1.0, "b": 3.0})
    np.testing.assert_allclose(term.residual, [[2.0, 4.0]])
    np.testing.assert_allclose(term.own["a"], [[2.0, -2.0]])
    ended = Smooth("hand", (("a",), ("b",)), np.zeros(1), 0.5, np.ones(1))
    term = ended.term(None, CUBE, {"a": 1.0, "b": 3.0})
    np.testing.assert_allclose(term.residual, [[2.0, 4.0, -4.0]])
    np.testing.assert_allclose(term.own["b"], [[0.0, 2.0, -2.0]])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Goal("cube", FRAMES, [0, 0, np.nan], 0.1), "target"),
        (lambda: Goal("cube", FRAMES, np.zeros((4, 3)), 0.1, points=RigidPoints(LOCAL)), "target"),
        (lambda: Goal("cube", FRAMES, np.zeros(3), 0.1, local=LOCAL[0], weights=[1.0]), "one of"),
        (lambda: Heading("cube", FRAMES, RigidPoints(LOCAL), np.ones(3), 0.1), "two points"),
        (lambda: Heading("cube", FRAMES, PICKED, np.zeros(3), 0.1), "not all zero"),
        (lambda: ClearanceGuide("cube", FRAMES, PICKED, Ball(), 0.1, -1.0), "sigma"),
    ],
)
def test_what_is_no_goal_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
