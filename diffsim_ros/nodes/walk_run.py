"""One walk of the legged driver, from its sending through all that continue it to its end."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from rclpy.task import Future

from diffsim_ros.nodes import convert_locomotion as legged
from diffsim_ros.nodes import convert_motion
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.nodes.motion_outputs import PointOutput, within
from diffsim_ros.nodes.watched_run import WatchedRun
from diffsim_ros.planning.locomotion.plan_check import WalkCourse, check_junction, path_to_stand
from diffsim_ros.robots.command import NANO
from diffsim_ros.robots.joint_states import ReceivedState
from diffsim_ros.robots.trajectory import JointTrajectory

if TYPE_CHECKING:
    from diffsim_ros.nodes.legged_supervision import LeggedSupervision

LOOK = 0.02
"""[s] of the wall between two checks of a condition that is waited for."""
STEADY_SHARE = 0.5
"""Share of the joints' speeds at which a robot is brought to stand."""
FULL_SPEED = 0.99
"""Speed scaling below which a robot is slowed down."""
SETTLED = 0.15
"""[rad or m] from the standing pose within which a robot that was stopped stands."""
OTHER, AROUND, STEP = 0.1, 0.25, 0.01
"""[rad or m] from the plan, at no time within AROUND [s] (in steps of STEP) nearer, at which a
controller runs another trajectory."""
LEAP = 0.1
"""[s] by which a clock of real time may be ahead of the time that has passed between two looks."""

OnReport = Callable[[Report], None]


@dataclass(frozen=True)
class WalkWatch:
    """What stops a walk.

    state_age, tilt_age [s] of the last joint state, of the last tilt;  tilt [rad]
    path [rad or m] of joints from the plan;  goal: at the end;  settle [s] after it
    speed, effort  shares of the joints' limits, beyond for `beyond` [s]
    stand [s] in which a robot is brought to stand at least;  period [s] of the watch
    points [s]     ahead that single points are
    """

    state_age: float
    tilt_age: float
    tilt: float
    path: float
    goal: float
    settle: float
    speed: float
    effort: float
    beyond: float
    stand: float
    period: float
    points: float


