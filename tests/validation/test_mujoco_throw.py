"""A throw planned with our engine also reaches its target in MuJoCo."""

import pytest


def test_a_planned_throw_reaches_its_target_in_mujoco():
    pytest.importorskip("mujoco")
    from validation.mujoco_throw import study

    figures = study(0.1)  # asserts the distance from the target
    for name in ("planned", "executed"):
        assert figures[name]["between_at_release_m"] < 1e-12
        assert figures[name]["between_in_flight_m"] < 2e-4
    assert figures["executed"]["between_at_target_m"] > 1e-4, "another engine's bounce"
