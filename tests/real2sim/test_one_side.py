"""Answers with one side: friction of a body that sticks is known from below alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from diffsim_ros.commands.estimate import summary
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.viz import report_tables
from tests.real2sim.synthetic import SCENE, estimation, recorded

NOISE = (5e-4, 2e-3)
FRICTION = 0.8


def dropped(rng):
    """A cube that lands flat and hardly slides."""
    return {
        "position": [0.0, 0.0, 0.13], "rotation": [0.0, 0.0, rng.uniform(-0.5, 0.5)],
        "velocity": [rng.uniform(0.2, 0.3), rng.uniform(-0.1, 0.1), -0.3],
        "angular_velocity": [0.0, 0.0, 0.0],
    }  # fmt: skip


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    scene = copy.deepcopy(SCENE)
    scene["contact"][0]["c_f"] = FRICTION
    path = tmp_path_factory.mktemp("sticks") / "tosses.npz"
    np.savez(path, **recorded(4, 0, NOISE, 0.3, scene, dropped))
    content = estimation(str(path), fit={"initial_state": "nuisance", "horizons": [15]})
    content["parameters"]["friction"] |= {"value": 0.5, "bounds": [0.02, 2.0]}
    content["uncertainty"] = {"method": "covariance", "halves": False}
    return estimate(content, report=False)


def test_friction_of_a_body_that_sticks_is_known_from_below(result):
    found = {p.name: p for p in result.parameters}
    bound = found["friction"].bound
    assert bound is not None and bound.side == "lower" and bound.level == 0.95
    # it stops 0.25 m/s within an impact of about 1.5 m/s
    assert 0.05 < bound.value < FRICTION
    assert found["friction"].note.startswith(f"at least {bound.value:.2g} (95 %)")
    # any value up to its upper bound is as good: no doubt about the model
    assert result.verdict.grade == "good", result.verdict
    assert found["stiffness"].bound is None and found["damping"].bound is None


def test_result_and_console_say_so(result):
    entry = result.document()["parameters"]["friction"]
    assert entry["bound"] == {"side": "lower", "value": entry["bound"]["value"], "level": 0.95}
    assert "bound" not in result.document()["parameters"]["stiffness"]
    assert "at least" in summary(result)
    rows, held = report_tables.parameter_rows(result)
    table = {row["name"]: row["verdict"] for row in report_tables.parameter_table(rows, held)}
    assert table == {"friction": "one side", "stiffness": "identified", "damping": "identified"}
    (warning,) = report_tables.warnings(result, rows)
    assert warning.startswith("friction is known from one side only: at least 0.")
