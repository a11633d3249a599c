"""Distances of arms: capsules about links, against surfaces and against each other."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

pytest.importorskip("urchin")

from diffsim_ros import _engine
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.kinematics import link_pose
from diffsim_ros.robots.obstacles import Clearance, _segments
from diffsim_ros.robots.robot import Capsule

ARM = load_arm(Path(__file__).resolve().parents[2] / "config" / "robots" / "ur5.yaml")


def test_distances_of_segments_are_the_smallest():
    rng = np.random.default_rng(0)
    ends = rng.normal(size=(4, 40, 3))
    ends[:, 0] = [[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 1, 0]]  # parallel
    ends[1, 1] = ends[0, 1]  # a point
    found = _segments(*ends)
    for a, b, c, d, value in zip(*ends, found, strict=True):

        def apart(x, a=a, b=b, c=c, d=d):
            return np.linalg.norm(a + x[0] * (b - a) - c - x[1] * (d - c))

        best = min(
            minimize(apart, start, bounds=[(0, 1)] * 2).fun
            for start in ((0.1, 0.1), (0.9, 0.1), (0.1, 0.9), (0.9, 0.9), (0.5, 0.5))
        )
        assert value == pytest.approx(best, abs=1e-5)


def test_the_nearest_link_to_a_plane_is_found_and_the_arm_may_stand_on_it():
    clearance = Clearance(ARM, {"table": _engine.Plane((0, 0, 1), 0.0)})
    low = np.array([[0, -0.1, 0.2, -1.5, -1.57, 0], [0, 0.0, 0.6, -1.5, -1.57, 0]])
    distances, names = clearance(np.vstack([ARM.home, low]))
    assert distances[0] > 0 and "table" in names[1] and distances[2] < 0
    shapes = [s for s in ARM.robot.shapes if s.link == names[1].split()[0]]
    pose = link_pose(ARM.robot, low[0], names[1].split()[0])
    ends = shapes[0].ends @ pose[:3, :3].T + pose[:3, 3]
    assert distances[1] == pytest.approx(ends[:, 2].min() - shapes[0].radius, abs=1e-9)


def test_an_arm_folded_onto_itself_is_seen_and_what_it_holds_too():
    clearance = Clearance(ARM, {})
    folded = np.array([[0, -1.57, 3.1, 0, 0, 0]])
    distance, names = clearance(folded)
    assert distance[0] < 0 and "_link and " in names[0]
    assert clearance(ARM.home[None])[0][0] > 0.02
    ball = Capsule("ball", 5, np.array([[0, 0, 0.1], [0, 0, 0.1]]), 0.05)
    held = Clearance(ARM, {"table": _engine.Plane((0, 0, 1), 0.0)}, held=[ball])
    down = np.array([0.0, -1.0, 1.9, -2.47, -1.57, 0.0])
    height = (link_pose(ARM.robot, down, "tool0") @ [0, 0, 0.1, 1])[2] - 0.05
    distance, names = held(down[None])
    assert names[0] == "ball and table" and distance[0] == pytest.approx(height, abs=1e-9)
