"""The part of the legged driver that watches the robot: joints, efforts, tilt; wheels and stance.

As of the arm's (supervision.py): a node, an executor and a thread of its own, under a watchdog.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from diffsim_interfaces.msg import Stance
from sensor_msgs.msg import Imu, JointState

from diffsim_ros.nodes import convert_locomotion as legged
from diffsim_ros.nodes.common import STREAM, BaseNode
from diffsim_ros.nodes.convert import nanoseconds
from diffsim_ros.nodes.legged_wheels import Wheels
from diffsim_ros.nodes.motion_outputs import PointOutput
from diffsim_ros.nodes.supervision import LATEST, Supervision
from diffsim_ros.planning.locomotion import LeggedRobot
from diffsim_ros.planning.locomotion.plan_check import body_of, wheel_limits
from diffsim_ros.robots.arm import Arm
from diffsim_ros.robots.command import NANO


class LeggedSupervision(Supervision):
    """Joint states with efforts, tilt, controller, wheels and stance of one legged robot.

    tilt     [rad] that was measured last, NaN: never, or it is unknown;  tilt_age [s]
    efforts  joint -> effort that was measured last
    roll     (speeds (w,) [rad/s]): command the wheels `wheel_names`
    """

    def __init__(
        self, driver: BaseNode, robot: LeggedRobot, last_request: Callable[[], float]
    ) -> None:
        self.robot, self.tilt, self._tilted = robot, math.nan, 0
        self.efforts: dict[str, float] = {}
        super().__init__(driver, body_of(robot), last_request)
        listen, make = self.create_subscription, self.create_publisher
        listen(Imu, self._name(self["imu"]), self._on_imu, LATEST)
        self._wheels = Wheels(self, tuple(wheel_limits(robot)), self._name(self["wheels"]))
        self.wheel_names, self.roll = self._wheels.names, self._wheels.roll
        if not self.simulated:
            self._wheels.ask(self["server_timeout"])
        name = driver.get_fully_qualified_name()
        self._stance = make(Stance, f"{name}/stance", STREAM)

    def _make_output(self, arm: Arm) -> Any:
        if self["output"] != "points":
            return super()._make_output(arm)
        return PointOutput(self, self._driver.resolve_topic_name(self["controller"]), arm.limits)

    def _make_gripper(self) -> None:
        return None

    def _on_state(self, message: JointState) -> None:
        if set(self.states.names) <= set(message.name):  # not of the wheels alone
            fits = len(message.effort) == len(message.name)
            self.efforts = dict(zip(message.name, message.effort, strict=True)) if fits else {}
        super()._on_state(message)
        rules = self._driver.active and not self["dry_run"]
        self._wheels.on_joint_state(message, rules, self.run is not None)

    def _on_imu(self, message: Imu) -> None:
        now, stamp = self.now(), nanoseconds(message.header.stamp)
        if stamp and abs(now - stamp) > self["tilt_age"] * NANO:
            return  # of a recording, or late: as with joint states
        self.tilt, self._tilted = legged.tilt_of(message), min(now, stamp or now)

    def _measured(self) -> tuple[tuple[str, str], ...]:
        return (*super()._measured(), ("tilt", self["imu"]))

    @property
    def tilt_age(self) -> float:
        """[s] since a tilt was measured; infinite where none ever was."""
        if math.isnan(self.tilt) or not self._tilted:
            return math.inf
        return abs(self.now() - self._tilted) / NANO

    def say_standing(self) -> None:
        """Publish that no plan runs."""
        self.say_stance("", "standing", 0.0, np.ones(len(self.robot.end_effectors), bool), 0.0)

    def say_stance(
        self, plan: str, state: str, time: float, contact: np.ndarray, phase: float
    ) -> None:
        """Publish what the robot stands on, as planned."""
        names = [effector.name for effector in self.robot.end_effectors]
        self._stance.publish(legged.stance_message(
            self.now(), names, contact, plan=plan, state=state, time=time, phase=phase
        ))  # fmt: skip
