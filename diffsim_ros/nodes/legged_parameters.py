"""What the nodes of legged robots share: their parameters of robot, gait, controller."""

from __future__ import annotations

from pathlib import Path

from diffsim_ros.nodes.common import BaseNode, Declared, share_folder
from diffsim_ros.planning.locomotion import Gait, LeggedRobot, load_legged_robot
from diffsim_ros.planning.locomotion.schema import GAITS

ROBOT = Declared(
    "robot", "quadruped", "ROBOT.yaml of a legged robot, or a name in config/locomotion/robots"
)
CONTROLLER = Declared(
    "controller", "joint_trajectory_controller",
    "name of the legs' controller, before /follow_joint_trajectory and /joint_trajectory",
)  # fmt: skip
WHEELS = Declared(
    "wheels", "wheel_velocity_controller", "name of the wheels' controller, before /commands"
)
FOOT = Declared("foot", 0.004, "[m] radius of point feet that are balls", 0.0, 1.0)
GAIT = (
    Declared("gait", "trot", "for goals that name none", choices=GAITS),
    Declared("duty", 0.0, "share of the period that a foot is on the ground; 0: the gait's, of a "
             "trot 0.6", 0.0, 1.0),
    Declared("gait_period", 0.6, "[s] of the gait", 0.1, 10.0),
    Declared("samples", 12, "of a period, at which forces and poses are planned", 6, 200),
    Declared("swing_height", 0.02, "[m] of feet in the air", 0.0, 1.0),
    Declared("friction", 0.6, "coefficient of the ground that plans may rely on", 0.01, 10.0),
    Declared("joint_speed_share", 0.7, "of the joints' speeds, used at samples", 0.05, 1.0),
    Declared("max_speed", 0.3, "[m/s] that may be asked for", 0.001, 100.0),
    Declared("side_speed_share", 0.5, "of max_speed, sideways", 0.01, 1.0),
    Declared("max_turn_rate", 1.0, "[rad/s] that may be asked for", 0.001, 100.0),
    Declared("between", 3, "points that are sent per sample, where feet lift", 1, 20),
)  # fmt: skip
"""Parameters of a gait."""


def robot_of(node: BaseNode) -> LeggedRobot:
    """The node's robot; InputError."""
    given = Path(node["robot"])
    if not given.suffix:
        given = share_folder() / "config" / "locomotion" / "robots" / f"{given}.yaml"
    return load_legged_robot(given)


def gait_of(node: BaseNode, name: str) -> Gait:
    """A gait by its name, "": the node's, with the node's numbers."""
    own = not name or name == node["gait"]
    duty = node["duty"] if own and node["duty"] > 0.0 else None
    return Gait(
        name or node["gait"], duty, node["gait_period"], node["samples"], node["swing_height"],
        node["friction"], node["max_speed"], node["max_turn_rate"], node["joint_speed_share"],
        node["between"], node["foot"], node["side_speed_share"],
    )  # fmt: skip
