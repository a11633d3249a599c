"""The simulator is a lab: a clock, joint states, poses, clouds; it moves, lets go and is reset."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("control_msgs")

import yaml
from diffsim_interfaces.action import Execute
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rcl_interfaces.msg import Log
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, PointCloud2
from std_msgs.msg import Float64
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.nodes import convert, convert_motion
from diffsim_ros.nodes.common import STATIC_TF, STREAM, quality
from diffsim_ros.nodes.driver import Driver
from diffsim_ros.nodes.simulator import Simulator
from diffsim_ros.robots.kinematics import link_pose
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.sensing.cdr import NANO
from diffsim_ros.twin.sensors import generator
from tests.twin.conftest import ROOT, ball_twin, swing_of

JOINTS = [
    f"{name}_joint"
    for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
]
SWING = replace(swing_of(JOINTS, JointTrajectory), release=0.4)
TRACKER = {"poses": {"body": "ball", "rate": 100, "sigma_position": 0.001}}
CAMERA = {"depth_camera": {"eye": [-0.5, -1.2, 0.6], "target": [-0.5, -0.2, 0.2], "size": [48, 36],
                           "rate": 10}}  # fmt: skip


@pytest.fixture
def lab(ros, tmp_path):
    """Start a Simulator with sensors; returns a function of (sensors, parameters)."""

    def start(sensors, **parameters):
        config = ball_twin(
            sensors=sensors, gripper={"latency": 0.03}, start=SWING.positions[0].tolist()
        )
        config["scene"]["world"]["duration"] = 0.6
        config["robot"] = str(ROOT / "config" / "robots" / "ur5.yaml")
        file = tmp_path / "twin.yaml"
        file.write_text(yaml.safe_dump(config))
        return ros.start_with(Simulator, twin=str(file), **parameters)

    return start


def stamps(messages):
    return np.array([convert.nanoseconds(m.header.stamp) for m in messages])


def test_a_throw_over_ros_is_seen_and_its_truth_kept(ros, lab, tmp_path):
    pytest.importorskip("open3d")
    clock = ros.listen(Clock, "/clock", quality(1000, reliable=False))
    joints = ros.listen(JointState, "/joint_states", 1000)
    poses = ros.listen(PoseStamped, "/ball/pose", 1000)
    clouds = ros.listen(PointCloud2, "/camera/points", qos_profile_sensor_data)
    said = ros.listen(Log, "/rosout", 1000)
    node = lab({"tracker": TRACKER, "camera": CAMERA}, truth_path=str(tmp_path / "truth"),
               rate_factor=0.5)  # fmt: skip
    ros.until(lambda: joints and poses and clouds, "joint states, poses and clouds")
    ros.start_with(Driver, dry_run=False, use_sim_time=True, gripper="command", lead=0.03)
    client = ros.action(Execute, "/driver/execute")
    _, result = ros.act(client, convert_motion.execute_goal(SWING))
    report = convert_motion.report(result)
    assert report.code == "SUCCESS" and report.release_stamp, report
    ros.until(lambda: node.world.elapsed > 1.1, "the flight")
    ros.until(lambda: any("ball moved and stands still" in m.msg for m in said), "the end")
    answer = ros.call(Trigger, "/simulator/reset")
    assert answer.success and "attempt 1" in answer.message
    # what came until now: attempt 1 goes on publishing
    joints, poses, clouds = list(joints), list(poses), list(clouds)
    ticks = [convert.nanoseconds(m.clock) for m in clock]
    assert set(np.diff(ticks)) <= {2_000_000 * k for k in range(1, 50)}  # best effort may lose
    np.testing.assert_array_equal(np.diff(stamps(joints)) % 2_000_000, 0)
    with np.load(tmp_path / "truth" / "attempt_000.npz") as truth:
        truth = dict(truth)
    begin = int(truth["origin"])
    # commanded 0.03 s before, and received late by what messages take: 40 ms on a busy machine,
    # half of it at half speed
    assert 0.36 < truth["release"] - truth["begins"][0] < 0.46 and len(truth["begins"]) == 1
    assert float(truth["release"]) > report.release_stamp - begin / NANO
    assert list(joints[0].name) == JOINTS
    at = (stamps(poses) - begin) / NANO
    observed = (at > 0.0) & (at < truth["time"][-1])
    received = np.array([convert.pose_sample(m, "ball").position for m in poses])[observed]
    true = np.stack(
        [np.interp(at[observed], truth["time"], truth["ball.position"][:, k]) for k in range(3)], 1
    )
    assert observed.sum() > 40 and np.ptp(true[:, 2]) > 0.15
    assert np.abs(received - true).max() < 0.006
    assert len(set(stamps(clouds))) == len(clouds) > 5
    np.testing.assert_array_equal((stamps(clouds) - 10 * NANO) % (NANO // 10), 0)


def test_time_steps_when_told_and_the_same_steps_say_the_same(ros, lab):
    node = lab({"tracker": TRACKER}, playing=False, step=0.1)
    poses = ros.listen(PoseStamped, "/ball/pose", 1000)
    ros.until(lambda: node.count_subscribers("/ball/pose") == 1, "the subscriber")
    assert node.world.time == 10 * NANO
    first = ros.call(Trigger, "/simulator/step")
    assert first.success and first.message == "10.100 s"
    ros.until(lambda: len(poses) == 11, "11 poses")
    world, sensor = node.world, node.twin.config.sensors["tracker"]
    published = [convert.pose_sample(m, "ball").position for m in poses]
    expected = [
        sensor.sample(world.record(), 0.0, 0, generator(0, 0, "tracker", k)).position
        for k in range(11)
    ]
    assert published == expected
    assert ros.call(Trigger, "/simulator/play").success
    assert not ros.call(Trigger, "/simulator/step").success
    assert ros.call(Trigger, "/simulator/pause").success


def test_time_stops_where_the_engine_fails_and_a_reset_begins_anew(ros, lab, monkeypatch):
    node = lab({"tracker": TRACKER}, playing=False)

    def fails(*_):
        raise NotConverged("step 3 of ball")

    monkeypatch.setattr(node.world, "record", fails)
    for name in ("step", "play", "step"):
        answer = ros.call(Trigger, f"/simulator/{name}")
        assert not answer.success and "step 3 of ball" in answer.message
    monkeypatch.undo()
    assert ros.call(Trigger, "/simulator/reset").success
    assert ros.call(Trigger, "/simulator/step").success


def test_a_reset_is_answered_when_joint_states_say_so(ros, lab, monkeypatch):
    node = lab({"tracker": TRACKER}, rate_factor=0.02)  # joint states every 0.4 s of wall time
    published, states = [], node.server._states
    publish = states.publish
    monkeypatch.setattr(states, "publish", lambda m: (published.append(m), publish(m)))
    ros.until(lambda: published, "joint states")
    published.clear()
    assert ros.call(Trigger, "/simulator/reset").message == "attempt 1"
    assert list(published[0].position) == SWING.positions[0].tolist()
    ros.call(Trigger, "/simulator/pause")
    assert ros.call(Trigger, "/simulator/reset").message == "attempt 2"


def test_frames_are_a_tree_as_robot_state_publisher_has_it(ros, lab):
    moving = ros.listen(TFMessage, "/tf", STREAM)
    still = ros.listen(TFMessage, "/tf_static", STATIC_TF)
    node = lab({"camera": CAMERA}, playing=False, frame_prefix="left/", tf_rate=500.0)
    before = node.world.controller.position.copy()
    assert ros.call(Trigger, "/simulator/step").success
    ros.until(lambda: moving and still, "frames")
    edges = {}  # child -> (parent, transform)
    for message in (*moving, *still):
        for one in message.transforms:
            known = edges.setdefault(one.child_frame_id, one)
            assert known.header.frame_id == one.header.frame_id, one.child_frame_id
    arm = node.twin.config.arm
    root = ElementTree.parse(arm.robot.place).getroot()
    expected = {
        f"left/{j.find('child').get('link')}": f"left/{j.find('parent').get('link')}"
        for j in root.iter("joint")
    } | {f"left/{arm.robot.base}": "world", "left/camera": "world"}
    assert {child: one.header.frame_id for child, one in edges.items()} == expected
    moves = {t.child_frame_id for m in moving for t in m.transforms}
    assert moves == {f"left/{joint.body}" for joint in arm.robot.joints}
    assert not moves & {t.child_frame_id for m in still for t in m.transforms}
    for link in arm.robot.frames:
        pose, child = np.eye(4), f"left/{link}"
        while child != "world":
            t = edges[child].transform
            place, turn = t.translation, t.rotation
            above = np.eye(4)
            above[:3, :3] = quat_matrix(np.array([turn.x, turn.y, turn.z, turn.w]))
            above[:3, 3] = place.x, place.y, place.z
            pose, child = above @ pose, edges[child].header.frame_id
        np.testing.assert_allclose(
            pose, arm.base @ link_pose(arm.robot, before, link), atol=1e-12, err_msg=link
        )


@pytest.mark.parametrize(
    ("what", "children"), [("sensors", {"base_link", "camera"}), ("none", set())]
)
def test_frames_of_links_can_be_left_to_a_robot_state_publisher(ros, lab, what, children):
    moving = ros.listen(TFMessage, "/tf", STREAM)
    still = ros.listen(TFMessage, "/tf_static", STATIC_TF)
    clock = ros.listen(Clock, "/clock", quality(1000, reliable=False))
    lab({"camera": CAMERA}, publish_tf=what)
    ros.until(lambda: len(clock) > 100, "0.2 s")
    if children:
        ros.until(lambda: still, "static frames")
    assert not moving and {t.child_frame_id for m in still for t in m.transforms} == children


def test_unusable_parameters_are_refused(lab, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        Simulator(parameter_overrides=[_parameter("twin", str(tmp_path / "none.yaml"))])
    (tmp_path / "attempt_000.npz").touch()
    with pytest.raises(InputError, match="truth_path"):
        Simulator(parameter_overrides=[_parameter("truth_path", str(tmp_path))])


def _parameter(name, value):
    from rclpy.parameter import Parameter

    return Parameter(name, value=value)


def test_forces_and_outputs_of_the_scene_are_published(ros, tmp_path):
    """Of a block at rest on the table: what it exerts on the table, and the table on it."""
    block = {
        "shape": {"box": {"size": [0.1, 0.1, 0.1]}}, "mass": 0.4,
        "pose": {"position": [0.6, 0.5, 0.0496]}, "contact_spheres": {"corners": {}},
    }  # fmt: skip
    contact = {"name": "rest", "points": "block", "against": {"plane": {}}, "k_n": 1.0e4,
               "k_t": 50, "c_n": 2.0, "c_f": 0.5}  # fmt: skip
    config = {
        "scene": {"world": {"step": 0.002, "duration": 2.0}, "bodies": {"block": block},
                  "contact": [contact]},
        "robot": str(ROOT / "config" / "robots" / "ur5.yaml"),
        "sensors": {
            "cell": {"wrench": {"body": "block", "contacts": ["rest"], "rate": 50,
                                "position": [0, 0, -0.02]}},
            "scale": {"output": {"output": "rest.force.z", "rate": 50}},
        },
    }  # fmt: skip
    (tmp_path / "twin.yaml").write_text(yaml.safe_dump(config))
    wrenches = ros.listen(WrenchStamped, "/cell/wrench", 1000)
    numbers = ros.listen(Float64, "/scale/output", 1000)
    still = ros.listen(TFMessage, "/tf_static", STATIC_TF)
    ros.start_with(Simulator, twin=str(tmp_path / "twin.yaml"), frame_prefix="r/")
    ros.until(lambda: len(wrenches) > 10 and len(numbers) > 10 and still, "wrenches, numbers")
    last = wrenches[-1]
    assert last.header.frame_id == "r/cell" and np.all(np.diff(stamps(wrenches)) == NANO // 50)
    (frame,) = [t for m in still for t in m.transforms if t.child_frame_id == "r/cell"]
    assert frame.header.frame_id == "world" and frame.transform.translation.z == -0.02
    assert -last.wrench.force.z == pytest.approx(numbers[-1].data, rel=0.2)
    assert 0.2 * 0.4 * 9.81 < numbers[-1].data < 5 * 0.4 * 9.81
