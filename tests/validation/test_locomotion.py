"""A part of the study of legged-wheeled motions."""

import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from validation.locomotion import study


def test_table_rows_and_random_robots_reach_their_goals():
    figures = study(0.05, seed=11)  # asserts it
    assert len(figures["table"]) == 4 and figures["random"]["robots"] == 10
