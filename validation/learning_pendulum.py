"""Pendulums of one to seven links rise and stay: policies learned through the engine, beside SAC.

[Qa, Table 4] gives best returns of n-link pendulums whose maxima are n^2 / 2, the sum of the
heights of the centres of upright links of 1 m.  It says no more of the setting.  Here:

links    rods of 1 m and 1 kg on hinges in reduced coordinates, gravity 9.81 m/s^2
torques  on every hinge, at most STRENGTH times what holds all links behind it out horizontally
start    hanging, every angle and rate at random within 0.2 rad and 0.2 rad/s; in training the first
         angle is any, the others within 0.5 rad
time     engine's step 1/100 s (BDF2), an action every 0.04 s, episodes of 5 s
reward   of training: sum of heights over n^2 / 2, less a little for torques and rates
return   the mean over the last second of the sum of heights [m]: reached and held, at most n^2 / 2

The mean policy is evaluated on eight episodes that training does not see; best is the largest such
return of a training, and the figure the mean of it over seeds.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diffsim_ros.learning import EnvironmentConfig, load_environment
from diffsim_ros.learning.policy import evaluate

from .common import judged

PAPER = {1: 0.49, 2: 1.93, 3: 4.28, 4: 7.81, 5: 12.31, 6: 17.78, 7: 24.34}
MBPO = {1: 0.49, 2: 1.90, 3: 4.28, 4: 7.50, 5: 11.13, 6: 15.02, 7: 19.97}
STRENGTH, HELD, EPISODES = 1.25, 1.0, 8  # see above; [s] of the return; evaluation's
LINKS, SEEDS, ITERATIONS = 7, 5, 200
STRETCH, GAMMA = 16, 0.98  # actions of a stretch: 0.64 s; discount per action


def environment(n: int, *, anywhere: bool = False, horizon: int = 125) -> EnvironmentConfig:
    """The pendulum of n links, hanging at the start; or `anywhere`, as trainings have it."""
    limits = [STRENGTH * 9.81 * (n - i) ** 2 / 2 for i in range(n)]
    best = n**2 / 2
    rods = {
        f"rod_{i}": {
            "shape": {"box": {"size": [0.05, 0.05, 1.0]}},
            "mass": 1.0,
            "pose": {"position": [0, 0, -0.5 - i]},
        }
        for i in range(n)
    }
    hinges = [
        {"name": f"hinge_{i}", "type": "joint", "kind": "hinge", "coordinates": "reduced",
         "body_b": f"rod_{i}", "position": [0, 0, -i], "axis": [0, 1, 0]}
        | ({"body_a": f"rod_{i - 1}"} if i else {})
        for i in range(n)
    ]  # fmt: skip
    motors = [
        {"name": f"motor_{i}", "type": "motor", "joint": f"hinge_{i}", "kind": "torque", "keys": 0}
        for i in range(n)
    ]
    reward: dict[str, Any] = {}
    for i in range(n):
        reward |= {
            f"height_{i}": {"of": f"rod_{i}.position.z", "scale": best},
            f"effort_{i}": {"of": f"action.torque_{i}", "as": "square", "scale": limits[i],
                            "weight": -0.01 / n},
            f"rate_{i}": {"of": f"hinge_{i}.rate", "as": "square", "scale": 5.0,
                          "weight": -0.05 / n},
        }  # fmt: skip
    return load_environment(
        {
            "name": f"pendulum of {n} links",
            "scene": {"world": {"step": 0.01, "duration": 5}, "bodies": rods,
                      "links": [*hinges, *motors]},
            "action": {
                f"torque_{i}": {"motor": f"motor_{i}", "bounds": [-limits[i], limits[i]]}
                for i in range(n)
            },
            "steps": 4,
            "horizon": horizon,
            "observation": [
                entry
                for i in range(n)
                for entry in ({"of": f"hinge_{i}.coordinate", "as": "sin_cos"},
                              {"of": f"rod_{i}.x_axis.z"}, {"of": f"rod_{i}.z_axis.z"},
                              {"of": f"hinge_{i}.rate", "scale": 5.0})
            ],
            "reward": reward,
            "reset": {"joints": {
                f"hinge_{i}": {"spread": (np.pi if i == 0 else 0.5) if anywhere else 0.2,
                               "rate_spread": 0.2}
                for i in range(n)
            }},
        }
    )  # fmt: skip


def height(policy: Callable, config: EnvironmentConfig, seed: int) -> float:
    """The return of a policy: see the module."""
    episodes = evaluate(policy, config, EPISODES, seed=10**6 + seed, threads=1)
    columns = [t.column for t in config.reward.terms if t.name.endswith("position.z")]
    last = round(HELD / config.period)
    return float(episodes.y[:, -last:, columns].sum(2).mean())


def by_gradients(n: int, seed: int, iterations: int) -> dict:
    """Learn with the engine's gradients; best return, episodes, CPU seconds."""
    import torch

    from diffsim_ros.learning.shac import ShacOptions, train

    torch.set_num_threads(1)
    config = environment(n)
    options = ShacOptions(iterations=iterations, horizon=STRETCH, gamma=GAMMA)
    result = train(
        environment(n, anywhere=True), options, seed=seed,
        score=lambda policy: height(policy, config, seed),
    )  # fmt: skip
    return {
        "best": result.best, "episodes": result.episodes, "actions": result.actions,
        "cpu_seconds": round(result.cpu_seconds, 1), "failed_motions": result.failures,
        "history": [[a, round(s, 1), round(v, 4)] for a, s, v in result.history],
    }  # fmt: skip


