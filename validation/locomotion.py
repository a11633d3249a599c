"""Motions of legged-wheeled robots: those of [G Table 2.1], random morphologies, and solvers.

Table 2.1's kinds of robots and goals, with our own descriptions, from a robot that stands with
nothing but goals and a footfall pattern; with and without the warm start [G Fig. 3.2].  Random
robots of two to six legs with random gaits and goals within their strides.  Newton's method with
Gauss-Newton's Hessian, the filtered one [G 2.4.3], the whole one, and L-BFGS [G Fig. 2.3].  Times
are CPU seconds of one thread.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from diffsim_ros import _engine
from diffsim_ros.executors import InProcess
from diffsim_ros.planning.locomotion import (
    LeggedRobot,
    LocomotionConfig,
    LocomotionGoals,
    LocomotionMotion,
    engine_model,
    gaits_of,
    generate,
    load_legged_robot,
    named_gait,
    random_robot,
)
from diffsim_ros.planning.locomotion.config import PlaceGoal
from diffsim_ros.planning.locomotion.generator import engine_task

from .common import ROOT, judged, share, side_by_side

ROBOTS = ROOT / "config" / "locomotion" / "robots"
RANDOM, REACHED = 200, 0.95
"""Random robots, and the share of them that reach their goals."""
CONSISTENCY = ("centre_of_mass", "orientation", "wheel_axis", "contact_point", "welded_wheel")
"""Constraints whose second derivatives by q the filtered Hessian leaves out."""
MOST = 60
"""Iterations in the comparison of solvers."""
NEAR = 0.05
"""A solver has arrived within this share of the least E found."""


@dataclass(frozen=True)
class Row:
    """A motion like one of [G Table 2.1]; published: seconds there, None: at interactive rates."""

    robot: str
    gait: str
    motion: str
    duration: float
    samples: int
    travel: tuple[float, float] | None
    turn: float
    published: float | None
    periodic: bool = True
    places: tuple[PlaceGoal, ...] = ()
    friction: float = 0.7


NAN = float("nan")
SLALOM = tuple(PlaceGoal(i, -1, (NAN, y, NAN)) for i, y in ((6, 0.05), (12, -0.05), (18, 0.05)))
TABLE = (
    Row("swizzlebot", "roll", "swizzle forward", 1.2, 12, (0.5, 0.0), 0.0, 4.5),
    Row("swizzlebot", "roll", "swizzle turning", 1.2, 12, None, 20.0, 3.4),
    Row("creature3", "wave", "walk", 0.8, 12, (0.1, 0.0), 0.0, 1.3),
    Row("creature3", "wave", "fast walk", 0.8, 12, (0.3, 0.0), 0.0, 2.5),
    Row("creature3", "wave", "turning", 0.8, 12, None, 20.0, 1.5),
    Row("brainbot", "roll", "swizzle forward", 2.0, 24, (0.2, 0.0), 0.0, 5.7),
    Row("brainbot", "roll", "swizzle forward and turn", 2.0, 12, None, 20.0, 5.9),
    Row("agilebot_fast", "roll", "start and stop", 0.8, 12, (1.0, 0.0), 0.0, 5.2, False,
        friction=1.0),
    Row("agilebot_fast", "trot", "turn in place", 1.6, 12, (0.0, 0.0), 20.0, 1.1),
    Row("agilebot_fast", "roll", "slalom", 1.6, 24, (0.6, 0.0), 0.0, None, places=SLALOM),
    Row("agilebot_fast", "trot", "side-step and roll", 3.0, 36, (0.3, 0.2), 0.0, None),
    Row("skatebot", "trot", "two-leg skating", 1.2, 12, (0.3, 0.0), 0.0, 11.3),
    Row("dinobot", "trot", "skating", 2.0, 12, (0.8, 0.0), 0.0, 11.0),
)  # fmt: skip


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Rows of the table, random robots and solvers; Missed: a goal of the table, or too many of the
    random ones."""
    rows = TABLE[:: round(1 / max(fraction, 0.25))]
    table = [_table_row(row) for row in rows]
    count = share(RANDOM, fraction)
    # one after the other here: CPU times are of the process
    random = side_by_side(_random_row, range(count), seed, here=InProcess(1), what="random robots")
    reached = Counter(row["status"] for row in random)["reached"]
    seconds = np.array([row["seconds"] for row in random])
    figures = {
        "table": table,
        "random": {
            "robots": count, "reached": reached,
            "seconds": dict(zip(("median", "p90", "most"),
                                np.quantile(seconds, [0.5, 0.9, 1.0]).round(3).tolist(),
                                strict=True)),
            "lack": [row for row in random if row["status"] != "reached"],
            "by_legs": _by_legs(random),
        },
    }  # fmt: skip
    if fraction >= 1:
        figures["solvers"] = [_solvers(row) for row in (TABLE[0], TABLE[2], TABLE[8])]
    missed = [f"{r['robot']}, {r['motion']}: {r['status']}" for r in table
              if r["status"] != "reached"]  # fmt: skip
    if reached < REACHED * count - (0 if fraction >= 1 else 2):
        missed.append(f"random robots: {reached} of {count} reached their goals")
    return judged(figures, missed)


