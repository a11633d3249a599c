"""Chain of spheres [G A.2.2]: cost per step and of an exact gradient, beside MuJoCo.

N spheres of 1 kg, r 0.05, spacing 0.15, two springs to each neighbour and to the world, over a
plane; random start velocities; 1000 steps of 1/500 s. Objective (1, 1/2, 1/4) . mean final
position, its gradient by all 6N start velocities. MuJoCo runs the same chain (free joints, spatial
tendons, its own soft contact); its gradient is by central differences, the step size swept for the
widest agreement. Everything runs on one thread in this process, in turn; times are CPU times.

The gradient is checked against differences too.  As the ground gives back every bounce, small
changes of the start grow until the end; a chain whose ground damps (c_n) is checked beside it.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.inverse.gradient_check import check_gradient

from .chain_model import STEP, STEPS, WEIGHTS, active_of, chain, seeds

SIZES = (10, 20, 40, 100)
DAMPED = 1.0
"""c_n [s/m] of a ground that damps: a bounce at 1 m/s keeps 0.59 of its speed."""
CHANGE = 1e-8
"""Change [m/s] of the start velocities, whose growth is measured."""


def best_of(repeats: int, work, clock=time.process_time) -> float:
    """Least time [s] of several runs, the least disturbed one: of the CPU, or of another clock."""
    times = []
    for _ in range(repeats):
        begin = clock()
        work()
        times.append(clock() - begin)
    return min(times)


def measure(n: int, repeats: int, steps: int) -> dict:
    """Forward and gradient costs of the engine for n bodies."""
    scene = chain(n)
    p, active = scene.values, active_of(scene, n)
    options = _engine.Options(step=STEP, order=2, record_every=steps)
    forward = best_of(repeats, lambda: _engine.rollout(scene, p, steps, options))
    figures = {"forward_us_per_step": forward / steps * 1e6}
    for mode in ("store", "checkpoint"):
        stored = {}

        def gradient(mode=mode, stored=stored):
            begin = time.process_time()
            r = _engine.rollout(scene, p, steps, options, active=active, mode=mode)
            middle = time.process_time()
            r.gradient(*seeds(scene, len(r.time), n))
            stored.setdefault("split", []).append((middle - begin, time.process_time() - middle))

        figures[f"{mode}_us_per_step"] = best_of(repeats, gradient) / steps * 1e6
        ahead, back = np.min(stored["split"], axis=0)
        figures[f"{mode}_forward_us_per_step"] = ahead / steps * 1e6
        figures[f"{mode}_backward_us_per_step"] = back / steps * 1e6
    run = _engine.rollout(scene, p, steps, options)
    figures["newton_iterations"] = float(run.iterations.mean())
    return figures


def checked(n: int, steps: int, *, c_n: float = 0.0, directions: int = 5) -> dict:
    """The gradient against finite differences by the protocol of docs/design.md.

    change_grows: by which factor a small change of the start velocities has grown at the end.
    tolerance_error: how far the gradient at the default tolerance is from the one at stagnation.
    """
    scene = chain(n, c_n)
    active, p0 = active_of(scene, n), scene.values
    exact = _engine.Options(
        step=STEP, order=2, record_every=steps, tolerance=1e-10, stagnate=True, record_modes=True
    )

    def gradient(options):
        r = _engine.rollout(scene, p0, steps, options, active=active, mode="store")
        return r.gradient(*seeds(scene, len(r.time), n))

    def rollouts(X):
        P = np.tile(p0, (len(X), 1))
        P[:, active] = X
        return _engine.rollout_batch(scene, P, steps, exact, threads=1)

    def runs(X):
        found = rollouts(X)
        ends = [WEIGHTS @ r.position[-1].mean(axis=0) if r.ok else np.nan for r in found]
        return ends, [r.mode_hash for r in found]

    own = gradient(exact)
    usual = gradient(_engine.Options(step=STEP, order=2, record_every=steps))
    report = check_gradient(runs, p0[active], own, directions=directions)
    along = np.random.default_rng(1).normal(size=len(active))
    along *= CHANGE / np.linalg.norm(along)
    base, beside = (r.velocity[-1] for r in rollouts(np.array([p0[active], p0[active] + along])))
    return {
        "protocol": report.summary(),
        "protocol_passed": report.passed,
        "out_of_tolerance": len(report.failed),
        "gradient_error": report.worst,
        "tolerance_error": float(np.linalg.norm(usual - own) / np.linalg.norm(own)),
        "change_grows": float(np.linalg.norm(beside - base) / CHANGE),
    }


def growth(sizes, times) -> float:
    """Exponent of time over size, least squares in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def main(out: Path | None = None, *, sizes=SIZES, repeats: int = 5, steps: int = STEPS) -> dict:
    """Run the comparison; returns the figures (us per step, ratios)."""
    from .chain_mujoco import measure_mujoco  # MuJoCo is a test-only dependency

    figures: dict = {"steps": steps, "step_s": STEP}
    for n in sizes:
        ours = measure(n, repeats, steps)
        row = {"ours": ours, "mujoco": measure_mujoco(n, repeats if n < 100 else 1, steps)}
        if n <= 20:
            # Over the whole motion changes grow so much that branches change within 1e-7, and
            # closer differences are lost in rounding; a fifth of it is checked too.
            row["ours"]["whole_motion"] = checked(n, steps)
            row["ours"]["first_fifth"] = checked(n, steps // 5)
            row["ours"]["damped"] = checked(n, steps, c_n=DAMPED, directions=20)
        exact = min(ours["store_us_per_step"], ours["checkpoint_us_per_step"])
        row["ratio_mujoco_differences_to_our_gradient"] = (
            row["mujoco"]["differences_us_per_step"] / exact
        )
        row["ratio_our_forward_to_mujoco_forward"] = (
            ours["forward_us_per_step"] / row["mujoco"]["forward_us_per_step"]
        )
        figures[f"bodies_{n}"] = row
    for key in ("forward", "store", "checkpoint"):
        times = [figures[f"bodies_{n}"]["ours"][f"{key}_us_per_step"] for n in sizes]
        figures[f"growth_exponent_{key}"] = growth(sizes, times)
    return figures
