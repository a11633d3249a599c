"""A seeded tenth of each study of validation/physics.py."""

from __future__ import annotations

import pytest

from validation.physics import STUDIES, study
from validation.physics_contact import damping_for, thesis_restitution


@pytest.mark.parametrize("name", STUDIES)
def test_physics(name):
    if name == "mujoco":
        pytest.importorskip("mujoco")
    figures = STUDIES[name](fraction=0.1, seed=1)
    assert figures


def test_closed_forms_of_restitution_have_their_limits():
    # No damping keeps all speed; critical damping still returns exp(-2) of it.
    assert damping_for(1.0) == 0
    assert thesis_restitution(0.0) == pytest.approx(1)
    assert thesis_restitution(1 - 1e-10) == pytest.approx(0.1353352832, rel=1e-4)
    # Small damping: a (1 + e) = ln((1 + a) / (1 - e a)) gives e = 1 - 2 a / 3 + O(a^2).
    assert damping_for(0.999) == pytest.approx(1.5e-3, rel=5e-3)


def test_all_bars_missed_are_reported_together(monkeypatch):
    def miss(fraction, seed):
        raise AssertionError(f"bar missed at {fraction}")

    monkeypatch.setattr("validation.physics.STUDIES", {"one": miss, "two": miss})
    with pytest.raises(AssertionError, match=r"one: bar missed at 0\.1\ntwo: bar missed at 0\.1"):
        study(0.1)
