"""bench/memory.py: what a checkpoint holds."""

from __future__ import annotations

from bench import memory


def test_a_checkpoint_holds_positions_and_velocities_and_hardly_more():
    figures = memory.main(subdivisions=5, steps=200)
    assert 0.9 < figures["bytes_over_floor"] < 1.2
    assert figures["with_gradient_over_floor"] >= figures["bytes_over_floor"]
