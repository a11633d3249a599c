"""Distance of bodies from a plan's goals when it was executed, by a twin or on a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..inverse.output_term import outputs_of
from ..inverse.simulation_problem import body_slots
from .config import PlanConfig
from .evaluation import evaluated

ROUNDING = 1e-9
"""Of times [s]."""


@dataclass(frozen=True)
class ExecutedRows:
    """Bodies at the rows of a plan's rollout, nodes in the engine's order, as a rollout has them.

    position, velocity, angular_velocity  (rows, nodes, 3);  orientation  (rows, nodes, 4)
    """

    position: np.ndarray
    velocity: np.ndarray
    orientation: np.ndarray
    angular_velocity: np.ndarray


def distances(
    config: PlanConfig, truth: Mapping[str, np.ndarray], begins: float
) -> tuple[dict[str, float], bool]:
    """(goal -> distance from it [m, m/s or rad], whether all required ones are reached).

    Evaluated as the plan itself is, without goals of outputs: nothing measures those here.

    truth   of an attempt, as TwinRecord.arrays gives it and the simulator writes it: time (n,) [s],
            BODY.position, .velocity, .spin (n, 3), .orientation (n, 4), of soft bodies .nodes
            (n, m, 3)
    begins  [s] of that time at which the plan's scene begins
    InputError where the attempt was not recorded to the end of that scene.
    """
    slots = body_slots(config.scene.engine)
    config = replace(config, goals=tuple(g for g in config.goals if not outputs_of([g])))
    executed = _executed(config, slots, truth, begins)
    return evaluated(replace(config, limits=()), executed, slots, {})


def _executed(
    config: PlanConfig, slots: Mapping, truth: Mapping[str, np.ndarray], begins: float
) -> ExecutedRows:
    scene = config.scene
    interval = scene.options.step * scene.options.record_every
    rows = np.arange(int(scene.steps // scene.options.record_every) + 1)
    times = begins + interval * rows
    if truth["time"][-1] < times[-1] - ROUNDING:
        rule = f"at least {times[-1]:.4f} s, the end of the plan's scene"
        raise InputError("attempt", "time", float(truth["time"][-1]), rule, "watch it for longer")
    nodes = max(slot.index + slot.count for slot in slots.values())
    found = ExecutedRows(*(np.full((len(rows), nodes, width), np.nan) for width in (3, 3, 4, 3)))
    for body in {goal.body for goal in config.goals}:
        first, count = slots[body].index, slots[body].count
        at = slice(first, first + count)

        def column(key: str, body: str = body) -> np.ndarray:
            return interpolated(truth["time"], truth[f"{body}.{key}"], times)

        if f"{body}.nodes" in truth:
            moved = truth[f"{body}.nodes"]
            found.position[:, at] = interpolated(truth["time"], moved, times)
            speed = np.gradient(moved, truth["time"], axis=0)
            found.velocity[:, at] = interpolated(truth["time"], speed, times)
            continue
        found.position[:, first], found.velocity[:, first] = column("position"), column("velocity")
        turn = column("orientation")
        found.orientation[:, first] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
        found.angular_velocity[:, first] = column("spin")
    return found


def interpolated(time: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """values (n, ...) at times `at` (k,), linear between `time` (n,), constant beyond its ends."""
    right = np.clip(np.searchsorted(time, at), 1, len(time) - 1)
    span = time[right] - time[right - 1]
    share = np.clip((at - time[right - 1]) / span, 0.0, 1.0)
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    return (1 - share) * values[right - 1] + share * values[right]
