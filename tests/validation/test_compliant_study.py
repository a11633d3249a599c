"""A tenth of the study of the soft-footed quadruped: coarse feet, fewer cycles and directions."""

import pytest

from validation.compliant import study


def test_a_tenth():
    pytest.importorskip("mujoco")
    found = study(0.1)
    assert found["gradient"]["worst"] < 1e-5
    assert found["mujoco"]["refined"]["lowest"] > 0.15  # it stays up
    assert found["drop"]["young"]["off"] == pytest.approx(0, abs=0.1)
