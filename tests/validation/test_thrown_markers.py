"""Recordings of coarse bodies, estimated by the same model: what is left is the tracker's noise."""

import numpy as np
import pytest

from validation.coverage import coverage, pair
from validation.thrown_markers import (
    BODIES,
    NOISE,
    RATE,
    Numerics,
    estimated,
    problem_of,
    recorded,
)


@pytest.mark.parametrize("kind", BODIES)
def test_the_noise_alone_stays_within_its_intervals(kind):
    how = Numerics(element="p1", step=1 / 240)
    t, x, truth = recorded(kind, 0, how.same(RATE))
    fit = estimated(kind, t, x, truth, how)
    z = np.array([p["z"] for p in fit["parameters"].values()])
    ratio = np.array([p["sigma_over_bound"] for p in fit["parameters"].values()])
    assert len(z) == 15 and np.abs(z).max() < 3.3, fit["parameters"]
    assert ratio.max() < 1.5 and ratio.min() > 0.6, fit["parameters"]
    assert fit["chi_square_per_number"] == pytest.approx(1.0, abs=0.2)
    assert fit["parameters"]["young"]["sigma"] < 0.1 * 2.2e4
    assert fit["noise_m"] == pytest.approx(NOISE, rel=0.1)
    # lost markers are no measurements: noise estimated from residuals would come out too small
    problem = problem_of(kind, how, t, x)
    assert problem.evaluate(problem.start).count == fit["numbers"] + 12 < x.size


@pytest.mark.parametrize(
    ("z", "ratio", "says"),
    [([0.5] * 9 + [3.5], 1.0, "99.9 %"), ([0.5] * 8 + [2.1] * 2, 1.0, "inside 95 %: 80 %"),
     ([0.5] * 10, 3.1, "Cramer-Rao")],
)  # fmt: skip
def test_what_does_not_cover_is_reported(z, ratio, says):
    pairs = {str(i): pair(0.0, value, 1.0, 1.0 / ratio) for i, value in enumerate(z)}
    with pytest.raises(AssertionError, match=says):
        coverage([{"parameters": pairs, "rollouts": 1, "seconds": 1.0}])
