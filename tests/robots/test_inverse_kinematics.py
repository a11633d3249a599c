"""Paths of tools: chains against Pinocchio, branches and limits kept, and what is refused."""

import numpy as np
import pytest

pytest.importorskip("urchin")

from dataclasses import replace

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.inverse_kinematics import follow
from diffsim_ros.robots.kinematics import chain, jacobian, link_pose
from diffsim_ros.robots.obstacles import Clearance
from diffsim_ros.robots.time_scaling import point_to_point, stretched
from validation.inverse_kinematics import arms, kept, random_motion

ARMS = arms()
UR5 = ARMS["ur5"]


@pytest.mark.parametrize("name", ARMS)
def test_poses_and_jacobians_are_those_of_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    arm = ARMS[name]
    model = pin.buildModelFromUrdf(arm.robot.place)
    data, rng = model.createData(), np.random.default_rng(3)
    q = rng.uniform(-2, 2, (6, len(arm.home)))
    tool, index = chain(arm.robot, arm.tool)
    poses, slopes = tool.poses(q[:, index])
    frame = model.getFrameId(arm.tool)
    for k in range(len(q)):
        pin.framesForwardKinematics(model, data, q[k])
        assert poses[k] == pytest.approx(data.oMf[frame].homogeneous, abs=1e-13)
        wanted = pin.computeFrameJacobian(model, data, q[k], frame, pin.LOCAL_WORLD_ALIGNED)
        assert slopes[k] == pytest.approx(wanted, abs=1e-13)
    assert link_pose(arm.robot, q, arm.tool) == pytest.approx(poses, abs=1e-13)
    assert jacobian(arm.robot, q, arm.tool)[:, :, index] == pytest.approx(slopes, abs=1e-13)


@pytest.mark.parametrize("link", ["forearm_link", "wrist_3_link"])  # three joints, and six
def test_singular_values_are_those_of_the_task(link):
    arm, index = chain(UR5.robot, link)
    q = np.random.default_rng(5).uniform(-2, 2, (4, len(index)))
    J = arm.poses(q)[1] * np.repeat([1.0, 0.3], 3)[:, None]  # lengths: angles times 0.3 m
    for orientation, rows in (("full", 6), ("free", 3)):
        task = _engine.PoseTask(orientation, (0, 0, 1), 0.3)
        wanted = [np.linalg.svd(one[:rows], compute_uv=False)[[-1, 0]] for one in J]
        assert arm.singular_values(task, q) == pytest.approx(np.array(wanted), abs=1e-8)


def path(arm, seed, orientation="full", keys=60):
    """A motion's times, the tool's poses in the world, and the motion."""
    motion = random_motion(arm, np.random.default_rng(seed))
    times = np.linspace(0, motion.duration, keys)
    tool, index = chain(arm.robot, arm.tool)
    return times, arm.base @ tool.poses(motion.at(times)[0][:, index])[0], motion


def poses_of(arm, found):
    return arm.base @ link_pose(arm.robot, found.trajectory.positions, arm.tool)


def test_orientation_is_free_or_free_about_an_axis():
    times, poses, _ = path(UR5, 2)
    free = follow(UR5, times, poses[:, :3, 3], orientation="free")
    assert poses_of(UR5, free)[:, :3, 3] == pytest.approx(poses[:, :3, 3], abs=1e-7)
    assert kept(free.trajectory, UR5)
    about = follow(UR5, times, poses, orientation=(0, 0, 2))
    there = poses_of(UR5, about)
    assert there[:, :3, 2:] == pytest.approx(poses[:, :3, 2:], abs=1e-6)
    assert np.abs(there[:, :3, 0] - poses[:, :3, 0]).max() > 1e-2
    assert kept(about.trajectory, UR5)


def test_the_motion_begins_where_the_arm_stands():
    times, poses, motion = path(UR5, 3)
    start = motion.positions[0]
    found = follow(UR5, times, poses, start=start)
    assert found.trajectory.positions[0] == pytest.approx(start, abs=1e-6)
    assert found.trajectory.positions == pytest.approx(motion.at(times)[0], abs=1e-4)
    with pytest.raises(InputError, match=r"start: got .*accepted: joint values at the first pose"):
        follow(UR5, times, poses, start=start + 0.1)


def test_the_branch_with_the_largest_margins_is_taken():
    """Among branches that pass, none has a larger smallest margin; all margins are reported."""
    times, poses, _ = path(UR5, 4)
    found = follow(UR5, times, poses)
    assert found.branches >= 2
    assert set(found.margins) == {"position", "velocity", "acceleration", "jerk", "singular"}
    assert all(value > 0 for value in found.margins.values())
    tight = replace(UR5.limits, velocity=UR5.limits.velocity * (1 - found.margins["velocity"]))
    assert follow(replace(UR5, limits=tight), times, poses).branches <= found.branches


def line(points, count=40, duration=3.0):
    """Times and positions of a straight path from rest to rest."""
    share = np.linspace(0, 1, count)
    smooth = 10 * share**3 - 15 * share**4 + 6 * share**5
    a, b = np.asarray(points, float)
    return duration * share, a + smooth[:, None] * (b - a)


def downwards(times, positions):
    poses = np.tile(np.diag([1.0, -1.0, -1.0, 1.0]), (len(times), 1, 1))
    poses[:, :3, 3] = positions
    return poses


