"""Estimations from poses of several bodies: reading, flights, starts, jointed objects, reports."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import check_problem
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.options import FitOptions, fields_of
from diffsim_ros.real2sim.scenarios.flight import flight_of
from diffsim_ros.real2sim.sensors.pose.experiment import PoseExperiment
from diffsim_ros.real2sim.sensors.pose.options import PoseFitOptions, PoseMeasurementOptions
from diffsim_ros.rotation import quat_exp, quat_log, quat_multiply, quat_rotate
from diffsim_ros.scene.model import load_scene
from diffsim_ros.sensing.toss_file import write_tosses
from diffsim_ros.sensing.tosses import read_tosses, repeated, toss_ids
from tests.pages import keys_of_kind
from tests.real2sim.synthetic import SCENE as CUBE

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "config" / "estimation"
RATE, SPF = 200.0, 4
HINGE = np.array([-0.035, 0.06, 0.0])
ARM = np.array([0.035, 0.0, 0.0])
NOISE = 2e-4, np.radians(0.05)
TRUTH = {"friction": 0.25, "hinge_damping": 0.004}


def link(position) -> dict:
    return {
        "shape": {"box": {"size": [0.1, 0.05, 0.05]}},
        "mass": 0.37,
        "inertia": 0.0006,
        "pose": {"position": position},
        "contact_spheres": {"corners": {"radius": 0.004}},
    }


def touching(name: str, body: str) -> dict:
    return {
        "name": name, "points": body, "against": "table",
        "k_n": 20000.0, "k_t": 60.0, "c_n": 0.4, "c_f": 0.25,
    }  # fmt: skip


SCENE = {
    "world": {"step": 1.0 / RATE / SPF, "duration": 0.3},
    "bodies": {"link_1": link([0.0, 0.0, 0.3]), "link_2": link([0.0, 0.06, 0.3])},
    "sdfs": {"table": {"plane": {}}},
    "contact": [touching("table_1", "link_1"), touching("table_2", "link_2")],
    "links": [
        {
            "name": "elbow", "type": "joint", "kind": "hinge", "body_a": "link_1",
            "body_b": "link_2", "position": [-0.035, 0.06, 0.3], "axis": [0, 1, 0],
            "friction_damping": 0.004,
        }
    ],
}  # fmt: skip
"""Two links with a hinge; the truth of the synthetic tosses."""


def elbow_arrays(tosses: int = 5, frames: int = 44, seed: int = 3) -> dict:
    """Simulated tosses of SCENE with noise, as the arrays of a file of two bodies."""
    from diffsim_ros import _engine

    rng = np.random.default_rng(seed)
    engine = load_scene(SCENE).engine
    options = _engine.Options(step=1.0 / RATE / SPF, record_every=SPF, max_halvings=8)
    rows = []
    for _ in range(tosses):
        q, turn = quat_exp(rng.normal(0.0, 0.8, 3)), quat_exp(np.array([0, rng.normal(), 0]))
        q2 = quat_multiply(q, turn)
        arms = quat_rotate(q, HINGE), quat_rotate(q2, ARM)
        centre, v = np.array([0.0, 0.0, 0.2]), np.array([*rng.normal(0, 0.4, 2), -0.6])
        spin = rng.normal(0.0, 1.5, 3)
        spin2 = spin + quat_rotate(q, np.array([0.0, 2.0, 0.0]))
        v2 = v + np.cross(spin, arms[0]) + np.cross(spin2, arms[1])
        starts = {"link_1": (centre, q, v, spin), "link_2": (centre + sum(arms), q2, v2, spin2)}
        p = engine.values
        for body, (x, orientation, velocity, omega) in starts.items():
            values = x, quat_log(orientation), velocity, omega
            kinds = ("position", "rotation", "velocity", "angular_velocity")
            for kind, value in zip(kinds, values, strict=True):
                for axis, number in zip("xyz", value, strict=True):
                    p[engine.index(f"{body}.{kind}.{axis}")] = number
        (run,) = _engine.rollout_batch(engine, p[None], [(frames - 1) * SPF], options)
        assert run.ok
        shift = rng.normal(0.0, NOISE[0], run.position.shape)
        turned = quat_multiply(
            quat_exp(rng.normal(0.0, NOISE[1], run.position.shape)), run.orientation
        )
        rows.append(np.concatenate([run.position + shift, turned[..., [3, 0, 1, 2]]], axis=2))
    return {
        "toss_id": np.arange(tosses),
        "start": np.arange(tosses) * frames,
        "length": np.full(tosses, frames),
        "state": np.concatenate(rows),
        "dt": np.float64(1.0 / RATE),
        "bodies": np.array(["link_1", "link_2"]),
    }


@pytest.fixture(scope="module")
def elbow_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("elbow") / "elbow.npz"
    np.savez(path, **elbow_arrays())
    return path


def elbow(path: Path, **changes) -> dict:
    content = {
        "name": "elbow",
        "kind": "poses",
        "body": ["link_1", "link_2"],
        "scene": SCENE,
        "data": {"train": {"files": [str(path)], "trials": [0, 1, 2]}},
        "measurement": {"sigma_position": NOISE[0], "sigma_rotation": float(np.degrees(NOISE[1]))},
        "simulation": {"steps_per_frame": SPF},
        "parameters": {
            "friction": {
                "value": 0.4, "bounds": [0.05, 1.0], "scale": "log",
                "sets": {"table_1.c_f": 1, "table_2.c_f": 1},
            },
            "hinge_damping": {
                "value": 0.002, "unit": "N*m*s/rad", "bounds": [1e-4, 0.05], "scale": "log",
                "sets": {"elbow.friction_damping": 1},
            },
        },
        "fit": {"initial_state": "nuisance", "horizons": [12], "iterations": 15},
        "uncertainty": {"method": "covariance"},
    }  # fmt: skip
    content["data"]["validate"] = {"files": [str(path)]}
    for key, value in changes.items():
        content[key] = {**content[key], **value} if isinstance(value, dict) else value
    return content


def test_the_height_of_the_ground_is_a_parameter(elbow_file):
    """The plane is carried by a kinematic body, whose keys are parameters by name."""
    scene = copy.deepcopy(SCENE)
    scene["bodies"]["ground"] = {"type": "kinematic", "pose": {"position": [0, 0, -0.001]}}
    for contact in scene["contact"]:
        contact["carrier"] = "ground"
    height = {"value": -0.001, "bounds": [-0.02, 0.02], "sets": {"ground.position[0].z": 1}}
    content = elbow(elbow_file, scene=scene, parameters={"height": height})
    del content["data"]["validate"]
    result = estimate(load_estimation(content))
    found = {p.name: p for p in result.parameters}
    assert result.status == "converged"
    assert abs(found["height"].value) < 3.5 * found["height"].std_dev < 3e-4
    assert abs(found["friction"].value - 0.25) < 3.5 * found["friction"].std_dev


def test_a_file_of_several_bodies_is_read_and_written(elbow_file, tmp_path):
    trials = read_tosses(elbow_file, body=("link_2", "link_1"))
    assert trials[0].bodies == ("link_2", "link_1")
    with np.load(elbow_file) as data:
        np.testing.assert_allclose(trials[0].of("link_1").position[0], data["state"][0, 0, :3])
        np.testing.assert_allclose(trials[0].position[0], data["state"][0, 1, :3])
    write_tosses(tmp_path / "again.npz", trials)
    again = read_tosses(tmp_path / "again.npz", body=trials[0].bodies)
    np.testing.assert_allclose(again[1].poses.value, trials[1].poses.value, atol=1e-12)
    assert repeated(elbow_file) == {}


def test_bodies_that_are_not_there_are_named(elbow_file, tmp_path):
    with pytest.raises(InputError, match=r"bodies: got 'link_3'; accepted: .*link_1, link_2"):
        read_tosses(elbow_file, body="link_3")
    content = elbow_arrays(tosses=1)
    del content["bodies"]
    np.savez(tmp_path / "one.npz", **{**content, "state": content["state"][:, 0]})
    with pytest.raises(InputError, match="a file of several bodies"):
        read_tosses(tmp_path / "one.npz", body=("link_1", "link_2"))
    np.savez(tmp_path / "names.npz", **{**content, "bodies": np.array(["link_1"])})
    with pytest.raises(InputError, match="the names of 2 bodies"):
        read_tosses(tmp_path / "names.npz", body="link_1")


def test_several_bodies_only_where_they_are_known(elbow_file):
    alone = elbow(elbow_file, kind="clouds", measurement={}, simulation={}, fit={})
    alone["data"] = {"train": {"files": [str(elbow_file)]}}
    with pytest.raises(InputError, match=r"body: got .*; accepted: the name of a body"):
        load_estimation({**alone, "measurement": {}, "fit": {}})
    by_height = elbow(elbow_file, measurement={"start": "height"})
    with pytest.raises(InputError, match=r"measurement\.start: got 'height'; accepted: flight"):
        PoseExperiment(load_estimation(by_height))
    with pytest.raises(InputError, match="a body of the scene"):
        PoseExperiment(load_estimation(elbow(elbow_file, body=["link_1", "link_9"])))


def test_a_flight_ends_before_the_first_contact(elbow_file):
    scene = load_scene(SCENE)
    (trial, *_) = read_tosses(elbow_file, body=("link_1", "link_2"))
    flight = flight_of(scene, trial, 2e-3, 10)
    assert flight.last - flight.first == 10
    speed = np.diff(trial.of("link_1").position[:, 2] + trial.of("link_2").position[:, 2])
    falling = np.diff(speed) * RATE**2 / 2
    assert np.abs(falling[: flight.last - 2] + 9.81).max() < 60  # noise of second differences
    assert np.abs(falling[flight.last - 2 : flight.last + 2] + 9.81).max() > 120  # an impact
    high = trial.poses.value.copy()
    high[:, [2, 9]] += 1.0
    above = replace(trial, poses=trial.poses.with_value(high))
    assert flight_of(scene, above, 2e-3, 10) is None


def test_a_bounce_between_two_frames_ends_a_flight(tmp_path):
    heights = 0.05 + np.array([0.054, 0.042, 0.030, 0.018, 0.006, 0.007, 0.016, 0.024])
    state = np.zeros((8, 7))
    state[:, 2], state[:, 3] = heights, 1.0
    content = {"toss_id": [1], "start": [0], "length": [8], "state": state, "dt": 0.01}
    np.savez(tmp_path / "bounce.npz", **content)
    (trial,) = read_tosses(tmp_path / "bounce.npz", body="cube")
    flight = flight_of(load_scene(CUBE), trial, 2e-3, 40)
    assert (flight.first, flight.start, flight.last) == (0, 1, 5)


def test_starts_of_a_jointed_object_obey_its_joint(elbow_file):
    model = PoseExperiment(load_estimation(elbow(elbow_file))).model
    for trial in read_tosses(elbow_file, [0, 1], body=("link_1", "link_2"), sigma=NOISE):
        found = model.flown(trial, model.map.scaled(TRUTH))
        assert 0.7 < found.misfit < 1.3
        one, two = found.starts
        gap = (
            one.position + quat_rotate(one.orientation, HINGE)
            - two.position + quat_rotate(two.orientation, ARM)
        )  # fmt: skip
        assert np.linalg.norm(gap) < 5e-5
        axis = quat_rotate(one.orientation, np.array([0.0, 1.0, 0.0]))
        turning = two.angular_velocity - one.angular_velocity
        rate = turning @ axis
        assert np.linalg.norm(turning - rate * axis) < 0.1
        assert 1.6 < rate < 2.0, "the joint turned with 2 rad/s one frame before"
        assert np.sqrt(np.diag(two.covariance)[9:]).max() < 0.2
        assert set(one.slopes) == {"hinge_damping"}, "friction does nothing before contact"


def test_starts_move_with_the_parameters_as_their_slopes_say(elbow_file):
    model = PoseExperiment(load_estimation(elbow(elbow_file))).model
    (trial,) = read_tosses(elbow_file, [2], body=("link_1", "link_2"), sigma=NOISE)
    low, mid, high = (
        model.flown(trial, model.map.scaled(TRUTH | {"hinge_damping": value})).starts[1]
        for value in (0.0038, 0.004, 0.0042)
    )
    slope = mid.slopes["hinge_damping"][1]
    difference = (high.angular_velocity - low.angular_velocity) / 0.0004
    np.testing.assert_allclose(slope[9:], difference, rtol=0.03, atol=0.5)
    assert np.linalg.norm(difference) > 20
    z = model.map.scaled(TRUTH)
    report = check_problem(model.problem([trial], z, horizon=8), directions=2, z=z)
    assert report.passed, report


def test_friction_and_hinge_damping_are_recovered(elbow_file, tmp_path):
    result = estimate(elbow(elbow_file), out=tmp_path / "out")
    for parameter in result.parameters:
        off = abs(parameter.value - TRUTH[parameter.name])
        assert off < 3.5 * parameter.std_dev, (parameter, result.notes)
        assert off < 0.2 * TRUTH[parameter.name]
    validate = result.metrics["validate"]
    assert validate["recordings"] == 2 and validate["position_error_m"] < 3e-3
    assert [p.bodies for p in result.predictions] == [("link_1", "link_2")] * 2
    page = (tmp_path / "out" / "report.html").read_text()
    assert "link_2 simulated" in page and "rotation error" in page
    assert (tmp_path / "out" / "motion.mcap").stat().st_size > 1000
    written = yaml.safe_load((tmp_path / "out" / "result.yaml").read_text())
    assert written["scene"]["table_2.c_f"] == written["parameters"]["friction"]["value"]


def test_recordings_that_do_not_fly_are_left_out_by_name(elbow_file, tmp_path):
    content = elbow_arrays(tosses=3)
    held = content["state"][44:70]
    held[:, :, :2] += np.cumsum(np.linspace(0, 0.004, 26))[:, None, None]  # a hand pulls
    late = content["state"][88:]
    late[:, :, 2] -= late[:4, :, 2].min() - 0.03  # begins on the table
    np.savez(tmp_path / "held.npz", **content)
    changes = {"train": {"files": [str(tmp_path / "held.npz")]}}
    config = elbow(elbow_file, data=changes, measurement={"check_gravity": False})
    data = PoseExperiment(load_estimation(config)).read({})
    assert [trial.id for trial in data.train] == [0]
    notes = " ".join(data.notes)
    assert "miss a simulated flight" in notes and "less than 6 frames before contact" in notes


def test_velocities_of_impacts_are_observed(tmp_path):
    few = ["data.train.trials.random=4", "data.validate.trials={random: 3, seed: 1}"]
    config = load_estimation(CONFIGS / "planar_ellipse.yaml", set=[*few, "fit.iterations=1"])
    experiment = PoseExperiment(config)
    data = experiment.read({})
    z = experiment.model.map.start
    report = check_problem(experiment.model.problem(data.train[:1], z), directions=2, z=z)
    assert report.passed, report
    predicted, failures = experiment.predicted(data.validate, z, "validate")
    assert not failures
    assert set(predicted[0].errors) == {"velocity_error_m_s", "spin_error_rad_s"}
    estimate(config, out=tmp_path / "out")
    assert "spin error" in (tmp_path / "out" / "report.html").read_text()


def test_starts_of_poses_alone_are_fitted():
    changes = ["measurement.start=file", "data.train.trials.random=1", "data.validate=null"]
    config = load_estimation(CONFIGS / "planar_square.yaml", set=changes)
    experiment = PoseExperiment(config)
    data = experiment.read({})
    assert any("poses alone are fitted" in note for note in data.notes)
    model = experiment.model
    assert model.nuisance
    (start,) = model.starts(data.train[0], model.map.start)
    early = data.train[0].position[:8]
    speed = np.linalg.norm(early[-1] - early[0]) / (data.train[0].frames[7] * data.train[0].dt)
    assert 0.5 * speed < np.linalg.norm(start.velocity) < 2.0 * speed
    assert start.covariance is not None and start.covariance[6, 6] >= 0.25


def test_recordings_handed_over_take_the_names_of_the_scene(elbow_file):
    config = load_estimation(CONFIGS / "planar_square.yaml")
    path = ROOT / "data" / "planar_drop" / "square.npz"
    given = read_tosses(path, toss_ids(path)[:2], body="body")  # as the recorder calls it
    data = PoseExperiment(config).read({"train": given, "validate": []})
    assert [trial.bodies for trial in data.train] == [("square",)] * 2
    links = PoseExperiment(load_estimation(elbow(elbow_file)))
    with pytest.raises(InputError, match=r"bodies: got 'body'; accepted: recordings of link_1"):
        links.read({"train": given})


def test_starts_of_the_scene_may_be_parameters():
    config = load_estimation(CONFIGS / "tennis_balls.yaml", set=["fit.horizons=[8]"])
    model = PoseExperiment(config).model
    named = model.map.named(model.map.start)
    p = model.map.engine(model.map.start, model.scene.engine.values)
    spin = p[model.scene.engine.index("ball_2.angular_velocity.y")]
    assert spin == pytest.approx(29.163 * named["speed_x"] * named["rolling_share"])


def test_the_documentation_lists_every_key():
    text = keys_of_kind("poses")
    own = set(fields_of(PoseFitOptions)) - set(fields_of(FitOptions))
    for name in (*fields_of(PoseMeasurementOptions), *own):
        assert f"`{name}`" in text, f"estimation_keys.md does not list {name}"
