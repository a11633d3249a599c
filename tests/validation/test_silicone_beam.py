"""Issue 4, item 1: a small part of validation/silicone_beam.py."""

from __future__ import annotations

from validation.silicone_beam import REQUIRED, by_load, recordings, study


def test_a_repeat_is_predicted_from_one_recording():
    figures = study(fraction=0.1)
    assert list(figures["splits"]["repeat"]["validate"]) == ["gravity_b"]
    assert set(figures["worst"]) == set(REQUIRED)


def test_recordings_are_grouped_by_load():
    groups = by_load(recordings())
    assert [f.stem for f in groups["gravity_*"]] == ["gravity_a", "gravity_b"]
    assert [f.stem for f in groups["load52_*"]] == ["load52_a"]
