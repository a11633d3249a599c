"""Several sensors of one throw: clouds with poses or markers, their clocks and places estimated."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

pytest.importorskip("open3d", exc_type=ImportError)

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.sensing import bags
from diffsim_ros.sensing.read import read_beside
from diffsim_ros.viz.pages import sections_of
from tests.real2sim.clouds_synthetic import (
    SENSOR,
    TRUTH,
    estimation,
    recording,
    sensor_estimation,
    tracked,
    two_sensors,
)

HELD = np.array([0, 0, 0.4])  # where the scene's box stands
MARKERS = np.array([[0.07, 0.05, 0.04], [-0.07, 0.05, 0.04], [0.07, -0.05, -0.04]])
CORNERS = {f"m{k}": (place + HELD).tolist() for k, place in enumerate(MARKERS)}


@cache
def both(seed=0, name="box", frames=13, markers=False):
    """A recording of the camera with the tracker's beside it."""
    samples = tracked(seed, MARKERS if markers else None)
    return {"cloud": recording(seed, name, frames), "tracker": samples}


def experiment(content):
    return kind_of("clouds")(load_estimation(content))


def truth_of(result):
    """(estimate - truth)/sigma by name."""
    truth = dict(zip(("sx", "sy", "sz"), SENSOR["shift"], strict=True))
    truth |= {"c_f": TRUTH["c_f"], "late": SENSOR["delay"], "slow": SENSOR["drift"]}
    return {p.name: (p.value - truth[p.name]) / p.std_dev for p in result.parameters}


@pytest.fixture(scope="module")
def result():
    given = {"train": [both()], "validate": [both(1, "other")]}
    return estimate(load_estimation(sensor_estimation()), observations=given)


def test_clock_and_place_of_a_tracker_come_back(result):
    assert result.status == "converged", result.message
    assert max(map(abs, truth_of(result).values())) < 3.5, truth_of(result)
    sigma = {p.name: p.std_dev for p in result.parameters}
    assert sigma["late"] < 5e-4 and sigma["slow"] < 2e-3 and sigma["sx"] < 5e-4
    found = result.metrics["train"]["box"]["sensors"]["tracker"]
    assert found["rms_over_sigma"] == pytest.approx(1.0, abs=0.15) and found["samples"] > 40
    later = result.metrics["validate"]["other"]["sensors"]["tracker"]
    assert later["position_error_m"] < 6e-3 and later["rotation_error_deg"] < 4.0


def test_stamps_of_another_epoch_need_a_first_guess(result):
    content = sensor_estimation()
    content["parameters"]["late"] |= {"value": -1e6, "bounds": [-1e6 - 0.03, -1e6 + 0.03]}
    whole = both()
    shifted = replace(whole["tracker"], t=whole["tracker"].t - 1e6)
    given = {"train": [{**whole, "tracker": shifted}], "validate": []}
    again = estimate(load_estimation(content), observations=given)
    found, plain = ({p.name: p for p in r.parameters} for r in (again, result))
    assert found["late"].value + 1e6 == pytest.approx(plain["late"].value, abs=1e-4)
    for name in ("c_f", "slow", "sx"):
        assert found[name].value == pytest.approx(plain[name].value, abs=1e-4), name


def test_what_it_shows_is_in_the_report(result):
    page = sections_of(result)
    names = [(row[0], row[2]) for row in page.blocks()[1].table.rows]
    assert names == [("other", "tracker"), ("box", "tracker")]
    group = next(g for g in page.curves()[1]["groups"] if g["name"] == "tracker, pivot")
    measured, simulated = (np.array(line["y"]) for line in group["panels"][0]["lines"])
    assert np.abs(measured - simulated).max() < 5.0  # [mm]
    assert group["panels"][3]["title"] == "angle between them [°]"


