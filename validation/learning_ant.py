"""Gymnasium's Ant: a policy learned here, through the engine's gradients, walks in MuJoCo as it is.

[Qa, Table 5] trains the MuJoCo Ant in its own engine and runs the policy in MuJoCo: a return of
1735 +- 1066, where an untrained start has 868 +- 77.  Here:

model    the same MJCF in both; what has no counterpart (contact, limits of joints) has the values
         of config/learning/ant.yaml, chosen so that the motions of `match` are near to each other's
task     Gymnasium's: torques, 0.05 s an action, 1000 actions, 1 + forward velocity - |a|^2 / 2;
         here for an even walk: 1 less (v - 1.5)^2, what the torso moves beside, and heights other
         than 0.5 m, as what hops and rolls at higher speeds does not carry over to MuJoCo
return   in gymnasium's Ant-v4, its own reward and its own start, over EPISODES episodes
SAC      of Stable-Baselines3 with its own settings, in gymnasium's Ant-v4, as much CPU time

A training keeps the policy that is best in our engine: MuJoCo has no part in it.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.learning import Batch, EnvironmentConfig, load_environment

from .common import ROOT, judged

PAPER = {"trained": 1735.0, "trained_std": 1066.0, "untrained": 868.0, "untrained_std": 77.0}
FILE = ROOT / "config" / "learning" / "ant.yaml"
JOINTS = tuple(f"{part}_{leg}" for leg in (1, 2, 3, 4) for part in ("hip", "ankle"))
"""In the order of qpos."""
NEEDED = ("torch", "gymnasium", "mujoco", "stable_baselines3")
GAME = "Ant-v4"
EPISODES, SEEDS, ITERATIONS = 20, range(3, 6), 450  # seeds 0 to 2 were seen, with 300 iterations
SPAN = 10  # actions of a matched motion: 0.5 s
OPTIONS: dict[str, Any] = {
    "environments": 48, "horizon": 10, "gamma": 0.99, "critic_rate": 2e-3, "critic_passes": 4,
    "reward_scale": 0.1, "warm_up": 20, "evaluate_every": 30, "episodes": 3,
}  # fmt: skip
"""Of ShacOptions."""


def environment(**changes: Any) -> EnvironmentConfig:
    """The file's, with some keys changed."""
    from diffsim_ros.yaml_file import read_mapping

    with warnings.catch_warnings():  # cameras and lights of the MJCF are not used
        warnings.simplefilter("ignore", UserWarning)
        return load_environment(read_mapping(FILE, None)[0] | changes, base=FILE.parent)


def turn_of(quaternion: np.ndarray) -> np.ndarray:
    """Matrix (3, 3) of MuJoCo's quaternion (w, x, y, z), of any length."""
    from diffsim_ros.rotation import quat_matrix

    return quat_matrix(np.roll(quaternion, -1) / np.linalg.norm(quaternion))


def seen(observation: np.ndarray) -> np.ndarray:
    """Observation (27,) of gymnasium's Ant as config/learning/ant.yaml has it (29,).

    Axes of the torso instead of its quaternion, whose two signs are one pose; its angular velocity
    in the world instead of its own axes.
    """
    turn = turn_of(observation[1:5])
    return np.concatenate(
        [observation[:1], turn[:, 0], turn[:, 2], observation[5:16], turn @ observation[16:19],
         observation[19:]]
    )  # fmt: skip


def of_game(policy: Callable, episodes: int, seed: int = 0) -> dict:
    """Episodes of a policy of gymnasium's own observations in its Ant: what they came to."""
    import gymnasium

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # v4 is called out of date
        game = gymnasium.make(GAME)
    returns, lengths, velocity = np.zeros(episodes), np.zeros(episodes, int), np.zeros(episodes)
    for k in range(episodes):
        observation, _ = game.reset(seed=seed + k)
        start, ended = game.unwrapped.data.qpos[0], False
        while not ended:
            observation, reward, terminated, truncated, _ = game.step(policy(observation[None])[0])
            returns[k] += reward
            lengths[k] += 1
            ended = terminated or truncated
        velocity[k] = (game.unwrapped.data.qpos[0] - start) / (lengths[k] * game.unwrapped.dt)
    return {
        "mean": float(returns.mean()), "std": float(returns.std()),
        "least": float(returns.min()), "most": float(returns.max()),
        "mean_length": float(lengths.mean()), "mean_velocity": float(velocity.mean()),
    }  # fmt: skip