def config_of(row: Row) -> LocomotionConfig:
    """The plan of a row."""
    robot = load_legged_robot(ROBOTS / f"{row.robot}.yaml")
    away = 0.0 if row.travel is None else float(np.hypot(*row.travel))
    goals = LocomotionGoals(
        travel=row.travel, turn=np.deg2rad(row.turn), places=row.places,
        tolerance=max(0.01, 0.02 * away),
    )  # fmt: skip
    pattern = named_gait(robot, row.gait, row.samples, periodic=row.periodic)
    return LocomotionConfig(
        "table", row.robot, robot, pattern, row.duration, 0.02, friction=row.friction, goals=goals
    )


def _timed(config: LocomotionConfig) -> tuple[LocomotionMotion, float]:
    began = time.process_time()
    motion = generate(config)
    return motion, time.process_time() - began


def _table_row(row: Row) -> dict:
    config = config_of(row)
    motion, seconds = _timed(config)
    once = {}
    for name, warm in (("warm", True), ("cold", False)):
        found, took = _timed(replace(config, attempts=1, warm_start=warm))
        once[name] = {
            "status": found.status, "iterations": found.iterations, "seconds": round(took, 3),
            "E": round(found.values[-1], 4) if found.values else None,
        }  # fmt: skip
    return {
        "robot": row.robot, "motion": row.motion, "gait": row.gait,
        "joints": len(config.robot.joint_names), "end_effectors": len(config.robot.end_effectors),
        "status": motion.status, "iterations": motion.iterations, "seconds": round(seconds, 3),
        "published_seconds": row.published, **once, "replanned": _replanned(config, motion),
        "residuals": {v.name: float(f"{v.worst:.2g}") for v in motion.constraints},
        "goals": {g.name: float(f"{g.distance:.2g}") for g in motion.goals},
    }  # fmt: skip


def _replanned(config: LocomotionConfig, motion: LocomotionMotion) -> dict:
    """The goal a fifth farther, from the motion there is."""
    goals = config.goals
    travel = None if goals.travel is None else (1.2 * goals.travel[0], 1.2 * goals.travel[1])
    turn = None if goals.turn is None else 1.2 * goals.turn
    changed = replace(config, goals=replace(goals, travel=travel, turn=turn), attempts=1)
    began = time.process_time()
    found = generate(changed, start=motion)
    seconds = time.process_time() - began
    return {"status": found.status, "iterations": found.iterations, "seconds": round(seconds, 3)}


def random_config(seed: int, k: int) -> LocomotionConfig:
    """A random robot with a gait that it has and a goal within its stride.

    Trot, pace and bound take 4 to 6 times sqrt(h / g) a period, walks 0.2 to 0.35 s a leg; a stride
    is 0.15 to 0.5 heights h of the centre of mass, wheels that drive turn at 0.6 of their speed.
    """
    rng = np.random.default_rng([seed, k])
    robot = random_robot(rng)
    gaits = [gait for gait in gaits_of(robot) if gait != "none"]
    gait = gaits[rng.integers(len(gaits))]
    h, legs = float(_height(robot)), len(robot.legs)
    paired = gait in ("trot", "pace", "bound")
    duration = rng.uniform(4, 6) * np.sqrt(h / 9.81) if paired else rng.uniform(0.2, 0.35) * legs
    share_, turn = rng.uniform(), np.deg2rad(rng.uniform(-15, 15))
    if gait == "roll":
        driven = [e.speed * e.radius for e in robot.end_effectors if e.kind == "actuated"]
        v = min([(0.1 + 0.2 * share_) * np.sqrt(9.81 * h), *(0.6 * one for one in driven)])
        travel = v * duration
        if len(robot.end_effectors) > legs:
            turn = 0.0  # wheels in line do not turn
    else:
        travel = (0.15 + 0.35 * share_) * h
    samples = 4 * legs if gait == "wave" else 12
    return LocomotionConfig(
        "random", gait, robot, named_gait(robot, gait, samples), duration, 0.1 * h,
        goals=LocomotionGoals(travel=(travel, 0.0), turn=float(turn)),
    )  # fmt: skip


def _height(robot: LeggedRobot) -> float:
    return float(robot.centre_of_mass(robot.stance, robot.standing_base())[2])


