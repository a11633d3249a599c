"""Robot, driver and clients of the fault study in one ROS domain, and one execution with faults."""

from __future__ import annotations

import heapq
import itertools
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from action_msgs.srv import CancelGoal
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray
from diffsim_interfaces.action import Execute
from rclpy.action import ActionClient
from rclpy.signals import SignalHandlerOptions
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage

from diffsim_ros.nodes import convert_motion
from diffsim_ros.nodes.common import STREAM, Spinner
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.nodes.motion_outputs import new_name
from diffsim_ros.robots.command import NANO

from .faults_judge import LIMIT, Seen
from .faults_processes import BAD, Pool, Program
from .faults_record import FOREIGN, rows_since
from .faults_scenes import ENDS_CLIENT, ENDS_DRIVER, ENDS_ROBOT, Fault, Scene, smooth, ur5

CONTROLLER = "/scaled_joint_trajectory_controller"
LEAD = 0.05
ENDING = (-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP)
"""Exit codes of a command that a signal ends after it has said how it ended."""
START = 60.0
"""[s] in which a process on a busy machine is up."""
HUGE = 40_000
DOUBT = 1.1
"""[s] for which the driver doubts a robot whose states contradicted each other, and some."""
LOOK = 0.25
"""[s] after which is looked again what nobody tells of."""
ANSWERED = 2.0
"""[s] in which an answer is there that was sent before a process ended."""
DRIVER_GIVEN = {
    "dry_run": False, "lead": LEAD, "server_timeout": 2.0, "stop_timeout": 0.8, "settle": 1.0,
    "stall_timeout": 3.0, "period": 0.1,
}  # fmt: skip
"""Parameters of the driver in every execution."""
ENDED = re.compile(r"\[driver\]: (?:goal \w+|topic): ([A-Z_]+) ?(.*)$")
TOLD = re.compile(r"gripper told at ([0-9.]+) s")


class Failed(RuntimeError):
    """The bench itself does not work."""


