"""Legged motions tracked by predictive control and inverse dynamics, beside open loop [G 3.6].

Ducking, turning in place by 90 degrees, duck-turn-duck and a trot, from rest to rest, in MuJoCo and
in the engine's own simulation; on slippery ground (friction 0.8 less 30 %), with a payload of 10 %
of the mass; and pushed while trotting.

feedback   torques of `TrackingController` at 500 Hz from the true state
open_loop  PD motors told the motion's angles, speeds and efforts (`tracking_mujoco.OpenLoop`)
error      of the base's position beside the motion, root of the mean square and largest [m];
turn_error largest angle [rad]
pushes     of impulses along an axis, 0.3 m/s times the mass apart: the last one before the first of
           which the robot falls, at the worse of two phases of the gait; share survived of all
unforeseen pushes of drawn directions, sizes and times on drawn ground, with drawn payloads
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from diffsim_ros.planning.locomotion import (
    LeggedRobot,
    LocomotionConfig,
    LocomotionGoals,
    generate,
    load_legged_robot,
    named_gait,
)
from diffsim_ros.planning.locomotion.config import Ceiling
from diffsim_ros.planning.locomotion.tracking import (
    ComposedMotion,
    InverseDynamics,
    MotionLibrary,
    TrackingController,
)
from diffsim_ros.rotation import quat_conjugate, quat_log, quat_multiply

from . import tracking_engine, tracking_mujoco
from .common import judged
from .locomotion_mujoco import BALLS, FOOT, ROBOTS
from .tracking_mujoco import OpenLoop, Tracked, World

NAMES = ("quadruped", "solo12")
FRICTION = 0.8
WORLDS = {
    "nominal": World(FRICTION),
    "slippery": World(0.7 * FRICTION),
    "loaded": World(FRICTION, payload=0.1),
}
MOTIONS: dict[str, list] = {
    "duck": ["duck"],
    "turn": ["turn"],
    "duck_turn_duck": ["duck", "turn", "duck"],
    "trot": ["trot"],
}
STAND = ("stand", 0.3)
PHASES = (1.67, 1.795)
"""When pushes begin [s]: a quarter of the trot's period apart."""
BEFORE = 0.3
"""[s] before a push at which a robot begins, as the motion is there."""
AXES = {"forward": (1.0, 0.0), "sideways": (0.0, 1.0)}
PUSHES = tuple(round(0.3 * k, 1) for k in range(1, 7))
"""Impulses over mass [m/s] that are tried."""
SPAN = (0.9, 2.6)
"""When drawn pushes begin [s]: while the robot trots."""
DRAWN = 60
AFTER = 1.0
"""[s] that a pushed robot has to stay up."""
BAR = 0.02
"""Root mean square of the base's error [m] with feedback, without pushes."""
TICK = 0.02
"""[s] that a tick may take: 50 Hz."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A robot with its motions; foot: radius of its feet [m]."""

    robot: LeggedRobot
    library: MotionLibrary
    foot: float

    def motion(self, name: str) -> ComposedMotion:
        """One of MOTIONS between standing."""
        return self.library.compose([STAND, *MOTIONS[name], STAND])


def subject(name: str, steps: int = 6) -> Subject:
    """The robot of that name; its trot and turn have so many periods."""
    robot = load_legged_robot(ROBOTS / f"{name}.yaml")
    ball = BALLS.get(name, 0.0)
    library = MotionLibrary(robot, {}, balls={e.name: ball for e in robot.end_effectors})
    height = robot.centre_of_mass(robot.stance, robot.standing_base())[2]
    still = named_gait(robot, "none", 25, periodic=False)
    trot = named_gait(robot, "trot", 16, duty=0.6)
    walk = trot.repeated(steps, before=8, after=8)
    step = 0.5 / 16
    duck = LocomotionGoals(stance=True, ceilings=(Ceiling(10, 14, 0.7 * height),))
    ahead = LocomotionGoals(travel=(0.1 * steps, 0.0), turn=0.0, stance=True)
    turn = LocomotionGoals(travel=(0.0, 0.0), turn=math.radians(15.0 * steps), stance=True)
    for key, pattern, goals, duration in (
        ("duck", still, duck, 1.2),
        ("trot", walk, ahead, step * (walk.samples - 1)),
        ("turn", walk, turn, step * (walk.samples - 1)),
    ):
        config = LocomotionConfig(
            key, key, robot, pattern, duration, 0.03, friction=0.5, goals=goals
        )
        motion = generate(config)
        if motion.status != "reached":
            raise RuntimeError(f"{name}: {key} is {motion.status}")
        library.add(key, motion)
    return Subject(robot, library, BALLS.get(name, FOOT))


