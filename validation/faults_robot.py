"""The fault study's robot, a process of its own: controller, gripper, clock, and what spoils them.

It serves what ur_robot_driver does around the mock controller, in the wall's time or in a simulated
time that it publishes. The referee's commands come as JSON by the line on standard input.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
from rclpy.clock import Clock, ClockType
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState

from diffsim_ros.nodes import convert
from diffsim_ros.nodes.common import STREAM, run_node, share_folder
from diffsim_ros.nodes.controller_server import JOINT_STATES, ControllerServer, Offer, ServingNode
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.command import NANO, JointCommand
from diffsim_ros.robots.controller import Controller, Outcome, Settings
from diffsim_ros.robots.gripper import Gripper

from .faults_record import DRIVER, FOREIGN, OTHER, Record

STEP = 4_000_000
"""[ns] by which simulated time goes on."""
LATENCY = 0.05
JUMP = NANO
"""[ns] A clock that goes further at once, or back, was set."""
REST = 1e-3
"""[rad/s] below which nothing moves."""
REAL_TIME = 50
"""Priority of a controller's thread among real-time ones, where the system permits it."""


class RecordedController(Controller):
    """A controller that calls `on_cycle()` after each control cycle."""

    on_cycle = staticmethod(lambda: None)

    @property
    def braking(self) -> bool:
        """Whether it holds, or brakes until it does."""
        return self._braking is not None

    def _update(self) -> Outcome | None:
        outcome = super()._update()
        self.on_cycle()
        return outcome


class TalkingGripper(Gripper):
    """A gripper that calls `on_command(is open, stamp)`."""

    on_command = staticmethod(lambda is_open, stamp: None)

    def command(self, is_open: bool, stamp: int) -> int:
        """As Gripper's."""
        self.on_command(is_open, stamp)
        return super().command(is_open, stamp)


class RecordedServer(ControllerServer):
    """A server that notes who sent what it follows, and whose joint states may be corrupted.

    source  of the last trajectory
    """

    source = 0

    def corrupt(self, through) -> None:
        """Publish joint states through `through(message, publisher)`."""
        states = self._states
        self._states = Corrupted(lambda message: through(message, states))

    def _on_topic(self, message) -> None:
        self.source = OTHER if message.header.frame_id == FOREIGN else DRIVER
        super()._on_topic(message)

    async def _run(self, handle):
        frame = handle.request.trajectory.header.frame_id
        self.source = OTHER if frame == FOREIGN else DRIVER
        return await super()._run(handle)


class Corrupted:
    """Something to publish through."""

    def __init__(self, publish) -> None:
        self.publish = publish


