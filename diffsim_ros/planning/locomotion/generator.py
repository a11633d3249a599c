"""Motions of legged robots found by the engine's motion generator [G 2.4, 3.3]."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from diffsim_ros import _engine

from .config import LocomotionConfig
from .legged_robot import LeggedRobot
from .motion import (
    GoalDistance,
    LocomotionMotion,
    Violation,
    engine_plan,
    moved_by_periods,
)

GRAVITY = 9.81
"""[m/s^2] by which forces in weights become newtons."""
RELAXED = 0.1
"""Weight of regularizers where a motion misses its goals."""
SWAY = 0.15
"""[rad] by which joints sway at most in a start at random."""

Progress = Callable[[int, int, float], None]
"""Called with the attempt, its iteration and E."""


@lru_cache(maxsize=16)
def engine_model(robot: LeggedRobot, resistance: float = 0.0) -> Any:
    """The engine's `LeggedModel` of a robot; resistance: rolling resistance of free wheels."""
    model, mounts, legs = robot.model(), robot.mounts(), list(robot.legs)
    names = [link.name for link in model.links]
    effectors = []
    for k, effector in enumerate(robot.end_effectors):
        one: dict[str, Any] = {
            "name": effector.name, "kind": "passive" if effector.kind == "skate" else effector.kind,
            "link": names[mounts.links[k]], "position": mounts.positions[k],
            "leg": legs.index(effector.leg),
        }  # fmt: skip
        if effector.kind != "point":
            one |= {"axis": mounts.axes[k], "radius": effector.radius}
        if one["kind"] == "passive":
            one["resistance"] = resistance
        if math.isfinite(effector.speed):
            one["speed"] = effector.speed
        effectors.append(one)
    ranges = np.stack([robot.lower, robot.upper, robot.speed], axis=1).reshape(-1, 3)
    clear = [(names[link], position) for link, position in robot.clear_points()]
    return _engine.LeggedModel(model, effectors, ranges, robot.settled_state(), clear)


def engine_task(config: LocomotionConfig) -> Any:
    """The engine's `MotionTask` of a motion."""
    goals, footfall = config.goals, config.footfall
    heights = footfall.heights(config.swing_height)
    if config.begin is not None:
        heights = config.begin.heights(footfall, config.swing_height)
    return _engine.MotionTask(
        config.step, footfall.contact, heights,
        friction=config.friction, apart=config.apart, ground=config.ground,
        end="periodic" if config.periodic else "rest", fixed=0 if config.periodic else 2,
        travel=None if goals.travel is None else np.array(goals.travel), turn=goals.turn,
        height=goals.height, stance=goals.stance,
        places=[(one.sample, one.effector, np.array(one.place)) for one in goals.places],
        ceilings=[(one.first, one.last, one.height) for one in goals.ceilings],
    )  # fmt: skip


def generate(
    config: LocomotionConfig,
    *,
    start: LocomotionMotion | None = None,
    progress: Progress | None = None,
    cancel: Any = None,
) -> LocomotionMotion:
    """The motion that a plan asks for; its `status` says whether it is found.

    start   a motion of the same robot and footfall pattern to begin with, for changed goals
    cancel  `_engine.CancelToken`: ends the search with the best so far, whose status says so
    The first attempt begins with a robot that stands, the second with the four steps of a warm
    start [G 3.3] (`config.warm_start`: the other way round), others with joints that sway at
    random; the fourth has less regularization and goes on from the best motion, where that holds
    all constraints.  The best motion is returned: one that holds all constraints before one that
    does not, then by E.
    """
    began = time.perf_counter()
    problem = _engine.MotionProblem(
        engine_model(config.robot, config.rolling_resistance), engine_task(config)
    )
    options = _engine.MotionSolverOptions()
    options.iterations = config.iterations
    rng = np.random.default_rng(config.seed)
    first, weight, begin = problem.standing(), config.robot.mass * GRAVITY, config.begin
    if begin is not None:
        begin.check(config.place, config.footfall, config.robot.joint_names, config.step)
        first = begin.placed(first, weight)
    standing = first
    if start is not None:
        first = engine_plan(start, weight)
        first = first if begin is None else begin.begun(first, weight)
    best: tuple[tuple[bool, bool, float], LocomotionMotion] | None = None
    iterations = 0
    starts = ["standing", "warm", "swaying", "relaxed"] + ["swaying"] * config.attempts
    if config.warm_start and start is None:
        starts[:2] = ["warm", "standing"]
    for attempt in range(config.attempts):

        def watch(iteration: int, value: float, attempt: int = attempt) -> bool:
            if progress is not None:
                progress(attempt, iteration, value)
            return cancel is None or not cancel.cancelled

        kind, plan = starts.pop(0), first
        problem.regularize(RELAXED if kind == "relaxed" else 1.0)
        if kind == "warm":
            plan = problem.warm_start(standing, options, watch)["plan"]
        elif kind == "relaxed" and best is not None and best[1].holds:
            plan = engine_plan(best[1])
        elif kind != "standing":
            plan = _swaying(config, first, rng, attempt)
        found = problem.solve(plan, options, watch)
        iterations += found["iterations"]
        motion = _motion(config, problem, found, iterations, time.perf_counter() - began)
        if best is None or rank(motion, found["value"]) < best[0]:
            best = rank(motion, found["value"]), motion
        if motion.status in ("reached", "cancelled"):
            break
    assert best is not None
    return best[1]


