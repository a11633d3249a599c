"""Issue 4, item 2: what validation/soft_arm.py takes from recordings, and hands to the scene."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.markers.experiment import MarkerExperiment
from validation.soft_arm import CONFIG, DATA, FITTED, STEP, hold, release, timing


def test_venting_is_found_in_whole_steps():
    held = {file.stem: hold(file) for file in sorted(DATA.glob("step_*.csv"))}
    expected = {"100": 2.99, "200": 3.01, "300": 3.01, "400": 5.01}  # by eye
    assert held == {f"step_{p}mbar": pytest.approx(t, abs=0.04) for p, t in expected.items()}
    assert all(abs(t / STEP - round(t / STEP)) < 1e-9 for t in held.values())


def test_the_scene_vents_when_the_recording_does():
    held = hold(DATA / "step_400mbar.csv")
    config = load_estimation(CONFIG, set=timing(held))
    experiment = MarkerExperiment(config)
    bodies = experiment.model.scene.description["bodies"]
    for name, side in (("up", 1), ("down", -1)):
        keys = bodies[name]["keys"]
        z = side * (np.array(keys["positions"])[:, 2] - 0.002)
        pulled = np.flatnonzero(z > 6 - 1e-9) * keys["interval"]
        assert (pulled[0], pulled[-1]) == pytest.approx((0.04, held + 0.04))
        assert z[-1] == pytest.approx(4)
    (recording,) = experiment.read({}).train
    assert recording.name == FITTED
    problem = experiment.model.problem([recording], experiment.model.map.start)
    # positions alone
    assert [o.name for o in problem.trials[0].objectives] == ["markers"]


def test_figures_of_a_release():
    t = np.arange(0, 5, 0.01)
    later = np.maximum(t - 3.0, 0.0)
    swing = np.exp(-4 * later) * np.cos(2 * np.pi * 8 * later)
    x = np.zeros((len(t), 1, 3))
    x[:, 0, 0] = np.where(t < 3.0, -0.015, -0.015 * swing - 0.001 * np.exp(-later / 0.5))
    x[0] = 0
    other = x + np.array([0.0, 3e-4, 4e-4])
    found = release(
        SimpleNamespace(name="arm", markers=("tip1",), t=t, measured=x, simulated=other), 3.0
    )
    assert found["deflection_m"] == pytest.approx(0.015)
    assert found["tip_error_m"] == pytest.approx(5e-4)
    assert found["measured"]["frequency"] == pytest.approx(8, rel=0.01)
    assert found["measured"]["decay"] == pytest.approx(4, rel=0.05)
    assert found["frequency_error"] == pytest.approx(0, abs=1e-9)
