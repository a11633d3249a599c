"""Node `mock_controller`: a UR5's trajectory controller and gripper without the robot.

For rehearsals and tests of clients of ur_robot_driver; its interfaces are those of
controller_server.py. With use_sim_time it moves when /clock does.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import Any

from diffsim_ros.nodes.common import BaseNode, Declared, run_node, share_folder
from diffsim_ros.nodes.controller_server import ControllerServer, Offer, ServingNode
from diffsim_ros.robots.arm import Arm, load_arm
from diffsim_ros.robots.controller import Controller, Settings
from diffsim_ros.robots.gripper import Gripper
from diffsim_ros.robots.interpolation import VERSIONS
from diffsim_ros.robots.tracking import Dynamics

CONTROLLER = (
    Declared(
        "controller",
        "scaled_joint_trajectory_controller",
        "name of the controller, before /follow_joint_trajectory and /joint_trajectory",
    ),
    Declared("version", VERSIONS[-1], "of ros2_controllers, whose rules count", choices=VERSIONS),
    Declared("state_rate", 125.0, "[Hz] of joint_states; 0: silent", 0.0, 1000.0),
    Declared("feedback_rate", 20.0, "[Hz] of the action's feedback", 0.1, 1000.0),
    Declared("control_rate", 125.0, "[Hz] at which commands change", 10.0, 1000.0),
    Declared("path_tolerance", 0.2, "[rad] while moving", 0.0, 10.0),
    Declared("goal_tolerance", 0.1, "[rad] at the end", 0.0, 10.0),
    Declared("goal_time", 0.0, "[s] after the end to be there; 0: waits forever", 0.0, 100.0),
    Declared(
        "deceleration", 20.0, "[rad/s^2] after a cancellation; 0: at once, as Jazzy's", 0.0, 1e4
    ),
    Declared("bandwidth", 60.0, "[rad/s] of the joints' closed loop", 1.0, 1e4),
    Declared("damping", 1.0, "[1] of the joints' closed loop", 0.05, 10.0),
    Declared("delay", 0.008, "[s] from a command to its effect", 0.0, 1.0),
    Declared("feedforward", 1.0, "[1] share of the velocity that is fed forward", 0.0, 1.0),
    Declared("speed_scaling", 1.0, "1: full speed; 0: emergency stop", 0.0, 1.0),
    Declared("gripper_latency", 0.05, "[s] from a command to the gripper's motion", 0.0, 10.0),
    Declared("gripper_gap", 0.085, "[m] of the open gripper", 0.0, 1.0),
    Declared("gripper_pin", 16, "digital output that opens the gripper", 0, 17),
)
"""Parameters of a node that serves a controller."""


def offer_of(node: BaseNode) -> Offer:
    """What a node with these parameters offers."""
    keys = ("controller", "state_rate", "feedback_rate")
    return Offer(*(node[key] for key in keys), gap=node["gripper_gap"], pin=node["gripper_pin"])


def served(node: BaseNode, arm: Arm, stamp: int, **callbacks: Any) -> ControllerServer:
    """A controller of an arm at home, from a node with the parameters CONTROLLER."""
    keys = ("control_rate", "path_tolerance", "goal_tolerance", "goal_time")
    settings = Settings(
        *(node[key] for key in keys),
        node["deceleration"] or float("inf"),
        dynamics=Dynamics(*(node[f.name] for f in fields(Dynamics))),
        version=node["version"],
    )
    controller = Controller(arm.robot.joint_names, arm.home, settings, stamp)
    return ControllerServer(
        node, controller, Gripper(node["gripper_latency"]), offer_of(node), **callbacks
    )


LONGEST = 1_000_000_000
"""[ns] A clock that goes further at once, or back, was set: the joints do not move meanwhile."""


class MockController(ServingNode):
    """The server, driven by the node's clock."""

    PARAMETERS = (
        Declared("robot", "", "robot YAML; empty: config/robots/ur5.yaml"),
        *CONTROLLER,
    )

    def __init__(self, **options: Any) -> None:
        super().__init__("mock_controller", **options)
        arm = load_arm(self["robot"] or share_folder() / "config" / "robots" / "ur5.yaml")
        self.server = served(self, arm, self._now(), on_gripper=self._on_gripper)
        self.create_timer(1.0 / self["control_rate"], self._advance)

    def _now(self) -> int:
        return self.get_clock().now().nanoseconds

    def _advance(self) -> None:
        now, server = self._now(), self.server
        server.offer = replace(server.offer, state_rate=self["state_rate"])
        server.controller.speed_scaling = self["speed_scaling"]
        settings = server.controller.settings
        server.controller.settings = replace(settings, version=self["version"])
        if not 0 <= now - server.controller.time <= LONGEST:
            server.controller.set_clock(now)
            server.set_clock()
        server.advance(now)

    def _on_gripper(self, stamp: int, is_open: bool) -> None:
        self.get_logger().info(f"gripper {'open' if is_open else 'closed'} at {stamp / 1e9:.3f} s")


main = partial(run_node, MockController)
"""Console script `mock_controller`."""

if __name__ == "__main__":
    raise SystemExit(main())
