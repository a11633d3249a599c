"""A seeded twentieth of validation/verdicts.py."""

from validation.verdicts import MISFITS, study


def test_wrong_models_are_told_from_right_ones():
    figures = study(fraction=0.05, seed=1)
    assert figures["right"]["recordings"] == 5 and len(figures["misfits"]) == len(MISFITS) == 10
    assert figures["matter"] >= 5
