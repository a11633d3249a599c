"""Estimations of kind clouds: the truth of a turning box, the shipped recording, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("open3d", exc_type=ImportError)

from diffsim_ros import meshes
from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.real2sim.options import fields_of
from diffsim_ros.real2sim.results import write_results
from diffsim_ros.real2sim.scenarios.throw import free_spin
from diffsim_ros.real2sim.sensors.cloud import options as kind_options
from diffsim_ros.real2sim.sensors.cloud.detections import posed
from diffsim_ros.sensing.clouds.cloud import Cloud
from diffsim_ros.sensing.clouds.files import observation_of
from diffsim_ros.sensing.read import read_trials
from tests.pages import keys_of_kind
from tests.real2sim.clouds_synthetic import TRUTH, estimation, recording

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "config" / "estimation" / "foam_ball.yaml"


@pytest.fixture(scope="module")
def result():
    given = {"train": [recording(0)], "validate": [recording(1, "other")]}
    return estimate(load_estimation(estimation()), observations=given)


def test_friction_and_the_start_of_a_turning_box_come_back(result):
    assert result.status == "converged", result.message
    (friction,) = result.parameters
    assert 0 < friction.std_dev < 0.05
    assert abs(friction.value - TRUTH["c_f"]) < 3.5 * friction.std_dev
    start = next(p for p in result.predictions if p.role == "train").start
    for kind in ("position", "velocity", "angular_velocity"):
        away = (getattr(start.state, kind) - TRUTH[kind]) / start.sigma[kind]
        assert np.abs(away).max() < 4.0, (kind, away)
    right = Rotation.from_rotvec(TRUTH["turn"])
    turn = (Rotation.from_quat(start.state.orientation) * right.inv()).as_rotvec()
    assert np.abs(turn / start.sigma["orientation"]).max() < 4.0
    assert start.sigma["angular_velocity"].max() < 0.2 and start.sigma["position"].max() < 1e-3


def test_a_validated_recording_is_predicted_from_its_flight(result):
    trained, other = result.metrics["train"]["box"], result.metrics["validate"]["other"]
    assert trained["rms_over_sigma"] == pytest.approx(1.0, abs=0.1)
    assert 3 <= other["flight_frames"] < other["frames"] == 13
    assert 1e-4 < other["mean_shift_m_later"] < 6e-3
    prediction = next(p for p in result.predictions if p.role == "validate")
    assert prediction.before[-1] > 2 * prediction.rms[-1], "the first guess predicts as well"


def test_derivatives_of_the_objective_by_parameters_and_start():
    experiment = kind_of("clouds")(load_estimation(estimation()))
    trials = experiment.read({"train": [recording(0, frames=9)], "validate": ()}).train
    problem = experiment.model.problem(trials, experiment.model.map.start).exact()
    z, y = problem.start, np.zeros(problem.nuisance_shape)
    found = problem.evaluate(z, y, want="equations").gradient
    adjoint = problem.evaluate(z, y, want="gradient").gradient
    x, gradient = np.concatenate([z, y[0]]), np.concatenate([found[0], found[1][0]])
    np.testing.assert_allclose(np.concatenate([adjoint[0], adjoint[1][0]]), gradient, rtol=1e-6)
    for i in range(len(x)):
        d = np.zeros(len(x))
        d[i] = 1e-6
        up, down = (problem.evaluate((x + s * d)[:1], (x + s * d)[None, 1:]).value for s in (1, -1))
        assert gradient[i] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-4), i


def test_a_wrong_pose_of_the_camera_is_put_right_by_the_floor():
    content = estimation()
    right = kind_of("clouds")(load_estimation(content))
    cloud = content["measurement"]["cloud"]
    tilt = Rotation.from_euler("xyz", [1.0, -1.5, 0.0], degrees=True)
    cloud["orientation"] = (tilt * Rotation.from_quat(cloud["orientation"])).as_quat().tolist()
    cloud["position"] = np.add(tilt.apply(cloud["position"]), [0, 0, 0.03]).tolist()
    wrong = kind_of("clouds")(load_estimation(content))
    a, b = (e.read({"train": [recording(0)], "validate": ()}) for e in (right, wrong))
    one, other = a.train[0], b.train[0]
    # turned about the level axes only: heights and the fall are the same to the floor's sigma
    assert other.start.position[2] == pytest.approx(one.start.position[2], abs=2e-3)
    assert other.start.velocity == pytest.approx(one.start.velocity, abs=0.02)
    assert "1.8" in b.notes[-1] and "deg" in b.notes[-1]


def test_the_shipped_recording_is_estimated_and_reported(tmp_path):
    """With a coarse ball, to be quick: only what comes out is checked."""
    coarse = ["scene.bodies.ball.element=p1", "scene.bodies.ball.shape.ball.layers=2",
              "scene.world.step=1/240", "fit.horizons=[8]", "fit.iterations=3"]  # fmt: skip
    result = estimate(load_estimation(SHIPPED, set=[*coarse, "simulation.threads=1"]))
    assert result.kind == "clouds" and all(p.std_dev > 0 for p in result.parameters)
    folder = write_results(result, tmp_path / "out").path
    page = (folder / "report.html").read_text()
    assert "throw_a (train)" in page and "throw_b (validate)" in page and "±" in page
    assert {"motion.mcap", "clouds.png", "cloud_residuals.png"} <= {
        f.name for f in folder.iterdir()
    }
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["validate"]["throw_b"]["rms_distance_m"] < 0.02
    assert metrics["train"]["throw_a"]["pipeline"]["object"]["points_out"] > 100
    assert result.provenance["data"][0]["sha256"]


def test_a_surface_is_turned_onto_its_points():
    vertices, tets = meshes.box((0.16, 0.12, 0.1), (2, 2, 2))
    triangles, eye = meshes.surface(tets), np.array([0.9, -1.0, 0.8])
    turn, place = Rotation.from_rotvec([0.3, -0.2, 0.25]).as_matrix(), np.array([0.1, 0.2, 0.1])
    x = vertices @ turn.T + place
    a, b, c = (x[triangles[:, k]] for k in range(3))
    front = np.einsum("ni,ni->n", np.cross(b - a, c - a), eye - a) > 0
    shares = np.random.default_rng(0).dirichlet([1, 1, 1], (20, front.sum()))
    points = np.einsum("sfk,kfi->sfi", shares, np.stack([a, b, c])[:, front]).reshape(-1, 3)
    found = posed(vertices, triangles, Cloud(points, eye=eye), turning=True)
    np.testing.assert_allclose(found.turn, turn, atol=1e-6)
    np.testing.assert_allclose(found.place, place, atol=1e-6)
    assert 0.2 < found.cosine.min() and found.cosine.max() < 1.0


def test_spin_of_a_steady_turn_is_exact():
    t, spin = np.arange(5) / 30, np.array([3.0, -8.0, 5.0])
    first = Rotation.from_rotvec([0.4, 0.1, -0.2])
    turns = (Rotation.from_rotvec(t[:, None] * spin) * first).as_matrix()
    turn, rate = free_spin(t, turns)
    np.testing.assert_allclose(rate, spin, atol=1e-12)
    np.testing.assert_allclose(turn, first.as_matrix(), atol=1e-12)


def test_recordings_are_told_apart_by_what_they_are(tmp_path):
    from diffsim_ros.sensing.clouds.library import o3d_cloud, open3d

    (bag,) = read_trials(ROOT / "data" / "ros2_bags" / "kinect_xyz_mcap", "clouds")
    assert bag.name == "kinect_xyz_mcap" and len(bag.clouds) >= 1
    points = np.random.default_rng(0).normal((0, 0, 2), size=(40, 3))
    for name in ("12.000.pcd", "12.033.pcd"):
        assert open3d().io.write_point_cloud(str(tmp_path / name), o3d_cloud(points))
    (folder,) = read_trials(tmp_path, "clouds")
    assert [c.stamp for c in folder.clouds] == [12.0, 12.033] and folder.name == tmp_path.name
    with pytest.raises(InputError, match="no such file or folder"):
        read_trials(tmp_path / "other.npz", "clouds")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c["measurement"].update(floor="flor"), "a plane of the scene's sdfs: floor"),
        (lambda c: c["measurement"]["cloud"].pop("planes"), "the section planes"),
        (lambda c: c["measurement"].update(start_sigma=[1, 2]), "four numbers"),
        (lambda c: c["fit"].update(search_evaluations=5), "0 for clouds"),
        (lambda c: c["measurement"]["cloud"].update(voxl=1), "voxel"),
    ],
)
def test_bad_estimations_are_named(change, says):
    content = estimation()
    change(content)
    with pytest.raises(InputError, match=says):
        kind_of("clouds")(load_estimation(content))


def test_recordings_without_a_floor_or_a_flight_are_refused():
    experiment = kind_of("clouds")(load_estimation(estimation()))
    whole = recording(0)
    late = whole.kept(slice(5, None))
    with pytest.raises(InputError, match="3 frames of free flight before the first contact"):
        experiment.read({"train": [late], "validate": ()})
    floorless = [c.kept(c.points[:, 2] < 0) for c in whole.clouds]
    with pytest.raises(InputError, match=r"a floor|an object that is detected"):
        experiment.read({"train": [observation_of("box", floorless)], "validate": ()})
    with pytest.raises(InputError, match=r"-9\.\d\d .* in free flight.* 9\.81, 0\.00, 0\.00"):
        content = estimation()
        content["scene"]["world"]["gravity"] = [9.81, 0, 0]
        other = kind_of("clouds")(load_estimation(content))
        other.read({"train": [whole], "validate": ()})
    with pytest.raises(InputError, match="recordings of different names"):
        experiment.read({"train": [whole, whole], "validate": ()})


def test_files_of_the_command_line_replace_those_of_the_yaml(tmp_path):
    config = load_estimation(SHIPPED, train=[tmp_path / "bag"], validate=[tmp_path / "a.npz"])
    assert config.train.files == (tmp_path / "bag",) and config.train.key == "--train"
    assert config.validate.files == (tmp_path / "a.npz",)
    assert config.source["data"]["train"] == {"files": [str(tmp_path / "bag")]}
    with pytest.raises(InputError, match="no such file or folder"):
        kind_of("clouds")(config).read({})


def test_keys_of_the_yaml_are_documented():
    text = keys_of_kind("clouds")
    for name, section in vars(kind_options).items():
        if name.startswith("Cloud") and name.endswith("Options"):
            for key, entry in fields_of(section).items():
                documented = f"| `{key}` |" in text or name == "CloudFitOptions"
                assert entry.doc and documented, f"{name}.{key}"
