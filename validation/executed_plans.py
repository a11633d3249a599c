"""Plans of the UR5 executed by its twin through the mock controller, with what is not known.

A twin with the plan's own numbers and half of its step (planning.as_twin): joints exactly as
planned, joints as the mock controller moves them, and then attempts with friction within 20 %,
what is held or moved displaced by up to 1 cm along each axis, and a release with 4 ms of jitter;
for the plan as it is, and for the one that is robust over samples of these. The plan as it is also
by an arm with masses, drives and friction in the engine, that it knows or not. And
each of these plans executed once over ROS, by simulator and driver (executed_over_ros.py).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from diffsim_ros.planning.as_twin import twin_of
from diffsim_ros.planning.config import PlanConfig
from diffsim_ros.planning.evaluation import tolerances
from diffsim_ros.planning.load import load_plan
from diffsim_ros.planning.plan import plan
from diffsim_ros.planning.result import PlanResult
from diffsim_ros.twin.execution import Executed, executed, limit_shares
from diffsim_ros.twin.twin import Twin, Variation

from .common import binomial_bounds, judged, share
from .planned import FOLDER, away

FRICTION, PLACE, JITTER = 0.2, 0.01, 0.004  # share, m, s
SLOWER, FASTER = 0.8, 1.25
"""Times the bandwidth that a plan believes in: what a lab may have got wrong."""
INERTIA = np.array([3, 3, 1.5, 0.15, 0.15, 0.11])
"""[kg m^2] of links and rotors about the joints, roughly: for drives of 60 rad/s."""
DRIVEN = {
    "drive": {"stiffness": (3600 * INERTIA).tolist(), "damping": (120 * INERTIA).tolist()},
    "damping": [5, 5, 4, 1, 1, 1], "friction": [5, 5, 4, 1, 1, 1],
    "armature": [0.9, 0.9, 0.9, 0.1, 0.1, 0.1],
}  # fmt: skip
"""An arm in the engine (docs/how-to/twin.md)."""
SPACE, TABLE = (1, 1, 1), (1, 1, 0)
"""Axes along which a body may be displaced: held by the tool, or on its table."""
FINE = 1e-6
"""Difference [m, m/s, rad] of a motion over ROS from the same without it."""


@dataclass(frozen=True)
class Case:
    """body: that is displaced along `axes`, None: none can be; attempts of a whole study
    robust: samples of the robust plan, 0: too dear"""

    body: str | None
    axes: tuple[int, int, int] = SPACE
    attempts: int = 60
    robust: int = 6


CASES = {
    "ur5_throw": Case("ball"),
    "ur5_throw_direct": Case("ball"),
    "ur5_throw_two_bounces": Case("ball"),
    "ur5_wall_floor": Case("ball"),
    "ur5_backspin": Case("ball"),
    "ur5_bob": Case("bob", attempts=20, robust=0),
    "ur5_drag": Case("cube", TABLE),
    "ur5_drag_5cm": Case("cube", TABLE),
    "ur5_tip": Case("cube", TABLE),
    "ur5_turn": Case("bottom", TABLE, robust=3),
    "ur5_flip": Case(None, attempts=20, robust=3),  # a cloth that is glued to the tool's bar
    "ur5_catapult": Case("bob", TABLE, attempts=20, robust=3),
}
QUICK = {"ur5_throw": ("as_it_is",), "ur5_throw_direct": ("as_it_is", "robust"),
         "ur5_drag": ("as_it_is",)}  # fmt: skip
"""Plans and kinds of a part of the study; without ROS, of which tests/nodes has a test."""


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Distances from the goals [m, m/s, rad]; shares of the arm's limits; tracking errors.

    Limits are kept by every motion as it was executed, not only as it was planned.
    """
    figures: dict[str, dict] = {}
    for name in CASES if fraction >= 1 else QUICK:
        found = planned(name, fraction)
        figures[name] = {"tolerances": goal_tolerances(found["as_it_is"].config)}
        for kind, result in found.items():
            figures[name][kind] = carried_out(result, CASES[name], fraction, seed)
        figures[name]["as_it_is"] |= driven(found["as_it_is"])
        if fraction >= 1:
            from .executed_over_ros import over_ros  # needs rclpy

            for kind, reported in over_ros(name, found).items():
                figures[name][kind]["over_ros"] = reported
    if fraction >= 1:
        from .executed_over_ros import replanning

        figures["replanning"] = replanning(seed)
    return judged(figures, missed(figures, fraction))


