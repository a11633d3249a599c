"""Planned motions of legged and wheeled robots, tracked in MuJoCo in open loop [G 2.6, 3.4, 3.5].

Every plan is found from a standing robot; its joints and wheels are then followed for some periods
by a simulator that knows the robot's URDF and nothing of the plan (`locomotion_simulator.py`).

pd            PD motors that are told the plan's angles and speeds, as in the thesis
with_efforts  the same, told ahead by the efforts of inverse dynamics under the plan's forces over
              the motor's stiffness, so that legs do not sag
slippery      the latter on a ground of friction 0.6, less than the plan's 0.7
VARIED        plans of other settings than those that terms and weights were looked at with

speed_error   mean speed of the centre of mass along the plan's direction, over the plan's, less 1,
              after the first period; turn_error: the same of the body's turn
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from diffsim_ros.planning.locomotion import (
    LeggedRobot,
    LocomotionConfig,
    LocomotionGoals,
    LocomotionMotion,
    densified,
    generate,
    load_legged_robot,
    named_gait,
)
from diffsim_ros.rotation import quat_yaw

from .common import ROOT, judged, share
from .locomotion_simulator import EVERY, STEP, Ground, Motors, Simulated, followed

ROBOTS = ROOT / "config" / "locomotion" / "robots"
BAR = 0.06
"""Of the plan's speed [G 2.6.2]."""
FINE = 96
"""Samples of a period between which joints are splines."""
BALLS = {"solo12": 0.016, "anymal": 0.031}
"""Radii of feet [m] that their descriptions give."""
FOOT = 0.004
"""Of point feet [m]."""
PERIODS = 6
COLUMNS = {
    "pd": (Motors(), 0.8),
    "with_efforts": (Motors(feed_forward=True), 0.8),
    "slippery": (Motors(feed_forward=True), 0.6),
}
"""Motors and friction of the ground."""


@dataclass(frozen=True)
class Row:
    """A robot and what it is to do in a period: travel [m] ahead, None: any; turn [rad].

    swing  height of feet in the air [m]
    """

    name: str
    robot: str
    gait: str
    duration: float
    travel: float | None
    turn: float = 0.0
    samples: int = 24
    swing: float = 0.03

    def config(self, **more: Any) -> LocomotionConfig:
        """What the generator is asked for."""
        robot = load_legged_robot(ROBOTS / f"{self.robot}.yaml")
        travel = None if self.travel is None else (self.travel, 0.0)
        return LocomotionConfig(
            self.name, self.name, robot, named_gait(robot, self.gait, self.samples), self.duration,
            self.swing, goals=LocomotionGoals(travel=travel, turn=self.turn), **more,
        )  # fmt: skip


TURN = math.radians(20.0)
ROWS = (
    Row("quadruped trot", "quadruped", "trot", 0.5, 0.15),
    Row("quadruped walk", "quadruped", "walk", 0.8, 0.1),
    Row("quadruped turn", "quadruped", "trot", 0.5, 0.0, TURN, swing=0.02),
    Row("solo12 trot", "solo12", "trot", 0.5, 0.15),
    Row("solo12 walk", "solo12", "walk", 0.8, 0.1),
    Row("solo12 turn", "solo12", "trot", 0.5, 0.0, TURN),
    Row("anymal trot", "anymal", "trot", 0.8, 0.3, swing=0.05),
    Row("hexapod wave", "hexapod", "wave", 0.8, 0.1),
    Row("agilebot drive", "agilebot", "roll", 0.8, 0.15),
    Row("agilebot step and roll", "agilebot", "trot", 1.0, 0.2, swing=0.04),
    Row("agilebot turn", "agilebot", "trot", 0.8, 0.0, TURN, swing=0.04),
    Row("swizzlebot swizzle", "swizzlebot", "roll", 1.2, 0.5),
    Row("swizzlebot turn", "swizzlebot", "roll", 1.2, None, TURN),
    Row("swizzlebot_5 swizzle", "swizzlebot_5", "roll", 1.2, 0.36),
    Row("skatebot two-leg skating", "skatebot", "trot", 1.2, 0.3, swing=0.04),
    Row("creature3 walk", "creature3", "wave", 0.8, 0.1, samples=12),
    Row("legbot trot", "legbot", "trot", 0.5, 0.1, swing=0.04),
    Row("brainbot swizzle", "brainbot", "roll", 2.0, 0.2),
    Row("dinobot skating", "dinobot", "trot", 2.0, 0.8, swing=0.04),
)


