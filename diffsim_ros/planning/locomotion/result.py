"""The result of a locomotion as plain data: result.yaml, metrics.json, lines of its links."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from .config import LocomotionConfig
from .legged_robot import LeggedRobot
from .motion import LocomotionMotion, base_poses


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
