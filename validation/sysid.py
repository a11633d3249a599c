"""Beside MuJoCo's identification toolbox, on the same recordings.

A UR5's joint log made in MuJoCo (sysid_arm) and real cube tosses (sysid_tosses): the same
parameters, first guesses, residuals and starts, one thread, one process.  `cpu_s` are the process'
own seconds, in which waiting for a busy machine does not count.  Needs `pip install mujoco[sysid]`.
"""

from __future__ import annotations

from . import sysid_arm, sysid_tosses
from .common import judged

POSITION, TRAJECTORY = "position_rms_rad", "e_q"


def study() -> dict:
    """Both recordings; the arm's bars: predicted to the sensor's noise, intervals that hold."""
    arm = sysid_arm.study()
    tosses = sysid_tosses.study()
    ours, theirs = arm["ours"], arm["mujoco.sysid"]
    position, inside = ours["validate"][POSITION], ours["intervals_with_truth"]
    bars = {
        f"position {position:.3g} rad, noise {sysid_arm.SIGMA['position']:.3g}": position
        < 1.1 * sysid_arm.SIGMA["position"],
        f"position {position:.3g} rad, theirs {theirs['validate'][POSITION]:.3g}": position
        <= theirs["validate"][POSITION],
        f"{inside[0]} of {inside[1]} intervals hold the truth": inside[0] >= 0.85 * inside[1],
    }
    missed = [words for words, met in bars.items() if not met]
    return judged({"arm": arm, "tosses": tosses}, missed)
