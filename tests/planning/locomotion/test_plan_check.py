"""Plans that continue the one that runs: refused where joints would jump, or too late."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion.plan_check import (
    PlanRules,
    WalkCourse,
    check_continuation,
    check_junction,
)
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_check import Rules

RULES = PlanRules(motion=Rules())
LEAD = 0.1


def course(name="a", since=0.0, shift=0.0, rate=0.5, continues=""):
    """Two joints; the first one moves at a rate [rad/s] from `shift` [rad] on for 1 s."""
    times = np.linspace(0, 1, 11)
    rows = np.stack([shift + rate * times, 0 * times], axis=1)
    rates = np.stack([np.full(11, rate), 0 * times], axis=1)
    trajectory = JointTrajectory(("hip", "knee"), times, rows, rates)
    flat = np.ones((11, 1), bool)
    base = np.tile([0.0, 0, 0.2, 0, 0, 0, 1], (11, 1))
    wheels, phase = np.zeros((11, 0)), np.zeros(11)
    return WalkCourse(name, continues, since, trajectory, wheels, flat, phase, base)


def test_a_plan_that_begins_where_the_other_one_is_goes_on():
    check_continuation(course("b", 0.5, shift=0.25, continues="a"), course(), 0.3, LEAD, RULES)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"trajectory": course(shift=0.25 + 1.2 * RULES.jump).trajectory},
         "joint hip at its beginning: position"),
        ({"trajectory": course(shift=0.25, rate=0.5 + 1.2 * RULES.kick).trajectory},
         "joint hip at its beginning: velocity"),
        ({"since": 0.35}, "the plan comes too late"),
        ({"since": 1.5}, "since"),
        ({"since": float("nan")}, "since"),
        ({"continues": "c"}, "the plan that runs: a runs"),
    ],
)  # fmt: skip
def test_a_plan_that_does_not_is_refused(change, named):
    other = replace(course("b", 0.5, shift=0.25, continues="a"), **change)
    with pytest.raises(InputError, match=named):
        check_continuation(other, course(), 0.3, LEAD, RULES)


def test_nothing_is_continued_where_nothing_runs():
    with pytest.raises(InputError, match="no plan runs"):
        check_continuation(course("b", 0.5, continues="a"), None, 0.0, LEAD, RULES)


@pytest.mark.parametrize(
    ("since", "limit", "kept"), [(0.5, 0.6, 1), (0.5, 1.3, 0), (0.5004, 0.6, 1)]
)
def test_the_piece_that_joins_two_plans_keeps_the_limits(since, limit, kept):
    """A jump that is allowed is moved within the pause between two points, or less."""
    ends = np.full(2, 10.0)
    robot = SimpleNamespace(joint_names=("hip", "knee"), lower=-ends, upper=ends,
                            speed=np.full(2, limit))  # fmt: skip
    smooth, shift = course().followed_by(course("b", since, shift=0.5 * since), 0.3)
    check_junction(smooth, shift, robot)
    assert np.diff(smooth.trajectory.times).min() > 0.09
    jump, shift = course().followed_by(course("b", since, shift=0.5 * since + RULES.jump), 0.3)
    if kept:
        with pytest.raises(InputError, match=r"joint hip at .* s: velocity"):
            check_junction(jump, shift, robot)
    else:
        check_junction(jump, shift, robot)


def test_wheels_do_not_jump_where_a_plan_goes_on():
    def rolling(made, speed):
        return replace(made, wheels=np.full((11, 1), speed))

    on = course("b", 0.5, shift=0.25, continues="a")
    check_continuation(rolling(on, 5.0), rolling(course(), 2.0), 0.3, LEAD, RULES)
    with pytest.raises(InputError, match="wheel 0 at its beginning: speed"):
        check_continuation(rolling(on, -5.0), rolling(course(), 5.0), 0.3, LEAD, RULES)
