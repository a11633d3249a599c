"""Excitations: within limits everywhere, at rest at both ends, telling more than random ones."""

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros import cli
from diffsim_ros.errors import InputError
from diffsim_ros.planning import load_plan, plan_kind
from diffsim_ros.planning.excitation import design, load_excitation
from diffsim_ros.planning.excitation.result import document, figures
from diffsim_ros.robots.collision import Around, CollisionCheck
from diffsim_ros.robots.time_scaling import peaks
from diffsim_ros.robots.trajectory_check import check_motion
from diffsim_ros.scene.standing import own_surroundings

PLAN = Path(__file__).parents[2] / "config" / "planning" / "ur5_excitation.yaml"
SHORT = {"duration": 2.0, "harmonics": 2}
search = importlib.import_module("diffsim_ros.planning.excitation.design")


def config(changes=None, **excitation):
    given = yaml.safe_load(PLAN.read_text())
    given["excitation"] |= {"parameters": []} | SHORT | excitation
    given["search"] = {"starts": 1, "iterations": 6, **(changes or {})}
    return load_excitation(given, base=PLAN)


@pytest.fixture(scope="module")
def designed():
    return design(config())


def test_the_motion_rests_at_home_at_both_ends(designed):
    motion = designed.carried.trajectory
    for row in (0, -1):
        assert np.allclose(motion.positions[row], designed.config.arm.home, atol=1e-12)
        assert not motion.velocities[row].any() and not motion.accelerations[row].any()
    assert motion.times[-1] == 2.0 and designed.carried.figures["duration"] == 2.0


def test_limits_are_kept_between_the_points_too_and_one_binds_for_every_joint(designed):
    own, found = designed.config, peaks(designed.carried.trajectory)
    shares = [found[k] / getattr(own.limits, k) for k in ("velocity", "acceleration", "jerk")]
    shares += [(found["upper"] - own.arm.home) / own.room[0],
               (own.arm.home - found["lower"]) / own.room[1]]  # fmt: skip
    largest = np.max(shares, axis=0)
    assert np.all(largest <= 1.0 + 1e-5)
    assert np.allclose(largest, designed.amplitude, atol=1e-4)
    check_motion(designed.carried.trajectory, own.arm)  # as the driver does


def test_the_arm_keeps_clear_of_itself_and_its_table(designed):
    arm = designed.config.arm
    around = Around(own_surroundings(arm))
    assert around.obstacles
    CollisionCheck(arm, 0.01).check(designed.carried.trajectory, around)


def test_it_tells_more_than_random_motions(designed):
    assert designed.objective[0] > np.median(designed.drawn) + 50.0
    assert designed.gain < 0.8
    assert designed.rank == 58  # of 60 + 24: the combinations that a UR5's efforts depend on
    assert "shoulder_pan_joint.armature" in designed.together  # with the inertia about that axis
    assert all(value > 0 for value in designed.sigmas.values())
    assert document(designed)["expected"]["elbow_joint.viscous"]["unit"] == "N m s/rad"
    assert figures(designed)["information"]["told"] == 58


def test_the_same_file_gives_the_same_motion_and_more_periods_repeat_it(designed):
    again = design(config(periods=2))
    one, two = designed.carried.trajectory, again.carried.trajectory
    count = len(one.times)
    assert np.array_equal(two.positions[:count], one.positions)
    assert np.array_equal(two.positions[count - 1 :], one.positions)
    # twice the readings
    ratio = again.sigmas["elbow_joint.viscous"] / designed.sigmas["elbow_joint.viscous"]
    assert ratio == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize(
    "asked",
    [
        {"criterion": "mean"},
        {"criterion": "volume", "gains": ["elbow_joint", "wrist_1_joint"]},
        {"parameters": ["gain", "wrist_2_joint.coulomb"], "gains": ["elbow_joint"]},
        {"parameters": ["viscous"], "criterion": "chosen"},
    ],
)
@pytest.mark.parametrize("near", [False, True])
def test_the_gradient_is_that_of_the_objective(asked, near):
    problem = search.ExcitationProblem(config(**asked))
    rng = np.random.default_rng(3)
    shape = (6, problem.bounded.series.size)
    z = rng.normal(size=shape).ravel() * (3.0 if near else 0.4)
    if not near:
        problem.least = -10.0  # nothing is near enough to count
    direction = rng.normal(size=z.size)
    value, gradient = problem(z)
    assert value == pytest.approx(problem.alone(z)[0])
    e = 1e-5
    ahead, behind = (problem.alone(z + s * e * direction)[0] for s in (1, -1))
    assert gradient @ direction == pytest.approx((ahead - behind) / (2 * e), rel=2e-3, abs=1e-4)


