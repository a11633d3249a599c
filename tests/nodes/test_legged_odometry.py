"""Goals that a legged robot is brought to by odometry; odometry that cannot be relied on."""

import threading
import time
from itertools import groupby, pairwise

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from diffsim_interfaces.action import PlanLocomotion  # noqa: E402
from geometry_msgs.msg import PoseStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

from diffsim_ros.errors import InputError  # noqa: E402
from diffsim_ros.nodes import convert_locomotion as legged  # noqa: E402
from diffsim_ros.nodes.common import LATCHED, STREAM  # noqa: E402
from diffsim_ros.planning.locomotion.planar import composed, planar, relative  # noqa: E402
from diffsim_ros.rotation import quat_exp  # noqa: E402
from tests.nodes.walking import WHEELED, Walker  # noqa: E402

SUCCESS, INVALID, CANCELED, ABORTED = 0, 1, 5, 8
NEAR, TURNED = 0.02, 0.03
"""Tolerances of the planner [m], [rad]."""


def here(walker):
    """(3,) x, y, yaw of the body."""
    return planar(walker.twin.joints.base)


def target(pose, frame="odom"):
    """A goal of the action."""
    message = PoseStamped()
    message.header.frame_id = frame
    row = [pose[0], pose[1], 0.0, *quat_exp([0.0, 0.0, pose[2]])]
    message.pose = legged.pose_of(np.array(row))
    return message


def arrived(walker, goal):
    off = relative(here(walker), goal)
    assert np.hypot(*off[:2]) < NEAR + 0.002 and abs(off[2]) < TURNED + 0.003, off


def test_a_robot_comes_to_its_goal_though_its_feet_slip(ros):
    walker = Walker(ros, friction=0.5)  # planned with 0.6
    markers = ros.listen(MarkerArray, "/legged_planner/markers", LATCHED)
    feedback, goal = [], composed(here(walker), np.array([0.36, 0.0, 0.2]))
    request = PlanLocomotion.Goal(travel=[0.36, 0.0], turn=0.2, send=True)
    _, result = ros.act(walker.plans, request, feedback, 120.0)
    assert result.error_code == SUCCESS and "corrections" in result.error_msg, result.error_msg
    arrived(walker, goal)
    left = [one.distance for one in feedback if one.distance > 0.0]
    assert left and min(left) < 0.2 < max(left)

    # an absolute one: a step back and to the side
    goal = here(walker) + np.array([-0.05, 0.1, 0.0])
    request = PlanLocomotion.Goal(target=target(goal), send=True)
    first = len(markers)
    _, result = ros.act(walker.plans, request, [], 120.0)
    assert result.error_code == SUCCESS, result.error_msg
    arrived(walker, goal)
    ros.until(lambda: len(markers) > first, "its markers")
    body = next(m for m in markers[first].markers if m.ns == "body_path")
    end = [body.points[-1].x, body.points[-1].y, 0.0]
    off = relative(goal, composed(planar(legged.pose_row(body.pose)), end))
    assert np.hypot(*off[:2]) < 0.05, off  # where the robot is, not where it was planned to be


def test_a_goal_is_replaced_and_cancelled(ros):
    walker = Walker(ros)
    first = ros.accepted(walker.plans, PlanLocomotion.Goal(travel=[1.2, 0.0], send=True))
    ros.until(lambda: walker.running() > 0.3, "a walk")
    with walker.slowed():
        second = ros.accepted(walker.plans, PlanLocomotion.Goal(travel=[0.9, 0.0], send=True))
        result = ros.outcome(first, 120.0)[1]
        assert result.error_code == CANCELED and "replaced by goal" in result.error_msg
    ros.asked(second.cancel_goal_async)
    result = ros.outcome(second, 120.0)[1]
    assert result.error_code == CANCELED and "it stands" in result.error_msg, result.error_msg
    assert walker.twin.joints.tilt < 0.05


UNCORRECTED = {"goal_tolerance": 1.0, "turn_tolerance": 1.0}
"""Of the planner: no walk is corrected."""


def test_a_goal_that_the_driver_has_not_begun_is_cancelled_with_the_walk_before(ros):
    walker = Walker(ros, planner=UNCORRECTED)
    first = ros.accepted(walker.plans, PlanLocomotion.Goal(travel=[1.2, 0.0], send=True))
    ros.until(lambda: walker.running() > 0.3, "a walk")
    prepared, let = walker.driver._prepared, threading.Event()
    walker.driver._prepared = lambda *given: (let.wait(20.0), prepared(*given))[1]
    with walker.slowed():
        second = ros.accepted(walker.plans, PlanLocomotion.Goal(travel=[0.9, 0.0], send=True))
        assert ros.outcome(first, 120.0)[1].error_code == CANCELED
        ros.asked(second.cancel_goal_async)
    let.set()
    result = ros.outcome(second, 120.0)[1]
    assert result.error_code == CANCELED
    assert "nothing was sent" in result.error_msg and "it stands" in result.error_msg
    assert walker.twin.joints.tilt < 0.05


