"""A tenth of validation/cube_toss.py (structure and a trivial baseline, not the bars)."""

from __future__ import annotations

import pytest

from diffsim_ros.real2sim.config import load_estimation
from validation.cube_toss import (
    LABELS,
    REDUCED,
    VARIANTS,
    assert_required,
    configured,
    study,
    variant,
)


def test_a_tenth_of_the_study():
    figures = study(fraction=0.1, seed=0)
    assert figures["trained"] == 10
    assert figures["validate"]["tosses"] == 30
    assert set(figures["ablations"]) == {"as_configured", "friction_constant"}


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_a_valid_configuration(name):
    base = load_estimation(configured())
    changed = variant(name, configured(), REDUCED)
    assert changed.fit.search_evaluations == 0
    if name not in ("as_configured", f"damping_{base.scene['contact'][0]['damping']}"):
        assert (
            changed.source["parameters"] != base.source["parameters"] or changed.scene != base.scene
        )


def test_a_missed_bar_is_named():
    best = {label: {"simulator": "bullet", "mean": 10.0} for label in LABELS}
    validate = {"failed": 0, "best_published": best, **dict.fromkeys(LABELS, 0.2)}
    with pytest.raises(AssertionError, match=r"^position_error_widths: 0\.2, bar 0\.138$"):
        assert_required({"validate": validate})
