"""Other models that a verdict leads to: freed parameters, and the scene's other laws."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import yaml

from diffsim_ros.cli import main
from diffsim_ros.real2sim.alternatives import alternatives
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.model_choice import compare_models
from diffsim_ros.real2sim.results import Verdict
from tests.real2sim.synthetic import SCENE, estimation, recorded

NOISE = (5e-4, math.radians(0.3))
DAMPING = {"value": 20.0, "bounds": [1.0, 500.0], "scale": "log", "sets": {"table.k_d": 1}}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Four tosses onto a table whose damping is continuous, and an estimation with ramped one."""
    folder = tmp_path_factory.mktemp("tosses")
    np.savez(folder / "tosses.npz", **recorded(4, seed=3, noise=NOISE, seconds=0.3))
    content = estimation("tosses.npz", fit={"initial_state": "nuisance", "iterations": 12})
    scene = copy.deepcopy(SCENE)
    (table,) = scene["contact"]
    del table["c_n"]
    table |= {"damping": "ramped", "d_0": 2e-4, "k_d": 20.0}
    content |= {"scene": scene, "uncertainty": {"method": "covariance"}}
    content["parameters"]["damping"] = DAMPING
    content["parameters"]["stiffness"]["sets"]["table.k_d"] = 0.5
    content["fit"]["continuation"] = {"stiffness": [1000.0], "damping": [40.0]}
    path = folder / "estimation.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def advice(**towards):
    return Verdict("usable", "", (), {"free": towards})


def test_laws_and_freed_parameters_are_offered(file):
    found, left_out = alternatives(load_estimation(file), advice(**{"cube.mass": 0.41}))
    assert list(found) == [
        "cube.mass free", "continuous damping", "hybrid friction", "rolling friction",
    ] and left_out == ()  # fmt: skip
    free = found["cube.mass free"].parameters["cube.mass"]
    np.testing.assert_allclose([free.value, *free.bounds], [0.4, 0.3, 0.51])
    other = found["continuous damping"]
    table = other.scene["contact"][0]
    assert table["damping"] == "continuous" and table["c_n"] == 0.3
    assert "k_d" not in table and "d_0" not in table
    assert other.parameters["stiffness"].sets == {"table.k_n": 1}
    assert list(other.parameters["damping"].sets) == ["table.c_n"]
    assert dict(other.fit.continuation) == {"stiffness": [1000.0]}
    rolling = found["rolling friction"].parameters["rolling"].sets["table.c_roll"]
    assert rolling == {"factor": pytest.approx(0.1), "power": 1}
    back, _ = alternatives(other)
    ratio = back["ramped damping"].parameters["damping"].sets["table.k_d"]["factor"]
    assert ratio == pytest.approx(2 * math.sqrt(4000 * 0.4))


def test_bounds_stay_where_the_scene_can_be_built(file):
    found, _ = alternatives(load_estimation(file), advice(**{"cube.mass": 0.2, "table.c_n": 0.3}))
    low, high = found["cube.mass free"].parameters["cube.mass"].bounds
    assert 0 < low < 0.2 and high == pytest.approx(2.4)


def test_what_cannot_be_built_is_named(file):
    content = yaml.safe_load(file.read_text())
    content["scene"]["bodies"]["cube"]["contact_spheres"] = {"face_grid": {"radius": 0.0}}
    found, left_out = alternatives(load_estimation(content, base=file.parent))
    assert "rolling friction" not in found
    assert any(one.startswith("rolling friction cannot be tried:") for one in left_out)


def test_the_right_law_is_found(file):
    asked = load_estimation(file)
    others, _ = alternatives(asked)
    models = {"asked": asked, "continuous damping": others["continuous damping"]}
    found = compare_models(models, folds=2)
    assert found.best == "continuous damping" and found.criteria["asked"].aic > 100
    values = found.models[1].parameters()
    assert values["damping"]["value"] == pytest.approx(0.4, rel=0.03)
    assert values["friction"]["value"] == pytest.approx(0.3, rel=0.15)


@pytest.fixture(scope="module")
def tried(file, tmp_path_factory):
    """A run with --try: its arguments without --no-report, code, and folder."""
    out = tmp_path_factory.mktemp("tried") / "out"
    run = ["estimate", str(file), "--out", str(out), "--set", "fit.iterations=2",
           "fit.continuation={}", "fit.horizons=[12]", "data.train.trials=[3, 4]"]  # fmt: skip
    return run, main([*run, "--try"]), out


def test_the_command_tries_others_where_the_verdict_asks_for_it(tried):
    _, code, out = tried
    assert code in (0, 3)
    metrics = yaml.safe_load((out / "alternatives" / "metrics.json").read_text())
    assert {"synthetic", "continuous damping"} <= set(metrics["models"])
    again = load_estimation(out / "alternatives" / "continuous_damping.yaml")
    assert again.scene["contact"][0]["damping"] == "continuous"
    result = yaml.safe_load((out / "alternatives" / "result.yaml").read_text())
    assert "continuous_damping.yaml" in result["estimations"]


def test_what_an_earlier_run_tried_does_not_stay_beside_new_results(tried, capsys):
    """--force replaces the comparison too: by a new one, or by none."""
    given, _, out = tried
    run, folder = [*given, "--no-report"], out / "alternatives"
    assert main([*run, "--try"]) == 2 and "exists already" in capsys.readouterr().err
    (folder / "mine.yaml").write_text("a: 1")
    before = (folder / "metrics.json").read_text()
    fixed = [f"parameters.{name}.fixed=true" for name in ("stiffness", "friction")]
    assert main([*run, "--set", *fixed, "--force", "--try"]) in (0, 3)
    assert (folder / "metrics.json").read_text() != before and (folder / "mine.yaml").exists()
    assert main([*run, "--force"]) in (0, 3)
    assert [one.name for one in folder.iterdir()] == ["mine.yaml"]
    (folder / "mine.yaml").unlink()
    assert main([*run, "--force"]) in (0, 3) and not folder.exists()
    folder.mkdir()
    (folder / "result.yaml").write_text("command: simulate\n")
    assert main([*run, "--force", "--try"]) == 2
    assert "command: simulate" in capsys.readouterr().err
    assert main([*run, "--force"]) in (0, 3) and (folder / "result.yaml").exists()
