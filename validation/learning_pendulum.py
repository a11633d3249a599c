"""Pendulums of one to seven links rise and stay: policies learned through the engine, beside SAC.

[Qa, Table 4] gives best returns of n-link pendulums whose maxima are n^2 / 2, the sum of the
heights of the centres of upright links of 1 m.  It says no more of the setting.  Here:

links    rods of 1 m and 1 kg on hinges in reduced coordinates, gravity 9.81 m/s^2
drives   geared electric motors on every hinge.  T: STRENGTH times what holds all links behind it
         out horizontally; J: the inertia of these, stretched out.  The torque at a rate w is
         T (a - w / SPEED) for the action a from -1 to 1: as of a motor driven by voltage, all of T
         at standstill and none at SPEED.  The rotor behind the gear has an inertia of ARMATURE J
start    hanging, every angle and rate at random within 0.2 rad and 0.2 rad/s; in training the first
         angle is any, the others within 0.5 rad
time     engine's step 0.04 s (BDF2), an action every 0.08 s, episodes of 5 s
reward   of training: sum of heights over n^2 / 2, less a little for torques and rates
return   the mean over the last second of the sum of heights [m]: reached and held, at most n^2 / 2

The mean policy is evaluated on eight episodes that training does not see; best is the largest such
return of a training, and the figure the mean of it over seeds.  The best policy is evaluated with a
quarter of the engine's step too: what it does must not hang on that.  All options of the training
are the same for all n; they were chosen on seeds from 100 on, the figures are of seeds from 0 on.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from diffsim_ros.executors import InProcess, Processes
from diffsim_ros.learning import EnvironmentConfig, load_environment
from diffsim_ros.learning.policy import evaluate

from .common import judged, side_by_side

PAPER = {1: 0.49, 2: 1.93, 3: 4.28, 4: 7.81, 5: 12.31, 6: 17.78, 7: 24.34}
MBPO = {1: 0.49, 2: 1.90, 3: 4.28, 4: 7.50, 5: 11.13, 6: 15.02, 7: 19.97}
STRENGTH, ARMATURE, SPEED = 2.5, 0.25, 6.0  # see above; [rad/s]
STEPS, PERIOD, HORIZON = 2, 0.08, 62  # of the engine per action; [s] of an action; actions
HELD, EPISODES = 1.0, 8  # [s] of the return; evaluation's
LINKS, SEEDS, ITERATIONS = 7, 5, 100
PROCESSES, HOUR = 2, 3600.0  # side by side; [s] that gradients may take of them, all n
STRETCH = 16  # actions: 1.28 s
OPTIONS: Mapping[str, Any] = {
    "environments": 32, "horizon": STRETCH, "gamma": 0.92, "actor_rate": 5e-3, "critic_rate": 3e-3,
    "critic_passes": 4, "minibatches": 4, "warm_up": 16,
}  # fmt: skip
"""Of the training, all n."""


def environment(
    n: int, *, anywhere: bool = False, horizon: int = HORIZON, steps: int = STEPS
) -> EnvironmentConfig:
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
         "body_b": f"rod_{i}", "position": [0, 0, -i], "axis": [0, 1, 0],
         "armature": ARMATURE * (n - i) ** 3 / 3, "friction_damping": limits[i] / SPEED}
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
            "scene": {"world": {"step": PERIOD / steps, "duration": 5}, "bodies": rods,
                      "links": [*hinges, *motors]},
            "action": {
                f"torque_{i}": {"motor": f"motor_{i}", "bounds": [-limits[i], limits[i]]}
                for i in range(n)
            },
            "steps": steps,
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
    options = ShacOptions(iterations=iterations, **OPTIONS)
    result = train(
        environment(n, anywhere=True), options, seed=seed,
        score=lambda policy: height(policy, config, seed),
    )  # fmt: skip
    finer = environment(n, steps=4 * STEPS)
    return {
        "best": result.best, "at_a_quarter_step": height(result.policy, finer, seed),
        "episodes": result.episodes, "actions": result.actions,
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
        score=lambda policy: height(policy, config, seed), evaluate_every=50,
    )  # fmt: skip


def figures_of(runs: Sequence[dict]) -> dict:
    """Mean and standard deviation of best returns over seeds, and what they cost."""
    best = np.array([run["best"] for run in runs])
    return {
        "seeds": len(runs), "mean_best": float(best.mean()), "std_best": float(best.std()),
        "mean_episodes": float(np.mean([run["episodes"] for run in runs])),
        "mean_cpu_seconds": float(np.mean([run["cpu_seconds"] for run in runs])),
        "runs": list(runs),
    }  # fmt: skip


FIRST = 1
"""Seed of the first training: 0 was seen when the number of iterations was chosen."""

Task = tuple[str, int, int, float]
"""gradients, sac or enhanced_sac; n; seed; iterations or CPU seconds."""


def done(task: Task) -> dict:
    """One training."""
    method, n, seed, much = task
    if method == "gradients":
        return by_gradients(n, seed, int(much))
    return by_sac(n, seed, much, method == "enhanced_sac")


def all_done(tasks: Sequence[Task], processes: int) -> dict[Task, dict]:
    """Trainings side by side, begun in the order given."""
    single = processes == 1 or len(tasks) < 2
    here = InProcess(1) if single else Processes(processes)

    def say(done: int, count: int) -> None:
        print(f"{done} of {count} trainings", flush=True)

    found = side_by_side(_done, tasks, here=here, progress=say)
    return dict(zip(tasks, found, strict=True))


def _done(shared: None, task: Task, cancel: Any) -> dict:
    return done(task)


def study(
    fraction: float = 1.0, *, links: Sequence[int] | None = None, seeds: int | None = None,
    iterations: int | None = None, sac: Mapping[str, int] | None = None,
    processes: int = PROCESSES,
) -> dict:  # fmt: skip
    """All pendulums; a tenth: one link, one seed, few iterations, without SAC.

    sac   sac or enhanced_sac -> seeds of it, each with the CPU time that gradients took for it
    """
    whole = fraction >= 1
    links = links or (range(1, LINKS + 1) if whole else (1,))
    seeds = seeds or (SEEDS if whole else 1)
    iterations = iterations or (ITERATIONS if whole else 20)
    if sac is None:
        there = whole and importlib.util.find_spec("stable_baselines3") is not None
        sac = dict.fromkeys(("sac", "enhanced_sac"), seeds) if there else {}
    longest = sorted(links, reverse=True)
    tasks: list[Task] = [
        ("gradients", n, FIRST + k, float(iterations)) for k in range(seeds) for n in longest
    ]
    mine = all_done(tasks, processes)
    spent = {task[1:3]: mine[task]["cpu_seconds"] for task in tasks}
    beside: list[Task] = [
        (method, n, FIRST + k, spent[n, FIRST + k])
        for method, count in sac.items() for k in range(count) for n in longest
    ]  # fmt: skip
    peers = all_done(beside, processes)
    total = sum(spent.values())
    figures: dict = {
        "strength": STRENGTH, "armature": ARMATURE, "no_load_rate": SPEED,
        "episode_seconds": HORIZON * PERIOD, "iterations": iterations, "options": dict(OPTIONS),
        "gradients_cpu_seconds": total,
        "pendulums": {},
    }  # fmt: skip
    missed = []
    for n in links:
        found: dict = {"maximum": n**2 / 2, "paper": PAPER[n], "paper_mbpo": MBPO[n]}
        found["gradients"] = figures_of([mine[task] for task in tasks if task[1] == n])
        for method in sac:
            runs = [peers[task] for task in beside if task[:2] == (method, n)]
            if runs:
                found[method] = figures_of(runs)
        figures["pendulums"][str(n)] = found
        mean = found["gradients"]["mean_best"]
        if whole and mean < PAPER[n]:
            missed.append(f"{n} links: mean best return {mean:.4g}, {PAPER[n]:g} wanted")
    if whole and total > PROCESSES * HOUR:
        missed.append(f"{total:.0f} s of CPU by gradients, {PROCESSES} processes for an hour meant")
    return judged(figures, missed)
