"""The Ant here and in MuJoCo, and a small part of the study."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
pytest.importorskip("mujoco", reason="optional: pip install mujoco")

from validation.learning_ant import environment, match, seen, study, turn_of


@pytest.fixture(scope="module")
def config():
    return environment()


def test_the_same_torques_move_it_alike_here_and_in_mujoco(config):
    found = match(config, 12, seed=3)
    start, quarter, half = found["position_m"]
    assert start < 0.05 and quarter < 0.2 and half < 0.5
    assert max(found["joints_rad"]) < 0.2


def test_it_sees_here_what_gymnasium_shows(config):
    """Axes and angular velocity of the torso as the engine has them at MuJoCo's state."""
    from diffsim_ros.learning import Batch
    from validation.learning_ant import start_at

    rng = np.random.default_rng(1)
    qpos, qvel = rng.normal(size=15), rng.normal(size=14)
    qpos[3:7] /= np.linalg.norm(qpos[3:7])
    qpos[7:] *= 0.1
    batch = Batch(config, 1)
    start_at(batch, qpos, qvel)
    numbers = config.scene.engine.outputs_at(batch.snapshots[0], batch.P[0], list(config.outputs))
    y = np.zeros((1, config.numbers + len(config.actions)))
    y[0, : config.numbers] = numbers
    given = np.concatenate([qpos[2:], qvel])
    assert seen(given) == pytest.approx(config.observation.values(y)[0], abs=1e-9)
    flipped = given.copy()
    flipped[1:5] *= -1  # the same pose
    assert seen(flipped) == pytest.approx(seen(given))
    assert np.linalg.det(turn_of(given[1:5])) == pytest.approx(1)


def test_a_small_part_of_the_study():
    pytest.importorskip("torch", reason="optional: pip install torch")
    pytest.importorskip("gymnasium", reason="optional: pip install gymnasium")
    figures = study(0.1)
    (run,) = figures["trained"]["runs"]
    assert run["actions"] == 4 * 8 * 4 and run["skipped_updates"] == 0
    assert 1 <= run["in_mujoco"]["mean_length"] <= 1000
    assert figures["match"]["cases"] == 6
