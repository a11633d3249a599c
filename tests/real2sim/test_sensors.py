"""Any list of sensors of one throw: two cameras, trackers without a camera, a ball that turns."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("open3d", exc_type=ImportError)

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.real2sim.results import write_results
from diffsim_ros.real2sim.scenarios.throw import free_spin
from diffsim_ros.real2sim.sensors.cloud.trackers import refuse_apart
from diffsim_ros.sensing.read import read_beside
from diffsim_ros.viz.pages import sections_of
from tests.real2sim.clouds_synthetic import (
    AT_SIDE,
    NOISE,
    SENSOR,
    SIDE,
    TRUTH,
    camera,
    estimation,
    recording,
    sensor_estimation,
    tracked,
)
from tests.real2sim.synthetic import arrays
from tests.real2sim.test_cloud_sensors import CORNERS, MARKERS

LATE = 0.012
DELAY = {"value": 0.0, "bounds": [-0.03, 0.03], "unit": "s", "sets": {}}
POSES = {
    "kind": "poses", "position": SENSOR["shift"].tolist(),
    "pivot": [*SENSOR["pivot"].tolist(), 0, 0, 0], "sigma_position": SENSOR["sigma"],
    "sigma_rotation": float(np.degrees(SENSOR["turn_sigma"])),
}  # fmt: skip
MOCAP = {
    "kind": "markers", "markers": CORNERS, "position": SENSOR["shift"].tolist(),
    "sigma_position": SENSOR["sigma"],
}  # fmt: skip


def right(samples, late=0.0):
    """A tracker's samples by the clock of the throw, or as late as that."""
    return replace(
        samples, t=5.0 + (samples.t - 5.0) * (1 + SENSOR["drift"]) - SENSOR["delay"] + late
    )


@cache
def trackers(late=0.0):
    """Poses, and markers of another tracker whose stamps are late; no camera."""
    return {"poses": right(tracked(0)), "mocap": right(tracked(1, MARKERS), late)}


def without_cloud(delay=None, **sensors):
    content = {**estimation(sensors=sensors), "kind": "sensors"}
    del content["measurement"]["cloud"], content["measurement"]["floor"]
    content["fit"]["horizons"] = [0]
    if delay:
        content["parameters"][delay] = dict(DELAY)
    return content


def fitted(content, throw):
    return estimate(load_estimation(content), observations={"train": [throw], "validate": []})


def values(result):
    assert result.status == "converged", result.message
    return {p.name: p for p in result.parameters}


def test_two_trackers_without_a_camera_know_more_than_either():
    whole = trackers(LATE)
    both = fitted(without_cloud("late", poses=POSES, mocap={**MOCAP, "delay": "late"}), whole)
    poses = fitted(without_cloud(poses=POSES), whole)
    mocap = fitted(without_cloud(mocap=MOCAP), trackers())
    found, sigma = values(both), [values(r)["c_f"].std_dev for r in (both, poses, mocap)]
    assert abs(found["late"].value - LATE) < 3.5 * found["late"].std_dev < 1e-3
    assert abs(found["c_f"].value - TRUTH["c_f"]) < 3.5 * sigma[0]
    assert sigma[0] < 0.9 * min(sigma[1:])
    (shown,) = both.predictions
    assert shown.sensor == "poses" and [s.name for s in shown.sensors] == ["mocap"]
    assert shown.errors["rms_over_sigma"] == pytest.approx(1.0, abs=0.2)