def test_every_coefficient_gives_a_motion_within_limits():
    bounded = config().bounded
    c = np.random.default_rng(1).normal(size=(6, bounded.series.size)) * 1e3
    motion, _ = bounded.motion(c)
    most = [bounded.limits.velocity, bounded.limits.acceleration, bounded.limits.jerk]
    assert np.all(np.abs(motion[1:]) < np.array(most)[:, None])
    assert np.all(motion[0] < bounded.room[0]) and np.all(-motion[0] < bounded.room[1])
    assert np.allclose(bounded.series.at(np.array([0.0, 2.0]))[1:3], 0.0, atol=1e-9)


def test_chosen_parameters_are_told_better(designed):
    names = ["wrist_3_joint.viscous", "wrist_3_joint.coulomb"]
    chosen = design(config({"iterations": 15}, parameters=names, criterion="chosen"))
    ratio = [chosen.sigmas[name] / designed.sigmas[name] for name in names]
    assert np.prod(ratio) < 0.9


def test_a_cancelled_search_returns_the_best_so_far():
    class Token:
        cancelled = False

    def stop(start, starts, iteration, objective):
        Token.cancelled = iteration == 2

    found = design(config(), progress=stop, cancel=Token)
    assert found.status == "cancelled" and "cancelled" in found.notes[-1]
    check_motion(found.carried.trajectory, found.config.arm)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"duration": 0.05}, "excitation.duration: got 0.05; accepted: at least"),
        ({"duration": 50, "periods": 2}, "at most 60 s of all periods"),
        ({"duration": 0.3, "harmonics": 9}, "excitation.harmonics: got 9; accepted: at most 3"),
        ({"harmonics": 1}, "excitation.harmonics"),
        ({"range": 0}, "excitation.range"),
        ({"range": {"elbow": 1}}, "elbow_joint"),
        ({"sigma": [1, 1]}, "excitation.sigma"),
        ({"gains": ["elbow"]}, "did you mean 'elbow_joint'"),
        ({"parameters": ["elbow_joint.gain"]}, "excitation.parameters"),
        ({"parameters": ["elbow_joint.viscos"]}, "did you mean 'elbow_joint.viscous'"),
        ({"criterion": "chosen"}, "with `excitation.parameters`"),
        ({"speed": 1}, "speed"),
    ],
)
def test_what_is_impossible_is_refused(changes, words):
    with pytest.raises(InputError) as refused:
        config(**changes)
    assert words in str(refused.value)


def test_gains_of_all_joints_are_not_told():
    names = list(config().arm.robot.joint_names)
    with pytest.raises(InputError, match="heavier bodies from larger gains"):
        config(gains=names)


def test_a_home_at_the_end_of_a_range_is_refused():
    given = yaml.safe_load(PLAN.read_text())
    arm = yaml.safe_load((PLAN.parent / given["robot"]["arm"]).read_text())
    urdf = PLAN.parents[1] / "robots" / arm["urdf"]
    arm |= {"urdf": str(urdf.resolve()), "home": [0, -1.57, 1.57, -1.57, -1.57, 6.27]}
    given["robot"]["arm"] = arm
    with pytest.raises(InputError, match=r"wrist_3_joint.*move `home`"):
        load_excitation(given, base=PLAN)


def test_where_no_motion_is_clear_the_things_are_named():
    plain = config()
    wall = next(iter(plain.obstacles.values()))
    shut = replace(plain, obstacles={"wall": Raised(wall)}, iterations=1)
    with pytest.raises(InputError, match="wall"):
        design(shut)


class Raised:
    """A table as high as the arm."""

    def __init__(self, table):
        self.table = table

    def evaluate(self, points):
        return self.table.evaluate(points - [0.0, 0.0, 1.0])


def test_the_command_writes_what_is_sent(tmp_path, capsys):
    given = yaml.safe_load(PLAN.read_text())
    given["excitation"] |= SHORT
    given["search"] = {"starts": 1, "iterations": 2}
    given["robot"]["arm"] = str((PLAN.parent / given["robot"]["arm"]).resolve())
    plan = tmp_path / "plan.yaml"
    plan.write_text(yaml.safe_dump(given))
    assert plan_kind(plan) == "excitation"
    assert plan_kind(PLAN.with_name("ur5_throw.yaml")) == "goals"
    assert cli.main(["plan", str(plan), "--out", str(tmp_path / "out")]) == 0
    assert "elbow_joint.viscous" in capsys.readouterr().out
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert names == {"result.yaml", "metrics.json", "trajectory.yaml", "motion.png"}
    with pytest.raises(InputError, match="plan of an excitation"):
        load_plan(plan)
