"""A small twin: the UR5 holds a rigid ball over a table, and a motion that throws it."""

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def ball_twin(**more):
    """TWIN mapping; paths relative to the repository's root."""
    scene = {
        "world": {"step": 0.001, "duration": 0.8, "record_every": 2},
        "bodies": {
            "ball": {
                "shape": {"sphere": {"radius": 0.04}}, "mass": 0.06,
                "contact_spheres": {"sphere": {}},
                "pose": {"position": [0, 0, 0.5]},
            }
        },
        "contact": [
            {"name": "table", "points": "ball", "against": {"plane": {}}, "k_n": 1e4, "k_t": 50,
             "c_n": 0.1, "c_f": 0.3}
        ],
    }  # fmt: skip
    return {
        "scene": scene,
        "robot": "config/robots/ur5.yaml",
        "grasp": {"body": "ball", "in_tool": {"position": [0.01, 0.02, 0.1]}},
        **more,
    }


@pytest.fixture(scope="session")
def twin():
    """Twin of `ball_twin`."""
    from diffsim_ros.twin.twin import Twin

    return Twin(ball_twin(), base=ROOT)


@pytest.fixture(scope="session")
def swing(twin):
    """A motion (names, times, positions, velocities) of 0.8 s, from rest to rest."""
    from diffsim_ros.robots.trajectory import JointTrajectory

    return swing_of(twin.config.arm.robot.joint_names, JointTrajectory)


def swing_of(names, kind, duration=0.8):
    """A quintic in time from one posture to another."""
    t = np.linspace(0.0, duration, 101)
    s = t / duration
    share = 10 * s**3 - 15 * s**4 + 6 * s**5
    rate = (30 * s**2 - 60 * s**3 + 30 * s**4) / duration
    start = np.array([0.0, -2.2, 1.9, -1.57, -1.57, 0.0])
    away = np.array([0.2, 1.2, -0.8, 0.5, 0.0, 0.3])
    return kind(tuple(names), t, start + share[:, None] * away, rate[:, None] * away)
