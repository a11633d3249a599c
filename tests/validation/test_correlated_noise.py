"""A tenth of the coverage study under noise that is alike over time."""

from validation.correlated_noise import study


def test_intervals_cover_and_independent_ones_do_not():
    (case,) = study(0.1)["cases"]
    assert case["correlation"] == 0.9 and case["independent_residuals"] < 0.15 * case["residuals"]
    assert case["mean"]["correlated"] > case["mean"]["independent"] + 0.2