def test_trackers_are_read_from_tables_and_their_trials_told_apart(tmp_path):
    """Two throws in one table, three seconds apart; the markers' table has both as well."""
    throw, names = trackers(), list(CORNERS)
    poses, mocap = throw["poses"], throw["mocap"]
    rows = [np.column_stack([poses.t + 3 * k, poses.position[:, 0], poses.orientation])
            for k in range(2)]  # fmt: skip
    head = "t,px,py,pz,qx,qy,qz,qw"
    table = {"delimiter": ",", "comments": ""}
    np.savetxt(tmp_path / "lab.csv", np.concatenate(rows), header=head, **table)
    rows = [np.column_stack([mocap.t + 3 * k, mocap.position.reshape(len(mocap.t), -1)])
            for k in range(2)]  # fmt: skip
    head = ",".join(["t", *(f"{name}_{axis}" for name in names for axis in "xyz")])
    np.savetxt(tmp_path / "mocap.csv", np.concatenate(rows), header=head, **table)
    content = without_cloud(poses=POSES, mocap=MOCAP)
    content["data"]["train"] = {
        "files": [str(tmp_path / "lab.csv")], "sensors": {"mocap": [str(tmp_path / "mocap.csv")]},
    }  # fmt: skip
    model = kind_of("sensors")(load_estimation(content))
    throws = model.read({}).train
    assert [throw.name for throw in throws] == ["lab_1", "lab_2"]
    given = model.read({"train": [trackers()], "validate": ()}).train[0]
    for throw in throws:
        assert throw.flight == given.flight
        for name, track in model.model.tracks(throw).items():
            wanted = model.model.tracks(given)[name]
            np.testing.assert_allclose(track.t, wanted.t, atol=1e-9)
            np.testing.assert_allclose(track.position, wanted.position, atol=1e-9)
    content["data"]["train"]["begin"] = [7.0]  # the first throw is not used
    with pytest.raises(InputError, match=r"begin\[0\]: got 7\.0; .*from 5\.000 to"):
        kind_of("sensors")(load_estimation(content)).read({})


def test_the_last_stamps_of_two_sensors_may_differ_by_rounding():
    experiment = kind_of("sensors")(load_estimation(without_cloud(poses=POSES, mocap=MOCAP)))
    interval, throw = experiment.model.interval, dict(trackers())
    first = throw["poses"].t[0]
    end = first + interval * round((throw["poses"].t[-1] - first) / interval)
    for name, rounding in (("poses", -3e-10), ("mocap", 3e-10)):
        t = throw[name].t.copy()
        t[-1] = end + rounding
        throw[name] = replace(throw[name], t=t)
    data = experiment.read({"train": [throw], "validate": ()})
    model = experiment.model
    (trial,) = model.problem(data.train, model.map.start).trials
    assert trial.objectives[1].frames[-1, 1] == trial.steps // model.scene.options.record_every


def side(late=0.0):
    return recording(7, "side", eye=SIDE, look=AT_SIDE, late=late)


def two_cameras():
    side = {"kind": "clouds", "cloud": camera(SIDE, AT_SIDE), "delay": "late", "weight": 0.9}
    content = estimation(sensors={"side": side})
    content["parameters"]["late"] = dict(DELAY)
    return content


@pytest.fixture(scope="module")
def cameras():
    return fitted(two_cameras(), {"cloud": recording(0), "side": side(LATE)})


def test_two_cameras_know_more_than_either(cameras):
    other = estimation()
    other["measurement"]["cloud"] = camera(SIDE, AT_SIDE)
    alone = [fitted(estimation(), recording(0)), fitted(other, side())]
    found, sigma = values(cameras), [values(r)["c_f"].std_dev for r in (cameras, *alone)]
    assert abs(found["late"].value - LATE) < 3.5 * found["late"].std_dev < 5e-3
    assert abs(found["c_f"].value - TRUTH["c_f"]) < 3.5 * sigma[0] and sigma[0] < min(sigma[1:])
    observed = cameras.metrics["train"]["box"]["sensors"]["side"]
    assert observed["rms_over_sigma"] == pytest.approx(1.0, abs=0.15)
    assert observed["rms_distance_m"] == pytest.approx(NOISE, rel=0.2)
    page = sections_of(cameras)
    assert "Of the camera's points" in page.intro
    assert page.blocks()[1].table.rows[0][2] == "side"
    assert "side, middle" in [group["name"] for group in page.curves()[0]["groups"]]


