"""URDFs in scenes: limits, followers, light links, planar bases, names, and what is named."""

import warnings

import numpy as np
import pytest

from diffsim_ros import load_scene
from diffsim_ros.errors import InputError
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.kinematics import link_pose
from diffsim_ros.robots.robot import Inertial
from diffsim_ros.robots.tree import load_tree, model_of
from diffsim_ros.robots.urdf import load_robot

pytest.importorskip("urchin")
BODY = """<link name="{name}"><inertial><origin xyz="{at}"/><mass value="{mass}"/>
  <inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="{type}"><parent link="{parent}"/><child link="{child}"/>
  <axis xyz="{axis}"/>{more}</joint>"""
LIMIT = '<limit lower="{}" upper="{}" effort="9" velocity="5"/>'


def body(name, at="0.1 0 0.02", mass=1, i=0.01):
    return BODY.format(name=name, at=at, mass=mass, i=i)


def joint(name, child, parent="base", kind="revolute", axis="0 1 0", more=""):
    return JOINT.format(name=name, child=child, parent=parent, type=kind, axis=axis, more=more)


def scene(tmp_path, text, root="base", duration=0.3, **options):
    """A scene of one robot at 1 ms, and the warnings of its load."""
    path = tmp_path / "robot.urdf"
    top = f'<link name="{root}"/>' if root else ""
    path.write_text(f'<robot name="r">{top}{text}</robot>')
    world = {"step": 1e-3, "duration": duration}
    given = {"world": world, "robots": {"r": {"urdf": str(path), **options}}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = load_scene(given, base=tmp_path)
    return made, [str(one.message) for one in caught], path


def coordinates(made, *names):
    """Positions (steps, n) of joints in a rollout."""
    run = made.rollout(outputs=[f"{name}.coordinate" for name in names])
    return np.stack([run.observed(f"{name}.coordinate").ravel() for name in names], axis=1)


ARM = body("arm") + joint("j", "arm", more=LIMIT.format(-0.3, 0.3))
CAR = body("car") + joint("s", "car", kind="prismatic", axis="0 0 1", more=LIMIT.format(-0.1, 0.2))


def test_limits_hold_a_weight_within_a_hundredth_of_their_range(tmp_path):
    """Dropped onto them; at rest the slider has sunk in by as much as its weight says."""
    made, told, _ = scene(tmp_path, ARM + CAR, duration=2.0, damping=20.0)
    q = coordinates(made, "j", "s")
    assert q[:, 0].max() < 0.31 and q[:, 1].min() > -0.105
    laws = {link["name"]: link["limits"] for link in made.description["links"]}
    assert q[-1, 1] == pytest.approx(-0.1 - 9.81 / laws["s"]["stiffness"], abs=1e-6)
    assert q[-1, 1] > -0.1 - 1.001 * 0.01 * 0.3
    (text,) = told
    assert "not used of the file: velocity limits of 2 joints" in text
    free, told, _ = scene(tmp_path, ARM + CAR, limits="none")
    assert coordinates(free, "s")[-1, 0] == pytest.approx(-9.81 * 0.3**2 / 2, rel=1e-2)
    stiff, _, _ = scene(tmp_path, ARM, limits={"stiffness": 7.0, "damping": {"j": 0.5}})
    (link,) = stiff.description["links"]
    assert link["limits"] == {"lower": -0.3, "upper": 0.3, "stiffness": 7.0, "damping": 0.5}


def test_a_start_beyond_limits_is_refused_by_name_or_moved_and_named(tmp_path):
    with pytest.raises(InputError, match=r"angles.j: got 2.0; accepted: -0.3 to 0.3.*limits: none"):
        scene(tmp_path, ARM, angles={"j": 2.0})
    made, _, _ = scene(tmp_path, ARM, angles={"j": 2.0}, limits="none")
    assert made.description["links"][0]["coordinate"] == 2.0
    away = body("arm") + joint("j", "arm", more=LIMIT.format(0.5, 1.0))
    made, (text,), _ = scene(tmp_path, away)
    assert made.description["links"][0]["coordinate"] == 0.5
    assert "0 is beyond limits: j at 0.5, the nearest, at the start" in text


CHAIN = (
    body("f3") + body("f2") + body("f1")
    + joint("j3", "f3", parent="f2", more='<mimic joint="j2" multiplier="0.5" offset="0.1"/>')
    + joint("j2", "f2", parent="f1", more='<mimic joint="j1" multiplier="-2"/>')
    + joint("j1", "f1", kind="continuous")
)  # fmt: skip


def test_followers_of_followers_move_as_the_reduced_mass_matrix_says(tmp_path):
    """Followers before leaders in the file; planner's robot, tree and scene agree."""
    made, told, path = scene(tmp_path, CHAIN, angles={"j1": 0.4}, duration=0.01)
    q = coordinates(made, "j1", "j2", "j3")
    assert q[:, 1] == pytest.approx(-2 * q[:, 0], abs=1e-9)
    assert q[:, 2] == pytest.approx(0.1 - q[:, 0], abs=1e-9)
    assert any("without limits, as it has no <limit>" in text for text in told)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot, tree = load_robot(path), load_tree(path)
    at = robot.followed(np.array([0.4, 0, 0]))
    model, G = model_of(robot), robot.coupling()
    M = G.T @ np.asarray(model.mass_matrix(at)) @ G
    zero = np.zeros(3)
    load = G.T @ np.asarray(model.inverse_dynamics(at, zero, zero))
    gain = (q[10, 0] - q[0, 0]) / 0.01**2 * 2
    assert gain == pytest.approx(-(load / M[0, 0])[0], rel=0.2)  # from rest, 10 steps of order one
    own = tree.followed(np.array([tree.model.position_at("j1") == k for k in range(3)]) * 0.4)
    whole = tree.coupling().T @ np.asarray(tree.model.mass_matrix(own)) @ tree.coupling()
    assert whole == pytest.approx(M, rel=1e-12)
    with pytest.raises(InputError, match=r"angles.j2: got 1.0; accepted: -0.8, as it follows j1"):
        scene(tmp_path, CHAIN, angles={"j1": 0.4, "j2": 1.0})
    with pytest.raises(InputError, match=r"joint_stiffness: .*as joint j2 follows another"):
        scene(tmp_path, CHAIN, joint_stiffness=1e6)


def test_a_link_without_inertia_between_joints_is_a_light_body(tmp_path):
    empty = '<link name="cross"/>' + joint("roll", "cross", kind="continuous", axis="1 0 0")
    text = empty + body("leg", at="0 0.02 -0.2")
    text += joint("pitch", "leg", parent="cross", kind="continuous")
    made, (told,), path = scene(tmp_path, text, angles=[0.3, 0.5], duration=0.02)
    assert "cross without inertia as light bodies" in told
    q = coordinates(made, "roll", "pitch")
    model, zero = model_of(load_robot(path)), np.zeros(2)
    accelerations = np.asarray(model.forward_dynamics(np.array([0.3, 0.5]), zero, zero))
    gain = 2 * (q[20] - q[0]) / 0.02**2
    assert gain == pytest.approx(accelerations, rel=0.1)
    lost = '<link name="tip"/>' + joint("twist", "tip", kind="continuous", parent="leg")
    with pytest.raises(InputError, match=r"what joint 'twist' .revolute. moves"):
        scene(tmp_path, text + lost)


def test_a_body_without_joints_is_free_and_a_floating_root_too(tmp_path):
    with pytest.raises(InputError, match="base: got 'fixed'; accepted: free, as no joint"):
        scene(tmp_path, body("ball"), root="")
    made, told, _ = scene(tmp_path, body("ball"), root="", duration=0.1, base="free")
    assert not told
    assert made.rollout().observed("ball.position")[-1, 2] == pytest.approx(-0.049 + 0.02, abs=1e-3)
    text = body("ball") + joint("float", "ball", parent="world", kind="floating")
    made, (text,), _ = scene(tmp_path, text, root="world")
    assert list(made.description["bodies"]) == ["ball"]
    assert "floating joint float: the robot begins at link ball" in text


def test_a_planar_joint_is_two_slides_and_a_turn(tmp_path):
    text = body("cart") + joint("drive", "cart", kind="planar", axis="0 0 1")
    made, (told,), _ = scene(tmp_path, text, rates={"drive.x": 1.0, "drive": 2.0})
    assert list(made.bodies) == ["drive_x_link", "drive_y_link", "cart"]
    q = coordinates(made, "drive")
    assert q[-1, 0] == pytest.approx(0.6, abs=1e-3)
    assert "drive.x" in told


def test_names_that_a_scene_cannot_have_are_changed_and_named(tmp_path):
    text = body("my/arm") + joint("my arm", "my/arm") + body("b") + joint("b", "b", parent="my/arm")
    made, (told,), _ = scene(tmp_path, text, angles={"my arm": 0.1, "b": 0.2})
    assert [link["name"] for link in made.description["links"]] == ["my_arm_joint", "b_joint"]
    assert [link["coordinate"] for link in made.description["links"]] == [0.1, 0.2]
    assert "the name joint 'b' (here b_joint)" in told


def test_what_a_scene_does_not_use_is_named_once(tmp_path):
    shape = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    text = ARM.replace("<inertial>", shape + "<inertial>")
    text = text.replace("</joint>", '<safety_controller k_velocity="1"/></joint>')
    text += "<gazebo/><transmission name='t'><joint name='gone'/></transmission>"
    _, (told,), _ = scene(tmp_path, text, drive={"stiffness": 1.0})
    for word in ("1 gazebo", "1 transmission", "1 joint/safety_controller", "1 collision shape"):
        assert word in told


@pytest.mark.parametrize(("drive", "wanted", "named"), [
    ({"stiffness": 1.0}, (-5.0, 5.0), ""),
    ({"stiffness": 1.0, "effort": 2}, (-2.0, 2.0), ""),
    ({"kind": "torque", "effort": {"j": "3 kg"}}, None, "N m"),
    ({"stiffness": 1.0, "effort": {"j": 0}}, None, "drive.effort.j: got 0.0; accepted: more"),
    ({"stiffness": 1.0, "effort": "none"}, (None, None), ""),
    ({"stiffness": 1.0, "effort": "all"}, None, "drive.effort"),
])  # fmt: skip
def test_motors_have_the_effort_of_the_file_or_of_the_scene(tmp_path, drive, wanted, named):
    text = ARM.replace('effort="9"', 'effort="5"')
    if wanted is None:
        with pytest.raises(InputError, match=named):
            scene(tmp_path, text, drive=drive)
        return
    made, _, _ = scene(tmp_path, text, drive=drive)
    (motor,) = [link for link in made.description["links"] if link["type"] == "motor"]
    assert (motor.get("effort_lower"), motor.get("effort_upper")) == wanted


def test_an_effort_of_0_is_no_limit(tmp_path):
    made, _, _ = scene(tmp_path, ARM.replace('effort="9"', 'effort="0"'), drive={"stiffness": 1.0})
    (motor,) = [link for link in made.description["links"] if link["type"] == "motor"]
    assert "effort_upper" not in motor


def test_an_inertia_that_no_body_has_is_mended_when_asked(tmp_path):
    text = ARM.replace('izz="0.01"', 'izz="0.03"')
    with pytest.raises(InputError, match="`inertia: mend`, which takes the nearest"):
        scene(tmp_path, text)
    made, (told,), path = scene(tmp_path, text, inertia="mend")
    assert "taken as [0.015, 0.015, 0.03]" in told
    assert made.description["bodies"]["arm"]["inertia"][:3] == pytest.approx([0.015, 0.015, 0.03])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = load_robot(path, inertia="mend").joints[0].inertial
        assert isinstance(own, Inertial) and own.inertia[2, 2] == pytest.approx(0.03)
        assert load_tree(path, inertia="mend").model.links[-1].inertia[2, 2] == pytest.approx(0.03)


def test_an_arm_holds_followers_where_its_home_has_their_leaders(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r"><link name="base"/>{ARM}{CHAIN}</robot>')
    given = {"urdf": "robot.urdf", "tool": "arm", "home": {"j": 0.1, "j1": 0.4}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = load_arm(given, base=tmp_path)
        robot = load_robot(path)
    assert any("j2, j3" in str(one.message) or "j3, j2" in str(one.message) for one in caught)
    assert arm.robot.joint_names == ("j",) and arm.home.tolist() == [0.1]
    q = robot.followed(robot.values({"j": 0.1, "j1": 0.4}, "q"))
    for link in ("f1", "f2", "f3"):
        there = link_pose(robot, q, link)
        assert link_pose(arm.robot, arm.home, link) == pytest.approx(there, abs=1e-14)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InputError, match="tool: got 'f2'; accepted: a link that none of"):
            load_arm(given | {"tool": "f2"}, base=tmp_path)


def test_mass_matrices_are_those_of_pinocchio(tmp_path):
    """With a link without inertia and a point mass."""
    pin = pytest.importorskip("pinocchio")
    more = LIMIT.format(-1, 1)
    text = ARM + '<link name="cross"/>' + body("ball", at="0 0 0.3", mass=0.2, i=0)
    text += joint("roll", "cross", parent="arm", axis="1 0 0", more=more)
    text += joint("swing", "ball", parent="cross", more=more)
    _, _, path = scene(tmp_path, text)
    model, robot = pin.buildModelFromUrdf(str(path)), load_robot(path)
    q = np.array([0.2, -0.3, 0.4])
    wanted = pin.crba(model, model.createData(), q)
    wanted = np.triu(wanted) + np.triu(wanted, 1).T
    assert np.asarray(model_of(robot).mass_matrix(q)) == pytest.approx(wanted, rel=1e-10, abs=1e-12)
