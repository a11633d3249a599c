"""A seeded tenth of validation/one_sided.py."""

from validation.one_sided import study


def test_one_sided_answers_hold():
    figures = study(fraction=0.1)
    assert figures["recordings"] == 6 and figures["one_sided"] >= 1