def missed(figures: dict, fraction: float) -> list[str]:
    """Bars that are missed, one sentence each."""
    found = []
    for name, kinds in figures.items():
        for kind, one in kinds.items():
            if kind not in ("as_it_is", "robust"):
                continue
            found += [f"{name}, {kind}: {text}" for text in _missed(one, kinds["tolerances"])]
    throw = figures["ur5_throw"]
    count = throw["as_it_is"]["attempts"]["count"]
    kept, _ = binomial_bounds(count, 0.9, 1.0, fraction)
    if round(throw["as_it_is"]["attempts"]["reached"] * count) < kept:
        found.append(f"ur5_throw: {throw['as_it_is']['attempts']}")
    return found


def _missed(one: dict, allowed: dict) -> list[str]:
    """Bars of one plan: its goals are reached with exact joints and over ROS, where nothing is
    different; limits are kept."""
    found = [
        f"{goal} is {away:.3g} with joints as planned, {allowed[goal]} allowed"
        for goal, away in one["exact_joints"].items()
        if away > allowed[goal]
    ]
    found += [
        f"{key} {value:.3f} as executed" for key, value in one["limits"].items() if value > 1.0
    ]
    found += [
        f"{goal} is {away:.3g} by an arm in the engine that the plan knows, {allowed[goal]} allowed"
        for goal, away in one.get("known_arm", {}).items()
        if away > allowed[goal]
    ]
    reported = one.get("over_ros", {"differences": {}, "executed": {}})
    found += [
        f"{goal} is {away:.3g} as executed over ROS, {allowed[goal]} allowed"
        for goal, away in reported["executed"].items()
        if away > allowed[goal]
    ]
    found += [
        f"{goal} differs by {away:.3g} over ROS"
        for goal, away in reported["differences"].items()
        if away > FINE
    ]
    return found


def planned(name: str, fraction: float = 1.0) -> dict[str, PlanResult]:
    """The plan as it is, and robust; of a part of the study some only."""
    config, found = load_plan(FOLDER / f"{name}.yaml"), {}
    kinds = ("as_it_is", "robust") if fraction >= 1 else QUICK[name]
    for kind in kinds:
        if kind == "robust" and not CASES[name].robust:
            continue
        found[kind] = plan(robust(config, CASES[name]) if kind == "robust" else config)
        assert found[kind].status == "reached", f"{name}, {kind}: {found[kind].status}"
    return found


def frictions(config: PlanConfig) -> list[str]:
    """Entries of the scene that are coefficients of friction."""
    return [i.name for i in config.scene.engine.parameters if i.name.endswith(".c_f")]


def robust(config: PlanConfig, case: Case) -> PlanConfig:
    """The plan over samples of what the attempts vary, but for places of bodies on the table: a
    body that is moved open loop stays displaced by part of that whatever the plan."""
    source = copy.deepcopy(config.source)
    spread = dict.fromkeys(frictions(config), FRICTION)
    wanted = {"spread": spread, "samples": case.robust, "fresh": 20}
    if "grasp" in source["robot"]:
        wanted["placement"] = PLACE
        source["robot"]["release"]["jitter"] = JITTER
    source["search"] = {**source.get("search", {}), "robust": wanted}
    return load_plan(source, base=config.place)


def goal_tolerances(config: PlanConfig) -> dict[str, float]:
    """Goal -> what is near enough."""
    named, allowed = {goal.name for goal in config.goals}, tolerances(config)
    return {name: float(value) for name, value in allowed.items() if name in named}


