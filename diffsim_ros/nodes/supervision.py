"""The part of the driver that watches the robot: a node, an executor and a thread of its own.

What is slow or comes from other nodes (goals, their parsing and checks, parameters) stays in the
driver's own executor and threads: it must not delay a stop or a release.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Protocol

from rclpy.clock import Clock, JumpThreshold
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert, convert_motion
from diffsim_ros.nodes.common import BaseNode, Spinner, quality
from diffsim_ros.nodes.controller_server import JOINT_STATES
from diffsim_ros.nodes.motion_outputs import STEADY, ActionOutput, GripperOutput, TopicOutput
from diffsim_ros.robots.arm import Arm
from diffsim_ros.robots.command import NANO
from diffsim_ros.robots.execution import STOPPED
from diffsim_ros.robots.joint_states import PLACE, JointStates, ReceivedState

LATEST = quality(1, reliable=False)
"""The last message is all that counts."""
BEAT = 0.05
"""[s] between two signs of life of the supervision's executor."""
STOOD, CAUGHT_UP = 0.1, 0.05
"""[s] without a sign of life after which messages are old, and that they take to be received."""
PLAYERS = ("rosbag2_player", "replay")
"""Nodes that publish recordings: their joint states are no robot's."""


class Run(Protocol):
    """A motion that is executed (motion_run.MotionRun)."""

    def on_joint_state(self, state: ReceivedState) -> None:
        """A joint state was received."""
        ...

    def on_speed_scaling(self, now: int, scaling: float) -> None:
        """A speed scaling was received at a ROS time [ns]."""
        ...

    def abort(self, why: str) -> None:
        """Stop it; from the supervision's thread."""
        ...

    def abandon(self, why: str) -> None:
        """Stop it without the supervision's thread."""
        ...


