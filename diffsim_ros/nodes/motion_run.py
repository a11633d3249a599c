"""One motion of the driver, from looking for the controller to its end."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from rclpy.task import Future

from diffsim_ros.nodes import convert_motion
from diffsim_ros.nodes.common import BaseNode
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.nodes.motion_outputs import (
    STEADY,
    ActionOutput,
    GripperOutput,
    TopicOutput,
    within,
)
from diffsim_ros.robots.command import NANO, JointSample
from diffsim_ros.robots.controller import Outcome
from diffsim_ros.robots.execution import Supervisor, Watch
from diffsim_ros.robots.trajectory import JointTrajectory

SKEW = NANO
"""[ns] by which a controller's stamps may differ from our clock and still be believed."""


class MotionRun:
    """Sends a trajectory, watches it, tells the gripper, and stops it when it must.

    Everything happens in the executor's thread; `whole` is awaited, `cancel` may come at any time.
    """

    def __init__(
        self,
        node: BaseNode,
        output: ActionOutput | TopicOutput,
        gripper: GripperOutput | None,
        watch: Watch,
    ) -> None:
        self._node, self._output, self._gripper, self._watch = node, output, gripper, watch
        self._supervisor: Supervisor | None = None
        self._state: JointSample | None = None
        self._halted = Future()
        self._canceled = ""
        self._release_stamp: float | None = None
        self._fine: Any = None
        self._feedback: Callable = lambda message: None
        self._told_at = -np.inf
        self._logged = 0  # notes
        self._moved = (0, 0.0)  # ROS time [ns], and the wall's when it was that

    # --- what is heard --------------------------------------------------------------------------

    def cancel(self, why: str) -> None:
        """Give the motion up; the gripper is not opened any more."""
        self._canceled = self._canceled or why
        self._halt(why)

    def hear_state(self, stamp: int, sample: JointSample) -> None:
        """A new joint state."""
        self._state = sample
        if self._supervisor is not None:
            position, _ = sample.rows(self._supervisor.trajectory.names)
            self._supervisor.hear_state(stamp, position, compare=not self._output.follows)

    def hear_scaling(self, stamp: int, scaling: float) -> None:
        """The speed scaling, 0 to 1."""
        if self._supervisor is not None:
            self._supervisor.hear_scaling(stamp, scaling)
            self._log_notes()

    def _hear_feedback(self, message: FollowJointTrajectory.Feedback) -> None:
        if self._supervisor is None:
            return
        rows = convert_motion.feedback_rows(message, self._supervisor.trajectory.names)
        if rows is not None:
            now = self._node.now()
            stamp = rows[0] if abs(now - rows[0]) < SKEW else now
            self._supervisor.hear_feedback(stamp, *rows[1:])

    @property
    def lag(self) -> float:
        """[s] by which the arm followed its commands; NaN where nothing told it."""
        return self._supervisor.lag if self._supervisor is not None else np.nan

    def shown(self) -> str:
        """Where it is, in words."""
        if self._supervisor is None:
            return "waiting for the controller"
        now = self._node.now()
        time, end = self._supervisor.clock.at(now), self._supervisor.trajectory.duration
        return f"{self._supervisor.phase(now)}, {min(time, end):.2f} of {end:.2f} s"

    # --- from beginning to end ------------------------------------------------------------------

    async def whole(
        self,
        trajectory: JointTrajectory,
        scaling: float,
        feedback: Callable,
        check: Callable[[JointTrajectory], object],
    ) -> Report:
        """Carry a checked trajectory out; `check` is called again just before it is sent."""
        self._feedback = feedback
        feedback(convert_motion.execute_feedback("waiting", 0.0, None))
        missing = await self._missing(trajectory)
        if self._canceled:
            return Report("CANCELED", f"{self._canceled}; nothing was sent")
        if missing:
            why = f"{missing} was not found, or does not answer; nothing was sent"
            return Report("REFUSED", why)
        check(trajectory)
        refused = await self._output.start(trajectory, self._hear_feedback)
        if refused is not None:
            return refused
        begin = self._node.now()
        self._supervisor = Supervisor(trajectory, begin, self._watch)
        self._supervisor.hear_scaling(begin, scaling)
        self._output.ended.add_done_callback(lambda _: self._halt(""))
        timers = [
            self._node.create_timer(
                1.0 / self._node["rate"], self._tick, callback_group=self._node.together
            ),
            self._node.create_timer(
                0.5, self._check_clock, callback_group=self._node.together, clock=STEADY
            ),
        ]
        try:
            why = await self._halted
            return await (self._stopped(why) if why else self._ended())
        except Exception:
            await self._brake()  # nobody watches it any more
            raise
        finally:
            for timer in [*timers, *([self._fine] if self._fine else [])]:
                self._node.destroy_timer(timer)

    async def _missing(self, trajectory: JointTrajectory) -> str:
        """Name of what is not there, "" if all is."""
        limit = self._node["server_timeout"]
        if not await self._output.is_there(limit):
            return self._output.name
        opens = self._gripper is not None and trajectory.release is not None
        if opens and not await self._gripper.is_there(limit):
            return self._gripper.name
        return ""

    async def _stopped(self, why: str) -> Report:
        """Stop the controller, because of a cancellation or trouble."""
        answer = await self._brake()
        code = "CANCELED" if self._canceled else "ABORTED"
        at = min(self._supervisor.clock.at(self._node.now()), self._supervisor.trajectory.duration)
        return self._report(code, [f"{why}: {answer} (at {at:.3f} s)"])

    async def _brake(self) -> str:
        """Have the controller stop; what it said to that."""
        names = self._supervisor.trajectory.names
        rows = self._state.rows(names) if self._state else ()
        return await self._output.stop(names, *rows)

    async def _ended(self) -> Report:
        """The controller has ended it; a release that lags behind the end is waited for."""
        outcome: Outcome = self._output.ended.result()
        if outcome.code != 0 or outcome.canceled:
            how = "canceled from elsewhere: " if outcome.canceled else ""
            return self._report("ABORTED", [f"{self._output.name}: {how}{outcome.text}"])
        left = self._supervisor.until_release(self._node.now())
        if left < self._watch.lag + 0.1 and not self._canceled:
            await within(self._node, Future(), max(left, 0.0))
            self._open()
        missed = self._gripper is not None and self._supervisor.trajectory.release is not None
        if missed and self._release_stamp is None:
            return self._report("ABORTED", ["the motion ended before its release"])
        return self._report("SUCCESS", [])

    def _report(self, code: str, said: list[str]) -> Report:
        seen = self._supervisor
        self._log_notes()
        if seen.trajectory.release is not None and self._gripper is None and code == "SUCCESS":
            said = [*said, "the gripper was not opened: parameter gripper is none"]
        worst = None if np.isnan(seen.worst) else seen.worst
        text = "; ".join([*said, *seen.notes])
        return Report(code, text, tracking_error=worst, release_stamp=self._release_stamp)

    # --- while it runs --------------------------------------------------------------------------

    def _halt(self, why: str) -> None:
        if not self._halted.done():
            self._halted.set_result(why)

    def _tick(self) -> None:
        if self._halted.done():
            return
        try:
            self._look()
        except Exception as error:  # a motion that nobody watches must not go on
            traceback.print_exc()
            self._halt(f"a defect of the driver: {type(error).__name__}: {error}")

    def _look(self) -> None:
        """What is wrong, due, or to be told now."""
        now, seen = self._node.now(), self._supervisor
        trouble = seen.trouble(now)
        self._log_notes()
        if trouble:
            self._halt(trouble)
            return
        if not self._output.follows and seen.has_arrived(now, self._node["goal_tolerance"]):
            self._output.ended.set_result(Outcome(0, "arrived"))
            return
        self._watch_release(now)
        if (now - self._told_at) / NANO >= 1.0 / self._node["feedback_rate"]:
            self._told_at = now
            error = None if np.isnan(seen.tracking_error) else seen.tracking_error
            self._feedback(
                convert_motion.execute_feedback(seen.phase(now), seen.clock.at(now), error)
            )

    def _watch_release(self, now: int) -> None:
        """Tell the gripper when it is time; between two ticks by a timer of its own."""
        left = self._supervisor.until_release(now)
        if left <= 0.0:
            self._open()
        elif left < 1.0 / self._node["rate"] and self._fine is None:
            self._fine = self._node.create_timer(
                left, self._on_fine, callback_group=self._node.together
            )

    def _on_fine(self) -> None:
        self._node.destroy_timer(self._fine)
        self._fine = None
        if not self._halted.done():
            self._watch_release(self._node.now())

    def _open(self) -> None:
        if self._gripper is None or self._supervisor.released:
            return
        self._gripper.open()
        self._release_stamp = self._node.now() / NANO
        self._supervisor.release()

    def _check_clock(self) -> None:
        """ROS time that stands, because a simulator is gone, would hide everything else."""
        now, wall = self._node.now(), monotonic()
        if now != self._moved[0]:
            self._moved = (now, wall)
        elif wall - self._moved[1] > self._node["stall_timeout"]:
            self._halt(f"ROS time stands still at {now / NANO:.3f} s")

    def _log_notes(self) -> None:
        for note in self._supervisor.notes[self._logged :]:
            self._node.get_logger().warning(note)
        self._logged = len(self._supervisor.notes)
