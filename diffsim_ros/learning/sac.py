"""SAC of Stable-Baselines3 in the same environments: what analytic gradients are compared with."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from diffsim_ros.learning.batch import Batch
from diffsim_ros.learning.config import EnvironmentConfig
from diffsim_ros.learning.extra import require

require("torch").set_num_threads(1)
require("gymnasium")
sb3 = require("stable_baselines3")
vec_env = require("stable_baselines3.common.vec_env")
callbacks = require("stable_baselines3.common.callbacks")


class SacEnvironments(vec_env.VecEnv):  # type: ignore[name-defined]
    """A batch as Stable-Baselines3's VecEnv, which resets an environment in the step that ends its
    episode and hands out the last observation in `infos`."""

    def __init__(
        self, config: EnvironmentConfig, count: int, seed: int, *, jacobians: bool = False
    ) -> None:
        """jacobians: `infos` have those of every step too."""
        from diffsim_ros.learning.env import spaces_of

        super().__init__(count, *spaces_of(config))
        self.batch = Batch(config, count, seed=seed, threads=1)
        self.episodes, self.jacobians = 0, jacobians

    def reset(self) -> np.ndarray:
        return self.batch.reset()

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        step = self.batch.step(self._actions, gradient=self.jacobians)
        ended = step.terminated | step.truncated
        infos: list[dict] = [{} for _ in range(self.num_envs)]
        if self.jacobians:
            for info, *slopes in zip(infos, *step.jacobians(), strict=True):
                info["slopes"] = slopes
        seen = step.observation
        if ended.any():
            for i in np.flatnonzero(ended):
                infos[i] |= {
                    "terminal_observation": seen[i],
                    "TimeLimit.truncated": bool(step.truncated[i]),
                }
            self.episodes += int(ended.sum())
            seen = self.batch.reset(ended)
        return seen, step.reward.astype(np.float32), ended, infos

    def close(self) -> None:
        """Nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **more: Any) -> list:
        return [None] * self.num_envs

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


class _Judge(callbacks.BaseCallback):  # type: ignore[name-defined]
    """Evaluates the mean policy now and then, and stops when the CPU time is spent."""

    def __init__(self, score: Callable, every: int, cpu_seconds: float) -> None:
        super().__init__()
        self.score, self.every, self.limit = score, every, cpu_seconds
        self.start = time.process_time()
        self.history: list[list[float]] = []

    def judge(self) -> None:
        """Add one evaluation."""
        value = self.score(lambda seen: self.model.predict(seen, deterministic=True)[0])
        spent = round(time.process_time() - self.start, 1)
        self.history.append([self.num_timesteps, spent, round(value, 4)])

    def _on_step(self) -> bool:
        if self.n_calls % self.every == 0:
            self.judge()
        return time.process_time() - self.start < self.limit


def train_sac(
    config: EnvironmentConfig, *, seed: int, cpu_seconds: float, score: Callable[[Any], float],
    environments: int = 8, evaluate_every: int = 250, enhance: bool = False, nearby: bool = False,
    **settings: Any,
) -> dict:  # fmt: skip
    """Train for so much CPU time; best score of the mean policy, episodes, actions, history.

    enhance   the policy by the engine's gradients;  nearby  or the samples (enhanced_sac.py)
    settings  of stable_baselines3.SAC in place of its own; one update per action and environment
    """
    kind = sb3.SAC
    if enhance:
        from diffsim_ros.learning.enhanced_sac import EnhancedSAC, SlopesBuffer

        kind, settings = EnhancedSAC, {"replay_buffer_class": SlopesBuffer} | settings
    elif nearby:
        from diffsim_ros.learning.enhanced_sac import NearbyBuffer

        settings = {"replay_buffer_class": NearbyBuffer} | settings
    environment = SacEnvironments(config, environments, seed, jacobians=enhance or nearby)
    settings = {
        "learning_starts": 1000, "buffer_size": 100_000, "policy_kwargs": {"net_arch": [64, 64]}
    } | settings  # fmt: skip
    model = kind("MlpPolicy", environment, seed=seed, device="cpu", gradient_steps=-1, **settings)
    judge = _Judge(score, evaluate_every, cpu_seconds)
    model.learn(10**9, callback=judge)
    judge.judge()
    return {
        "best": max(value for _, _, value in judge.history), "episodes": environment.episodes,
        "actions": int(model.num_timesteps),
        "cpu_seconds": round(time.process_time() - judge.start, 1), "history": judge.history,
    }  # fmt: skip
