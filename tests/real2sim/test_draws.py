"""Parameters of a scene, drawn as a result.yaml leaves them."""

import copy

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.output import write_yaml
from diffsim_ros.real2sim.draws import drawn
from diffsim_ros.scene.model import load_scene
from tests.real2sim.synthetic import SCENE, estimation

RESULT = {
    "parameters": {
        "friction": {"value": 0.3, "std_dev": 0.03, "unit": "1", "bounds": [0.05, 1.0]},
        "stiffness": {"value": 4000.0, "std_dev": 800.0, "unit": "N/m", "bounds": [500.0, 5e4]},
        "damping": {"value": 0.4, "std_dev": None, "unit": "s/m", "bounds": [0.01, 5.0]},
    },
    "correlation": {
        "friction": {"friction": 1.0, "stiffness": -0.8},
        "stiffness": {"friction": -0.8, "stiffness": 1.0},
    },
    "config": {"parameters": estimation("none.npz")["parameters"]},
}


def draw(folder, content, count=4000):
    write_yaml(folder / "result.yaml", content)
    engine = load_scene(SCENE).engine
    rows = drawn(folder / "result.yaml", engine, count, np.random.default_rng(0))
    return rows, {n: rows[:, engine.index(f"table.{n}")] for n in ("c_f", "k_n", "c_n")}, engine


def test_draws_have_the_estimates_values_deviations_and_correlation(tmp_path):
    rows, p, engine = draw(tmp_path, RESULT)
    log = {n: np.log(p[n]) for n in ("c_f", "k_n")}
    assert log["c_f"].mean() == pytest.approx(np.log(0.3), abs=0.01)
    assert log["c_f"].std() == pytest.approx(0.1, rel=0.05)
    assert log["k_n"].std() == pytest.approx(0.2, rel=0.05)
    assert np.corrcoef(log["c_f"], log["k_n"])[0, 1] == pytest.approx(-0.8, abs=0.03)
    np.testing.assert_allclose(p["c_n"], 0.4)  # has no deviation
    others = np.delete(np.arange(rows.shape[1]), [engine.index(f"table.{n}") for n in p])
    assert (rows[:, others] == engine.values[others]).all()


def test_draws_stay_within_bounds(tmp_path):
    content = copy.deepcopy(RESULT)
    content["parameters"]["friction"] |= {"std_dev": 0.3, "bounds": [0.25, 0.35]}
    _, p, _ = draw(tmp_path, content)
    assert p["c_f"].min() == pytest.approx(0.25) and p["c_f"].max() == pytest.approx(0.35)


def test_a_parameter_without_sets_is_the_scenes_own_and_groups_keep_their_values(tmp_path):
    content = copy.deepcopy(RESULT)
    names = {"friction": "table.c_f", "stiffness": "stiffness", "damping": "damping"}
    for part in (content["parameters"], content["config"]["parameters"], content["correlation"]):
        part[names["friction"]] = part.pop("friction")
    for row in content["correlation"].values():
        row[names["friction"]] = row.pop("friction")
    del content["config"]["parameters"]["table.c_f"]["sets"]
    mass = {"value": 1.0, "std_dev": 0.1, "unit": "kg", "bounds": [0.0, None]}
    content["parameters"]["cube.mass"] = mass  # of a group of inertias: not in config.parameters
    rows, p, engine = draw(tmp_path, content)
    assert np.log(p["c_f"]).std() == pytest.approx(0.1, rel=0.05)
    assert (rows[:, engine.index("cube.mass")] == engine.values[engine.index("cube.mass")]).all()


@pytest.mark.parametrize("missing", ["parameters", "config"])
def test_what_is_no_result_is_refused(tmp_path, missing):
    content = {k: v for k, v in RESULT.items() if k != missing}
    with pytest.raises(InputError, match=r"result\.yaml of diffsim estimate"):
        draw(tmp_path, content)


def test_a_result_of_another_scene_names_the_parameter(tmp_path):
    content = copy.deepcopy(RESULT)
    content["config"]["parameters"]["friction"]["sets"] = {"floor.c_f": 1}
    with pytest.raises(InputError, match=r"floor\.c_f"):
        draw(tmp_path, content)
