"""A tenth of the random paths: 100 of each arm, and what counts as kept."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("urchin")

from diffsim_ros.robots.time_scaling import stretched
from validation.inverse_kinematics import arms, kept, random_motion, study


def test_ways_are_solved_within_limits():
    figures = study(0.1)
    assert figures["ur5"]["solved"] >= 0.99 and figures["ur5"]["branches_median"] >= 2
    assert {found["paths"] for found in figures.values()} == {100}


def test_random_motions_keep_limits_and_kept_sees_what_does_not():
    for arm in arms().values():
        motion = random_motion(arm, np.random.default_rng(0))
        assert kept(motion, arm)
        assert not kept(stretched(motion, 0.25), arm)
        assert not kept(replace(motion, positions=motion.positions + 7), arm)
        moving = motion.velocities.copy()
        moving[-1, 0] = 1e-6
        assert not kept(replace(motion, velocities=moving), arm)
