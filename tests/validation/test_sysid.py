"""The head to head with MuJoCo's toolbox: both see the same problem, and the truth is the log's."""

import numpy as np
import pytest

from validation import sysid_arm, sysid_tosses

pytest.importorskip("colorama")  # of mujoco[sysid]
pytest.importorskip("urchin")
sysid = pytest.importorskip("mujoco.sysid")


def cost(theirs, params):
    """Their objective over the training trials."""
    function = sysid.build_residual_fn(
        models_sequences=theirs.groups(theirs.data.train),
        modify_residual=theirs.transform(params).apply,
        n_threads=1,
    )
    rest, _, _ = function(params.as_vector(), params)
    return 0.5 * sum(float(np.sum(r * r)) for r in rest)


def test_both_have_the_same_problem_of_the_arm():
    """The same cost at the first guess, but for each simulator's own errors; and at the truth."""
    theirs = sysid_arm.Theirs(1e-4)
    model, params = theirs.model, theirs.parameters()
    problem = model.problem(theirs.data.train, model.map.start)
    assert params.size == len(problem.names)
    first = problem.evaluate(model.map.start).value
    # they leave the last 30 ms of each trial out, the longest delay that may be
    assert cost(theirs, params) == pytest.approx(first, rel=0.05)
    assert sysid_arm.ours_at_truth() < 1.05
    assert theirs.at_truth() < 1.1


def test_intervals_are_compared_with_the_truth():
    known = sysid_arm.truth()
    found = sysid_arm.evaluated(
        {"delay": (known["delay"] + 1e-3, 1e-3), "payload.mass": (2 * known["payload.mass"], 0.1),
         "unknown": (1.0, 1.0), "elbow_bias": (0.8, None)}
    )  # fmt: skip
    assert found["intervals_with_truth"] == [1, 2]
    assert found["parameters"]["payload.mass"]["off_sigmas"] == pytest.approx(18.0)


def test_both_have_the_same_problem_of_the_tosses():
    """Their residual is our objective: a toss that is predicted exactly costs nothing."""
    description = sysid_tosses.content(2, 1)
    config = sysid_tosses.load_estimation(description)
    trials = config.train.read(config.body, (1e-3, 1e-2))
    theirs = sysid_tosses.Theirs(description, trials, trials)
    _, control, measured = theirs.sequence(trials[0])
    rows = np.round(measured.times[1:] / (theirs.dt / theirs.spf)).astype(int) - 1
    data = np.zeros((len(control.times), 7))
    data[rows] = measured.data[1:]
    exact = sysid.TimeSeries(control.times, data)
    r, *_ = theirs.residual(None, exact, measured, None, False)
    assert np.abs(r).max() < 1e-7
    off = data.copy()
    off[rows, 0] += 0.01
    r, *_ = theirs.residual(None, sysid.TimeSeries(control.times, off), measured, None, False)
    e_q = len(rows) / (len(rows) + 1) * 0.01**2 * config.fit.position_weight / 0.0524
    assert float(np.sum(r * r)) == pytest.approx(2 * 0.01 * (np.sqrt(1 + e_q / 0.01) - 1), rel=1e-6)
