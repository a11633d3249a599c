"""Two robots in two namespaces: names do not cross, both plan and move at once."""

import gc
from functools import partial

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
pytest.importorskip("control_msgs")

from diffsim_interfaces.action import Execute, Plan  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from diffsim_ros.nodes import convert, planner  # noqa: E402
from diffsim_ros.nodes.common import plan_file  # noqa: E402
from diffsim_ros.nodes.convert_motion import trajectory_message  # noqa: E402
from diffsim_ros.nodes.driver import Driver  # noqa: E402
from diffsim_ros.nodes.estimator import Estimator  # noqa: E402
from diffsim_ros.nodes.mock_controller import MockController  # noqa: E402
from diffsim_ros.nodes.observer import Observer  # noqa: E402
from diffsim_ros.nodes.planner import Planner  # noqa: E402
from diffsim_ros.nodes.replay import Replay  # noqa: E402
from diffsim_ros.nodes.simulator import Simulator  # noqa: E402
from diffsim_ros.nodes.visualizer import Visualizer  # noqa: E402
from diffsim_ros.robots.trajectory import JointTrajectory  # noqa: E402

GLOBAL = {"/clock", "/diagnostics", "/parameter_events", "/rosout", "/tf", "/tf_static"}
ROBOTS = ("robot1", "robot2")
LENIENT = {"state_age": 5.0, "path_tolerance": 5.0, "velocity_tolerance": 50.0,
           "time_tolerance": 5.0, "release_tolerance": 5.0, "release_velocity": 50.0,
           "release_lateness": 5.0}  # fmt: skip
"""Of drivers: all nodes of this test share one interpreter; who receives what is what counts."""


def start(ros, kind, namespace, *remappings, **parameters):
    """A node in a namespace."""
    rules = [f"__ns:=/{namespace}", *remappings]
    arguments = ["--ros-args", *(word for rule in rules for word in ("-r", rule))]
    return ros.start_with(kind, arguments=arguments, **parameters)


def test_all_names_of_a_node_are_in_its_namespace(ros, tosses):
    gc.collect()  # nodes that refused a parameter, in tests before, are never destroyed
    tester = set(dict(ros.node.get_topic_names_and_types()))
    tester |= set(dict(ros.node.get_service_names_and_types()))
    gripper = {"gripper": "command"}
    for kind, parameters in (
        (Planner, {}), (Estimator, {}), (Observer, {}), (Visualizer, {}), (MockController, {}),
        (Replay, {"data": str(tosses), "autostart": False}), (Driver, gripper), (Simulator, {}),
    ):  # fmt: skip
        start(
            ros, kind, "robot1", "/clock:=clock", "/tf:=tf", "/tf_static:=tf_static", **parameters
        )

    def known():
        return {
            name
            for found in (
                ros.node.get_topic_names_and_types(),
                ros.node.get_service_names_and_types(),
            )
            for name, _ in found
        }

    ros.until(lambda: "/robot1/simulator/step" in known() and "/robot1/clock" in known(), "names")
    allowed = GLOBAL - {"/clock", "/tf", "/tf_static"}

    def outside():
        return {name for name in known() - tester if not name.startswith("/robot1/")} - allowed

    # a process of the test before may still be ending, and its names with it
    ros.until(lambda: not outside(), lambda: f"none of these names: {outside()}")


@pytest.fixture
def robots(ros, tmp_path, monkeypatch):
    """{namespace: (mock controller, client of ~/plan, client of ~/execute)}; pages are left out."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planner.command, "write_all", lambda *_: None)
    found = {}
    for name in ROBOTS:
        start(ros, Planner, name)
        mock = start(ros, MockController, name)
        start(ros, Driver, name, dry_run=False, gripper="command", blend_reach=7.0, **LENIENT)
        found[name] = (
            mock, ros.action(Plan, f"/{name}/planner/plan"),
            ros.action(Execute, f"/{name}/driver/execute"),
        )  # fmt: skip
    return found


def test_two_robots_plan_and_move_at_once(ros, robots):
    received = {name: ros.listen(JointState, f"/{name}/joint_states", 1000) for name in ROBOTS}
    task, targets = str(plan_file("ur5_throw")), {"robot1": [], "robot2": [-1.05, -0.15, 0.23]}
    asked = {
        name: ros.accepted(client, Plan.Goal(task=task, target=targets[name]))
        for name, (_, client, _) in robots.items()
    }
    plans = {name: ros.outcome(handle, 120.0)[1] for name, handle in asked.items()}
    for plan in plans.values():
        assert plan.error_code == convert.CODES["SUCCESS"], plan.error_msg
    ends = {name: np.array(p.trajectory.points[-1].positions) for name, p in plans.items()}
    assert abs(ends["robot1"] - ends["robot2"]).max() > 0.01
    opened = {name: [] for name in ROBOTS}
    for name, (mock, _, _) in robots.items():
        mock.server._on_gripper = lambda stamp, is_open, name=name: opened[name].append(is_open)

    goals = {
        name: Execute.Goal(trajectory=plan.trajectory, release=plan.release)
        for name, plan in plans.items()
    }
    moving = {name: ros.accepted(robots[name][2], goal) for name, goal in goals.items()}
    ros.until(lambda: all(mock.server._goal is not None for mock, _, _ in robots.values()),
              "both to move at once")  # fmt: skip
    for name, handle in moving.items():
        result = ros.outcome(handle, 120.0)[1]
        assert result.error_code == convert.CODES["SUCCESS"], f"{name}: {result.error_msg}"
        mock = robots[name][0].server.controller
        np.testing.assert_allclose(mock.desired.position, ends[name], atol=1e-6)
        ros.until(partial(_near, received[name], mock.names, ends[name]), f"{name} to arrive")
    assert opened == {name: [True] for name in ROBOTS}


def test_a_motion_of_one_robot_is_not_seen_by_the_other(ros, robots):
    received = {name: ros.listen(JointState, f"/{name}/joint_states", 1000) for name in ROBOTS}
    ros.until(lambda: all(received.values()), "joint states")
    mock = robots["robot1"][0].server.controller
    home = np.array(mock.position)
    names, end = list(mock.names), home + 0.2
    rows = np.stack([home, end])
    motion = JointTrajectory(tuple(names), np.array([0.0, 2.0]), rows, 0.0 * rows)
    plan = Execute.Goal(trajectory=trajectory_message(motion), release=np.nan)
    result = ros.act(robots["robot1"][2], plan, limit=60.0)[1]
    assert result.error_code == convert.CODES["SUCCESS"], result.error_msg
    ros.until(lambda: _near(received["robot1"], names, end), "robot1 to arrive")
    still = np.array([message.position for message in received["robot2"]])
    assert abs(still - still[0]).max() == 0.0


def _near(messages, names, end):
    if not messages:
        return False
    state = dict(zip(messages[-1].name, messages[-1].position, strict=True))
    return max(abs(state[n] - e) for n, e in zip(names, end, strict=True)) < 0.02
