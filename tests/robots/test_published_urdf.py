"""URDFs as they are published: what is mended, with a warning, and joints that are held still."""

import warnings

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.robots.kinematics import link_pose
from diffsim_ros.robots.published import joints_of, mended_urdf
from diffsim_ros.robots.urdf import load_robot

pytest.importorskip("urchin")

LINK = """<link name="{name}"><inertial><origin xyz="0.1 0 0.05"/><mass value="{mass}"/>
  <inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="{type}"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="0.1 0.2 0.3" rpy="0.3 0.1 0.2"/><axis xyz="{axis}"/>
  <limit lower="{lower}" upper="2" velocity="3" effort="10"/>{more}</joint>"""
JOINTS = (
    {"name": "column", "type": "fixed", "parent": "base", "child": "post", "axis": "0 0 0"},
    {"name": "drive", "type": "floating", "parent": "post", "child": "cart"},
    {"name": "lift", "type": "prismatic", "parent": "cart", "child": "torso"},
    {"name": "shoulder", "type": "revolute", "parent": "torso", "child": "arm", "axis": "0 1 0"},
    {"name": "elbow", "type": "revolute", "parent": "arm", "child": "hand"},
    {"name": "finger", "type": "revolute", "parent": "hand", "child": "tip", "lower": "0.5",
     "more": '<mimic joint="elbow"/>'},
)  # fmt: skip
SOUND = {"mass": 1, "xx": 0.01, "yy": 0.012, "zz": 0.008}


def published(tmp_path, **links):
    """Path of a robot on a mobile base; links: name -> what differs from a sound inertial."""
    text = '<robot name="r"><link name="base"/>'
    text += "".join(JOINT.format(**{"axis": "0 0 1", "lower": -2, "more": ""} | j) for j in JOINTS)
    for joint in JOINTS:
        text += LINK.format(name=joint["child"], **SOUND | links.get(joint["child"], {}))
    path = tmp_path / "robot.urdf"
    path.write_text(text + "</robot>")
    return path


def test_joints_that_are_not_named_are_held_where_they_are_said_to_be(tmp_path):
    path = published(tmp_path)
    held = {"lift": 0.4, "finger": 0.7}
    robot = load_robot(path, joints=["shoulder", "elbow"], held=held)
    assert robot.joint_names == ("shoulder", "elbow")
    assert robot.joints[1].inertial.mass == pytest.approx(2)  # the hand, and the tip on it
    whole = load_robot(path, joints=["lift", "shoulder", "elbow"], held={"finger": 0.7})
    q = np.array([0.3, -0.8])
    for link in ("torso", "hand", "tip"):
        there = link_pose(whole, np.array([0.4, *q]), link)
        assert link_pose(robot, q, link) == pytest.approx(there, abs=1e-14)


@pytest.mark.parametrize(
    ("joints", "held", "message"),
    [
        (["sholder"], {}, "joints: got 'sholder'.*did you mean 'shoulder'"),
        (["column"], {}, "joints: got 'column'; accepted: a joint of the URDF that is not fixed"),
        (["elbow"], {"lifts": 1}, "held: got 'lifts'.*did you mean 'lift'"),
        (["elbow"], {"elbow": 1}, "held.elbow: got 1; accepted: a joint that is not among"),
        (["elbow"], {"lift": np.nan}, "held.lift: got nan; accepted: a finite number"),
        (["elbow"], {"finger": 0}, "held.finger: got 0.0; accepted: a position within .* 0.5 to 2"),
        (["elbow"], {"drive": 1.0}, "held.drive: got 1.0; accepted: 0, as the joint is floating"),
        (None, {}, "joint drive: type: got 'floating'"),
        (["finger"], {}, "joint finger: got 'mimic'; accepted: .*follows elbow, which is held"),
    ],
)
def test_what_cannot_be_held_or_moved_is_refused(tmp_path, joints, held, message):
    with pytest.raises(InputError, match=message):
        load_robot(published(tmp_path), joints=joints, held=held)


@pytest.mark.parametrize(
    ("link", "found"),
    [
        ({"xx": 0.01, "yy": 0.01, "zz": 0.0204}, [0.0102, 0.0102, 0.0204]),  # 2 % over
        ({"mass": 1e-6, "xx": -1e-8, "yy": 1e-8, "zz": 4e-8}, [1e-8, 3e-8, 4e-8]),
    ],
)
def test_inertias_that_are_nearly_physical_are_mended_with_a_warning(tmp_path, link, found):
    path = published(tmp_path, arm=link, hand={"mass": 0.5})
    with pytest.warns(UserWarning, match=r"link arm: inertial: inertia: .* taken as") as told:
        robot = load_robot(path, joints=["shoulder"], held={"finger": 1})
    assert len(told) == 1
    assert f"{found[2]:g}" in str(told[0].message) and str(path) in str(told[0].message)
    with pytest.warns(UserWarning):
        alone = load_robot(path, joints=["shoulder", "elbow"], held={"finger": 1}).joints[0]
    assert np.linalg.eigvalsh(alone.inertial.inertia) == pytest.approx(found, rel=1e-9, abs=1e-15)
    assert robot.joints[0].inertial.mass > 1e-6


@pytest.mark.parametrize(
    "link", [{"xx": 0.01, "yy": 0.01, "zz": 0.0212}, {"xx": -0.002, "yy": 0.01, "zz": 0.01}]
)
def test_inertias_that_no_body_has_are_refused(tmp_path, link):
    with pytest.raises(InputError, match=r"link arm: inertial: inertia: .*accepted: principal"):
        load_robot(published(tmp_path, arm=link), joints=["shoulder"], held={"finger": 1})


def test_a_sound_robot_is_read_without_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_robot(published(tmp_path), joints=["shoulder"], held={"finger": 1})


def test_the_mended_text_is_read_without_a_warning(tmp_path):
    path = published(tmp_path, hand={"xx": 0.0205, "yy": 0.012, "zz": 0.008})  # 2.5 % too much
    text = path.read_text().replace(
        '<link name="base"/>',
        '<link name="base"><visual><geometry><mesh filename="a/b.stl"/></geometry></visual></link>',
    )
    path.write_text("<?xml version='1.0'?>\n<!-- a licence -->\n" + text)
    folder = tmp_path / "inner"
    folder.mkdir()
    mended = folder / "mended.urdf"
    mended.write_text(mended_urdf(path, folder))
    assert "<!-- a licence -->" in mended.read_text()
    assert 'filename="../a/b.stl"' in mended.read_text()
    joints = ["lift", "shoulder", "elbow"]
    with pytest.warns(UserWarning, match="link hand"):
        one = load_robot(path, meshes="ignore", joints=joints, held={"finger": 0.7})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = load_robot(mended, meshes="ignore", joints=joints, held={"finger": 0.7})
    for a, b in zip(one.joints, other.joints, strict=True):
        assert a.inertial.inertia == pytest.approx(b.inertial.inertia, rel=1e-7, abs=1e-12)
    assert mended_urdf(mended, folder) is None


def test_joints_of_a_urdf_before_any_is_chosen(tmp_path):
    found = joints_of(published(tmp_path))
    assert list(found) == ["drive", "lift", "shoulder", "elbow", "finger"]  # none that is fixed
    assert (found["lift"].lower, found["lift"].upper) == (-2.0, 2.0)
    assert [name for name, joint in found.items() if not joint.free] == ["drive", "finger"]
    assert found["drive"].upper == np.inf
