"""A small part of validation/real_tosses.py, and its baselines by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.sensors.pose.experiment import PoseExperiment
from validation.real_tosses import FOLDER, exchanged, study
from validation.rigid_impacts import PlanarBody, dropped, ellipse, planar, polygon, poses, struck

BALL = PlanarBody(1.0, 0.4, polygon(np.zeros((1, 2))))
SQUARE = PlanarBody(1.0, 1.0 / 6, polygon(0.5 * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])))


def test_every_body_is_predicted_beside_its_baseline():
    figures = study(fraction=0.1)
    early = figures["square"]["draws"]["1"]["rigid_impacts"]["early"]
    assert early["recordings"] == 6
    assert early["position_error_m"]["ours"] < early["position_error_m"]["baseline"]
    impact = figures["ellipse"]["draws"]["1"]["rigid_impacts"]["impact"]
    assert 0 < impact["spin_error_rad_s"]["ours"] < 20
    near = figures["elbow"]["draws"]["1"]["early"]["stays"]
    assert near["position_error_m"]["ours"] < near["position_error_m"]["baseline"]
    assert set(figures["tennis"]["predicted"]) == {"ball_1_error_m", "ball_2_error_m"}


def test_the_cost_of_the_balls_follows_their_speed_not_the_grid_of_steps():
    """One valley within one percent; with 64 steps a frame in place of 256 there are two."""
    experiment = PoseExperiment(load_estimation(FOLDER / "tennis_balls.yaml"))
    model, trials = experiment.model, experiment.read({}).train
    at = {"speed_x": -1.2965, "speed_y": 0.2006, "rolling_share": 0.645, "rolling_friction": 2.3e-4,
          "sliding_friction": 0.317, "ball_friction": 0.8, "impact_damping": 0.123}  # fmt: skip
    problem = model.problem(trials, model.map.scaled(at), horizon=30)
    points = [
        model.map.scaled({**at, "speed_x": at["speed_x"] * factor})
        for factor in np.linspace(0.99, 1.01, 13)
    ]
    costs = [one.value for one in problem.evaluate_many(points, [None] * 13)]
    downhill = np.diff(costs) < 0
    assert downhill[0] and not downhill[-1]
    assert np.count_nonzero(np.diff(downhill)) == 1, costs


def test_a_rigid_impact_restores_and_rubs():
    v = np.array([[0.3, -2.0, 0.0], [3.0, -2.0, 0.0]])
    arms = np.array([[0.0, -0.5], [0.0, -0.5]])
    after = struck(SQUARE, v, arms, 0.5, 0.2)
    np.testing.assert_allclose(after[:, 1], 1.0)
    assert after[0, 0] + 0.5 * after[0, 2] == pytest.approx(0.0), "it sticks"
    assert after[1, 0] == pytest.approx(3.0 - 0.2 * 3.0), "it slides at the Coulomb limit"
    leaving = np.array([[0.0, 1.0, 0.0]])
    np.testing.assert_allclose(struck(SQUARE, leaving, arms[:1], 0.5, 0.2), leaving)


def test_a_drop_bounces_to_the_height_of_its_restitution_and_rests():
    start = np.array([[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    fall = np.sqrt(2 / 9.81)
    times = np.arange(0.0, 2.5 * fall, 5e-3)
    height = dropped(BALL, start, times, 0.6, 0.1)[:, 0, 1]
    top = height[times > 1.1 * fall].max()
    assert top == pytest.approx(0.36, abs=0.01)
    start[0, 1] = 0.52
    flat = dropped(SQUARE, start, np.array([1.0]), 0.4, 0.3)[0, 0]
    assert flat[1] == pytest.approx(0.5, abs=5e-3) and abs(flat[2]) < 1e-3


def test_an_ellipse_touches_at_its_support_point():
    (arm,) = ellipse(0.035, 0.025)(np.array([0.3]))[0]
    phi = np.linspace(0, 2 * np.pi, 100_001)
    c, s = np.cos(0.3), np.sin(0.3)
    x, z = 0.035 * np.cos(phi), 0.025 * np.sin(phi)
    lowest = np.argmin(s * x + c * z)
    np.testing.assert_allclose(arm, [(c * x - s * z)[lowest], (s * x + c * z)[lowest]], atol=1e-6)


def test_planar_states_are_poses():
    state = np.array([0.1, 0.2, 0.7, 1.0, -1.0, 3.0])
    pose = poses(state[None])[0]
    back = planar(pose[:3], pose[3:], [1.0, 0.0, -1.0], [0.0, -3.0, 0.0])
    np.testing.assert_allclose(back, state)


def test_balls_exchange_momentum_along_the_line_of_centres():
    t = np.arange(20) * 0.1
    paths = np.zeros((20, 2, 2))
    paths[:, 1, 0] = np.where(t < 1.0, 1.0 - t, 0.15 * -(t - 1.0))  # restitution 0.7
    paths[:, 0, 0] = np.where(t < 1.0, -0.05, -0.05 - 0.85 * (t - 1.0))
    found = exchanged(paths, t, 20)
    np.testing.assert_allclose(found, paths, atol=0.06)
