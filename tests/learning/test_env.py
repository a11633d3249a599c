"""Environments as Gymnasium knows them."""

import warnings

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
pytest.importorskip("gymnasium", reason="optional: pip install gymnasium")

from gymnasium.utils.env_checker import check_env

from diffsim_ros.learning import load_environment
from diffsim_ros.learning.env import SceneEnv, SceneVectorEnv
from tests.learning.environments import PENDULUM, pushed_block


@pytest.mark.parametrize("source", [PENDULUM, pushed_block()], ids=["pendulum", "block"])
def test_gymnasium_accepts_the_environment(source):
    with warnings.catch_warnings():
        # that observations are unbounded, and that no environment of a registry is checked
        warnings.filterwarnings("ignore", message=".*(infinity|spec).*", category=UserWarning)
        check_env(SceneEnv(load_environment(source)), skip_render_check=True)


def test_a_vector_of_environments_resets_the_step_after_an_episode():
    config = load_environment(pushed_block(horizon=3))
    many, again = (SceneVectorEnv(config, 4, threads=n) for n in (1, 2))
    seen, other = (env.reset(seed=7)[0] for env in (many, again))
    assert np.array_equal(seen, other) and seen in many.observation_space
    for k in range(1, 9):
        actions = np.full((4, 2), 0.3, np.float32)
        seen, reward, terminated, truncated, infos = many.step(actions)
        assert np.array_equal(seen, again.step(actions)[0])
        assert truncated.all() == (k % 4 == 3) and not terminated.any() and infos == {}
        assert (reward == 0).all() == (k % 4 == 0)


def test_one_environment_does_what_one_of_many_does():
    config = load_environment(PENDULUM)
    one, many = SceneEnv(config), SceneVectorEnv(config, 1)
    assert one.reset(seed=3)[0] == pytest.approx(many.reset(seed=3)[0][0])
    action = np.array([0.4], np.float32)
    a, b = one.step(action), many.step(action[None])
    assert np.array_equal(a[0], b[0][0]) and a[1] == b[1][0]
