"""A small part of validation/silicone_beam.py."""

from __future__ import annotations

import json

import pytest

from validation import common
from validation.silicone_beam import REQUIRED, by_load, recordings, study


def test_a_repeat_is_predicted_from_one_recording():
    figures = study(fraction=0.1)
    assert list(figures["splits"]["repeat"]["validate"]) == ["gravity_b"]
    assert set(figures["worst"]) == set(REQUIRED)
    rest = figures["rest"]
    sag, tone = (rest[what]["own_weight"]["young"] for what in ("sag", "frequency"))
    # the angle of the clamp, 0.9 mm of the 6.4 mm, is most of the sag's sigma
    assert 0.12 < sag["std_dev"] / sag["value"] < 0.17
    assert 0.02 < tone["std_dev"] / tone["value"] < 0.03


def test_recordings_are_grouped_by_load():
    groups = by_load(recordings())
    assert [f.stem for f in groups["gravity_*"]] == ["gravity_a", "gravity_b"]
    assert [f.stem for f in groups["load52_*"]] == ["load52_a"]


def test_figures_of_a_study_that_misses_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    missed = common.Missed({"worst": 0.3}, ["a: 0.3, required 0.2", "b: 2, required 1"])

    def study():
        raise missed

    with pytest.raises(AssertionError, match=r"a: 0\.3, required 0\.2; b: 2, required 1"):
        common.run_and_record("made_up", study)
    written = json.loads((tmp_path / "made_up.json").read_text())
    assert written["missed"] == missed.missed and written["worst"] == 0.3 and written["commit"]
    assert common.judged({"a": 1}, []) == {"a": 1}
    common.run_and_record("made_up", lambda: {"worst": 0.1})
    assert "missed" not in json.loads((tmp_path / "made_up.json").read_text())
