"""Motions of the quadruped that fit each other, and of robots on wheels: found once."""

from functools import cache
from pathlib import Path

from diffsim_ros.planning.locomotion import (
    LocomotionConfig,
    LocomotionGoals,
    generate,
    load_legged_robot,
    named_gait,
)
from diffsim_ros.planning.locomotion.config import Ceiling
from diffsim_ros.planning.locomotion.tracking import MotionLibrary

ROBOTS = Path(__file__).resolve().parents[4] / "config/locomotion/robots"


@cache
def library():
    """duck: from rest to rest, in the stance; steps: trot in place, likewise; trot: one period."""
    robot = load_legged_robot(ROBOTS / "quadruped.yaml")
    height = robot.centre_of_mass(robot.stance, robot.standing_base())[2]
    duck = LocomotionConfig(
        "duck", "duck", robot, named_gait(robot, "none", 13, periodic=False), 0.6, 0.03,
        goals=LocomotionGoals(stance=True, ceilings=(Ceiling(5, 7, 0.8 * height),)),
    )  # fmt: skip
    trot = named_gait(robot, "trot", 12, duty=0.6)
    pattern = trot.repeated(2, before=6, after=6)
    goals = LocomotionGoals(travel=(0.15, 0.0), turn=0.0, stance=True)
    steps = LocomotionConfig(
        "steps", "steps", robot, pattern, 0.5 / 12 * (pattern.samples - 1), 0.03, 0.5, goals=goals
    )
    once = LocomotionConfig(
        "trot", "trot", robot, trot, 0.5, 0.03, goals=LocomotionGoals(travel=(0.1, 0.0), turn=0.3)
    )
    found = {
        name: generate(one) for name, one in (("duck", duck), ("steps", steps), ("trot", once))
    }
    assert all(motion.status == "reached" for motion in found.values())
    return MotionLibrary(robot, found)


@cache
def rolling(name):
    """The library of that robot on wheels, and its motion that drives 15 cm from rest to rest."""
    robot = load_legged_robot(ROBOTS / f"{name}.yaml")
    pattern = named_gait(robot, "none", 25, periodic=False)
    goals = LocomotionGoals(travel=(0.15, 0.0), turn=0.0, stance=True)
    drive = generate(
        LocomotionConfig("drive", "drive", robot, pattern, 1.2, 0.03, 0.5, goals=goals)
    )
    assert drive.status == "reached"
    own = MotionLibrary(robot, {"drive": drive})
    return own, own.compose([("stand", 0.1), "drive", ("stand", 0.1)])
