"""Objectives of gaits against differences, and against motions whose figures are plain."""

from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse.gait import CycleChange, MeanSpeed, SmoothCycle
from diffsim_ros.inverse.objectives import BodySlot
from tests.inverse.partials import check_own, check_partials

SLOT = BodySlot(1, 3, 6)
UP = np.array([0.0, 0.0, 1.0])


def rollout(seed=5, frames=7):
    generator = np.random.default_rng(seed)
    q = generator.normal(size=(frames, 2, 4))
    q[..., 3] += 3.0  # turns from cycle to cycle < pi
    x, v, w = generator.normal(size=(3, frames, 2, 3))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    return SimpleNamespace(position=x, orientation=q, velocity=v, angular_velocity=w)


def speed(**changes):
    keys = {"times": np.array([0.1, 0.3, 0.4]), "direction": np.array([2.0, 1.0, 0.0])}
    return MeanSpeed(
        "trunk", np.array([1, 3, 4]), **{**keys, "speed": 0.3, "sigma": 0.2, **changes}
    )


@pytest.mark.parametrize(
    "objective",
    [speed(), CycleChange("trunk", np.array([0, 2, 6]), UP, np.array([0.1, 0.2, 0.3, 0.4]))],
    ids=["speed", "cycles"],
)
def test_partials(objective):
    check_partials(objective, rollout(), SLOT)


def test_speed_is_way_over_time():
    run = rollout()
    run.position[:, 1] = np.linspace(0, 1.2, 7)[:, None] * [2, 1, 0] / np.sqrt(5)  # 0.2 m a row
    np.testing.assert_allclose(speed().speeds(run, SLOT), [2.0, 2.0])
    r = speed().term(run, SLOT, {}).residual
    np.testing.assert_allclose(0.5 * np.sum(r**2), 0.5 * (1.7 / 0.2) ** 2)  # a mean over spans


def test_a_motion_that_repeats_changes_nothing():
    run = rollout()
    for x in vars(run).values():
        x[3:6] = x[:3]
    run.position[3:6, 1, :2] += 0.4  # it goes ahead
    cycles = CycleChange("trunk", np.array([0, 3]), UP, np.ones(4))
    np.testing.assert_allclose(cycles.term(run, SLOT, {}).residual, 0, atol=1e-12)
    run.velocity[3, 1, 1] += 0.5
    assert np.linalg.norm(cycles.term(run, SLOT, {}).residual) == pytest.approx(0.5)


def test_smooth_cycle():
    W = np.random.default_rng(1).normal(size=(6, 3))
    smooth = SmoothCycle("", ("a", "b", "c"), W, 0.1)
    values = {"a": 0.3, "b": -0.2, "c": 0.5}
    check_own(smooth, None, SLOT, values)
    x = W @ list(values.values())
    second = [x[i - 1] - 2 * x[i] + x[(i + 1) % 6] for i in range(6)]
    rms = np.sqrt(np.mean(np.square(second)))
    assert np.linalg.norm(smooth.term(None, SLOT, values).residual) == pytest.approx(rms / 0.1)


@pytest.mark.parametrize(
    "changes, key",
    [
        ({"times": np.array([0.1, 0.1, 0.4])}, "times"),
        ({"direction": np.zeros(3)}, "direction"),
        ({"sigma": 0.0}, "sigma"),
    ],
)
def test_bad_speed(changes, key):
    with pytest.raises(InputError, match=key):
        speed(**changes)
