"""What no tree can be, and URDF files that make one."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros._engine import ArticulatedModel, InvalidInput, TreeJoint, TreeLink
from diffsim_ros.errors import InputError
from diffsim_ros.robots.dynamics import inverse_dynamics
from diffsim_ros.robots.tree import load_tree, model_of
from diffsim_ros.robots.urdf import load_robot
from validation.dynamics import ROBOTS, random_state, relative, robot

UNIT = 0.1 * np.eye(3)


def body(name, **changes):
    return TreeLink(name, **{"mass": 1.0, "inertia": UNIT, **changes})


def refused(match, joints, links):
    with pytest.raises(InvalidInput, match=match):
        ArticulatedModel(joints, links)


def test_cycles_and_broken_trees_are_told_from_links_in_the_wrong_order():
    a, b = body("a"), body("b")
    loop = [TreeJoint("1", "revolute", 1), TreeJoint("2", "revolute", 0)]
    refused("joint '1': parent: links must form a tree, got the cycle a <- b <- a", loop, [a, b])
    late = [TreeJoint("1", "revolute", 1), TreeJoint("2", "revolute", -1)]
    refused("joint '1': parent: parents must come before children", late, [a, b])
    lost = [TreeJoint("1", "revolute", 7)]
    refused(r"joint '1': parent: must be -1 \(the world\) or a link, 0 to 0, got 7", lost, [a])
    refused("link 1: names must differ", [late[1], TreeJoint("3", "fixed", 0)], [a, a])


def test_inertias_that_no_body_has_are_refused_with_the_nearest_one():
    joint = [TreeJoint("1", "revolute", -1)]
    long = np.diag([0.1, 0.1, 0.5])
    refused(
        r"link 'a': inertia: principal moments .* got principal moments \[0.1, 0.1, 0.5\]; the "
        r"nearest that a body can have: xx, yy, zz, xy, xz, yz \[0.25, 0.25, 0.5, ",
        joint, [body("a", inertia=long)],
    )  # fmt: skip
    refused("link 'a': inertia: must be symmetric", joint, [body("a", inertia=np.tri(3))])
    refused("link 'a': mass: must be finite and >= 0", joint, [body("a", mass=-1.0)])
    refused("link 'a': mass: must be > 0 where there is inertia", joint, [body("a", mass=0.0)])
    refused("link 'a': mass: what joint '1' .revolute. moves must have inertia along all its",
            joint, [TreeLink("a")])  # fmt: skip
    ball = [TreeJoint("1", "spherical", -1)]
    refused("link 'a': inertia: what joint '1' .spherical. moves", ball, [TreeLink("a", 1.0)])
    ArticulatedModel(joint, [TreeLink("a", 1.0, [0.5, 0, 0])])  # a point mass on an arm


def test_axes_and_frames_are_checked():
    a = [body("a")]
    refused(r"axis: must be a unit vector, got \[0, 0, 2\]; divided by its length: \[0, 0, 1\]",
            [TreeJoint("1", "revolute", -1, axis=[0, 0, 2.0])], a)  # fmt: skip
    for R in (2 * np.eye(3), -np.eye(3), np.full((3, 3), np.nan)):
        refused("joint '1': R: must be a rotation", [TreeJoint("1", "revolute", -1, R)], a)
    refused("armature: must be finite and >= 0", [TreeJoint("1", "revolute", armature=-1.0)], a)
    with pytest.raises(InvalidInput, match=r"joint: type: .* got 'planar'; universal, planar and"):
        TreeJoint("1", "planar")


def test_a_robot_read_with_its_fixed_links_merged_moves_alike():
    path = ROBOTS["ur5"][0]
    model, merged = load_tree(path), load_robot(path)
    assert model.ignored.get("transmission", 0) >= 0
    q, qd, qdd, _ = random_state(model.model, np.random.default_rng(0), 4)
    wanted = inverse_dynamics(merged, q, qd, qdd)
    assert relative(model.model.inverse_dynamics(q, qd, qdd), wanted) < 1e-12
    assert [j.name for j in model_of(merged).joints] == list(merged.joint_names)


def test_a_floating_base_is_two_joints():
    model = robot("solo12")
    assert [j.type for j in model.joints[:2]] == ["translation", "spherical"]
    assert (model.position_size, model.velocity_size) == (19, 18)
    assert model.neutral()[:7].tolist() == [0, 0, 0, 0, 0, 0, 1]


FILE = """<robot name="r">
  <link name="base"/>
  <link name="arm"><inertial><mass value="2"/><origin xyz="0.1 0 0"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="TYPE"><parent link="base"/><child link="arm"/>
    <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><axis xyz="0 3 0"/>EXTRA</joint>
  <gazebo/><transmission name="t"/>
</robot>"""


@pytest.mark.parametrize(("kind", "types"), [
    ("continuous", ["revolute"]), ("prismatic", ["prismatic"]), ("fixed", ["fixed"]),
    ("planar", ["prismatic", "prismatic", "revolute"]), ("floating", ["translation", "spherical"]),
])  # fmt: skip
def test_every_kind_of_joint_is_read(tmp_path, kind, types):
    file = tmp_path / "r.urdf"
    file.write_text(FILE.replace("TYPE", kind).replace("EXTRA", ""))
    tree = load_tree(file)
    assert [joint.type for joint in tree.model.joints] == ["fixed", *types]
    assert tree.ignored == {"gazebo": 1, "transmission": 1}
    arm = tree.model.link_poses(tree.model.neutral())[-1]
    assert arm[:3, 3].tolist() == [0, 0, 1]
    turn = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
    assert arm[:3, :3] == pytest.approx(turn, abs=1e-12)
    if kind == "planar":
        axes = np.array([joint.axis for joint in tree.model.joints[1:]])
        assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12)
        assert axes[2].tolist() == [0, 1, 0]


@pytest.mark.parametrize(("change", "match"), [
    (("TYPE", "screw"), "joint j: type: got 'screw'; accepted: revolute or continuous or"),
    (("EXTRA", '<mimic joint="j"/>'), "joint j: mimic: got 'j of j'; accepted: a leader"),
    (("0 3 0", "0 0 0"), r"joint j: axis: got \[0.0, 0.0, 0.0\]"),
    (('izz="0.1"', 'izz="0.9"'), "link arm: inertial: inertia"),
    (('value="2"', 'value="-2"'), "link arm: inertial: mass: got -2.0; accepted: a finite number"),
    (('child link="arm"', 'child link="leg"'), "joint j: child: got 'leg'"),
    (('parent link="base"', 'parent link="arm"'), r"links: got \['arm'\]; accepted: links that"),
])  # fmt: skip
def test_files_that_are_no_tree_are_refused(tmp_path, change, match):
    file = tmp_path / "r.urdf"
    text = FILE.replace(*change).replace("TYPE", "revolute").replace("EXTRA", "")
    file.write_text(text)
    with pytest.raises(InputError, match=match):
        load_tree(file)
