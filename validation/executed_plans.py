"""Plans of the UR5 carried out by its twin through the mock controller, with what is not known.

A twin with the plan's own numbers and half of its step: joints exactly as planned, joints as the
mock controller moves them, and then attempts with friction within 20 %, what is held or dragged
displaced by up to 1 cm along each axis, and a release with 4 ms of jitter; for the plan as it is,
and for the one that is robust over samples of these (docs/planning.md).
"""

from __future__ import annotations

import copy

import numpy as np

from diffsim_ros.planning.config import PlanConfig, load_plan
from diffsim_ros.planning.plan import PlanResult, plan
from diffsim_ros.twin.execution import Executed, executed
from diffsim_ros.twin.twin import Twin, Variation

from .common import ROOT, binomial_bounds, share

FOLDER = ROOT / "config" / "planning"
PLANS = {"throw": "ur5_throw.yaml", "drag": "ur5_drag.yaml"}
FRICTION, PLACE, JITTER = 0.2, 0.01, 0.004  # share, m, s
ENTRY = "table.c_f"
BODY = {"throw": "ball", "drag": "cube"}
AXES = {"throw": (1, 1, 1), "drag": (1, 1, 0)}  # along which it may be displaced


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Distances from the targets [m] at their times; shares of the arm's limits; tracking errors.

    Limits are kept by every motion as it was executed, not only as it was planned.
    """
    figures = {}
    for name, file in PLANS.items():
        config = load_plan(FOLDER / file)
        figures[name] = {"tolerance_m": float(config.goals[0].sigma)}
        for kind in ("as_it_is", "robust"):
            found = plan(_robust(config, name) if kind == "robust" else config)
            assert found.status == "reached", f"{name}, {kind}: {found.status}"
            figures[name][kind] = _carried_out(found, name, share(60, fraction), seed)
    throw, drag = figures["throw"], figures["drag"]
    for kind in ("as_it_is", "robust"):
        assert throw[kind]["executed_m"] <= throw["tolerance_m"], throw[kind]
    kept, _ = binomial_bounds(share(60, fraction), 0.9, 1.0, fraction)
    within = throw["as_it_is"]["attempts_m"]["within_tolerance"] * share(60, fraction)
    assert round(within) >= kept, throw["as_it_is"]["attempts_m"]
    means = [drag[kind]["attempts_m"]["mean"] for kind in ("as_it_is", "robust")]
    assert means[1] < means[0], f"dragging: {means[0]:.3g} m, robust {means[1]:.3g} m"
    return figures


def _robust(config: PlanConfig, name: str) -> PlanConfig:
    """The plan over samples of what the attempts vary."""
    source = copy.deepcopy(config.source)
    wanted = {"spread": {ENTRY: FRICTION}, "samples": 6, "fresh": 2}
    if name == "throw":
        wanted["placement"] = PLACE
        source["robot"]["release"]["jitter"] = JITTER
    source["search"] = {**source.get("search", {}), "robust": wanted}
    return load_plan(source, base=FOLDER / PLANS[name])


def _twin(config: PlanConfig) -> Twin:
    """The plan's own scene in half of its step."""
    scene, robot = copy.deepcopy(config.source["scene"]), config.source["robot"]
    every = 2 * scene["world"].get("record_every", 1)
    scene["world"] |= {"step": config.scene.options.step / 2, "record_every": every}
    given = {"scene": scene, "robot": robot["arm"]}
    if "grasp" in robot:
        given["grasp"] = robot["grasp"]
    else:
        hand = robot["hand"]
        given["handles"] = {hand["handle"]: {"in_link": hand["in_tool"]}}
    return Twin(given, base=FOLDER / "plan.yaml")


def _carried_out(found: PlanResult, name: str, count: int, seed: int) -> dict:
    """Figures of one plan."""
    twin, trajectory = _twin(found.config), found.carried.trajectory
    run = executed(twin.config, trajectory)
    assert run.outcome is not None and run.outcome.code == 0, run.outcome
    late = twin.config.controller.dynamics.delay  # the driver's `lag`
    attempts = _attempts(twin, found, name, run.motion, late, count, seed)
    return {
        "planned_m": next(iter(found.best.distances.values())),
        "exact_joints_m": _missed(twin, found, name, trajectory, 0.0),
        "executed_m": _missed(twin, found, name, run.motion, late),
        "attempts_m": {
            "mean": float(attempts.mean()), "median": float(np.median(attempts)),
            "p95": float(np.quantile(attempts, 0.95)), "largest": float(attempts.max()),
            "count": count,
            "within_tolerance": float(np.mean(attempts <= found.config.goals[0].sigma)),
        },
        "tracking_error_rad": run.tracking_error, **limits(twin, run),
    }  # fmt: skip


def limits(twin: Twin, run: Executed) -> dict:
    """Largest shares of limits that the executed motion takes; positions and speeds are inside.

    Accelerations are means over a cycle of the controller, which sends one position a cycle: a
    joint's own loop answers each with more at its beginning than at its end.
    """
    bound, motion = twin.config.arm.limits, run.motion
    inside = (motion.positions >= bound.lower) & (motion.positions <= bound.upper)
    assert inside.all(), "a joint left its range"
    speed = float(np.abs(motion.velocities / bound.velocity).max())
    assert speed <= 1.0, f"{speed:.3f} of a joint's speed"
    rate = twin.config.controller.rate
    cycle = np.arange(motion.times[0], motion.times[-1], 1 / rate)
    push = np.abs(np.diff(motion.at(cycle)[1], axis=0) * rate / bound.acceleration)
    return {"velocity_share": speed, "acceleration_share": float(push.max())}


def _missed(
    twin: Twin, found: PlanResult, name: str, motion, late: float,
    variation: Variation | None = None,
) -> float:  # fmt: skip
    """Distance from the target at its time."""
    goal, release = found.config.goals[0], found.carried.trajectory.release
    start = found.carried.figures["scene_starts"] + late
    free = None if release is None else release + late
    record = twin.episode(0, variation).play(motion, free)
    at = float(found.config.source["goals"][0]["at"])
    return record.distance(BODY[name], goal.target, start + at)


def _attempts(twin, found, name: str, motion, late: float, count: int, seed: int) -> np.ndarray:
    draw, away = np.random.default_rng([seed, 7]), []
    for _ in range(count):
        factors = {ENTRY: 1 + FRICTION * draw.uniform(-1, 1)}
        shift = PLACE * draw.uniform(-1, 1, 3) * AXES[name]
        jitter = JITTER * draw.normal() * (name == "throw")
        variation = Variation(factors=factors, shift={BODY[name]: shift}, delay=jitter)
        away.append(_missed(twin, found, name, motion, late, variation))
    return np.array(away)
