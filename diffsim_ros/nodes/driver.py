"""Node `driver`: a joint trajectory is checked, and then carried out by the robot's controller.

action  ~/execute           diffsim_interfaces/Execute: feedback, can be cancelled
in      ~/joint_trajectory  trajectory_msgs/JointTrajectory: the same, without an answer
in      /joint_states       sensor_msgs/JointState: where the robot is
in      the speed scaling   std_msgs/Float64 [per cent]; without it the speed counts as full
out     CONTROLLER/follow_joint_trajectory (action) or CONTROLLER/joint_trajectory (topic)
out     the gripper's action or the robot's digital output
out     /diagnostics        diagnostic_msgs/DiagnosticArray

With `dry_run`, the default, everything is checked and nothing is sent. One motion at a time.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from diffsim_interfaces.action import Execute
from rcl_interfaces.msg import SetParametersResult
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert, convert_motion
from diffsim_ros.nodes.common import STREAM, BaseNode, Declared, quality, run_node, share_folder
from diffsim_ros.nodes.controller_server import GRIPPER, JOINT_STATES, SET_IO, SPEED_SCALING
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.nodes.jobs import answered, finish, goal_name
from diffsim_ros.nodes.motion_outputs import (
    ANSWER,
    STEADY,
    ActionOutput,
    GripperOutput,
    TopicOutput,
    found,
)
from diffsim_ros.nodes.motion_run import MotionRun
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.blend import blended
from diffsim_ros.robots.command import NANO, JointCommand, JointSample
from diffsim_ros.robots.execution import STOPPED, Watch
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_check import Rules, check_trajectory, check_turns

FIXED = (
    "robot controller output speed_scaling gripper gripper_action gripper_gap io_service "
    "gripper_pin period"
).split()
"""Parameters that count at the start only."""
LATEST = quality(1, reliable=False)
"""The last message is all that counts."""


class Driver(BaseNode):
    """Checks in `_checked`, then a MotionRun; all in the executor's thread."""

    PARAMETERS = (
        Declared("robot", "", "robot YAML; empty: config/robots/ur5.yaml"),
        Declared("dry_run", True, "check only, send nothing"),
        Declared(
            "controller",
            "/scaled_joint_trajectory_controller",
            "name of the controller, before /follow_joint_trajectory and /joint_trajectory",
        ),
        Declared(
            "output", "action", "how motions are sent; topic: nothing is answered",
            choices=("action", "topic"),
        ),
        Declared("speed_scaling", SPEED_SCALING, "topic of the speed scaling; empty: full speed"),
        Declared("server_timeout", 10.0, "[s] to find controller and gripper", 0.0, 600.0),
        Declared("start_tolerance", 0.001, "[rad] jump at t = 0 without a blend", 0.0, 0.1),
        Declared("blend_reach", 0.5, "[rad] farthest first point that is blended to", 0.0, 7.0),
        Declared("blend_time", 0.0, "[s] of a blend; 0: the shortest within limits", 0.0, 60.0),
        Declared("max_duration", 60.0, "[s] of a trajectory", 0.1, 3600.0),
        Declared("max_points", 10000, "of a trajectory", 2, 1000000),
        Declared("jerk", False, "the limits of jerk count too"),
        Declared("state_age", 0.25, "[s] after which a joint state is late", 0.01, 60.0),
        Declared(
            "late_state", "abort", "what a late joint state does to a motion",
            choices=("abort", "tell"),
        ),
        Declared("stop_timeout", 10.0, "[s] that a stop may last in a motion", 0.0, 3600.0),
        Declared("settle", 2.0, "[s] to be at the goal after the end", 0.05, 60.0),
        Declared("stall_timeout", 30.0, "[s] of wall time that ROS time may stand", 0.5, 600.0),
        Declared("goal_tolerance", 0.1, "[rad] at the end, with output: topic", 1e-4, 1.0),
        Declared("rate", 100.0, "[Hz] of supervision", 10.0, 1000.0),
        Declared("feedback_rate", 10.0, "[Hz] of the action's feedback", 0.1, 100.0),
        Declared(
            "gripper", "none", "how the gripper is opened at the release",
            choices=("none", "command", "digital_output"),
        ),
        Declared("gripper_action", GRIPPER, "action of the gripper, for gripper: command"),
        Declared("gripper_gap", 0.085, "[m] of the open gripper", 0.0, 1.0),
        Declared("io_service", SET_IO, "ur_msgs/SetIO, for gripper: digital_output"),
        Declared("gripper_pin", 16, "digital output that opens the gripper", 0, 17),
        Declared("lead", 0.05, "[s] from telling the gripper until the object is free", 0.0, 5.0),
        Declared("lag", 0.0, "[s] by which the arm follows its commands", 0.0, 1.0),
        Declared("period", 1.0, "[s] between two diagnostics", 0.05, 60.0),
    )  # fmt: skip

    def __init__(self, **options: Any) -> None:
        super().__init__("driver", **options)
        self._arm = load_arm(self["robot"] or share_folder() / "config" / "robots" / "ur5.yaml")
        self._state: JointSample | None = None
        self._stamp = self._heard = 0  # of the last joint state: its own, and ours
        self._scaling = 1.0
        self._run: MotionRun | None = None
        self._job, self._last = "", "no motion yet"
        self._leaving, self._lag = False, math.nan
        self._idle = threading.Event()
        self._idle.set()
        self._output = self._make_output()
        self._gripper = self._make_gripper()
        self._ears()
        self.create_timer(self["period"], self._diagnose, clock=STEADY)
        self._action = ActionServer(
            self,
            Execute,
            "~/execute",
            self._on_goal,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            cancel_callback=self._on_cancel,
            callback_group=self.together,
        )

    def _check(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            late = hasattr(self, "_action") and parameter.name in FIXED
            if late and parameter.value != self[parameter.name]:
                reason = f"{parameter.name} counts at the start only: end the node first"
                return SetParametersResult(successful=False, reason=reason)
        return super()._check(parameters)

    def _make_output(self) -> ActionOutput | TopicOutput:
        if self["output"] == "action":
            return ActionOutput(self, self["controller"])
        return TopicOutput(self, self["controller"], self._arm.limits.acceleration)

    def _make_gripper(self) -> GripperOutput | None:
        kind = self["gripper"]
        if kind == "none":
            return None
        name = self["gripper_action" if kind == "command" else "io_service"]
        return GripperOutput(self, kind, name, self["gripper_gap"], self["gripper_pin"])

    def _ears(self) -> None:
        self.create_subscription(JointState, JOINT_STATES, self._on_state, LATEST)
        if self["speed_scaling"]:
            self.create_subscription(Float64, self["speed_scaling"], self._on_scaling, LATEST)
        self.create_subscription(
            TrajectoryMessage, "~/joint_trajectory", self._on_topic, STREAM,
            callback_group=self.together,
        )  # fmt: skip
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", STREAM)

    def now(self) -> int:
        """ROS time [ns]."""
        return self.get_clock().now().nanoseconds

    # --- what is heard --------------------------------------------------------------------------

    def _on_state(self, message: JointState) -> None:
        """A joint state that says something new; a stamp that stands is no news."""
        stamp = convert.nanoseconds(message.header.stamp)
        sample = convert_motion.joint_sample(message)
        names = self._arm.robot.joint_names
        if stamp == self._stamp or not set(names) <= set(sample.positions):
            return
        if not self.now():
            return  # simulated time has not begun here: the state would seem old when it does
        if self._run is not None and not np.isfinite(sample.rows(names)).all():
            return  # a robot that says NaN while it moves is silent
        self._stamp, self._heard, self._state = stamp, self.now(), sample
        if self._run is not None:
            self._run.hear_state(self._heard, sample)

    def _on_scaling(self, message: Float64) -> None:
        self._scaling = message.data / 100.0
        if self._run is not None:
            self._run.hear_scaling(self.now(), self._scaling)

    def _age(self) -> float:
        """Seconds since a joint state was heard."""
        return (self.now() - self._heard) / NANO

    # --- checks ---------------------------------------------------------------------------------

    def _present(self) -> JointSample:
        """Where the robot is now; InputError where that is not known, or was long ago."""
        if self._state is None:
            remedy = f"is the robot's driver running? ros2 topic hz {JOINT_STATES}"
            raise InputError(JOINT_STATES, "joint states", None, "at least one", remedy)
        age = self._age()
        if age > self["state_age"]:
            rule = f"at most {self['state_age']:g} s old"
            raise InputError(JOINT_STATES, "age", age, rule, "is the robot's driver running?")
        return JointSample(self._state.positions, self._state.velocities, age)

    def _checked(self, command: JointCommand, blend: float) -> JointTrajectory:
        """The trajectory that is safe to send, from the present state on; raises InputError."""
        if not blend >= 0.0:
            raise InputError("goal", "blend", blend, "0 (the driver's own) or more seconds")
        if command.stamp:
            remedy = "leave the stamp 0"
            raise InputError("trajectory", "header stamp", command.stamp, "0: at once", remedy)
        arm, start, rules = self._arm, self._present(), self._rules()
        # by itself first: a blend is made to sound trajectories only
        trajectory = check_trajectory(command, arm, rules=rules)
        check_turns(trajectory, arm, start)
        duration = blend or self["blend_time"]
        gap = abs(trajectory.positions[0] - start.rows(trajectory.names)[0])
        near = trajectory.times[0] > 0.0 or gap.max() <= rules.start_tolerance
        if duration or not near:
            trajectory = blended(
                trajectory, arm, start, duration=duration, reach=self["blend_reach"]
            )
        return self._checked_again(trajectory)

    def _checked_again(self, trajectory: JointTrajectory) -> JointTrajectory:
        """As it will be sent, from the present state; raises InputError."""
        if self._scaling < STOPPED:
            rule = "a robot that is not stopped"
            raise InputError("robot", "speed scaling", self._scaling, rule)
        rules = replace(self._rules(), max_points=10**9, max_duration=1e9)  # a blend may add some
        return check_trajectory(trajectory, self._arm, self._present(), rules=rules)

    def _rules(self) -> Rules:
        return Rules(
            start_tolerance=self["start_tolerance"],
            state_age=self["state_age"],
            max_points=self["max_points"],
            max_duration=self["max_duration"],
            jerk=self["jerk"],
        )

    # --- execution ------------------------------------------------------------------------------

    async def _on_goal(self, handle) -> Execute.Result:
        goal = handle.request
        command = convert_motion.command(goal.trajectory, goal.release)
        name, feedback = goal_name(handle), handle.publish_feedback
        report = await self._execute(command, goal.blend, name, feedback)
        finish(handle, report.code)
        return convert_motion.execute_result(report)

    async def _on_topic(self, message: TrajectoryMessage) -> None:
        await self._execute(convert_motion.command(message), 0.0, "topic", lambda _: None)

    def _on_cancel(self, handle) -> CancelResponse:
        if self._job != goal_name(handle) or self._run is None:
            return CancelResponse.REJECT
        self._run.cancel("on request")
        return CancelResponse.ACCEPT

    async def _execute(
        self, command: JointCommand, blend: float, name: str, feedback: Callable
    ) -> Report:
        """Check, and unless it is a dry run carry out; always answers."""
        if self._job:
            busy = Report("BUSY", f"a motion is running ({self._job}); nothing was sent")
            self.get_logger().warning(f"{name}: BUSY {busy.message}")
            return busy
        self._job = name
        self._idle.clear()
        try:
            work = self._checked_and_run(command, blend, feedback)
            report = await answered(work, Report, "REFUSED")
        finally:
            self._lag = self._run.lag if self._run is not None else self._lag
            self._job, self._run = "", None
            self._idle.set()
        self._last = f"{name}: {report.code} {report.message}".rstrip()
        if report.code == "SUCCESS":
            self.get_logger().info(self._last)
        else:
            self.get_logger().error(self._last)
        return report

    async def _checked_and_run(
        self, command: JointCommand, blend: float, feedback: Callable
    ) -> Report:
        feedback(convert_motion.execute_feedback("checking", 0.0, None))
        # a driver that has just started may not have heard the robot yet
        if await found(self, lambda: self._state is not None, self["server_timeout"]):
            # nor, after a hiccup of its own, heard it again
            await found(self, lambda: self._age() <= self["state_age"], self["state_age"])
        trajectory = self._checked(command, blend)
        if self["dry_run"]:
            size = f"{len(trajectory.times)} points, {trajectory.duration:.3f} s"
            kept = trajectory.release is not None and self._gripper is None
            note = "; the gripper would not be opened: parameter gripper is none" if kept else ""
            return Report("SUCCESS", f"dry run: {size}, nothing was sent{note}", dry_run=True)
        if self._leaving:
            return Report("CANCELED", "the driver is ended; nothing was sent")
        self._run = MotionRun(self, self._output, self._gripper, self._watch())
        return await self._run.whole(trajectory, self._scaling, feedback, self._checked_again)

    def _watch(self) -> Watch:
        return Watch(
            self["state_age"],
            self["late_state"] == "abort",
            self["stop_timeout"],
            self["settle"],
            self["lead"],
            self["lag"],
        )

    # --- diagnostics, end -----------------------------------------------------------------------

    def _diagnose(self) -> None:
        age = self._age()
        level, text = "ok", "dry run: nothing is sent" if self["dry_run"] else "ready"
        if self._run is not None:
            text = f"{self._job}: {self._run.shown()}"
        if self._state is None or age > self["state_age"]:
            level, text = "warn", f"{text}; no joint states" if self._state is None else text
        values = {
            "controller": self._output.name,
            "joint_state_age": age if self._state else "none",
            "speed_scaling": self._scaling,
            "last": self._last,
            "lag": self._lag,
        }
        status = convert.diagnostic(level, "driver", text, values, self._arm.robot.name)
        message = DiagnosticArray(status=[status])
        message.header.stamp = convert.time_message(self.now())
        self._diagnostics.publish(message)

    def close(self) -> None:
        """Cancel a running motion and see it end, before leaving."""
        self.from_thread(self._cancel_for_good)
        self.flush()
        self._idle.wait(ANSWER + 1.0)
        self.flush()

    def _cancel_for_good(self) -> None:
        self._leaving = True
        if self._run is not None:
            self._run.cancel("the driver is ended")

    def destroy_node(self) -> None:
        """Take clients and servers down first."""
        self._action.destroy()
        self._output.destroy()
        if self._gripper is not None:
            self._gripper.destroy()
        super().destroy_node()


def main(arguments: list[str] | None = None) -> int:
    """Console script `driver`."""
    return run_node(Driver, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
