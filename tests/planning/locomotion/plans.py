"""Plans of shipped robots for tests."""

from pathlib import Path

from diffsim_ros.planning.locomotion import (
    Gait,
    LocomotionConfig,
    LocomotionGoals,
    load_legged_robot,
    named_gait,
)

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "locomotion" / "robots"
TROT = Gait(period=0.6, swing_height=0.02, speed=0.3, foot=0.004)
"""Of the quadruped."""


def config(robot, gait="roll", samples=12, duration=1.0, *, periodic=True, **goals):
    legged = load_legged_robot(ROBOTS / f"{robot}.yaml")
    footfall = named_gait(legged, gait, samples, periodic=periodic)
    return LocomotionConfig(
        "test", robot, legged, footfall, duration, 0.02, goals=LocomotionGoals(**goals)
    )
