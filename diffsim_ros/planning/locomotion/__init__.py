"""Motions of robots with legs, wheels and skates: the robots and the footfall patterns [G 2, 3]."""

from .begin import Begin
from .build import build_robot, with_values
from .config import LocomotionConfig, LocomotionGoals, load_locomotion
from .densify import densified
from .description import DesignParameters, RobotDescription, design_parameters
from .end_effector import EndEffector
from .footfall import FootfallPattern, load_footfall, named_gait
from .generator import engine_model, generate
from .legged_robot import LeggedRobot, Mounts
from .load import load_legged_robot
from .motion import GoalDistance, LocomotionMotion, Violation
from .random_robots import gaits_of, random_robot
from .urdf_writer import urdf_text, write_urdf
from .walk import (
    Gait,
    PlannedWalk,
    WalkBegin,
    WalkGoal,
    goal_of_pose,
    goal_of_travel,
    goal_of_twist,
    plan_walk,
)
from .wheels import wheel_speeds

__all__ = [
    "Begin",
    "DesignParameters",
    "EndEffector",
    "FootfallPattern",
    "Gait",
    "GoalDistance",
    "LeggedRobot",
    "LocomotionConfig",
    "LocomotionGoals",
    "LocomotionMotion",
    "Mounts",
    "PlannedWalk",
    "RobotDescription",
    "Violation",
    "WalkBegin",
    "WalkGoal",
    "build_robot",
    "densified",
    "design_parameters",
    "engine_model",
    "gaits_of",
    "generate",
    "goal_of_pose",
    "goal_of_travel",
    "goal_of_twist",
    "load_footfall",
    "load_legged_robot",
    "load_locomotion",
    "named_gait",
    "plan_walk",
    "random_robot",
    "urdf_text",
    "wheel_speeds",
    "with_values",
    "write_urdf",
]