def _random_row(seed: int, k: int, cancel: Any = None) -> dict:
    config = random_config(seed, k)
    motion, seconds = _timed(config)
    row: dict[str, Any] = {
        "robot": k, "gait": config.name, "legs": len(config.robot.legs),
        "joints": len(config.robot.joint_names),
        "kinds": dict(Counter(e.kind for e in config.robot.end_effectors)),
        "status": motion.status, "seconds": round(seconds, 3),
    }  # fmt: skip
    if motion.status != "reached":
        row["broken"] = {v.name: float(f"{v.worst:.2g}") for v in motion.broken}
        row["missed"] = {g.name: float(f"{g.distance:.2g}") for g in motion.goals if not g.reached}
    return row


def _by_legs(rows: list[dict]) -> dict:
    found: dict[str, list[int]] = {}
    for row in rows:
        kept = found.setdefault(f"{row['legs']} legs", [0, 0])
        kept[0] += row["status"] == "reached"
        kept[1] += 1
    return {legs: f"{a} of {b}" for legs, (a, b) in sorted(found.items())}


# --- solvers --------------------------------------------------------------------------------------


def _solvers(row: Row) -> dict:
    """E over iterations of four solvers from the warm start, penalties alone."""
    config = config_of(row)
    model = engine_model(config.robot, config.rolling_resistance)
    problem = _engine.MotionProblem(model, engine_task(config))
    start = problem.warm_start(problem.standing())["plan"]
    problem.select(63, [])
    curves = {
        "gauss_newton": _newton(problem, start, lambda p, plan: p.linearize(plan)[2]),
        "filtered": _newton(problem, start, _filtered),
        "whole": _newton(problem, start, lambda p, plan: p.second_derivative(plan)),
        "l_bfgs": _l_bfgs(problem, start),
    }
    least = min(values[-1] for values in curves.values())
    arrived = {
        name: next((k for k, v in enumerate(values) if v <= (1 + NEAR) * least), None)
        for name, values in curves.items()
    }
    return {
        "robot": row.robot, "motion": row.motion, "least_E": round(least, 5),
        "iterations_to_5_percent": arrived,
        "E_after": {
            name: {k: float(f"{values[min(k, len(values) - 1)]:.4g}") for k in (0, 5, 10, 20, 40)}
            for name, values in curves.items()
        },
    }  # fmt: skip


def _filtered(problem: Any, plan: Mapping) -> np.ndarray:
    """The whole second derivative, less that of consistency constraints by q alone [G (2.19)]."""
    whole = problem.second_derivative(plan)
    problem.select(63, list(CONSISTENCY))
    bent = problem.second_derivative(plan) - problem.linearize(plan)[2]
    problem.select(63, [])
    free = np.array(problem.free)
    is_q = np.zeros(problem.size, bool)
    is_q[problem.unknowns["q"].ravel()] = True
    mask = is_q[free]
    whole[np.ix_(mask, mask)] -= bent[np.ix_(mask, mask)]
    return whole


def _newton(
    problem: Any, start: Mapping, hessian: Callable[[Any, Mapping], np.ndarray]
) -> list[float]:
    """E over iterations of Newton's method with backtracking; an indefinite Hessian is shifted
    until it is positive definite."""
    plan, free, values = start, np.array(problem.free), [problem.value(start)]
    for _ in range(MOST):
        _, gradient, _ = problem.linearize(plan)
        H, shift = hessian(problem, plan), 0.0
        while True:
            try:
                factor = np.linalg.cholesky(H + (shift + 1e-8) * np.eye(len(H)))
                break
            except np.linalg.LinAlgError:
                shift = max(10 * shift, 1e-3)
        step = np.zeros(problem.size)
        step[free] = -np.linalg.solve(factor.T, np.linalg.solve(factor, gradient[free]))
        length, slope = 1.0, float(gradient @ step)
        while length > 1e-5:
            moved = problem.move(plan, length * step)
            if problem.value(moved) <= values[-1] + 1e-4 * length * slope:
                break
            length *= 0.5
        else:
            break
        plan = moved
        values.append(problem.value(plan))
    return values


def _l_bfgs(problem: Any, start: Mapping) -> list[float]:
    """The same of L-BFGS, from a new plan every ten iterations."""
    plan, free, values = start, np.array(problem.free), [problem.value(start)]

    def whole(x: np.ndarray) -> np.ndarray:
        step = np.zeros(problem.size)
        step[free] = x
        return step

    for _ in range(MOST // 10):
        base = plan

        def energy(x: np.ndarray, base: Mapping = base) -> tuple[float, np.ndarray]:
            value, gradient, _ = problem.linearize(problem.move(base, whole(x)))
            return value, gradient[free]

        def note(x: np.ndarray, base: Mapping = base) -> None:
            values.append(problem.value(problem.move(base, whole(x))))

        found = minimize(energy, np.zeros(int(free.sum())), jac=True, method="L-BFGS-B",
                         callback=note, options={"maxiter": 10, "maxcor": 20})  # fmt: skip
        plan = problem.move(base, whole(found.x))
    return values
