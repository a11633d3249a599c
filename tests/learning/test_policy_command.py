"""`diffsim policy`: what it writes, and what it refuses."""

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.cli import main
from diffsim_ros.learning import load_environment
from diffsim_ros.learning.policy import Policy
from tests.learning.environments import PENDULUM
from tests.learning.test_policy import content, some_policy


def test_evaluate_writes_returns_and_says_where_it_was_learned(tmp_path, capsys):
    some_policy(load_environment(PENDULUM)).save(tmp_path / "policy.npz")
    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump(content(horizon=7)))
    run = ["policy", "evaluate", str(other), str(tmp_path / "policy.npz"), "--episodes", "3"]
    assert main([*run, "--out", str(tmp_path / "out")]) == 0
    found = yaml.safe_load((tmp_path / "out" / "result.yaml").read_text())
    assert found["lengths"] == [7, 7, 7] and len(set(found["returns"])) == 3
    assert not found["learned_here"]
    assert "not the one that it was learned in" in capsys.readouterr().out
    kept = [*run, "--resume", str(tmp_path / "kept")]
    for name in ("one", "two"):
        assert main([*kept, "--out", str(tmp_path / name)]) == 0
        again = yaml.safe_load((tmp_path / name / "result.yaml").read_text())
        assert again == found
    (file,) = (tmp_path / "kept").iterdir()
    assert len(file.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", str(PENDULUM)], "a policy file, behind the environment"),
        (["evaluate", str(PENDULUM), "none.npz"], "none.npz"),
        (["evaluate", str(PENDULUM), str(PENDULUM)], "a policy file of `diffsim policy train`"),
        (["train", str(PENDULUM), "policy.npz"], "none: it is learned"),
        (["train", str(PENDULUM), "--iterations", "0"], "--iterations: got 0"),
        (["evaluate", "none.yaml", "none.npz"], "none.yaml"),
        (["train", str(PENDULUM), "--resume", "kept"], "--resume: got 'kept'; accepted: absent"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, message, capsys):
    assert main(["policy", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_train_writes_a_policy_that_fits(tmp_path):
    pytest.importorskip("torch", reason="optional: pip install torch")
    short = tmp_path / "short.yaml"
    short.write_text(yaml.safe_dump(content(horizon=5)))
    run = ["policy", "train", str(short), "--iterations", "1", "--out", str(tmp_path)]
    assert main(run) == 0
    policy = Policy.load(tmp_path / "policy.npz")
    policy.check(load_environment(short))
    found = yaml.safe_load((tmp_path / "result.yaml").read_text())
    assert found["status"] == "trained" and found["actions"] == 64 * 16
    assert np.isfinite(found["best_return"]) and policy.digest == found["digest"]
