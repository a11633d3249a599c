"""Starts by height, by data/cube_toss/README.md: against a plain second writing of the rule."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.real2sim.scenarios.height import HeightOptions, start_state
from diffsim_ros.rotation import quat_conjugate, quat_exp, quat_rotate
from diffsim_ros.sensing.observation import Observation, PoseTrial, pose_values
from diffsim_ros.sensing.tosses import read_tosses

DATA = Path(__file__).parents[2] / "data" / "cube_toss" / "tosses.npz"
DT = 1.0 / 148.0


def flight(frames: int, gravity: float = 9.81, *, velocity: bool = True, low: int = 0) -> PoseTrial:
    """A toss that flies and spins; it falls below sqrt(3) half edges in sample `low`."""
    t = np.arange(frames) * DT
    z = 1.0 - 0.2 * t - 0.5 * gravity * t**2
    z += math.sqrt(3.0) * 0.0524 - 0.5 * (z[low] + z[low - 1]) if low else 0.0
    position = np.stack([0.3 * t, -0.2 * t, z], axis=1)
    orientation = quat_exp(t[:, None] * np.array([3.0, -1.0, 2.0]))
    value = np.concatenate([position, orientation], axis=1)
    columns = np.tile([9.0, 8.0, 7.0, 6.0, 5.0, 4.0], (frames, 1)) if velocity else None
    poses = Observation(
        kind="poses", t=t, frame="world", names=("cube",), values=pose_values(value),
        sigma=np.array([1e-3, 0.01]), source="synthetic",
    )  # fmt: skip
    return PoseTrial(1, poses, DT, np.arange(frames), columns)


def test_flight_gives_back_its_velocity():
    trial = flight(30, low=20)
    start = start_state(trial, HeightOptions())
    assert start.sample == 17 and start.rule == "refitted"
    t = 17 * DT
    np.testing.assert_allclose(start.velocity, [0.3, -0.2, -0.2 - 9.81 * t], atol=1e-9)
    np.testing.assert_allclose(start.angular_velocity, [3.0, -1.0, 2.0], atol=1e-9)


def test_own_gravity_changes_v_z_by_its_slope():
    trial = flight(30, gravity=9.6, low=20)
    readme = start_state(trial, HeightOptions())
    own = start_state(trial, HeightOptions(gravity=9.6))
    assert own.velocity[2] == pytest.approx(-0.2 - 9.6 * 17 * DT, abs=1e-9)
    predicted = readme.velocity[2] + readme.dvz_dg * (9.6 - 9.81)
    assert own.velocity[2] == pytest.approx(predicted, abs=1e-12)


def test_too_few_frames_before_the_start_use_the_columns_of_the_file():
    start = start_state(flight(30, low=6), HeightOptions())  # starts at sample 3
    assert start.rule == "file"
    np.testing.assert_array_equal(start.velocity, [9.0, 8.0, 7.0])


@pytest.mark.parametrize("low", [1, 4, 6])
def test_poses_alone_use_differences_there(low):
    start = start_state(flight(30, low=low, velocity=False), HeightOptions())
    assert start.rule == "difference"
    t = max(low - 3, 0) * DT
    np.testing.assert_allclose(start.velocity, [0.3, -0.2, -0.2 - 9.81 * t], atol=1e-9)
    np.testing.assert_allclose(start.angular_velocity, [3.0, -1.0, 2.0], atol=1e-9)


def plain_start(x: np.ndarray):
    """README's start, written out on rows of the file (scalar first, body rates)."""
    low = np.flatnonzero(x[:, 2] < math.sqrt(3.0) * 0.0524)
    i = max((low[0] if len(low) else len(x) - 1) - 3, 0)
    v, w = x[i, 7:10].copy(), x[i, 10:13].copy()
    if i >= 4:
        v[:2] = (x[i, :2] - x[0, :2]) / (i * DT)
        t = (np.arange(i + 1) - i) * DT
        v[2] = np.polyfit(t, x[: i + 1, 2] + 0.5 * 9.81 * t * t, 1)[0]
        a, b = x[0, 3:7], x[i, 3:7]
        w0 = a[0] * b[0] + a[1:] @ b[1:]
        u = a[0] * b[1:] - b[0] * a[1:] - np.cross(a[1:], b[1:])
        if w0 < 0:
            w0, u = -w0, -u
        w = 2.0 * math.atan2(np.linalg.norm(u), w0) * u / np.linalg.norm(u) / (i * DT)
    return i, v, w


def test_starts_of_all_real_tosses_follow_the_readme():
    rules = set()
    with np.load(DATA) as data:
        state, start, length = data["state"].astype(float), data["start"], data["length"]
    for k, trial in enumerate(read_tosses(DATA)):
        i, v, w = plain_start(state[start[k] : start[k] + length[k]])
        found = start_state(trial, HeightOptions())
        rules.add(found.rule)
        assert found.sample == i
        np.testing.assert_allclose(found.velocity, v, atol=1e-9)
        body = quat_rotate(quat_conjugate(found.orientation), found.angular_velocity)
        np.testing.assert_allclose(body, w, atol=1e-6)  # float32 quaternions are normalised
    assert rules == {"refitted", "file"}
