"""The planner's action: a throw by an arm, a warm start, refusals."""

import threading
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy")
pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from action_msgs.msg import GoalStatus
from diffsim_interfaces.action import Plan
from nav_msgs.msg import Path as PathMessage
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

from diffsim_ros.nodes import convert, planner
from diffsim_ros.nodes.common import LATCHED

ROOT = Path(__file__).resolve().parents[2]
THROW = str(ROOT / "config" / "planning" / "ur5_throw.yaml")
CODES = {number: name for name, number in convert.CODES.items()}


class Client:
    """An action client and the planner that it talks to."""

    def __init__(self, ros):
        self.ros, self.node, self.feedback = ros, ros.start(planner.Planner()), []
        self.action = ros.action(Plan, "/planner/plan")

    def send(self, goal):
        return self.ros.accepted(self.action, goal, self.feedback)

    def result(self, handle):
        status, result = self.ros.outcome(handle, 60.0)
        return status, CODES[result.error_code], result

    def run(self, goal):
        return self.result(self.send(goal))


@pytest.fixture
def client(ros, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Client(ros)


def test_a_throw_is_planned_written_shown_and_planned_again(client, tmp_path, monkeypatch):
    def write(stage, result, line):  # pages take seconds, and have a test of their own
        result.carried.trajectory.save(stage / "trajectory.yaml")
        (stage / "report.html").write_text(line)

    monkeypatch.setattr(planner.command, "write_all", write)
    listen = client.ros.listen
    path = listen(PathMessage, "/planner/predicted", LATCHED)
    markers = listen(MarkerArray, "/planner/markers", LATCHED)
    sent = listen(JointTrajectory, "/planner/trajectory", LATCHED)
    states = listen(JointState, "/planner/preview/joint_states", 10)
    status, code, found = client.run(Plan.Goal(task=THROW, out=str(tmp_path / "out")))
    assert (status, code) == (GoalStatus.STATUS_SUCCEEDED, "SUCCESS"), found.error_msg
    assert client.feedback and client.feedback[0].starts == 1
    last = found.trajectory.points[-1]
    assert len(found.trajectory.joint_names) == 6 and not any(last.velocities)
    assert 0 < found.release < last.time_from_start.sec + 1e-9 * last.time_from_start.nanosec
    written = yaml.safe_load((tmp_path / "out" / "trajectory.yaml").read_text())
    assert written["release"] == found.release
    assert found.report_path == str(tmp_path / "out" / "report.html")
    assert {m.name: m.value for m in found.metrics}["goals.target.distance"] < 0.03
    for received in (path, markers, sent, states):
        client.ros.until(lambda received=received: received, "what is shown")
    drawn = markers[-1].markers
    assert drawn[0].action == Marker.DELETEALL
    assert {"body/ball", "path/ball", "contact_force", "target"} <= {m.ns for m in drawn}
    assert sent[-1] == found.trajectory and path[-1] == found.predicted
    near = [p.pose.position for p in found.predicted.poses]
    target = np.array([-1.05, -0.15, 0.23])
    goal = Plan.Goal(task=THROW, target=target.tolist(), warm_start=True)
    status, code, again = client.run(goal)
    assert (code, again.report_path) == ("SUCCESS", "")
    figures = {m.name: m.value for m in again.metrics}
    assert figures["rollouts"] <= 14
    places = np.array([[p.pose.position.x, p.pose.position.y, p.pose.position.z]
                       for p in again.predicted.poses])  # fmt: skip
    assert np.linalg.norm(places - target, axis=1).min() < 0.03
    assert np.linalg.norm(places[0] - [near[0].x, near[0].y, near[0].z]) > 1e-4


def test_what_cannot_be_planned_is_refused_with_its_reason(client):
    text = yaml.safe_load(Path(THROW).read_text())
    text["robot"]["arm"] = {"urdf": str(ROOT / "urdf" / "ur5.urdf"), "tool": "tool0"}
    for goal, words in (
        (Plan.Goal(), "PLAN.yaml: path or text"),
        (Plan.Goal(task=yaml.safe_dump(text)), "robot.arm.base"),
        (Plan.Goal(task=THROW, target=[1.0, 2.0]), "x, y, z in m"),
        (Plan.Goal(task=THROW, goal="tarhet", target=[1.0, 2.0, 0.0]), "'target'"),
        (Plan.Goal(task=THROW, goal="tarhet"), "'target'"),
        (Plan.Goal(task=THROW, set=["search.stars=2"]), "starts"),
    ):
        status, code, found = client.run(goal)
        assert (status, code) == (GoalStatus.STATUS_ABORTED, "INVALID_CONFIGURATION")
        assert words in found.error_msg, found.error_msg
        assert not found.trajectory.points and not list(Path.cwd().iterdir())


def test_a_defect_is_told(client, monkeypatch):
    def fails(*_):
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(planner, "plan", lambda *_, **__: None)
    monkeypatch.setattr(planner.command, "write_all", lambda *_: None)
    monkeypatch.setattr(planner, "_answer", fails)
    status, code, found = client.run(Plan.Goal(task=THROW))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, "INTERNAL")
    assert found.error_msg == "ZeroDivisionError: a defect"
    assert client.run(Plan.Goal())[1] == "INVALID_CONFIGURATION"  # and it goes on


def test_a_second_goal_is_busy_and_the_first_can_be_cancelled(client, monkeypatch):
    started = threading.Event()
    planned = planner.plan

    def slow(config, *, progress, cancel):
        started.set()
        while not cancel.cancelled:
            pass
        return planned(config, progress=progress, cancel=cancel)

    monkeypatch.setattr(planner, "plan", slow)
    first = client.send(Plan.Goal(task=THROW))
    client.ros.until(started.is_set, "the first plan")
    assert client.run(Plan.Goal(task=THROW))[1] == "BUSY"
    future = client.ros.asked(first.cancel_goal_async)
    client.ros.until(lambda: future.done() and future.result(), "the cancellation")
    status, code, found = client.result(first)
    assert (status, code) == (GoalStatus.STATUS_CANCELED, "CANCELED")
    assert not found.trajectory.points
