"""What the onset of contact buys: plans and fits by `integrated` and by `sampled` contact alike.

The plans start from their first guesses and from others beside them.  The fits are the real cube's,
by its shipped first guess, and the tennis ball's, from throws that a twin records.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import NotConverged
from diffsim_ros.planning.plan import plan
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.twin.twin import Twin
from diffsim_ros.yaml_file import read_yaml

from . import cube_toss, tennis
from .common import judged, share
from .planned import FOLDER, altered
from .touchdown import ONSETS

PLANS = (
    "throw_one_bounce", "throw_bounces", "throw_wall_floor", "throw_backspin", "foam_throw",
    "tennis_wall", "drag_cube", "tip_cube", "turn_three_bodies",
)  # fmt: skip
BOUNCING = ("throw_one_bounce", "throw_wall_floor", "foam_throw", "tennis_wall")
"""Those whose first guess bounces as the plan does; elsewhere contact lasts, or starts differ."""
QUICK = ("throw_one_bounce", "drag_cube")
STARTS, APART = 8, 0.05  # first guesses of a plan; how far from its own, of the bounds' distance
KINKS = ("kink", "stalled")
TOSSES, HELD_OUT = 50, 100


def with_onset(contacts: list[dict], onset: str) -> None:
    """Ask it of contacts as YAML gives them."""
    for contact in contacts:
        contact["onset"] = onset


def planned(name: str, onset: str, starts: int) -> dict:
    """Over the first guesses: plans that reach the goals, rollouts, ends at kinks."""

    def change(raw: dict) -> None:
        if isinstance(raw["scene"], str):
            raw["scene"] = read_yaml(FOLDER / raw["scene"])
        with_onset(raw["scene"]["contact"], onset)
        raw["search"] = {**raw.get("search", {}), "starts": 1, "check_settling": False}

    config, rng = altered(name, change), np.random.default_rng(0)
    controls, ends = config.map, []
    width = controls.upper - controls.lower
    span = np.where(np.isfinite(width), width, 1.0)
    for k in range(starts):
        z = controls.start + (APART * span * rng.normal(size=len(span)) if k else 0)
        values = controls.values(np.clip(z, controls.lower, controls.upper))
        try:
            ends.append(plan(config, first=dict(zip(controls.names, values, strict=True))).best)
        except NotConverged:
            ends.append(None)
    run = [end for end in ends if end is not None]
    return {
        "starts": starts, "reached": sum(end.reached for end in run),
        "failed": starts - len(run),
        "at_kinks": sum(end.status in KINKS for end in run),
        "objective_median": float(np.median([end.objective for end in run])),
        "rollouts": sum(end.rollouts for end in run),
        "iterations_of_last_stages": sum(len(end.history) for end in run),
    }  # fmt: skip


def figures_of(result: Any) -> dict:
    """Of a fit."""
    fit = result.metrics["train"]
    return {
        "status": result.status,
        **{key: fit[key] for key in ("objective", "evaluations", "rollouts") if key in fit},
        "parameters": {p.name: {"value": p.value, "std_dev": p.std_dev} for p in result.parameters},
    }


def cube(onset: str, fraction: float) -> dict:
    """The real cube's fit from one start, and its errors on tosses held out."""
    train, others, _ = cube_toss.split(1.0, 0)
    content = cube_toss.configured(
        train[: share(TOSSES, fraction)], others[: share(HELD_OUT, fraction)]
    )
    with_onset(content["scene"]["contact"], onset)
    content["fit"] |= cube_toss.REDUCED if fraction >= 1 else cube_toss.TINY
    with tempfile.TemporaryDirectory() as folder:
        result = estimate(load_estimation(content), out=folder, report=False)
    held_out = result.metrics["validate"]
    kept = ("position_error_m", "rotation_error_deg", "recordings", "failed")
    return figures_of(result) | {key: held_out[key] for key in kept}


def ball(onset: str, file: Path) -> dict:
    """The tennis ball's fit."""
    content = read_yaml(tennis.ESTIMATION)
    content["scene"] = read_yaml(tennis.ESTIMATION.parent / content["scene"])
    with_onset(content["scene"]["contact"], onset)
    content["data"]["train"]["files"] = [str(file)]
    with tempfile.TemporaryDirectory() as folder:
        return figures_of(estimate(load_estimation(content), out=folder, report=False))


def study(fraction: float = 1.0) -> dict:
    """Plans, cube and ball by both; in a tenth two plans alone."""
    names, starts = (PLANS, STARTS) if fraction >= 1 else (QUICK, 2)
    plans = {name: {onset: planned(name, onset, starts) for onset in ONSETS} for name in names}
    figures: dict[str, Any] = {"plans": plans, "total": total(plans)}
    if fraction >= 1:
        figures["cube"] = {onset: cube(onset, fraction) for onset in ONSETS}
        with tempfile.TemporaryDirectory() as folder:
            file, twin = Path(folder) / "throws.npz", Twin(tennis.TWIN)
            throws = [
                (tennis.planned().carried.trajectory, tennis.WATCHED),
                (tennis.low(), tennis.WATCHED_LOW),
            ]
            tennis.recorded(twin, throws, file)
            figures["tennis"] = {onset: ball(onset, file) for onset in ONSETS}
    missed = []
    for name, one in plans.items():
        ours, sampled = (one[onset] for onset in ONSETS)
        if name in BOUNCING and ours["reached"] < sampled["reached"]:
            missed.append(f"{name}: {ours['reached']} reached, {sampled['reached']} with samples")
        if name in BOUNCING and ours["rollouts"] > sampled["rollouts"]:
            missed.append(f"{name}: {ours['rollouts']} rollouts, {sampled['rollouts']}")
    return judged(figures, missed)


def total(plans: Mapping[str, Mapping[str, Mapping]]) -> dict:
    """Sums over the plans."""
    keys = ("starts", "reached", "failed", "at_kinks", "rollouts")
    return {
        onset: {key: sum(one[onset][key] for one in plans.values()) for key in keys}
        for onset in ONSETS
    }
