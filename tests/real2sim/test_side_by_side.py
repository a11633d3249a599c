"""Parts of an estimation by executors: the digits of one after the other, whoever does them."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros import _engine
from diffsim_ros.cli import main
from diffsim_ros.executors import InProcess, Processes, executor_of
from diffsim_ros.executors.fingerprint import fingerprint
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.experiment import experiment_of
from diffsim_ros.real2sim.model_choice import compare_models
from diffsim_ros.real2sim.options import KINDS
from tests.real2sim.synthetic import estimation, recorded

ROOT = Path(__file__).resolve().parents[2]
NOISE = (1e-3, math.radians(0.5))
STARTS = {
    "fit": {
        "initial_state": "nuisance", "iterations": 4, "horizons": [12], "starts": 3,
        "continuation": {"stiffness": [3000.0]}, "check_settling": False,
    },
    "uncertainty": {"method": "covariance", "profile": ["friction", "damping"], "halves": False},
}  # fmt: skip
SEARCH = {
    "fit": {"initial_state": "held", "iterations": 2, "horizons": [12], "search_evaluations": 48},
    "uncertainty": {"samples": 10, "halves": False},
}
HALVES = {
    "fit": {"initial_state": "nuisance", "iterations": 5, "horizons": [12]},
    "uncertainty": {"method": "covariance"},
}
CASES = {"starts": STARTS, "search": SEARCH, "halves": HALVES}


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("tosses") / "tosses.npz"
    np.savez(path, **recorded(4, seed=3, noise=NOISE, seconds=0.3))
    return str(path)


@pytest.fixture(scope="module")
def alone(file) -> dict:
    """Every case, one part after the other."""
    return {name: digits(estimate(estimation(file, **case))) for name, case in CASES.items()}


def digits(result) -> str:
    """All that was found, but the time that it took."""
    metrics = {key: value for key, value in result.metrics.items() if key != "timing"}
    found = [
        [asdict(p) for p in result.parameters], [asdict(step) for step in result.history],
        [p.document() for p in result.profiles], metrics, result.notes, result.message,
    ]  # fmt: skip
    return json.dumps(found, default=str)


def lines(folder) -> int:
    """Parts that a folder keeps."""
    return sum(len(one.read_text().splitlines()) - 1 for one in folder.iterdir())


@pytest.mark.parametrize("name", CASES)
def test_threads_and_a_folder_give_the_digits_of_one_after_the_other(file, alone, tmp_path, name):
    config = load_estimation(estimation(file, **CASES[name]))
    assert digits(estimate(config, executor=InProcess(2), folder=tmp_path)) == alone[name]
    count = lines(tmp_path)
    assert count == {"starts": 3 + 2 + 2, "search": 1 + 48, "halves": 1 + 2}[name]
    assert digits(estimate(config, folder=tmp_path)) == alone[name]
    assert lines(tmp_path) == count  # nothing was done again


def test_processes_give_them_too(file, alone):
    config = load_estimation(estimation(file, **HALVES))
    assert digits(estimate(config, executor=Processes(1))) == alone["halves"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_gives_them_too(file, alone):
    pytest.importorskip("ray")
    models = compared(file)
    expected = figures(compare_models(models, folds=2))
    with executor_of("local", 2) as executor:
        for name, case in CASES.items():
            assert digits(estimate(estimation(file, **case), executor=executor)) == alone[name]
        assert figures(compare_models(models, folds=2, executor=executor)) == expected


def test_a_stopped_fit_goes_on_from_its_folder(file, alone, tmp_path):
    config, token = load_estimation(estimation(file, **STARTS)), _engine.CancelToken()

    def stop(progress):
        if len(list(tmp_path.iterdir())) and lines(tmp_path) == 2:
            token.cancel()

    stopped = estimate(config, folder=tmp_path, progress=stop, cancel=token)
    assert stopped.status == "cancelled" and lines(tmp_path) == 2
    assert digits(estimate(config, executor=InProcess(2), folder=tmp_path)) == alone["starts"]
    assert lines(tmp_path) == 7


def test_a_fit_that_is_stopped_before_any_part_is_done_is_the_first_guess(file):
    config, token = load_estimation(estimation(file, **STARTS)), _engine.CancelToken()
    token.cancel()
    found = estimate(config, executor=InProcess(2), cancel=token)
    assert found.status == "cancelled"
    for p in found.parameters:
        assert p.value == pytest.approx(p.start)


def compared(file) -> dict:
    """The right law and hardly any friction, as plain fits and one of several starts."""
    right = estimation(file, **HALVES)
    slippery = estimation(file, **HALVES)
    slippery["parameters"]["friction"] |= {"value": 0.06, "fixed": True}
    starts = estimation(file, **{**HALVES, "fit": {**HALVES["fit"], "starts": 2}})
    models = {"right": right, "slippery": slippery, "starts": starts}
    return {name: load_estimation(content) for name, content in models.items()}


def figures(found) -> str:
    return json.dumps([found.document(), found.metrics(), found.notes], default=str)


def test_models_are_compared_alike_by_every_executor(file, tmp_path):
    models, reports = compared(file), []
    expected = figures(compare_models(models, folds=2))
    found = compare_models(
        models, folds=2, executor=InProcess(2), folder=tmp_path, progress=reports.append
    )
    assert figures(found) == expected
    shares = [p.fraction_done for p in reports]
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1.0)
    count = lines(tmp_path)
    assert count == 2 + 2 + 3 * 2  # whole fits, one of them in parts, and folds
    assert figures(compare_models(models, folds=2, folder=tmp_path)) == expected
    assert lines(tmp_path) == count


def test_the_commands_take_executors(file, tmp_path, capsys):
    path, kept = tmp_path / "tosses.yaml", tmp_path / "kept"
    path.write_text(yaml.safe_dump(estimation(file, **HALVES)))
    run = ["estimate", str(path), "--no-report", "--resume", str(kept)]
    assert main([*run, "--out", str(tmp_path / "one")]) in (0, 3)
    count = lines(kept)
    assert count == 3
    assert main([*run, "--out", str(tmp_path / "two")]) in (0, 3)
    assert lines(kept) == count
    one, two = (yaml.safe_load((tmp_path / n / "result.yaml").read_text()) for n in ("one", "two"))
    assert one["parameters"] == two["parameters"]
    for command in ("estimate", "compare"):
        assert main([command, str(path), "--ray", "nowhere"]) == 2
        assert "HOST:PORT" in capsys.readouterr().err


def test_models_of_every_kind_can_be_sent():
    kinds = set()
    for path in sorted((ROOT / "config" / "estimation").glob("*.yaml")):
        config = load_estimation(path)
        model = experiment_of(config).model
        sent = pickle.loads(pickle.dumps(model))
        assert fingerprint(sent) == fingerprint(model), path.name
        z = np.clip(model.map.start, model.map.lower, model.map.upper)
        np.testing.assert_array_equal(
            sent.map.engine(z, sent.scene.engine.values),
            model.map.engine(z, model.scene.engine.values),
        )
        kinds.add(config.kind)
    assert set(KINDS) - kinds == {"efforts", "sensors"}  # without a scene; not shipped
