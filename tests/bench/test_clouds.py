"""bench/clouds.py on a coarse ball: every part is there, and the gradient is the differences'."""

from __future__ import annotations

import pytest

pytest.importorskip("open3d", exc_type=ImportError)

from bench.clouds import main


def test_the_gradient_is_that_of_central_differences():
    coarse = ["scene.bodies.ball.element=p1", "scene.bodies.ball.shape.ball.layers=2",
              "scene.world.step=1/240"]  # fmt: skip
    figures = main(repeats=1, passes=1, set=coarse)
    objective = figures["objective"]
    assert objective["variables"] == 10 and objective["off_differences"] < 1e-3
    assert objective["points"] > 1500 and objective["dofs"] == 165
    assert all(objective[f"{part}_s"] > 0 for part in ("rollout", "nearest", "cost", "gradient"))
    assert figures["pipeline"]["points"] > 5000 and "planes" in figures["pipeline"]["stages_ms"]
