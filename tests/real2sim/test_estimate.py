"""From synthetic tosses to parameters: the truth comes back, and nothing depends on who calls."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.results import load_parameters, open_folder
from diffsim_ros.sensing.tosses import read_tosses
from diffsim_ros.viz.pages import sections_of
from tests.real2sim.synthetic import TRUTH, estimation, recorded

NOISE = (1e-3, math.radians(0.5))
NUISANCE = {
    "fit": {"initial_state": "nuisance", "iterations": 30, "horizons": [12, 25, 0]},
    "uncertainty": {"method": "covariance"},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[str, str]:
    """Six noisy tosses to train on, and four exact ones to predict."""
    folder = tmp_path_factory.mktemp("tosses")
    np.savez(folder / "train.npz", **recorded(6, seed=1, noise=NOISE))
    np.savez(folder / "validate.npz", **recorded(4, seed=2, noise=(0.0, 0.0)))
    return str(folder / "train.npz"), str(folder / "validate.npz")


@pytest.fixture(scope="module")
def result(files):
    return estimate(estimation(*files, **NUISANCE))


def test_the_truth_comes_back_within_its_standard_deviation(result):
    assert result.status == "converged", result.message
    for p in result.parameters:
        assert p.identifiable and not p.at_bound
        assert 0.0 < p.std_dev < 0.15 * p.value
        assert abs(p.value - TRUTH[p.name]) < 3.0 * p.std_dev, p


def test_predictions_of_exact_tosses_are_good(result):
    figures = result.metrics["validate"]
    assert figures["recordings"] == 4 and figures["failed"] == 0
    assert figures["position_error_m"] < 0.005
    assert figures["rotation_error_deg"] < 3.0


def test_open_loop_fit_recovers_it_too_and_threads_change_no_digit(files):
    found = [
        estimate(
            estimation(
                *files,
                fit={"iterations": 10, "search_evaluations": 60, "loss": "squared"},
                simulation={"steps_per_frame": 10, "threads": threads},
            )
        )
        for threads in (1, 2)
    ]
    assert found[0].document()["parameters"] == found[1].document()["parameters"]
    np.testing.assert_array_equal(found[0].correlation, found[1].correlation)
    for p in found[0].parameters:
        assert p.value == pytest.approx(TRUTH[p.name], rel=0.35), p
        assert p.std_dev > 0.0


def test_file_text_mapping_and_observations_agree_to_the_digit(files, tmp_path):
    mapping = estimation(files[0], fit={"iterations": 3}, uncertainty={"method": "sandwich"})
    (tmp_path / "e.yaml").write_text(yaml.safe_dump(mapping))
    sigma = (1e-3, np.radians(0.5))
    results = [
        estimate(mapping),
        estimate(tmp_path / "e.yaml"),
        estimate(yaml.safe_dump(mapping)),
        estimate(mapping, observations=read_tosses(files[0], sigma=sigma)),
    ]
    first = results[0].document()
    for other in results[1:]:
        assert other.document()["parameters"] == first["parameters"]
        assert other.document()["correlation"] == first["correlation"]


def test_two_parameters_that_do_the_same_are_named(files):
    mapping = estimation(files[0], **NUISANCE)
    # friction = first * second: only the product is determined
    mapping["parameters"]["friction"]["sets"] = {"table.c_f": 1}
    mapping["parameters"]["grip"] = {
        "value": 1.0,
        "bounds": [0.3, 3.0],
        "scale": "log",
        "sets": {"table.c_f": 1},
    }
    found = {p.name: p for p in estimate(mapping).parameters}
    for name, other in (("friction", "grip"), ("grip", "friction")):
        assert not found[name].identifiable and other in found[name].note
    assert found["stiffness"].identifiable


def test_progress_rises_to_one_and_names_its_phases(files):
    reports = []
    estimate(estimation(*files, fit={"iterations": 3}), progress=reports.append)
    fractions = [p.fraction_done for p in reports]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert {"read", "fit", "uncertainty", "validate"} <= {p.phase for p in reports}
    assert all(p.seconds_left is None or p.seconds_left >= 0.0 for p in reports)
    named = [p for p in reports if p.phase == "fit" and p.iteration]
    assert named and set(TRUTH) <= set(named[-1].parameters)


def test_cancelled_estimation_keeps_the_best_so_far(files):
    cancel, reports = _engine.CancelToken(), []

    def stop(p) -> None:
        reports.append(p)
        if p.phase == "fit" and p.iteration == 2:
            cancel.cancel()

    result = estimate(estimation(*files), progress=stop, cancel=cancel)
    assert result.status == "cancelled" and result.metrics["status"] == "cancelled"
    values = result.values()
    assert all(math.isfinite(v) for v in values.values())
    assert values["friction"] != 0.25  # it had moved already
    assert result.metrics.get("validate") is None


def test_results_are_plain_finite_and_never_overwritten(files, tmp_path):
    config = estimation(*files, fit={"iterations": 2})
    result = estimate(config, out=tmp_path / "out", report=False)
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    for name in ("position_error_m", "rotation_error_deg"):
        assert metrics["validate"][name] == result.metrics["validate"][name]
        assert metrics["validate"][f"{name}_median"] > 0.0
        low, high = metrics["validate"][f"{name}_interval"]
        assert low <= metrics["validate"][name] <= high
    assert [row["id"] for row in metrics["validate"]["per_recording"]] == [1, 2, 3, 4]
    document = yaml.safe_load((tmp_path / "out" / "result.yaml").read_text())
    assert list(document["parameters"]) == list(TRUTH)
    entry = document["parameters"]["friction"]
    assert {"value", "unit", "std_dev", "bounds", "identifiable", "at_bound", "note"} <= set(entry)
    assert document["scene"]["table.c_f"] == entry["value"]
    assert load_parameters(tmp_path / "out" / "result.yaml") == result.values()
    before = (tmp_path / "out" / "result.yaml").read_bytes()
    with pytest.raises(InputError, match=r"result.yaml.*never overwritten"):
        estimate(config, out=tmp_path / "out", report=False)
    assert (tmp_path / "out" / "result.yaml").read_bytes() == before


def test_recordings_of_two_files_with_one_id_are_told_apart():
    from types import SimpleNamespace

    from diffsim_ros.real2sim.results import labels_of
    from diffsim_ros.real2sim.sensors.pose.experiment import PoseExperiment

    two = [SimpleNamespace(id=1, source=f"{a}.npz", errors={"x": 1.0}) for a in "ab"]
    rows = PoseExperiment.figures(None, two, 0, "validate")["per_recording"]
    assert rows == [{"id": 1, "source": f"{a}.npz", "x": 1.0} for a in "ab"]
    rows = PoseExperiment.figures(None, two[:1], 0, "validate")["per_recording"]
    assert rows == [{"id": 1, "x": 1.0}]
    assert labels_of([("x/a", "1", False), ("x/a", "2", False)]) == ["1", "2"]
    assert labels_of([("x/a", "1", False), ("x/b", "1", False)]) == ["a: 1", "b: 1"]
    assert labels_of([("x/a", "1", False), ("y/a", "1", False)]) == ["x/a: 1", "y/a: 1"]
    assert labels_of([("a", "1", False), ("a", "1", True)]) == ["a: 1", "a: 1 (validated)"]


def test_a_failing_estimation_leaves_nothing_behind(files, tmp_path):
    config = load_estimation(estimation(files[0]), set=["body=cub"])
    with pytest.raises(InputError, match=r"body: got 'cub'.*'cube'"):
        estimate(config, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert open_folder(tmp_path / "out").path.exists()


def test_full_disk_leaves_nothing_half_written(files, tmp_path, monkeypatch):
    from diffsim_ros.real2sim import results

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results, "write_json", full)
    with pytest.raises(OSError, match="No space left"):
        estimate(estimation(files[0], fit={"iterations": 1}), out=tmp_path / "out", report=False)
    left = list((tmp_path / "out").iterdir()) if (tmp_path / "out").exists() else []
    assert left == []


@pytest.mark.parametrize(
    ("turn", "pattern"),
    [
        (lambda s: s[:, [0, 2, 1, 3, 4, 5, 6]], "Y-up|parallel to the world's gravity"),
        (lambda s: s * np.array([10.0] * 3 + [1.0] * 4), "free flight"),
    ],
)
def test_recordings_that_contradict_gravity_are_refused(tmp_path, turn, pattern):
    data = recorded(2, seed=3, noise=(0.0, 0.0))
    np.savez(tmp_path / "bad.npz", **{**data, "state": turn(data["state"])})
    with pytest.raises(InputError, match=pattern):
        estimate(estimation(str(tmp_path / "bad.npz")))


def test_rates_that_differ_are_refused(files, tmp_path):
    data = recorded(2, seed=3, noise=(0.0, 0.0))
    np.savez(tmp_path / "slow.npz", **{**data, "dt": np.float64(0.0101)})
    mapping = estimation(files[0])
    mapping["data"]["train"]["files"].append(str(tmp_path / "slow.npz"))
    mapping["measurement"]["check_gravity"] = False
    with pytest.raises(InputError, match=r"slow.npz: toss 1: dt"):
        estimate(mapping)


def test_unknown_scene_entry_of_a_parameter_is_refused(files):
    mapping = estimation(files[0])
    mapping["parameters"]["friction"]["sets"] = {"table.cf": 1}
    with pytest.raises(InputError, match=r"table.cf"):
        estimate(mapping)


def test_a_toss_that_cannot_be_simulated_is_left_out_and_named(files, monkeypatch):
    from diffsim_ros.inverse.simulation_problem import SimulationProblem

    plain = SimulationProblem.rollouts

    class Failed:
        ok, status, message = False, "line_search_stalled", "step 3"

    def rollouts(self, z, y=None, **settings):
        runs = plain(self, z, y, **settings)
        return [
            Failed() if t.name == "toss 2" else r for t, r in zip(self.trials, runs, strict=True)
        ]

    monkeypatch.setattr(SimulationProblem, "rollouts", rollouts)
    result = estimate(estimation(files[0], fit={"iterations": 2}))
    assert result.metrics["train"]["ids"] == [1, 3, 4, 5, 6]
    assert any("not fitted" in n and "toss 2: line_search_stalled" in n for n in result.notes)
    assert all(math.isfinite(v) for v in result.values().values())
    assert Path(result.provenance["data"][0]["source"]).name == "train.npz"


def test_unsettled_derivatives_are_noted_and_change_nothing(files, monkeypatch):
    from diffsim_ros.inverse.settling_note import Unsettled
    from diffsim_ros.real2sim import estimate as module

    settings = {"fit": {"iterations": 2}, "simulation": {"steps_per_frame": 4}}
    plain = estimate(estimation(*files, **settings))
    said = Unsettled(0.7, ("friction",), "toss 3", None)
    many = Unsettled(0.7, tuple("abcdefg"), "", None)
    assert many.short == "derivatives by a, b, c, d, e and 2 more are not settled, see the notes"
    asked = []
    monkeypatch.setattr(module, "unsettled", lambda *a: asked.append(a) or said)
    noted = estimate(estimation(*files, **settings))
    assert noted.values() == plain.values()
    assert sum("friction are not settled: they change by up to 70" in n for n in noted.notes) == 1
    assert noted.message.endswith("derivatives by friction are not settled, see the notes")
    settings["fit"] = {"iterations": 2, "check_settling": False}
    assert not any("not settled" in n for n in estimate(estimation(*files, **settings)).notes)
    ((problem, z, _, rollouts, _),) = asked  # of the end of the fit, for a share of its rollouts
    assert list(problem.values(z)) == pytest.approx([plain.values()[n] for n in problem.names])
    assert rollouts >= 2 * len(problem.trials)


def test_tosses_of_two_files_with_one_id_have_different_titles(tmp_path):
    files = [str(tmp_path / f"{day}.npz") for day in ("monday", "Tuesday")]
    for k, file in enumerate(files):
        np.savez(file, **recorded(1, seed=k, noise=(1e-4, 1e-3), seconds=0.3))
    content = estimation(files[0], files[0])
    for role in content["data"].values():
        role["files"] = files
    quick = ["fit.iterations=1", "uncertainty.method=none"]
    result = estimate(load_estimation(content, set=quick))
    assert [p.name for p in result.predictions] == ["monday.npz: toss 1", "Tuesday.npz: toss 1"]
    shown = sections_of(result)
    named = [one["name"] for one in shown.motions()], [one.title for one in shown.single()]
    for titles in named:
        assert len({title.rpartition(":")[0] for title in titles}) == 2, titles
    alone = estimate(load_estimation(estimation(files[0]), set=quick))
    assert [p.name for p in alone.predictions] == ["toss 1"]