def test_a_goal_waits_while_the_driver_checks_the_plan_before(ros):
    walker = Walker(ros, planner=UNCORRECTED)
    first = ros.accepted(walker.plans, PlanLocomotion.Goal(travel=[1.2, 0.0], send=True))
    ros.until(lambda: walker.running() > 0.3, "a walk")
    prepared = walker.driver._prepared

    def slow(*given):
        walker.driver._prepared = prepared
        time.sleep(1.5)
        return prepared(*given)

    walker.driver._prepared = slow
    with walker.slowed():
        second = ros.accepted(walker.plans, PlanLocomotion.Goal(travel=[0.9, 0.0], send=True))
        assert ros.outcome(first, 120.0)[1].error_code == CANCELED
        third = ros.accepted(walker.plans, PlanLocomotion.Goal(travel=[0.6, 0.0], send=True))
        result = ros.outcome(second, 120.0)[1]
        assert result.error_code == CANCELED and "replaced by goal" in result.error_msg
        ros.until(walker.planner.goals._is_settled, "its walk")
        fourth = ros.accepted(walker.plans, PlanLocomotion.Goal(travel=[0.4, 0.0], send=True))
        assert ros.outcome(third, 120.0)[1].error_code == CANCELED
        ros.until(walker.planner.goals._is_settled, "its walk")
    # Three plans go on from the walk that runs, one from the other: each begins at its time.
    sent = list(walker.planner.where._sent)
    names = [one.name for one in sent]
    assert [one.continues for one in sent] == ["", *names[:-1]]
    ros.until(lambda: walker.stances[-1].plan == names[-1], "the last one")
    shown = [one for one in walker.stances if one.plan]
    assert [name for name, _ in groupby(one.plan for one in shown)] == names
    for before, one in pairwise(shown):
        begins = before.time if one.plan == before.plan else 0.0
        assert begins <= one.time < begins + 0.5, (before.plan, before.time, one.plan, one.time)
    ros.asked(fourth.cancel_goal_async)
    assert ros.outcome(fourth, 120.0)[1].error_code == CANCELED


def test_wheels_are_brought_to_a_place_from_rviz(ros):
    walker = Walker(ros, "agilebot", planner=WHEELED)
    publisher = ros.node.create_publisher(PoseStamped, "/goal_pose", STREAM)
    ros.until(publisher.get_subscription_count, "the planner")
    goal = here(walker) + np.array([0.2, 0.0, 0.1])
    publisher.publish(target(goal, "map"))  # refused, and told
    publisher.publish(target(goal))
    held = walker.planner.goals
    ros.until(lambda: held.held is not None, "the goal")
    ros.until(lambda: held.held is None, "its end", 120.0)
    arrived(walker, goal)


class Told:
    """Odometry of a test's own."""

    def __init__(self, ros, walker):
        self.walker, self.shift = walker, 0.0
        self.publisher = ros.node.create_publisher(Odometry, "/told", STREAM)
        ros.until(self.publisher.get_subscription_count, "the planner")

    def say(self, frame="odom", age=0.0, **change):
        joints, now = self.walker.twin.joints, self.walker.twin.time
        message = legged.odometry_message(
            joints.base, joints.twist, now - int(age * 1e9), frame, "base"
        )
        message.pose.pose.position.x += self.shift
        for key, value in change.items():
            setattr(message.pose.pose.orientation, key, value)
        self.publisher.publish(message)


def sound(track):
    try:
        return track.measured() is not None
    except InputError:
        return False


def test_odometry_that_is_not_sound_is_told_and_nothing_is_sent(ros):
    walker = Walker(ros, planner={"odometry": "told"})
    told, track = Told(ros, walker), walker.planner.where
    goal = {"travel": [0.18, 0.0], "send": True}
    refused = {"target": target(np.zeros(3)), "send": True}
    result = walker.planned(**refused)
    assert result.error_code == INVALID and "messages: got 'none'" in result.error_msg
    for said, why in (
        ({"frame": "map"}, "header.frame_id: got 'map'"), ({"z": np.nan}, "finite"),
        ({"w": 3.0}, "length"), ({"age": 5.0}, "age of the last message"),
    ):  # fmt: skip
        told.say(**said)
        ros.until(lambda said=said: track.ever and bool(track.problem) == ("age" not in said), said)
        for request in (goal, refused):
            result = walker.planned(**request)
            assert result.error_code == INVALID and why in result.error_msg, result.error_msg
    timer = ros.node.create_timer(0.02, told.say)
    ros.until(lambda: sound(track), "sound odometry")
    for wrong, why in ((target(np.zeros(3), "map"), "frame_id"), (target([np.nan] * 3), "finite")):
        result = walker.planned(target=wrong, send=True)
        assert result.error_code == INVALID and why in result.error_msg, result.error_msg
    assert walker.twin.server.controller.begun is None  # nothing was sent

    handle = ros.accepted(walker.plans, PlanLocomotion.Goal(travel=[0.6, 0.0], send=True))
    ros.until(lambda: walker.running() > 0.2, "a walk")
    told.shift = 1.0
    result = ros.outcome(handle, 120.0)[1]
    ros.node.destroy_timer(timer)
    assert result.error_code == ABORTED and "jumped" in result.error_msg, result.error_msg
    ros.until(lambda: walker.running() < 0, "standing", 120.0)
    assert walker.twin.joints.tilt < 0.05  # the walk went on to its end


def test_without_odometry_walks_are_open_loop_and_say_so(ros):
    walker = Walker(ros, planner={"odometry": ""})
    goal = PlanLocomotion.Goal(travel=[0.1, 0.0], send=True)
    result = ros.act(walker.plans, goal, limit=120.0)[1]
    assert result.error_code == SUCCESS and "open loop: odometry is off" in result.error_msg
    result = walker.planned(target=target(np.zeros(3)), send=True)
    assert result.error_code == INVALID and "open loop" in result.error_msg