def test_derivatives_with_every_sensor_at_once():
    """Two cameras, poses and markers, each with a clock: end to end against central differences."""
    content = sensor_estimation()
    sensors = content["measurement"]["sensors"]
    sensors["side"] = {
        "kind": "clouds", "cloud": camera(SIDE, AT_SIDE), "delay": "side_late", "drift": "slow",
        "weight": 0.5,
    }  # fmt: skip
    sensors["mocap"] = {**MOCAP, "delay": "mocap_late"}
    content["parameters"] |= {"side_late": dict(DELAY), "mocap_late": dict(DELAY)}
    others = {"tracker": tracked(0), "side": side(LATE), "mocap": tracked(1, MARKERS)}
    model = kind_of("clouds")(load_estimation(content))
    given = {"train": [{"cloud": recording(0, "box", 9), **others}], "validate": ()}
    trials = model.read(given).train
    problem = model.model.problem(trials, model.model.map.start).exact()
    names = [o.name for o in problem.trials[0].objectives]
    assert names == ["cloud", "tracker", "side", "mocap"]
    (side_camera,) = [s for s in model.model.sensors if s.name == "side"]
    observed = (
        trials[0].auxiliary["side"],
        model.model.outline,
        trials[0].detections.stamps[0],
        0.2,
        0.01,
    )
    light, whole = (replace(side_camera, weight=w).track(*observed).sigma for w in (0.25, 1.0))
    np.testing.assert_allclose(light, 2.0 * whole)  # weights are of squares
    z, y = problem.start + 1e-3, np.zeros(problem.nuisance_shape)
    exact = problem.evaluate(z, y, want="equations").gradient
    adjoint = problem.evaluate(z, y, want="gradient").gradient
    for ours, theirs in zip(adjoint, exact, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    for i, name in enumerate(problem.names):
        step = 1e-6 * np.eye(len(z))[i]
        up, down = (problem.evaluate(z + s * step, y).value for s in (1, -1))
        assert exact[0][i] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-2), name


def on_unknown_ground(content):
    """The same over a plane that a kinematic body carries, 12 mm too low and tilted by 1 degree."""
    content = copy.deepcopy(content)
    tilt = Rotation.from_rotvec([0.02, -0.015, 0]).as_quat().tolist()
    ground = {"type": "kinematic", "pose": {"position": [0, 0, -0.012], "orientation": tilt}}
    content["scene"]["bodies"]["table"] = ground
    content["scene"]["contact"][0]["carrier"] = "table"
    content["measurement"].pop("floor", None)
    for name, value, entry in (
        ("height", -0.012, "position[0].z"), ("roll", 0.02, "rotation[0].x"),
        ("pitch", -0.015, "rotation[0].y"),
    ):  # fmt: skip
        sets = {f"table.{entry}": 1}
        content["parameters"][name] = {"value": value, "bounds": [-0.1, 0.1], "sets": sets}
    return content


@pytest.mark.parametrize("observed", ["clouds", "trackers"])
def test_the_ground_is_a_parameter_by_name(observed):
    if observed == "clouds":
        result = fitted(on_unknown_ground(estimation()), recording(0))
    else:
        content = without_cloud(poses=POSES, mocap=MOCAP)
        result = fitted(on_unknown_ground(content), trackers())
    found = values(result)
    for name, most in (("height", 4e-4), ("roll", 1.5e-3), ("pitch", 1.5e-3)):
        assert abs(found[name].value) < 3.5 * found[name].std_dev < 3.5 * most, found[name]
    assert abs(found["c_f"].value - TRUTH["c_f"]) < 3.5 * found["c_f"].std_dev


def ball(content, **measurement):
    """The same with a ball in place of the box."""
    content["scene"]["bodies"]["box"] |= {"shape": {"sphere": {"radius": 0.07}}}
    content["scene"]["bodies"]["box"]["contact_spheres"] = {"sphere": {}}
    content["measurement"] |= measurement
    return content


def rolled(samples):
    """Poses of a ball that is thrown with a spin and touches nothing."""
    t = samples.t - 5.0
    fall = np.outer(t, TRUTH["velocity"]) - 0.5 * 9.81 * np.outer(t**2, [0, 0, 1])
    turn = Rotation.from_rotvec(np.outer(t, [2.0, -30.0, 5.0]))
    place = TRUTH["position"] + fall + turn.apply(SENSOR["pivot"]) - SENSOR["shift"]
    noise = SENSOR["sigma"] * np.random.default_rng(0).normal(size=place.shape)
    return samples.with_value(np.hstack([place + noise, turn.as_quat()]))


def test_a_ball_turns_as_its_tracker_says_and_what_nothing_sees_is_named(tmp_path):
    """A ball looks the same from all sides: its spin cannot come from the clouds; and it touches
    nothing here, so that the data do not depend on friction at all."""
    samples = rolled(right(tracked(0, rows=37)))
    content = ball(without_cloud(poses=POSES))
    content["parameters"]["c_f"]["scale"] = "log"
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = fitted(content, {"poses": samples})
        write_results(result, tmp_path / "out")
    (friction,) = result.parameters
    assert not friction.identifiable and "do not depend on it" in friction.note
    spin = result.predictions[0].start.state.angular_velocity
    np.testing.assert_allclose(spin, [2.0, -30.0, 5.0], atol=0.3)
    with pytest.raises(InputError, match=r"measurement\.turning: got True.*a ball looks the same"):
        kind_of("clouds")(load_estimation(ball(estimation())))