def test_markers_with_gaps_do_as_well():
    content = sensor_estimation(kind="markers", markers=CORNERS, pivot=[0] * 6)
    whole = both(markers=True)
    samples = whole["tracker"]
    place = samples.position.copy()
    place[5:15, 1] = np.nan
    values = {**samples.values, "position": place}
    whole = {**whole, "tracker": replace(samples, values=values)}
    given = {"train": [whole], "validate": []}
    found = truth_of(estimate(load_estimation(content), observations=given))
    assert max(map(abs, found.values())) < 3.5, found


@pytest.mark.parametrize("markers", [False, True])
def test_derivatives_by_clock_and_place(markers):
    more = {"kind": "markers", "markers": CORNERS, "pivot": [0] * 6} if markers else {}
    model = experiment(sensor_estimation(**more))
    trials = model.read({"train": [both(0, "box", 9, markers)], "validate": ()}).train
    problem = model.model.problem(trials, model.model.map.start).exact()
    z, y = problem.start + 1e-3, np.zeros(problem.nuisance_shape)
    exact = problem.evaluate(z, y, want="equations").gradient[0]
    np.testing.assert_allclose(
        problem.evaluate(z, y, want="gradient").gradient[0], exact, rtol=1e-6
    )
    for i in range(len(z)):
        step = 1e-6 * np.eye(len(z))[i]
        up, down = (problem.evaluate(z + s * step, y).value for s in (1, -1))
        assert exact[i] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-3), problem.names[i]


def test_a_soft_body_is_followed_by_its_middle():
    content = sensor_estimation(pivot=[0] * 6)
    content["scene"]["materials"] = {"foam": {"density": 150, "young": 2e4, "poisson": 0.4}}
    content["scene"]["bodies"]["box"] = {
        "type": "solid", "shape": {"ball": {"radius": 0.07, "layers": 1}}, "material": "foam",
        "pose": {"position": [0, 0, 0.4]},
    }  # fmt: skip
    content["measurement"]["turning"] = False
    model = experiment(content).model
    (_, sensor), scene = model.sensors, model.scene
    run = _engine.rollout(scene.engine, scene.engine.values, 4, scene.options)
    detections = sensor.detections(tracked(0), model.outline, "world", None)
    track = sensor.track(detections, model.outline, 5.0, 0.4, model.interval)
    slot, values = body_slots(scene.engine)["box"], {"late": 0.0, "slow": 0.0, "sx": 0.1}
    values |= {"sy": 0.0, "sz": 0.0}
    observed = track.predicted(run, slot, values)
    fallen = -0.5 * 9.81 * np.minimum(track.t, 4 / 240) ** 2
    expected = np.stack([-0.1 + 0 * fallen, 0 * fallen, 0.4 + fallen], axis=1)
    np.testing.assert_allclose(observed[:, 0], expected, atol=2e-4)
    content["measurement"]["sensors"]["tracker"]["pivot"] = [0, 0, 0.01, 0, 0, 0]
    with pytest.raises(InputError, match="none for a soft body"):
        experiment(content)


def test_poses_of_bags_and_tables_keep_their_stamps(tmp_path):
    samples = tracked(0)
    poses = samples.position[:, 0], samples.orientation
    bag = bags.write_motion(
        tmp_path / "a.mcap", [("/box", "mocap", samples.t, *poses)], epoch_ns=10**18
    )
    found = read_beside(bag, "poses")
    assert found.frame == "mocap" and found.t == pytest.approx(1e9 + samples.t, abs=1e-6)
    rows = np.column_stack([samples.t, *poses])
    table = tmp_path / "a.csv"
    np.savetxt(table, rows, delimiter=",", header="t,px,py,pz,qx,qy,qz,qw", comments="")
    again = read_beside(table, "poses")
    assert again.t == pytest.approx(samples.t) and again.frame == ""
    assert again.position == pytest.approx(samples.position, abs=1e-12)
    with pytest.raises(InputError, match=r"a table with the columns t px"):
        read_beside(tmp_path / "b.csv", "poses")