def rank(motion: LocomotionMotion, value: float) -> tuple[bool, bool, float]:
    """Order of motions, the best first: those that hold all constraints, of these those that reach
    all goals, of these by E."""
    return not motion.holds, motion.status != "reached", value


def _swaying(
    config: LocomotionConfig, plan: Mapping, rng: np.random.Generator, attempt: int
) -> dict:
    """A plan whose joints and wheels sway: one or two waves in a period, of random phase."""
    samples, joints = len(plan["x"]), len(config.robot.joint_names)
    share = np.arange(samples) / samples
    size = SWAY * (1 + attempt) / 2
    moved = {name: np.array(value) for name, value in plan.items()}
    for k in range(joints):
        waves, phase = rng.integers(1, 3), rng.uniform(0, 2 * np.pi)
        moved["q"][:, 7 + k] += (
            size * rng.uniform(-1, 1) * np.sin(2 * np.pi * waves * share + phase)
        )
    moved["q"][:, 7:] = np.clip(moved["q"][:, 7:], config.robot.lower, config.robot.upper)
    if not config.periodic:
        moved["q"][:2] = plan["q"][:2]
    return moved


def _motion(
    config: LocomotionConfig, problem: Any, found: Mapping, iterations: int, seconds: float
) -> LocomotionMotion:
    plan, robot = found["plan"], config.robot
    names = tuple(effector.name for effector in robot.end_effectors)
    weight = robot.mass * GRAVITY
    constraints = []
    for row in problem.report(plan):
        if row["kind"] != "constraint" or row["sample"] < 0:
            continue
        effector = f" of {names[row['effector']]}" if row["effector"] >= 0 else ""
        where = f"sample {row['sample']}{effector}"
        constraints.append(
            Violation(row["name"], row["worst"], row["tolerance"], row["unit"], where)
        )
    return LocomotionMotion(
        config.name, config.step, config.periodic, robot.joint_names, names,
        com=plan["x"], base=plan["q"][:, :7], positions=plan["q"][:, 7:], contacts=plan["e"],
        contact=config.footfall.contact, forces=weight * plan["f"], spins=plan["spin"],
        yaw=plan["yaw"], tilt=plan["tilt"], travel=plan["travel"],
        constraints=tuple(constraints), goals=_distances(config, plan), iterations=iterations,
        seconds=seconds, values=tuple(found["values"]), cancelled=found["status"] == "cancelled",
        begin_rates=() if config.begin is None else config.begin.rates(plan),
    )  # fmt: skip


def _distances(config: LocomotionConfig, plan: Mapping) -> tuple[GoalDistance, ...]:
    goals, found = config.goals, []
    near, turn = goals.tolerance, goals.turn_tolerance

    def add(name: str, distance: Any, tolerance: float, unit: str) -> None:
        found.append(GoalDistance(name, float(abs(distance)), tolerance, unit))

    if config.periodic:
        end = moved_by_periods(plan["x"][0], plan["travel"], 1)[:2]
        turned = plan["travel"][3]
    else:
        end = plan["x"][-1, :2]
        yaws = np.arctan2(plan["R"][[0, -1], 1, 0], plan["R"][[0, -1], 0, 0])
        turned = math.remainder(yaws[1] - yaws[0], 2 * math.pi)
    if goals.travel is not None:
        add("travel", np.linalg.norm(end - plan["x"][0, :2] - goals.travel), near, "m")
    if goals.turn is not None:
        add("turn", math.remainder(turned - goals.turn, 2 * math.pi), turn, "rad")
    if goals.height is not None and config.ground is None:
        add("height", np.abs(plan["x"][:, 2] - goals.height).max(), near, "m")
    for goal in goals.places:
        at = plan["x"][goal.sample] if goal.effector < 0 else plan["e"][goal.sample, goal.effector]
        of = "centre_of_mass" if goal.effector < 0 else config.footfall.names[goal.effector]
        away = np.nan_to_num(at - np.array(goal.place))
        name = f"{of} at {goal.sample * config.step:.3g} s"
        add(name, np.linalg.norm(away), near, "m")
    return tuple(found)
