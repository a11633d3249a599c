"""Gradients of policies through the engine, and what learning by them comes to."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
torch = pytest.importorskip("torch", reason="optional: pip install gymnasium torch")

from diffsim_ros.learning import load_environment  # noqa: E402
from diffsim_ros.learning.policy import evaluate  # noqa: E402
from diffsim_ros.learning.shac import Shac, ShacOptions, train  # noqa: E402
from tests.learning.environments import PENDULUM, pushed_block  # noqa: E402


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("source", [PENDULUM, pushed_block(horizon=3)], ids=["pendulum", "block"])
def test_the_gradient_by_weights_is_that_of_the_return(double, source):
    """Of a stretch inside which episodes end, by random directions of all weights."""
    config = load_environment(source)
    options = ShacOptions(environments=3, horizon=5, hidden=(8,))

    def loss(shift):
        training = Shac(config, options, seed=1)
        training.normaliser.add(training.seen)
        for parameter, by in zip(training.actor.parameters(), shift, strict=True):
            parameter.data += by
        return training, training.loss()

    sizes = [p.shape for p in Shac(config, options).actor.parameters()]
    training, value = loss([torch.zeros(s) for s in sizes])
    value.backward()
    if config.horizon == 3:
        assert training.episodes >= 3
    generator = torch.Generator().manual_seed(2)
    for _ in range(4):
        along = [torch.randn(s, generator=generator) for s in sizes]
        pairs = zip(training.actor.parameters(), along, strict=True)
        exact = sum((p.grad * d).sum().item() for p, d in pairs)
        with torch.no_grad():
            ends = [loss([e * d for d in along])[1].item() for e in (1e-5, -1e-5)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(exact, rel=2e-5, abs=1e-8)


def test_a_few_updates_raise_the_return():
    """The block is to go aside: from a policy that does next to nothing."""
    torch.set_num_threads(1)
    config = load_environment(pushed_block(reward={"aside": {"of": "block.velocity.y"}}))
    options = ShacOptions(environments=8, horizon=5, iterations=30, hidden=(16,),
                          evaluate_every=15, actor_rate=3e-2)  # fmt: skip
    result = train(config, options, seed=3)
    first = result.history[0][2]
    assert result.best > first + 0.5, result.history
    assert result.actions == 30 * 8 * 5 and result.episodes >= 8 * 25 and not result.skipped
    again = evaluate(result.policy, config, options.episodes, seed=10**6 + 3)
    assert np.mean(again.returns) == pytest.approx(result.best)
    assert result.policy.note["method"] == "shac"


def test_a_training_can_be_cancelled():
    calls = []

    def cancel():
        calls.append(1)
        return len(calls) > 2

    options = ShacOptions(environments=4, horizon=2, iterations=50, hidden=(4,))
    result = train(load_environment(PENDULUM), options, cancel=cancel)
    assert result.actions == 2 * 4 * 2 and np.isfinite(result.best)


def test_rewards_are_scaled_for_learning_alone(double):
    """Loss and targets of the critic are those of scaled rewards; what is reported is not."""
    config = load_environment(pushed_block(horizon=50))
    trainings = [
        Shac(config, ShacOptions(environments=3, horizon=4, hidden=(8,), reward_scale=s), seed=1)
        for s in (1.0, 0.1)
    ]
    losses, means = [], []
    for training in trainings:
        training.target = lambda seen: torch.zeros(len(seen), 1)
        training.normaliser.add(training.seen)
        losses.append(training.loss().item())
    for s in (1.0, 0.1):
        again = Shac(config, ShacOptions(environments=3, horizon=4, hidden=(8,), reward_scale=s))
        means.append(again.iterate())
    assert losses[1] == pytest.approx(0.1 * losses[0]) and losses[0] != 0
    assert means[1] == pytest.approx(means[0])


def test_a_warm_up_shows_the_normaliser_what_motions_look_like():
    config = load_environment(pushed_block())
    cold, warm = (
        Shac(config, ShacOptions(environments=6, warm_up=n, std_dev=0.5), seed=4) for n in (0, 12)
    )
    assert cold.normaliser.count == 0 and warm.normaliser.count == 6 * 13
    moved = [t.name for t in config.observation.terms].index("block.position.y")
    assert warm.normaliser.variance[moved] > 1e-8 > cold.seen.var(0)[moved]
    assert (warm.batch.taken < config.horizon).all() and warm.seen.shape == cold.seen.shape
