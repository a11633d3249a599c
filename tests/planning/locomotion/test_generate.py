"""Motions of legged robots from YAML: found, told when not, saved, planned again, refused."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros import _engine
from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion import (
    LocomotionMotion,
    generate,
    load_legged_robot,
    load_locomotion,
)
from diffsim_ros.planning.locomotion.generator import rank
from diffsim_ros.planning.locomotion.motion import base_poses, moved_by_periods
from diffsim_ros.rotation import quat_from_matrix, quat_log
from tests.planning.locomotion.plans import ROBOTS, config

ROOT = Path(__file__).resolve().parents[3]
PLANS = ROOT / "config" / "planning"


@pytest.fixture(scope="module")
def trot():
    return generate(config("quadruped", "trot", duration=0.5, travel=(0.1, 0.0), turn=0.0))


@pytest.mark.parametrize("name", ["quadruped_trot", "agilebot_duck", "swizzlebot_turn"])
def test_shipped_plans_reach_their_goals(name, tmp_path, capsys):
    assert main(["plan", str(PLANS / f"{name}.yaml"), "--out", str(tmp_path / "out")]) == 0
    assert "\nreached after" in capsys.readouterr().out
    motion = LocomotionMotion.load(tmp_path / "out" / "motion.npz")
    assert motion.status == "reached" and motion.holds
    for made in ("result.yaml", "metrics.json", "trajectory.yaml", "motion.png", "footfalls.png"):
        assert (tmp_path / "out" / made).stat().st_size > 100


def test_a_car_with_tilted_front_wheels_cannot_drive_and_says_why(tmp_path):
    """[G 2.5.1]."""
    assert generate(config("car", travel=(0.2, 0.0), turn=0.0)).status == "reached"
    motion = generate(config("car_tilted", travel=(0.2, 0.0), turn=0.0))
    broken = {one.name for one in motion.constraints if not one.holds}
    assert motion.status == "violated"
    assert broken & {"rolling", "wheel_axis", "friction"}
    with pytest.raises(InputError, match=r"constraints: got '.*wheel_axis"):
        motion.trajectory()
    motion.save(tmp_path / "motion.npz")
    read = LocomotionMotion.load(tmp_path / "motion.npz")
    with pytest.raises(InputError, match="all within tolerances"):
        read.trajectory()


def test_a_motion_is_saved_whole(trot, tmp_path):
    trot.save(tmp_path / "motion.npz")
    read = LocomotionMotion.load(tmp_path / "motion.npz")
    for name in ("com", "base", "positions", "contacts", "contact", "forces", "travel"):
        assert np.array_equal(getattr(read, name), getattr(trot, name))
    assert read.constraints == trot.constraints and read.goals == trot.goals
    assert read.joints == trot.joints and read.step == trot.step and read.periodic


def test_what_is_no_motion_is_refused(trot, tmp_path):
    trot.save(tmp_path / "motion.npz")
    with np.load(tmp_path / "motion.npz") as saved:
        arrays = dict(saved)
    for name in ("com", "report"):
        np.savez(tmp_path / "less.npz", **{k: v for k, v in arrays.items() if k != name})
        with pytest.raises(InputError, match=name):
            LocomotionMotion.load(tmp_path / "less.npz")
    np.savez(tmp_path / "other.npz", **{**arrays, "forces": arrays["forces"][:3]})
    with pytest.raises(InputError, match="forces"):
        LocomotionMotion.load(tmp_path / "other.npz")


def test_a_trajectory_repeats_and_its_speeds_are_those_of_its_positions(trot):
    made = trot.trajectory(periods=3, rate=2000.0)
    assert made.times[-1] == pytest.approx(3 * trot.duration)
    one = round(trot.duration * 2000)
    assert made.positions[one] == pytest.approx(made.positions[0])
    slope = np.gradient(made.positions, made.times, axis=0)
    assert slope[5:-5] == pytest.approx(made.velocities[5:-5], abs=0.01)


def held(rows, travel):
    """Means over the time around samples of what is constant half a step before and after each."""
    turned = [moved_by_periods(rows, travel, k, place=False) for k in (-1, 0, 1)]
    around = np.concatenate([turned[0][-1:], turned[1], turned[2][:1]])
    return (around[:-2] + 6 * around[1:-1] + around[2:]) / 8


def test_newtons_law_holds_for_arrays_alone(trot):
    """Without the engine: m (x'' - g) = sum f, where forces act half a step around samples."""
    robot = load_legged_robot(ROBOTS / "quadruped.yaml")
    x = np.vstack([trot.com[-1] - trot.travel[:3], trot.com, trot.com[0] + trot.travel[:3]])
    acceleration = (x[2:] - 2 * x[1:-1] + x[:-2]) / trot.step**2
    total = robot.mass * (acceleration + np.array([0, 0, 9.81]))
    forces = held(trot.forces.sum(axis=1), trot.travel)
    assert forces == pytest.approx(total, abs=2e-3 * robot.mass * 9.81)
    assert not trot.forces[~trot.contact].any()


@pytest.mark.parametrize("name", ["quadruped", "creature3"])
def test_eulers_law_holds_for_arrays_alone(name):
    """Without the engine: the momentum of every body about the centre of mass, by differences of
    its poses, changes by the moments of the forces; limbs' momentum is a part of it."""
    asked = config(name, "trot" if name == "quadruped" else "wave", samples=24, duration=0.6,
                   travel=(0.1, 0.0), turn=0.0)  # fmt: skip
    robot, motion = asked.robot, generate(asked)
    periods = [moved_by_periods(motion.com, motion.travel, k) for k in (-1, 0, 1)]
    poses, com = [], np.concatenate([periods[0][-1:], periods[1], periods[2][:1]])
    bases = base_poses(motion.base)
    for own in robot.link_poses(motion.positions, bases):
        row = []
        for k in (-1, 0, 1):
            moved = own.copy()
            moved[:, :3, 3] = moved_by_periods(own[:, :3, 3], motion.travel, k)
            columns = own[:, :3, :3].swapaxes(1, 2)
            turned = moved_by_periods(columns, motion.travel, k, place=False)
            moved[:, :3, :3] = turned.swapaxes(1, 2)
            row.append(moved)
        poses.append(np.concatenate([row[0][-1:], row[1], row[2][:1]]))
    L, h = np.zeros((len(com) - 1, 3)), motion.step
    for (_, inertial), pose in zip(robot.whole, poses, strict=True):
        R, p = pose[:, :3, :3], pose[:, :3, 3] + pose[:, :3, :3] @ inertial.centre
        arm = 0.5 * (p[1:] + p[:-1] - com[1:] - com[:-1])
        L += np.cross(arm, inertial.mass * np.diff(p, axis=0) / h)
        turn = np.array([quat_log(quat_from_matrix(a.T @ b)) for a, b in pairwise(R)]) / h
        L += np.einsum("nij,jk,nk->ni", 0.5 * (R[1:] + R[:-1]), inertial.inertia, turn)
    moments = held(np.cross(motion.contacts - motion.com[:, None], motion.forces).sum(axis=1),
                   motion.travel)  # fmt: skip
    size = robot.mass * 9.81 * motion.com[:, 2].mean()
    assert np.diff(L, axis=0) / h == pytest.approx(moments, abs=5e-3 * size)
    assert np.abs(moments).max() > 5e-2 * size


