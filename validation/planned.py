"""Plans as figures, and the same problems by CMA-ES, which uses values only."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from diffsim_ros.planning import load_plan, plan
from diffsim_ros.planning.config import PlanConfig
from diffsim_ros.planning.executed import distances
from diffsim_ros.planning.plan import _problem
from diffsim_ros.planning.result import Candidate, PlanResult
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.twin.twin import Twin, Variation
from diffsim_ros.yaml_file import read_yaml

from .common import ROOT

FOLDER = ROOT / "config" / "planning"
CMA_SPREAD = 0.3
CMA_FACTOR = 20.0
"""CPU time of CMA-ES at most, in multiples of the plan's."""


def read(name: str, **search: Any) -> PlanConfig:
    """The plan FOLDER/NAME.yaml on one thread, with some entries of `search` replaced."""
    return altered(name, lambda raw: raw.setdefault("search", {}).update(search))


def altered(name: str, change) -> PlanConfig:
    """The plan FOLDER/NAME.yaml on one thread, after change(mapping)."""
    path = FOLDER / f"{name}.yaml"
    raw = read_yaml(path)
    change(raw)
    raw.setdefault("search", {})["threads"] = 1
    return load_plan(raw, base=path)


def solved(config: PlanConfig) -> tuple[PlanResult, float]:
    """The plan and its CPU seconds."""
    begun = time.process_time()
    result = plan(config)
    return result, time.process_time() - begun


def figures_of(result: PlanResult, seconds: float) -> dict:
    """Figures of a plan: its best candidate, its size, its cost."""
    scene = result.config.scene
    return {
        "status": result.status,
        **candidate_figures(result.best),
        "tolerances": dict(result.tolerances),
        "controls": len(result.config.map.names),
        "dofs": int(scene.engine.ndof),
        "steps": int(scene.steps),
        "starts": result.starts,
        "cpu_seconds": round(seconds, 3),
    }


def candidate_figures(candidate: Candidate) -> dict:
    """Figures of one candidate."""
    return {
        "touches": " ".join(candidate.pattern) or "none",
        "reached": candidate.reached,
        "objective": candidate.objective,
        "objective_ratio": candidate.objective / candidate.objective_first,
        "rollouts": candidate.rollouts,
        "distances": dict(candidate.distances),
    }


def by_cma(
    config: PlanConfig, seconds: float, *, spread: float = CMA_SPREAD, seed: int = 1
) -> dict:
    """CMA-ES, otherwise as it is, from the plan's first guess, for at most `seconds` of CPU.

    spread  first standard deviation, in halves of the bounds' distance
    """
    import cma

    problem = _problem(config)
    begun, best, first = time.process_time(), np.inf, problem.evaluate(problem.start).value

    def cost(z) -> float:
        nonlocal best
        value = problem.evaluate(np.asarray(z)).value
        best = min(best, value)
        return value if np.isfinite(value) else 10.0 * first

    bounds = [problem.lower.tolist(), problem.upper.tolist()]
    options = {"bounds": bounds, "seed": seed, "verbose": -9}
    search = cma.CMAEvolutionStrategy(problem.start, spread, options)
    while not search.stop() and time.process_time() - begun < seconds:
        asked = search.ask()
        search.tell(asked, [cost(z) for z in asked])
    stopped = ", ".join(search.stop()) or f"the budget, {seconds:.3g} s"
    return {
        "objective": float(best),
        "objective_ratio": float(best / first),
        "rollouts": int(search.countevals),
        "cpu_seconds": round(time.process_time() - begun, 3),
        "ended_by": stopped,
    }


def budget(seconds: float, cap: float) -> float:
    """CPU seconds of CMA-ES: CMA_FACTOR times the plan's, at most `cap`, at least the plan's."""
    return max(min(cap, CMA_FACTOR * seconds), seconds)


def beside_cma(name: str, cap: float, spread: float = CMA_SPREAD) -> dict:
    """Figures of a plan, and of CMA-ES with a `budget`."""
    result, seconds = solved(read(name))
    figures = figures_of(result, seconds)
    figures["cma"] = by_cma(result.config, budget(seconds, cap), spread=spread)
    return figures


def missed(figures: Mapping[str, Mapping]) -> list[str]:
    """Names of the tasks that are not reached."""
    return [name for name, found in figures.items() if not found["reached"]]


def away(
    twin: Twin, found: PlanResult, motion: JointTrajectory, late: float,
    variation: Variation | None = None,
) -> tuple[dict[str, float], bool]:  # fmt: skip
    """(goal -> distance, whether all are reached) when the joints move so, `late` [s] behind."""
    release = found.carried.trajectory.release
    record = twin.episode(0, variation).play(motion, None if release is None else release + late)
    return distances(found.config, record.arrays(), found.carried.figures["scene_starts"] + late)
