"""A tenth of the study of derivatives after contact; full: ./run validate touchdown."""

import numpy as np
import pytest

from validation.touchdown import QUICK, study
from validation.touchdown_mujoco import differences

pytest.importorskip("mujoco")


def test_derivatives_settle_whatever_the_phase_of_touchdown():
    figures = study(0.1)
    assert set(figures["scenes"]) == set(QUICK)
    for name, scene in figures["scenes"].items():
        assert scene["integrated"]["rms"] <= 0.02, name
        assert scene["sampled"]["rms"] >= 4 * scene["integrated"]["rms"], name
    for name in ("foam_throw", "ball_three_bounces"):  # MuJoCo throws the same ball
        scene = figures["scenes"][name]
        assert scene["mujoco_differences"]["size"] == pytest.approx(scene["size"], rel=0.1)
    for name in ("ball_one_bounce", "ball_three_bounces"):
        assert figures["orders"][name]["motion_median"] >= 1.75


def test_columns_of_differences_are_directions_of_the_velocity():
    J, at = np.arange(9.0).reshape(3, 3), np.array([1.0, 2.0, 3.0])

    def end(velocity, up, step):
        return J @ velocity + up + step

    assert differences(end, at, 0.1, 0.01, 1e-3) == pytest.approx(J, abs=1e-9)