def controlled(own: Subject, motion: ComposedMotion) -> TrackingController:
    """The controller as users have it."""
    return TrackingController(own.robot, motion, balls=own.library.balls)


def figures_of(motion: ComposedMotion, seen: Tracked) -> dict[str, Any]:
    """How near a robot came."""
    of = motion.at(seen.times)
    away = np.linalg.norm(seen.q[:, :3] - of.q[:, :3], axis=1)
    turn = quat_log(quat_multiply(quat_conjugate(of.q[:, 3:7]), seen.q[:, 3:7]))
    return {
        "fell": seen.fell,
        "rms": float(np.sqrt(np.mean(away**2))), "largest": float(away.max()),
        "turn_error": float(np.linalg.norm(turn, axis=1).max()),
        "torque": float(np.abs(seen.torques).max()),
    }  # fmt: skip


def both(own: Subject, motion: ComposedMotion) -> dict[str, tracking_mujoco.Policy]:
    """What moves a robot with feedback and in open loop."""
    held = OpenLoop(own.robot, motion, InverseDynamics(own.robot, balls=own.library.balls))
    return {"feedback": controlled(own, motion).torques, "open_loop": held}


def followed(
    own: Subject, motion: ComposedMotion, world: World, *, engine: bool = False
) -> dict[str, Any]:
    """A motion in one world: with feedback, open loop, and in the engine."""
    controller, found = controlled(own, motion), {}
    seen = tracking_mujoco.simulated(own.robot, motion, controller.torques, world, foot=own.foot)
    found["feedback"] = figures_of(motion, seen)
    held = both(own, motion)["open_loop"]
    seen = tracking_mujoco.simulated(own.robot, motion, held, world, foot=own.foot)
    found["open_loop"] = figures_of(motion, seen)
    ticks = controller.timing
    found["ms"] = {
        "mpc_median": 1e3 * float(np.median(ticks.mpc)), "mpc_largest": 1e3 * max(ticks.mpc),
        "dynamics_median": 1e3 * float(np.median(ticks.dynamics)),
    }  # fmt: skip
    found["unsolved"] = ticks.unsolved
    if engine:
        seen = tracking_engine.simulated(
            own.robot, motion, controlled(own, motion).torques, world, foot=own.foot
        )
        found["engine"] = figures_of(motion, seen)
    return found


def ended(own: Subject, motion: ComposedMotion, world: World, *, feedback: bool) -> float | None:
    """Where the base is AFTER the push of a world, beside the motion [m]; None: it fell."""
    policy = both(own, motion)["feedback" if feedback else "open_loop"]
    begin, until = world.push_time - BEFORE, world.push_time + AFTER
    seen = tracking_mujoco.simulated(
        own.robot, motion, policy, world, foot=own.foot, begin=begin, until=until
    )
    if seen.fell:
        return None
    return float(np.linalg.norm(seen.q[-1, :3] - motion.at(seen.times[-1:]).q[0, :3]))


def pushed(world: World, axis: str, speed: float, mass: float, time: float) -> World:
    """A world with a push of `speed` [m/s] times the robot's mass."""
    x, y = AXES[axis]
    impulse = (speed * mass * x, speed * mass * y, 0.0)
    return World(world.friction, world.payload, impulse, time)


def pushes(own: Subject, world: World, axis: str, *, feedback: bool) -> dict[str, float]:
    """largest: of PUSHES the last before the first that fells the robot in a phase; survived: share
    of all of them, in all phases."""
    motion = own.motion("trot")
    up = np.array([
        [ended(own, motion, pushed(world, axis, speed, own.robot.mass, time), feedback=feedback)
         is not None for time in PHASES]
        for speed in PUSHES
    ])  # fmt: skip
    all_up = [*up.all(axis=1), False]
    first = all_up.index(False)
    return {"largest": PUSHES[first - 1] if first else 0.0, "survived": float(up.mean())}


