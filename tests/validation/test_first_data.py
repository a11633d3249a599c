"""A part of the study of first recordings: what check and init make of them, without estimates."""

from validation import first_data


def test_recordings_are_usable_or_rightly_refused():
    figures = first_data.study(0.1)
    assert figures["recordings"] >= 5 and figures["outcomes"].get("wrong", 0) == 0, figures["rows"]
    assert set(figures["outcomes"]) == {"usable", "refused"}
