"""URDF and SDF of `diffsim export`: bodies where the scene has them, seen by Pinocchio."""

from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.export import exported

pinocchio = pytest.importorskip("pinocchio")

BOX = {"shape": {"box": {"size": [0.2, 0.1, 0.06]}}, "mass": 0.5}
ARM = {**BOX, "pose": {"position": [0.12, 0.03, 1], "rotation": [0.2, 0.4, -0.3]}}
FORE = {**BOX, "mass": 0.3, "pose": {"position": [0.35, 0.05, 1.02], "rotation": [0, -0.5, 0.1]}}
HAND = {**BOX, "mass": 0.1, "pose": {"position": [0.5, 0, 1.1], "rotation": [1, 0, 0]}}
SCENE = {
    "world": {"step": 0.001, "duration": 0.01},
    "bodies": {"arm": ARM, "fore": FORE, "hand": HAND},
    "links": [
        {"type": "joint", "name": "one", "kind": "hinge", "body_b": "arm", "axis": [0.1, 1, 0.2],
         "position": [0, 0, 1], "coordinate": 0.3, "friction_damping": 0.2,
         "limits": {"lower": -1, "upper": 2, "stiffness": 5}},
        {"type": "joint", "name": "two", "kind": "hinge", "body_a": "fore", "body_b": "arm",
         "position": [0.23, 0.04, 1], "axis": [1, 0, 0], "coordinate": -0.4},
        {"type": "joint", "name": "three", "kind": "slider", "body_a": "fore", "body_b": "hand",
         "position": [0.5, 0, 1.1], "axis": [0, 0.6, 0.8], "coordinate": 0.07},
    ],
}  # fmt: skip


@pytest.fixture
def files(tmp_path):
    model = load_scene(SCENE)
    found, lacks = exported(model)
    for name, content in found.items():
        (tmp_path / name).write_text(content)
    return model, tmp_path, lacks


def test_pinocchio_has_the_same_masses_and_places(files):
    model, folder, lacks = files
    there = pinocchio.buildModelFromUrdf(str(folder / "scene.urdf"))
    data, q = there.createData(), pinocchio.neutral(there)
    values = {"one": 0.3, "two": -0.4, "three": 0.07}
    for name, value in values.items():
        joint = there.joints[there.getJointId(name)]
        turns = joint.nq == 2
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            [np.cos(value), np.sin(value)] if turns else [value]
        )
    pinocchio.forwardKinematics(there, data, q)
    pinocchio.updateFramePlacements(there, data)
    mass = 0.0
    for name, body in model.parts.bodies.items():
        frame = there.getFrameId(name)
        joint = there.frames[frame].parentJoint
        inertia = there.inertias[joint]
        at = data.oMi[joint].act(inertia.lever)
        assert at == pytest.approx(body.start_pose()[0], abs=1e-9)
        turn = data.oMf[frame].rotation
        assert turn == pytest.approx(body.start_pose()[1], abs=1e-9)
        moments = np.linalg.eigvalsh(inertia.inertia)
        assert moments == pytest.approx(np.sort(body.total_inertia()[:3]), rel=1e-9)
        mass += inertia.mass
    assert mass == pytest.approx(0.9) and there.lowerPositionLimit[0] == -1
    assert lacks["scene.urdf"] == []


def test_joints_keep_their_sign_when_they_move(files):
    """Our own reader's tree, with each joint turned, beside Rodrigues' formula."""
    _, folder, _ = files
    robot = load_robot(folder / "scene.urdf")
    assert [joint.name for joint in robot.joints] == ["one", "two", "three"]
    one = robot.joints[0]
    assert one.damping == pytest.approx(0.2) and (one.lower, one.upper) == (-1, 2)
    axis = np.array([0.1, 1, 0.2]) / np.linalg.norm([0.1, 1, 0.2])
    there = pinocchio.buildModelFromUrdf(str(folder / "scene.urdf"))
    data = there.createData()
    q = pinocchio.neutral(there)
    for angle in (0.3, 0.5):
        q[0] = angle
        pinocchio.forwardKinematics(there, data, q)
        turn = data.oMi[1].rotation
        if angle == 0.3:
            first = turn.copy()
    moved = pinocchio.log3(turn @ first.T)
    assert moved == pytest.approx(0.2 * axis, abs=1e-9)


def test_sdf_has_the_joints_and_limits_from_the_first_pose(files):
    _, folder, lacks = files
    model = ElementTree.parse(folder / "scene.sdf").find("model")
    joints = {joint.get("name"): joint for joint in model.iter("joint")}
    assert {n: j.get("type") for n, j in joints.items()} == {
        "one": "revolute", "two": "revolute", "three": "prismatic"}  # fmt: skip
    assert joints["one"].find("parent").text == "world"
    assert joints["two"].find("child").text == "fore"  # hangs on the arm, which the joint calls b
    assert float(joints["one"].find("axis/limit/lower").text) == pytest.approx(-1.3)
    link = next(link for link in model.iter("link") if link.get("name") == "hand")
    assert link.find("pose").text == "0.5 0 1.1 1 0 0"
    assert lacks["scene.sdf"] == []