def unforeseen(
    own: Subject, motion: ComposedMotion, span: tuple[float, float], count: int, seed: int
) -> dict[str, Any]:
    """Pushes of 0.3 to 1.8 m/s in any direction within `span` [s], frictions of 0.5 to 0.9,
    payloads of 0 to 15 %; alone: survived that way only."""
    rng = np.random.default_rng(seed)
    ends: dict[str, list[float | None]] = {"feedback": [], "open_loop": []}
    for _ in range(count):
        angle, size = rng.uniform(0, 2 * math.pi), own.robot.mass * rng.uniform(0.3, 1.8)
        world = World(
            rng.uniform(0.5, 0.9), rng.uniform(0.0, 0.15),
            (size * math.cos(angle), size * math.sin(angle), 0.0), rng.uniform(*span),
        )  # fmt: skip
        for how, found in ends.items():
            found.append(ended(own, motion, world, feedback=how == "feedback"))
    together = [k for k in range(count) if all(found[k] is not None for found in ends.values())]
    return {
        "count": count,
        **{how: {
            "survived": sum(end is not None for end in found) / count,
            "alone": sum(end is not None for end in found) - len(together),
            "beside_median": float(np.median([found[k] for k in together])),
        } for how, found in ends.items()},
    }  # fmt: skip


def study(fraction: float = 1.0) -> dict:
    """The whole study; a part of it for tests."""
    figures: dict[str, Any] = {}
    missed: list[str] = []
    for name in NAMES if fraction >= 1 else NAMES[:1]:
        own = subject(name)
        rows: dict[str, Any] = {"mass": own.robot.mass, "motions": {}, "pushes": {}}
        for motion in MOTIONS:
            for key, world in WORLDS.items():
                found = followed(own, own.motion(motion), world, engine=key == "nominal")
                rows["motions"][f"{motion}, {key}"] = found
                print(name, motion, key, figures_text(found), flush=True)
                missed += missed_of(f"{name} {motion} {key}", found)
        for key, world in WORLDS.items() if name == NAMES[0] else [("nominal", WORLDS["nominal"])]:
            for axis in AXES:
                survived = {
                    how: pushes(own, world, axis, feedback=how == "feedback")
                    for how in ("feedback", "open_loop")
                }
                rows["pushes"][f"{axis}, {key}"] = survived
                print(name, axis, key, survived, flush=True)
        if fraction >= 1:
            rows["unforeseen"] = drawn = unforeseen(own, own.motion("trot"), SPAN, DRAWN, seed=5)
            print(name, drawn, flush=True)
            if fewer_survive(drawn):
                missed.append(f"{name}: fewer drawn pushes survived than in open loop")
        figures[name] = rows
    return judged(figures, missed)


def fewer_survive(drawn: Mapping[str, Any]) -> bool:
    """Whether feedback survives fewer of the same pushes than open loop, beyond chance (sign test).

    One push more or less says nothing: survival depends on the phase and is not monotone.
    """
    better, worse = (drawn[how]["alone"] for how in ("feedback", "open_loop"))
    return worse > better and binomtest(worse, better + worse).pvalue < 0.05


def figures_text(found: dict[str, Any]) -> dict[str, str]:
    """Errors in a line."""
    return {
        how: "fell" if one["fell"] else f"{1e3 * one['rms']:.1f} mm, {one['turn_error']:.3f} rad"
        for how, one in found.items()
        if isinstance(one, dict) and "rms" in one
    }


def missed_of(label: str, found: dict[str, Any]) -> list[str]:
    """Bars that a motion's figures miss."""
    missed = []
    for how in ("feedback", "engine"):
        if how in found and (found[how]["fell"] or found[how]["rms"] > BAR):
            missed.append(f"{label} {how}: falls or more than {1e3 * BAR:g} mm away")
    if found["ms"]["mpc_median"] > 1e3 * TICK:
        missed.append(f"{label}: a tick takes {found['ms']['mpc_median']:.1f} ms")
    return missed
