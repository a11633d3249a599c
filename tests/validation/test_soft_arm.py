"""What validation/soft_arm.py takes from recordings, and hands to the scene."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.sensors.marker.experiment import MarkerExperiment
from validation.soft_arm import (
    AWAY,
    CONFIG,
    DATA,
    FITTED,
    KEY,
    LOADING,
    SPAN,
    STEP,
    VALVE,
    opening,
    release,
    step_of,
    vented,
    whole,
)


def test_venting_is_found_in_whole_steps():
    held = {file.stem: step_of(file).held for file in sorted(DATA.glob("step_*.csv"))}
    expected = {"100": 2.99, "200": 3.01, "300": 3.01, "400": 5.01}  # by eye
    assert held == {f"step_{p}mbar": pytest.approx(t, abs=0.04) for p, t in expected.items()}
    assert all(abs(t / STEP - round(t / STEP)) < 1e-9 for t in held.values())


def pulled(config):
    """Times and shares of the springs' pull, by the keys of the handles as the scene has them."""
    bodies = MarkerExperiment(config).model.scene.description["bodies"]
    keys = [bodies[name]["keys"] for name in ("up", "down")]
    z = [side * (np.array(k["positions"])[:, 2] - 0.002) / AWAY
         for k, side in zip(keys, (1, -1), strict=True)]  # fmt: skip
    np.testing.assert_allclose(*z, atol=1e-9)
    return np.arange(len(z[0])) * keys[0]["interval"], z[0]


@pytest.mark.parametrize("name", [None, "step_400mbar"])
def test_the_valve_opens_as_long_as_an_orifice_takes(name):
    """Of the YAML itself, and of another pressure; its parameters are the keys of those times."""
    key = opening(DATA / f"{name}.csv") if name else KEY
    assert name is None or key == pytest.approx(KEY * np.sqrt(4 / 3), abs=STEP / 2)
    config = load_estimation(CONFIG, set=vented(DATA / f"{name}.csv") if name else [])
    t, share = pulled(config)
    shares = [1.0, *VALVE.values(), 0.0]
    np.testing.assert_allclose(np.interp(LOADING + key * np.arange(5), t, share), shares, atol=1e-9)
    for k, left in enumerate(VALVE, 1):
        (up, down) = config.parameters[left].sets
        row = int(up.split("[")[1].split("]")[0])
        assert down == f"down.position[{row}].z" and t[row] == pytest.approx(LOADING + k * key)


def test_the_release_is_looked_for_where_the_arm_is_held():
    file = DATA / f"{FITTED}.csv"
    step = step_of(file)
    experiment = MarkerExperiment(load_estimation(CONFIG, set=vented(file)))
    (recording,) = experiment.read({}).train
    assert recording.released == pytest.approx(step.start + step.held, abs=0.03)
    bent = np.linalg.norm(recording.held - recording.rest, axis=1)
    assert bent[4] == pytest.approx(0.0158, abs=3e-4) and bent[:4].max() < 5e-4
    problem = experiment.model.problem([recording], experiment.model.map.start)
    (track,) = problem.trials[0].objectives  # positions alone
    base = np.array([name.startswith("base") for name in experiment.model.names])
    assert (track.weight[:, base] == 0).all() and (track.weight[:, ~base] > 0).all()
    assert track.t[0] == pytest.approx(LOADING - 0.04, abs=0.03)
    assert track.t[-1] - track.t[0] == pytest.approx(SPAN + 0.1, abs=0.02)
    run = problem.rollouts(problem.start)[0]
    drawn = experiment.model.markers_at(recording, run, np.array([0.1, LOADING]))
    assert (
        np.ptp(drawn[:, base], axis=0).max() == 0 and np.ptp(drawn[:, ~base], axis=0).max() > 5e-3
    )
    swings = load_estimation(CONFIG, set=["measurement.still=[tip1]"])
    with pytest.raises(InputError, match=r"measurement\.still: got 'tip1'"):
        MarkerExperiment(swings)
    late = load_estimation(CONFIG, set=["measurement.release_after=30"])
    with pytest.raises(InputError, match=r"release_after: got 30.0; .*the recording ends at"):
        MarkerExperiment(late).read({})


def test_the_whole_record_begins_with_its_pressure():
    file = DATA / f"{FITTED}.csv"
    experiment = MarkerExperiment(load_estimation(CONFIG, set=whole(file)))
    (recording,) = experiment.read({}).train
    assert recording.released == pytest.approx(step_of(file).start)
    np.testing.assert_array_equal(recording.held, recording.rest)


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