class Supervision(BaseNode):
    """Joint states, speed scaling, controller and gripper of one driver.

    states   JointStates;  scaling  the last speed scaling, 1: full speed
    output, gripper  for motions and releases
    Its parameters are the driver's.
    """

    def __init__(self, driver: BaseNode, arm: Arm, last_request: Callable[[], float]) -> None:
        """last_request  () -> monotonic time [s] when the driver could last receive a request"""
        self._driver, self._last_request = driver, last_request
        time = Parameter("use_sim_time", value=driver.get_parameter("use_sim_time").value)
        super().__init__(
            "supervision",
            # names given on the command line are the driver's: this node's follows from it
            cli_args=["--ros-args", "-r", f"__node:={driver.get_name()}_supervision"],
            namespace=driver.get_namespace(),
            parameter_overrides=[time],
            start_parameter_services=False,
        )
        self.states = JointStates(arm.robot.joint_names, arm.limits.velocity, self["state_age"])
        self.scaling = 1.0
        self.run: Run | None = None
        self.output = self._make_output(arm)
        self.gripper = self._make_gripper()
        self.create_subscription(JointState, self._name(JOINT_STATES), self._on_state, LATEST)
        if self["speed_scaling"]:
            name = self._name(self["speed_scaling"])
            self.create_subscription(Float64, name, self._on_scaling, LATEST)
        back = JumpThreshold(
            min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True
        )
        self._jumps = self.get_clock().create_jump_callback(back, post_callback=self._on_jump)
        self._beaten, self._stood = monotonic(), -CAUGHT_UP
        self.create_timer(BEAT, self._beat, clock=STEADY)
        self._spinner: Spinner | None = None
        self._over = threading.Event()
        self._watchdog = threading.Thread(target=self._guard, name="watchdog", daemon=True)

    def __getitem__(self, name: str) -> Any:
        return self._driver[name]

    def _name(self, name: str) -> str:
        """As the driver would call it, its remappings included."""
        return self._driver.resolve_topic_name(name)

    def _make_output(self, arm: Arm) -> ActionOutput | TopicOutput:
        controller = self._driver.resolve_topic_name(self["controller"])
        if self["output"] == "action":
            return ActionOutput(self, controller)
        return TopicOutput(self, controller, arm.limits)

    def _make_gripper(self) -> GripperOutput | None:
        kind = self["gripper"]
        if kind == "none":
            return None
        name = self._driver.resolve_service_name(
            self["gripper_action" if kind == "command" else "io_service"]
        )
        return GripperOutput(self, kind, name, self["gripper_gap"], self["gripper_pin"])

    def now(self) -> int:
        """ROS time [ns]."""
        return self.get_clock().now().nanoseconds

    @property
    def simulated(self) -> bool:
        """Whether ROS time is that of a simulation."""
        return self.get_parameter("use_sim_time").value

    @property
    def pace(self) -> Clock:
        """Of the timers that watch: a timer of real time that is set back rests until it is later
        again."""
        return self.get_clock() if self.simulated else STEADY

    # --- what is received -----------------------------------------------------------------------

    def _on_state(self, message: JointState) -> None:
        if not self.now():
            return  # simulated time has not begun here: the state would seem old when it does
        self.states.state_age = self["state_age"]
        stamp = convert.nanoseconds(message.header.stamp)
        state = self.states.add(stamp, self.now(), convert_motion.joint_sample(message))
        if state is not None and self.run is not None:
            self.run.on_joint_state(state)

    def _on_jump(self, jump: Any) -> None:
        """What was received before a clock was set back is invalid after it."""
        self.states.forget()
        if self.run is not None:
            self.run.abort(f"the clock was set back by {abs(jump.delta.nanoseconds) / NANO:.3g} s")

    def _on_scaling(self, message: Float64) -> None:
        self.scaling = message.data / 100.0
        if self.run is not None:
            known = self.scaling if math.isfinite(self.scaling) else 0.0  # what is NaN counts as 0
            self.run.on_speed_scaling(self.now(), known)

    def check_speed(self) -> None:
        """InputError where the robot is stopped."""
        if not self.scaling >= STOPPED:
            rule = "a robot that is not stopped"
            raise InputError("robot", "speed scaling", self.scaling, rule)

    def check_sources(self) -> None:
        """InputError where what is measured comes from a recording that is played."""
        for place, topic in self._measured():
            for info in self.get_publishers_info_by_topic(self._name(topic)):
                if info.node_name in PLAYERS:
                    node = f"{info.node_namespace.rstrip('/')}/{info.node_name}"
                    rule, remedy = "a robot's driver", "it plays a recording: end it"
                    raise InputError(place, "publisher", node, rule, remedy)

    def _measured(self) -> tuple[tuple[str, str], ...]:
        """Words for and topics of what the robot measures."""
        return ((PLACE, JOINT_STATES),)

    def time_is_gone(self) -> bool:
        """Whether time is simulated and nobody publishes it."""
        return self.simulated and not self.get_publishers_info_by_topic("/clock")

    # --- its thread -----------------------------------------------------------------------------

    def begin(self) -> None:
        """Spin in a thread of its own, with a watchdog."""
        self._spinner = Spinner(self)
        self.from_thread(self._hurry)
        self._watchdog.start()

    def do(self, work: Awaitable[Any], then: Callable[[Any, BaseException | None], None]) -> None:
        """Have a coroutine run by this node's executor; then(result, exception) gets its end."""

        async def body() -> None:
            try:
                result = await work
            except Exception as error:  # whoever waits must know
                then(None, error)
            else:
                then(result, None)

        self.from_thread(body)

    def _hurry(self) -> None:
        """Let the calling thread run before all ordinary ones of this computer, if it may: one that
        waits for a processor makes stops and releases late."""
        priority = self["realtime_priority"]
        if not priority:
            return
        try:  # threads that it starts (of the middleware) stay ordinary ones
            policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(0, policy, os.sched_param(priority))
        except OSError as error:
            text = f"no real-time scheduling ({error.strerror}): stops may come late under load"
            self.get_logger().info(text)

    def _beat(self) -> None:
        now = monotonic()
        if now - self._beaten > STOOD:
            self._stood = now
        self._beaten = now

    def catches_up(self) -> bool:
        """Whether this process has just stalled, so that simulated time may be old.

        Clock and joint states that came meanwhile are then received one after the other, in
        agreement with each other: together they show a past state.
        """
        now = monotonic()
        return self.simulated and (now - self._beaten > STOOD or now - self._stood < CAUGHT_UP)

    def _guard(self) -> None:
        """The watchdog: a motion is stopped that nobody watches, or that nobody could cancel.

        It counts at the second check in a row: after a stop of the whole process the executor beats
        again before that.
        """
        self._hurry()
        looks = unheard = 0
        while not self._over.wait(2 * BEAT):
            run, still = self.run, monotonic() - self._beaten
            deaf = monotonic() - self._last_request()
            unheard = unheard + 1 if run is not None and deaf > self["watchdog"] else 0
            if unheard >= 2:  # at each check: it may not have been sent yet
                self.from_thread(
                    run.abort, f"a cancellation would not be received for {deaf:.3g} s"
                )
            dead = self._spinner.ended.is_set()
            looks = looks + 1 if dead or (run is not None and still > self["watchdog"]) else 0
            if looks != 2:
                continue
            if run is not None:
                run.abandon(f"the supervision stood still for {still:.3g} s")
            if dead:
                self._over.wait(1.0)  # the report goes out first
                self._driver.from_thread(_fail)
                return

    def end(self) -> None:
        """Stop spinning and take everything down."""
        self._over.set()
        if self._spinner is not None:
            self._watchdog.join()
            self._spinner.end()
        self.output.destroy()
        if self.gripper is not None:
            self.gripper.destroy()
        self.destroy_node()


def _fail() -> None:
    raise RuntimeError("the supervision has ended: its thread printed why")
