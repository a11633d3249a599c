"""The result of a refined gait as plain data: result.yaml, metrics.json, targets.csv, its scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compliant import CompliantResult


def walking_scene(result: CompliantResult) -> dict:
    """The resolved scene with the refined targets as its motors' keys: ready to simulate."""
    config = result.config
    shares, row = config.nominal.shares(config.cycles, config.options["lead_in"])
    keys = config.standing + shares[:, None] * (result.targets[row] - config.standing)
    by_name = dict(zip(config.motors, keys.T.tolist(), strict=True))
    links = [
        {**link, "keys": by_name[link["name"]]} if link.get("name") in by_name else link
        for link in config.scene.description["links"]
    ]
    return {**config.scene.description, "name": config.name, "links": links}


def document(result: CompliantResult) -> dict:
    """Content of result.yaml."""
    config = result.config
    found: dict[str, Any] = {
        "command": "plan",
        "name": config.name,
        "status": result.status,
        "speed": {"wanted": config.options["speed"], "tolerance": config.tolerances["speed"]},
        "nominal": result.before.document(),
        "refined": result.after.document(),
        "joints": list(config.nominal.joints),
        "period": config.nominal.period,
        "targets": result.targets.tolist(),
        "search": {
            "status": result.solution.status,
            "message": result.solution.message,
            "iterations": result.solution.iterations,
            "rollouts": result.rollouts,
            "seconds": result.seconds,
            "objective": {"first": result.objective_first, "last": result.objective},
            "at_bound": dict(result.solution.at_bound),
        },
        "config": dict(config.source),
    }
    if result.robust is not None:
        names = ("before", "after")
        found["robust"] = {
            name: summary(speeds, config.options["speed"])
            for name, speeds in zip(names, result.robust, strict=True)
        }
    return found


def figures(result: CompliantResult) -> dict:
    """Content of metrics.json: figures without targets and history."""
    whole = document(result)
    return {key: whole[key] for key in ("status", "nominal", "refined", "search")}


def summary(speeds: np.ndarray, wanted: float) -> dict[str, float | int]:
    """Of speeds over samples (k,) [m/s]: by which share they miss the wanted one, and failures."""
    off = np.abs(speeds[np.isfinite(speeds)] / wanted - 1.0)
    mean, largest = (float(f(off)) if len(off) else float("inf") for f in (np.mean, np.max))
    return {"mean_missed": mean, "largest_missed": largest, "samples": len(speeds),
            "failed": int(len(speeds) - len(off))}  # fmt: skip


def table_of(result: CompliantResult) -> str:
    """The refined targets as a table that `nominal` takes."""
    nominal = result.config.nominal
    lines = [",".join(["time", *nominal.joints])]
    for t, row in zip(nominal.times, result.targets, strict=True):
        lines.append(",".join(f"{value:.9g}" for value in (t, *row)))
    return "\n".join(lines) + "\n"
