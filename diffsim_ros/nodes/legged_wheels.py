"""Wheels with motors of a legged robot: their speeds, and what becomes of them without a driver.

A velocity controller of ros2_control (forward_command_controller, JointGroupVelocityController)
keeps the last speed that it received, for good where nobody sends another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import numpy as np
from rcl_interfaces.srv import GetParameters
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from diffsim_ros.nodes.common import AGAIN, STREAM, BaseNode
from diffsim_ros.nodes.motion_outputs import STEADY

TIMEOUTS = ("cmd_vel_timeout", "command_timeout", "cmd_timeout", "watchdog_timeout")
"""Parameters by which controllers stop without commands: above 0 [s] where they do."""
TURNS = 0.1
"""[rad/s] from which a wheel turns."""


class Wheels:
    """Commands the wheels `names` of a controller, in this order; all in its node's thread."""

    def __init__(self, node: BaseNode, names: Sequence[str], controller: str) -> None:
        self._node, self.names, self._controller = node, tuple(names), controller
        self._publisher = node.create_publisher(Float64MultiArray, f"{controller}/commands", STREAM)
        self._stood = self._warned = not names

    def roll(self, speeds: np.ndarray) -> None:
        """Command speeds (w,) [rad/s]."""
        if self.names:
            self._publisher.publish(Float64MultiArray(data=[float(v) for v in speeds]))

    # --- wheels that a driver before this one has left turning ------------------------------------

    def on_joint_state(self, message: JointState, rules: bool, commands: bool) -> None:
        """Stop wheels that turn without a plan, until they have been seen at rest once.

        rules  whether this driver may send anything;  commands: whether a plan of it runs
        """
        if self._stood or not rules:
            return
        fits = len(message.velocity) == len(message.name)
        speeds = dict(zip(message.name, message.velocity, strict=True)) if fits else {}
        if commands or all(abs(speeds.get(name, np.nan)) <= TURNS for name in self.names):
            self._stood = True
            return
        turning = [name for name in self.names if abs(speeds.get(name, 0.0)) > TURNS]
        if not turning:
            return  # not known
        self.roll(np.zeros(len(self.names)))
        if not self._warned:
            self._warned = True
            text = f"{', '.join(turning)} turn, and no plan runs: they are commanded to stop"
            self._node.get_logger().warning(text)

    # --- whether they stop by themselves ----------------------------------------------------------

    def ask(self, seconds: float) -> None:
        """Warn where the controller has no timeout, or is not there within `seconds`."""
        if not self.names:
            return
        client = self._node.create_client(GetParameters, f"{self._controller}/get_parameters")
        end = monotonic() + seconds

        def over(text: str) -> None:
            if text:
                rule = "wheels keep their last speed if this driver is killed"
                self._node.get_logger().warning(f"{self._controller} {text}: {rule}")
            self._node.destroy_timer(timer)
            self._node.destroy_client(client)

        def look() -> None:
            if client.service_is_ready() and not asked:
                # one by one: an answer with one that is not declared has none at all
                requests = [GetParameters.Request(names=[name]) for name in TIMEOUTS]
                asked.extend(client.call_async(request) for request in requests)
            elif asked and all(future.done() for future in asked):
                values = [one.double_value for future in asked for one in future.result().values]
                stops = any(value > 0.0 for value in values)
                over("" if stops else f"has none of {', '.join(TIMEOUTS)} above 0 s")
            elif monotonic() > end:
                over("does not say whether it stops without commands")

        asked: list[Future] = []
        timer = self._node.create_timer(AGAIN / 5, look, clock=STEADY)