def slower(row: Row) -> Row:
    """Longer periods and shorter travel, more samples."""
    travel = None if row.travel is None else 0.8 * row.travel
    return replace(row, duration=1.2 * row.duration, travel=travel, samples=row.samples * 5 // 4)


def quicker(row: Row) -> Row:
    """Shorter periods, smaller turns and higher swings."""
    return replace(row, duration=0.9 * row.duration, turn=0.7 * row.turn, swing=1.4 * row.swing)


VARIED = {"slower": slower, "quicker": quicker}


def planned(row: Row) -> tuple[LocomotionConfig, LocomotionMotion]:
    """What was asked for, and its motion with feet that stand between samples, too."""
    config = row.config()
    motion = generate(config)
    ball = BALLS.get(row.robot, FOOT)
    balls = {one.name: ball for one in config.robot.end_effectors if one.kind == "point"}
    return config, densified(config.robot, motion, max(1, FINE // row.samples), balls=balls)


def tracked(
    robot: LeggedRobot, motion: LocomotionMotion, motors: Motors, periods: int = PERIODS,
    friction: float = 0.8,
) -> tuple[Simulated, dict[str, float]]:  # fmt: skip
    """The robot in MuJoCo, and figures of it."""
    ground = Ground(friction, foot=BALLS.get(robot.name, FOOT))
    seen = followed(robot, motion, periods, ground=ground, motors=motors)
    return seen, figures_of(robot, motion, seen)


def figures_of(robot: LeggedRobot, motion: LocomotionMotion, seen: Simulated) -> dict[str, float]:
    """Speed, turn, posture and path of what a robot did, beside its plan."""
    plan = motion.at(seen.times)
    one = round(motion.duration / STEP)
    time = seen.times[-1] - seen.times[one]

    def speed(com: np.ndarray, of: np.ndarray) -> float:
        """Along the plan's horizontal direction: paths of turning robots are curved."""
        steps, along = np.diff(com[one::EVERY, :2], axis=0), np.diff(of[one::EVERY, :2], axis=0)
        along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
        return float((steps * along).sum() / time)

    def turned(base: np.ndarray) -> float:
        yaw = np.unwrap(quat_yaw(base[:, 3:]))
        return float(yaw[-1] - yaw[one]) / time

    drives = float(np.linalg.norm(motion.velocity[:2])) > 0.02
    straight = drives and abs(motion.travel[3]) < 0.05
    found = {
        "plan_speed": float(np.linalg.norm(motion.velocity[:2])),
        "speed": float(
            (seen.com[-1] - seen.com[one])[:2] @ _unit(motion.velocity[:2]) / time
            if straight else speed(seen.com, plan.com)
        ),
        "plan_turn_rate": turned(plan.base), "turn_rate": turned(seen.base),
        "path_error": float(np.linalg.norm(seen.com - plan.com, axis=1).max()),
        "least_height": float(seen.base[:, 2].min() / plan.base[:, 2].min()),
        "tilt_deg": float(np.rad2deg(seen.tilt.max())),
        "plan_tilt_deg": float(np.rad2deg(_tilt(motion.base).max())),
        "joint_error": float(np.sqrt(np.mean((seen.positions - plan.positions) ** 2))),
        "scuffing": scuffing(robot, motion, seen),
        "on_its_belly": float((seen.belly > 0).mean()),
    }  # fmt: skip
    if straight:
        found["speed_error"] = found["speed"] / found["plan_speed"] - 1
    else:
        found["turn_error"] = float(found["turn_rate"] / found["plan_turn_rate"] - 1)
    found["upright"] = bool(found["least_height"] > 0.8 and found["tilt_deg"] < 30)
    return found


def scuffing(robot: LeggedRobot, motion: LocomotionMotion, seen: Simulated) -> float:
    """Share of the weight that feet carry while the plan has them in the air."""
    times = seen.times[::EVERY]
    near = np.floor(times / motion.step + 0.5).astype(int) % motion.samples
    air = ~motion.contact[near]
    return float((seen.loads[: len(times)] * air).sum(axis=1).mean() / (robot.mass * 9.81))


def _unit(shift: np.ndarray) -> np.ndarray:
    return shift / np.linalg.norm(shift)


def _tilt(base: np.ndarray) -> np.ndarray:
    return np.arccos(np.clip(1 - 2 * (base[:, 3] ** 2 + base[:, 4] ** 2), -1, 1))


# Table 3.2: joints of swizzling robots by their motors a leg


LEGS = ("2", "2_steered", "3", "4", "5")
"""Motors a leg of the SwizzleBots; those of the thesis and one of two motors that can steer."""
MEASURES = ("joint_speed", "joint_acceleration", "rms_acceleration")


def swizzles(
    legs: Sequence[str] = LEGS, resistances: Sequence[float] = (0.005, 0.01, 0.02), starts: int = 4
) -> dict[str, dict]:
    """Joints at 0.3 m/s: mean |speed| [rad/s], mean |acceleration| and its root mean square
    [rad/s^2], by rolling resistance.

    Each robot begins standing, from the motion with the last resistance, and with joints that sway;
    the motion with the least E counts.
    """
    found: dict[str, dict] = {}
    for leg in legs:
        row, motion = Row(leg, f"swizzlebot_{leg}", "roll", 1.2, 0.36), None
        found[f"{leg} motors"] = {}
        for resistance in resistances:
            config = row.config(rolling_resistance=resistance)
            standing = generate(config)
            motions = [standing, *(generate(config, start=one) for one in [motion] if one)]
            motions += [generate(config, start=_swayed(standing, k)) for k in range(1, starts)]
            reached = [one for one in motions if one.status == "reached"]
            motion = min(reached or motions, key=lambda one: one.values[-1])
            times = np.arange(0, motion.duration, 1 / 240)
            speeds, accelerations = (motion.joint_splines()(times, order) for order in (1, 2))
            found[f"{leg} motors"][f"{resistance:g}"] = {
                "status": motion.status,
                "joint_speed": float(np.abs(speeds).mean()),
                "joint_acceleration": float(np.abs(accelerations).mean()),
                "rms_acceleration": float(np.sqrt((accelerations**2).mean())),
            }
    return found


def _swayed(motion: LocomotionMotion, seed: int) -> LocomotionMotion:
    rng = np.random.default_rng(seed)
    phase = 2 * np.pi * np.arange(motion.samples)[:, None] / motion.samples
    size = rng.uniform(-0.15, 0.15, len(motion.joints))
    waves = np.sin(phase + rng.uniform(0, 2 * np.pi, len(motion.joints)))
    return replace(motion, positions=motion.positions + size * waves)


# Table 3.3: greatest speeds

FASTEST = {
    "agilebot walking, wheels held": Row("", "legbot", "walk", 0.8, 0.1, samples=12, swing=0.02),
    "agilebot rolling": Row("", "agilebot", "roll", 0.8, 0.1, samples=12),
    "agilebot walking and rolling": Row("", "agilebot", "walk", 0.8, 0.1, samples=12, swing=0.02),
    "swizzlebot": Row("", "swizzlebot", "roll", 1.2, 0.3),
    "skatebot": Row("", "skatebot", "trot", 1.2, 0.3, samples=12, swing=0.02),
}
MEASURED = {
    "agilebot walking, wheels held": 0.1483, "agilebot rolling": 0.3380,
    "agilebot walking and rolling": 0.4762, "swizzlebot": 0.6897, "skatebot": 0.9677,
}  # fmt: skip
"""[G Table 3.3], of the real robots [m/s]."""


HIGHEST = 3.0
"""Speed [m/s] up to which is searched; passive wheels reach it."""


def greatest_speed(found: Callable[[float], bool], low: float, high: float, rounds: int) -> float:
    """Greatest speed [m/s] that is found, by bisection; 0: not even `low`."""
    if not found(low):
        return 0.0
    if found(high):
        return high
    for _ in range(rounds):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if found(middle) else (low, middle)
    return low


def fastest(rounds: int = 6) -> dict[str, dict]:
    """Greatest speeds [m/s] of FASTEST beside the thesis'.

    planned   for which a plan is found
    followed  of plans that the robot in MuJoCo follows within the bar without falling over;  goes:
              how fast it goes then
    """
    out = {}
    for name, row in FASTEST.items():

        def at(speed: float, row: Row = row) -> Row:
            return replace(row, travel=speed * row.duration)

        def found(speed: float, at: Callable[[float], Row] = at) -> bool:
            return generate(at(speed).config()).status == "reached"

        def kept(speed: float, at: Callable[[float], Row] = at) -> dict[str, float]:
            config, motion = planned(at(speed))
            if motion.status != "reached":
                return {}
            _, seen = tracked(config.robot, motion, COLUMNS["with_efforts"][0])
            return seen if seen["upright"] and _error(seen) <= BAR else {}

        assert row.travel is not None
        usual = row.travel / row.duration
        followed = greatest_speed(lambda v, kept=kept: bool(kept(v)), usual, HIGHEST, rounds)
        out[name] = {
            "planned": greatest_speed(found, 0.02, HIGHEST, rounds), "followed": followed,
            "goes": kept(followed)["speed"] if followed else 0.0, "thesis": MEASURED[name],
        }  # fmt: skip
    return out


def varied(rows: Sequence[Row] = ROWS) -> dict[str, dict]:
    """Errors with efforts of VARIED rows, and how many are within the bar and upright."""
    found: dict[str, dict] = {}
    for name, change in VARIED.items():
        errors, within = {}, 0
        for row in map(change, rows):
            config, motion = planned(row)
            _, seen = tracked(config.robot, motion, COLUMNS["with_efforts"][0])
            errors[row.name] = round(_error(seen), 4)
            within += motion.status == "reached" and seen["upright"] and _error(seen) <= BAR
        found[name] = {"within_bar": within, "errors": errors}
    return found


def study(fraction: float = 1.0) -> dict:
    """The whole study; a part of it for tests."""
    rows = ROWS[: share(len(ROWS), fraction)]
    figures: dict[str, Any] = {"rows": {}}
    missed = []
    for row in rows:
        config, motion = planned(row)
        columns: dict[str, Any] = {"status": motion.status}
        for name, (motors, friction) in COLUMNS.items():
            periods = PERIODS if fraction >= 1 else 3
            _, columns[name] = tracked(config.robot, motion, motors, periods, friction)
        figures["rows"][row.name] = columns
        print(f"{row.name}: {[round(_error(columns[k]), 3) for k in COLUMNS]}", flush=True)
        missed += _missed(row, columns)
    figures["outside"] = {
        name: round(_error(one["with_efforts"]), 3)
        for name, one in figures["rows"].items()
        if _error(one["with_efforts"]) > BAR or not one["with_efforts"]["upright"]
    }
    figures["within_bar"] = {
        column: sum(_error(one[column]) <= BAR for one in figures["rows"].values())
        for column in COLUMNS
    }
    if fraction >= 1:
        figures["varied"] = varied()
        figures["swizzles"] = swizzles()
        figures["fastest"] = fastest()
        missed += _disordered(figures["swizzles"], figures["fastest"])
    return judged(figures, missed)


def _error(figures: Mapping[str, float]) -> float:
    return abs(figures.get("speed_error", figures.get("turn_error", math.inf)))


def _missed(row: Row, columns: Mapping[str, Any]) -> list[str]:
    found = columns["with_efforts"]
    missed = []
    if columns["status"] != "reached":
        missed.append(f"{row.name}: plan {columns['status']}")
    if not found["upright"]:
        missed.append(f"{row.name}: falls")
    if _error(found) > BAR:
        missed.append(f"{row.name}: {100 * _error(found):.1f} % from the plan's speed")
    return missed


EQUAL = 1.02
"""Joints that need this much more at most count as equal."""


def _disordered(swizzles: Mapping[str, dict], fastest: Mapping[str, dict]) -> list[str]:
    """Orders of the thesis' tables that do not come out."""
    missed = []
    for key in MEASURES:
        means = [np.mean([one[key] for one in swizzles[f"{n} motors"].values()]) for n in "2345"]
        for n, (few, more) in enumerate(pairwise(means), start=2):
            if more > EQUAL * few:
                missed.append(f"swizzles: {key} of {n + 1} motors {more:.2f}, of {n} {few:.2f}")
    for slow, quick in pairwise(MEASURED):
        one, other = fastest[slow]["goes"], fastest[quick]["goes"]
        if one >= other and min(fastest[slow]["followed"], fastest[quick]["followed"]) < HIGHEST:
            missed.append(f"fastest: {slow} {one:.2f} m/s, {quick} {other:.2f}")
    return missed
