"""URDF files: the UR5 against its published table and Pinocchio, and what is refused."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.robots.kinematics import (
    body_motions,
    jacobian,
    link_pose,
    moving_jacobian,
)
from diffsim_ros.robots.tree import model_of
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.rotation import quat_matrix

pytest.importorskip("urchin")
UR5 = Path(__file__).resolve().parents[2] / "urdf" / "ur5.urdf"
DH = [  # alpha, a, d of series 3
    (np.pi / 2, 0, 0.089159), (0, -0.425, 0), (0, -0.39225, 0), (np.pi / 2, 0, 0.10915),
    (-np.pi / 2, 0, 0.09465), (0, 0, 0.0823),
]  # fmt: skip
CENTRES = [  # published, in the DH frames
    (0, -0.02561, 0.00193), (0.2125, 0, 0.11336), (0.15, 0, 0.0265), (0, -0.0018, 0.01634),
    (0, 0.0018, 0.01634), (0, 0, -0.001159),
]  # fmt: skip

ARM = """<robot name="arm">
  <link name="base"/>
  <joint name="j1" type="revolute">
    <parent link="base"/><child link="l1"/><origin xyz="0 0 0.3" rpy="0.2 0 0.1"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="10"/>
    <dynamics damping="0.4" friction="0.2"/>
  </joint>
  <link name="l1">
    <inertial><origin xyz="0 0.1 0.2" rpy="0.3 0 0"/><mass value="1.2"/>
      <inertia ixx="0.02" iyy="0.015" izz="0.01" ixy="0.001" ixz="0" iyz="0.002"/></inertial>
  </link>
  <joint name="bolt" type="fixed">
    <parent link="l1"/><child link="plate"/><origin xyz="0.1 0 0.05" rpy="0 0.4 0"/>
  </joint>
  <link name="plate">
    <inertial><origin xyz="0 0 0.05"/><mass value="0.6"/>
      <inertia ixx="0.004" iyy="0.003" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="j2" type="prismatic">
    <parent link="plate"/><child link="l2"/><origin xyz="0 0 0.2" rpy="0 0 0.5"/>
    <axis xyz="1 0 1"/><limit lower="0" upper="0.5" velocity="1" effort="0"/>
  </joint>
  <link name="l2">
    <inertial><origin xyz="0.05 0 0"/><mass value="0.4"/>
      <inertia ixx="0.001" iyy="0.001" izz="0.0012" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="j3" type="continuous">
    <parent link="l2"/><child link="l3"/><origin xyz="0.1 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <link name="l3">
    <inertial><mass value="0.3"/>
      <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual>
  </link>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    """Path of a small robot with a hinge, a slider, a wheel and a fixed joint."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


def test_the_ur5_is_the_published_one():
    robot = load_robot(UR5, meshes="require")
    q = np.random.default_rng(0).uniform(-2, 2, (6,))
    pose, bodies = np.eye(4), []
    for (alpha, a, d), angle in zip(DH, q, strict=True):
        c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
        step = [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d]]
        pose = pose @ np.array([*step, [0, 0, 0, 1]])
        bodies.append(pose)
    assert link_pose(robot, q, "tool0") == pytest.approx(pose, abs=1e-14)
    for joint, centre, frame in zip(robot.joints, CENTRES, bodies, strict=True):
        here = link_pose(robot, q, joint.body) @ np.append(joint.inertial.centre, 1)
        assert here == pytest.approx(frame @ np.append(centre, 1), abs=1e-9)
    masses = [joint.inertial.mass for joint in robot.joints]
    assert masses == [3.7, 8.393, 2.33, 1.219, 1.219, 0.1879]


@pytest.mark.parametrize("robot_file", ["ur5", "arm"])
def test_kinematics_are_those_of_pinocchio(robot_file, arm):
    pin = pytest.importorskip("pinocchio")
    path = UR5 if robot_file == "ur5" else arm
    robot = load_robot(path)
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    rng = np.random.default_rng(1)
    tip = "tool0" if robot_file == "ur5" else "l3"
    n = len(robot.joints)
    q, qd = rng.normal(size=(2, 4, n))
    pose, J = link_pose(robot, q, tip), jacobian(robot, q, tip)
    motions = body_motions(robot, q, qd)
    for k in range(len(q)):
        full = q[k]
        if robot_file == "arm":  # Pinocchio has a wheel as cosine and sine
            full = np.array([*q[k, :2], np.cos(q[k, 2]), np.sin(q[k, 2])])
        pin.forwardKinematics(model, data, full, qd[k])
        pin.updateFramePlacements(model, data)
        for joint, (_, spin, rate) in enumerate(motions, start=1):
            moves = pin.getVelocity(model, data, joint, pin.LOCAL_WORLD_ALIGNED)
            assert spin[k] == pytest.approx(moves.angular, abs=1e-13)
            assert rate[k] == pytest.approx(moves.linear, abs=1e-13)
        frame = model.getFrameId(tip)
        assert pose[k] == pytest.approx(data.oMf[frame].homogeneous, abs=1e-13)
        wanted = pin.computeFrameJacobian(model, data, full, frame, pin.LOCAL_WORLD_ALIGNED)
        assert J[k] == pytest.approx(wanted, abs=1e-13)


def test_what_is_fixed_is_merged_and_limits_are_read(arm):
    robot = load_robot(arm)
    assert robot.joint_names == ("j1", "j2", "j3")
    assert [joint.kind for joint in robot.joints] == ["revolute", "prismatic", "continuous"]
    assert robot.joints[0].inertial.mass == pytest.approx(1.8)
    assert robot.frame("plate").carrier == 0
    assert (robot.joints[0].damping, robot.joints[0].friction) == (0.4, 0.2)
    limits = robot.limits
    assert limits["lower"].tolist() == [-2, 0, -np.inf]
    assert limits["effort"].tolist() == [10, np.inf, np.inf]
    assert robot.values({"j2": 0.3}, "angles").tolist() == [0, 0.3, 0]
    with pytest.raises(InputError, match=r"angles: got 'j4'; accepted: a joint that moves"):
        robot.values({"j4": 0.3}, "angles")
    with pytest.raises(InputError, match="a number, 3 numbers"):
        robot.values([1, 2], "angles")
    with pytest.raises(InputError, match="did you mean 'plate'"):
        robot.frame("plates")


BAD = [
    ('type="continuous"', 'type="floating"', r"joint j3: type: got 'floating'; accepted: revolute"),
    ('<mass value="0.4"/>', '<mass value="-0.4"/>', r"link l2: inertial: mass: got -0.4; accepted"),
    ('ixx="0.001" iyy="0.001" izz="0.0012"', 'ixx="0.001" iyy="0.001" izz="0.003"', "none above"),
    ("<inertial><mass", "<inertials><mass", "mismatched tag"),
    ('<child link="l3"/>', '<child link="l9"/>', "l9"),
    ('<child link="l3"/>', '<child link="base"/>', r"links: got \['l3'\]|without a cycle"),
    (
        "</robot>",
        '<joint name="j4" type="fixed"><parent link="base"/><child link="plate"/></joint></robot>',
        r"link plate: got \"parents 'l1' and 'base'\"; accepted: one parent",
    ),
    ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>', "joint j3: axis"),
    ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1e200"/>', "joint j3: axis"),
    ('damping="0.4"', 'damping="-0.4"', "dynamics damping: got -0.4; accepted: a finite"),
    ('<box size="0.1 0.1 0.1"/>', '<mesh filename="arm.stl"/>', "link l3: mesh: got 'arm.stl'"),
    (
        '<box size="0.1 0.1 0.1"/>',
        '<mesh filename="package://arm_description/arm.stl"/>',
        "an existing mesh file; give packages=",
    ),
    ("<robot name", "<sdf name", "mismatched tag"),
    ('<axis xyz="0 0 1"/>', '<mimic joint="j3"/>', "joint j3: mimic: got 'j3 of j3'; accepted: a"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_bad_files_are_refused_on_one_line(arm, old, new, message):
    assert old in ARM
    arm.write_text(ARM.replace(old, new))
    with pytest.raises(InputError, match=message) as error:
        load_robot(arm)
    assert str(error.value).startswith(str(arm))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [('upper="2"', (0.0, 2.0)), ('lower="-2"', (-2.0, 0.0)), ("", (-np.inf, np.inf))],
)
def test_one_limit_alone_leaves_the_other_at_zero(arm, given, expected):
    arm.write_text(ARM.replace('lower="-2" upper="2"', given))
    limits = load_robot(arm).limits
    assert (limits["lower"][0], limits["upper"][0]) == expected


def test_the_nearest_inertia_that_is_offered_does(arm):
    old = 'ixx="0.001" iyy="0.001" izz="0.0012" ixy="0" ixz="0" iyz="0"'
    wrong = 'ixx="0.001" iyy="0.001" izz="0.009" ixy="0.0002" ixz="0" iyz="0"'
    arm.write_text(ARM.replace(old, wrong))
    told = r"link l2: inertial: inertia: got 'principal moments \[0.0008, 0.0012, 0.009\]'; accept"
    with pytest.raises(InputError, match=told) as refused:
        load_robot(arm)
    offered = str(refused.value).partition("nearest that a body can have: ")[2]
    numbers = dict(re.findall(r'(i[xyz]{2})="([^"]+)"', offered))
    # second moments S = tr(I)/2 1 - I are (0.0047, 0.0043, -0.0035) along its axes: the last to 0
    assert float(numbers["izz"]) == pytest.approx(0.009)
    assert float(numbers["ixx"]) + float(numbers["iyy"]) == pytest.approx(0.009)
    arm.write_text(ARM.replace(old, offered))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_robot(arm)


def test_an_inertia_below_zero_has_none_near(arm):
    arm.write_text(
        ARM.replace('ixx="0.001" iyy="0.001" izz="0.0012"', 'ixx="-1" iyy="-1" izz="-1"')
    )
    with pytest.raises(InputError, match=r"none is near.*take that of the link's shape"):
        load_robot(arm)


def test_a_moving_link_without_inertial_has_kinematics_and_no_dynamics(arm):
    start, end = ARM.index("<inertial><mass"), ARM.rindex("</inertial>") + len("</inertial>")
    arm.write_text(ARM[:start] + ARM[end:])
    robot = load_robot(arm)
    assert robot.joints[2].inertial.mass == 0.0
    assert link_pose(robot, np.zeros(3), "l3").shape == (4, 4)
    with pytest.raises(InputError, match=r"link 'l3': mass: what joint 'j3' .revolute. moves"):
        model_of(robot)


def test_meshes_may_be_found_in_packages_or_ignored(arm, tmp_path):
    mesh = '<mesh filename="package://arm_description/arm.stl"/>'
    arm.write_text(ARM.replace('<box size="0.1 0.1 0.1"/>', mesh))
    assert load_robot(arm, meshes="ignore").name == "arm"
    (tmp_path / "arm.stl").write_text("solid x\nendsolid x\n")
    assert load_robot(arm, packages={"arm_description": tmp_path}).name == "arm"
    with pytest.raises(InputError, match="did you mean"):
        load_robot(tmp_path / "arn.urdf")


LEGS = """<robot name="legs">
  <link name="trunk">
    <inertial><mass value="5"/>
      <inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  {legs}
