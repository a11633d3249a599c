"""The end of a motion: slowed down to rest within limits."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.robots.blend import brought_to_rest
from diffsim_ros.robots.command import JointCommand
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_check import Rules, check_motion
from tests.robots.motions import ARM, NAMES


def moving(rate, accelerations=False):
    """From home at rest to constant velocities `rate` (6,)."""
    times = np.linspace(0, 0.5, 26)
    push = rate / 0.4
    v = np.minimum(times[:, None], 0.4) * push
    q = np.where(times[:, None] < 0.4, 0.5 * times[:, None] ** 2 * push,
                 0.5 * 0.4 * rate + (times[:, None] - 0.4) * rate)  # fmt: skip
    more = {"accelerations": np.where(times[:, None] < 0.4, push, 0.0)} if accelerations else {}
    return JointTrajectory(NAMES, times, ARM.home + q, v, **more)


@pytest.mark.parametrize("accelerations", [False, True])
def test_the_end_is_at_rest_within_limits(accelerations):
    rate = np.array([0.9, -0.4, 0.2, 0.5, 0.0, -1.0])
    given = moving(rate, accelerations)
    found = brought_to_rest(given, 0.5 * ARM.limits.acceleration)
    assert len(found.times) == len(given.times) + 1 and not found.velocities[-1].any()
    assert found.times[-1] - given.times[-1] == pytest.approx(0.9 / 6.0)  # the first needs longest
    within = np.linspace(given.times[-1], found.times[-1], 50)
    if not accelerations:
        assert np.abs(found.at(within)[2] + rate / 0.15)[:-1].max() < 1e-9  # evenly
    assert check_motion(JointCommand.of(found), ARM, Rules()).duration == found.duration


def test_what_rests_stays_as_it_is_and_lines_are_refused():
    given = moving(np.zeros(6))
    assert brought_to_rest(given, ARM.limits.acceleration) is given
    lines = JointTrajectory(NAMES, given.times, given.positions)
    with pytest.raises(InputError, match="velocities"):
        brought_to_rest(lines, ARM.limits.acceleration)
