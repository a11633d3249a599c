"""The prototype of the cube under a relaxing contact, and parts of validation/cube_laws.py."""

from dataclasses import replace

import numpy as np
import pytest

from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.sensors.pose.experiment import PoseExperiment
from diffsim_ros.sensing.tosses import read_tosses
from validation.cube_laws import (
    FILE,
    FRAMES,
    SUBSTEPS,
    benchmark,
    cost,
    fitted,
    folds,
    pieces,
    starts_of,
)
from validation.cube_prototype import GRAVITY, HALF, MASS, SCALE, Law, simulate
from validation.cube_toss import configured

FLAT = [0, 0, 0.2, 0, 0, 0, 1, 0.5, 0, 0, 0, 0, 3.0]


def test_flight_is_exact_and_rest_is_where_the_springs_hold_the_weight():
    law = Law(inertia=0.0011)
    (flight,) = simulate(law, [FLAT], 20)
    t = np.arange(20) / 148
    np.testing.assert_allclose(flight[:, 0], 0.5 * t, atol=1e-12)
    np.testing.assert_allclose(flight[:, 2], 0.2 - 0.5 * GRAVITY / SCALE * t**2, atol=1e-9)
    np.testing.assert_allclose(2 * np.arctan2(flight[:, 5], flight[:, 6]), 3.0 * t, atol=1e-9)
    stiff = 2e4  # low enough to see how far they give way
    resting = [0, 0, HALF / SCALE, 0, 0, 0, 1, *[0] * 6]
    (rest,) = simulate(Law(stiffness=stiff), [resting], 25)
    sunk = MASS * GRAVITY / SCALE / (stiff / 2)
    assert rest[-1, 2] == pytest.approx(HALF / SCALE - sunk, abs=2e-6)


def test_a_relaxing_contact_is_stiff_at_first_and_gives_way_later():
    resting = [0, 0, HALF / SCALE, 0, 0, 0, 1, 0, 0, -0.3, 0, 0, 0]
    soft = Law(stiffness=2e4, damping_ratio=0.0)
    stiff = Law(stiffness=2.2e5, damping_ratio=0.0)
    relaxing = Law(stiffness=2e4, damping_ratio=0.0, relaxing=10.0, relaxation=5e-3)
    depth = {}
    for name, law in (("soft", soft), ("stiff", stiff), ("relaxing", relaxing)):
        z = simulate(law, [resting], 40)[0, :, 2]
        depth[name] = HALF / SCALE - z
    # the first frame: 1.4 tau after the touch; long after it all lie still
    assert depth["stiff"][1] < depth["relaxing"][1] < depth["soft"][1]
    assert depth["relaxing"][-1] == pytest.approx(MASS * GRAVITY / SCALE / 1e4, rel=0.05)


def test_without_memory_it_is_the_engine():
    trials = read_tosses(FILE, folds(0.03)[0])
    ids = [trial.id for trial in trials]
    config = load_estimation(configured(ids, ids))
    experiment, notes = PoseExperiment(config), []
    values = dict(
        friction=0.1656, friction_unloaded=0.2191, normal_stiffness=97600.0, damping_ratio=1.693,
        tangential_time=0.001885, corner_radius=0.00062, inertia=0.001094, length_scale=1.02,
    )  # fmt: skip
    z = experiment.model.map.scaled({name: values[name] for name in experiment.model.map.names})
    found, _ = experiment.predicted(experiment.role(None, config.validate, notes), z, "validate")
    start, _ = starts_of(trials)
    ours = simulate(Law(), start, FRAMES)
    for one, theirs in zip(ours, found, strict=True):
        error = np.abs(one[:, :3] - theirs.simulated[:FRAMES, 0, :3]).max()
        assert error < 5e-4, f"toss {theirs.id}"


def test_a_fit_to_pieces_finds_the_law_that_made_them():
    trials = read_tosses(FILE, folds(0.03)[0][:2])
    of = pieces(trials)
    assert of.first.sum() == len(trials) and of.there[:, 0].all()
    truth = Law(friction=0.2)
    found = simulate(truth, of.start, FRAMES, substeps=SUBSTEPS)
    made = replace(of, measured=found)
    assert fitted(Law(), ("friction",), made, 5).friction == pytest.approx(0.2, rel=0.02)
    assert cost(truth, made).max() < 1e-4 < cost(Law(), made).max()


def test_the_benchmark_is_zero_for_what_was_measured():
    _, measured = starts_of(read_tosses(FILE, folds(0.03)[2][:2]))
    frames = max(len(m) for m in measured)
    padded = np.array(
        [np.concatenate([m, np.repeat(m[-1:], frames - len(m), 0)]) for m in measured]
    )
    np.testing.assert_allclose(benchmark(padded, measured), 0, atol=1e-9)
