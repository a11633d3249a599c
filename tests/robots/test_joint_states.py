"""Where a robot is: fresh, whole and credible states, or a reason."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.robots.command import NANO, JointSample
from diffsim_ros.robots.joint_states import JointStates
from tests.robots.motions import NOW

NAMES = ("a", "b")


def sample(position=(0.0, 1.0), velocity=(0.0, 0.0), names=NAMES):
    velocities = {} if velocity is None else dict(zip(names, velocity, strict=True))
    return JointSample(dict(zip(names, position, strict=True)), velocities)


def at(seconds):
    return NOW + round(seconds * NANO)


def clock(seconds):
    return lambda: at(seconds)


def states(**options):
    return JointStates(NAMES, np.array([3.0, 3.0]), 0.25, **options)


def test_a_sound_state_is_known_and_ages_by_stamp_and_by_receipt():
    known = states()
    assert np.isnan(known.age(clock(0.0)))
    assert known.add(at(0.0), at(0.1), sample()) is not None
    found = known.present(clock(0.2))
    assert found.positions == {"a": 0.0, "b": 1.0} and found.age == pytest.approx(0.2)
    assert known.is_fresh(clock(0.25)) and not known.is_fresh(clock(0.26))
    known.add(at(0.5), at(0.4), sample())  # a clock 0.1 s ahead
    assert known.present(clock(0.41)).age == pytest.approx(0.01)
    with pytest.raises(InputError, match=r"age: got 0\.4"):
        known.present(clock(0.8))


@pytest.mark.parametrize(
    "stamp, received, given, message",
    [
        (0, at(0), sample(), "stamp: got 0; accepted: the time of the measurement"),
        (at(-60), at(0), sample(), "60.000 s before this clock's time"),
        (at(60), at(0), sample(), "60.000 s after this clock's time"),
        (at(0), at(0), sample((np.nan, 0.0)), "position of a: got nan"),
        (at(0), at(0), sample(velocity=None), "velocity of a: got nan"),
    ],
)
def test_what_is_unsound_is_named_and_never_present(stamp, received, given, message):
    known = states()
    known.add(stamp, received, given)
    with pytest.raises(InputError, match=message):
        known.present(lambda: received)
    known.add(at(1.0), at(1.0), sample())
    assert known.is_fresh(clock(1.0))
    known.add(stamp + NANO + 1000 if stamp else 0, at(1.001), given)
    differenced = message == "velocity of a: got nan"
    assert known.is_fresh(clock(1.001)) == differenced


def test_other_joints_old_news_and_what_was_overtaken_are_passed_over():
    known = states()
    assert known.add(at(0), at(0), sample(names=("a", "gripper"))) is None
    assert known.add(at(0.1), at(0.1), sample()) is not None
    assert known.add(at(0.1), at(0.12), sample((0.03, 1.0))) is None
    assert known.add(at(0.09), at(0.13), sample((0.03, 1.0))) is None
    assert known.present(clock(0.13)).positions["a"] == 0.0


def test_missing_velocities_are_differenced():
    known = states()
    for k in range(20):
        known.add(at(0.008 * k), at(0.008 * k), sample((0.008 * k, 1.0), None))
    velocity = known.last.velocity
    np.testing.assert_allclose(velocity, [1.0, 0.0], atol=1e-9)
    assert not known.rests(0.05) and known.rests(1.1)


def test_states_that_contradict_each_other_are_doubted_for_a_while():
    known = states()
    for k in range(4):
        known.add(at(0.01 * k), at(0.01 * k), sample((0.5 * (k % 2), 1.0)))
    assert known.last.position[0] == 0.0
    with pytest.raises(InputError, match="more than one robot"):
        known.present(clock(0.03))
    for k in range(4, 200):
        known.add(at(0.01 * k), at(0.01 * k), sample())
    assert known.is_fresh(clock(2.0))


def test_a_robot_that_was_moved_elsewhere_is_believed_again():
    known = states()
    known.add(at(0), at(0), sample())
    for k in range(1, 6):
        assert not known.is_fresh(clock(0.008 * k)) or k == 1
        known.add(at(0.008 * k), at(0.008 * k), sample((2.0, 1.0)))
    assert known.present(clock(0.04)).positions["a"] == 2.0


def test_a_clock_that_is_set_back_begins_anew():
    known = states()
    known.add(at(9), at(9), sample())
    assert known.age(clock(1)) == pytest.approx(-8.0)
    with pytest.raises(InputError, match="the clock was set back"):
        known.present(clock(1))
    known.add(at(1), at(1), sample((0.4, 1.0)))
    assert known.present(clock(1)).positions["a"] == 0.4


def test_a_state_that_comes_while_the_clock_is_read_is_not_from_the_future():
    """Receiving and asking are different threads'."""
    known = states()
    known.add(at(0.0), at(0.0), sample())

    def interrupted():
        now = next(times)
        known.add(now, now, sample())
        return now

    times = iter(at(0.01 * k) for k in range(1, 9))
    assert known.age(interrupted) == pytest.approx(0.01)
    assert known.present(interrupted).age >= 0.0