def carried_out(found: PlanResult, case: Case, fraction: float, seed: int) -> dict:
    """Figures of one plan, without ROS."""
    twin, trajectory = Twin(twin_of(found.config)), found.carried.trajectory
    run = executed(twin.config, trajectory)
    assert run.outcome is not None and run.outcome.code == 0, run.outcome
    late = twin.config.controller.dynamics.delay  # the driver's `lag`
    as_planned = {goal.name: found.best.distances[goal.name] for goal in found.config.goals}
    return {
        "planned": as_planned,
        "exact_joints": away(twin, found, found.carried.motion, 0.0)[0],
        "executed": away(twin, found, run.motion, late)[0],
        **_other_lags(found),
        "attempts": _attempts(twin, found, case, run.motion, share(case.attempts, fraction), seed),
        "tracking_error_rad": run.tracking_error,
        "limits": limit_shares(twin.config, run.motion),
    }


def _other_lags(found: PlanResult) -> dict:
    """Distances where the arm is slower or faster than the plan believes; {} if it believes
    nothing."""
    if found.config.task.tracking is None:
        return {}
    figures = {}
    for name, factor in (("slower_arm", SLOWER), ("faster_arm", FASTER)):
        source = twin_of(found.config)
        bandwidth = factor * found.config.task.tracking.dynamics.bandwidth
        source["controller"] = {"bandwidth": bandwidth.tolist()}
        twin = Twin(source)
        run = executed(twin.config, found.carried.trajectory)
        figures[name] = away(twin, found, run.motion, twin.config.controller.dynamics.delay)[0]
    return figures


def driven(found: PlanResult) -> dict:
    """Distances where the arm is DRIVEN: for a plan that anticipates what it believes in, and for
    the same that anticipates this arm."""
    source = copy.deepcopy(found.config.source)
    source["robot"]["tracking"] = {"arm": DRIVEN}
    known = plan(load_plan(source, base=found.config.place))
    assert known.status == "reached", f"{found.config.name}, known arm: {known.status}"
    figures = {}
    for name, result in (("driven_arm", found), ("known_arm", known)):
        twin = Twin({**twin_of(result.config), "controller": {"arm": DRIVEN}})
        run = executed(twin.config, result.carried.trajectory)
        limits(twin, run)
        figures[name] = away(twin, result, run.motion, twin.config.controller.dynamics.delay)[0]
    return figures


def limits(twin: Twin, run: Executed) -> dict:
    """Shares of speed and acceleration limits of an executed motion, which must be inside."""
    found = limit_shares(twin.config, run.motion)
    assert found.pop("position_share") <= 1.0, "a joint left its range"
    speed = found["velocity_share"]
    assert speed <= 1.0, f"{speed:.3f} of a joint's speed"
    return found


def _attempts(twin: Twin, found: PlanResult, case: Case, motion, count: int, seed: int) -> dict:
    """Distances over attempts: mean, 95 %, largest of every goal; share that reaches all."""
    draw, rows, reached = np.random.default_rng([seed, 7]), [], 0
    late, entries = twin.config.controller.dynamics.delay, frictions(found.config)
    held = found.carried.trajectory.release is not None
    for _ in range(count):
        shares = 1 + FRICTION * draw.uniform(-1, 1, len(entries))
        shift = PLACE * draw.uniform(-1, 1, 3) * case.axes
        jitter = JITTER * draw.normal() * held
        moved = {} if case.body is None else {case.body: shift}
        factors = dict(zip(entries, shares.tolist(), strict=True))
        varied = Variation(factors=factors, shift=moved, delay=jitter)
        one, near = away(twin, found, motion, late, varied)
        rows.append(one)
        reached += near
    goals = {}
    for name in rows[0]:
        one = np.array([row[name] for row in rows])
        goals[name] = {
            "mean": float(one.mean()), "p95": float(np.quantile(one, 0.95)),
            "largest": float(one.max()),
        }  # fmt: skip
    return {"count": count, "reached": reached / count, "goals": goals}