class Bench:
    """One robot, one driver and whoever wants something of them.

    arm  the UR5;  breaks  names of faults_breaks, for every driver
    """

    def __init__(self, folder: Path, rng: np.random.Generator, breaks: tuple[str, ...] = ()):
        self.folder, self._rng, self._breaks, self.arm = folder, rng, breaks, ur5()
        self._news = threading.Condition()
        self._tokens = itertools.count(1)
        self.events: list[dict] = []
        reading, self._writing = os.pipe()
        threading.Thread(target=self._listen, args=(reading,), daemon=True).start()
        self._pool = Pool(folder, self._tell, self._writing)
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node("referee")
        self._client = ActionClient(self.node, Execute, "/driver/execute")
        self._probe = self.node.create_client(CancelGoal, "/driver/execute/_action/cancel_goal")
        name = f"{CONTROLLER}/follow_joint_trajectory"
        self._other = ActionClient(self.node, FollowJointTrajectory, name)
        self._topic = self.node.create_publisher(
            TrajectoryMessage, f"{CONTROLLER}/joint_trajectory", STREAM
        )
        self._other_probe = self.node.create_client(CancelGoal, f"{name}/_action/cancel_goal")
        self.said: tuple[float, Any] | None = None
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._spinner = Spinner(self.node)
        self.driver: Program | None = None
        self.robot: Program | None = None
        self.given: dict[str, Any] = {}
        self._begin, self._doubt = 0, 0.0
        self.position, self._time = self.arm.home, 10 * NANO

    # --- news -----------------------------------------------------------------------------------

    def _tell(self) -> None:
        with self._news:
            self._news.notify_all()

    def _listen(self, reading: int) -> None:
        with os.fdopen(reading) as file:
            for line in file:
                with self._news:
                    self.events.append(json.loads(line))
                    self._news.notify_all()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        with self._news:
            self.said = time.monotonic(), message.status[0]
            self._news.notify_all()

    def idle(self, since: float) -> bool:
        """Whether the driver has said after `since` [s] that it waits, and hears the robot."""
        when, status = self.said or (-1.0, None)
        return when > since and status.message == "ready" and status.level == b"\0"

    def until(self, condition: Callable[[], Any], seconds: float) -> Any:
        """Wait until a condition holds; its value, false after `seconds`."""
        with self._news:
            return self._news.wait_for(condition, max(seconds, 0.0))

    def _asked(self, call: Callable, *given: Any) -> Any:
        """The future of a request that is made in the spinning thread."""
        made: list[Any] = []

        def make() -> None:
            made.append(call(*given))
            made[0].add_done_callback(lambda _: self._tell())
            self._tell()

        self.node.executor.create_task(make)
        if not self.until(lambda: made, 10.0):
            raise Failed("the referee's own node does not answer")
        return made[0]

    def later(self, call: Callable, *given: Any) -> None:
        """Have it called in the spinning thread: an answer that comes before rclpy has noted who
        asked would be lost."""
        self.node.executor.create_task(call, *given)

    def _met(self, probe: Any, what: str, alive: Callable[[], bool]) -> None:
        """Wait until the action that `probe` may cancel goals of answers."""
        end = time.monotonic() + START
        request = CancelGoal.Request()
        while time.monotonic() < end and alive():
            request.goal_info.goal_id = new_name()
            if self.until(self._asked(probe.call_async, request).done, 0.3):
                return
        raise Failed(f"{what} does not answer")

    # --- processes ------------------------------------------------------------------------------

    def make_ready(self, scene: Scene, wall: bool) -> None:
        """Robot and driver are there, know each other, and the last execution's faults are over."""
        began = self.robot is None or self.robot.code is not None
        if began:
            self._start_robot(wall)
        count = len(self.events)
        self.robot.say({"do": "ready", "version": scene.version, "factor": scene.factor,
                        "wall": wall, "pause": self._doubt})  # fmt: skip
        done = lambda: any(e["event"] == "ready" for e in self.events[count:])  # noqa: E731
        if not self.until(lambda: done() or self.robot.code is not None, 30.0) or not done():
            raise Failed("the robot does not answer")
        if self.driver is None or self.driver.code is not None:
            self._start_driver(wall)
            began = True
        if began:
            self._met(self._other_probe, "the controller", lambda: self.robot.code is None)
            self._met(self._probe, "the driver", lambda: self.driver.code is None)
        now = time.monotonic()
        if not self.until(lambda: self.idle(now), 15.0):
            raise Failed(f"the driver is not ready: {self.said and self.said[1].message}")

    def give_up(self) -> None:
        """Robot and driver begin anew."""
        for program in (self.driver, self.robot):
            if program is not None:
                program.close()
                self.until(lambda program=program: program.code is not None, 10.0)

    def _start_robot(self, wall: bool) -> None:
        count = len(self.events)
        given = {"folder": str(self.folder), "events": self._writing, "wall": wall,
                 "position": list(self.position), "time": self._time}  # fmt: skip
        self.robot = self._pool.take("robot").begin([json.dumps(given)])
        up = lambda: any(e["event"] == "up" for e in self.events[count:])  # noqa: E731
        if not self.until(lambda: up() or self.robot.code is not None, START) or not up():
            raise Failed("the robot did not start")

    def _start_driver(self, wall: bool) -> None:
        rng = self._rng
        self.given = {
            "use_sim_time": not wall,
            "output": str(rng.choice(["action", "topic"], p=[0.75, 0.25])),
            "gripper": str(rng.choice(["command", "digital_output", "none"], p=[0.6, 0.3, 0.1])),
        }
        arguments = ["--ros-args"]
        for key, value in (DRIVER_GIVEN | self.given).items():
            arguments += ["-p", f"{key}:={json.dumps(value)}"]
        self.driver = self._pool.take("driver").begin(arguments, self._breaks)

    def settled(self, seconds: float = 8.0) -> tuple[int | None, list[float] | None]:
        """Wait until the arm rests: when [ns], and where; None if it does not."""
        token = next(self._tokens)
        self.robot.say({"do": "rest", "token": token})
        found = lambda: [e for e in self.events if e.get("token") == token]  # noqa: E731
        self.until(lambda: found() or self.robot.code is not None, seconds)
        if not found():
            return None, None
        return found()[0]["mono"], found()[0]["position"]

    def end_driver(self) -> str:
        """End it in order, so that the next has other parameters; what was wrong."""
        self.driver.signal(signal.SIGINT)
        self.until(lambda: self.driver.code is not None, 20.0)
        code = self.driver.code
        self.driver.close()
        return "" if code == 0 else f"the driver ended with {code} after SIGINT"

    def close(self) -> None:
        """End everything."""
        for program in (self.driver, self.robot):
            if program is not None:
                program.close()
        self._pool.close()
        self._spinner.end()
        self._client.destroy()
        self._other.destroy()
        self.node.destroy_node()
        rclpy.try_shutdown()
        os.close(self._writing)

    # --- one execution --------------------------------------------------------------------------

    def execution(self, scene: Scene, wall: bool) -> Seen:
        """Have it done, with its faults, until the arm rests."""
        self.driver.new_lines(), self.robot.new_lines()
        first = len(self.events)
        seen = Seen(scene, self.given["gripper"], self.given["output"], LEAD, wall=wall)
        run = Run(self, scene, seen)
        run.whole()
        seen.rested, position = self.settled()
        if position is not None:
            self.position = position
        seen.rows = rows_since(self.folder / "rows.bin", self._begin)
        if len(seen.rows):
            if seen.rested is None:
                self.position = seen.rows["joints"][-1, 0].tolist()
            self._time = int(seen.rows["time"][-1]) + NANO if not wall else self._time
        self._begin += len(seen.rows)
        seen.events = self.events[first:]
        self.events = []
        self._doubt = DOUBT if scene.has("states_second") else 0.0
        for program in (self.driver, self.robot, run.client):
            for line in program.new_lines() if program is not None else []:
                if BAD.search(line):
                    seen.troubles.append(f"{program.name}: {line}")
        return seen

    def send(self, scene: Scene) -> Any:
        """Future of the goal's handle."""
        release = np.nan if scene.motion.release is None else scene.motion.release
        goal = Execute.Goal(
            trajectory=convert_motion.trajectory_message(scene.motion),
            release=float(release), blend=scene.blend,
        )  # fmt: skip
        return self._asked(self._client.send_goal_async, goal)

    def execute(self, scene: Scene, path: Path) -> Program:
        """The same by the command as a process."""
        scene.motion.save(path)
        blend = ["--blend", str(scene.blend)] if scene.blend else []
        return self._pool.take("execute").begin([str(path), *blend])


