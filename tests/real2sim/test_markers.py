"""Markers on a released body: files, clocks, measures, and the truth from synthetic recordings."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse.swing import damped_sinusoid, slopes
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.real2sim.options import fields_of
from diffsim_ros.real2sim.scenarios.release import crossing, release_frame
from diffsim_ros.real2sim.sensors.marker import model as model_module
from diffsim_ros.real2sim.sensors.marker import options
from diffsim_ros.real2sim.sensors.marker.attach import carrier_of, rigid_fit
from diffsim_ros.scene.model import load_scene
from diffsim_ros.sensing.read import read_trials
from tests.pages import keys_of_kind
from tests.real2sim.markers_synthetic import (
    PLACES,
    RELEASED,
    SHIFT,
    TRUTH,
    TURN,
    estimation,
    record,
    scene,
)

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data" / "silicone_beam"
NOISE = 5e-5


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """Two noisy recordings and an exact one."""
    folder = tmp_path_factory.mktemp("markers")
    return {
        "free_1": record(folder / "free_1.csv", noise=NOISE, seed=1),
        "load_1": record(folder / "load_1.csv", noise=NOISE, seed=2),
        "load_2": record(folder / "load_2.csv", noise=0.0, seed=3),
    }


@pytest.fixture(scope="module")
def result(files):
    return estimate(estimation([files["free_1"], files["load_1"]], [files["load_2"]]))


def test_the_truth_comes_back_within_its_standard_deviation(result):
    assert result.status == "converged", result.message
    for p in result.parameters:
        assert 0.0 < p.std_dev < 0.05 * p.value, p
        assert abs(p.value - TRUTH[p.name]) < 4.0 * p.std_dev, p


def test_an_exact_recording_is_predicted_with_the_same_measures(result):
    figures = result.metrics["validate"]["load_2"]
    assert figures["mean_marker_error_m"] < 2e-4
    for name, bar in (("static_deflection", 0.005), ("frequency", 0.005), ("decay", 0.05)):
        assert figures[f"{name}_error"] < bar, name
        assert figures["measured"][name] != 0.0
    assert figures["start_s"] == pytest.approx(RELEASED - 0.42, abs=0.011)
    assert set(result.metrics["train"]["names"]) == {"free_1", "load_1"}


def test_results_and_report_are_written(result, tmp_path):
    from diffsim_ros.real2sim.results import write_results

    folder = write_results(result, tmp_path / "out")
    names = {path.name for path in folder.path.iterdir()}
    assert {"result.yaml", "metrics.json", "report.html", "motion.mcap", "swings.png"} <= names
    page = (folder.path / "report.html").read_text()
    assert "static deflection" in page and "load_2" in page
    metrics = json.loads((folder.path / "metrics.json").read_text())
    assert metrics["validate"]["load_2"]["frequency_error"] >= 0.0


def test_derivatives_of_the_objective(files):
    experiment = kind_of("markers")(load_estimation(estimation([files["load_1"]])))
    trials = experiment.read({"validate": ()}).train
    problem = experiment.model.problem(trials, experiment.model.map.start).exact()
    z = problem.start
    found = problem.evaluate(z, want="equations").gradient[0]
    adjoint = problem.evaluate(z, want="gradient").gradient[0]
    np.testing.assert_allclose(adjoint, found, rtol=1e-7)
    for i in range(len(z)):
        d = np.zeros(len(z))
        d[i] = 1e-5
        up, down = (problem.evaluate(z + s * d).value for s in (1, -1))
        assert found[i] == pytest.approx((up - down) / 2e-5, rel=1e-5)


def test_hidden_markers_do_not_count(files):
    model = kind_of("markers")(load_estimation(estimation([files["load_1"]]))).model
    (observed,) = read_trials(files["load_1"], "markers")
    hidden = observed.value.copy()
    hidden[60:70, :3] = np.nan
    releases = [
        model.release(observed.with_value(value), "load_1", {})
        for value in (observed.value, hidden)
    ]
    z = model.map.start
    whole, part = (model.problem([r], z).evaluate(z, want="equations") for r in releases)
    assert part.value < whole.value and np.isfinite(part.gradient[0]).all()


def test_markers_follow_rigid_and_affine_motions_exactly():
    model = load_scene(scene())
    places = np.array(list(PLACES.values()))
    carrier = carrier_of(model, "beam", places)
    first, count = model.engine.nodes_of("beam")
    rest = model.engine.values
    run = __import__("diffsim_ros")._engine.rollout(model.engine, rest, 1, model.options)
    nodes = np.asarray(run.position)[0, first : first + count]
    A = np.array([[1.1, 0.2, 0.0], [0.0, 0.9, -0.1], [0.05, 0.0, 1.0]])
    moved = nodes @ A.T
    free = carrier.weights @ moved[carrier.nodes]
    pinned = carrier.fixed @ A.T  # the clamped face, were it to move too
    np.testing.assert_allclose(free + pinned, places @ A.T, atol=1e-12)


def test_rigid_fit_is_exact_and_never_mirrors():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 3))
    R, shift = rigid_fit(a, a @ TURN.T + SHIFT)
    np.testing.assert_allclose(R, TURN, atol=1e-12)
    np.testing.assert_allclose(shift, SHIFT, atol=1e-12)
    R, _ = rigid_fit(a, a * [1, 1, -1])
    assert np.linalg.det(R) == pytest.approx(1.0)


@pytest.mark.parametrize(("f", "decay"), [(7.74, 2.4), (3.1, 0.4), (4.3, 6.0)])
def test_a_damped_sinusoid_is_measured_exactly(f, decay):
    t = np.arange(0.15, 4.0, 0.01)
    y = -0.006 + 0.004 * np.exp(-decay * t) * np.cos(2 * np.pi * f * t + 0.7)
    y[10:14] = np.nan
    found = damped_sinusoid("curve", t, y)
    assert found.offset == pytest.approx(-0.006, rel=1e-6)
    assert found.frequency == pytest.approx(f, rel=1e-6)
    assert found.decay == pytest.approx(decay, rel=1e-5)
    assert np.hypot(found.a, found.b) == pytest.approx(0.004 * np.exp(-decay * 0.15), rel=1e-5)
    assert found.rms < 1e-12


def test_slopes_of_a_fitted_swing_by_its_samples():
    rng = np.random.default_rng(0)
    t = np.arange(0.15, 2.0, 0.01)
    y = 0.01 + 0.004 * np.exp(-2 * t) * np.sin(40 * t) + 2e-4 * rng.normal(size=len(t))
    swing = damped_sinusoid("curve", t, y)
    exact = slopes(swing, t, y)
    for _ in range(5):
        d = rng.normal(size=len(t))
        up, down = (damped_sinusoid("curve", t, y + s * d).measures for s in (1e-6, -1e-6))
        np.testing.assert_allclose(exact @ d, (up - down) / 2e-6, rtol=1e-5)


def test_release_and_crossing():
    t = np.arange(100) * 0.01
    fallen = 0.5 * 9.0 * np.maximum(t - 0.503, 0.0) ** 2
    path = np.zeros((100, 3))
    path[:, 2] = -fallen
    assert release_frame("x", path, 5e-4) == np.argmax(fallen > 5e-4)
    wanted = 0.503 + np.sqrt(2 * 2e-3 / 9.0)
    assert crossing(t, path, path[0], 2e-3) == pytest.approx(wanted, abs=1e-6)
    hidden = path.copy()
    hidden[np.argmax(fallen > 2e-3) - 1] = np.nan
    assert crossing(t, hidden, path[0], 2e-3) == pytest.approx(wanted, abs=1e-3)
    assert np.isnan(crossing(t, path * 1e-6, path[0], 2e-3))  # never so far
    assert np.isnan(crossing(t[60:], path[60:], path[0], 2e-3))  # farther from the first frame on
    with pytest.raises(InputError, match="none"):
        release_frame("x", path * 1e-6, 5e-4)
    with pytest.raises(InputError, match="frames at rest before the release"):
        release_frame("x", path[45:], 5e-4)


def test_a_recording_that_hardly_moves_tells_no_clock(files):
    content = estimation([files["free_1"]], [])
    content["measurement"]["align_distance"] = 0.5
    with pytest.raises(InputError, match=r"a displacement of 0\.\d+ m .* more than 0\.5 m"):
        estimate(content)


def test_a_simulation_that_hardly_moves_starts_at_the_release(files, monkeypatch):
    experiment = kind_of("markers")(load_estimation(estimation([files["free_1"]], [])))
    (release,) = experiment.read({}).train
    monkeypatch.setattr(model_module, "EARLY", 0.01)
    assert experiment.model.delays([release], experiment.model.map.start) == [release.released]


def test_csv_and_c3d_of_one_recording_agree():
    pytest.importorskip("c3d")
    ours, theirs = (
        read_trials(DATA / f"gravity_a.{kind}", "markers")[0] for kind in ("csv", "c3d")
    )
    assert ours.names == theirs.names
    np.testing.assert_allclose(ours.t, theirs.t, atol=1e-9)
    np.testing.assert_allclose(ours.value, theirs.value, atol=1e-6)
    np.testing.assert_allclose(ours.values["residual"], theirs.values["residual"], atol=1e-6)


def test_half_a_c3d_is_refused(tmp_path):
    pytest.importorskip("c3d")
    (tmp_path / "half.c3d").write_bytes((DATA / "gravity_a.c3d").read_bytes()[:1500])
    with pytest.raises(InputError, match=r"half\.c3d"):
        read_trials(tmp_path / "half.c3d", "markers")


def edited(path: Path, change) -> Path:
    lines = (DATA / "gravity_a.csv").read_text().splitlines()
    change(lines)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda x: x.__setitem__(0, x[0].replace("tip1_y", "tip1_q")), "lacks tip1_y"),
        (lambda x: x.__setitem__(0, x[0].replace("tip1_y", "tip1_x")), "twice|lacks"),
        (lambda x: x.__setitem__(5, x[5].replace("0.0", "zero", 1)), "line 6"),
        (lambda x: x.__setitem__(5, x[5].rsplit(",", 1)[0]), "line 6: got '24 cells'"),
        (lambda x: x.__setitem__(5, x[7]), "increasing times"),
        (lambda x: x.__delitem__(slice(10, None)), "at least 20"),
    ],
)
def test_bad_csv_is_refused_by_line(tmp_path, change, says):
    with pytest.raises(InputError, match=says):
        read_trials(edited(tmp_path / "a.csv", change), "markers")


def test_other_endings_are_refused(tmp_path):
    (tmp_path / "a.trc").write_text("")
    with pytest.raises(InputError, match=r"\.csv or \.c3d"):
        read_trials(tmp_path / "a.trc", "markers")


@pytest.fixture(scope="module")
def small(files):
    return kind_of("markers")(load_estimation(estimation([files["load_1"]]))).model


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda v: 1e3 * v, "is the recording in millimetres"),
        (lambda v: v[:, [3, 4, 5, 0, 1, 2, 6, 7, 8, 9, 10, 11]], "are markers swapped"),
        (lambda v: np.where(np.arange(12) // 3 == 2, np.nan, v), "measured before the release"),
    ],
)
def test_recordings_that_contradict_the_places_are_refused(files, small, change, says):
    (observed,) = read_trials(files["load_1"], "markers")
    with np.errstate(all="ignore"), pytest.raises(InputError, match=says):
        small.release(observed.with_value(change(observed.value)), "load_1", {})


def test_names_without_a_condition_are_refused(files):
    config = load_estimation(estimation([files["load_1"]]))
    with pytest.raises(InputError, match=r"got 'heavy'.*free_\* or load_\*"):
        config.train.condition("heavy")
    assert config.train.condition("free_7") == {"thread.stiffness": 0}


def test_missing_markers_and_entries_are_named(files, small):
    (observed,) = read_trials(files["load_1"], "markers")
    names = ("top", *observed.names[1:])
    with pytest.raises(InputError, match="got 'top, side"):
        small.release(dataclasses.replace(observed, names=names), "load_1", {})
    with pytest.raises(InputError, match="a parameter of the scene"):
        small.release(observed, "load_1", {"weight.mas": 1.0})


def test_keys_of_the_yaml_are_documented():
    text = keys_of_kind("markers")
    sections = [c for name, c in vars(options).items() if name.endswith("Options")]
    assert len(sections) == 5
    for section in sections:
        for name, entry in fields_of(section).items():
            assert entry.doc and f"| `{name}` |" in text, f"{section.__name__}.{name}"


def test_the_shipped_configuration_reads_the_development_recordings():
    config = load_estimation(ROOT / "config" / "estimation" / "silicone_beam.yaml")
    experiment = kind_of("markers")(config)
    data = experiment.read({})
    frames = {r.name: r.frame for r in (*data.train, *data.validate)}
    known = {"gravity_a": 72, "gravity_b": 66, "load52_a": 45}  # README of the data
    assert frames == {name: known[name] for name in frames}
    for release in data.train:
        assert release.fit_error.max() < 2e-3 and release.turn[2, 0] > 0.99