def test_clouds_and_poses_of_one_bag(tmp_path):
    """As a lab records them: two topics, several throws, stamps of one clock."""
    path = tmp_path / "two.mcap"
    two_sensors(path)
    content = sensor_estimation()
    content["data"]["train"]["files"] = [str(path)]
    content["fit"]["iterations"] = 1
    model = experiment(content)
    trials = model.read({}).train
    assert [trial.name for trial in trials] == ["two_1", "two_2"]
    by_hand = model.read({"train": [both()], "validate": ()}).train[0]
    read, given = (model.model.tracks(trial)["tracker"] for trial in (trials[0], by_hand))
    assert read.t == pytest.approx(given.t, abs=1e-6)
    assert read.position == pytest.approx(given.position, abs=1e-6)
    other = model.model.tracks(trials[1])["tracker"]
    assert len(other.t) == len(read.t) and np.abs(other.position - read.position).max() < 0.01


def test_a_frame_that_nothing_places_is_refused():
    content = sensor_estimation(position=[0, 0, 0])
    whole = both()
    named = {**whole, "tracker": replace(whole["tracker"], frame="mocap")}
    with pytest.raises(InputError, match=r"frame_id: got 'mocap'; accepted: poses in 'world'"):
        experiment(content).read({"train": [named], "validate": ()})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"delay": "lat"}, r"tracker\.delay: got 'lat'.*late"),
        ({"drift": -1}, "drift: got -1.0; accepted: a number > -1"),
        ({"position": [0, 0]}, "position: got .* accepted: 3 numbers or names"),
        ({"pivot": [0, 0, 0, "x", 0, 0]}, r"pivot\[3\]: got 'x'"),
        ({"kind": "markers"}, "name -> place, for sensors of kind markers"),
        ({"kind": "markers", "markers": {"a": [1, 2]}}, r"markers.a: got \[1, 2\]"),
        ({"kind": "imu"}, "poses or markers"),
        ({"delai": 0}, "delay"),
    ],
)
def test_bad_sensors_are_named(change, says):
    with pytest.raises(InputError, match=says):
        experiment(sensor_estimation(**change))


def test_bad_recordings_are_named(tmp_path):
    model, whole = experiment(sensor_estimation()), both()
    samples = whole["tracker"]

    def read(**changed):
        beside = {"tracker": replace(samples, **changed)} if changed else {}
        return model.read({"train": [{"cloud": whole["cloud"], **beside}], "validate": ()})

    with pytest.raises(InputError, match=r"sensor tracker: got \[\]"):
        read()
    with pytest.raises(InputError, match=r"from 100\.\d+ to .* are clocks apart"):
        read(t=samples.t + 100)
    content = sensor_estimation()
    content["data"]["train"]["sensors"] = {"tracker": ["a.csv", "b.csv"]}
    with pytest.raises(InputError, match="a list of 1 files, one for each of files"):
        load_estimation(content)
    content["data"]["train"]["sensors"] = {"trackr": ["a.csv"]}
    with pytest.raises(InputError, match=r"sensors: got 'trackr'.*tracker"):
        model = experiment(content)
        model.read({})
    path = tmp_path / "bad.csv"
    np.savetxt(path, [[0, 0, 0, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 0, 0, 1]], delimiter=",",
               header="t,px,py,pz,qx,qy,qz,qw", comments="")  # fmt: skip
    with pytest.raises(InputError, match=r"sample 1, t: got 0\.0; accepted: increasing stamps"):
        read_beside(path, "poses")
    np.savetxt(path, [[0, 0, 0, 0, 0, 0, 0, 2]], delimiter=",",
               header="t,px,py,pz,qx,qy,qz,qw", comments="")  # fmt: skip
    with pytest.raises(InputError, match="a unit quaternion"):
        read_beside(path, "poses")


def test_without_sensors_nothing_changes():
    model = experiment(estimation())
    trial = model.read({"train": [recording(0)], "validate": ()}).train[0]
    (fitted,) = model.model.problem([trial], model.model.map.start).trials
    assert len(fitted.objectives) == 1 and trial.further == []
