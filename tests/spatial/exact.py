"""Random inputs, and derivatives that are exact but for rounding.

Every operation is a polynomial of degree two at most in each of its inputs.  Central differences of
such a polynomial are its derivative for steps of any length, so steps of length one are taken and
nothing is lost to cancellation.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros import spatial as sp

BOUND = 1e-12


def rotation(rng):
    return Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()


def transform(rng, kind=sp.Plx):
    return kind(rotation(rng), rng.normal(size=3))


def rigid(rng):
    a = rng.normal(size=(3, 3))
    return sp.RigidInertia(rng.uniform(0.5, 3.0), rng.normal(size=3), a @ a.T)


def symmetric(rng, size=6):
    a = rng.normal(size=(size, size))
    return a + a.T


def inner(a, b):
    """Sum of products of arrays, or of tuples of arrays, of one shape."""
    if isinstance(a, tuple):
        return sum(inner(x, y) for x, y in zip(a, b, strict=True))
    return float(np.sum(np.asarray(a) * np.asarray(b)))


def check_gradient(function, x, direction, bar, gradient):
    """<bar, df> = <gradient, direction> along `direction`, within BOUND of the terms' size."""
    plus, minus = function(x + direction), function(x - direction)
    if isinstance(plus, tuple):
        change = tuple((p - m) / 2 for p, m in zip(plus, minus, strict=True))
    else:
        change = (plus - minus) / 2
    expected, found = inner(bar, change), inner(gradient, direction)
    size = max(1.0, abs(expected), inner(np.abs(gradient), np.abs(direction)))
    assert abs(found - expected) <= BOUND * size, (found, expected)
