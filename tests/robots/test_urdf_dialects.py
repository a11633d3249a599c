"""A URDF changed in every way that published ones are: taken and equal, taken and named, or refused
on one line, and never another exception, for planners, trees and scenes alike."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffsim_ros.errors import InputError
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.collision_solids import solids_of
from diffsim_ros.robots.link_shapes import link_shapes
from diffsim_ros.robots.published import joints_of
from diffsim_ros.robots.tree import load_tree, model_of
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.scene import load_scene

pytest.importorskip("urchin")
TEXT = """<?xml version="1.0"?>
<robot name="r">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"/>
  <link name="arm">
    <inertial><origin xyz="0.1 0 0.02" rpy="0 0.1 0"/><mass value="2"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial>
    <visual><geometry><box size="0.3 0.1 0.1"/></geometry><material name="grey"/></visual>
    <collision><origin xyz="0.1 0 0"/><geometry><sphere radius="0.05"/></geometry></collision>
  </link>
  <joint name="j" type="revolute"><origin xyz="0 0 0.5" rpy="0.1 0 0"/><parent link="base"/>
    <child link="arm"/><axis xyz="0 1 0"/><limit lower="-1" upper="1.5" effort="9" velocity="3"/>
    <dynamics damping="0.1" friction="0.2"/></joint>
  <link name="hand"><inertial><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="k" type="prismatic"><parent link="arm"/><child link="hand"/><axis xyz="1 0 0"/>
    <limit lower="-0.1" upper="0.2" effort="9" velocity="3"/></joint>