</robot>
"""
LEG = """
  <joint name="{side}_hip" type="revolute">
    <parent link="trunk"/><child link="{side}_thigh"/><origin xyz="0.1 {y} 0" rpy="{y} 0.1 0"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="3" effort="10"/>
  </joint>
  <link name="{side}_thigh">
    <inertial><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="{side}_knee" type="revolute">
    <parent link="{side}_thigh"/><child link="{side}_shank"/><origin xyz="0 0 -0.3"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="0" velocity="4" effort="10"/>
  </joint>
  <link name="{side}_shank">
    <inertial><mass value="0.5"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="{side}_ankle" type="fixed">
    <parent link="{side}_shank"/><child link="{side}_foot"/><origin xyz="0.05 0 -0.3"/>
  </joint>
  <link name="{side}_foot"/>
"""


def test_branches_on_a_base_that_moves_are_those_of_pinocchio(tmp_path):
    """Poses and Jacobians by the base's twist and by the joints, in the world's axes."""
    pin = pytest.importorskip("pinocchio")
    path = tmp_path / "legs.urdf"
    legs = LEG.format(side="left", y=0.2) + LEG.format(side="right", y=-0.2)
    path.write_text(LEGS.format(legs=legs))
    robot = load_robot(path)
    assert robot.joint_names == ("left_hip", "left_knee", "right_hip", "right_knee")
    assert robot.branch(robot.frame("right_foot").carrier) == (2, 3)
    assert robot.branch(robot.frame("trunk").carrier) == ()
    np.testing.assert_array_equal(robot.limits["velocity"], [3, 4, 3, 4])
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data, generator = model.createData(), np.random.default_rng(3)
    q, place = generator.normal(size=(3, 4)), generator.normal(size=(3, 3))
    turn = generator.normal(size=(3, 4))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    base = np.tile(np.eye(4), (3, 1, 1))
    base[:, :3, :3], base[:, :3, 3] = quat_matrix(turn), place
    for link in ("left_foot", "right_foot", "right_thigh", "trunk"):
        pose, J = link_pose(robot, q, link, base), moving_jacobian(robot, q, link, base)
        for k in range(len(q)):
            full = np.concatenate([place[k], turn[k], q[k]])
            pin.framesForwardKinematics(model, data, full)
            frame = model.getFrameId(link)
            assert pose[k] == pytest.approx(data.oMf[frame].homogeneous, abs=1e-13)
            wanted = pin.computeFrameJacobian(model, data, full, frame, pin.LOCAL_WORLD_ALIGNED)
            R = base[k, :3, :3]
            wanted[:, :3], wanted[:, 3:6] = wanted[:, :3] @ R.T, wanted[:, 3:6] @ R.T
            assert J[k] == pytest.approx(wanted, abs=1e-13)
