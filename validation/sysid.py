"""Item 8 of issue 4: beside MuJoCo's identification toolbox, on the same recordings.

A UR5's joint log made in MuJoCo (sysid_arm) and real cube tosses (sysid_tosses): the same
parameters, first guesses, residuals and starts, one thread, one process.  `cpu_s` are the process'
own seconds, in which waiting for a busy machine does not count.  Needs `pip install mujoco[sysid]`.
"""

from __future__ import annotations

from . import sysid_arm, sysid_tosses

POSITION, TRAJECTORY = "position_rms_rad", "e_q"


def study() -> dict:
    """Both recordings; the arm's bars: predicted to the sensor's noise, intervals that hold."""
    arm = sysid_arm.study()
    tosses = sysid_tosses.study()
    ours, theirs = arm["ours"], arm["mujoco.sysid"]
    assert ours["validate"][POSITION] < 1.1 * sysid_arm.SIGMA["position"]
    assert ours["validate"][POSITION] <= theirs["validate"][POSITION]
    inside, count = ours["intervals_with_truth"]
    assert inside >= 0.85 * count, f"{inside} of {count} intervals hold the truth"
    return {"arm": arm, "tosses": tosses}