</robot>
"""
EQUAL, NAMED, REFUSED = "equal", "named", "refused"
CHANGES = [  # what stands, what is put there, outcome, a word of the warning or error
    ('version="1.0"', 'version="0.0"', NAMED, "version '0.0'"),
    ('<?xml version="1.0"?>', "\n <?xml version='1.0'?>", EQUAL, ""),
    ('<?xml version="1.0"?>', "", EQUAL, ""),
    ('<robot name="r">', '<robot xmlns="https://drake.mit.edu" name="r">', EQUAL, ""),
    ('<robot name="r">', '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro">', EQUAL, ""),
    ('<robot name="r">', "<robot>", NAMED, "robot without a name"),
    ('<robot name="r">', '<robot name="r"><!-- a note --><foo:bar/>', NAMED, "1 foo:bar"),
    ('<robot name="r">', '<robot name="r"><xacro:property name="a" value="1"/>', NAMED, "xacro"),
    ('<robot name="r">', '<robot name="r"><xacro:arm prefix="a"/>', REFUSED, "xacro"),
    ("robot", "model", REFUSED, "<model>"),
    ('<link name="arm">', "<link>", REFUSED, "a link with a name"),
    ('<link name="hand">', '<link name="arm">', REFUSED, "links of different names"),
    ('<link name="hand">', '<link name="hand" type="x">', NAMED, "link/@type"),
    ('<link name="base"/>', '<link name="base"/><link name="lost"/>', REFUSED, "one root"),
    ('name="j"', 'name="k"', REFUSED, "joints of different names"),
    ('name="j"', "", REFUSED, "a joint with a name"),
    ('name="j"', 'name="j" drake:kind="x"', NAMED, "joint/@drake:kind"),
    ('type="revolute"', 'type="ball"', REFUSED, "joint j: type: got 'ball'"),
    ('type="revolute"', "", REFUSED, "joint j: type: got None"),
    ('type="revolute"', 'type="floating"', NAMED, "the robot begins at link arm"),
    ('<child link="arm"/>', "", REFUSED, "joint j: child: got None"),
    ('<child link="arm"/>', '<child link="amr"/>', REFUSED, "did you mean 'arm'"),
    ('<child link="arm"/>', '<child link="base"/>', REFUSED, "link"),
    ('<parent link="arm"/>', '<parent link="hand"/>', REFUSED, "cycle"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 4 0"/>', EQUAL, ""),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>', REFUSED, "joint j: axis"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1"/>', REFUSED, "joint j: axis: xyz: got '0 1'"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 nan 0"/>', REFUSED, "joint j: axis: xyz"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><axis xyz="1 0 0"/>', NAMED, "several <axis>"),
    ('upper="1.5" ', 'upper="abc" ', REFUSED, "joint j: limit: upper: got 'abc'"),
    ('upper="1.5" ', 'upper="1,5" ', REFUSED, "joint j: limit: upper: got '1,5'"),
    ('upper="1.5" ', 'upper="nan" ', REFUSED, "joint j: limit: upper"),
    ('upper="1.5" ', 'upper="${limit}" ', REFUSED, "xacro FILE"),
    ('lower="-1" upper="1.5"', 'lower="1.5" upper="-1"', NAMED, "as -1 to 1.5"),
    ('lower="-1" upper="1.5"', 'lower="0" upper="0"', NAMED, "lower = upper = 0"),
    ('lower="-1" upper="1.5" effort="9" velocity="3"', 'lower="-1" upper="1.5"', EQUAL, ""),
    (' velocity="3"/>', ' velocity="-3"/>', NAMED, "velocity -3 as none"),
    (' velocity="3"/>', ' velocity="3" jerk="4"/>', NAMED, "limit/@jerk"),
    ('<limit lower="-1" upper="1.5" effort="9" velocity="3"/>', "", NAMED, "joint j: without lim"),
    ('damping="0.1"', 'damping="-0.1"', REFUSED, "dynamics damping: got -0.1"),
    ('damping="0.1"', 'damping="x"', REFUSED, "joint j: dynamics: damping: got 'x'"),
    ("<dynamics", '<mimic joint="k" multiplier="x"/><dynamics', REFUSED, "mimic: multiplier"),
    ("<dynamics", '<mimic joint="j"/><dynamics', REFUSED, "j of j"),
    ("<dynamics", '<mimic joint="kk"/><dynamics', NAMED, "'kk' is no joint"),
    ("<dynamics", '<mimic joint="k" multiplier="0" offset="0.2"/><dynamics', NAMED, "held at 0.2"),
    ("<dynamics", '<safety_controller k_velocity="1"/><dynamics', NAMED, "safety_controller"),
    ("<dynamics", '<calibration rising="1"/><dynamics', NAMED, "joint/calibration"),
    ('<mass value="2"/>', "", NAMED, "link arm: inertial: nothing"),
    ('<mass value="2"/>', '<mass value="-2"/>', REFUSED, "link arm: inertial: mass: got -2.0"),
    ('<mass value="2"/>', '<mass value="inf"/>', REFUSED, "link arm: inertial: mass: value"),
    ('<mass value="2"/>', '<mass value="2"/><mass value="3"/>', NAMED, "several <mass>"),
    ('<mass value="2"/>', "<mass/>", REFUSED, "link arm: inertial: mass: value: got None"),
    (' iyz="0" izz="0.025"', ' izz="0.025"', NAMED, "iyz, which is absent, as 0"),
    ('izz="0.025"', 'izz="0.0515"', NAMED, "no body has the principal moments"),
    ('izz="0.025"', 'izz="0.08"', REFUSED, "link arm: inertial: inertia"),
    ('izz="0.025"', 'izz="zero"', REFUSED, "inertia: izz: got 'zero'"),
    ('xyz="0.1 0 0.02"', 'xyz="0.1 0"', REFUSED, "link arm: inertial: origin: xyz"),
    ('xyz="0.1 0 0.02"', 'xyz="1e9 0 0"', REFUSED, "finite numbers below"),
    ('<sphere radius="0.05"/>', '<capsule radius="0.05" length="0.1"/>', EQUAL, ""),
    ('<sphere radius="0.05"/>', '<plane normal="0 0 1"/>', NAMED, "geometry/plane"),
    ('<sphere radius="0.05"/>', "<sphere/>", REFUSED, "collision: sphere: radius: got None"),
    ('<sphere radius="0.05"/>', '<mesh filename="a.stl" scale="2"/>', NAMED, "scale '2'"),
    ('<sphere radius="0.05"/>', "", NAMED, "link arm: collision: nothing"),
    ('<box size="0.3 0.1 0.1"/>', '<box size="0.3 0.1"/>', REFUSED, "link arm: visual: box: size"),
    ('<material name="grey"/>', '<material name="lost"/>', EQUAL, ""),
    ('<material name="grey"/>', '<material name="m"><texture filename=""/></material>', NAMED,
     "material/texture"),
    ("0.5 0.5 0.5 1", "0.5 0.5", NAMED, "material grey: no colour"),
    ("</robot>", '<transmission name="t"><joint name="gone"/></transmission></robot>', NAMED,
     "1 transmission"),
    ("</robot>", "<gazebo/><sensor/><gazebo/></robot>", NAMED, "2 gazebo"),
    ("</robot>", "", REFUSED, "well-formed XML"),
]  # fmt: skip


def all_readers(path):
    """What every reader makes of a file, and the texts of the warnings of each."""
    found, told = [], []
    for read in (
        lambda: load_robot(path, meshes="ignore"),
        lambda: load_tree(path),
        lambda: load_scene({"world": {"step": 1e-3, "duration": 0.01},
                            "robots": {"r": {"urdf": str(path), "armature": 0.01}}}),
    ):  # fmt: skip
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found.append(read())
            except InputError as error:
                assert "\n" not in str(error)
                found.append(error)
        told.append([str(one.message) for one in caught])
    return found, told


def mass_matrix(robot):
    q = robot.followed(np.full(len(robot.joints), 0.1))
    return np.asarray(model_of(robot).mass_matrix(q))


@pytest.mark.parametrize(("old", "new", "outcome", "word"), CHANGES)
def test_a_changed_file_is_taken_named_or_refused(tmp_path, old, new, outcome, word):
    assert old in TEXT
    path = tmp_path / "r.urdf"
    text = TEXT.replace(old, new) if old == "robot" else TEXT.replace(old, new, 1)
    path.write_text(text)
    (robot, tree, scene), told = all_readers(path)
    if outcome == REFUSED:
        assert isinstance(robot, InputError) and isinstance(scene, InputError)
        assert word in str(robot) and str(path) in str(robot)
        return
    assert not isinstance(robot, InputError), robot
    if outcome == NAMED:
        assert len(told[0]) == 1 and word in told[0][0]
        assert isinstance(scene, InputError) or (len(told[2]) == 1 and word in told[2][0])
    else:
        assert told[0] == []
        (tmp_path / "plain.urdf").write_text(TEXT)
        plain = load_robot(tmp_path / "plain.urdf")
        assert mass_matrix(robot) == pytest.approx(mass_matrix(plain), rel=1e-12)
        assert np.asarray(tree.model.mass_matrix([0.1, 0.1])) == pytest.approx(
            mass_matrix(plain), rel=1e-9
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert joints_of(path)
        solids_of(robot)
        link_shapes(robot)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings_are_read(tmp_path, encoding):
    path = tmp_path / "r.urdf"
    text = TEXT.replace('version="1.0"?>', 'version="1.0"?><!-- Müller -->')
    path.write_bytes(text.encode(encoding))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if encoding == "latin-1" else "error")
        assert load_robot(path).joint_names == ("j", "k")


PIECES = re.findall(r'<[^<>]*>|[a-z_]+="[^"]*"', TEXT)
WORDS = ["", "0", "-1", "nan", "1e400", "${x}", "<a/>", "</link>", "j", '"', "\x00", "é"]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([*PIECES, *WORDS])), min_size=1,
                max_size=3))  # fmt: skip
def test_no_file_raises_another_exception(tmp_path_factory, edits):
    path = tmp_path_factory.mktemp("fuzz") / "r.urdf"
    text = TEXT
    for old, new in edits:
        text = text.replace(old, new, 1)
    path.write_bytes(text.encode())
    for read in (
        lambda: load_robot(path, meshes="ignore", least_joints=0),
        lambda: load_tree(path),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read()
            except InputError as error:
                assert "\n" not in str(error)


@pytest.mark.parametrize("ends", [(1.5, -1.0), (0.5, 0.5)])
def test_limits_that_are_guessed_reach_no_arm(tmp_path, ends):
    """A scene takes such a file and names them; the limits that a driver keeps are not guessed."""
    lower, upper = ends
    text = TEXT.replace('lower="-1" upper="1.5"', f'lower="{lower}" upper="{upper}"')
    (tmp_path / "arm.urdf").write_text(text)
    with pytest.warns(UserWarning, match="joint j: limit"):
        assert load_robot(tmp_path / "arm.urdf").odd_limits == ("j",)
    with (
        pytest.warns(UserWarning, match="joint j: limit"),
        pytest.raises(InputError, match=r"joint j: limit: got 'lower >= upper'"),
    ):
        load_arm({"urdf": "arm.urdf"}, tmp_path)
