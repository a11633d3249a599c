"""Synthetic recordings for the tests of real2sim."""

from __future__ import annotations

import numpy as np

from diffsim_ros.real2sim import rotations


def arrays(tosses: int = 3, frames: int = 30, columns: int = 13) -> dict:
    """Free flights with spin, as the arrays of a toss file; ids 10, 11, ..."""
    dt = 1.0 / 148.0
    t = np.arange(frames) * dt
    rows = []
    for k in range(tosses):
        state = np.zeros((frames, 13))
        state[:, 0] = 0.1 * k + 0.5 * t
        state[:, 2] = 0.4 + 0.3 * t - 0.5 * 9.81 * t**2
        turn = rotations.exponential(t[:, None] * np.array([1.0, 2.0, 0.5 + k]))
        state[:, 3], state[:, 4:7] = turn[:, 3], turn[:, :3]
        state[:, 7], state[:, 9] = 0.5, 0.3 - 9.81 * t
        state[:, 10:] = [1.0, 2.0, 0.5 + k]
        rows.append(state[:, :columns])
    return {
        "toss_id": np.arange(tosses) + 10,
        "start": np.arange(tosses) * frames,
        "length": np.full(tosses, frames),
        "state": np.concatenate(rows),
        "dt": np.float64(dt),
    }


