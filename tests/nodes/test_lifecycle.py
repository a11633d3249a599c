"""The life cycle of what commands a robot: inactive drivers refuse, and deactivating stops."""

import threading

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("control_msgs")

from diffsim_interfaces.msg import ErrorCode
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetAvailableTransitions, GetState
from rclpy.parameter import Parameter

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert_motion
from diffsim_ros.nodes.driver import Driver
from tests.nodes.driving import LONG, MOTION, back, wait_moves
from tests.nodes.walking import Walker


class Manager:
    """A life cycle's manager: what `ros2 lifecycle` calls."""

    def __init__(self, ros, node="driver"):
        self.ros, self.node = ros, node

    def change(self, label):
        """Whether a transition was made."""
        request = ChangeState.Request(transition=Transition(label=label))
        return self.ros.call(ChangeState, f"/{self.node}/change_state", request).success

    @property
    def state(self):
        return self.ros.call(GetState, f"/{self.node}/get_state").current_state.label


@pytest.fixture
def manager(ros):
    return Manager(ros)


def refused(bench, motion=MOTION):
    """The message of a goal that is refused."""
    status, result = bench.ros.act(bench.client, convert_motion.execute_goal(motion))
    assert (status, result.error_code) == (6, ErrorCode.REFUSED), result.error_msg
    return result.error_msg


def test_until_it_is_active_a_driver_offers_nothing_then_refuses(bench, manager):
    ros = bench.ros
    driver = ros.start_with(Driver, dry_run=False, use_sim_time=True, gripper="none",
                            autostart=False)  # fmt: skip
    assert manager.state == "unconfigured" and not hasattr(driver, "supervision")
    names = [name for name, _ in driver.get_subscriber_names_and_types_by_node("driver", "/")]
    assert not [name for name in names if "joint" in name]
    assert not manager.change("activate") and manager.state == "unconfigured"
    assert manager.change("configure") and manager.state == "inactive"
    bench.driver = driver
    bench.ready().known()
    said = refused(bench)
    assert "driver: state: got 'inactive'; accepted: active; nothing was sent" in said
    assert said.endswith("ros2 lifecycle set /driver activate")
    wait_moves(bench)
    assert not bench.lab.events
    with pytest.raises(InputError, match="got 'inactive'"):  # also what was checked before
        driver._check_at_last(MOTION)
    assert manager.change("activate") and manager.state == "active"
    assert bench.send().report().code == "SUCCESS"


def test_deactivating_stops_a_motion_as_a_cancellation_does(bench, manager):
    bench.drive().known().send(LONG)
    bench.until(0.5)
    assert manager.change("deactivate") and manager.state == "inactive"
    assert not bench.lab.mock.active  # the answer comes after the stop
    report = bench.report()
    assert report.code == "CANCELED" and "the driver is deactivated" in report.message
    assert bench.result.result().status == 6  # its client did not ask for that
    assert not [event for event in bench.lab.events if event[0] == "gripper"]
    bench.ros.until(bench.rests, "rest")
    started = bench.lab.events.count("started")
    assert "inactive" in refused(bench, back(bench.lab.mock.position))
    wait_moves(bench)
    assert bench.lab.events.count("started") == started
    assert manager.change("activate")
    report = bench.send(back(bench.lab.mock.position)).report()
    assert report.code == "SUCCESS", report


def test_deactivating_while_a_motion_is_checked_sends_nothing(bench, manager, monkeypatch):
    bench.drive(gripper="none").known()
    checking, go_on = threading.Event(), threading.Event()
    check = bench.driver._surroundings.check

    def slow(trajectory, cancelled):
        checking.set()
        go_on.wait(20.0)
        return check(trajectory)  # as if it had not noticed

    monkeypatch.setattr(bench.driver._surroundings, "check", slow)
    bench.send()
    assert checking.wait(20.0)
    assert manager.change("deactivate")
    assert not manager.change("cleanup") and manager.state == "inactive"  # it is to be answered
    assert manager.change("activate")  # at once again: the goal of before is given up all the same
    go_on.set()
    report = bench.report()
    assert report.code == "CANCELED" and report.message.endswith("nothing was sent"), report
    wait_moves(bench)
    assert not bench.lab.events


