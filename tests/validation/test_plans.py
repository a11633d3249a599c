"""A tenth of the studies of plans, and CMA-ES where the answer is known."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
pytest.importorskip("cma", reason="a dependency of tests alone")

from validation import manipulation, planned, throwing


def test_throws():
    found = throwing.study(0.1)
    one = found["bounces_deformable"]["bounces"]["1"]
    assert one["objective_ratio"] < 1e-20 and one["rollouts"] <= 20
    ways = found["continuation"]
    assert ways["continuation"]["objective"] < 0.1 * ways["direct"]["objective"]


def test_manipulation():
    found = manipulation.study(0.1)["tasks"]
    assert all(task["reached"] for task in found.values())
    assert found["drag_cube"]["rollouts"] <= 20


def test_cma_finds_a_throw_in_the_air_and_keeps_to_its_budget():
    def in_the_air(raw):
        raw["goals"][0].update(at=0.2, position=[0.5, 0.1, 0.9], tolerance=0.01)
        raw["scene"]["world"].update(step=1e-3, duration=0.2)

    config = planned.altered("throw_one_bounce", in_the_air)
    found = planned.by_cma(config, 20.0)
    assert found["objective_ratio"] < 1e-8 and "budget" not in found["ended_by"]
    again = planned.by_cma(config, 0.0)
    assert again["rollouts"] == 0 and np.isinf(again["objective"]) and "budget" in again["ended_by"]
