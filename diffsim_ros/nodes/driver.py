"""Node `driver`: a joint trajectory is checked, and then executed by the robot's controller.

action  ~/execute           diffsim_interfaces/Execute: feedback, can be cancelled
in      ~/joint_trajectory  trajectory_msgs/JointTrajectory: the same, without an answer
in      joint_states        sensor_msgs/JointState: where the robot is
in      the speed scaling   std_msgs/Float64 [per cent]; without it the speed counts as full
in      planning_scene      moveit_msgs/PlanningScene, where its messages are installed
out     CONTROLLER/follow_joint_trajectory (action) or CONTROLLER/joint_trajectory (topic)
out     the gripper's action or the robot's digital output
out     /diagnostics        diagnostic_msgs/DiagnosticArray

With `dry_run`, the default, everything is checked and nothing is sent. One motion at a time.
The node has a managed life cycle (managed.py): only while it is active requests are taken.
Requests are taken here, checked in a thread of their own, and watched by supervision.py.
"""

from __future__ import annotations

import gc
import math
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from diffsim_interfaces.action import Execute
from rclpy.action import CancelResponse
from rclpy.serialization import deserialize_message
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert, convert_motion, surroundings
from diffsim_ros.nodes.common import STREAM, Declared, run_node, share_folder
from diffsim_ros.nodes.controller_server import GRIPPER, SET_IO, SPEED_SCALING
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.nodes.goal_server import GoalServer
from diffsim_ros.nodes.jobs import explained, finish, goal_name
from diffsim_ros.nodes.managed import AUTOSTART, ManagedNode
from diffsim_ros.nodes.motion_job import MotionJob, reported
from diffsim_ros.nodes.motion_outputs import ANSWER, STEADY
from diffsim_ros.nodes.motion_run import MotionRun
from diffsim_ros.nodes.supervision import BEAT, Supervision
from diffsim_ros.nodes.watched_run import BRAKING
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.blend import blended, from_present
from diffsim_ros.robots.command import JointCommand, JointSample
from diffsim_ros.robots.execution import RESTS, Watch
from diffsim_ros.robots.start_check import check_start, check_state, check_turns
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_check import Rules, check_motion

FIXED = tuple(
    "robot controller output speed_scaling gripper gripper_action gripper_gap io_service "
    "gripper_pin period realtime_priority autostart".split()
)
"""Parameters that count at the start only."""
FRESH = 1.0
"""[s] that a goal waits at least for a fresh joint state."""
SWITCH = 0.001
"""[s] after which a thread that parses or checks lets the supervision's go on."""
CHECKS = 5
"""Times that a motion is checked where obstacles change until it is sent; then it is refused."""
LINGER = 0.3
"""[s] between the last answer and the end of the process."""
POINT = 50
"""Bytes of a message per joint and point: more than the four rows of numbers have."""


class ObstaclesChanged(InputError):
    """What a motion was checked with is not what is there as it is sent."""