def test_a_fast_spin_is_told_from_steps_of_less_than_half_a_revolution():
    t, spin = np.linspace(0.1, 0.5, 21), np.array([40.0, -90.0, 60.0])
    start = Rotation.from_rotvec([0.3, 0.2, -0.1])
    turns = (Rotation.from_rotvec(t[:, None] * spin) * start).as_matrix()
    turn, found = free_spin(t, turns)
    np.testing.assert_allclose(found, spin, rtol=1e-9)
    np.testing.assert_allclose(turn, start.as_matrix(), atol=1e-9)


@pytest.mark.parametrize(
    ("sensors", "says"),
    [
        ({}, "'no sensor'; accepted: a section cloud, or sensors"),
        ({"poses": {**POSES, "delay": 0.1}}, "'a delay or drift'; accepted: none"),
        ({"side": {"kind": "clouds"}}, r"side\.cloud: got None; accepted: a section cloud"),
        ({"two": {**MOCAP, "markers": dict(list(CORNERS.items())[:2])}}, "none of them does"),
    ],
)
def test_bad_lists_of_sensors_are_named(sensors, says):
    with pytest.raises(InputError, match=says):
        kind_of("clouds")(load_estimation(without_cloud(**sensors)))


def test_another_camera_of_another_time_is_named():
    throw = {"cloud": recording(0), "side": side(late=60.0)}
    model = kind_of("clouds")(load_estimation(two_cameras()))
    with pytest.raises(InputError, match=r"sensor side: got .clouds from 65\.0.*are clocks apart"):
        model.read({"train": [throw], "validate": ()})


def test_clouds_that_none_of_a_throw_are_named_by_their_source():
    sensor = SimpleNamespace(name="side", clock=SimpleNamespace(delay=0.0))
    late = SimpleNamespace(
        samples=None, stamps=np.array([65.0, 65.1]), clouds=[SimpleNamespace(source="side.mcap")]
    )
    with pytest.raises(InputError, match=r"side\.mcap: sensor side: got .samples from 60\.000"):
        refuse_apart(sensor, late, 5.0, 0.4, "front.mcap")


@pytest.mark.parametrize("who", ["poses", "mocap"])
def test_clocks_that_each_begin_at_0_are_not_taken_for_one(who):
    """As C3D, npz and many CSV do, whenever their recording was begun: nothing relates them."""
    throw = dict(trackers())
    throw[who] = replace(throw[who], t=throw[who].t - throw[who].t[0])
    given = {"train": [throw], "validate": ()}
    model = kind_of("sensors")(load_estimation(without_cloud(poses=POSES, mocap=MOCAP)))
    with pytest.raises(InputError, match=r"sensors\.mocap\.delay: got 'absent'.*begin at 0"):
        model.read(given)
    both = {name: replace(one, t=one.t - one.t[0]) for name, one in throw.items()}
    with pytest.raises(InputError, match=r"mocap\.delay: got 'absent'"):  # was taken for one
        model.read({**given, "train": [both]})
    told = without_cloud(poses=POSES, mocap={**MOCAP, "delay": 0})
    (ready,) = kind_of("sensors")(load_estimation(told)).read({**given, "train": [both]}).train
    assert set(ready.auxiliary) == {"mocap"}


def test_trials_whose_clocks_restart_are_refused_beside_another_sensor(tmp_path):
    t = np.tile(0.01 * np.arange(30), 2)
    table = {"delimiter": ",", "header": "trial,t,a_x,a_y,a_z", "comments": "", "fmt": "%g"}
    rows = np.column_stack([np.repeat([1, 2], 30), t, np.ones((60, 3))])
    np.savetxt(tmp_path / "two.csv", rows, **table)
    says = r"two\.csv: trial 2: t: got '0 s after 0\.29 s'; accepted: stamps that go on"
    with pytest.raises(InputError, match=says):
        read_beside(tmp_path / "two.csv", "markers")
    np.savez(tmp_path / "two.npz", **arrays(tosses=2))
    with pytest.raises(InputError, match=r"two\.npz: trial 11: t: got '0 s after"):
        read_beside(tmp_path / "two.npz", "poses")
    rows[30:, 1] += 5.0
    np.savetxt(tmp_path / "on.csv", rows, **table)
    assert len(read_beside(tmp_path / "on.csv", "markers").t) == 60
