"""The chain of chain.py in MuJoCo: forward cost, and gradients by central differences."""

from __future__ import annotations

import time

import mujoco
import numpy as np

from .chain_model import (
    C_F,
    DAMPING,
    HEIGHT,
    OFFSET,
    RADIUS,
    SPACING,
    STEP,
    STIFFNESS,
    WEIGHTS,
    velocities,
)

EPSILONS = (1e-3, 1e-4, 1e-5, 1e-6)


def model(n: int) -> mujoco.MjModel:
    """n free spheres, two spatial tendons to each neighbour, a plane."""
    bodies, tendons = [], []
    for i in range(n):
        sites = "".join(
            f'<site name="s{i}_{k}" pos="0 {y} 0"/>' for k, y in enumerate((OFFSET, -OFFSET))
        )
        bodies.append(
            f'<body pos="{i * SPACING} 0 {HEIGHT}"><freejoint/>'
            f'<geom type="sphere" size="{RADIUS}" mass="1" friction="{C_F} 0 0" '
            f'contype="1" conaffinity="2"/>{sites}</body>'
        )
        for k in range(2):
            other = f"s{i - 1}_{k}" if i else f"w_{k}"
            tendons.append(
                f'<spatial stiffness="{STIFFNESS}" damping="{DAMPING}" springlength="{SPACING}">'
                f'<site site="{other}"/><site site="s{i}_{k}"/></spatial>'
            )
    anchors = "".join(
        f'<site name="w_{k}" pos="{-SPACING} {y} {HEIGHT}"/>'
        for k, y in enumerate((OFFSET, -OFFSET))
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP}" integrator="implicitfast"/><worldbody>{anchors}'
        f'<geom type="plane" size="0 0 1" friction="{C_F} 0 0" contype="2" conaffinity="1"/>'
        f"{''.join(bodies)}</worldbody><tendon>{''.join(tendons)}</tendon></mujoco>"
    )


def final(m, d, start: np.ndarray, steps: int) -> float:
    """The objective after `steps` steps from start velocities (n, 6), world frame."""
    mujoco.mj_resetData(m, d)
    d.qvel[:] = start.ravel()  # free joints start unturned, so body and world frames agree
    mujoco.mj_step(m, d, steps)
    return float(WEIGHTS @ d.xpos[1:].mean(axis=0))


def measure_mujoco(n: int, repeats: int, steps: int) -> dict:
    """Forward cost, cost of one central-difference gradient, and how far two steps agree."""
    m = model(n)
    d, start = mujoco.MjData(m), velocities(n)
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        final(m, d, start, steps)
        times.append(time.process_time() - begin)
    forward = min(times)
    # Cost: 12 n rollouts, timed on a tenth of the columns; spread over steps: three directions.
    columns = max(1, 6 * n // 10)
    begin = time.process_time()
    for k in range(columns):
        for sign in (1, -1):
            moved = start.copy()
            moved.ravel()[k] += sign * EPSILONS[1]
            final(m, d, moved, steps)
    cost = (time.process_time() - begin) * 6 * n / columns
    rng, spreads = np.random.default_rng(1), []
    for _ in range(3):
        along = rng.normal(size=start.shape)
        along /= np.linalg.norm(along)
        slopes = [
            (final(m, d, start + e * along, steps) - final(m, d, start - e * along, steps))
            / (2 * e)
            for e in EPSILONS
        ]
        spreads.append(np.ptp(slopes) / max(np.max(np.abs(slopes)), 1e-12))
    return {
        "forward_us_per_step": forward / steps * 1e6,
        "differences_us_per_step": cost / steps * 1e6,
        "differences_rollouts": 12 * n,
        "differences_spread_over_step_sizes": float(np.median(spreads)),
    }
