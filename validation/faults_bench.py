"""Robot, driver and clients of the fault study in one ROS domain: kept alive, recorded, begun
again."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable
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
from diffsim_ros.nodes.motion_outputs import new_name
from diffsim_ros.robots.command import NANO

from .faults_judge import Trace
from .faults_processes import BAD, Pool, Program
from .faults_record import rows_since
from .faults_scenes import Scene, ur5

CONTROLLER = "/scaled_joint_trajectory_controller"
LEAD = 0.05
START = 60.0
"""[s] in which a process on a busy machine is up."""
DEAF = 3.0
"""[s] for which a robot that runs does not answer before it is called deaf."""
DOUBT = 1.1
"""[s] for which the driver doubts a robot whose states contradicted each other, and some."""
DRIVER_GIVEN = {
    "dry_run": False, "lead": LEAD, "server_timeout": 2.0, "stop_timeout": 0.8, "settle": 1.0,
    "stall_timeout": 3.0, "period": 0.1,
}  # fmt: skip
"""Parameters of the driver in every execution."""
OPENED = re.compile(r"the gripper was commanded to open at ([0-9.]+) s")


def read_line(trace: Trace, name: str, line: str) -> None:
    """A line of a program's log about this execution."""
    if BAD.search(line):
        trace.troubles.append(f"{name}: {line}")
    if opened := OPENED.search(line):
        trace.stamp = float(opened[1])


class Failed(RuntimeError):
    """The bench itself does not work."""


class Bench:
    """One robot, one driver and their clients.

    arm  the UR5;  breaks  names of faults_breaks, for every driver
    """

    def __init__(self, folder: Path, rng: np.random.Generator, breaks: tuple[str, ...] = ()):
        self.folder, self._rng, self.breaks, self.arm = folder, rng, breaks, ur5()
        self.news = threading.Condition()
        self._tokens = itertools.count(1)
        self.events: list[dict] = []
        reading, self._writing = os.pipe()
        threading.Thread(target=self._listen, args=(reading,), daemon=True).start()
        self._pool = Pool(folder, self._tell, self._writing)
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node("referee")
        self.client = ActionClient(self.node, Execute, "/driver/execute")
        self._probe = self.node.create_client(CancelGoal, "/driver/execute/_action/cancel_goal")
        name = f"{CONTROLLER}/follow_joint_trajectory"
        self.other = ActionClient(self.node, FollowJointTrajectory, name)
        self.topic = self.node.create_publisher(
            TrajectoryMessage, f"{CONTROLLER}/joint_trajectory", STREAM
        )
        self._controller_probe = self.node.create_client(CancelGoal, f"{name}/_action/cancel_goal")
        self.reported: tuple[float, Any] | None = None
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._spinner = Spinner(self.node)
        self.driver: Program | None = None
        self.robot: Program | None = None
        self.given: dict[str, Any] = {}
        self.begin, self._doubt = 0, 0.0
        self.position, self._time = self.arm.home, 10 * NANO

    # --- news -----------------------------------------------------------------------------------

    def _tell(self) -> None:
        with self.news:
            self.news.notify_all()

    def _listen(self, reading: int) -> None:
        with os.fdopen(reading) as file:
            for line in file:
                with self.news:
                    self.events.append(json.loads(line))
                    self.news.notify_all()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        with self.news:
            self.reported = time.monotonic(), message.status[0]
            self.news.notify_all()

    def idle(self, since: float) -> bool:
        """Whether the driver has reported after `since` [s] that it waits, and receives states."""
        when, status = self.reported or (-1.0, None)
        return when > since and status.message == "ready" and status.level == b"\0"

    def until(self, condition: Callable[[], Any], seconds: float) -> Any:
        """Wait until a condition holds; its value, false after `seconds`."""
        with self.news:
            return self.news.wait_for(condition, max(seconds, 0.0))

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

    def _answers(self, probe: Any, program: Program, seconds: float) -> bool:
        """Whether the action that `probe` may cancel goals of answers while its program runs."""
        end = time.monotonic() + seconds
        request = CancelGoal.Request()
        while time.monotonic() < end and program.code is None:
            request.goal_info.goal_id = new_name()
            if self.until(self._asked(probe.call_async, request).done, 0.3):
                return True
        return False

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
        if began and not self._answers(self._controller_probe, self.robot, START):
            raise Failed("the controller does not answer")
        if began and not self._answers(self._probe, self.driver, START):
            raise Failed("the driver does not answer")
        now = time.monotonic()
        if not self.until(lambda: self.idle(now), 15.0):
            raise Failed(f"the driver is not ready: {self.reported and self.reported[1].message}")

    def give_up(self) -> None:
        """Robot and driver begin again."""
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
        self.driver = self._pool.take("driver").begin(arguments, self.breaks)

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
        self.client.destroy()
        self.other.destroy()
        self.node.destroy_node()
        rclpy.try_shutdown()
        os.close(self._writing)

    # --- one execution --------------------------------------------------------------------------

    def now_begins(self, scene: Scene, wall: bool) -> Trace:
        """What was printed and reported so far is of the past."""
        self.driver.new_lines(), self.robot.new_lines()
        self.events = []
        offset = time.time_ns() - time.monotonic_ns()
        given = self.given["gripper"], self.given["output"]
        return Trace(scene, *given, LEAD, wall=wall, offset=offset)

    def collect(self, trace: Trace, client: Program | None) -> None:
        """Wait until the arm rests; rows, events and logs of an execution.

        A robot that runs and does not answer is replaced before the next.
        """
        trace.rested, position = self.settled()
        trace.rows = rows_since(self.folder / "rows.bin", self.begin)
        if position is not None:
            self.position = position
        elif len(trace.rows):
            self.position = trace.rows["joints"][-1, 0].tolist()
        if len(trace.rows) and not trace.wall:
            self._time = int(trace.rows["time"][-1]) + NANO
        self.begin += len(trace.rows)
        trace.events, self.events = self.events, []
        self._doubt = DOUBT if trace.scene.has("states_second") else 0.0
        answers = self._answers(self._controller_probe, self.robot, DEAF)
        trace.deaf = self.robot.code is None and not answers
        for program in (self.driver, self.robot, client):
            for line in program.new_lines() if program is not None else []:
                read_line(trace, program.name, line)
        if trace.deaf:
            self.give_up()

    def send(self, scene: Scene) -> Any:
        """Future of the goal's handle."""
        release = np.nan if scene.motion.release is None else scene.motion.release
        goal = Execute.Goal(
            trajectory=convert_motion.trajectory_message(scene.motion),
            release=float(release), blend=scene.blend,
        )  # fmt: skip
        return self._asked(self.client.send_goal_async, goal)

    def execute(self, scene: Scene, path: Path) -> Program:
        """The same by the command as a process."""
        scene.motion.save(path)
        blend = ["--blend", str(scene.blend)] if scene.blend else []
        return self._pool.take("execute").begin([str(path), *blend])
