"""Many copies of an environment, stepped by the engine's threads in one call, with gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.learning.config import EnvironmentConfig
from diffsim_ros.parameter import assign
from diffsim_ros.real_numbers import finite

Array = np.ndarray
Start = tuple[dict[str, Array], dict[int, float]]
"""Joint -> coordinate and rate, and index of a parameter of the engine -> value."""


@dataclass(frozen=True)
class BatchStep:
    """What one action led to in every environment, before any of them is reset.

    observation (B, observations);  reward (B,);  terminated, truncated (B,) of bool
    failures    environment -> the engine's message, where a motion could not be followed
    y           numbers of the outputs and the actions' values (B, n)
    """

    observation: Array
    reward: Array
    terminated: Array
    truncated: Array
    failures: dict[int, str]
    y: Array
    _moving: Array
    _batch: Batch
    _segment: Any
    _clipped: Array

    def pull_back(
        self, by_observation: Array, by_reward: Array, by_end: Array
    ) -> tuple[Array, Array]:
        """dO/d(action) (B, actions) and cotangents of the states that the step began with.

        by_observation (B, observations), by_reward (B,): dO/d of this step's;  by_end
        (B, 4, ndof): cotangents of its last states, what the next step's pull_back returned, else
        zero.  The step must have been made with gradient=True.  [G 4.24-4.26]
        """
        batch, config, rows = self._batch, self._batch.config, self._moving
        count = batch.count
        shape = (count, len(config.observation))
        by_observation = finite("pull_back", "by_observation", by_observation, shape)
        by_reward = finite("pull_back", "by_reward", by_reward, (count,))
        start = finite("pull_back", "by_end", by_end, (count, 4, batch.ndof))
        by_value = np.zeros((count, len(config.actions)))
        if not len(rows):
            return by_value, start
        y, failed = self.y[rows], np.isin(rows, list(self.failures))
        by_terms = np.repeat(by_reward[rows, None], len(config.reward), axis=1)
        by_y = config.observation.pull_back(y, by_observation[rows])
        by_y += config.reward.pull_back(y, by_terms)
        by_y[failed] = 0.0
        by_p, start[rows] = self._segment.gradient(
            by_y[:, : config.numbers], start[rows], batch.threads
        )
        by_value[rows] = by_p @ batch.by_action + by_y[:, config.numbers :]
        return by_value * batch.half * ~self._clipped, start

    def jacobians(self) -> tuple[Array, Array]:
        """d(observation)/d(action) (B, observations, actions) and d(reward)/d(action) (B, actions).

        Of this step alone, one adjoint per observation; it must have been made with gradient=True.
        """
        count, size = self.observation.shape
        none, end = np.zeros((count, size)), np.zeros((count, 4, self._batch.ndof))
        found = np.empty((count, size, len(self._batch.config.actions)))
        for k in range(size):
            one = none.copy()
            one[:, k] = 1.0
            found[:, k] = self.pull_back(one, np.zeros(count), end)[0]
        return found, self.pull_back(none, np.ones(count), end)[0]


class Batch:
    """`count` environments; what they do depends on `seed` alone, not on the number of threads.

    threads  of the engine, 0: every core
    """

    def __init__(
        self, config: EnvironmentConfig, count: int, *, seed: int | None = None, threads: int = 0
    ) -> None:
        if count < 1:
            raise InputError("batch", "count", count, "a whole number >= 1")
        self.config, self.count, self.threads = config, count, threads
        self.random = np.random.default_rng(seed)
        engine = config.scene.engine
        self.ndof = int(engine.ndof)
        self.active = [index for action in config.actions for index in action.sets]
        self.by_action = np.zeros((len(self.active), len(config.actions)))
        row = 0
        for k, action in enumerate(config.actions):
            for factor in action.sets.values():
                self.by_action[row, k] = factor
                row += 1
        low = np.array([action.low for action in config.actions])
        high = np.array([action.high for action in config.actions])
        self.middle, self.half = (low + high) / 2, (high - low) / 2
        self.P = np.tile(engine.values, (count, 1))
        self.snapshots: list[Any] = [None] * count
        self.taken = np.zeros(count, int)  # actions of the present episodes
        self.observation = np.zeros((count, len(config.observation)))

    def reset(self, which: Array | None = None) -> Array:
        """Begin new episodes where `which` (B,) is True, absent: everywhere; the observation."""
        chosen = np.arange(self.count) if which is None else np.flatnonzero(which)
        for i in map(int, chosen):
            self._place(i, *drawn_start(self.config, self.random))
        return self._begun(chosen)

    def begin_at(self, starts: Sequence[Start]) -> Array:
        """Begin an episode everywhere, each at its own start (`drawn_start`); the observation."""
        for i, start in enumerate(starts):
            self._place(i, *start)
        return self._begun(np.arange(self.count))

    def begin(
        self, joints: Mapping[str, tuple[float, float]], parameters: Mapping[int, float]
    ) -> Array:
        """Begin episodes everywhere, from one start; the observation.

        joints  joint -> coordinate and rate;  parameters  index -> value; both go before those of
        the file's `reset`, whose spreads do not count here
        """
        config = self.config
        own = {name: start.value for name, start in config.joints.items()}
        values = {index: start.value[0] for index, start in config.parameters.items()}
        for i in range(self.count):
            self._place(i, {**own, **joints}, {**values, **parameters})
        return self._begun(np.arange(self.count))

    def _place(self, i: int, joints: Mapping[str, Any], parameters: Mapping[int, float]) -> None:
        self.P[i] = self.config.scene.engine.values
        names = self.config.scene.engine.parameters
        given = {names[index].name: value for index, value in parameters.items()}
        assign(self.config.scene.engine, self.P[i], given)
        self.snapshots[i] = self.config.scene.engine.snapshot(self.P[i], dict(joints))

    def _begun(self, chosen: Array) -> Array:
        """The observation where these environments are at their starts."""
        if not len(chosen):
            return self.observation.copy()
        config, engine = self.config, self.config.scene.engine
        y = np.zeros((len(chosen), config.numbers + len(config.actions)))
        for k, i in enumerate(chosen):
            y[k, : config.numbers] = engine.outputs_at(
                self.snapshots[i], self.P[i], list(config.outputs)
            )
        self.taken[chosen] = 0
        self.observation[chosen] = config.observation.values(y)
        return self.observation.copy()

    def step(
        self, actions: Array, *, gradient: bool = False, only: Array | None = None
    ) -> BatchStep:
        """Take actions (B, actions) from -1 to 1, which are clipped to that.

        only  (B,) of bool: the others stay where they are, rewarded with 0
        A motion that the engine cannot follow ends its episode where it was; NaN is refused.
        """
        config = self.config
        actions = finite("batch", "actions", actions, (self.count, len(config.actions)))
        if self.snapshots[0] is None:
            raise InputError("batch", "step", "no episode", "reset() before the first step")
        value = self.middle + self.half * np.clip(actions, -1, 1)
        self.P[:, self.active] = value @ self.by_action.T
        moving = np.arange(self.count) if only is None else np.flatnonzero(only)
        y = np.zeros((self.count, config.numbers + len(config.actions)))
        ok = np.ones(self.count, bool)
        segment, failures = None, {}
        if len(moving):
            segment = _engine.Segment(
                config.scene.engine, [self.snapshots[i] for i in moving], self.P[moving],
                config.steps, config.scene.options, active=self.active if gradient else [],
                mode="checkpoint" if gradient else "none", threads=self.threads,
                outputs=list(config.outputs),
            )  # fmt: skip
            for i, end in zip(moving, segment.ends, strict=True):
                self.snapshots[i] = end
            ok[moving] = segment.ok
            failures = {int(moving[k]): segment.failure(k) for k in np.flatnonzero(~segment.ok)}
            y[moving, : config.numbers] = segment.outputs
        y[:, config.numbers :] = value
        return self._led_to(y, ok, moving, failures, segment, np.abs(actions) > 1)

    def _led_to(
        self, y: Array, ok: Array, moving: Array, failures: dict[int, str], segment: Any,
        clipped: Array,
    ) -> BatchStep:  # fmt: skip
        config, stayed = self.config, np.ones(self.count, bool)
        stayed[moving] = False
        self.taken[moving] += 1
        self.observation[moving] = config.observation.values(y[moving])
        reward = np.where(ok, config.reward.values(y).sum(1), config.failure_reward)
        terminated = ~ok
        for end in config.ends:
            terminated |= (y[:, end.column] < end.below) | (y[:, end.column] > end.above)
        terminated &= ~stayed
        reward = reward + config.alive_reward * ~terminated
        truncated = ~terminated & ~stayed & (self.taken >= config.horizon)
        return BatchStep(
            self.observation.copy(), np.where(stayed, 0.0, reward), terminated, truncated,
            failures, y, moving, self, segment, clipped,
        )  # fmt: skip


def drawn_start(config: EnvironmentConfig, random: np.random.Generator) -> Start:
    """Where an episode begins, as the environment's `reset` says."""

    def drawn(start: Any) -> Array:
        spread = np.array(start.spread)
        return np.array(start.value) + spread * random.uniform(-1, 1, len(spread))

    parameters = {k: float(drawn(start)[0]) for k, start in config.parameters.items()}
    return {name: drawn(start) for name, start in config.joints.items()}, parameters