def test_the_body_stays_off_the_ground():
    """A low hexapod would lie down; its bottom and its knees keep clear."""
    motion = generate(config("hexapod", "wave", samples=24, duration=0.8, travel=(0.1, 0.0)))
    robot = load_legged_robot(ROBOTS / "hexapod.yaml")
    assert motion.status == "reached"
    poses = robot.link_poses(motion.positions, base_poses(motion.base))
    assert len(robot.clear_points()) > 8
    for link, place in robot.clear_points():
        pose = poses[link - 1]
        assert (pose[:, 2, :3] @ place + pose[:, 2, 3]).min() > -1e-3


def test_forces_stay_within_the_cone():
    """On ice: at a friction of 0.7 this trot's forces lean by 0.13."""
    asked = config("quadruped", "trot", duration=0.5, travel=(0.1, 0.0), turn=0.0)
    motion = generate(replace(asked, friction=0.1))
    assert motion.status == "reached"
    touching = motion.forces[motion.contact]
    assert (np.linalg.norm(touching[:, :2], axis=1) <= 0.1 * touching[:, 2] + 0.03).all()


def test_wheels_turn_as_far_as_the_robot_goes():
    asked = config("car", travel=(0.2, 0.0), turn=0.0)
    motion = generate(asked)
    radius = asked.robot.end_effectors[0].radius
    assert radius * motion.spins == pytest.approx(0.2 / motion.duration, rel=1e-3)


def test_wheels_without_motors_are_slowed_by_their_resistance_alone():
    motion = generate(config("swizzlebot", samples=24, duration=1.2, travel=(0.4, 0.0), turn=0.0))
    assert motion.status == "reached"
    ahead = np.stack([np.cos(motion.yaw), np.sin(motion.yaw), 0 * motion.yaw], axis=-1)
    along = (motion.forces * ahead).sum(axis=-1)
    assert along == pytest.approx(-0.01 * motion.forces[..., 2], abs=0.01)
    assert motion.spins.min() > 0
    sideways = np.linalg.norm(motion.forces[..., :2], axis=-1)
    assert sideways.max() > 0.05 * motion.forces[..., 2].max()  # what drives it