class Robot(ServingNode):
    """given: folder, events (a file descriptor), position (6,), time [ns] of the simulated clock"""

    def __init__(self, given: dict, **options) -> None:
        super().__init__("robot", **options)
        with contextlib.suppress(OSError):  # as ros2_control's: no stalls but those asked for
            os.sched_setscheduler(
                0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(REAL_TIME)
            )
        arm = load_arm(share_folder() / "config" / "robots" / "ur5.yaml")
        self.names, self._events = arm.robot.joint_names, given["events"]
        self._record = Record(Path(given["folder"]) / "rows.bin")
        self.wall, self.time = given["wall"], given["time"]
        if self.wall:
            self.time = time.time_ns()
        self.factor, self.paused_until, self._runs = 1.0, 0.0, 0
        self._kind, self._value = "", 0.0
        self._late: deque = deque()
        self._asked: list[int] = []
        self._ready_at: int | None = None
        mock = RecordedController(
            self.names, np.array(given["position"]), Settings(deceleration=20.0), self.time
        )
        mock.on_cycle = self._on_cycle
        run = mock.replace  # what an action's goal and a topic's message both come to
        mock.replace = lambda command: (self._on_start(command), run(command))[1]
        gripper = TalkingGripper(LATENCY)
        gripper.on_command = self._on_gripper
        self.server = RecordedServer(self, mock, gripper, Offer())
        self.server.corrupt(self._publish)
        self._second = self.create_publisher(JointState, JOINT_STATES, STREAM)
        self._sim_time = self.create_publisher(ClockMessage, "/clock", STREAM)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(STEP / NANO, self._step, clock=self._steady)
        self._is_up = False

    @property
    def mock(self) -> RecordedController:
        """The controller."""
        return self.server.controller

    # --- the record -----------------------------------------------------------------------------

    def _tell(self, event: str, **more) -> None:
        message = {"event": event, "mono": time.monotonic_ns(), "time": self.mock.time, **more}
        os.write(self._events, (json.dumps(message) + "\n").encode())

    def _on_cycle(self) -> None:
        mock = self.mock
        self._record.add(
            time.monotonic_ns(), mock.time, self._runs, self.server.source, mock.active,
            mock.braking, mock.scaling, mock.elapsed,
            [mock.desired.position, mock.desired.velocity, mock.desired.acceleration],
            [mock.position, mock.velocity],
        )  # fmt: skip

    def _on_start(self, command: JointCommand) -> None:
        self._runs += 1
        points = [[p.time, *map(list, (p.positions, p.velocities, p.accelerations))]
                  for p in command.points]  # fmt: skip
        self._tell("start", run=self._runs, source=self.server.source, names=list(command.names),
                   points=points, begins=[*self.mock.position.tolist()])  # fmt: skip

    def _on_gripper(self, is_open: bool, stamp: int) -> None:
        self._tell("gripper", open=is_open, stamp=stamp)

    # --- time -----------------------------------------------------------------------------------

    def _step(self) -> None:
        if not self._is_up:  # before the node spins, commands would be lost
            self._is_up = True
            threading.Thread(target=self._listen, daemon=True).start()
            self._tell("up")
        if time.monotonic() < self.paused_until:
            return
        now = time.time_ns() if self.wall else self.time + STEP
        self._go_on(now)
        while self._late and self._late[0][0] <= now:
            self._late.popleft()[1]()
        if not self.wall:
            self._sim_time.publish(ClockMessage(clock=convert.time_message(now)))
        mock = self.mock
        moves = max(np.abs(mock.velocity).max(), np.abs(mock.desired.velocity).max()) > REST
        rests = not mock.active and not moves
        if self._ready_at is not None and now >= self._ready_at and rests:
            self._ready_at = None
            self._tell("ready")
        if self._asked and rests:
            for token in self._asked:
                self._tell("rest", token=token, position=mock.position.tolist())
            self._asked.clear()

    def _go_on(self, now: int) -> None:
        if not 0 <= now - self.mock.time <= JUMP:
            self.mock.set_clock(now)
            self.server.set_clock()
            self._late.clear()
        self.time = now
        self.server.advance(now)

    # --- the referee's commands -----------------------------------------------------------------

    def _listen(self) -> None:
        for line in sys.stdin:
            with contextlib.suppress(AttributeError):  # the executor's: it is being ended
                self.from_thread(self._obey, json.loads(line))

    def _obey(self, message: dict) -> None:
        getattr(self, f"_do_{message.pop('do')}")(**message)

    def _do_rest(self, token: int) -> None:
        self._asked.append(token)

    def _do_ready(self, version: str, factor: float, wall: bool, pause: float) -> None:
        """All is well again; reported `pause` [s] later, once the arm rests."""
        self._late.clear()
        self._do_states("", 0.0)
        self._do_scaling(1.0)
        self.paused_until = 0.0
        self.mock.settings = replace(self.mock.settings, version=version)
        if (wall, factor) != (self.wall, self.factor):
            self.wall, self.factor = wall, factor
            self.destroy_timer(self._timer)
            period = STEP / NANO / (1.0 if wall else factor)
            self._timer = self.create_timer(period, self._step, clock=self._steady)
            self._go_on(time.time_ns() if wall else self.time)
        self._ready_at = self.time + round(pause * NANO)

    def _do_states(self, kind: str, value: float) -> None:
        self._kind, self._value = kind, value

    def _do_scaling(self, value: float) -> None:
        self.mock.speed_scaling = value

    def _do_pause(self, seconds: float) -> None:
        self.paused_until = time.monotonic() + seconds

    def _do_clock(self, by: int) -> None:
        """Simulated time is set."""
        self._go_on(max(self.time + by, STEP))

    # --- joint states that are corrupted --------------------------------------------------------

    def _publish(self, message: JointState, publisher) -> None:
        kind = self._kind
        if kind == "late":
            due = self.time + round(self._value * NANO)
            self._late.append((due, lambda: publisher.publish(message)))
        elif kind == "overtaken":
            self._overtaken(message, publisher)
        elif kind == "second":
            publisher.publish(message)
            position = np.array(message.position) + self._value
            second = JointState(name=message.name, position=position.tolist())
            second.header.stamp = convert.time_message(self.time + 1_000_000)
            second.velocity = [0.0] * len(position)
            self._second.publish(second)
        elif kind != "silent":
            publisher.publish(_changed(message, kind, self.time))

    def _overtaken(self, message: JointState, publisher) -> None:
        """Every second one comes after the next."""
        if self._late:
            publisher.publish(message)
            self._late.popleft()[1]()
        else:
            self._late.append((self.time + NANO, lambda: publisher.publish(message)))

    # --- end ------------------------------------------------------------------------------------


def _changed(message: JointState, kind: str, now: int) -> JointState:
    """One that is `kind`; unchanged for ""."""
    if kind == "stale":
        message.header.stamp = convert.time_message(max(now - 60 * NANO, 1))
    elif kind == "zero_stamp":
        message.header.stamp = convert.time_message(0)
    elif kind == "nan":
        message.position = [float("nan")] * len(message.position)
    elif kind == "no_velocity":
        message.velocity = []
    elif kind == "missing":
        message.name, message.position = message.name[1:], message.position[1:]
        message.velocity = message.velocity[1:]
    elif kind == "reordered":
        order = [3, 0, 5, 1, 4, 2]
        message.name = [message.name[k] for k in order]
        message.position = [message.position[k] for k in order]
        message.velocity = [message.velocity[k] for k in order]
    return message


def main() -> int:
    """One argument: what Robot is given, as JSON."""
    given = json.loads(sys.argv.pop(1))
    return run_node(lambda: Robot(given))


if __name__ == "__main__":
    raise SystemExit(main())
