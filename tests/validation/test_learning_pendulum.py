"""The pendulums' setting, and a tenth of the study."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.learning import Batch
from validation import learning_pendulum
from validation.common import Executors
from validation.learning_pendulum import (
    OPTIONS,
    SPEED,
    STRENGTH,
    STRETCH,
    all_done,
    environment,
    height,
    study,
)


@pytest.mark.parametrize("n", [1, 4])
def test_upright_links_have_the_largest_height_and_motors_hold_them_out(n):
    config = environment(n)
    engine, p = config.scene.engine, config.scene.engine.values
    names = [f"rod_{i}.position" for i in range(n)]

    def heights(angle):
        at = engine.snapshot(joints={"hinge_0": [angle, 0]})
        return engine.outputs_at(at, p, names).reshape(n, 3)[:, 2].sum()

    assert heights(np.pi) == pytest.approx(n**2 / 2)
    assert heights(0) == pytest.approx(-(n**2) / 2)
    holding = (heights(np.pi / 2 + 1e-5) - heights(np.pi / 2 - 1e-5)) / 2e-5 * 9.81
    assert config.actions[0].high == pytest.approx(STRENGTH * holding, rel=1e-6)


def test_a_drive_has_no_torque_left_at_its_no_load_rate():
    """The torque at a rate is that at standstill less a line; an unloaded drive nears SPEED."""
    config = environment(1)
    batch = Batch(config, 1, seed=0)
    batch.reset()
    (rate,) = (k for k, term in enumerate(config.observation.terms) if term.name.endswith("rate"))
    rates = [5 * batch.step(np.ones((1, 1))).observation[0, rate] for _ in range(60)]
    # Gravity, at most T / STRENGTH, drives and brakes it as it turns.
    assert SPEED * (1 - 1 / STRENGTH) < min(rates[30:]) < SPEED < max(rates[30:])
    assert max(rates) < SPEED * (1 + 1 / STRENGTH)


def test_finished_trainings_are_not_done_again(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(learning_pendulum, "done", lambda task: calls.append(task) or {"best": 0.5})
    monkeypatch.setattr(Executors, "resume", tmp_path)
    task = ("gradients", 1, 0, 5.0)
    for _ in range(2):
        assert all_done([task], 2) == {task: {"best": 0.5}}
    assert calls == [task]


def test_the_return_is_the_height_over_the_last_second():
    config = environment(2, horizon=30)
    rest = height(lambda seen: np.zeros((len(seen), 2)), config, seed=0)
    assert -2 < rest < -1.7  # hanging, almost
    batch = Batch(config, 1, seed=0)
    assert batch.reset().shape == (1, 10)


def test_a_tenth_of_the_study_learns():
    pytest.importorskip("torch", reason="optional: pip install torch")
    figures = study(0.1)
    (run,) = figures["pendulums"]["1"]["gradients"]["runs"]
    first, best = run["history"][0][2], run["best"]
    assert best > first + 0.2 and run["failed_motions"] == 0
    assert run["actions"] == figures["iterations"] * OPTIONS["environments"] * STRETCH
