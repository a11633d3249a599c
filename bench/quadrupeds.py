"""Solo12 under the velocity stepper: [Qa Fig. 8], and many environments beside MuJoCo's rollout.

Fig. 8: 1 and 10 quadrupeds (37 coordinates each: 19 of place, 18 of velocity) on their feet, 5000
steps of 1 ms; microseconds per step forward and backward (gradient by the gains of all drives), and
what memory the process grows by, over the interval of checkpoints. Published for the same sizes
(diffarticulated): 15 and 66 us per step and robot, 2.3 MB for one.

Environments: 1000 of one quadruped, each from a start of its own, 50 steps of 2 ms, beside MuJoCo's
`rollout` of the same robot on the same two threads, in turn.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.scene import load_scene

from . import articulated
from .chain import best_of
from .memory import peak, resident

INTERVALS = (1, 2, 5, 10, 25)
ENVIRONMENTS, STEPS = 1000, 50


def standing(count: int, steps: int) -> dict:
    """Scene of `count` quadrupeds side by side, held by their drives."""
    base = articulated.solo12()
    del base["damping"]
    robots, contacts = {}, []
    for k in range(count):
        prefix = f"r{k}_" if count > 1 else ""
        robots[f"solo{k}"] = base | {
            "prefix": prefix, "pose": {"position": [0.0, 1.0 * k, 0.27]}, "armature": 0.0006,
            "drive": {"stiffness": 6, "damping": 0.12},
            "limits": "none",  # of its joints, which it stays away from
        }  # fmt: skip
        contacts += [
            {"points": prefix + foot.replace("FOOT", "LOWER_LEG"), "against": "ground",
             "k_n": 2e4, "k_t": 100, "c_n": 0.5, "c_f": 0.7}
            for foot in articulated.FEET
        ]  # fmt: skip
    return {
        "world": {"step": 1e-3, "duration": 1e-3 * steps, "record_every": steps,
                  "stepper": "velocity"},
        "robots": robots, "sdfs": {"ground": {"plane": {}}}, "contact": contacts,
    }  # fmt: skip


def checkpoints(count: int, every: int, steps: int) -> dict:
    """One process: times and memory of a rollout in mode checkpoint, and of its gradient."""
    model = load_scene(standing(count, steps))
    scene, p, options = model.engine, model.engine.values, model.options
    options.checkpoint_every = every
    active = [i for i, one in enumerate(scene.parameters) if one.name.endswith(".stiffness")]
    for n in (10, steps):  # what is allocated once
        before = resident()
        begin = time.process_time()
        run = _engine.rollout(scene, p, n, options, active=active, mode="checkpoint")
        forward = time.process_time() - begin
        assert run.ok, run.message
        seeds = np.zeros((len(run.time), scene.ndof))
        seeds[-1] = 1.0
        begin = time.process_time()
        gradient = run.gradient(seeds, np.zeros_like(seeds))
        backward = time.process_time() - begin
    assert np.isfinite(gradient).all()
    return {
        "quadrupeds": count, "checkpoint_every": every,
        "forward_us": forward / steps * 1e6, "backward_us": backward / steps * 1e6,
        "peak_mb": max(0, peak() - before) / 1e6, "parameters": len(active),
    }  # fmt: skip


def figure8(steps: int) -> list[dict]:
    """Every number of quadrupeds and every interval, each in a process of its own."""
    found = []
    for count in (1, 10):
        for every in INTERVALS:
            code = (f"import json; from bench.quadrupeds import checkpoints; "
                    f"print(json.dumps(checkpoints({count}, {every}, {steps})))")  # fmt: skip
            done = subprocess.run([sys.executable, "-c", code], cwd=articulated.ROOT, check=True,
                                  capture_output=True, text=True)  # fmt: skip
            found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def environments(count: int, threads: int, repeats: int) -> dict:
    """Steps per second of `count` environments: both steppers, and MuJoCo's rollout."""
    import mujoco
    from mujoco import rollout

    robot = articulated.solo12()
    scene_of = articulated.scene_of(robot)
    scene_of["world"] |= {"record_every": STEPS, "duration": articulated.STEP * STEPS}
    rng = np.random.default_rng(0)
    lifts = rng.uniform(-0.02, 0.02, count)
    rates: dict[str, float] = {}
    for stepper in ("velocity", "implicit"):
        scene_of["world"]["stepper"] = stepper
        model = load_scene(scene_of)
        scene = model.engine
        P = np.tile(scene.values, (count, 1))
        bodies = [i for i, one in enumerate(scene.parameters) if one.name.endswith("position.z")]
        P[:, bodies] += lifts[:, None]

        def steps(scene=scene, P=P, options=model.options) -> None:
            for run in _engine.rollout_batch(scene, P, STEPS, options, threads=threads):
                assert run.ok, run.message

        rates[stepper] = count * STEPS / best_of(repeats, steps, time.perf_counter)
    model, start = articulated.mujoco_model(robot)
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros((count, mujoco.mj_stateSize(model, spec)))
    for k in range(count):
        start.qpos[2] = 0.3 + lifts[k]
        mujoco.mj_getState(model, start, state[k], spec)
    data = [mujoco.MjData(model) for _ in range(threads)]
    with rollout.Rollout(nthread=threads) as pool:
        rates["mujoco"] = (
            count
            * STEPS
            / best_of(
                repeats, lambda: pool.rollout(model, data, state, nstep=STEPS), time.perf_counter
            )
        )
    return {
        "environments": count, "threads": threads, "steps_per_second": rates,
        "velocity_ratio": rates["velocity"] / rates["mujoco"],
        "implicit_ratio": rates["implicit"] / rates["mujoco"],
    }  # fmt: skip


def main(out: Path, *, steps: int = 5000, repeats: int = 3) -> dict:
    """All figures; the ratios are the engine's steps per second over MuJoCo's."""
    return {
        "figure_8": figure8(steps),
        "environments": environments(ENVIRONMENTS, 2, repeats),
    }
