"""Computation time over the number of rigid bodies  [G Fig. A.3].

A chain of N spheres, each tied to the one before it by two springs and the first to the world, over
the ground: k_n 1e3 N/m each, c_f 0.5, 1000 steps of 1/500 s.
"""

from __future__ import annotations

import time

import numpy as np

from bench.chain_model import STEP, STEPS, chain
from diffsim_ros import engine
from examples.common import Outcome, curves

COUNTS = (2, 5, 10, 20, 30, 40)


def study(quick: bool = False) -> Outcome:
    """CPU time for 2 ... 40 bodies is a straight line."""
    found, counts = Outcome(), COUNTS[::2] + COUNTS[-1:] if quick else COUNTS
    counts, seconds, iterations = sorted(set(counts)), [], []
    for n in counts:
        scene = chain(n)
        options = engine.Options(step=STEP)
        times = []
        for _ in range(3):  # the least disturbed one
            start = time.process_time()
            done = engine.rollout(scene, scene.values, STEPS // 5 if quick else STEPS, options)
            times.append(time.process_time() - start)
        if not done.ok:
            raise RuntimeError(done.message)
        seconds.append(min(times))
        iterations.append(float(done.iterations.mean()))
    line = np.polyfit(counts, seconds, 1)
    apart = np.array(seconds) - np.polyval(line, counts)
    explained = 1 - np.sum(apart**2) / np.sum((np.array(seconds) - np.mean(seconds)) ** 2)
    found.figures = {
        "bodies": list(counts), "cpu_seconds": seconds, "seconds_per_body": float(line[0]),
        "explained_by_a_line": float(explained), "newton_iterations": iterations,
    }  # fmt: skip
    most = max(iterations) / min(iterations)
    found.check(
        "a step takes about as many iterations with more bodies (within a factor of 2)", most < 2.0
    )
    if not quick:  # tests run on machines that do other things
        found.check("time grows linearly with the bodies (R^2 > 0.95)", explained > 0.95)
    found.pictures["chain.png"] = curves(
        {"measured": (counts, seconds), "line": (counts, np.polyval(line, counts))},
        ("rigid bodies", "CPU time [s]"), ylim=(0, None),
    )  # fmt: skip
    return found
