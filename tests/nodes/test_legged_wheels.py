"""Wheels of a legged robot whose driver was killed, and plans of the topic, over ROS."""

import threading

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from diffsim_interfaces.msg import LocomotionPlan  # noqa: E402
from geometry_msgs.msg import Pose  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from trajectory_msgs.msg import JointTrajectoryPoint  # noqa: E402

from diffsim_ros.nodes import legged_driver  # noqa: E402
from diffsim_ros.nodes.common import STREAM, BaseNode  # noqa: E402
from diffsim_ros.nodes.legged_driver import LeggedDriver  # noqa: E402
from diffsim_ros.nodes.legged_wheels import Wheels  # noqa: E402


class Controller(BaseNode):
    """Of wheels: notes what they are commanded."""

    def __init__(self, **timeouts):
        super().__init__("wheel_velocity_controller")
        self.commands = []
        for name, value in timeouts.items():
            self.declare_parameter(name, value)
        self.create_subscription(
            Float64MultiArray, "~/commands", lambda m: self.commands.append(list(m.data)), STREAM
        )


def legged(ros, capfd, **parameters):
    """A driver of a robot on wheels in the wall's time, and all that it has logged."""
    given = {"robot": "agilebot", "dry_run": False, "server_timeout": 0.6}
    driver = ros.start_with(LeggedDriver, **given | parameters)
    return driver, lambda: capfd.readouterr().err


@pytest.mark.parametrize(
    ("timeouts", "why"),
    [
        ({}, "has none of cmd_vel_timeout"),
        ({"command_timeout": 0.0}, "has none of cmd_vel_timeout"),
        ({"command_timeout": 0.5}, ""),
        (None, "does not say whether it stops"),
    ],
)
def test_wheels_that_would_go_on_without_a_driver_are_warned_of(ros, capfd, timeouts, why):
    if timeouts is not None:
        ros.start(Controller(**timeouts))
    driver, log = legged(ros, capfd)
    told = []
    if why:
        ros.until(lambda: told.append(log()) or why in "".join(told), why)
        assert "keep their last speed if this driver is killed" in "".join(told)
        return
    clients = driver.supervision.clients
    names = lambda: [client.srv_name for client in list(clients)]  # noqa: E731
    ros.until(lambda: not any("wheel" in name for name in names()), "the answer")
    assert "last speed" not in log()


def test_wheels_of_a_plan_that_runs_are_left_to_it():
    wheels = Wheels.__new__(Wheels)
    wheels.names, wheels._stood, wheels._warned, rolled = ("one",), False, True, []
    wheels.roll = lambda speeds: rolled.append(list(speeds))
    turning = JointState(name=["one"], velocity=[4.0])
    wheels.on_joint_state(turning, True, False)
    assert rolled == [[0.0]]
    for commands in (True, False):  # from then on
        wheels.on_joint_state(turning, True, commands)
    assert rolled == [[0.0]]


def test_wheels_that_a_killed_driver_left_turning_are_stopped(ros, capfd):
    controller = ros.start(Controller(cmd_vel_timeout=0.0))
    driver, log = legged(ros, capfd, dry_run=True)
    names = driver.supervision.wheel_names
    states = ros.node.create_publisher(JointState, "/joint_states", STREAM)

    def say(*speeds):
        message = JointState(name=list(names), position=[0.0] * 4, velocity=list(speeds))
        message.header.stamp = ros.node.get_clock().now().to_msg()
        states.publish(message)
        return controller.commands

    seen = []
    watch = driver.supervision._wheels.on_joint_state
    driver.supervision._wheels.on_joint_state = lambda *m: (watch(*m), seen.append(m))
    ros.until(lambda: (say(0.0, 4.0, 0.0, 0.0), len(seen) > 3)[1], "states in a dry run")
    assert not controller.commands
    driver.set_parameters([Parameter("dry_run", value=False)])
    ros.until(lambda: say(0.0, 4.0, 0.0, np.nan), "a command")
    assert controller.commands[0] == [0.0] * 4
    text, logged = f"{names[1]} turn, and no plan runs", []  # logged after the command is sent
    ros.until(lambda: logged.append(log()) or text in "".join(logged), text)
    seen.clear()
    ros.until(lambda: (say(0.0, 0.0, 0.0, 0.0), len(seen) > 3)[1], "states at rest")
    count = len(controller.commands)
    seen.clear()
    ros.until(lambda: (say(0.0, 4.0, 0.0, 0.0), len(seen) > 3)[1], "another's command")
    assert len(controller.commands) == count  # somebody drives it by hand: not this driver's affair


def test_a_plan_of_the_topic_is_not_parsed_where_cancellations_are_received(ros, monkeypatch):
    """It would stop a walk where that takes longer than the watchdog; by its size, it is not at all
    where it is too large."""
    driver, parsed = ros.start_with(LeggedDriver, max_points=100), []

    def parse(message, kind):
        parsed.append(threading.current_thread().name)
        return deserialize_message(message, kind)

    monkeypatch.setattr(legged_driver, "deserialize_message", parse)
    plans = ros.node.create_publisher(LocomotionPlan, "/legged_driver/plan", STREAM)
    ros.until(plans.get_subscription_count, "the driver")
    plan = LocomotionPlan(name="walk-1", robot="another")
    plans.publish(plan)
    ros.until(lambda: "walk-1 REFUSED plan: robot" in driver._last, "its refusal")
    assert parsed == ["check"]
    plan.trajectory.points = [
        JointTrajectoryPoint(positions=[0.0] * 12, velocities=[0.0] * 12, effort=[0.0] * 12)
    ] * 1000  # fmt: skip
    plans.publish(plan)
    ros.until(lambda: driver._topics == 2, "the second")
    plans.publish(LocomotionPlan(name="walk-3", robot="another"))
    ros.until(lambda: "walk-3 REFUSED" in driver._last, "the third")
    assert parsed == ["check"] * 2


def test_a_plan_of_as_many_points_as_are_permitted_is_never_too_large_by_its_size():
    plan = LocomotionPlan(name="walk-1", robot="quadruped")
    plan.trajectory.joint_names = [f"joint {k}" for k in range(3)]
    row = [0.0] * 3
    plan.trajectory.points = [
        JointTrajectoryPoint(positions=row, velocities=row, accelerations=row, effort=row)
    ] * 1000  # fmt: skip
    plan.wheels, plan.wheel_speeds = ["w"] * 6, [0.0] * 6000
    plan.end_effectors, plan.contact = ["e"] * 6, [True] * 6000
    plan.phase, plan.base = [0.0] * 1000, [Pose()] * 1000
    size = len(serialize_message(plan))
    assert size // (legged_driver.POINT * 3 + legged_driver.REST) <= 1000