def in_mujoco(policy: Callable, episodes: int, seed: int = 0) -> dict:
    """Episodes of a policy of our observations in gymnasium's Ant."""
    return of_game(lambda rows: policy(np.array([seen(row) for row in rows])), episodes, seed)


def start_at(batch: Batch, qpos: np.ndarray, qvel: np.ndarray) -> None:
    """Put the only environment of a batch where MuJoCo's state (15,), (14,) is."""
    from diffsim_ros.rotation import quat_log

    engine = batch.config.scene.engine
    values = engine.values.copy()
    turn = turn_of(qpos[3:7])
    numbers = {
        "position": qpos[:3],
        "rotation": quat_log(np.roll(qpos[3:7], -1) / np.linalg.norm(qpos[3:7])),
        "velocity": qvel[:3],
        "angular_velocity": turn @ qvel[3:6],
    }
    for word, vector in numbers.items():
        for axis, number in zip("xyz", vector, strict=True):
            values[engine.index(f"torso.{word}.{axis}")] = number
    joints = {name: [qpos[7 + k], qvel[6 + k]] for k, name in enumerate(JOINTS)}
    batch.P[0] = values
    batch.snapshots[0] = engine.snapshot(values, joints)


def motion_here(
    config: EnvironmentConfig, qpos: np.ndarray, qvel: np.ndarray, actions: np.ndarray
) -> np.ndarray:
    """Position, x axis and angles of the joints (actions, 3 + 3 + 8) after every action."""
    batch = Batch(config, 1)
    start_at(batch, qpos, qvel)
    engine = config.scene.engine
    names = ["torso.position", "torso.x_axis", *(f"{name}.coordinate" for name in JOINTS)]
    found = []
    for action in actions:
        batch.step(action[None])
        found.append(engine.outputs_at(batch.snapshots[0], batch.P[0], names))
    return np.array(found)


