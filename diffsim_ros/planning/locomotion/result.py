"""The result of a locomotion as plain data: result.yaml, metrics.json, lines of its links."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from .config import LocomotionConfig
from .legged_robot import LeggedRobot
from .motion import LocomotionMotion, base_poses

GRAVITY = 9.81
"""[m/s^2] of weights."""


def document(config: LocomotionConfig, motion: LocomotionMotion) -> dict:
    """Content of result.yaml."""
    return {
        "command": "plan",
        "name": motion.name,
        "status": motion.status,
        "goals": {g.name: {**asdict(g), "reached": g.reached} for g in motion.goals},
        "constraints": {v.name: {**asdict(v), "holds": v.holds} for v in motion.constraints},
        "footfall": config.footfall.text().split("\n"),
        "travel": motion.travel.tolist(),
        "config": dict(config.source or {}),
    }


def figures(motion: LocomotionMotion) -> dict:
    """Content of metrics.json."""
    return {
        "status": motion.status,
        "iterations": motion.iterations,
        "seconds": motion.seconds,
        "values": list(motion.values),
        "velocity_m_s": motion.velocity.tolist(),
        "distances": {g.name: g.distance for g in motion.goals},
        "residuals": {v.name: v.worst for v in motion.constraints},
    }


def link_segments(robot: LeggedRobot, motion: LocomotionMotion) -> np.ndarray:
    """Lines (T, k, 2, 3) [m]: from every joint to those that its link carries, and to its end
    effectors, in all samples."""
    base = base_poses(motion.base)
    poses = robot.link_poses(motion.positions, base)
    ends, _ = robot.effector_places(motion.positions, base)
    lines = [
        (poses[joint.parent + 1][:, :3, 3], pose[:, :3, 3])
        for joint, pose in zip(robot.robot.joints, poses[1:], strict=True)
    ]
    links = robot.mounts().links
    lines += [(poses[link - 1][:, :3, 3], ends[:, j]) for j, link in enumerate(links)]
    return np.stack([np.stack(line, axis=1) for line in lines], axis=1)


def frames(robot: LeggedRobot, motion: LocomotionMotion, times: np.ndarray) -> list[dict]:
    """What `viz.legged_animation.animation` draws at times (N,) [s], of any number of periods."""
    states, weight = motion.at(times), robot.mass * GRAVITY
    rows = np.asarray(times) / motion.step
    own = motion.samples if motion.periodic else motion.samples - 1
    nearest = np.floor(rows + 0.5).astype(int)
    nearest = nearest % own if motion.periodic else np.clip(nearest, 0, own)
    turned = np.zeros(states.spins.shape)
    if len(times) > 1:
        steps = np.diff(times)[:, None] * (states.spins[1:] + states.spins[:-1]) / 2
        turned[1:] = np.cumsum(steps, axis=0)
    poses, turns = base_poses(states.base), rows // own * (motion.travel[3] * motion.periodic)
    found = []
    for i, row in enumerate(nearest):
        c, s = np.cos(turns[i]), np.sin(turns[i])
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        found.append({
            **robot.outline(states.positions[i], poses[i]), "contact": motion.contact[row],
            "forces": motion.forces[row] @ turn.T / weight, "turned": turned[i],
        })  # fmt: skip
    return found
