"""Standard deviations of few trials, and profiles, from the YAML to result.yaml."""

from __future__ import annotations

import math

import numpy as np
import pytest
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.output import yaml_text
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from tests.real2sim.synthetic import TRUTH, estimation, recorded


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> dict:
    """Three noisy tosses that slide, bootstrap over trials and one profile asked for."""
    path = tmp_path_factory.mktemp("tosses") / "tosses.npz"
    noise = (1e-3, math.radians(0.5))
    np.savez(path, **recorded(3, seed=5, noise=noise, seconds=0.3))
    others = path.with_name("others.npz")
    np.savez(others, **recorded(3, seed=6, noise=noise, seconds=0.15))
    return estimation(
        str(path),
        str(others),
        fit={"initial_state": "nuisance", "iterations": 15, "horizons": [15]},
        uncertainty={"method": "bootstrap", "profile": ["friction"], "bands": 2},
    )


@pytest.fixture(scope="module")
def done(content):
    reports = []
    return estimate(content, progress=reports.append, report=False), reports


def test_few_trials_take_the_residuals_own_noise(done):
    result, _ = done
    (note,) = [n for n in result.notes if n.startswith("std_dev")]
    assert "correlated over time" in note and "needs 5" in note
    for p in result.parameters:
        assert 0 < p.std_dev < 0.3 * p.value
        assert abs(p.value - TRUTH[p.name]) < 4 * p.std_dev, p


def test_a_profile_is_in_the_result(done):
    result, reports = done
    (found,) = result.profiles
    friction = next(p for p in result.parameters if p.name == "friction")
    assert found.low < friction.value < found.high
    width = (found.high - found.low) / friction.std_dev
    assert 2.5 < width < 6.0, "about two sigmas to either side"
    entry = yaml.safe_load(yaml_text(result.document()))["profiles"]["friction"]
    assert entry["interval"] == pytest.approx([found.low, found.high])
    assert len(entry["values"]) == len(entry["rise"]) >= 5 and min(entry["rise"]) == 0.0
    assert "profile" in {p.phase for p in reports}


def test_bands_of_tosses_that_were_not_fitted(done):
    result, _ = done
    bands = result.metrics["bands"]
    assert len(bands) == 2 and len(result.bands) == 2
    for one in result.bands:
        figures = bands[one.trial]["pose"]
        assert 0.8 < figures["inside"] <= 1.0, "noise of the sigmas given"
        assert 0.0 < figures["rms"] < 1.0, "the tosses that were fitted say more than one frame"
        assert len(one.t) == len(one.band.sigma) and one.t[0] > 0 and np.all(np.diff(one.t) > 0)


def test_only_estimated_parameters_have_profiles(content):
    wrong = {**content, "uncertainty": {"profile": ["frction"]}}
    with pytest.raises(InputError, match=r"uncertainty\.profile.*friction"):
        load_estimation(wrong)


@pytest.mark.parametrize("optimizer", ["lbfgs", "adam"])
def test_other_optimisers_can_be_chosen(content, optimizer):
    """From the metric's starts: both go down, and stay within the bounds."""
    fit = {"initial_state": "held", "loss": "squared", "optimizer": optimizer, "iterations": 25}
    changed = {**content, "fit": fit, "uncertainty": {"method": "none"}}
    result = estimate(changed, report=False)
    assert result.history[-1].objective < 0.9 * result.history[0].objective
    assert all(p.lower <= p.value <= p.upper for p in result.parameters)