class Run:
    """One execution: its schedule of faults, until it has ended."""

    def __init__(self, bench: Bench, scene: Scene, seen: Seen) -> None:
        self.bench, self.scene, self.seen = bench, scene, seen
        self.client: Program | None = None
        self._todo: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._handle: Any = None
        self._answers: list[Callable[[], None]] = []
        self._stopped = False
        self._died: float | None = None

    def _at(self, when: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._todo, (when, next(self._order), do))

    def whole(self) -> None:
        """Send, spoil, wait for the end, undo."""
        bench, seen = self.bench, self.seen
        seen.sent = time.monotonic_ns()
        if self.scene.process:
            path = bench.folder / "trajectory.yaml"
            self.client = bench.execute(self.scene, path)
            start = time.monotonic() + 0.5  # the command looks for the driver first
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
                seen.troubles.append(f"it did not end within {LIMIT:g} s")
                break
            until = min(now + LOOK, self._todo[0][0] if self._todo else end)
            bench.until(self._over, until - now)
        self._undo()
        self._collect()

    def _spoil(self, fault: Fault) -> None:
        self.seen.at[fault.name] = time.monotonic_ns()
        getattr(self, f"_do_{_kind(fault.name)}")(fault)

    def _over(self) -> bool:
        """Whether this execution has ended, as far as anybody will tell."""
        seen, bench, now = self.seen, self.bench, time.monotonic()
        if bench.driver.code is not None:
            self._died = self._died or now
            killed = bench.driver.code == -signal.SIGKILL
            return seen.answered is not None or killed or now > self._died + ANSWERED
        if self.client is None:
            return seen.answered is not None
        if self.client.code is None:
            return False
        self._died = self._died or now
        if self.client.code != -signal.SIGKILL or self._logged() is not None:
            return True
        return bench.idle(self._died + ANSWERED)  # it had sent nothing yet

    def _on_handle(self, future: Any) -> None:
        future.result().get_result_async().add_done_callback(self._on_result)

    def _on_result(self, future: Any) -> None:
        with self.bench._news:
            self.seen.answered = time.monotonic_ns()
            self.seen.report = convert_motion.report(future.result().result)
            self.bench._news.notify_all()

    def _logged(self) -> Report | None:
        """How the driver says that it ended, in its log."""
        for line in self.bench.driver.new_lines():
            if BAD.search(line):
                self.seen.troubles.append(f"driver: {line}")
            found = ENDED.search(line)
            if found:
                self.seen.report, self.seen.stamped = Report(found[1], found[2]), False
                self.seen.answered = time.monotonic_ns()
        return self.seen.report

    def _undo(self) -> None:
        """What would keep the arm or the driver from its end is over."""
        bench = self.bench
        if self._stopped:
            bench.driver.signal(signal.SIGCONT)
        bench.robot.say({"do": "scaling", "value": 1.0})
        bench.robot.say({"do": "pause", "seconds": 0.0})

    def _collect(self) -> None:
        """Answers, exit codes."""
        bench, seen = self.bench, self.seen
        if self.client is not None:
            self._collect_client()
        for ask in self._answers:
            ask()
        ends = [name for name in ENDS_DRIVER if name in seen.at]
        if ends:
            bench.until(lambda: bench.driver.code is not None, 20.0)
            expected = -signal.SIGKILL if ends[0] == "driver_SIGKILL" else 0
            if bench.driver.code != expected:
                seen.troubles.append(f"{ends[0]}: the driver ended with {bench.driver.code}")
        for name in ENDS_ROBOT:
            if name in seen.at:
                bench.until(lambda: bench.robot.code is not None, 10.0)
                expected = -signal.SIGKILL if name == "controller_SIGKILL" else 0
                if bench.robot.code != expected:
                    seen.troubles.append(f"{name}: the robot ended with {bench.robot.code}")

    def _collect_client(self) -> None:
        """The command's exit code and its line must agree."""
        seen, client = self.seen, self.client
        bench = self.bench
        if client.code is None:  # the driver is gone
            client.signal(signal.SIGKILL)
            bench.until(lambda: client.code is not None, 5.0)
            return
        lines = client.new_lines()
        if client.code == -signal.SIGKILL or (client.code < 0 and not lines):
            return  # in its first moments any signal ends it
        for line in lines:
            if BAD.search(line):
                seen.troubles.append(f"execute: {line}")
        last = lines[-1] if lines else ""
        code, _, message = last.partition("; ")
        seen.answered = time.monotonic_ns()
        if last.startswith("execute: cancelled; nothing was sent"):
            code, message = "CANCELED", "nothing was sent"
        told = TOLD.search(message)
        seen.report = Report(code, message, release_stamp=float(told[1]) if told else None)
        if client.code not in (0 if code == "SUCCESS" else 3, *ENDING):
            seen.troubles.append(f"execute ended with {client.code}: {last}")

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
                self.seen.canceled = time.monotonic_ns()
            else:
                self.seen.rejected = time.monotonic_ns()
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
        rows = rows_since(bench.folder / "rows.bin", bench._begin)
        here = rows["joints"][-1, 0] if len(rows) else np.array(bench.position)
        home = bench.arm.home
        reach = fault.more["reach"]
        end = np.clip(here + rng.uniform(-reach, reach, 6), home - 0.5, home + 0.5)
        motion = smooth(bench.arm, here, end, 0.8)
        motion = replace(motion, times=motion.times + 0.1)
        message = convert_motion.trajectory_message(motion)
        message.header.frame_id = FOREIGN
        if fault.name == "replaced_by_topic":
            self.bench._topic.publish(message)
            return
        goal = FollowJointTrajectory.Goal(trajectory=message)
        bench.later(bench._other.send_goal_async, goal)

    def _do_second_goal(self, fault: Fault) -> None:
        from .faults_scenes import unsafe

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
        bench, seen = self.bench, self.seen

        def accepted(future: Any) -> None:
            future.result().get_result_async().add_done_callback(ended)

        def ended(future: Any) -> None:
            code = convert_motion.report(future.result().result).code
            seen.others.append((name, code))
            bench._tell()

        def send() -> None:
            bench._client.send_goal_async(goal).add_done_callback(accepted)

        count = sum(1 for _ in self._answers) + 1
        bench.later(send)
        self._answers.append(lambda: self._answered(count, name))

    def _answered(self, count: int, name: str) -> None:
        alive = self.bench.driver.code is None
        if alive and not self.bench.until(lambda: len(self.seen.others) >= count, 40.0):
            self.seen.troubles.append(f"{name}: no answer")


def _kind(name: str) -> str:
    """What a fault's method is called by."""
    known = ("client", "controller", "states", "scaling", "clock", "replaced")
    first = name.partition("_")[0]
    if name in ENDS_DRIVER:
        return "driver"
    if name in ENDS_CLIENT:
        return "client"
    return first if first in known else name
