"""validation/defaults.py: a tenth of it, with its bars."""

import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from validation.defaults import study


def test_defaults_meet_their_bars():
    figures = study(0.1)
    assert {"ramp", "rest", "stack", "ratio_100", "bounce", "bowl", "roll"} <= set(figures)
