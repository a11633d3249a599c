"""One motion of the driver, from finding the controller to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from control_msgs.action import FollowJointTrajectory

from diffsim_ros.nodes import convert_motion
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.nodes.motion_outputs import STEADY, within
from diffsim_ros.nodes.watched_run import WatchedRun
from diffsim_ros.robots.command import NANO
from diffsim_ros.robots.controller import Outcome
from diffsim_ros.robots.execution import RESTS, Supervisor, Watch
from diffsim_ros.robots.joint_states import ReceivedState
from diffsim_ros.robots.trajectory import JointTrajectory

if TYPE_CHECKING:
    from diffsim_ros.nodes.supervision import Supervision

SKEW = NANO
"""[ns] by which a controller's stamps may differ from our clock and still be used."""
QUICK = 0.01
"""[s] of the wall that the checks of a release take at most, unless the process stands still."""
GRIPPER = 1.0
"""[s] of the wall after the motion's end in which the gripper's answer is waited for."""


class MotionRun(WatchedRun):
    """Sends a trajectory, watches it, commands the gripper, and stops it when it must.

    Everything happens in the supervision's thread (`whole` is awaited there) but for `cancel` and
    `abandon`, which may come at any time from any thread.

    feedback      called with each feedback message, from the supervision's thread
    on_abandoned  called with the Report of a motion that the watchdog stopped
    """

    def __init__(
        self,
        node: Supervision,
        watch: Watch,
        feedback: Callable[[Any], None],
        on_abandoned: Callable[[Report], None],
    ) -> None:
        super().__init__(node)
        self._watch, self._feedback = watch, feedback
        self._on_abandoned = on_abandoned
        self._gripper = node.gripper
        self._supervisor: Supervisor | None = None
        self._canceled = self._abandoned = ""
        self._under_way = False  # it may have been sent
        self._release_stamp: float | None = None
        self._release_lateness: float | None = None
        self._fine: Any = None
        self._fed_back_at = -np.inf
        self._logged = 0  # notes
        self._moved: tuple[int, float, Any] = (0, 0.0, None)  # ROS time [ns], wall's, joint state

    # --- from any thread ------------------------------------------------------------------------

    def cancel(self, why: str) -> None:
        """Give the motion up; the gripper is not opened any more, and nothing is sent any more."""
        self._canceled = self._canceled or why
        self._node.from_thread(self._halt, why)

    def abort(self, why: str) -> None:
        """Stop the motion because of a fault; from the supervision's thread."""
        if self._supervisor is not None:
            self._halt(why)

    def abandon(self, why: str) -> None:
        """Stop the controller without the supervision's thread, which does not answer."""
        self._abandoned = why
        text = f"{why}; nothing was sent"
        if self._under_way:
            self._output.stop_at_once(*self._rows())
            text = f"{why}: the controller is commanded to stop; look at the robot"
        self._on_abandoned(Report("ABORTED", text, release_stamp=self._release_stamp))

    # --- what is received -----------------------------------------------------------------------

    def on_joint_state(self, state: ReceivedState) -> None:
        """A new joint state."""
        if self._supervisor is not None:
            rows = state.position, state.velocity
            self._supervisor.on_joint_state(
                state.stamp, *rows, compare=not self._output.follows, received=state.received
            )

    def on_speed_scaling(self, stamp: int, scaling: float) -> None:
        """The speed scaling, 0 to 1."""
        if self._supervisor is not None:
            self._supervisor.on_speed_scaling(stamp, scaling)
            self._log_notes()

    def _on_feedback(self, message: FollowJointTrajectory.Feedback) -> None:
        if self._supervisor is None:
            return
        rows = convert_motion.feedback_rows(message, self._supervisor.trajectory.names)
        if rows is not None:
            now = self._node.now()
            stamp = rows[0] if abs(now - rows[0]) < SKEW else now
            self._supervisor.on_feedback(stamp, *rows[1:])

    @property
    def lag(self) -> float:
        """[s] by which the arm followed its commands; NaN where it is unknown."""
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
        self, trajectory: JointTrajectory, check: Callable[[JointTrajectory], object]
    ) -> Report:
        """Execute a checked trajectory; `check` is called again just before it is sent."""
        self._node.run = self
        try:
            return await self._sent(trajectory, check)
        finally:
            self._node.run = None

    async def _sent(
        self, trajectory: JointTrajectory, check: Callable[[JointTrajectory], object]
    ) -> Report:
        self._feedback(convert_motion.execute_feedback("waiting", 0.0, None))
        missing = await self._missing(trajectory)
        if missing and not self._canceled:
            why = f"{missing} was not found, or does not answer; nothing was sent"
            return Report("REFUSED", why)
        stale = await self._stale()
        if stale and not self._canceled:
            return Report("REFUSED", f"{stale}; nothing was sent")
        if not self._canceled:
            check(trajectory)
        self._under_way = True  # no await from here to the sending: who gives up later finds a goal
        if self._canceled or self._abandoned:
            self._under_way = False
            return Report("CANCELED", f"{self._canceled or self._abandoned}; nothing was sent")
        try:
            refused = await self._output.start(trajectory, self._on_feedback, self._halted)
            if refused is not None:
                return self._unless_canceled(refused)
            return await self._watched(trajectory)
        except Exception:
            await self._output.stop(self._current)  # nobody watches it any more
            raise

    def _unless_canceled(self, report: Report) -> Report:
        """A motion that was cancelled is reported so, whatever else stopped it."""
        if not self._canceled or report.code == "SUCCESS":
            return report
        return replace(report, code="CANCELED", message=f"{self._canceled}; {report.message}")

    async def _watched(self, trajectory: JointTrajectory) -> Report:
        begin = self._node.now()
        supervisor = Supervisor(trajectory, begin, self._watch)
        supervisor.on_speed_scaling(begin, self._node.scaling)
        self._supervisor = supervisor
        self._output.ended.add_done_callback(lambda _: self._tick())
        node = self._node
        timers = [
            node.create_timer(
                self._watch.period, self._tick, callback_group=node.together, clock=node.pace
            ),
            node.create_timer(0.5, self._check_clock, callback_group=node.together, clock=STEADY),
        ]
        try:
            why = await self._halted
            return await self._stopped(why) if why else self._unless_canceled(await self._ended())
        finally:
            for timer in [*timers, *([self._fine] if self._fine else [])]:
                node.destroy_timer(timer)

    async def _missing(self, trajectory: JointTrajectory) -> str:
        """Name of what is not there, "" if all is."""
        limit = self._node["server_timeout"]
        if not await self._output.is_there(limit, self._halted):
            return self._output.name
        opens = self._gripper is not None and trajectory.release is not None
        if opens and not await self._gripper.is_there(limit, self._halted):
            return self._gripper.name
        return ""

    async def _stopped(self, why: str) -> Report:
        """Stop the controller, because of a cancellation or a fault."""
        supervisor = self._supervisor
        at = supervisor.reached(self._node.now())
        answer = await self._output.stop(self._current)
        rest = await self._rest()
        code = "CANCELED" if self._canceled else "ABORTED"
        return self._report(code, [f"{why}: {answer}{rest} (at {at:.3f} s)"])

    def _expected(self, now: int) -> tuple[np.ndarray, np.ndarray] | None:
        return None if self._supervisor is None else self._supervisor.expected(now)

    async def _rest(self) -> str:
        return await self._at_rest("arm", self._watch.state_age, RESTS)

    async def _ended(self) -> Report:
        """The controller has ended it."""
        outcome: Outcome = self._output.ended.result()
        if not _well(outcome):
            how = "canceled from elsewhere: " if outcome.canceled else ""
            rest = await self._rest()
            return self._report("ABORTED", [f"{self._output.name}: {how}{outcome.text}{rest}"])
        away = self._supervisor.away_from_goal()
        if away:
            return self._report("ABORTED", [f"{self._output.name} ended it, but {away}"])
        if self._releases() and not self._supervisor.released:
            return self._report("ABORTED", ["the motion ended before its release"])
        refusal = await self._gripper_refusal()
        return self._report("ABORTED" if refusal else "SUCCESS", [refusal] if refusal else [])

    async def _gripper_refusal(self) -> str:
        """Why the gripper that was commanded to open may be closed; "" if it takes the command."""
        if not self._supervisor.released:
            return ""
        if await within(self._node, self._gripper.answer, GRIPPER):
            return self._gripper.answer.result()
        return f"{self._gripper.name} has not answered: whether the gripper opens is not known"

    def _releases(self) -> bool:
        return self._gripper is not None and self._supervisor.trajectory.release is not None

    def _report(self, code: str, reasons: list[str]) -> Report:
        supervisor = self._supervisor
        self._log_notes()
        if (
            supervisor.trajectory.release is not None
            and code == "SUCCESS"
            and self._gripper is None
        ):
            reasons = [*reasons, "the gripper was not opened: parameter gripper is none"]
        elif self._releases() and code != "SUCCESS":
            reasons = [
                *reasons,
                f"the gripper {'was commanded to open' if supervisor.released else 'stays closed'}",
            ]
        return Report(
            code,
            "; ".join([*reasons, *supervisor.notes]),
            tracking_error=None if np.isnan(supervisor.worst) else supervisor.worst,
            release_stamp=self._release_stamp,
            release_lateness=self._release_lateness,
            lateness=supervisor.latest,
        )

    # --- while it runs --------------------------------------------------------------------------

    def _look(self) -> None:
        """What is wrong, due, or to be reported now."""
        now, supervisor = self._node.now(), self._supervisor
        trouble = self._abandoned or supervisor.look(now)
        self._log_notes()
        if self._output.ended.done() and not self._release_is_near(now):
            self._halt("")
            return
        if trouble:
            self._halt(trouble)
            return
        if (
            not self._output.follows
            and supervisor.has_arrived(now)
            and not self._release_is_near(now)
        ):
            self._output.ended.set_result(Outcome(0, "arrived"))
            return
        self._watch_release(now)
        if (now - self._fed_back_at) / NANO >= 1.0 / self._node["feedback_rate"]:
            self._fed_back_at = now
            error = None if np.isnan(supervisor.tracking_error) else supervisor.tracking_error
            phase, time = supervisor.phase(now), supervisor.clock.at(now)
            self._feedback(convert_motion.execute_feedback(phase, time, error, supervisor.lateness))

    def _release_is_near(self, now: int) -> bool:
        """A release may lag behind the end of a motion that ended well."""
        ended = self._output.ended
        if not self._releases() or (ended.done() and not _well(ended.result())):
            return False
        return self._supervisor.until_release(now) < self._watch.lag + 0.1

    def _watch_release(self, now: int) -> None:
        """Command the gripper when it is time; between two ticks by a timer of its own."""
        left = self._supervisor.until_release(now)
        if left <= 0.0:
            self._let_go()
        elif left < self._watch.period and self._fine is None:
            self._fine = self._node.create_timer(
                left, self._on_fine, callback_group=self._node.together, clock=self._node.pace
            )

    def _on_fine(self) -> None:
        self._node.destroy_timer(self._fine)
        self._fine = None
        self._tick()

    def _let_go(self) -> None:
        """Open the gripper if all that is measured agrees with the plan; else stop the motion."""
        if self._gripper is None or self._canceled or self._node.catches_up():
            return
        begun = -QUICK
        while monotonic() - begun >= QUICK:  # again if this process stood still meanwhile
            begun, now = monotonic(), self._node.now()
            fault = self._supervisor.release_fault(now)
            if fault is None:
                return  # a joint state is awaited: the next check
            if fault:
                self._halt(fault)
                return
        self._gripper.open()
        now = self._node.now()
        late = max(-self._supervisor.until_release(now), 0.0)
        self._release_stamp, self._release_lateness = now / NANO, late
        self._supervisor.release()
        opened = (
            f"the gripper was commanded to open at {now / NANO:.3f} s, {1e3 * late:.0f} ms late"
        )
        self._node.get_logger().info(opened)
        if late > self._watch.release_lateness:  # the process stood still as it sent the command
            self._halt(f"{opened} (at most {1e3 * self._watch.release_lateness:.0f})")

    def _check_clock(self) -> None:
        """ROS time that stands: a pause, unless its publisher is gone or the arm moves on."""
        now, wall, last = self._node.now(), monotonic(), self._node.states.last
        if now != self._moved[0]:
            self._moved = (now, wall, last)
        elif wall - self._moved[1] > self._node["stall_timeout"] and (
            self._node.time_is_gone() or last is not self._moved[2]
        ):
            self._halt(f"ROS time stands still at {now / NANO:.3f} s")

    def _log_notes(self) -> None:
        for note in self._supervisor.notes[self._logged :]:
            self._node.get_logger().warning(note)
        self._logged = len(self._supervisor.notes)


def _well(outcome: Outcome) -> bool:
    return outcome.code == 0 and not outcome.canceled
