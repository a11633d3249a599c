"""validation/linkages.py: energy, closed forms and closure of the reference motions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

from validation.linkages import (
    GRAVITY,
    FourBar,
    Link,
    Motor,
    chain,
    direction,
    double_pendulum,
    four_bar,
    pendulum,
)

LOOP = FourBar(Link(0.2, 0.1), Link(0.4, 0.3), Link(0.3, 0.25), base=0.3)


def relative_drift(motion):
    """Largest change of energy less the motor's work, over the energy that moves."""
    kept = motion.energy - motion.work
    return np.abs(kept - kept[0]).max() / max(np.ptp(motion.energy), np.abs(kept[0]), 1e-3)


def test_pendulum_is_the_elliptic_function():
    """Released at rest at amplitude th0 from hanging: sin(th/2) = k sn(K(k) - w t | k^2)."""
    link, amplitude = Link(0.3, 0.5), 2.0
    t = np.linspace(0, 5, 201)
    motion = pendulum(link, amplitude - np.pi / 2, 0.0, t)
    w = np.sqrt(link.mass * GRAVITY * link.a / (link.I + link.mass * link.a**2))
    k = np.sin(amplitude / 2)
    sn, *_ = ellipj(ellipk(k**2) - w * t, k**2)
    assert np.abs(motion.angles[:, 0] + np.pi / 2 - 2 * np.arcsin(k * sn)).max() < 1e-9
    assert relative_drift(motion) < 1e-10


def test_double_pendulum_keeps_energy_and_obeys_lagrange():
    links = [Link(0.3, 0.4), Link(0.2, 0.3, centre=0.1, moment=0.004)]
    t = np.linspace(0, 3, 301)
    motion = double_pendulum(links, [0.3, -1.0], [0.0, 2.0], t)
    assert relative_drift(motion) < 1e-10
    assert np.abs(np.linalg.norm(motion.ends[:, 1] - motion.ends[:, 0], axis=1) - 0.3).max() < 1e-12
    # Newton's law of the whole about the hinge: d(angular momentum)/dt = moment of the weights.
    fine = double_pendulum(links, [0.3, -1.0], [0.0, 2.0], np.arange(2001) * 1e-4)
    v = np.gradient(fine.centres, fine.t, axis=0, edge_order=2)
    cross = fine.centres[..., 0] * v[..., 1] - fine.centres[..., 1] * v[..., 0]
    spin = sum(link.mass * cross[:, k] + link.I * fine.rates[:, k] for k, link in enumerate(links))
    moment = -GRAVITY * sum(link.mass * fine.centres[:, k, 0] for k, link in enumerate(links))
    change = np.gradient(spin, fine.t)[2:-2]
    assert np.abs(change - moment[2:-2]).max() < 1e-5 * np.abs(moment).max()


def test_small_swings_have_the_linear_frequency():
    t = np.linspace(0, 4, 4001)
    th = pendulum(Link(1.0, 0.5), -np.pi / 2 + 1e-4, 0.0, t).angles[:, 0] + np.pi / 2
    w = np.sqrt(GRAVITY / (2 / 3 * 0.5))
    assert np.abs(th - 1e-4 * np.cos(w * t)).max() < 1e-10


@pytest.mark.parametrize("branch", (1, -1))
def test_four_bar_stays_closed_and_balances_energy_with_the_motor(branch):
    motor = Motor(lambda t: 0.5 + 6 * t, lambda t: 6.0, stiffness=20.0, damping=0.3)
    t = np.linspace(0, 2, 201)
    motion = four_bar(LOOP, motor, 0.5, 6.0, t, branch)
    assert np.abs(motion.ends[:, 1] - motion.ends[:, 2]).max() < 1e-10
    assert relative_drift(motion) < 1e-10
    assert np.ptp(motion.angles[:, 0]) > 2 * np.pi and np.ptp(motion.angles[:, 2]) < np.pi
    assert motion.work[-1] != 0
    first = motion.angles[0]
    assert np.abs(LOOP.closure(first)).max() < 1e-15
    assert np.abs(LOOP.jacobian(first) @ motion.rates[0]).max() < 1e-14


def test_free_four_bar_keeps_energy_and_agrees_with_the_crank_alone():
    """Without motor; and with massless coupler and rocker it is the crank's own pendulum."""
    idle, t = Motor(lambda t: 0.0), np.linspace(0, 1, 101)
    motion = four_bar(LOOP, idle, 0.5, 3.0, t)
    assert relative_drift(motion) < 1e-10 and not np.any(motion.work)
    light = FourBar(Link(0.2, 0.1), Link(1e-9, 0.3), Link(1e-9, 0.25), base=0.3)
    loop = four_bar(light, idle, 0.5, 3.0, t).angles[:, 0]
    assert np.abs(loop - pendulum(Link(0.2, 0.1), 0.5, 3.0, t).angles[:, 0]).max() < 1e-5


def test_rates_of_a_closed_loop_are_differences_of_its_angles():
    e = 1e-6
    slope = (LOOP.closed(0.7 + e) - LOOP.closed(0.7 - e)) / (2 * e)
    assert np.allclose(LOOP.rates(LOOP.closed(0.7), 1.0), slope, rtol=1e-8)
    with pytest.raises(ValueError, match="cannot be closed"):
        FourBar(Link(1, 1), Link(1, 0.2), Link(1, 0.2), base=2.0).closed(np.pi)


def test_three_links_from_straight_down_stay_there():
    motion = chain([Link(1, 0.3)] * 3, [-np.pi / 2] * 3, [0, 0, 0], np.linspace(0, 1, 11))
    assert np.abs(direction(motion.angles) - [0, -1]).max() < 1e-12