def motion_there(qpos: np.ndarray, qvel: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """The same of MuJoCo, with Gymnasium's five steps an action."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(ROOT / "data" / "robots" / "ant" / "ant.xml"))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    found = []
    for action in actions:
        data.ctrl[:] = action
        mujoco.mj_step(model, data, 5)
        found.append(np.concatenate([data.qpos[:3], turn_of(data.qpos[3:7])[:, 0], data.qpos[7:]]))
    return np.array(found)


def match(config: EnvironmentConfig, cases: int, seed: int = 0) -> dict:
    """The same torques from the same starts here and in MuJoCo: medians of how far apart after
    1, 5 and 10 actions.  Legs held up or as they stand, torques none to all they have."""
    rng = np.random.default_rng(seed)
    apart = []
    for k in range(cases):
        qpos, qvel = np.zeros(15), 0.1 * rng.normal(size=14)
        qpos[2:4] = 0.75, 1
        if k % 2:  # as the ant stands
            qpos[[8, 14]], qpos[[10, 12]], qpos[2] = 0.9, -0.9, 0.57
        qpos[2:] += rng.uniform(-0.1, 0.1, 13)
        qpos[3:7] /= np.linalg.norm(qpos[3:7])
        held = np.repeat(rng.uniform(-1, 1, (SPAN // 2, 8)), 2, 0) * rng.choice([0, 0.2, 0.5, 1])
        d = motion_here(config, qpos, qvel, held) - motion_there(qpos, qvel, held)
        apart.append([np.linalg.norm(d[:, :3], axis=1), np.linalg.norm(d[:, 3:6], axis=1),
                      np.abs(d[:, 6:]).mean(1)])  # fmt: skip
    median = np.median(apart, axis=0)[:, [0, 4, 9]]
    words = ("position_m", "heading_rad", "joints_rad")
    return {
        "cases": cases, "after_s": [0.05, 0.25, 0.5],
        **{word: [float(f"{x:.3g}") for x in row] for word, row in zip(words, median, strict=True)},
    }  # fmt: skip


def by_gradients(
    config: EnvironmentConfig, seed: int, iterations: int, episodes: int = EPISODES, **options: Any
) -> dict:
    """Learn here by the engine's gradients, then run in MuJoCo; options of ShacOptions."""
    import torch

    from diffsim_ros.learning.shac import ShacOptions, train

    torch.set_num_threads(1)
    settings = {**OPTIONS, "iterations": iterations} | options
    result = train(config, ShacOptions(**settings), seed=seed)
    return {
        "seed": seed, "return_here": result.best, "in_mujoco": in_mujoco(result.policy, episodes),
        "actions": result.actions, "cpu_minutes": round(result.cpu_seconds / 60, 2),
        "failed_motions": result.failures, "skipped_updates": result.skipped,
        "history": [[a, round(s, 1), round(v, 1)] for a, s, v in result.history],
        "policy": result.policy,
    }  # fmt: skip


def by_sac(seed: int, cpu_seconds: float, parts: int = 4) -> dict:
    """Learn with SAC in MuJoCo for so much CPU time; the best policy at the end of `parts` parts of
    it, evaluated on episodes as ours is.  Evaluations cost none of the time."""
    import gymnasium
    import stable_baselines3 as sb3
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    torch.set_num_threads(1)

    class Clock(BaseCallback):  # type: ignore[misc]
        """Ends the learning when its part of the time is spent."""

        until = 0.0

        def _on_step(self) -> bool:
            return time.process_time() < self.until

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sb3.SAC("MlpPolicy", gymnasium.make(GAME), seed=seed, device="cpu")
    clock, history = Clock(), []
    for part in range(parts):
        clock.until = time.process_time() + cpu_seconds / parts
        model.learn(10**9, callback=clock, reset_num_timesteps=part == 0)

        def policy(rows: np.ndarray) -> np.ndarray:
            return np.asarray(model.predict(rows, deterministic=True)[0])

        history.append(of_game(policy, EPISODES))
    best = max(history, key=lambda one: one["mean"])
    return {
        "seed": seed, "in_mujoco": best, "actions": int(model.num_timesteps),
        "cpu_minutes": round(cpu_seconds / 60, 2), "history": [one["mean"] for one in history],
    }  # fmt: skip


def untrained(config: EnvironmentConfig, seed: int) -> dict:
    """A network as trainings begin with, in MuJoCo."""
    from diffsim_ros.learning.shac import Shac, ShacOptions

    training = Shac(config, ShacOptions(**OPTIONS), seed=seed)
    return in_mujoco(training.policy(), EPISODES)


def means(runs: Sequence[dict]) -> dict:
    """Over seeds: mean and standard deviation of mean returns, mean of CPU minutes."""
    found = np.array([run["in_mujoco"]["mean"] for run in runs])
    return {
        "mean": float(found.mean()), "std_over_seeds": float(found.std()),
        "mean_cpu_minutes": float(np.mean([run["cpu_minutes"] for run in runs])),
        "runs": list(runs),
    }  # fmt: skip


def study(
    fraction: float = 1.0, *, seeds: Sequence[int] | None = None, keep: Path | None = None
) -> dict:
    """Match, trainings, and SAC; a part of it: the match, and one training of a few iterations.

    keep  folder for the policies
    """
    whole = fraction >= 1
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return {"skipped": f"not installed: {', '.join(missing)}"}
    config = environment()
    figures: dict = {"paper": PAPER, "game": GAME, "episodes": EPISODES, "options": OPTIONS,
                     "match": match(config, 40 if whole else 6)}  # fmt: skip
    if not whole:
        short = environment(horizon=20)
        figures["trained"] = means(
            [by_gradients(short, 0, 4, 1, environments=8, horizon=4, evaluate_every=4)]
        )
        figures["trained"]["runs"][0].pop("policy")
        return figures
    seeds = SEEDS if seeds is None else seeds
    figures["untrained"] = [untrained(config, seed) for seed in seeds]
    runs = [by_gradients(config, seed, ITERATIONS) for seed in seeds]
    for run in runs:
        policy = run.pop("policy")
        if keep is not None:
            policy.save(keep / f"ant_{run['seed']}.npz")
    figures["trained"] = means(runs)
    figures["sac"] = means([by_sac(run["seed"], 60 * run["cpu_minutes"]) for run in runs])
    mean = figures["trained"]["mean"]
    wanted = PAPER["trained"]
    missed = [] if mean >= wanted else [f"return {mean:.0f}, {wanted:.0f} wanted"]
    return judged(figures, missed)
