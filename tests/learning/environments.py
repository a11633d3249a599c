"""Environments that several tests share."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from diffsim_ros.learning.policy import Policy

CONFIG = Path(__file__).resolve().parents[2] / "config" / "learning"
PENDULUM = CONFIG / "pendulum.yaml"
REACH = CONFIG / "ur5_reach.yaml"


def pushed_block(**more):
    """A block that slides on a table with friction, pushed by a force."""
    scene = {
        "world": {"step": "1/200", "duration": 1, "tolerance": 1e-12},
        "bodies": {
            "block": {
                "shape": {"box": {"size": [0.1, 0.1, 0.1]}},
                "mass": 0.5,
                "contact_spheres": {"corners": {"radius": 0.002}},
                "pose": {"position": [0, 0, 0.0499]},
                "velocity": [0.4, 0.1, 0],
            }
        },
        "sdfs": {"table": {"plane": {}}},
        "contact": [{"points": "block", "against": "table", "k_n": 2e4, "c_n": 0.5, "k_t": 200,
                     "c_f": 0.3}],
        "links": [{"name": "push", "type": "force", "body": "block", "force": [0, 0, 0]}],
    }  # fmt: skip
    return {
        "scene": scene,
        "action": {
            "x": {"sets": {"push.force[0].x": 1.0}, "bounds": [-4, 4]},
            "y": {"sets": {"push.force[0].y": 0.5, "push.force[0].z": -0.1}, "bounds": [-2, 6]},
        },
        "steps": 3,
        "horizon": 5,
        "observation": ["block.position", {"of": "block.velocity", "as": "tanh"}, "block.z_axis",
                        "block.angular_velocity.z"],
        "reward": {
            "near": {"of": "block.position.x", "target": 0.1, "scale": 0.2, "as": "gaussian"},
            "still": {"of": "block.velocity", "as": "square", "weight": -0.3},
            "press": {"of": "block_table.force.z", "scale": 5, "as": "cos"},
            "effort": {"of": "action.y", "as": "square", "weight": -0.01},
        },
        "reset": {
            "parameters": {"block.velocity.x": {"spread": 0.1}, "block.mass": {"spread": 0.1}}
        },
    } | more  # fmt: skip


def homing_policy(config, gains, place=(0, 0, 0, 0, 0, 0)):
    """For REACH: joints go to a `place` from home, a = tanh(k (p - q) - d q'), gains k, d."""
    inputs = len(config.observation)
    push = np.zeros((6, inputs))
    for i in range(6):
        push[i, i], push[i, 6 + i] = -gains[0], -gains[1]
    return Policy(
        (push,), (gains[0] * np.array(place, float),), np.zeros(inputs), np.ones(inputs), "elu",
        config.interface(), config.digest(),
    )  # fmt: skip
