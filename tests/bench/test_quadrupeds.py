"""bench/quadrupeds.py: small, for its figures and the robots they are of."""

from __future__ import annotations

import pytest

from bench import quadrupeds


def test_checkpoints_of_two_quadrupeds():
    figures = quadrupeds.checkpoints(2, 3, 30)
    assert figures["parameters"] == 24
    assert figures["forward_us"] > 0 and figures["backward_us"] > 0


def test_environments_beside_mujoco():
    pytest.importorskip("mujoco")
    figures = quadrupeds.environments(4, 2, 1)
    assert set(figures["steps_per_second"]) == {"velocity", "implicit", "mujoco"}
    assert figures["velocity_ratio"] > 0
