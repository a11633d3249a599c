"""One execution of the fault study: its faults at their instants, until it has ended."""

from __future__ import annotations

import heapq
import itertools
import re
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from diffsim_interfaces.action import Execute

from diffsim_ros.nodes import convert_motion
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.robots.command import NANO

from .faults_bench import Bench, read_line
from .faults_judge import LIMIT, Trace
from .faults_processes import Program
from .faults_record import FOREIGN, rows_since
from .faults_scenes import ENDS_CLIENT, ENDS_DRIVER, ENDS_ROBOT, Fault, Scene, smooth, unsafe

HUGE = 40_000
"""Points of a huge goal."""
LOOK = 0.25
"""[s] between checks of what is not reported."""
ANSWERED = 2.0
"""[s] in which an answer is there that was sent before a process ended."""
ENDING = (-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP)
"""Exit codes of a command that a signal ends after it has reported how it ended."""
ENDED = re.compile(r"\[driver\]: (?:goal \w+|topic): ([A-Z_]+) ?(.*)$")
COMMANDED = re.compile(r"gripper commanded at ([0-9.]+) s")


def execution(bench: Bench, scene: Scene, wall: bool) -> Trace:
    """Have a motion executed, with its faults, until the arm rests."""
    trace = bench.now_begins(scene, wall)
    run = Run(bench, scene, trace)
    run.whole()
    bench.collect(trace, run.client)
    return trace


