"""The demo's figures of its throws: from the twin's truth to metrics.json."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diffsim_ros.nodes import demo

RELEASE, BEGINS, GOAL = 0.5, -0.02, 0.6
VELOCITY = np.array([1.0, -2.0, 0.5])
TARGET = np.array([0.6, -1.2, 0.3])


def path(label="x", late=0.0):
    """A ball that moves with VELOCITY, at the origin `late` after the arm passes the release."""
    time = np.arange(0.0, 2.0, 0.01)
    free = BEGINS + RELEASE + demo.DELAY + late
    truth = {"time": time, "begins": np.array([BEGINS]),
             "ball.position": (time - free)[:, None] * VELOCITY}  # fmt: skip
    expected = np.arange(0.4, 2.0, 0.1)
    places = (expected - RELEASE)[:, None] * VELOCITY
    return demo.evaluated(label, truth, (expected, places), RELEASE, TARGET, GOAL)


def test_a_throw_as_planned_is_on_its_target_at_the_goals_time():
    found = path()
    np.testing.assert_allclose(found.at, TARGET, atol=1e-9)
    assert found.error == pytest.approx(0.0, abs=1e-9)


def test_a_late_throw_is_off_by_its_way():
    assert path(late=0.1).error == pytest.approx(0.1 * np.linalg.norm(VELOCITY))


def test_the_picture_ends_a_little_after_the_goal_and_begins_at_the_release():
    found, last = path(), (GOAL + demo.SHOWN) * VELOCITY[0]
    assert 0.0 <= found.executed[0, 0] < 0.011
    assert last - 0.011 < found.executed[-1, 0] <= last + 1e-9
    assert found.planned[-1, 0] == pytest.approx(last)


def test_hit_and_miss_are_the_throws_after_and_before():
    before, after = demo.ExecutedThrow(path(late=0.1), 0.02), demo.ExecutedThrow(path(), 0.01)
    found = demo.figures(SimpleNamespace(parameters=[], verdict="good"), before, after, 0.03)
    assert found["miss_error_m"] == before.path.error > found["hit_error_m"] == after.path.error
    assert found["tolerance_m"] == 0.03
    assert found["tracking_error_rad"] == {"before": 0.02, "after": 0.01}
