"""A nominal trot from inverse kinematics alone: what strong motors and hard feet would do.

It wrote config/planning/soft_foot_trot.csv (`python -m validation.compliant_gait FILE`); motions
of a generator take its place.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from diffsim_ros.planning.locomotion.nominal import NominalMotion

LINK = 0.13  # of thigh and shank [m], urdf/soft_foot_quadruped.urdf
STANDING = (0.0, 0.75, -1.5)  # hip roll, hip pitch, knee [rad], as the scene has them
LEGS = {"FL": 0.0, "FR": 0.5, "RL": 0.5, "RR": 0.0}  # phases: diagonal legs together
JOINTS = ("hip_roll", "hip_pitch", "knee")


def inverse_kinematics(ahead: float, below: float) -> tuple[float, float]:
    """Hip pitch and knee [rad] of a foot `ahead` of and `below` the hip [m]; knees point back."""
    reach = np.hypot(ahead, below)
    knee = -2.0 * np.arccos(np.clip(reach / (2.0 * LINK), -1.0, 1.0))
    return -np.arctan2(ahead, below) - knee / 2.0, knee


def trot(
    speed: float, period: float = 0.4, samples: int = 24, lift: float = 0.03, duty: float = 0.5
) -> NominalMotion:
    """Standing feet move back at `speed` [m/s], swinging ones come forward `lift` [m] higher."""
    height, stride = 2.0 * LINK * np.cos(STANDING[1]), speed * period * duty
    rows = np.zeros((samples, len(LEGS), len(JOINTS)))
    for i in range(samples):
        for leg, offset in enumerate(LEGS.values()):
            phase, up = (i / samples + offset) % 1.0, 0.0
            ahead = stride * (0.5 - phase / duty)
            if phase >= duty:
                u = (phase - duty) / (1.0 - duty)
                ahead = stride * (u - np.sin(2.0 * np.pi * u) / (2.0 * np.pi) - 0.5)
                up = lift * np.sin(np.pi * u) ** 2
            rows[i, leg, 1:] = inverse_kinematics(ahead, height - up)
    names = tuple(f"{leg}_{joint}" for leg in LEGS for joint in JOINTS)
    times = np.arange(samples) * period / samples
    return NominalMotion(names, times, rows.reshape(samples, -1), period)


def write(path: Path, motion: NominalMotion) -> None:
    """The motion as a table that `nominal` takes."""
    lines = [",".join(["time", *motion.joints])]
    for t, row in zip(motion.times, motion.targets, strict=True):
        lines.append(",".join(f"{value:.6f}" for value in (t, *row)))
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]), trot(0.3))
