"""What a policy does with a robot that is at a given place: the scene's own motion, simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.learning.batch import Batch
from diffsim_ros.learning.config import EnvironmentConfig, start_joints

Array = np.ndarray


@dataclass(frozen=True)
class PolicyMotion:
    """Joints' motion, once at its start and after every action.

    times (n + 1,) [s] from the start;  positions, velocities (n + 1, joints) [rad or m, per s]
    rewards (n,);  terminated  one of the environment's `ends` was met at the last action
    """

    joints: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array
    rewards: Array
    terminated: bool


def simulate(
    policy: Callable[[Array], Array],
    config: EnvironmentConfig,
    start: Mapping[str, float],
    *,
    parameters: Mapping[str, float] | None = None,
    actions: int = 0,
) -> PolicyMotion:
    """The motion of the joints of `start`, which rest there; the policy sees the simulated motion.

    start       joint -> coordinate [rad or m];  parameters  of the scene -> value; joints and
                parameters that neither names are as the file has them, without its spreads
    actions     how many at most, 0: the environment's horizon
    InputError: a joint that is not in reduced coordinates, an unknown parameter or one outside its
    range, or one that an action sets, a motion that the engine cannot follow.
    """
    engine = config.scene.engine
    check_joints(config, tuple(start))
    batch = Batch(config, 1, threads=1)
    resting = {name: (value, 0.0) for name, value in start.items()}
    seen = batch.begin(resting, parameter_values(config, parameters or {}))
    names = [f"{joint}.{word}" for joint in start for word in ("coordinate", "rate")]

    def joints() -> Array:
        return engine.outputs_at(batch.snapshots[0], batch.P[0], names)

    rows, terminated = [joints()], False
    rewards: list[float] = []
    for _ in range(actions or config.horizon):
        step = batch.step(policy(seen))
        if step.failures:
            rule = "a motion that the engine can follow"
            at = f"action {len(rewards)}"
            raise InputError(config.place, at, step.failures[0], rule)
        rows.append(joints())
        rewards.append(float(step.reward[0]))
        seen, terminated = step.observation, bool(step.terminated[0])
        if terminated:
            break
    told = np.array(rows)
    times = config.period * np.arange(len(told))
    return PolicyMotion(
        tuple(start), times, told[:, 0::2], told[:, 1::2], np.array(rewards), terminated
    )


def check_joints(config: EnvironmentConfig, joints: Sequence[str]) -> None:
    """Raise InputError for the first that an episode cannot begin with."""
    found = start_joints(config.scene)
    for name in joints:
        if name not in found:
            rule = f"a joint of its scene in reduced coordinates: {', '.join(found) or 'none'}"
            raise InputError(config.place, "scene: joint", name, rule, nearest(name, found))


def parameter_values(
    config: EnvironmentConfig, parameters: Mapping[str, float]
) -> dict[int, float]:
    """Index of the engine -> value; InputError for what `simulate` refuses."""
    infos = list(config.scene.engine.parameters)
    known = {info.name: i for i, info in enumerate(infos)}
    set_by = {index: action.name for action in config.actions for index in action.sets}
    found = {}
    for name, value in parameters.items():
        if name not in known:
            rule = "a parameter of the scene"
            raise InputError(config.place, "parameter", name, rule, nearest(name, known))
        info = infos[known[name]]
        if not info.lower <= value <= info.upper:
            rule = f"{info.lower:g} to {info.upper:g} {info.unit}".rstrip()
            raise InputError(config.place, f"parameter {name}", value, rule)
        if known[name] in set_by:
            rule = f"a parameter that action {set_by[known[name]]!r} does not set"
            raise InputError(config.place, "parameter", name, rule)
        found[known[name]] = float(value)
    return found
