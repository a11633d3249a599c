"""Policy files: written whole, read strictly, refused where they do not fit."""

import importlib.util
import json
from functools import partial

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.executors import InProcess, Processes, SideBySide, executor_of
from diffsim_ros.learning import load_environment
from diffsim_ros.learning.policy import Policy, evaluate
from tests.learning.environments import PENDULUM


def content(**changes):
    return yaml.safe_load(PENDULUM.read_text()) | changes


def some_policy(config, seed=0):
    rng = np.random.default_rng(seed)
    return Policy(
        (rng.normal(size=(5, 3)), rng.normal(size=(1, 5))),
        (rng.normal(size=5), rng.normal(size=1)),
        rng.normal(size=3), np.ones(3), "elu", config.interface(), config.digest(),
        {"method": "none"},
    )  # fmt: skip


def test_a_policy_comes_back_from_its_file_and_does_the_same(tmp_path):
    config = load_environment(PENDULUM)
    policy = some_policy(config)
    policy.save(tmp_path / "policy.npz")
    back = Policy.load(tmp_path / "policy.npz")
    back.check(config)
    seen = np.random.default_rng(1).normal(size=(4, 3))
    assert np.array_equal(policy(seen), back(seen))
    assert back.digest == config.digest() and back.note == {"method": "none"}
    with pytest.raises(FileExistsError):
        policy.save(tmp_path / "policy.npz")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observation": ["hinge.rate"]}, r"observation\[0\]: got .*sin hinge.coordinate"),
        ({"observation": [{"of": "hinge.coordinate", "as": "sin_cos"}]}, "observation: got 3"),
        ({"action": {"torque": {"motor": "motor", "bounds": [-3, 3]}}}, r"action\[0\]: got"),
        ({"steps": 2}, "period: got 0.04"),
    ],
)
def test_a_policy_of_another_environment_is_refused(changes, message):
    policy = some_policy(load_environment(PENDULUM))
    with pytest.raises(InputError, match=message):
        policy.check(load_environment(content(**changes)))


def test_another_reward_is_another_digest_but_still_fits():
    policy = some_policy(load_environment(PENDULUM))
    other = load_environment(content(reward={"still": {"of": "hinge.rate", "as": "square"}}))
    policy.check(other)
    assert policy.digest != other.digest()


def broken(config, **changes):
    """Arrays of a file, some replaced or (None) left out."""
    policy = some_policy(config)
    about = {"version": 1, "activation": "elu", "interface": policy.interface,
             "digest": policy.digest, "note": {}}  # fmt: skip
    arrays = {
        "about": np.array(json.dumps(about | changes.pop("about", {}))),
        "mean": policy.mean, "scale": policy.scale,
        "weight_0": policy.weights[0], "bias_0": policy.biases[0],
        "weight_1": policy.weights[1], "bias_1": policy.biases[1],
    }  # fmt: skip
    return {key: value for key, value in (arrays | changes).items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mean": None}, "mean: got 'no such array'"),
        ({"bias_1": None}, "bias_1: got 'no such array'"),
        ({"weight_1": None}, "3 inputs and 5 outputs"),
        ({"weight_0": np.zeros((5, 4))}, r"weight_0: got \(5, 4\)"),
        ({"bias_0": np.full(5, np.nan)}, "bias_0: .*finite"),
        ({"about": {"activation": "sine"}}, "about: got"),
        ({"about": {"version": 7}}, "description of version 1"),
        ({"about": {"interface": {"observation": [[1, 2, 3]]}}}, "about: got"),
    ],
)
def test_damaged_files_are_refused(tmp_path, changes, message):
    config = load_environment(PENDULUM)
    np.savez(tmp_path / "policy.npz", **broken(config, **changes))
    with pytest.raises(InputError, match=message):
        Policy.load(tmp_path / "policy.npz")


def test_evaluation_runs_every_episode_once():
    hanging = {"joints": {"hinge": {"spread": 0.1}}}
    ends = [{"of": "hinge.rate", "above": 1.0}]
    config = load_environment(content(horizon=6, ends=ends, reset=hanging))
    push = evaluate(lambda seen: np.ones((len(seen), 1)), config, 5, seed=2)
    rest = evaluate(lambda seen: np.zeros((len(seen), 1)), config, 5, seed=2)
    assert (rest.lengths == 6).all() and (push.lengths <= 6).all()
    assert push.returns == pytest.approx(push.rewards.sum(1))
    for rewards, length in zip(push.rewards, push.lengths, strict=True):
        assert not rewards[length:].any() and rewards[:length].all()
    assert push.failures == 0


def test_blocks_of_episodes_are_the_same_whoever_does_them(tmp_path, monkeypatch):
    monkeypatch.setattr("diffsim_ros.learning.policy.BLOCK", 4)
    config = load_environment(content(horizon=5))
    policy, token = some_policy(config), _engine.CancelToken()
    expected = evaluate(policy, config, 10, seed=3)
    assert len(set(expected.returns)) == 10 and expected.y.shape[:2] == (10, 5)
    seen = []
    for side in (SideBySide(InProcess(2), tmp_path), SideBySide(None, tmp_path)):
        found = evaluate(policy, config, 10, seed=3, side=side, progress=lambda *n: seen.append(n))
        for name in ("returns", "lengths", "rewards", "y"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    (kept,) = tmp_path.iterdir()
    assert len(kept.read_text().splitlines()) == 1 + 3 and (3, 3) in seen
    figures = evaluate(policy, config, 10, seed=3, motions=False)
    assert np.array_equal(figures.returns, expected.returns) and not figures.rewards.size
    stop = partial(evaluate, policy, config, 10, seed=3, cancel=token)
    half = stop(progress=lambda done, count: token.cancel())
    assert np.array_equal(half.returns, expected.returns[:4])
    with pytest.raises(NotConverged, match="stopped before any episode"):
        stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_and_processes_run_the_same_episodes():
    config = load_environment(content(horizon=5))
    policy = some_policy(config)
    expected = evaluate(policy, config, 70, seed=3)
    executors = [lambda: Processes(1)]
    if importlib.util.find_spec("ray") is not None:
        executors.append(lambda: executor_of("local", 2))
    for made in executors:
        with made() as executor:
            found = evaluate(policy, config, 70, seed=3, side=SideBySide(executor))
        assert np.array_equal(found.returns, expected.returns)
        assert np.array_equal(found.y, expected.y)