def by_sac(n: int, seed: int, cpu_seconds: float, enhance: bool) -> dict:
    """Learn with SAC of Stable-Baselines3, in the same environment and as much CPU time.

    enhance  its policy by the engine's gradients [Qa (16)]
    """
    from diffsim_ros.learning.sac import train_sac

    config = environment(n)
    return train_sac(
        environment(n, anywhere=True), seed=seed, cpu_seconds=cpu_seconds, enhance=enhance,
        score=lambda policy: height(policy, config, seed),
    )  # fmt: skip


def figures_of(runs: Sequence[dict]) -> dict:
    """Mean and standard deviation of best returns over seeds, and what they cost."""
    best = np.array([run["best"] for run in runs])
    return {
        "mean_best": float(best.mean()), "std_best": float(best.std()),
        "mean_episodes": float(np.mean([run["episodes"] for run in runs])),
        "mean_cpu_seconds": float(np.mean([run["cpu_seconds"] for run in runs])),
        "runs": list(runs),
    }  # fmt: skip


def study(
    fraction: float = 1.0, *, links: Sequence[int] | None = None, seeds: int | None = None,
    iterations: int | None = None, sac: bool = True,
) -> dict:  # fmt: skip
    """All pendulums; a tenth: one link, one seed, few iterations, without SAC."""
    whole = fraction >= 1
    links = links or (range(1, LINKS + 1) if whole else (1,))
    seeds = seeds or (SEEDS if whole else 1)
    iterations = iterations or (ITERATIONS if whole else 50)
    sac = sac and whole and importlib.util.find_spec("stable_baselines3") is not None
    figures: dict = {
        "strength": STRENGTH, "episode_seconds": 5.0, "seeds": seeds, "iterations": iterations,
        "pendulums": {},
    }  # fmt: skip
    missed = []
    for n in links:
        runs = [by_gradients(n, seed, iterations) for seed in range(seeds)]
        found = {"maximum": n**2 / 2, "paper": PAPER[n], "paper_mbpo": MBPO[n],
                 "gradients": figures_of(runs)}  # fmt: skip
        if sac:
            spent = [run["cpu_seconds"] for run in runs]
            for name, enhance in (("sac", False), ("enhanced_sac", True)):
                peers = [by_sac(n, seed, spent[seed], enhance) for seed in range(seeds)]
                found[name] = figures_of(peers)
        figures["pendulums"][str(n)] = found
        mean = found["gradients"]["mean_best"]
        if whole and mean < PAPER[n]:
            missed.append(f"{n} links: mean best return {mean:.3g}, {PAPER[n]:g} wanted")
    return judged(figures, missed)
