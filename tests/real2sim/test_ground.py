"""Where the floor is, and where a tracker's pivot of kind tosses is: given or estimated."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.real2sim.sensors.pose.experiment import PoseExperiment
from diffsim_ros.rotation import quat_angle, quat_exp, quat_multiply, quat_rotate
from tests.real2sim.synthetic import SCENE, TRUTH, estimation, recorded

HEIGHT, TILT = -0.006, 0.03
"""Of the floor in the tracker's frame [m], and its turn about x [rad]."""
OFFSET = [0.03, -0.02, 0.015, 0.2, -0.1, 0.4]


def carried(height: float = 0.0, tilt: float = 0.0) -> dict:
    """The scene with its floor on a kinematic body."""
    scene = copy.deepcopy(SCENE)
    half = 0.5 * tilt
    pose = {"position": [0, 0, height], "orientation": [np.sin(half), 0, 0, np.cos(half)]}
    scene["bodies"]["ground"] = {"type": "kinematic", "pose": pose}
    scene["contact"][0]["carrier"] = "ground"
    return scene


def on_a_handle(path) -> dict:
    """Poses of the cube on a floor whose height and tilt are parameters."""
    raw = estimation(str(path), scene=carried(), kind="poses")
    raw["measurement"] = {"sigma_position": 2e-4, "sigma_rotation": 0.05}
    raw["fit"] = {"initial_state": "nuisance", "loss": "squared", "iterations": 20}
    raw["uncertainty"] = {"method": "covariance"}
    for entry in raw["parameters"].values():
        entry["fixed"] = True
    raw["parameters"]["friction"]["fixed"] = False
    for name in ("stiffness", "damping"):
        raw["parameters"][name]["value"] = TRUTH[name]
    near = {"value": 0.0, "bounds": [-0.05, 0.05], "prior_mean": 0.0, "prior_sigma": 0.02}
    raw["parameters"] |= {
        "floor_height": {**near, "unit": "m", "sets": {"ground.position[0].z": 1}},
        "floor_tilt": {**near, "unit": "rad", "sets": {"ground.rotation[0].x": 1}},
    }
    return raw


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("ground") / "tilted.npz"
    noise = 2e-4, np.radians(0.05)
    np.savez(path, **recorded(3, 5, noise, 0.35, carried(HEIGHT, TILT)))
    return path


def test_height_and_tilt_of_a_floor_are_estimated(file):
    result = estimate(on_a_handle(file), report=False)
    assert result.status == "converged", result.message
    found = {p.name: p for p in result.parameters if p.std_dev}
    truth = {"floor_height": HEIGHT, "floor_tilt": TILT, "friction": TRUTH["friction"]}
    for name, value in truth.items():
        assert abs(found[name].value - value) < 4 * found[name].std_dev, found[name]
    assert found["floor_height"].std_dev < 5e-4 and found["floor_tilt"].std_dev < 5e-3


def test_the_flight_ends_at_a_floor_that_a_handle_carries(file):
    raw = on_a_handle(file)
    experiment = PoseExperiment(load_estimation(raw))
    trial = experiment.read({}).train[0]
    raw["scene"]["bodies"]["ground"]["pose"]["position"] = [0, 0, 0.05]
    higher = PoseExperiment(load_estimation(raw)).model
    assert higher.flight(trial).last < experiment.model.flight(trial).last
    raw["scene"]["bodies"]["ground"]["pose"]["position"] = [0, 0, -1.0]
    assert PoseExperiment(load_estimation(raw)).model.flight(trial) is None


def test_tosses_of_a_pivot_are_those_of_the_body(tmp_path):
    arrays = recorded(2, 1, (0.0, 0.0), 0.2)
    np.savez(tmp_path / "plain.npz", **arrays)
    state, q = arrays["state"].copy(), arrays["state"][:, [4, 5, 6, 3]]
    state[:, :3] += quat_rotate(q, np.array([OFFSET[:3]]))
    turned = quat_multiply(q, quat_exp(np.array([OFFSET[3:]])))
    state[:, 3:] = turned[:, [3, 0, 1, 2]]
    np.savez(tmp_path / "pivot.npz", **{**arrays, "state": state})
    read = {}
    for name, offset in (("plain", []), ("pivot", OFFSET)):
        raw = estimation(str(tmp_path / f"{name}.npz"))
        raw["measurement"]["body_offset"] = offset
        read[name] = kind_of("poses")(load_estimation(raw)).read({}).train
    for a, b in zip(read["plain"], read["pivot"], strict=True):
        assert b.position == pytest.approx(a.position, abs=1e-12) and b.velocity is None
        assert quat_angle(a.orientation, b.orientation).max() < 1e-7
    raw["measurement"]["body_offset"] = OFFSET[:3]
    with pytest.raises(InputError, match=r"measurement.body_offset: got \[0.03.*six numbers"):
        kind_of("poses")(load_estimation(raw))
