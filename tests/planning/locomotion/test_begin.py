"""Motions that go on from another one: a stop out of a trot, what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion import (
    Begin,
    FootfallPattern,
    LocomotionGoals,
    LocomotionMotion,
    generate,
    load_legged_robot,
    load_locomotion,
)
from tests.planning.locomotion.plans import ROBOTS, config

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = 12


def trotting(name, **goals):
    return config(name, "trot", SAMPLES, 0.5, **goals)


@pytest.fixture(scope="module")
def trot():
    """A quadruped that walks along a curve."""
    config = trotting("quadruped", travel=(0.1, 0.0), turn=0.3)
    return config, generate(config)


def going_on(config, motion, sample, more=2):
    """`more` half periods of the same trot from a sample on, then six samples of standing."""
    flags = config.footfall.contact
    rows = flags[np.arange(sample, sample + more * SAMPLES // 2 + SAMPLES) % SAMPLES]
    end = np.ones((6, flags.shape[1]), bool)
    pattern = FootfallPattern(config.footfall.names, np.vstack([rows, end]), False)
    return replace(
        config, footfall=pattern, duration=config.step * (pattern.samples - 1),
        begin=Begin(motion, sample), goals=LocomotionGoals(),
    )  # fmt: skip


@pytest.mark.parametrize("sample", [0, 3, 11])
def test_a_stop_out_of_a_trot(trot, sample):
    config, motion = trot
    stop = generate(going_on(config, motion, sample))
    assert stop.status == "reached" and stop.begin_rates
    # its first two samples are the trot's, of which the second may be of the next period
    later = motion.at(config.step * np.array([sample, sample + 1.0]))
    np.testing.assert_allclose(stop.com[:2], later.com, atol=1e-9)
    np.testing.assert_allclose(stop.base[:2, :3], later.base[:, :3], atol=1e-9)
    np.testing.assert_allclose(stop.positions[:2], later.positions, atol=1e-9)
    # feet that fly at first come down where the trot's swing ends, and do not fall before
    heights = Begin(motion, sample).heights(stop_pattern(config, sample), config.swing_height)
    own = config.footfall.heights(config.swing_height)
    np.testing.assert_allclose(
        heights[:SAMPLES], own[np.arange(sample, sample + SAMPLES) % SAMPLES]
    )
    speeds = np.linalg.norm(np.diff(stop.com, axis=0), axis=1) / stop.step
    assert speeds[0] > 0.1 and speeds[-1] < 1e-3
    # between samples it begins as the trot goes there, and ends at rest
    begun, trotted = stop.at(np.zeros(1)), motion.at(np.array([sample * config.step]))
    np.testing.assert_allclose(begun.velocities, trotted.velocities, atol=1e-9)
    np.testing.assert_allclose(begun.twist, trotted.twist, atol=2e-2)  # other periods about it
    ended = stop.at(np.array([stop.duration]))
    assert np.abs(ended.velocities).max() < 1e-9 and np.abs(ended.twist).max() < 1e-9


def stop_pattern(config, sample):
    rows = config.footfall.contact[np.arange(sample, sample + 2 * SAMPLES) % SAMPLES]
    return FootfallPattern(config.footfall.names, rows, False)


@pytest.mark.filterwarnings("ignore:.*principal moments")
def test_wheels_stop_turning():
    config = trotting("anymal_wheels", travel=(0.3, 0.0), turn=0.0)
    motion = generate(config)
    stop = generate(going_on(config, motion, 2))
    assert stop.status == "reached"
    assert np.abs(stop.spins[0]).max() > 1.0 and np.abs(stop.spins[-1]).max() < 1e-2


def test_a_plan_names_the_motion_it_goes_on_from(trot, tmp_path):
    config, motion = trot
    motion.save(tmp_path / "trot.npz")
    flags = config.footfall.contact
    rows = np.vstack([flags, np.ones((6, 4), bool)])
    text = {
        n: "".join("01"[int(v)] for v in rows[:, j]) for j, n in enumerate(motion.end_effectors)
    }
    plan = {
        "name": "stop",
        "locomotion": {
            "robot": str(ROBOTS / "quadruped.yaml"), "samples": len(rows),
            "footfall": {"contact": text, "periodic": False}, "swing_height": 0.02,
            "duration": config.step * (len(rows) - 1), "begin": {"motion": "trot.npz"},
        },
    }  # fmt: skip
    (tmp_path / "stop.yaml").write_text(yaml.safe_dump(plan))
    assert main(["plan", str(tmp_path / "stop.yaml"), "--out", str(tmp_path / "out")]) == 0
    stop = LocomotionMotion.load(tmp_path / "out" / "motion.npz")
    begun = motion.joint_splines()(0.0, 1)
    np.testing.assert_allclose(stop.begin_rates[10:], begun, atol=1e-12)
    np.testing.assert_allclose(stop.trajectory().velocities[0], begun, atol=1e-9)
    plan["locomotion"]["begin"]["sample"] = 12
    with pytest.raises(
        InputError, match=r"begin\.sample: got 12; accepted: a sample of it, 0 to 11"
    ):
        load_locomotion(plan, base=tmp_path)
    plan["locomotion"]["begin"] = {"motion": "none.npz"}
    with pytest.raises(InputError, match=r"none\.npz"):
        load_locomotion(plan, base=tmp_path)


def test_what_cannot_go_on_is_refused(trot):
    config, motion = trot
    good = going_on(config, motion, 0)
    slower = replace(good, duration=2 * good.duration)
    with pytest.raises(InputError, match=r"duration: .*as of `begin`; duration: 1\.208"):
        generate(slower)
    with pytest.raises(InputError, match="periodic: false"):
        generate(replace(config, begin=Begin(motion)))
    other = replace(good, begin=Begin(motion, 6))
    with pytest.raises(
        InputError, match=r"footfall: got .FL in contact at sample 0.; accepted: in the air"
    ):
        generate(other)
    robot = load_legged_robot(ROBOTS / "solo12.yaml")
    names = tuple(one.name for one in robot.end_effectors)
    foreign = replace(
        good, robot=robot, footfall=FootfallPattern(names, good.footfall.contact, False)
    )
    with pytest.raises(InputError, match="a motion of the plan's robot"):
        generate(foreign)
    broken = replace(motion.constraints[0], worst=1.0)
    unsound = replace(motion, constraints=(broken, *motion.constraints[1:]))
    with pytest.raises(InputError, match=f"got '{broken.name}'.*violates no constraint"):
        generate(replace(good, begin=Begin(unsound)))
