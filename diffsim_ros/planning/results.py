"""The result of a plan as plain data: result.yaml, metrics.json and the planned scene."""

from __future__ import annotations

import numpy as np

from .result import Candidate, PlanResult


def planned_scene(result: PlanResult) -> dict:
    """The resolved scene with the best candidate's controls as `values`: ready to simulate."""
    config = result.config
    values = config.map.engine(config.map.scaled(result.best.controls), config.scene.engine.values)
    names = [info.name for info in config.scene.engine.parameters]
    chosen = {names[i]: float(values[i]) for i in config.map.active}
    description = config.scene.description
    return {**description, "values": {**description["values"], **chosen}}


def document(result: PlanResult) -> dict:
    """Content of result.yaml."""
    units = {p.name: p.unit for p in result.config.map.parameters}
    return {
        "command": "plan",
        "name": result.config.name,
        "status": result.status,
        "controls": {
            name: {
                "value": value,
                "unit": units[name],
                "first": result.best.first[name],
                "at_bound": name in result.best.at_bound,
            }
            for name, value in result.best.controls.items()
        },
        "scene": planned_scene(result)["values"],
        "goals": goals(result.best, result),
        "candidates": [
            {
                "pattern": list(c.pattern),
                "reached": c.reached,
                "objective": c.objective,
                "controls": dict(c.controls),
                "distances": dict(c.distances),
                "message": c.message,
            }
            for c in result.candidates
        ],
        **({} if result.carried is None else {"robot": robot(result)}),
        **({} if result.spread is None else {"robust": result.spread.figures()}),
        **({} if result.execution is None else {"execution": execution(result)}),
        "notes": notes(result),
        "failed": list(result.failed),
        "config": dict(result.config.source),
    }


def robot(result: PlanResult) -> dict:
    """The arm's motion: its file and its figures."""
    own = {} if result.carried is None else result.carried.figures
    return {"trajectory": "trajectory.yaml", **own}


def execution(result: PlanResult) -> dict:
    """Goal -> distance at half of the step with joints as planned, and as executed."""
    found = result.execution
    assert found is not None
    return {"reached": found.reached, "planned": dict(found.planned),
            "executed": dict(found.executed)}  # fmt: skip


def goals(candidate: Candidate, result: PlanResult) -> dict:
    """Goal -> distance, tolerance, reached."""
    return {
        name: {
            "distance": distance,
            "tolerance": result.tolerances[name],
            "reached": distance <= result.tolerances[name],
        }
        for name, distance in candidate.distances.items()
    }


def figures(result: PlanResult) -> dict:
    """Content of metrics.json."""
    best = result.best
    return {
        "status": result.status,
        "reached": int(best.reached),
        "objective": best.objective,
        "objective_ratio": best.objective / best.objective_first if best.objective_first else None,
        "goals": goals(best, result),
        "rollouts": best.rollouts,
        "seconds": best.seconds,
        "starts": result.starts,
        "distinct": len(result.candidates),
        "total_seconds": result.seconds,
        "shortest_touch_steps": best.shortest_touch,
        "peak_speed": float(np.linalg.norm(np.asarray(best.motion.velocity), axis=-1).max()),
        **({} if result.carried is None else {"robot": dict(result.carried.figures)}),
        **({} if result.execution is None else {"execution": execution(result)}),
        **({} if result.spread is None else {"robust": result.spread.figures()}),
    }


def notes(result: PlanResult) -> list[str]:
    """Sentences for the reader."""
    found, best = list(result.config.notes), result.best
    if best.shortest_touch is not None and best.shortest_touch < FINE_TOUCH:
        found.append(
            f"the shortest touch lasts {best.shortest_touch} steps, less than {FINE_TOUCH}: the "
            "cost has discontinuities, at which a search can end; a smaller step or k_n, or "
            "search.continuation, helps"
        )
    for name, bound in best.at_bound.items():
        found.append(f"control {name} ended at its {bound} bound")
    if result.unsettled is not None:
        found.append(str(result.unsettled))
    found += result.rounds
    if result.failed:
        first = f"{len(result.failed)} of {result.starts} starts could not be simulated"
        found.append(f"{first}: {result.failed[0]}")
    if warning(result):
        found.append(warning(result))
    if result.status == "not_reached":
        guides = result.config.guides
        far = [n for n, d in best.distances.items() if d > result.tolerances[n] and n not in guides]
        found.append("not reached: " + ", ".join(far) + f" (the search ended: {best.message})")
    return found


def warning(result: PlanResult) -> str:
    """What the plan misses as executed, with figures; empty where it does not."""
    if result.execution is None or result.execution.reached:
        return ""
    return f"warning: {result.execution.sentence(result.tolerances)}"


FINE_TOUCH = 60
"""Steps of a touch from which on the cost of a bounce is smooth enough to descend on."""