class Run:
    """One execution: its schedule of faults, until it has ended."""

    def __init__(self, bench: Bench, scene: Scene, trace: Trace) -> None:
        self.bench, self.scene, self.trace = bench, scene, trace
        self.client: Program | None = None
        self._todo: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._handle: Any = None
        self._answers: list[Callable[[], None]] = []
        self._stopped, self._seconds = False, 0
        self._died: float | None = None

    def _at(self, when: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._todo, (when, next(self._order), do))

    def whole(self) -> None:
        """Send, corrupt, wait for the end, undo."""
        bench, trace = self.bench, self.trace
        trace.sent = time.monotonic_ns()
        if self.scene.process:
            path = bench.folder / "trajectory.yaml"
            self.client = bench.execute(self.scene, path)
            start = time.monotonic() + 0.5  # the command finds the driver first
        else:
            self._handle = bench.send(self.scene)
            bench.later(self._handle.add_done_callback, self._on_handle)
            start = time.monotonic()
        for fault in self.scene.faults:
            if getattr(self, f"_do_{_kind(fault.name)}", None):
                self._at(start + fault.at, lambda fault=fault: self._spoil(fault))
        end = time.monotonic() + LIMIT
        while not self._over():
            now = time.monotonic()
            if self._todo and self._todo[0][0] <= now:
                heapq.heappop(self._todo)[2]()
                continue
            if now > end:
                trace.troubles.append(f"it did not end within {LIMIT:g} s")
                bench.driver.signal(signal.SIGUSR1)
                break
            until = min(now + LOOK, self._todo[0][0] if self._todo else end)
            bench.until(self._over, until - now)
        self._undo()
        self._collect()

    def _spoil(self, fault: Fault) -> None:
        self.trace.at[fault.name] = time.monotonic_ns()
        getattr(self, f"_do_{_kind(fault.name)}")(fault)

    def _over(self) -> bool:
        """Whether this execution has ended, by every report to come."""
        trace, bench, now = self.trace, self.bench, time.monotonic()
        if bench.driver.code is not None:
            self._died = self._died or now
            killed = bench.driver.code == -signal.SIGKILL
            return trace.answered is not None or killed or now > self._died + ANSWERED
        if self.client is None:
            return trace.answered is not None
        if self.client.code is None:
            return False
        self._died = self._died or now
        if self.client.code != -signal.SIGKILL or self._logged() is not None:
            return True
        return bench.idle(self._died + ANSWERED)  # it had sent nothing yet

    def _on_handle(self, future: Any) -> None:
        future.result().get_result_async().add_done_callback(self._on_result)

    def _on_result(self, future: Any) -> None:
        with self.bench.news:
            self.trace.answered = time.monotonic_ns()
            self.trace.report = convert_motion.report(future.result().result)
            self.bench.news.notify_all()

    def _logged(self) -> Report | None:
        """How it ended, by the driver's log."""
        for line in self.bench.driver.new_lines():
            read_line(self.trace, "driver", line)
            found = ENDED.search(line)
            if found and found[1] != "BUSY":  # that is a second client's
                self.trace.report = Report(found[1], found[2])
                self.trace.answered = time.monotonic_ns()
        return self.trace.report

    def _undo(self) -> None:
        """What would keep the arm or the driver from its end is over."""
        bench = self.bench
        if self._stopped:
            bench.driver.signal(signal.SIGCONT)
        bench.robot.say({"do": "scaling", "value": 1.0})
        bench.robot.say({"do": "pause", "seconds": 0.0})

    def _collect(self) -> None:
        """Answers, exit codes."""
        bench, trace = self.bench, self.trace
        if self.client is not None:
            self._collect_client()
        for ask in self._answers:
            ask()
        ends = [name for name in ENDS_DRIVER if name in trace.at]
        if ends:
            bench.until(lambda: bench.driver.code is not None, 20.0)
            expected = -signal.SIGKILL if ends[0] == "driver_SIGKILL" else 0
            if bench.driver.code != expected:
                trace.troubles.append(f"{ends[0]}: the driver ended with {bench.driver.code}")
        for name in ENDS_ROBOT:
            if name in trace.at:
                bench.until(lambda: bench.robot.code is not None, 10.0)
                expected = -signal.SIGKILL if name == "controller_SIGKILL" else 0
                if bench.robot.code != expected:
                    trace.troubles.append(f"{name}: the robot ended with {bench.robot.code}")

    def _collect_client(self) -> None:
        """The command's exit code and its line must agree."""
        trace, client = self.trace, self.client
        bench = self.bench
        if client.code is None:  # the driver is gone
            client.signal(signal.SIGKILL)
            bench.until(lambda: client.code is not None, 5.0)
            return
        lines = client.new_lines()
        if client.code == -signal.SIGKILL or (client.code < 0 and not lines):
            return  # in its first moments any signal ends it
        for line in lines:
            read_line(trace, "execute", line)
        last = lines[-1] if lines else ""
        code, _, message = last.partition("; ")
        trace.answered = time.monotonic_ns()
        if last.startswith("execute: cancelled; nothing was sent"):
            code, message = "CANCELED", "nothing was sent"
        stamp = COMMANDED.search(message)
        trace.report = Report(code, message, release_stamp=float(stamp[1]) if stamp else None)
        if client.code not in (0 if code == "SUCCESS" else 3, *ENDING):
            trace.troubles.append(f"execute ended with {client.code}: {last}")

    # --- faults ---------------------------------------------------------------------------------

    def _do_cancel(self, fault: Fault) -> None:
        if self.client is not None:
            self.client.signal(signal.SIGINT)
            return
        cancel = []

        def ask(*_: Any) -> None:
            future = self._handle.result().cancel_goal_async()
            future.add_done_callback(answered)
            cancel.append(future)

        def answered(future: Any) -> None:
            if future.result().goals_canceling:
                self.trace.canceled = time.monotonic_ns()
            else:
                self.trace.rejected = time.monotonic_ns()
            self.bench._tell()

        self.bench.later(self._handle.add_done_callback, ask)
        self._answers.append(lambda: self.bench.until(lambda: cancel and cancel[0].done(), 5.0))

    def _do_client(self, fault: Fault) -> None:
        self.client.signal(signal.Signals[fault.name.partition("_")[2]])

    def _do_driver(self, fault: Fault) -> None:
        self.bench.driver.signal(signal.Signals[fault.name.partition("_")[2]])

    def _do_controller(self, fault: Fault) -> None:
        self.bench.robot.signal(signal.Signals[fault.name.partition("_")[2]])

    def _do_driver_stopped(self, fault: Fault) -> None:
        driver, self._stopped = self.bench.driver, True
        driver.signal(signal.SIGSTOP)
        self._at(time.monotonic() + fault.more["lasts"], lambda: driver.signal(signal.SIGCONT))

    def _do_states(self, fault: Fault) -> None:
        robot, kind = self.bench.robot, fault.name.partition("_")[2]
        robot.say({"do": "states", "kind": kind, "value": fault.more["value"]})
        self._at(
            time.monotonic() + fault.more["lasts"],
            lambda: robot.say({"do": "states", "kind": "", "value": 0.0}),
        )

    def _do_scaling(self, fault: Fault) -> None:
        robot = self.bench.robot
        robot.say({"do": "scaling", "value": fault.more.get("value", 0.0)})
        if "lasts" in fault.more:
            self._at(
                time.monotonic() + fault.more["lasts"],
                lambda: robot.say({"do": "scaling", "value": 1.0}),
            )

    def _do_clock(self, fault: Fault) -> None:
        robot = self.bench.robot
        if "lasts" in fault.more:
            robot.say({"do": "pause", "seconds": fault.more["lasts"]})
        else:
            robot.say({"do": "clock", "by": round(fault.more["by"] * NANO)})

    def _do_replaced(self, fault: Fault) -> None:
        bench = self.bench
        rng = np.random.default_rng(fault.more["seed"])
        rows = rows_since(bench.folder / "rows.bin", bench.begin)
        here = rows["joints"][-1, 0] if len(rows) else np.array(bench.position)
        home = bench.arm.home
        reach = fault.more["reach"]
        end = np.clip(here + rng.uniform(-reach, reach, 6), home - 0.5, home + 0.5)
        motion = smooth(bench.arm, here, end, 0.8)
        motion = replace(motion, times=motion.times + 0.1)
        message = convert_motion.trajectory_message(motion)
        message.header.frame_id = FOREIGN
        if fault.name == "replaced_by_topic":
            self.bench.topic.publish(message)
            return
        goal = FollowJointTrajectory.Goal(trajectory=message)
        bench.later(bench.other.send_goal_async, goal)

    def _do_second_goal(self, fault: Fault) -> None:
        rng = np.random.default_rng(int(fault.at * 1e9))
        motion, _ = unsafe(rng, self.bench.arm, np.array(self.bench.position))
        self._second(convert_motion.execute_goal(motion), fault.name)

    def _do_huge_goals(self, fault: Fault) -> None:
        goal = Execute.Goal()
        message = convert_motion.trajectory_message(self.scene.motion)
        goal.trajectory.joint_names = message.joint_names
        goal.trajectory.points = message.points[:1] * HUGE
        for _ in range(2):
            self._second(goal, fault.name)

    def _second(self, goal: Execute.Goal, name: str) -> None:
        """A second client's goal, and its answer."""
        bench, trace = self.bench, self.trace

        def accepted(future: Any) -> None:
            future.result().get_result_async().add_done_callback(ended)

        def ended(future: Any) -> None:
            code = convert_motion.report(future.result().result).code
            trace.others.append((name, code))
            bench._tell()

        def send() -> None:
            bench.client.send_goal_async(goal).add_done_callback(accepted)

        self._seconds += 1
        bench.later(send)
        self._answers.append(lambda: self._answered(name))

    def _answered(self, name: str) -> None:
        bench = self.bench

        def over() -> bool:
            return bench.driver.code is not None or len(self.trace.others) >= self._seconds

        if not bench.until(over, 40.0):
            self.trace.troubles.append(f"{name}: no answer")


def _kind(name: str) -> str:
    """What a fault's method is called by."""
    known = ("client", "controller", "states", "scaling", "clock", "replaced")
    first = name.partition("_")[0]
    if name in ENDS_DRIVER:
        return "driver"
    if name in ENDS_CLIENT:
        return "client"
    return first if first in known else name
