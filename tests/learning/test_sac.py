"""SAC of Stable-Baselines3 in environments of the engine."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
torch = pytest.importorskip("torch", reason="optional: pip install torch")
pytest.importorskip("stable_baselines3", reason="optional: pip install stable-baselines3")

from diffsim_ros.learning import load_environment  # noqa: E402
from diffsim_ros.learning.sac import SacEnvironments, train_sac  # noqa: E402
from tests.learning.environments import PENDULUM, pushed_block  # noqa: E402


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


@pytest.mark.parametrize("how", [{}, {"enhance": True}, {"nearby": True}])
def test_sac_trains_for_as_long_as_it_is_told(how):
    scores = []

    def score(policy):
        scores.append(float(policy(np.zeros((3, 3))).sum()))
        return scores[-1]

    figures = train_sac(
        load_environment(PENDULUM), seed=1, cpu_seconds=0.5, score=score, environments=2,
        learning_starts=10, batch_size=16, **how,
    )  # fmt: skip
    assert figures["best"] == pytest.approx(max(scores), abs=1e-4)
    assert figures["actions"] > 20 and figures["cpu_seconds"] < 20


def test_the_enhanced_loss_follows_the_engine_where_the_critic_knows_nothing():
    """With critics of zero its gradient by the action is -w dr/da, and dr/da the engine's."""
    from diffsim_ros.learning.enhanced_sac import EnhancedSAC, SlopesBuffer

    environments = SacEnvironments(load_environment(pushed_block()), 4, seed=0, jacobians=True)
    model = EnhancedSAC("MlpPolicy", environments, replay_buffer_class=SlopesBuffer,
                        buffer_size=64, device="cpu", seed=0)  # fmt: skip
    seen = environments.reset()
    taken = np.random.default_rng(1).uniform(-0.5, 0.5, (4, 2))
    after, reward, ended, infos = environments.step(taken)
    model.replay_buffer.add(seen, after, taken, reward, ended, infos)
    for parameter in model.critic.parameters():
        parameter.data.zero_()
    batch = model.replay_buffer.sample_slopes(6)
    action = (batch.action + 0.1).requires_grad_()
    zero = torch.zeros(())
    model.policy_loss(batch, action, torch.zeros(6, 1), zero).backward()
    weight = np.exp(-0.1 * np.sqrt(2))
    assert batch.reward_by_action.abs().min() > 1e-4
    expected = -weight * batch.reward_by_action / 6
    assert action.grad.numpy() == pytest.approx(expected.numpy(), rel=1e-4)


def test_samples_nearby_are_what_the_engine_would_have_done():
    """Against simulations of the drawn actions: wrong by a small part of what these change."""
    from diffsim_ros.learning.enhanced_sac import NearbyBuffer

    config = load_environment(pushed_block())
    first = SacEnvironments(config, 4, seed=0, jacobians=True)
    buffer = NearbyBuffer(64, first.observation_space, first.action_space, "cpu", 4, spread=0.03,
                          share=0.75)  # fmt: skip
    seen = first.reset()
    taken = np.random.default_rng(1).uniform(-0.5, 0.5, (4, 2))
    taken[3, 0] = 0.99  # actions nearby may not pass 1
    after, reward, ended, infos = first.step(taken)
    buffer.add(seen, after, taken, reward, ended, infos)
    torch.manual_seed(2)
    drawn = buffer.sample(40)
    assert drawn.actions.abs().max() == 1.0
    moved = 0
    for k in range(40):
        here = drawn.observations[k].numpy()
        (i,) = np.flatnonzero(np.abs(seen - here).max(1) < 1e-6)
        action = drawn.actions[k].double().numpy()
        again = SacEnvironments(config, 4, seed=0)
        again.reset()
        again_after, again_reward, _, _ = again.step(
            np.where(np.arange(4)[:, None] == i, action, taken)
        )
        true = np.append(again_after[i], again_reward[i])
        told = np.append(drawn.next_observations[k].numpy(), drawn.rewards[k].numpy())
        change = np.abs(true - np.append(after[i], reward[i])).max()
        assert np.abs(told - true).max() < 0.05 * change + 1e-6, (k, told - true, change)
        moved += change > 1e-4
    assert 20 <= moved < 40
