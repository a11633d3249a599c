"""A fiftieth of the study of collisions: random motions of two arms beside Pinocchio and coal."""

import pytest

pytest.importorskip("urchin")
pytest.importorskip("pinocchio")

from validation.collision import study


def test_no_collision_is_accepted_and_clear_motions_are():
    figures = study(0.02)  # asserts both
    for name in ("ur5", "stanford"):
        assert figures[name]["collide"] >= 3 and figures[name]["clear"] >= 3
        assert figures[name]["collide_accepted"] == 0
