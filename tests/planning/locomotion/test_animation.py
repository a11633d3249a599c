"""Frames of a motion, and `diffsim plan --animation`."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.cli import main
from diffsim_ros.planning.locomotion import (
    LocomotionConfig,
    LocomotionGoals,
    generate,
    load_legged_robot,
    named_gait,
)
from diffsim_ros.planning.locomotion.result import frames

ROOT = Path(__file__).resolve().parents[3]


def test_frames_are_the_motion_over_periods():
    robot = load_legged_robot(ROOT / "config" / "locomotion" / "robots" / "agilebot.yaml")
    goals = LocomotionGoals(travel=(0.15, 0.0), turn=0.5)
    config = LocomotionConfig(
        "test", "agilebot", robot, named_gait(robot, "trot", 12), 1.0, 0.02, goals=goals
    )
    motion = generate(config)
    assert motion.status == "reached"
    times = motion.step * np.arange(25)  # two periods, at the samples
    drawn = frames(robot, motion, times)
    for k in (0, 5, 12, 17):
        own = k % 12
        assert np.array_equal(drawn[k]["contact"], motion.contact[own])
        weights = motion.forces[own] / (robot.mass * 9.81)
        np.testing.assert_allclose(np.linalg.norm(drawn[k]["forces"], axis=1),
                                   np.linalg.norm(weights, axis=1), atol=1e-12)  # fmt: skip
        touching = motion.contact[own]
        height = drawn[k]["points"][touching, 2]
        assert np.abs(height).max() < 1e-4
    # forces of the second period are turned with it
    c, s = np.cos(0.5), np.sin(0.5)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    np.testing.assert_allclose(drawn[12]["forces"], drawn[0]["forces"] @ turn.T, atol=1e-3)
    np.testing.assert_allclose(drawn[12]["centre_of_mass"][:2] - drawn[0]["centre_of_mass"][:2],
                               [0.15, 0.0], atol=5e-3)  # fmt: skip
    steps = motion.step * (motion.spins + np.roll(motion.spins, -1, axis=0)) / 2
    np.testing.assert_allclose(drawn[12]["turned"], steps.sum(axis=0), atol=1e-9)


def test_plan_writes_an_animation(tmp_path, capsys):
    Image = pytest.importorskip("PIL.Image")
    plan = ROOT / "config" / "planning" / "quadruped_trot.yaml"
    assert main(["plan", str(plan), "--animation", "--out", str(tmp_path / "out")]) == 0
    with Image.open(tmp_path / "out" / "motion.gif") as image:
        assert image.n_frames == 25 and image.info["duration"] == 80  # 2 x 0.5 s at half speed
    assert (tmp_path / "out" / "motion.gif").stat().st_size < 400_000
    capsys.readouterr()
    other = ROOT / "config" / "planning" / "tip_cube.yaml"
    assert main(["plan", str(other), "--animation", "--out", str(tmp_path / "no")]) == 2
    assert "--animation: got True; accepted: absent" in capsys.readouterr().err
