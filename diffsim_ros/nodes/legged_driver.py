"""Node `legged_driver`: a plan of a legged robot is checked, and then carried out.

action  ~/walk          diffsim_interfaces/ExecuteLocomotion: feedback, can be cancelled
in      ~/plan          diffsim_interfaces/LocomotionPlan: the same, without an answer
        joint_states    sensor_msgs/JointState of the legs, with efforts where it has them
        imu             sensor_msgs/Imu: its tilt
out     CONTROLLER/follow_joint_trajectory (action), or CONTROLLER/joint_trajectory (topic; points:
        one point a message, as champ takes them)
        WHEELS/commands std_msgs/Float64MultiArray [rad/s] of wheels with motors
        ~/stance        diffsim_interfaces/Stance, as planned, with the phase
        /diagnostics    diagnostic_msgs/DiagnosticArray

A plan begins with a robot that stands, or continues the plan that runs. With `dry_run`, the
default, everything is checked and nothing is sent. A cancelled walk is brought to stand; after a
fault (a fall, lost joint states, a controller that does not follow) the joints are held where they
are.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from diffsim_interfaces.action import ExecuteLocomotion
from diffsim_interfaces.msg import LocomotionPlan
from rclpy.action import CancelResponse
from rclpy.serialization import deserialize_message
from rclpy.task import Future

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes import convert_locomotion as legged
from diffsim_ros.nodes.common import STREAM, Declared, run_node
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.nodes.driver import FRESH, LINGER, SWITCH
from diffsim_ros.nodes.goal_server import GoalServer
from diffsim_ros.nodes.jobs import explained, finish, goal_name
from diffsim_ros.nodes.legged_parameters import CONTROLLER, ROBOT, WHEELS, robot_of
from diffsim_ros.nodes.legged_supervision import LeggedSupervision
from diffsim_ros.nodes.managed import AUTOSTART, ManagedNode
from diffsim_ros.nodes.motion_job import MotionJob, reported
from diffsim_ros.nodes.motion_outputs import ANSWER, STEADY
from diffsim_ros.nodes.supervision import BEAT
from diffsim_ros.nodes.walk_run import FULL_SPEED, WalkRun, WalkWatch
from diffsim_ros.planning.locomotion.plan_check import (
    LeggedPlan,
    PlanRules,
    WalkCourse,
    body_of,
    check_continuation,
    check_plan,
)
from diffsim_ros.robots.blend import blended
from diffsim_ros.robots.start_check import check_start, check_state
from diffsim_ros.robots.trajectory_check import Rules

POINT, REST = 50, 200
"""Bytes of a message per joint and point, and per point: more than it has."""
ENDING = 10.0
"""[s] of the wall that the end of a walk is waited for as the driver is ended."""


class LeggedDriver(ManagedNode):
    """Takes plans; checks are made in threads, walks are watched by LeggedSupervision."""

    FIXED = tuple(
        "robot controller wheels imu output speed_scaling realtime_priority autostart".split()
    )
    STOPPING = ANSWER + ENDING
    PARAMETERS = (
        ROBOT,
        Declared("dry_run", True, "check only, send nothing"),
        CONTROLLER,
        Declared("output", "action", "how walks are sent; topic: nothing is answered; points: one "
                 "point a message, as champ takes them", choices=("action", "topic", "points")),
        WHEELS,
        Declared("imu", "imu", "topic of the tilt"),
        Declared("speed_scaling", "", "topic of the speed scaling; empty: full speed"),
        Declared("server_timeout", 10.0, "[s] to find robot and controller", 0.0, 600.0),
        Declared("start_tolerance", 0.02, "[rad] from the plan's start, without a blend", 0.0, 0.1),
        Declared("start_velocity", 0.2, "[rad/s] of joints that count as at rest", 0.0, 10.0),
        Declared("blend_reach", 0.5, "[rad] farthest start of a plan that is blended to", 0.0, 3.0),
        Declared("max_duration", 60.0, "[s] of a plan", 0.1, 3600.0),
        Declared("max_points", 10000, "of a plan", 2, 1000000),
        Declared("max_tilt", 0.5, "[rad] of the body, planned and measured", 0.01, 3.0),
        Declared("max_flight", 0.3, "[s] without a foot on the ground", 0.0, 10.0),
        Declared("max_base_speed", 2.0, "[m/s] of the body in a plan", 0.01, 100.0),
        Declared("max_wheel_change", 4.0, "[rad/s] of wheels between two points", 0.01, 1000.0),
        Declared("end_tolerance", 0.1, "[rad] of a plan's end from the standing pose", 1e-3, 1.0),
        Declared("continue_ahead", 0.05, "[s] ahead that a plan must be that continues", 0.0, 10.0),
        Declared("continue_position", 0.05, "[rad] by which it may jump", 0.0, 1.0),
        Declared("continue_velocity", 1.5, "[rad/s] by which it may jump", 0.0, 100.0),
        Declared("state_age", 0.25, "[s] after which a joint state is lost", 0.01, 60.0),
        Declared("tilt_age", 0.25, "[s] after which the tilt is unknown", 0.01, 60.0),
        Declared("path_tolerance", 0.5, "[rad] of joints from the plan", 1e-3, 10.0),
        Declared("goal_tolerance", 0.2, "[rad] of joints from the plan's end", 1e-3, 10.0),
        Declared("speed_share", 2.0, "share of the joints' speeds that stops a walk", 0.1, 100.0),
        Declared("effort_share", 1.0, "share of the joints' efforts that stops it", 0.01, 100.0),
        Declared("beyond", 0.06, "[s] for which speed or effort may be beyond that", 0.0, 10.0),
        Declared("stand_time", 0.5, "[s] at least in which a cancelled walk comes to stand",
                 0.05, 60.0),
        Declared("settle", 1.0, "[s] to be at the goal after the end", 0.05, 60.0),
        Declared("watchdog", 1.0, "[s] that the controller, supervision or requests may stand",
                 0.2, 60.0),
        Declared("realtime_priority", 20,
                 "of supervision (SCHED_FIFO), where the system permits it; 0: ordinary threads",
                 0, 99),
        Declared("rate", 100.0, "[Hz] of supervision, wheels, stance and points", 10.0, 1000.0),
        Declared("point_time", 0.02, "[s] ahead that single points are", 0.001, 1.0),
        Declared("feedback_rate", 10.0, "[Hz] of the action's feedback", 0.1, 100.0),
        Declared("period", 1.0, "[s] between two diagnostics", 0.05, 60.0),
        AUTOSTART,
    )  # fmt: skip

    def __init__(self, **options: Any) -> None:
        super().__init__("legged_driver", **options)
        self._job: MotionJob | None = None  # that is being checked
        self._walk: WalkRun | None = None  # that runs
        self._last, self._leaving = "no walk yet", False
        self._idle = threading.Event()
        self._idle.set()
        self.start()

    def set_up(self) -> None:
        """Load the robot, connect to it, offer topic and action."""
        self.robot = robot_of(self)
        self.beaten = monotonic()
        self.supervision = LeggedSupervision(self, self.robot, lambda: self.beaten)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", STREAM)
        # raw: a huge message is refused by its size, and parsed by the thread that checks it
        self.create_subscription(
            LocomotionPlan, "~/plan", self._on_topic, STREAM, callback_group=self.together, raw=True
        )
        self.create_timer(self["period"], self._diagnose, clock=STEADY)
        self.create_timer(BEAT, self._beat, clock=STEADY)
        self.create_timer(10 * BEAT, self._say_standing, clock=STEADY)
        self._action = GoalServer(
            self, ExecuteLocomotion, "~/walk", self._on_goal, cancel_callback=self._on_cancel,
            callback_group=self.together,
        )  # fmt: skip
        self.supervision.begin()

    # --- requests -------------------------------------------------------------------------------

    async def _on_goal(self, handle) -> ExecuteLocomotion.Result:
        name = goal_name(handle)
        with self.answering():
            plan = handle.request.plan
            count = len(plan.trajectory.points)
            work = self._execute(name, count, lambda: plan, handle.publish_feedback)
            report = await reported(handle, work)
            finish(handle, report.code)
            run = self._walk or self._run
            return legged.walk_result(report, math.nan if run is None else run.tilt)

    _run: WalkRun | None = None
    _topics = 0

    async def _on_topic(self, message: bytes) -> None:
        self._topics += 1  # a name of its own: what one continues is over, it is not
        count = len(message) // (POINT * len(self.robot.joint_names) + REST)
        plan = partial(deserialize_message, message, LocomotionPlan)
        await self._execute(f"topic {self._topics}", count, plan, lambda _: None)

    def _beat(self) -> None:
        self.beaten = monotonic()

    def _on_cancel(self, handle) -> CancelResponse:
        name = goal_name(handle)
        if self._job is not None and self._job.name == name and not self._job.ended:
            self._job.cancel("on request")
        elif self._walk is not None and name in (self._walk.goal, self._walk.joining):
            self._walk.cancel("on request")
        else:
            return CancelResponse.REJECT
        return CancelResponse.ACCEPT

    async def _execute(
        self, name: str, count: int, plan: Callable[[], LocomotionPlan], feedback: Callable
    ) -> Report:
        """Check, and unless it is a dry run carry out; always answers.

        count  of points: what is too large, or comes while another plan is checked, is not parsed
        """
        refused = self._not_now(count)
        if refused is not None:
            self.get_logger().warning(f"{name}: {refused.code} {refused.message}")
            return refused
        done = Future()
        running = self._walk
        run = running or WalkRun(
            self.supervision, self._watch(), partial(self.from_thread, feedback), name
        )
        self._job = job = MotionJob(name, run if running is None else _Unsent(), self["dry_run"])

        def end(report: Report) -> None:
            job.ended = True
            if self._job is job:
                self._job = None
            if not done.done():
                done.set_result(report)

        def ended(report: Report) -> None:
            self.from_thread(end, report)

        arguments = (job, plan, run, running is not None, ended)
        threading.Thread(target=self._work, args=arguments, name="check", daemon=True).start()
        report = await done
        self._last = f"{name}: {job.plan} {report.code} {report.message}".rstrip()
        if report.code in ("SUCCESS", "CANCELED"):
            self.get_logger().info(self._last)
        else:
            self.get_logger().error(self._last)
        return report

    def _not_now(self, count: int) -> Report | None:
        """Why a request is refused at once, None if it is not."""
        if self._leaving:
            return Report("CANCELED", "the driver is ended; nothing was sent")
        try:
            self.check_active()
        except InputError as error:
            return Report("REFUSED", str(error))
        if self._job is not None:
            text = f"a plan is being checked ({self._job.name}); nothing was sent"
            return Report("BUSY", text)
        if self._walk is None and self.supervision.run is not None:
            return Report("BUSY", "the last walk is being stopped; nothing was sent")
        if count > self["max_points"]:
            rule = f"2 to {self['max_points']} points"
            got = f"{count} points or more"
            return Report("REFUSED", str(InputError("trajectory", "points", got, rule)))
        return None

    def _work(
        self, job: MotionJob, plan: Callable[[], LocomotionPlan], run: WalkRun, running: bool,
        ended: Callable[[Report], None],
    ) -> None:  # fmt: skip
        """In a thread of its own: check, then pass it to the supervision."""
        try:
            given = legged.plan_of(plan())
            job.plan = given.name
            course, check = self._prepared(job, given, run if running else None)
            if job.dry or self["dry_run"]:
                size = f"{len(course.trajectory.times)} points, {course.duration:.3f} s"
                text = f"dry run: {size}, nothing was sent"
                ended(Report("SUCCESS", text, dry_run=True))
                return
            job.go_on()
        except Exception as error:  # whoever waits must know
            if job.why:
                ended(Report("CANCELED", f"{job.why}; nothing was sent"))
            else:
                ended(Report(*explained(error, "REFUSED")))
            return
        self.from_thread(self._begin, job, course, check, run, running, ended)

    def _begin(
        self, job: MotionJob, course: WalkCourse, check: Callable, run: WalkRun, running: bool,
        ended: Callable[[Report], None],
    ) -> None:  # fmt: skip
        """Hand a checked course to the supervision; from now on the run is what is cancelled."""
        if job.why:
            ended(Report("CANCELED", f"{job.why}; nothing was sent"))
            return
        self._job = None if self._job is job else self._job

        def over(report: Report) -> None:
            if self._walk is run and run.goal == job.name:
                self.from_thread(self._forget, run)
            ended(report)

        if running:
            if self._walk is not run:
                ended(Report("REFUSED", "the plan that it continues has ended; nothing was sent"))
            elif run.joining:
                text = f"another plan is being sent ({run.joining}); nothing was sent"
                ended(Report("BUSY", text))
            else:
                run.joining = job.name
                self.supervision.do(run.go_on(course, self._to_send(check), over), lambda *_: None)
            return
        self._walk = self._run = run
        self._idle.clear()
        whole = run.whole(course, partial(self._to_send(check), course), over)
        self.supervision.do(whole, lambda *_: self.from_thread(self._finished))

    def _to_send(self, check: Callable[[WalkCourse], None]) -> Callable[[WalkCourse], None]:
        """The check, and that the course is still to be sent."""

        def both(course: WalkCourse) -> None:
            self.check_not_dry()
            check(course)

        return both

    def _forget(self, run: WalkRun) -> None:
        if self._walk is run:
            self._walk = None

    def _finished(self) -> None:
        self._walk = None
        self._idle.set()

    # --- checks ---------------------------------------------------------------------------------

    def _prepared(
        self, job: MotionJob, plan: LeggedPlan, run: WalkRun | None
    ) -> tuple[WalkCourse, Callable[[WalkCourse], None]]:
        """The course that is safe to send now, and its check at the last moment.

        Raises InputError, Canceled.
        """
        rules = self._rules()
        course = check_plan(plan, self.robot, rules)
        job.go_on()
        if run is not None or course.continues:
            self._check_continuation(course, run, rules)
            return course, partial(self._check_continuation, run=run, rules=rules)
        states, now = self.supervision.states, self.supervision.now
        if job.waited(lambda: states.last is not None, self["server_timeout"]):
            job.waited(lambda: states.is_fresh(now), max(self["state_age"], FRESH))
        job.waited(lambda: self.supervision.tilt_age <= self["tilt_age"], FRESH)
        job.waited(lambda: states.rests(rules.motion.start_velocity), self["settle"]
                   if states.is_fresh(now) else 0.0)  # fmt: skip
        start = states.present(now)
        body = body_of(self.robot)
        check_state(course.trajectory.names, body.limits, start, rules.motion)
        position, _ = start.rows(course.trajectory.names)
        gap = float(np.abs(course.trajectory.positions[0] - position).max())
        if gap > rules.motion.start_tolerance:
            reach = self["blend_reach"]
            whole = blended(course.trajectory, body, start, reach=reach)
            course = course.later(whole.duration - course.duration, position)
        self._check_begin(course)
        return course, self._check_begin

    def _check_begin(self, course: WalkCourse) -> None:
        """What may change until it is sent: where the robot is, and how it stands."""
        self.check_active()
        node = self.supervision
        node.check_sources()
        if not node.scaling >= FULL_SPEED:
            rule = "1: a robot that is slowed down in mid-stride falls"
            raise InputError("robot", "speed scaling", node.scaling, rule)
        if not node.tilt_age <= self["tilt_age"]:
            got = "none" if math.isinf(node.tilt_age) else f"{node.tilt_age:.2f} s old"
            rule = f"at most {self['tilt_age']:g} s old"
            raise InputError("robot", "tilt", got, rule, f"does {self['imu']} have an orientation?")
        if node.tilt > self["max_tilt"]:
            raise InputError("robot", "tilt", node.tilt, f"at most {self['max_tilt']:g} rad")
        rules = self._rules().motion
        check_start(course.trajectory, body_of(self.robot), node.states.present(node.now), rules)

    def _check_continuation(
        self, course: WalkCourse, run: WalkRun | None, rules: PlanRules
    ) -> None:  # fmt: skip
        self.check_active()
        found = None if run is None else run.running()
        running, time = (None, 0.0) if found is None else found
        check_continuation(course, running, time, self["continue_ahead"], rules)

    def _rules(self) -> PlanRules:
        motion = Rules(
            start_tolerance=self["start_tolerance"], start_velocity=self["start_velocity"],
            state_age=self["state_age"], max_points=self["max_points"],
            max_duration=self["max_duration"],
        )  # fmt: skip
        return PlanRules(
            motion, self["max_tilt"], flight=self["max_flight"], end=self["end_tolerance"],
            wheel_change=self["max_wheel_change"], speed=self["max_base_speed"],
            jump=self["continue_position"], kick=self["continue_velocity"],
        )  # fmt: skip

    def _watch(self) -> WalkWatch:
        keys = ("state_age tilt_age max_tilt path_tolerance goal_tolerance settle speed_share "
                "effort_share beyond stand_time").split()  # fmt: skip
        return WalkWatch(*(self[key] for key in keys), 1.0 / self["rate"], self["point_time"])

    # --- diagnostics, end -----------------------------------------------------------------------

    def _say_standing(self) -> None:
        """Between walks nobody else says the stance."""
        if self._walk is None:
            self.supervision.say_standing()

    def _diagnose(self) -> None:
        node = self.supervision
        age = node.states.age(node.now)
        level, text = "ok", "dry run: nothing is sent" if self["dry_run"] else "ready"
        if not self.active:
            text = "inactive: nothing is accepted"
        if self._walk is not None:
            text = f"{self._walk.goal}: {self._walk.shown()}"
        if not 0.0 <= age <= self["state_age"]:
            level, text = "warn", f"{text}; no joint states" if math.isnan(age) else text
        values = {
            "controller": node.output.name, "joint_state_age": "none" if math.isnan(age) else age,
            "tilt": node.tilt, "last": self._last,
        }  # fmt: skip
        name, now = self.robot.name, node.now()
        self._diagnostics.publish(convert.diagnostics(self, level, text, values, name, now))

    def close(self) -> None:
        """Bring a walking robot to stand, before leaving."""
        busy = self._walk is not None
        self.from_thread(self._cancel_for_good)
        self.flush()
        self._idle.wait(ANSWER + ENDING)
        self.flush()
        if busy:  # what is sent is lost where its process ends before the client has taken it
            threading.Event().wait(LINGER)

    def _cancel_for_good(self) -> None:
        self._leaving = True
        self.give_up("the driver is ended")

    def give_up(self, why: str) -> None:
        """Cancel the plan that is checked, and bring a walking robot to stand."""
        if self._job is not None:
            self._job.cancel(why)
        if self._walk is not None:
            self._walk.cancel(why)


class _Unsent:
    """In the place of a run for a plan that is still checked, and continues one that runs."""

    def cancel(self, _: str) -> None:
        """The walk that runs is another goal's."""

    def shown(self) -> str:
        """Nothing of it runs."""
        return "being checked"


def main(arguments: list[str] | None = None) -> int:
    """Console script `legged_driver`."""
    sys.setswitchinterval(SWITCH)
    return run_node(LeggedDriver, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