class Driver(ManagedNode):
    """Takes requests one at a time: `_prepared` checks, a MotionRun sends and watches."""

    FIXED = FIXED
    STOPPING = ANSWER + BRAKING + 1.0
    PARAMETERS = (
        Declared("robot", "", "robot YAML; empty: config/robots/ur5.yaml"),
        Declared("dry_run", True, "check only, send nothing"),
        Declared(
            "controller",
            "scaled_joint_trajectory_controller",
            "name of the controller, before /follow_joint_trajectory and /joint_trajectory",
        ),
        Declared(
            "output", "action", "how motions are sent; topic: nothing is answered",
            choices=("action", "topic"),
        ),
        Declared("speed_scaling", SPEED_SCALING, "topic of the speed scaling; empty: full speed"),
        Declared("server_timeout", 10.0, "[s] to find robot, controller, gripper", 0.0, 600.0),
        Declared("start_tolerance", 0.001, "[rad] jump at t = 0 without a blend", 0.0, 0.1),
        Declared("blend_reach", 0.5, "[rad] farthest first point that is blended to", 0.0, 7.0),
        Declared("blend_time", 0.0, "[s] of a blend; 0: the shortest within limits", 0.0, 60.0),
        Declared("max_duration", 60.0, "[s] of a trajectory", 0.1, 3600.0),
        Declared("max_points", 10000, "of a trajectory", 2, 1000000),
        Declared("jerk", False, "the limits of jerk count too"),
        Declared("state_age", 0.25, "[s] after which a joint state is late", 0.01, 60.0),
        Declared(
            "late_state", "abort", "what a late joint state does to a motion",
            choices=("abort", "warn"), renamed=(("tell", "warn"),),
        ),
        Declared("path_tolerance", 0.1, "[rad] of the arm from the plan", 1e-3, 10.0),
        Declared("velocity_tolerance", 1.0, "[rad/s] of the arm beyond the plan's", 1e-2, 100.0),
        Declared("time_tolerance", 0.25, "[s] of the arm from the plan's time", 0.01, 10.0),
        Declared("goal_tolerance", 0.1, "[rad] of the arm from the plan's end", 1e-4, 1.0),
        Declared("release_tolerance", 0.1, "[rad] of the arm's place at the release", 1e-3, 10.0),
        Declared("release_velocity", 0.5, "[rad/s] of its velocity at the release", 1e-2, 100.0),
        Declared("release_lateness", 0.05, "[s] by which a release may be late", 0.001, 10.0),
        Declared("stop_timeout", 10.0, "[s] that a stop may last in a motion", 0.0, 3600.0),
        Declared("settle", 2.0, "[s] to be at the goal after the end", 0.05, 60.0),
        Declared("stall_timeout", 30.0, "[s] of wall time that ROS time may stand", 0.5, 600.0),
        Declared("watchdog", 1.0, "[s] that supervision or requests may stand", 0.2, 60.0),
        Declared(
            "realtime_priority", 20,
            "of supervision (SCHED_FIFO), where the system permits it; 0: ordinary threads", 0, 99,
        ),
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
        Declared("lead", 0.05, "[s] from the gripper's command until the object is free", 0.0, 5.0),
        Declared("lag", 0.0, "[s] by which the arm follows its commands", 0.0, 1.0),
        Declared("period", 1.0, "[s] between two diagnostics", 0.05, 60.0),
        AUTOSTART,
        *surroundings.PARAMETERS,
    )  # fmt: skip

    def __init__(self, **options: Any) -> None:
        super().__init__("driver", **options)
        self._job: MotionJob | None = None
        self._last, self._lag, self._leaving = "no motion yet", math.nan, False
        self._idle = threading.Event()
        self._idle.set()
        self.start()

    def set_up(self) -> None:
        """Load the arm and what surrounds it; connect to the robot; offer topic and action."""
        self._arm = load_arm(self["robot"] or share_folder() / "config" / "robots" / "ur5.yaml")
        self._surroundings = surroundings.Surroundings(self, self._arm)
        self.supervision = Supervision(self, self._arm, lambda: self.beaten)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", STREAM)
        # raw: a huge message is refused by its size, and parsed by the thread that checks it
        self.create_subscription(
            TrajectoryMessage, "~/joint_trajectory", self._on_topic, STREAM,
            callback_group=self.together, raw=True,
        )  # fmt: skip
        self.create_timer(self["period"], self._diagnose, clock=STEADY)
        self.beaten = monotonic()  # Supervision's watchdog looks at it
        self.create_timer(BEAT, self._beat, clock=STEADY)
        self._action = GoalServer(
            self,
            Execute,
            "~/execute",
            self._on_goal,
            cancel_callback=self._on_cancel,
            callback_group=self.together,
        )
        self.supervision.begin()

    # --- requests -------------------------------------------------------------------------------

    async def _on_goal(self, handle) -> Execute.Result:
        goal, publish = handle.request, handle.publish_feedback

        def command() -> JointCommand:
            return convert_motion.command(goal.trajectory, goal.release)

        count = len(goal.trajectory.points)
        with self.answering():
            work = self._execute(goal_name(handle), count, command, goal.blend, publish)
            report = await reported(handle, work)
            finish(handle, report.code)
            return convert_motion.execute_result(report)

    async def _on_topic(self, message: bytes) -> None:
        def command() -> JointCommand:
            return convert_motion.command(deserialize_message(message, TrajectoryMessage))

        count = len(message) // (POINT * len(self._arm.robot.joints))
        await self._execute("topic", count, command, 0.0, lambda _: None)

    def _beat(self) -> None:
        self.beaten = monotonic()

    def _on_cancel(self, handle) -> CancelResponse:
        job = self._job
        if job is None or job.ended or job.name != goal_name(handle):
            return CancelResponse.REJECT
        job.cancel("on request")
        return CancelResponse.ACCEPT

    async def _execute(
        self, name: str, count: int, command: Callable, blend: float, feedback: Callable
    ) -> Report:
        """Check, and unless it is a dry run execute; always answers.

        count  of points: what is too large, or comes while another motion runs, is not even parsed
        """
        refused = self._not_now(count)
        if refused is not None:
            self.get_logger().warning(f"{name}: {refused.code} {refused.message}")
            return refused
        done = Future()

        def end(report: Report) -> None:
            if not done.done():
                job.ended = True
                done.set_result(report)

        run = MotionRun(
            self.supervision,
            self._watch(),
            lambda message: self.from_thread(feedback, message),
            lambda report: self.from_thread(end, report),
        )
        feedback(convert_motion.execute_feedback("checking", 0.0, None))
        self._job = job = MotionJob(name, run, self["dry_run"])
        self._idle.clear()
        gc.disable()  # its pauses stop every thread: 80 ms while another client's huge goal comes
        self._begin_work(job, command, blend, end)
        try:
            report = await done
        finally:
            self._lag = self._lag if math.isnan(run.lag) else run.lag
            self._job = None
            gc.enable()
            self._idle.set()
        self._last = f"{name}: {report.code} {report.message}".rstrip()
        if report.code == "SUCCESS":
            self.get_logger().info(self._last)
        else:
            self.get_logger().error(self._last)
        return report

    def _not_now(self, count: int) -> Report | None:
        """Why a request is refused at once, None if it is not."""
        busy = self._job.name if self._job else "the last one is being stopped"
        if self._job is not None or self.supervision.run is not None:
            return Report("BUSY", f"a motion is running ({busy}); nothing was sent")
        if count > self["max_points"]:
            rule = f"2 to {self['max_points']} points"
            error = InputError("trajectory", "points", f"{count} points or more", rule)
            return Report("REFUSED", str(error))
        if self._leaving:
            return Report("CANCELED", "the driver is ended; nothing was sent")
        try:
            self.check_active()
        except InputError as error:
            return Report("REFUSED", str(error))
        return None

    def _begin_work(self, *given: Any) -> None:
        threading.Thread(target=self._work, args=given, name="check", daemon=True).start()

    def _work(
        self, job: MotionJob, command: Callable, blend: float, end: Callable, left: int = CHECKS - 1
    ) -> None:
        """In a thread of its own: check, then pass it to the supervision.

        left  how often it may be checked again
        """

        def answer(report: Report | None, error: BaseException | None = None) -> None:
            if isinstance(error, ObstaclesChanged) and left > 0 and not job.ended:
                self._begin_work(job, command, blend, end, left - 1)
                return
            if error is not None:
                report = Report(*explained(error, "REFUSED"))
            self.from_thread(end, report)

        try:
            trajectory, notes, around = self._prepared(job, command, blend)
            if not (job.dry or self["dry_run"]):
                for note in notes:
                    self.get_logger().info(note)
                work = job.run.whole(trajectory, partial(self._check_to_send, around))
                self.supervision.do(work, answer)
                return
            size = f"{len(trajectory.times)} points, {trajectory.duration:.3f} s"
            kept = trajectory.release is not None and self.supervision.gripper is None
            note = ["the gripper would not be opened: parameter gripper is none"] if kept else []
            text = "; ".join([f"dry run: {size}, nothing was sent", *note, *notes])
            answer(Report("SUCCESS", text, dry_run=True))
        except Exception as error:  # whoever waits must know
            if job.why:
                answer(Report("CANCELED", f"{job.why}; nothing was sent"))
            else:
                answer(None, error)

    # --- checks ---------------------------------------------------------------------------------

    def _prepared(
        self, job: MotionJob, command: Callable, blend: float
    ) -> tuple[JointTrajectory, list[str], tuple]:
        """The trajectory that is safe to send from the present state; what was not checked; the
        state of the surroundings that it was checked with.

        Raises InputError, Canceled.
        """
        arm, rules = self._arm, self._rules()
        wanted = command()
        if wanted.stamp:
            remedy = "leave the stamp 0"
            raise InputError("trajectory", "header stamp", wanted.stamp, "0: at once", remedy)
        trajectory = check_motion(wanted, arm, rules)  # a blend is made to sound ones only
        job.go_on()
        start = self._present(job)
        check_state(trajectory.names, arm.limits, start, rules)
        check_turns(trajectory, arm, start)
        duration = blend or self["blend_time"]
        gap = np.abs(trajectory.positions[0] - start.rows(trajectory.names)[0]).max()
        if duration or (trajectory.times[0] == 0.0 and gap > rules.start_tolerance):
            reach = self["blend_reach"]
            trajectory = blended(trajectory, arm, start, duration=duration, reach=reach)
        else:
            trajectory = from_present(trajectory, start)
        # as it will be sent; what was put before it may have added points
        more = replace(rules, max_points=10**9, max_duration=1e9)
        trajectory = check_motion(trajectory, arm, more)
        job.go_on()
        around = self._surroundings.state()
        notes = self._surroundings.check(trajectory, job.stop.is_set)
        job.go_on()
        self._check_at_last(trajectory)
        return trajectory, notes, around

    def _present(self, job: MotionJob) -> JointSample:
        """The present state of an arm that rests; raises InputError, Canceled."""
        states, now = self.supervision.states, self.supervision.now
        # a driver that has just started may not have received the robot's state yet
        if job.waited(lambda: states.last is not None, self["server_timeout"]):
            # nor, after a hiccup of its own, received it again
            job.waited(lambda: states.is_fresh(now), max(self["state_age"], FRESH))
        # an arm that has just moved still settles
        job.waited(lambda: states.rests(RESTS), self["settle"] if states.is_fresh(now) else 0.0)
        return states.present(now)

    def _check_to_send(self, around: tuple, trajectory: JointTrajectory) -> None:
        """As `_check_at_last`, that it is still to be sent, and past the obstacles of now."""
        self.check_not_dry()
        if self._surroundings.state() != around:
            rule = "the same from the check until the motion is sent"
            remedy = f"they changed in each of {CHECKS} checks: send it when they stand still"
            raise ObstaclesChanged("surroundings", "obstacles", "changed", rule, remedy)
        self._check_at_last(trajectory)

    def _check_at_last(self, trajectory: JointTrajectory) -> None:
        """Check again, quickly, what may have changed since then. Raises InputError."""
        self.check_active()
        node = self.supervision
        node.check_speed()
        node.check_sources()
        check_start(trajectory, self._arm, node.states.present(node.now), self._rules())

    def _rules(self) -> Rules:
        return Rules(
            start_tolerance=self["start_tolerance"],
            start_velocity=RESTS,
            state_age=self["state_age"],
            max_points=self["max_points"],
            max_duration=self["max_duration"],
            jerk=self["jerk"],
        )

    def _watch(self) -> Watch:
        return Watch(
            state_age=self["state_age"],
            abort_late=self["late_state"] == "abort",
            stop_timeout=self["stop_timeout"],
            settle=self["settle"],
            lead=self["lead"],
            lag=self["lag"],
            period=1.0 / self["rate"],
            path=self["path_tolerance"],
            ahead=self["time_tolerance"],
            velocity=self["velocity_tolerance"],
            goal=self["goal_tolerance"],
            release_path=self["release_tolerance"],
            release_velocity=self["release_velocity"],
            release_lateness=self["release_lateness"],
        )

    # --- diagnostics, end -----------------------------------------------------------------------

    def _diagnose(self) -> None:
        node, job = self.supervision, self._job
        age = node.states.age(node.now)
        level, text = "ok", "dry run: nothing is sent" if self["dry_run"] else "ready"
        if not self.active:
            text = "inactive: nothing is accepted"
        if job is not None:
            text = f"{job.name}: {job.run.shown()}"
        if not 0.0 <= age <= self["state_age"]:
            level, text = "warn", f"{text}; no joint states" if math.isnan(age) else text
        values = {
            "controller": node.output.name,
            "joint_state_age": "none" if math.isnan(age) else age,
            "speed_scaling": node.scaling,
            "last": self._last,
            "lag": self._lag,
        }
        name, now = self._arm.robot.name, node.now()
        self._diagnostics.publish(convert.diagnostics(self, level, text, values, name, now))

    def close(self) -> None:
        """Cancel a running motion and wait for its end, before leaving."""
        busy = self._job is not None
        self.from_thread(self._cancel_for_good)
        self.flush()
        self._idle.wait(ANSWER + BRAKING + 1.0)
        self.flush()
        if busy:  # what is sent is lost where its process ends before the client has taken it
            threading.Event().wait(LINGER)

    def _cancel_for_good(self) -> None:
        self._leaving = True
        self.give_up("the driver is ended")

    def give_up(self, why: str) -> None:
        """Cancel the motion that is checked or executed."""
        if self._job is not None:
            self._job.cancel(why)


def main(arguments: list[str] | None = None) -> int:
    """Console script `driver`."""
    sys.setswitchinterval(SWITCH)
    return run_node(Driver, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