class WalkRun(WatchedRun):
    """Sends a walk, watches the robot, goes over to walks that continue it, stops it when it must.

    Everything happens in the supervision's thread but for `cancel` and `abandon`.
    feedback  called with each feedback message
    goal      whose plan runs;  joining: whose plan is being sent to continue it, "": none is
    worst     [rad or m] largest distance of a joint from the plan;  tilt [rad] largest
    """

    def __init__(
        self, node: LeggedSupervision, watch: WalkWatch, feedback: Callable[[Any], None], goal: str
    ) -> None:
        super().__init__(node)
        self.goal, self.joining = goal, ""
        self._standing: Future | None = None  # what is wrong as it is brought to stand
        self._node: LeggedSupervision = node
        self._watch, self._feedback = watch, feedback
        self._canceled, self._under_way, self._fed_back = "", False, -math.inf
        self._abandoned = ""
        self._looked: tuple[int, float] | None = None  # latest ROS time [ns], and the wall's [s]
        self._course: WalkCourse | None = None
        self._begin, self._shift = 0, 0.0
        # Of plans before the last one: name, its time less the course's, the course's at its end.
        self._before: list[tuple[str, float, float]] = []
        self._report: OnReport = lambda report: None
        self._since: dict[str, int] = {}  # a joint's excess -> ROS time [ns] when it began
        self._error, self.worst, self.tilt = math.nan, math.nan, math.nan
        self._speeds = np.zeros(len(node.wheel_names))
        self._others = 0  # feedback in a row that is of another trajectory

    # --- from any thread ------------------------------------------------------------------------

    def cancel(self, why: str) -> None:
        """Bring the robot to stand, and give the walk up."""
        if not self._canceled:
            self._canceled = why
            self._node.from_thread(self._halt, why)

    def abort(self, why: str) -> None:
        """Stop it because of a fault; from the supervision's thread."""
        self._halt(why)

    def _halt(self, why: str) -> None:
        """As of any run; a fault as it is brought to stand ends that."""
        if self._standing is None or why == self._canceled:
            super()._halt(why)
        elif not self._standing.done():
            self._standing.set_result(why)

    def abandon(self, why: str) -> None:
        """Stop the controller without the supervision's thread, which does not answer."""
        self._abandoned = why  # should the thread go on again
        text = f"{why}; nothing was sent"
        if self._under_way:
            self._node.roll(0 * self._speeds)
            self._output.stop_at_once(*self._rows())
            text = f"{why}: the controller is commanded to stop; look at the robot"
        self._report(Report("ABORTED", text))

    def on_joint_state(self, state: ReceivedState) -> None:
        """A new joint state: distance from the plan, speeds, efforts."""
        if not self._is_watched:
            return
        time = (state.stamp - self._begin) / NANO
        q, _, _ = self._course.trajectory.at(time)
        away = np.abs(state.position - q)
        k = int(np.argmax(away))
        self._error = float(away[k])
        self.worst = float(np.nanmax([self.worst, self._error]))
        names, limits = self._course.trajectory.names, self._node.robot
        if away[k] > self._watch.path:
            text = f"joint {names[k]} is {away[k]:.3g} rad from the plan at {time:.2f} s"
            self._halt(f"{text} (at most {self._watch.path:g}): does the controller follow?")
            return
        efforts = [abs(self._node.efforts.get(name, 0.0)) for name in names]
        most = self._watch.effort * limits.robot.limits["effort"]
        checks = (
            ("speed", np.abs(state.velocity), self._watch.speed * limits.speed, "rad/s"),
            ("torque", np.nan_to_num(efforts), np.where(most > 0.0, most, np.inf), "N m"),
        )
        for what, values, bound, unit in checks:
            for name, value, limit in zip(names, values, bound, strict=True):
                self._look_beyond(f"{what} of joint {name}", float(value), limit, unit, state.stamp)

    @property
    def _is_watched(self) -> bool:
        """Whether the course should be what the robot does."""
        stopped = self._halted.done() and self._standing is None
        return self._course is not None and self._under_way and not stopped

    def _on_feedback(self, message: FollowJointTrajectory.Feedback) -> None:
        """The controller's feedback shows whose trajectory it runs."""
        if not self._is_watched:
            return
        own, now = self._course.trajectory, self._node.now()
        rows = convert_motion.feedback_rows(message, own.names)
        if rows is None:
            return
        stamp, desired, _ = rows
        time = ((stamp if abs(now - stamp) < NANO else now) - self._begin) / NANO
        q, _, _ = own.at(np.arange(time - AROUND, time + AROUND, STEP))
        away = float(np.abs(q - desired).max(axis=1).min())
        self._others = self._others + 1 if away > OTHER else 0
        if self._others > 1:  # one may be from before a plan was sent that continues
            name = self._output.name
            self._halt(f"{name} runs another trajectory: it commands {away:.3g} rad from the plan")

    def _look_beyond(self, what: str, value: float, limit: float, unit: str, stamp: int) -> None:
        if not value > limit:
            self._since.pop(what, None)
        elif (stamp - self._since.setdefault(what, stamp)) / NANO >= self._watch.beyond:
            self._halt(f"{what} is {value:.3g} {unit} for {self._watch.beyond:g} s "
                       f"(at most {limit:.3g})")  # fmt: skip

    def on_speed_scaling(self, now: int, scaling: float) -> None:
        """A robot that is slowed down in mid-stride falls."""
        if scaling < FULL_SPEED and self._standing is None:
            self._halt(f"the speed scaling is {100 * scaling:.0f} % (a walk needs 100)")

    # --- the plan's time ------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """[s] of the course that is sent."""
        return (self._node.now() - self._begin) / NANO

    def present(self) -> tuple[str, float]:
        """Name of the plan that runs now, and its own time [s]."""
        time = self.time
        for name, more, end in self._before:
            if time < end:
                return name, time + more
        return (self._course.name if self._course else ""), time - self._shift

    def running(self) -> tuple[WalkCourse, float] | None:
        """The plan that was sent last, in its own times, and its time [s]; None: it is over."""
        if self._own is None or self._halted.done() or not self._under_way:
            return None
        return self._own, self.time - self._shift

    _own: WalkCourse | None = None

    def shown(self) -> str:
        """Where it is, in words."""
        if not self._under_way:
            return "waiting for the controller"
        name, time = self.present()
        return f"{name}, {time:.2f} s"

    # --- from beginning to end ------------------------------------------------------------------

    async def whole(
        self, course: WalkCourse, check: Callable[[], object], on_report: OnReport
    ) -> Report:
        """Carry out a checked course, and what continues it; `check` is called at the last moment.

        The Report is that of the last plan, which `on_report` gets as well.
        """
        self._node.run, self._report = self, on_report
        report = Report("INTERNAL", "the walk ended without a report")
        try:
            report = await self._sent(course, check)
        except Exception as error:
            if self._under_way:
                await self._output.stop(self._current)
            self._report(Report("REFUSED" if not self._under_way else "ABORTED", str(error)))
            raise
        finally:
            self._node.run = None
            self._node.roll(0 * self._speeds)
            self._node.say_standing()
        self._report(report)
        return report

    async def _sent(self, course: WalkCourse, check: Callable[[], object]) -> Report:
        if not await self._output.is_there(self._node["server_timeout"], self._halted):
            if self._canceled:
                return Report("CANCELED", f"{self._canceled}; nothing was sent")
            name = self._output.name
            text = f"{name} was not found, or does not answer; nothing was sent"
            return Report("REFUSED", text)
        stale = await self._stale()
        if stale and not self._halted.done():
            return Report("REFUSED", f"{stale}; nothing was sent")
        check()
        self._course, self._own, self._shift = course, course.plain or course, course.lead
        self._begin = self._node.now()
        self._under_way = True  # no await from here to the sending: who gives up later finds a walk
        given_up = self._canceled or self._abandoned
        if given_up or self._halted.done():
            self._under_way = False
            return Report("CANCELED", f"{given_up or self._halted.result()}; nothing was sent")
        refused = await self._output.start(course.trajectory, self._on_feedback, self._halted)
        if refused is not None:
            return refused
        timer = self._node.create_timer(
            self._watch.period, self._tick, callback_group=self._node.together,
            clock=self._node.pace,
        )  # fmt: skip
        try:
            why = await self._halted
            return await self._stopped(why) if why else self._ended()
        finally:
            self._node.destroy_timer(timer)

    async def go_on(
        self, course: WalkCourse, check: Callable[[WalkCourse], object], on_report: OnReport
    ) -> None:
        """Go over to a course that continues the one that runs; its report goes to `on_report`.

        Of the goal that is `joining`.  Where it cannot be sent, or the controller does not take it,
        the walk before goes on to its own end: every plan ends with a robot that stands.
        """
        try:
            check(course)
            time = self.time
            shifted = replace(course, since=course.since + self._shift)
            whole, shift = self._course.followed_by(shifted, time)
            check_junction(whole, course.trajectory.times[0] + shift, self._node.robot)
        except Exception as error:
            self.joining = ""
            refused = Report("REFUSED", f"{error}; the walk before goes on")
            canceled = Report("CANCELED", f"{self._canceled}; nothing was sent")
            on_report(canceled if self._canceled else refused)
            return
        walk = self._course, self._own, self._shift, self._begin, self._before, self._report
        before, ending = walk[-1], [*self._before, (self._course.name, -self._shift, shifted.since)]
        self._before = [(name, more + time, end - time) for name, more, end in ending if end > time]
        self._course, self._own, self._shift = whole, course, shift
        self._begin = self._node.now()
        self._report = lambda report: (before(report), on_report(report))  # whose it is, is open
        try:  # whoever cancels it meanwhile waits for the answer: `_stand` would be cancelled too
            refused = await self._output.start(whole.trajectory, self._on_feedback, Future())
        except Exception as error:  # what runs may be neither the walk before nor this one
            traceback.print_exc()
            self._halt(f"a defect of the driver: {type(error).__name__}: {error}")
            return
        finally:
            goal, self.joining = self.joining, ""
        if refused is None:
            self.goal, self._report = goal, on_report
            before(Report("CANCELED", f"continued by {course.name}", tracking_error=self._figure))
        elif refused.code == "REFUSED":
            *kept, self._report = walk
            self._course, self._own, self._shift, self._begin, self._before = kept
            text = f"{refused.message}; the walk before goes on to its end"
            on_report(Report("REFUSED", text))
        else:  # nobody knows what it does
            self._halt(f"the controller did not take {course.name}: {refused.message}")

    @property
    def _figure(self) -> float | None:
        return None if math.isnan(self.worst) else self.worst

    def _ended(self) -> Report:
        """The controller has ended it."""
        outcome = self._output.ended.result()
        if outcome.code or outcome.canceled:
            how = "canceled from elsewhere: " if outcome.canceled else ""
            text = f"{self._output.name}: {how}{outcome.text}"
            return Report("ABORTED", text, tracking_error=self._figure)
        away = self._from(self._own.trajectory.positions[-1])
        if not away <= self._watch.goal:
            text = f"it ended {away:.3g} rad from its goal (at most {self._watch.goal:g})"
            return Report("ABORTED", text, tracking_error=self._figure)
        return Report("SUCCESS", "", tracking_error=self._figure)

    def _from(self, position: np.ndarray) -> float:
        last = self._node.states.last
        return math.inf if last is None else float(np.abs(last.position - position).max())

    async def _stopped(self, why: str) -> Report:
        """Stop it: by standing where it was cancelled, by holding still after a fault."""
        name, time = self.present()
        at = f"(at {time:.2f} s of {name})"
        code = "CANCELED" if self._canceled else "ABORTED"
        while why == self._canceled and self.joining and not self._fault():
            await within(self._node, Future(), LOOK)
        fault = self._fault()
        if why == self._canceled and not fault:
            stands = await self._stand()
            return Report(code, f"{why}: {stands} {at}", tracking_error=self._figure)
        self._node.roll(0 * self._speeds)
        answer = await self._output.stop(self._current)
        self._node.roll(0 * self._speeds)
        more = f"; {fault}" if self._canceled and fault else ""
        rest = await self._rest()
        text = f"{why}: {answer}{rest}{more} {at}"
        return Report(code, text, tracking_error=self._figure)

    async def _rest(self) -> str:
        watch, node = self._watch, self._node
        return await self._at_rest("robot", watch.state_age, node["start_velocity"])

    async def _stand(self) -> str:
        """From where the joints are planned to be to the standing pose, watched as a walk is."""
        node, robot, begun = self._node, self._node.robot, self._node.now()
        position, velocity = self._expected(begun)  # what is commanded: no jump from there
        stand = path_to_stand(robot, position, velocity, self._watch.stand, STEADY_SHARE)
        over, speeds, self._standing = stand.duration, self._speeds, Future()
        self._course, self._begin = replace(self._course, trajectory=stand), begun
        self._since.clear()
        refused = await self._output.start(stand, self._on_feedback, Future())
        if refused is not None:
            return f"{refused.message}; {await self._output.stop(self._current)}"
        end = monotonic() + (over + self._watch.settle) * 20.0  # simulated time may be slow
        while (past := (node.now() - begun) / NANO) < over + self._watch.settle:
            node.roll(speeds * min(max(1.0 - past / over, 0.0), 1.0))
            self._send_point(stand, past)
            fault = self._standing.result() if self._standing.done() else self._fault()
            if fault or monotonic() > end:
                answer = await self._output.stop(self._current)
                fault = fault or "time stood still"
                return f"as it was brought to stand, {fault}: {answer}{await self._rest()}"
            if past > over and self._from(robot.stance) <= SETTLED:
                return "it stands"
            await within(node, self._standing, LOOK)
        return f"it was to stand, and is {self._from(robot.stance):.3g} rad from that"

    def _expected(self, now: int) -> tuple[np.ndarray, np.ndarray] | None:
        if self._course is None:
            return None
        latest = now if self._looked is None else max(now, self._looked[0])
        return self._course.trajectory.at((latest - self._begin) / NANO)[:2]

    # --- while it runs --------------------------------------------------------------------------

    def _fault(self) -> str:
        """What is wrong with the robot now, "" if nothing is."""
        node, watch = self._node, self._watch
        if self._abandoned or (set_ := self._clock_set()):
            return self._abandoned or set_
        age = node.states.age(node.now)
        if not age <= watch.state_age:
            got = "there are no joint states" if math.isnan(age) else f"{age:.2f} s old"
            return f"joint states are lost: the last one is {got} (at most {watch.state_age:g})"
        if node.tilt_age > watch.tilt_age:
            return f"the tilt is unknown for {node.tilt_age:.2f} s (at most {watch.tilt_age:g})"
        if node.tilt > watch.tilt:
            return f"the robot falls: its tilt is {node.tilt:.3g} rad (at most {watch.tilt:g})"
        return ""

    def _clock_set(self) -> str:
        """How the clock was set since the last look, "" if it was not: the plan's time is by it."""
        now, wall = self._node.now(), monotonic()
        latest, before = self._looked or (now, wall)
        if now < latest:
            return f"the clock was set back by {(latest - now) / NANO:.3g} s"
        self._looked = now, wall
        ahead = (now - latest) / NANO - (wall - before)
        if ahead > LEAP and not self._node.simulated:
            return f"the clock was set ahead by {ahead:.3g} s"
        return ""

    def _look(self) -> None:
        node, time = self._node, self.time
        self.tilt = float(np.nanmax([self.tilt, node.tilt]))
        if fault := self._fault():
            self._halt(fault)
            return
        self._speeds = self._course.wheels_at(time)
        node.roll(self._speeds)
        self._send_point(self._course.trajectory, time)
        contact, phase = self._course.stance_at(time)
        name, own = self.present()
        node.say_stance(name, "walking", own, contact, phase)
        if self._output.ended.done():
            self._halt("")
        elif time > self._course.duration + self._watch.settle:
            self._over()
        if time - self._fed_back >= 1.0 / node["feedback_rate"] or time < self._fed_back:
            self._fed_back = time
            self._feedback(legged.walk_feedback("walking", own, self._error, node.tilt))

    def _over(self) -> None:
        """The time is over: by its topic the joints show whether it succeeded."""
        from diffsim_ros.robots.controller import Outcome

        if self._output.follows:
            self._halt(f"{self._output.name} has not ended it {self._watch.settle:g} s after "
                       "its end")  # fmt: skip
        else:
            self._output.ended.set_result(Outcome(0, "arrived"))

    def _send_point(self, trajectory: JointTrajectory, time: float) -> None:
        if isinstance(self._output, PointOutput):
            ahead = self._watch.points
            self._output.point(trajectory.names, trajectory.at(time + ahead)[0], ahead)
