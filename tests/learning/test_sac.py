"""SAC of Stable-Baselines3 in environments of the engine."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
pytest.importorskip("stable_baselines3", reason="optional: pip install stable-baselines3")

from diffsim_ros.learning import load_environment
from diffsim_ros.learning.sac import SacEnvironments, train_sac
from tests.learning.environments import PENDULUM, pushed_block


def test_an_episode_ends_within_its_last_step():
    environments = SacEnvironments(load_environment(pushed_block(horizon=3)), 2, seed=0)
    environments.reset()
    for k in range(1, 7):
        seen, _, ended, infos = environments.step(np.zeros((2, 2)))
        assert ended.all() == (k % 3 == 0)
        if k % 3 == 0:
            assert all(info["TimeLimit.truncated"] for info in infos)
            assert not np.array_equal(infos[0]["terminal_observation"], seen[0])
    assert environments.episodes == 4


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sac_trains_for_as_long_as_it_is_told():
    scores = []

    def score(policy):
        scores.append(float(policy(np.zeros((3, 3))).sum()))
        return scores[-1]

    figures = train_sac(
        load_environment(PENDULUM), seed=1, cpu_seconds=0.5, score=score, environments=2,
        learning_starts=10, batch_size=16,
    )  # fmt: skip
    assert figures["best"] == pytest.approx(max(scores), abs=1e-4)
    assert figures["actions"] > 20 and figures["cpu_seconds"] < 20
