"""Gymnasium environments of an EnvironmentConfig: one, and many on the engine's threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffsim_ros.learning.batch import Batch, BatchStep
from diffsim_ros.learning.config import EnvironmentConfig
from diffsim_ros.learning.extra import require

gymnasium = require("gymnasium")
vector = require("gymnasium.vector")
Array = np.ndarray


def spaces_of(config: EnvironmentConfig) -> tuple[Any, Any]:
    """Spaces of observations (unbounded) and of actions (from -1 to 1)."""
    box = gymnasium.spaces.Box
    size = (len(config.observation),)
    return (
        box(-np.inf, np.inf, size, np.float64),
        box(-1.0, 1.0, (len(config.actions),), np.float32),
    )


class SceneEnv(gymnasium.Env):  # type: ignore[name-defined]
    """One environment.  `info["failure"]` has the engine's message where a motion was not followed.

    Observations are float64, actions from -1 to 1 stand for the bounds of the file.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, config: EnvironmentConfig) -> None:
        self.config = config
        self.observation_space, self.action_space = spaces_of(config)
        self._batch = Batch(config, 1, threads=1)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self._batch.random = self.np_random
        return self._batch.reset()[0], {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        step = self._batch.step(np.asarray(action)[None])
        info = {"failure": step.failures[0]} if step.failures else {}
        return (
            step.observation[0], float(step.reward[0]), bool(step.terminated[0]),
            bool(step.truncated[0]), info,
        )  # fmt: skip


class SceneVectorEnv(vector.VectorEnv):  # type: ignore[name-defined]
    """`count` environments that the engine steps on its threads in one call.

    Autoreset is Gymnasium's NEXT_STEP: the step after an episode's end resets it, takes no action
    there and rewards 0.  `infos["failure"]` has messages (count,) where there are any.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": [], "autoreset_mode": vector.AutoresetMode.NEXT_STEP
    }  # fmt: skip

    def __init__(self, config: EnvironmentConfig, count: int, *, threads: int = 0) -> None:
        self.config, self.num_envs = config, count
        self.single_observation_space, self.single_action_space = spaces_of(config)
        batch_space = vector.utils.batch_space
        self.observation_space = batch_space(self.single_observation_space, count)
        self.action_space = batch_space(self.single_action_space, count)
        self._batch = Batch(config, count, threads=threads)
        self._ended = np.zeros(count, bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self._batch.random = self.np_random
        self._ended[:] = False
        return self._batch.reset(), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        again = self._ended.copy()
        self._batch.reset(again)
        step: BatchStep = self._batch.step(np.asarray(actions), only=~again)
        self._ended = step.terminated | step.truncated
        infos: dict[str, Any] = {}
        if step.failures:
            messages = [step.failures.get(i, "") for i in range(self.num_envs)]
            infos = {"failure": np.array(messages), "_failure": np.array(messages) != ""}
        return step.observation, step.reward, step.terminated, step.truncated, infos