def test_a_goal_that_is_received_meanwhile_is_refused_although_it_is_active_again(
    bench, manager, monkeypatch
):
    bench.drive(gripper="none").known()
    server, receiving, go_on = bench.driver._action, threading.Event(), threading.Event()
    taken = server._taken_goal

    def slow():
        found = taken()
        receiving.set()
        go_on.wait(20.0)
        return found

    monkeypatch.setattr(server, "_taken_goal", slow)
    goal = convert_motion.execute_goal(MOTION)
    sent = bench.ros.asked(bench.client.send_goal_async, goal)
    assert receiving.wait(20.0)
    assert manager.change("deactivate") and manager.change("activate")
    go_on.set()
    handle = bench.ros.until(lambda: sent.done() and sent.result(), "an answer")
    assert not handle.accepted
    wait_moves(bench)
    assert not bench.lab.events


def test_a_motion_that_does_not_stop_keeps_the_driver_active_and_busy(bench, manager, monkeypatch):
    monkeypatch.setattr(Driver, "STOPPING", 0.3)
    bench.drive(gripper="none").known().send(LONG)
    bench.until(1.0)  # at 0.1 rad/s; at 0.5 s it is slow enough to count as resting
    bench.lab.paused = True  # its time stands, so nothing can come to rest
    assert not manager.change("deactivate") and manager.state == "active"
    status, result = bench.ros.act(bench.client, convert_motion.execute_goal(MOTION))
    assert (status, result.error_code) == (6, ErrorCode.BUSY), result.error_msg
    bench.lab.paused = False
    report = bench.report()
    assert report.code == "CANCELED" and "deactivated" in report.message
    assert manager.change("deactivate") and manager.state == "inactive"


def test_cleaned_up_it_takes_other_parameters_and_drives_again(bench, manager):
    bench.drive(gripper="none").known()
    driver, rate = bench.driver, Parameter("period", value=0.1)
    (result,) = driver.set_parameters([rate])
    assert not result.successful and "counts at the start only" in result.reason
    assert manager.change("deactivate") and manager.change("cleanup")
    assert manager.state == "unconfigured" and not hasattr(driver, "supervision")
    nodes = driver.get_node_names
    bench.ros.until(lambda: "driver_supervision" not in nodes(), "the supervision's end")
    topics = [name for name, _ in driver.get_subscriber_names_and_types_by_node("driver", "/")]
    assert "/driver/joint_trajectory" not in topics
    (result,) = driver.set_parameters([rate])
    assert result.successful
    assert manager.change("configure") and manager.change("activate")
    bench.ready().known()
    assert bench.send().report().code == "SUCCESS"


def test_shut_down_it_stops_and_ends_its_process(bench, manager):
    bench.drive(gripper="none").known().send(LONG)
    bench.until(0.5)
    assert manager.change("shutdown") and manager.state == "finalized"
    assert bench.driver.finished.is_set() and not bench.lab.mock.active
    assert "the driver is shut down" in bench.report().message
    assert "finalized" in refused(bench)


def test_an_unusable_robot_leaves_it_unconfigured_until_it_is_mended(bench, manager, tmp_path):
    with pytest.raises(InputError, match=r"none\.yaml"):
        bench.ros.start_with(Driver, robot=str(tmp_path / "none.yaml"))
    driver = bench.ros.start_with(Driver, robot=str(tmp_path / "none.yaml"), autostart=False)
    assert not manager.change("configure") and manager.state == "unconfigured"
    assert driver.set_parameters([Parameter("robot", value="")])[0].successful
    assert manager.change("configure") and manager.change("activate")
    assert driver.active


def test_a_manager_is_offered_the_transitions_of_ros(bench, manager):
    bench.drive()
    name = "/driver/get_available_transitions"
    offered = bench.ros.call(GetAvailableTransitions, name).available_transitions
    assert {one.transition.label for one in offered} == {"deactivate", "shutdown"}


def test_deactivating_brings_a_walking_robot_to_stand(ros):
    walker, manager = Walker(ros), Manager(ros, "legged_driver")
    handle = walker.begun()
    assert manager.change("deactivate")
    result = walker.report(handle)
    assert result.error_code == ErrorCode.CANCELED
    assert "the driver is deactivated: it stands" in result.error_msg
    ros.until(lambda: not walker.twin.server.controller.active, "the controller's rest")
    assert walker.twin.joints.tilt < 0.05
    place = walker.place.copy()
    result = walker.report(walker.walk(walker.plan(travel=[0.36, 0.0])))
    assert result.error_code == ErrorCode.REFUSED and "inactive" in result.error_msg
    assert np.abs(walker.place - place).max() < 0.01
    assert manager.change("cleanup") and manager.state == "unconfigured"
    assert manager.change("configure") and manager.change("activate")
    walker.known()
    assert walker.driver.active
