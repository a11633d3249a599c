"""A foam ball before a depth camera (data/foam_ball): one objective with its gradient, by part.

The problem is that of config/estimation/foam_ball.yaml at its first guess: parameters and the start
of the recording.  CPU seconds of one thread, in which waiting for a busy machine does not count,
the median of REPEATS runs:

    rollout       the motion alone;  nearest  every point's nearest visible triangle
    cost          rollout and objective
    gradient      cost with its exact gradient, by the adjoint
    equations     cost, gradient and Gauss-Newton equations, by sensitivities
    differences   the gradient by central differences, and how far the exact one is from it

    pipeline      whole frames of the recording through the pipeline: points, ms, frames per second,
                  here by the clock on the wall
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.sensing.clouds.pipeline import CloudPipeline, stage_table

CONFIG = Path(__file__).resolve().parent.parent / "config" / "estimation" / "foam_ball.yaml"
REPEATS = 5
STEP = 1e-5  # of a scaled variable
PASSES = 3  # through the recording, for the pipeline's rate


def seconds(function: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median CPU time of a call [s]."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return statistics.median(times)


def differences(problem, z, y) -> np.ndarray:
    """Gradient by z and y (nz + ny,) by central differences: two costs a variable."""
    x, nz, found = np.concatenate([z, y.ravel()]), len(z), []
    for i in range(len(x)):
        costs = []
        for sign in (1, -1):
            moved = x.copy()
            moved[i] += sign * STEP
            costs.append(problem.evaluate(moved[:nz], moved[nz:].reshape(y.shape)).value)
        found.append((costs[0] - costs[1]) / (2 * STEP))
    return np.array(found)


def objective(model, throw, repeats: int) -> dict:
    """Times of the objective and its derivatives, part by part."""
    problem, z = model.problem([throw], model.map.start), model.map.start
    y = np.zeros(problem.nuisance_shape)
    slot = body_slots(model.scene.engine)[model.config.body]
    track = model.tracks(throw)[model.reference.name]
    run = problem.rollouts(z, y)[0]
    apart = itertools.count(1)  # the equations of the last point are kept by the problem
    parts = {
        "rollout": lambda: problem.rollouts(z, y),
        "nearest": lambda: track.nearest(run, slot),
        "cost": lambda: problem.evaluate(z, y),
        "gradient": lambda: problem.evaluate(z, y, want="gradient"),
        "equations": lambda: problem.evaluate(z + 1e-12 * next(apart), y, want="equations"),
    }
    figures = {f"{name}_s": seconds(call, repeats) for name, call in parts.items()}
    begin = time.process_time()
    slopes = differences(problem, z, y)
    figures["differences_s"] = time.process_time() - begin
    gradient = problem.evaluate(z, y, want="gradient").gradient
    exact = np.concatenate([gradient[0], gradient[1].ravel()])
    figures["off_differences"] = float(np.linalg.norm(exact - slopes) / np.linalg.norm(exact))
    figures["differences_to_gradient"] = figures["differences_s"] / figures["gradient_s"]
    return figures | {
        "variables": len(exact), "points": len(track.points), "steps": problem.trials[0].steps,
        "frames": len(track.t), "triangles": len(track.skin.triangles), "dofs": slot.size,
    }  # fmt: skip


def pipeline(model, clouds, passes: int) -> dict:
    """Frames per second through the pipeline, one by one as a topic brings them, and its stages.

    The first frames of every pass look for planes: the longest times are theirs.
    """
    lines = [CloudPipeline(model.reference.options) for _ in range(passes)]
    frames = [line.process(cloud) for line in lines for cloud in clouds]
    ms = [1e3 * frame.seconds for frame in frames]
    table = {row["stage"]: row["median_ms"] for row in stage_table(frames)}
    return {
        "points": float(np.mean([len(cloud) for cloud in clouds])),
        "median_ms": statistics.median(ms), "longest_ms": max(ms),
        "frames_per_second": 1e3 / statistics.median(ms), "stages_ms": table,
    }  # fmt: skip


def main(out: Path | None = None, *, repeats: int = REPEATS, passes: int = PASSES, set=()) -> dict:
    """Figures of the objective and of the pipeline; set: changes of the YAML, KEY=VALUE."""
    config = load_estimation(CONFIG, set=["simulation.threads=1", *set])
    experiment = kind_of(config.kind)(config)
    model = experiment.model
    recording = config.train.read(model.sensors)[0]
    throw = experiment.read({"train": [recording], "validate": ()}).train[0]
    clouds = recording[model.reference.name].clouds
    return {
        "objective": objective(model, throw, repeats),
        "pipeline": pipeline(model, clouds, passes),
    }
