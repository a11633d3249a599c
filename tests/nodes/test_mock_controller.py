"""The mock controller over ROS: topic beside action, odd messages, versions, namespaces."""

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from control_msgs.action import FollowJointTrajectory  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from diffsim_ros.nodes import convert_motion as convert  # noqa: E402
from diffsim_ros.nodes.common import STREAM  # noqa: E402
from diffsim_ros.nodes.mock_controller import MockController  # noqa: E402
from tests.robots.motions import GOOD_ODD, NAMES, command, later, shifted, swing  # noqa: E402

CONTROLLER = "/scaled_joint_trajectory_controller"
SUCCEEDED, ABORTED = 4, 6


class Client:
    """An action's client, a publisher on the topic, and the joint states."""

    def __init__(self, ros, name=CONTROLLER, states="/joint_states"):
        self.ros, self.feedback = ros, []
        self.action = ros.action(FollowJointTrajectory, f"{name}/follow_joint_trajectory")
        self.topic = ros.node.create_publisher(JointTrajectory, f"{name}/joint_trajectory", STREAM)
        self.states = ros.listen(JointState, states, STREAM)
        ros.until(self.topic.get_subscription_count, "the controller's subscription")

    def goal(self, trajectory):
        return self.ros.accepted(self.action, convert.follow_goal(trajectory), self.feedback)

    def say(self, given):
        self.topic.publish(convert.command_message(given))

    def position(self):
        sample = convert.joint_sample(self.states[-1])
        return sample.rows(NAMES)[0]


def test_a_message_on_the_topic_replaces_a_goals_trajectory_and_does_not_end_it(ros):
    ros.start_with(MockController)
    client, other = Client(ros), shifted(later(command(), 0.5), 0.15)
    handle = client.goal(swing())
    ros.until(lambda: len(client.feedback) > 3, "feedback")
    client.say(other)
    status, result = ros.outcome(handle)
    assert (status, result.error_code) == (SUCCEEDED, 0), result
    last = np.array(other.points[-1].positions)
    desired = np.array(client.feedback[-1].desired.positions)
    assert np.abs(desired - last).max() < 0.05  # feedback follows the new trajectory
    ros.until(lambda: np.abs(client.position() - last).max() < 1e-3, "rest where the new one ends")


def test_a_goal_ends_the_goal_before_it(ros):
    ros.start_with(MockController)
    client = Client(ros)
    handle = client.goal(swing())
    ros.until(lambda: client.feedback, "feedback")
    again = client.goal(later(command(), 0.5).trajectory(NAMES))
    status, result = ros.outcome(handle)
    assert (status, result.error_code) == (ABORTED, -1) and "new incoming" in result.error_string
    assert ros.outcome(again)[0] == SUCCEEDED


def test_odd_messages_neither_end_the_node_nor_stop_its_joint_states(ros):
    controller, taken = ros.start_with(MockController).server.controller, []
    replace = controller.replace
    controller.replace = lambda given: taken.append(replace(given))
    client = Client(ros)
    for given in GOOD_ODD.values():
        if not given.stamp:  # of another clock
            before = len(taken)
            client.say(given)
            ros.until(lambda count=before: len(taken) > count, "it to be run")
    received = len(client.states)
    ros.until(lambda: len(client.states) > received + 5, "joint states")
    assert np.isfinite(client.position()).all()
    status, _ = ros.outcome(client.goal(later(command(), 2.0).trajectory(NAMES)))
    assert status == SUCCEEDED


def test_the_version_can_be_changed_and_an_unknown_one_is_refused(ros):
    node = ros.start_with(MockController, version="4.35.0")
    controller = node.server.controller
    assert controller.settings.version == "4.35.0"
    node.set_parameters([Parameter("version", value="4.36.0")])
    ros.until(lambda: controller.settings.version == "4.36.0", "the version")
    answer = node.set_parameters([Parameter("version", value="5.0.0")])[0]
    assert not answer.successful and "4.35.0" in answer.reason


def test_under_a_namespace_it_serves_a_robot_of_its_own(ros):
    ros.start(MockController(namespace="robot1"))
    client = Client(ros, f"/robot1{CONTROLLER}", "/robot1/joint_states")
    assert ros.outcome(client.goal(swing()))[0] == SUCCEEDED
    services = {name for name, _ in ros.node.get_service_names_and_types()}
    topics = {name for name, _ in ros.node.get_topic_names_and_types()}
    assert "/robot1/io_and_status_controller/set_io" in services
    assert "/robot1/speed_scaling_state_broadcaster/speed_scaling" in topics
    assert not {"/joint_states", f"{CONTROLLER}/joint_trajectory"} & topics