def test_motions_that_hold_come_first_then_those_that_reach_their_goals(trot):
    broken = replace(trot, constraints=(replace(trot.constraints[0], worst=1e3),))
    missed = replace(trot, goals=(replace(trot.goals[0], distance=1.0),))
    assert [one.status for one in (trot, missed, broken)] == ["reached", "goals_missed", "violated"]
    ranks = [rank(trot, 5.0), rank(trot, 9.0), rank(missed, 1.0), rank(broken, 0.1)]
    assert ranks == sorted(ranks)


def test_a_changed_goal_begins_with_the_motion_there_is(trot):
    asked = config("quadruped", "trot", duration=0.5, travel=(0.14, 0.0), turn=0.0)
    found = generate(asked, start=trot)
    assert found.status == "reached"
    assert found.travel[0] == pytest.approx(0.14, abs=5e-3)


def test_places_are_reached_and_missed_ones_told():
    asked = config(
        "agilebot", samples=21, duration=2.0, periodic=False, travel=(0.15, 0.0), turn=0.0,
    )  # fmt: skip
    motion = generate(asked)
    assert motion.status == "reached"
    assert np.ptp(motion.positions[:2], axis=0) == pytest.approx(0.0, abs=1e-12)  # begins at rest
    assert motion.positions[-1] == pytest.approx(motion.positions[-2], abs=2e-3)
    far = replace(asked, goals=replace(asked.goals, travel=(3.0, 0.0)), attempts=1)
    missed = generate(far)  # 0.24 m/s is the fastest that its wheels turn
    assert missed.status in ("goals_missed", "violated")
    assert not missed.goals[0].reached


def test_a_search_can_be_ended():
    token = _engine.CancelToken()

    def stop(attempt, iteration, value):
        if iteration == 3:
            token.cancel()

    asked = config("creature3", "wave", duration=0.8, travel=(0.3, 0.0))
    assert generate(asked, progress=stop, cancel=token).status == "cancelled"


PLAN = {
    "locomotion": {
        "robot": str(ROBOTS / "quadruped.yaml"), "footfall": {"gait": "trot"}, "duration": 0.5,
        "samples": 12, "swing_height": 0.02, "goals": {"travel": [0.1, 0]},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"duration": 0}, "locomotion.duration: got 0"),
        ({"samples": 3}, "locomotion.samples: got 3"),
        ({"swing_height": -0.01}, "locomotion.swing_height"),
        ({"friction": "rough"}, "locomotion.friction: got 'rough'"),
        ({"footfall": {"gait": "gallop"}}, "gait: got 'gallop'"),
        ({"goals": {"travel": [1]}}, "goals.travel"),
        ({"goals": {"speed": 1}}, "goals.speed"),
        ({"goals": {"places": [{"time": 0.9, "x": 1}]}}, "0 to 0.5 s"),
        ({"goals": {"places": [{"time": 0.2}]}}, "at least one of x, y and z"),
        ({"goals": {"places": [{"time": 0.2, "x": 1, "of": "FX"}]}}, "of: got 'FX'"),
        ({"goals": {"ceilings": [{"height": 0.1, "begin": 0.4, "end": 0.1}]}}, "after `begin`"),
        ({"ground": {"marsh": {}}}, "locomotion.ground"),
        ({"ground": {"plane": {}}, "goals": {"turn": 0.2}}, "goals.turn: got 0.2"),
        ({"search": {"attempts": 0}}, "search.attempts"),
        ({"wings": 2}, "locomotion.wings"),
    ],
)
def test_bad_plans_are_refused_by_name(changes, words):
    with pytest.raises(InputError) as raised:
        load_locomotion({"locomotion": {**PLAN["locomotion"], **changes}})
    assert words in str(raised.value)


def test_a_slope_is_climbed():
    slope = {"plane": {"normal": [-0.1736, 0, 0.9848]}}
    asked = load_locomotion(
        {"locomotion": {**PLAN["locomotion"], "ground": slope, "goals": {"travel": [0.1, 0.0]}}}
    )
    motion = generate(asked)
    assert motion.status == "reached", motion.constraints
    assert motion.travel[2] / motion.travel[0] == pytest.approx(np.tan(np.deg2rad(10)), abs=0.01)
    ground = motion.contacts @ [-0.1736, 0, 0.9848]
    assert ground[motion.contact] == pytest.approx(0.0, abs=1e-3)
