"""A part of validation/excitation.py: a short search, a tenth of the seeds, least squares alone."""

from validation import excitation


def test_an_excitation_tells_more_than_a_throw():
    found = excitation.study(0.1)["least_squares"]
    over = found["sigma_over_throw"]
    assert found["seeds"] == 20 and over["of"] >= 30
    assert over["median"] < 0.1 and over["above_half"] <= 3
    assert found["intervals_with_truth"]["excitation"] > 0.9
    assert "elbow_joint.coulomb" in over["untold_by_the_throw"]  # it turns one way only
