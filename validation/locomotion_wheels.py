"""Robots on wheels tracked by predictive control and inverse dynamics, beside open loop [G 3.6].

Four robots: wheels with motors on legs of four joints, on ANYmal's legs; wheels that turn freely
under four legs and under three.  They drive, duck, turn and drive curves on all wheels; AgileBot
also steps while it rolls.  Worlds and figures as in `locomotion_feedback.py`.

driving, stepping  pushes while all wheels stay on the ground, and while pairs of them step
unforeseen         pushes of drawn directions, sizes and times on drawn ground, with drawn payloads:
                   share survived, and where survivors are a second later, beside the motion [m]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.planning.locomotion import (
    LocomotionConfig,
    LocomotionGoals,
    generate,
    load_legged_robot,
    named_gait,
)
from diffsim_ros.planning.locomotion.config import Ceiling
from diffsim_ros.planning.locomotion.tracking import ComposedMotion, MotionLibrary

from .common import judged
from .locomotion_feedback import (
    AXES,
    FRICTION,
    STAND,
    WORLDS,
    Subject,
    ended,
    figures_text,
    followed,
    missed_of,
    pushed,
    unforeseen,
)
from .locomotion_mujoco import FOOT, ROBOTS
from .tracking_mujoco import World

TIMES = {"driving": (1.0, 1.45), "stepping": (1.5, 1.7)}
"""When pushes begin [s]: stepping, a quarter of the period apart."""
PUSHES = tuple(round(0.3 * k, 1) for k in range(1, 9))
"""Impulses over mass [m/s] that are tried."""
DRAWN = 40


@dataclass(frozen=True)
class Course:
    """What a robot does: travel [m] ahead, turn [rad], seconds; samples of a plan."""

    travel: float
    turn: float
    duration: float
    samples: int = 25


COURSES = {
    "agilebot": Course(0.35, math.radians(45.0), 2.4),
    "anymal_wheels": Course(0.6, math.radians(30.0), 1.6),
    "swizzlebot": Course(0.4, math.radians(30.0), 2.4, 41),
    "brainbot": Course(0.3, math.radians(30.0), 3.0, 41),
}


def subject(name: str, *, steps: bool = True) -> Subject:
    """The robot of that name; its motions drive, duck, turn, curve and, of AgileBot, step."""
    robot, course = load_legged_robot(ROBOTS / f"{name}.yaml"), COURSES[name]
    library = MotionLibrary(robot, {})
    height = robot.centre_of_mass(robot.stance, robot.standing_base())[2]
    n, seconds = course.samples, course.duration
    rolls = named_gait(robot, "none", n, periodic=False)
    low = Ceiling(n // 2 - 2, n // 2 + 2, 0.8 * height)
    travel, turn = course.travel, course.turn
    asked = {
        "drive": (rolls, LocomotionGoals(travel=(travel, 0.0), turn=0.0, stance=True), seconds),
        "duck": (rolls, LocomotionGoals(stance=True, ceilings=(low,)), 1.2),
        "turn": (rolls, LocomotionGoals(travel=(0.0, 0.0), turn=turn, stance=True), seconds),
        "curve": (
            rolls,
            LocomotionGoals(travel=(travel, 0.3 * travel), turn=0.5 * turn, stance=True),
            seconds,
        ),
    }
    if name == "agilebot" and steps:
        walk = named_gait(robot, "trot", 16, duty=0.6).repeated(4, before=8, after=8)
        goals = LocomotionGoals(travel=(0.6, 0.0), turn=0.0, stance=True)
        asked["step"] = (walk, goals, 0.8 / 16 * (walk.samples - 1))
    for key, (pattern, goals, duration) in asked.items():
        swing = 0.04 if key == "step" else 0.03
        motion = generate(
            LocomotionConfig(key, key, robot, pattern, duration, swing, friction=0.5, goals=goals)
        )
        if motion.status != "reached":
            raise RuntimeError(f"{name}: {key} is {motion.status}")
        library.add(key, motion)
    return Subject(robot, library, FOOT)


def sequences(own: Subject) -> dict[str, list[str]]:
    """Motions of its library, and all of them but steps in sequence."""
    single = {name: [name] for name in own.library.motions}
    rolling = [name for name in single if name != "step"]
    return {**single, "in sequence": rolling}


def composed(own: Subject, parts: list[str]) -> ComposedMotion:
    """Between standing."""
    return own.library.compose([STAND, *parts, STAND])


def pushes(
    own: Subject, motion: ComposedMotion, world: World, axis: str, times: tuple[float, ...],
    sizes: tuple[float, ...] = PUSHES,
) -> dict[str, dict[str, float]]:  # fmt: skip
    """As of `locomotion_feedback.pushes`, with feedback and open loop; largest beside: of those who
    stayed up."""
    found = {}
    for how in ("feedback", "open_loop"):
        ends = [
            [ended(own, motion, pushed(world, axis, size, own.robot.mass, time),
                   feedback=how == "feedback") for time in times]
            for size in sizes
        ]  # fmt: skip
        up = [all(end is not None for end in row) for row in ends]
        first = [*up, False].index(False)
        flat = [end for row in ends for end in row]
        found[how] = {
            "largest": sizes[first - 1] if first else 0.0,
            "survived": sum(end is not None for end in flat) / len(flat),
            "beside_median": float(np.median([end for end in flat if end is not None])),
        }
    return found


def study(fraction: float = 1.0) -> dict:
    """The whole study; a part of it for tests."""
    figures: dict[str, Any] = {"friction": FRICTION}
    missed: list[str] = []
    for name in COURSES if fraction >= 1 else ["swizzlebot"]:
        own = subject(name)
        rows: dict[str, Any] = {"mass": own.robot.mass, "motions": {}}
        for label, parts in sequences(own).items():
            motion = composed(own, parts)
            for key, world in WORLDS.items():
                found = followed(own, motion, world)
                rows["motions"][f"{label}, {key}"] = found
                print(name, label, key, figures_text(found), flush=True)
                missed += missed_of(f"{name} {label} {key}", found)
        if fraction >= 1:
            rows["pushes"] = _all_pushes(name, own)
        figures[name] = rows
    return judged(figures, missed)


def _all_pushes(name: str, own: Subject) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    rolling, count = composed(own, ["drive"]), DRAWN if name == "agilebot" else DRAWN // 2
    if name == "agilebot":
        stepping = composed(own, ["step"])
        for key, world in WORLDS.items():
            for axis in AXES:
                found[f"stepping, {axis}, {key}"] = pushes(
                    own, stepping, world, axis, TIMES["stepping"]
                )
        for axis in AXES:
            found[f"driving, {axis}, nominal"] = pushes(
                own, rolling, WORLDS["nominal"], axis, TIMES["driving"]
            )
        found["stepping, unforeseen"] = unforeseen(own, stepping, (0.9, 3.0), count, 5)
    found["driving, unforeseen"] = unforeseen(own, rolling, (0.6, 1.6), count, 6)
    for key, one in found.items():
        print(name, key, one, flush=True)
    return found
