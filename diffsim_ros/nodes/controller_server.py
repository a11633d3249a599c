"""The interfaces of ur_robot_driver without a robot, around robots/controller.py.

Attached to a node, which lets time pass by `advance` (simulator: simulated time; mock_controller:
a clock's). Names are relative: under a namespace a node serves a robot of its own. CONTROLLER is a
parameter's:

action   CONTROLLER/follow_joint_trajectory  control_msgs/FollowJointTrajectory
in       CONTROLLER/joint_trajectory         trajectory_msgs/JointTrajectory
out      joint_states                        sensor_msgs/JointState
out      speed_scaling_state_broadcaster/speed_scaling  std_msgs/Float64, per cent as the UR's
action   gripper_controller/gripper_cmd      control_msgs/GripperCommand
service  io_and_status_controller/set_io     ur_msgs/SetIO
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from control_msgs.action import FollowJointTrajectory, GripperCommand
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory
from ur_msgs.srv import SetIO

from diffsim_ros.nodes import convert_motion as convert
from diffsim_ros.nodes.common import STREAM, BaseNode
from diffsim_ros.robots.command import JointCommand, nanoseconds
from diffsim_ros.robots.controller import Controller, Outcome, rejection
from diffsim_ros.robots.gripper import Gripper

SPEED_SCALING = "speed_scaling_state_broadcaster/speed_scaling"
JOINT_STATES = "joint_states"
Others = tuple[Sequence[str], np.ndarray, np.ndarray]
"""Names, positions and velocities of joints that the controller does not move."""
GRIPPER = "gripper_controller/gripper_cmd"
SET_IO = "io_and_status_controller/set_io"


class ServingNode(BaseNode):
    """A node that a `ControllerServer` is attached to; `server` is made by its constructor."""

    server: ControllerServer

    def close(self) -> None:
        """End a running goal, with a result for its client."""
        self.from_thread(self.server.close)
        self.flush()

    def destroy_node(self) -> None:
        """Take the action servers down first."""
        self.server.destroy()
        super().destroy_node()


@dataclass(frozen=True)
class Offer:
    """name        of the controller
    state_rate     [Hz] of joint_states; 0: silent (a robot whose driver hangs)
    feedback_rate  [Hz] of the action (action_monitor_rate)
    scaling_rate   [Hz] of the speed scaling, which is also sent when it changes
    gap            [m] of the open gripper: commanded above half of it, it opens
    pin            digital output that opens the gripper
    """

    name: str = "scaled_joint_trajectory_controller"
    state_rate: float = 125.0
    feedback_rate: float = 20.0
    scaling_rate: float = 10.0
    gap: float = 0.085
    pin: int = 16


class ControllerServer:
    """Serves `controller` and `gripper` at a node; all calls from the executor's thread.

    on_gripper  called with (stamp [ns], is open) when the gripper has opened or closed
    efforts     -> (n,) of the joints now, for joint states; None: they have none
    others      -> further joints of the robot, for joint states
    gripper     None: the robot has none
    offer, controller and gripper may be replaced at any time, while no goal runs (`close`).
    """

    def __init__(
        self,
        node: BaseNode,
        controller: Controller,
        gripper: Gripper | None,
        offer: Offer | None = None,
        on_gripper: Callable[[int, bool], None] = lambda stamp, is_open: None,
        efforts: Callable[[], np.ndarray | None] = lambda: None,
        others: Callable[[], Others] = lambda: ((), (), ()),
    ) -> None:
        self._efforts, self._others = efforts, others
        self.node, self.controller, self.gripper = node, controller, gripper
        self.offer, self._on_gripper = offer or Offer(), on_gripper
        self._goal, self._done, self._due = None, None, {}
        self._published_scaling = -1.0
        name = self.offer.name
        self._states = node.create_publisher(JointState, JOINT_STATES, STREAM)
        self._scaling = node.create_publisher(Float64, SPEED_SCALING, STREAM)
        node.create_subscription(
            JointTrajectory, f"{name}/joint_trajectory", self._on_topic, STREAM
        )
        self._actions = [
            ActionServer(
                node,
                FollowJointTrajectory,
                f"{name}/follow_joint_trajectory",
                self._run,
                goal_callback=self._on_goal,
                cancel_callback=self._on_cancel,
                callback_group=node.together,
            )
        ]
        if gripper is not None:
            node.create_service(SetIO, SET_IO, self._on_output)
            self._actions.append(ActionServer(
                node, GripperCommand, GRIPPER, self._on_gripper_goal, callback_group=node.together
            ))  # fmt: skip

    def advance(self, stamp: int) -> None:
        """Let time pass until a stamp [ns]: the controller moves, then as `finish_goal`."""
        outcome = self.controller.advance(stamp)
        for done, is_open in self.gripper.advance(stamp) if self.gripper is not None else ():
            self._on_gripper(done, is_open)
        self.finish_goal(stamp, outcome)

    def finish_goal(self, stamp: int, outcome: Outcome | None) -> None:
        """Publish what is due at a stamp [ns], after time was advanced; end what has ended."""
        if outcome:
            self._end(outcome)
        self._publish(stamp)

    def set_clock(self) -> None:
        """The clock was set: what is published is due again."""
        self._due.clear()

    def close(self) -> None:
        """End a running goal, with a result for its client; what is published is due again."""
        self._due.clear()
        outcome = self.controller.cancel()
        if outcome:
            self._end(Outcome(outcome.code, "the controller is shut down", canceled=True))

    def destroy(self) -> None:
        """Take the action servers down: they would keep the node alive and be found."""
        for action in self._actions:
            action.destroy()

    def _is_due(self, what: str, rate: float, stamp: int) -> bool:
        if rate <= 0.0 or stamp < self._due.get(what, stamp):
            return False
        period = nanoseconds(1.0 / rate)
        self._due[what] = max(self._due.get(what, stamp) + period, stamp - period)
        return True

    def _publish(self, stamp: int) -> None:
        mock, offer = self.controller, self.offer
        if self._is_due("states", offer.state_rate, stamp):
            names, position, velocity = self._others()
            efforts = self._efforts()
            if efforts is not None:
                efforts = np.append(efforts, np.full(len(names), np.nan))
            self._states.publish(
                convert.joint_state_message(
                    (*mock.names, *names), np.append(mock.position, position),
                    np.append(mock.velocity, velocity), stamp, efforts,
                )
            )  # fmt: skip
        changed = mock.scaling != self._published_scaling
        if self._is_due("scaling", offer.scaling_rate, stamp) or changed:
            self._published_scaling = mock.scaling
            self._scaling.publish(Float64(data=100.0 * mock.scaling))
        if self._goal is not None and self._is_due("feedback", offer.feedback_rate, stamp):
            self._goal.publish_feedback(
                convert.follow_feedback(
                    mock.names, mock.updated, mock.desired, mock.position, mock.velocity
                )
            )

    # --- trajectories ---------------------------------------------------------------------------

    def _refused(self, command: JointCommand) -> bool:
        reason = rejection(command, self.controller.names, self.controller.time)
        if reason:
            self.node.get_logger().error(f"{self.offer.name}: rejected: {reason}")
        return bool(reason)

    def _on_topic(self, message: JointTrajectory) -> None:
        """The trajectory is replaced; a goal that runs is not ended, and continues with it."""
        command = convert.command(message)
        if not self._refused(command):
            self.controller.replace(command)

    def _on_goal(self, goal: FollowJointTrajectory.Goal) -> GoalResponse:
        refused = self._refused(convert.command(goal.trajectory))
        return GoalResponse.REJECT if refused else GoalResponse.ACCEPT

    async def _run(self, handle) -> FollowJointTrajectory.Result:
        mock, goal = self.controller, handle.request
        settings = mock.settings
        limits = convert.tolerances(goal, mock.names, settings.path, settings.goal)
        before = mock.start(convert.command(goal.trajectory), **limits)
        if before:
            self._end(before)
        self._goal, done = handle, Future()
        self._done = done
        outcome = await done
        if outcome.canceled and handle.is_cancel_requested:
            handle.canceled()
        elif outcome.code == 0 and not outcome.canceled:
            handle.succeed()
        else:
            handle.abort()
        return convert.follow_result(outcome.code, outcome.text)

    def _on_cancel(self, handle) -> CancelResponse:
        if self._goal is not None and handle.goal_id == self._goal.goal_id:
            outcome = self.controller.cancel()
            if outcome:
                self._end(outcome)
        return CancelResponse.ACCEPT

    def _end(self, outcome: Outcome) -> None:
        self.node.get_logger().info(f"{self.offer.name}: {outcome.code} {outcome.text}")
        if self._done is not None:
            self._done.set_result(outcome)
        self._goal = self._done = None

    # --- gripper --------------------------------------------------------------------------------

    async def _on_gripper_goal(self, handle) -> GripperCommand.Result:
        is_open = handle.request.command.position > 0.5 * self.offer.gap
        self.gripper.command(is_open, self.controller.time)
        handle.succeed()
        return convert.gripper_result(handle.request.command.position)

    def _on_output(self, request: SetIO.Request, response: SetIO.Response) -> SetIO.Response:
        switched = convert.digital_output(request)
        response.success = switched is not None
        if switched and switched[0] == self.offer.pin:
            self.gripper.command(switched[1], self.controller.time)
        return response
