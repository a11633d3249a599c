"""A seeded tenth of validation/calibration.py."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros.rotation import quat_conjugate, quat_log, quat_multiply
from validation.calibration import (
    BEFORE,
    REPETITIONS,
    SIGMA_POSITION,
    SIGMA_ROTATION,
    Thrower,
    coverage,
    study,
)
from validation.common import share


def test_a_tenth_of_the_intervals_cover():
    figures = study(fraction=0.1, seed=0)
    assert figures["repetitions"] == share(REPETITIONS, 0.1)
    assert figures["confounded"].keys() == {"mass", "normal_stiffness"}


def test_noise_of_synthetic_tosses_is_what_the_study_says():
    trials, runs = Thrower().tosses(seed=3, count=5)
    pairs = list(zip(trials, runs, strict=True))
    shift = np.concatenate([t.position - r.position[:, 0] for t, r in pairs])
    inverse = [quat_conjugate(r.orientation[:, 0]) for r in runs]
    turned = [quat_multiply(t.orientation, q) for t, q in zip(trials, inverse, strict=True)]
    turn = quat_log(np.concatenate(turned))
    assert shift.std() == pytest.approx(SIGMA_POSITION, rel=0.1)
    assert turn.std() == pytest.approx(SIGMA_ROTATION, rel=0.1)
    for run in runs:  # the flight before contact is a flight
        steps = len(run.modes) * BEFORE // len(run.time)
        assert not run.modes[: steps // 2].any()


def test_repetitions_do_not_depend_on_who_runs_them():
    one, two = (coverage(2, seed=4, names=("friction",)) for _ in range(2))
    assert one == two
