"""Inverse kinematics of random paths that arms can go: solved, within limits, how long it takes.

A path is the tool's pose along a random joint motion that keeps all limits (so there is an answer),
given at 50 to 100 times; joint values are not given.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.robots.arm import Arm, load_arm
from diffsim_ros.robots.branches import spline_states
from diffsim_ros.robots.inverse_kinematics import follow
from diffsim_ros.robots.kinematics import chain
from diffsim_ros.robots.time_scaling import fastest, peaks, stretched
from diffsim_ros.robots.trajectory import JointTrajectory

from .common import ROOT, share

PATHS = 1000
BARS = {"ur5": 0.99, "stanford": 0.99, "seven_axis": 0.95}
"""Least share of paths solved. An arm with a joint to spare has no list of branches to try."""
PLACED = {"position": [0.1, -0.2, 0.3], "orientation": [0, 0, 0.5, 1]}
OTHERS = {
    "stanford": {
        "urdf": "stanford.urdf", "tool": "tool", "base": PLACED, "home": [0, 0.5, 0.7, 0, 0.5, 0],
        "limits": {"acceleration": [10, 10, 5, 15, 15, 15], "jerk": [200, 200, 100, 400, 400, 400]},
    },
    "seven_axis": {
        "urdf": "seven_axis.urdf", "tool": "tool", "base": PLACED,
        "home": [0, -0.785, 0, -2.356, 0, 1.571, 0.785],
        # accelerations are the maker's; of its jerks (3750 and more) a good part
        "limits": {"acceleration": [15, 7.5, 10, 12.5, 15, 20, 20], "jerk": 1000},
    },
}  # fmt: skip


def arms() -> dict[str, Arm]:
    """The UR5, and two arms of tests/robots."""
    found = {"ur5": load_arm(ROOT / "config" / "robots" / "ur5.yaml")}
    folder = Path(ROOT) / "tests" / "robots"
    return found | {name: load_arm(given, folder) for name, given in OTHERS.items()}


def random_motion(arm: Arm, rng) -> JointTrajectory:
    """From rest to rest through 1 to 5 random places, at 0.3 to 0.9 of the limits' speed."""
    limits = arm.limits
    low, high = np.maximum(limits.lower, -2 * np.pi), np.minimum(limits.upper, 2 * np.pi)
    middle, half = (low + high) / 2, (high - low) / 2
    q = [middle + 0.9 * half * rng.uniform(-1, 1, len(half))]
    for _ in range(rng.integers(2, 6)):
        step = rng.uniform(-1, 1, len(half)) * np.minimum(0.8, half)
        q.append(np.clip(q[-1] + step, middle - 0.9 * half, middle + 0.9 * half))
    times = np.arange(len(q), dtype=float)
    motion = JointTrajectory(arm.robot.joint_names, times, *spline_states(times, np.stack(q), True))
    found = peaks(motion)
    over = np.max(np.maximum(middle - found["lower"], found["upper"] - middle) / half) / 0.98
    if over > 1:  # a spline swings further than its knots
        motion = replace(
            motion,
            positions=middle + (motion.positions - middle) / over,
            velocities=motion.velocities / over,
            accelerations=motion.accelerations / over,
        )
    return stretched(fastest(motion, limits), 1 / rng.uniform(0.3, 0.9))


def one_path(arm: Arm, seed: int) -> dict:
    """solved, ms; of solved ones: kept (all limits), off (keys) and between [m]."""
    rng = np.random.default_rng(seed)
    motion = random_motion(arm, rng)
    times = np.linspace(0, motion.duration, rng.integers(50, 101))
    tool, index = chain(arm.robot, arm.tool)
    wanted = arm.base @ tool.poses(motion.at(times)[0][:, index])[0]
    start = time.process_time()
    try:
        found = follow(arm, times, wanted)
    except InputError as error:
        return {"solved": False, "ms": 1e3 * (time.process_time() - start), "why": str(error)}
    spent = 1e3 * (time.process_time() - start)
    dense = np.linspace(0, motion.duration, 8 * len(times) - 7)
    q = found.trajectory.at(dense)[0][:, index]
    there, _ = tool.poses(q)
    wished, _ = tool.poses(motion.at(dense)[0][:, index])
    off = np.abs(there[:, :3] - wished[:, :3]).max(axis=(1, 2))
    return {
        "solved": True, "ms": spent, "kept": kept(found.trajectory, arm),
        "branches": found.branches,
        "off": float(off[::8].max()), "between": float(off.max()),
    }  # fmt: skip


def kept(trajectory: JointTrajectory, arm: Arm) -> bool:
    """Whether every limit holds, at 16 times between every two points, and exact rest at the ends.

    By differences of the sampled curve, not by the control points that the solver checks.
    """
    steps = np.linspace(0, 1, 17)
    times = trajectory.times[:-1, None] + steps * np.diff(trajectory.times)[:, None]
    q, qd, qdd = trajectory.at(times)
    jerk = np.diff(qdd, axis=1) / np.diff(times, axis=1)[:, :, None]
    limits = arm.limits
    slack = 1 + 1e-9
    return bool(
        np.all((q >= limits.lower) & (q <= limits.upper))
        and np.all(np.abs(qd) <= limits.velocity * slack)
        and np.all(np.abs(qdd) <= limits.acceleration * slack)
        and np.all(np.abs(jerk) <= limits.jerk * slack)
        and not trajectory.velocities[[0, -1]].any()
        and not trajectory.accelerations[[0, -1]].any()
    )


def study(fraction: float = 1.0) -> dict:
    """Figures per arm; AssertionError below a bar."""
    figures = {}
    for name, arm in arms().items():
        one_path(arm, 0)  # what is loaded once
        found = [one_path(arm, seed) for seed in range(share(PATHS, fraction))]
        solved = [one for one in found if one["solved"]]
        ms = np.percentile([one["ms"] for one in found], [50, 99, 100])
        figures[name] = {
            "paths": len(found),
            "solved": len(solved) / len(found),
            "within_limits": sum(one["kept"] for one in solved) / max(len(solved), 1),
            "cpu_ms_median": round(ms[0], 1),
            "cpu_ms_99_percent": round(ms[1], 1),
            "cpu_ms_most": round(ms[2], 1),
            "share_above_20_ms": float(np.mean([one["ms"] > 20 for one in found])),
            "branches_median": float(np.median([one["branches"] for one in solved])),
            "off_at_keys_m": max(one["off"] for one in solved),
            "refused": [one["why"] for one in found if not one["solved"]][:5],
        }
        if name != "seven_axis":  # the redundant joint is free between keys
            between = [one["between"] for one in solved]
            figures[name]["off_between_keys_mm_median_99_percent"] = [
                round(1e3 * value, 4) for value in np.percentile(between, [50, 99])
            ]
    for name, found in figures.items():
        low = BARS[name] if fraction == 1 else BARS[name] - 0.03
        assert found["solved"] >= low, f"{name}: {found['solved']:.3f} of the paths solved"
        assert found["within_limits"] == 1, f"{name}: a solution beyond limits"
        assert found["off_at_keys_m"] < 1e-7, f"{name}: {found['off_at_keys_m']} m off a pose"
    return figures
