"""Losses: derivatives, limits and the weight that an outlier keeps."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import Cauchy, Huber, Loss, SoftL1, StudentT

LOSSES = [Loss(), Huber(0.7), SoftL1(0.7), Cauchy(0.7), StudentT(3.0, 6.0)]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("s", [1e-6, 0.1, 0.48, 0.5, 7.0, 1e4])
def test_derivatives(loss, s):
    eps = 1e-5 * s
    (up, d_up, _), (down, d_down, _) = loss(s + eps), loss(s - eps)
    _, slope, curvature = loss(s)
    assert slope == pytest.approx((up - down) / (2 * eps), rel=1e-7)
    assert curvature == pytest.approx((d_up - d_down) / (2 * eps), rel=1e-5, abs=1e-9)
    assert slope > 0 and curvature <= 0


@pytest.mark.parametrize("loss", LOSSES[1:4], ids=lambda v: type(v).__name__)
def test_small_residuals_count_fully_and_large_ones_less(loss):
    assert loss(0.0)[0] == 0 and loss(1e-12)[1] == pytest.approx(1.0)
    weights = loss(np.array([1.0, 10.0, 100.0]))[1]
    assert weights[0] > weights[1] > weights[2]


def test_student_t_counts_a_typical_trial_once():
    assert StudentT(4.0, 60.0)(60.0)[1] == pytest.approx(1.0)
    assert StudentT(4.0, 60.0)(6000.0)[1] < 0.011


@pytest.mark.parametrize("make", [lambda: Huber(0.0), lambda: Cauchy(np.nan), lambda: StudentT(-1)])
def test_bad_scales_are_refused(make):
    with pytest.raises(InputError, match="> 0"):
        make()
