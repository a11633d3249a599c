"""Too coarse a time step is named as the cause, with how far it moves the parameters."""

from __future__ import annotations

import copy
import math
from functools import cache

import numpy as np
import pytest

from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.viz.estimation_page import rendered
from diffsim_ros.viz.pages import sections_of
from tests.real2sim.synthetic import SCENE, estimation, recorded

NOISE = (5e-4, math.radians(0.2))


def hard():
    scene = copy.deepcopy(SCENE)
    scene["contact"][0].update(k_n=60000.0, k_t=200.0)
    return scene


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """(steps per frame) -> result, of tosses that were simulated by steps of 0.1 ms."""
    path = tmp_path_factory.mktemp("tosses") / "tosses.npz"
    np.savez(path, **recorded(4, seed=2, noise=NOISE, seconds=0.45, scene=hard(),
                              steps_per_frame=100))  # fmt: skip

    @cache
    def of(steps, check=True):
        fit = {"initial_state": "nuisance", "horizons": [12, 25], "check_settling": False}
        sections = {
            "scene": hard(), "simulation": {"steps_per_frame": steps},
            "fit": fit | {"check_step": check},
            "uncertainty": {"method": "covariance", "halves": False},
        }  # fmt: skip
        content = estimation(str(path), None, **sections)
        content["measurement"] = {
            "start": "flight", "sigma_position": NOISE[0], "sigma_rotation": math.degrees(NOISE[1])
        }  # fmt: skip
        content["parameters"]["stiffness"] |= {"value": 7e4, "bounds": [6e3, 6e5]}
        return estimate(content)

    return of


def test_the_shift_that_is_told_is_that_of_a_fit_with_half_the_step(found):
    coarse, half = found(10), found(20)
    before, after = coarse.values(), half.values()
    step = coarse.metrics["step"]
    assert step["seconds"] == pytest.approx(1e-3)
    for p in coarse.parameters:
        told, moved = step["half"][p.name]["change"], after[p.name] - before[p.name]
        assert step["half"][p.name]["over_std_dev"] == pytest.approx(told / p.std_dev, rel=0.01)
        assert abs(told - moved) < 0.35 * abs(moved) + 1.0 * p.std_dev, p.name
    (worst, *_) = sorted(step["half"].values(), key=lambda one: -abs(one["over_std_dev"]))
    assert abs(worst["over_std_dev"]) > 5.0, "it matters"


def test_too_coarse_a_step_is_a_doubt_with_its_reason_and_advice(found):
    coarse, fine = found(10), found(80)
    assert coarse.verdict.grade != "good"
    assert "the time step of 0.001 s is too long: half of it would move " in coarse.verdict.reason
    assert coarse.verdict.advice[0].startswith("set simulation.steps_per_frame: 40 before")
    assert not any(one.startswith(("free", "try other laws")) for one in coarse.verdict.advice)
    assert any("half the time step would move it by" in p.note for p in coarse.parameters)
    assert coarse.document()["step"] == coarse.metrics["step"]
    page = rendered(sections_of(coarse), {}, None)
    assert "the time step of 0.001 s is too long" in page and "half of 0.001 s" in page
    assert fine.verdict.grade == "good", str(fine.verdict)
    truth = {"friction": 0.3, "stiffness": 60000.0, "damping": 0.4}
    off = {
        name: [abs(one.values()[name] - true) / p.std_dev
               for one in (coarse, fine) for p in one.parameters if p.name == name]
        for name, true in truth.items()
    }  # fmt: skip
    assert max(coarse for coarse, _ in off.values()) > 5.0, off
    assert max(fine for _, fine in off.values()) < 3.5, off


def test_nothing_is_simulated_where_it_is_not_asked_for(found):
    plain = found(10, False)
    assert "step" not in plain.metrics and "step" not in plain.document()
    assert not any(note.startswith("time step") for note in plain.notes)
