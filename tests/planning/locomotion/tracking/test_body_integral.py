"""The integral of the body's error: what it adds up, and what it does not."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion.tracking import BodyIntegral, IntegralOptions

HEIGHT = 0.2


def test_an_error_that_stays_is_added_up_by_its_time():
    own = BodyIntegral(IntegralOptions(height=0.5, along=2.0), HEIGHT)
    error = np.array([1e-3, 0.0, -2e-3])
    assert not own.update(5.0, error).any()
    for k in range(1, 11):
        offset = own.update(5.0 + 0.1 * k, error)
    assert offset == pytest.approx([-5e-4, 0.0, 4e-3])


def test_of_a_load_nothing_is_left():
    """A body that gives way by a load over a stiffness, and follows its reference else."""
    own, sag, z = BodyIntegral(IntegralOptions(), HEIGHT), -3e-3, 0.0
    for k in range(150):
        z = sag + own.update(0.02 * k, np.array([0.0, 0.0, z]))[2]
    assert z == pytest.approx(0.0, abs=2e-6)
    assert own.offset[2] == pytest.approx(-sag, rel=1e-3)


def test_pushes_are_not_added_up_and_offsets_are_bounded():
    own = BodyIntegral(IntegralOptions(most=0.1, band=0.05), HEIGHT)
    own.update(0.0, np.zeros(3))
    for k in range(1, 100):
        own.update(0.02 * k, np.array([0.05, 0.0, 0.0]))
    assert not own.offset.any()
    for k in range(100, 1000):
        own.update(0.02 * k, np.array([0.006, 0.0, 0.0]))
    assert np.linalg.norm(own.offset) == pytest.approx(0.1 * HEIGHT)
    own.update(20.0, np.array([-0.006, 0.0, 0.0]))
    own.update(20.1, np.array([-0.006, 0.0, 0.0]))
    assert own.offset[0] > -0.1 * HEIGHT  # it comes back at once


def test_an_infinite_time_is_no_integral():
    own = BodyIntegral(IntegralOptions(height=np.inf, along=np.inf), HEIGHT)
    for k in range(10):
        assert not own.update(0.1 * k, np.full(3, 1e-3)).any()


@pytest.mark.parametrize("name", ["height", "along", "most", "band"])
def test_options_that_cannot_be_are_refused(name):
    for value in (0.0, -1.0, np.nan):
        with pytest.raises(InputError, match=f"body integral: {name}"):
            IntegralOptions(**{name: value})
