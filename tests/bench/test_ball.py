"""bench/ball.py: what a landing is, and that the peers throw the ball that they are given."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

from bench import ball, ball_scene
from bench.ball_scene import GRAVITY, RADIUS, Mesh, Throw, landing


def bounce(dt, duration, hit=0.05, speed=1.5):
    """A point that falls to z = 0.09 at `hit`, and leaves with `speed` upwards, exactly sampled."""
    t = np.arange(round(duration / dt) + 1) * dt - hit
    down, up = -2.0, speed
    z = 0.09 + np.where(t < 0, down * t, up * t) - GRAVITY * t**2 / 2
    return np.stack([t, 0.5 * t, z], axis=1)


@pytest.mark.parametrize("duration", (0.2, 0.5))
def test_landing_is_that_of_the_parabola_within_and_beyond_the_motion(duration):
    flight = (1.5 + math.sqrt(1.5**2 - 2 * GRAVITY * (RADIUS - 0.09))) / GRAVITY
    when, where = landing(bounce(1 / 240, duration), 1 / 240)
    assert when == pytest.approx(0.05 + flight, abs=1e-12)
    assert where == pytest.approx([flight, flight / 2, RADIUS], abs=1e-12)


def test_a_ball_that_stays_down_or_never_comes_down_does_not_land():
    stays = bounce(1 / 240, 0.5, speed=0.0)
    assert landing(stays, 1 / 240) == (None, None)
    assert landing(stays + np.array([0, 0, 10]), 1 / 240) == (None, None)
    assert ball.errors(Throw.of(stays, 1 / 240, 1.0), Throw.of(stays, 1 / 240, 1.0)) == {
        "centre_mm": 0.0, "landing_place_mm": None, "landing_time_ms": None,
    }  # fmt: skip


def test_cost_at_equal_error_follows_the_best_rows():
    rows = [{"centre_mm": e, "cost": c} for e, c in ((8, 1), (4, 2), (5, 3), (2, 4), (1, 8))]
    assert ball.cost_at(4, rows, "cost") == pytest.approx(2)
    assert ball.cost_at(math.sqrt(8), rows, "cost") == pytest.approx(math.sqrt(8))
    assert ball.cost_at(100, rows, "cost") == pytest.approx(1)  # coarser than all: the cheapest
    assert ball.cost_at(0.5, rows, "cost") is None  # finer than all: not known


@pytest.mark.parametrize("name", ("mujoco", "drake"))
def test_peer_flies_the_parabola_and_bounces(name):
    pytest.importorskip({"mujoco": "mujoco", "drake": "pydrake"}[name])
    peer = importlib.import_module(f"bench.peers_{name}")
    mesh, dt = Mesh.of(2), 1 / 480
    thrower = peer.Ball(mesh, dt)
    throw = thrower.throw(duration=0.3)
    t = np.arange(round(0.04 / dt)) * dt
    parabola = np.stack([t, 0.3 * t, 0.2 - 2 * t - GRAVITY * t**2 / 2], axis=1)
    assert np.abs(throw.centre[: len(t)] - parabola).max() < GRAVITY * dt * 0.04  # first order
    assert 0.02 < throw.centre[:, 2].min() < 0.09 and throw.landing_time > 0.15
    assert throw.cpu_per_step > 0
    again = thrower.throw(duration=0.3)
    assert np.array_equal(throw.centre, again.centre)
    slower = thrower.throw(duration=0.3, v=(0.5, 0.0, -2.0), w=(0.0, 0.0, 0.0))
    assert slower.final[0] < throw.final[0] - 0.05 and abs(slower.final[1]) < 0.02


def test_mujoco_masses_and_differences():
    peer = pytest.importorskip("bench.peers_mujoco")
    mesh = Mesh.of(1)
    model = peer.model(mesh, 1 / 240)
    assert model.body_mass.sum() == pytest.approx(mesh.masses.sum())
    slopes, cpu = peer.gradient(mesh, 1 / 240)
    # Before any contact d(final centre)/dv is T; over the throw it stays of that order.
    assert cpu > 0 and 0.05 < slopes[0] < 1.0


def test_a_missing_peer_is_left_out_in_one_line(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "bench.peers_drake", None)
    assert not [name for name in ball.simulators() if name.startswith("drake")]
    lines = [line for line in capsys.readouterr().err.splitlines() if "drake" in line]
    assert len(lines) == 1 and "left out" in lines[0]


def test_the_comparison_runs_and_makes_its_table(tmp_path, capsys):
    pytest.importorskip("mujoco")
    figures = ball.main(tmp_path, sizes=(1,), rates=(60, 120), repeats=1, epsilons=(1e-1, 1e-2))[
        "tets_20"
    ]
    assert figures["step"]["mujoco"]["forward_ms"] > 0
    curve = figures["work_precision"]["mujoco"]
    assert curve["rate_120"]["centre_mm"] < curve["rate_60"]["centre_mm"]
    assert "| mujoco gradient by 12 rollouts |" in (tmp_path / "ball.md").read_text()


def test_engine_throws_the_same_ball_and_its_gradient_is_that_of_differences():
    from bench.ball_engine import Ball, surface_weights

    mesh = Mesh.of(2)
    indices, weights = surface_weights(mesh)
    assert len(indices) == 42 and weights.sum() == pytest.approx(1)
    assert np.allclose(np.linalg.norm(mesh.vertices[indices], axis=1), RADIUS)
    thrower = Ball(mesh, 1 / 480, tolerance=1e-11, stagnate=True)
    throw = thrower.throw()
    t = np.arange(20) / 480
    parabola = np.stack([t, 0.3 * t, 0.2 - 2 * t - GRAVITY * t**2 / 2], axis=1)
    assert np.abs(throw.centre[:20] - parabola).max() < 1e-4  # second order, its first step first
    slopes, _ = thrower.gradient("store")
    assert np.allclose(slopes, thrower.gradient("checkpoint")[0], rtol=1e-9)
    start, direction = np.array([*ball_scene.VELOCITY, *ball_scene.SPIN]), np.ones(6) / 6**0.5
    found = []
    for e in (1e-5, 3e-6, 1e-6):
        ends = [
            thrower.throw(
                v=(start + sign * e * direction)[:3], w=(start + sign * e * direction)[3:]
            )
            for sign in (1, -1)
        ]
        found.append((ends[0].objective - ends[1].objective) / (2 * e))
    assert slopes @ direction == pytest.approx(np.median(found), rel=1e-4)