REACHABLE = ([0.4, -0.2, 0.3], [0.4, 0.3, 0.4])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": ([0.4, 0, 0.3], [1.6, 0, 0.3])}, r"tool0 at \d\.\d+ s: got .* m away at best"),
        ({"points": ([2, 0, 0.3], [2, 0, 0.4])}, r"tool0 at 0\.000 s.*within reach"),
        ({"duration": 0.2}, r"joint (velocity|acceleration|jerk) at .*times as long would do"),
        ({"singular": 0.9}, r"singular value: got 0\.\d+; accepted: at least 0\.9"),
        ({"orientation": "fixed"}, "orientation: got 'fixed'; accepted: full, free, or an axis"),
        ({"base": None}, "base: got None.*place in the world"),
        ({"flat": True}, r"poses: got .*positions \(40, 3\) if free"),
    ],
)
def test_what_cannot_be_is_refused_by_name(change, message):
    points = change.get("points", REACHABLE)
    times, positions = line(points, duration=change.get("duration", 3.0))
    poses = positions if change.get("flat") else downwards(times, positions)
    arm = replace(UR5, base=change["base"]) if "base" in change else UR5
    given = {key: change[key] for key in ("singular", "orientation") if key in change}
    with pytest.raises(InputError, match=message) as error:
        follow(arm, times, poses, **given)
    assert "\n" not in str(error.value)


def test_a_limit_that_binds_is_named_with_its_joint():
    times, positions = line(REACHABLE)
    tight = UR5.limits.upper.copy()
    tight[2], low = 0.1, UR5.limits.lower.copy()
    low[2] = -0.1
    arm = replace(UR5, limits=replace(UR5.limits, upper=tight, lower=low),
                  home=np.array([0, -1.57, 0, -1.57, -1.57, 0]))  # fmt: skip
    with pytest.raises(InputError, match=r"elbow_joint position at .*from -0\.1 to 0\.1"):
        follow(arm, times, downwards(times, positions))


def test_obstacles_choose_the_branch_or_refuse():
    times, positions = line(REACHABLE)
    poses = downwards(times, positions)
    alone = follow(UR5, times, poses)
    elbow = link_pose(UR5.robot, alone.trajectory.positions, "forearm_link")[:, :3, 3]
    ball = _engine.Transformed(_engine.Sphere(0.08), elbow[len(elbow) // 2])
    clearance = Clearance(UR5, {"ball": ball})
    assert clearance(alone.trajectory.positions)[0].min() < 0
    around = follow(UR5, times, poses, clearance=clearance)
    assert around.branches < alone.branches
    assert clearance(around.trajectory.positions)[0].min() == around.margins["clearance"] > 0
    wall = Clearance(UR5, {"wall": _engine.Plane((-1, 0, 0), -0.35)})  # beyond x = 0.35 m
    with pytest.raises(InputError, match=r"path: wrist_\d_link and wall at \d\.\d+ s: got '-0\.0"):
        follow(UR5, times, poses, clearance=wall)


def test_without_rest_the_ends_move():
    motion = stretched(point_to_point(UR5.limits, UR5.home, UR5.home + 0.5,
                                      names=UR5.robot.joint_names), 2.0)  # fmt: skip
    times = np.linspace(0.3, 0.7, 40) * motion.duration
    tool, index = chain(UR5.robot, UR5.tool)
    poses = UR5.base @ tool.poses(motion.at(times)[0][:, index])[0]
    found = follow(UR5, times, poses, at_rest=False, start=motion.at(times[0])[0])
    assert found.trajectory.times[0] == 0
    wanted = motion.at(times)[1]
    assert found.trajectory.velocities == pytest.approx(wanted, abs=2e-3)


def test_a_smoothed_way_of_a_spare_joint_has_less_acceleration():
    arm = ARMS["seven_axis"]
    times, poses, motion = path(arm, 1, keys=80)
    found = follow(arm, times, poses)
    assert kept(found.trajectory, arm)
    assert poses_of(arm, found) == pytest.approx(poses, abs=1e-7)
    share = [
        np.mean((rows / arm.limits.acceleration) ** 2)
        for rows in (found.trajectory.accelerations, motion.at(times)[2])
    ]
    assert share[0] < 2 * share[1]


def test_a_spare_joint_does_not_help_out_of_reach():
    arm = ARMS["seven_axis"]
    times, positions = line(([0.5, 0, 0.5], [0.5, 0, 2.5]))
    with pytest.raises(InputError, match=r"tool at \d\.\d+ s: got 'no such joint values found'"):
        follow(arm, times, positions, orientation="free")
    with pytest.raises(InputError, match=r"tool at 0\.000 s: got '.* m away at best'"):
        follow(arm, times, positions[::-1], orientation="free")


def test_short_arms_follow_what_they_can(tmp_path):
    """A sliding hinge: position in its plane has a path, one beside it has not."""
    (tmp_path / "arm.urdf").write_text(CRANE)
    given = {"urdf": "arm.urdf", "base": {"position": [0, 0, 1]}, "home": [0.1, 0.3]}
    arm = load_arm(given, tmp_path)
    q = np.stack([np.linspace(0, 0.4, 30), np.linspace(0.1, 1.2, 30)], axis=1)
    poses = arm.base @ link_pose(arm.robot, q, "tip")
    found = follow(arm, np.linspace(0, 4, 30), poses, at_rest=False)
    assert found.trajectory.positions == pytest.approx(q, abs=1e-6)
    poses[:, 1, 3] += 0.05
    with pytest.raises(InputError, match=r"tip at .*got '0\.05 m away at best'"):
        follow(arm, np.linspace(0, 4, 30), poses, at_rest=False)


CRANE = """<robot name="crane"><link name="base"/>
<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<link name="cart"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="swing" type="continuous"><parent link="cart"/><child link="rod"/><axis xyz="0 1 0"/>
  <limit velocity="2" effort="1"/></joint>
<link name="rod"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="end" type="fixed"><parent link="rod"/><child link="tip"/>
  <origin xyz="0 0 -0.5"/></joint>
<link name="tip"/></robot>"""
