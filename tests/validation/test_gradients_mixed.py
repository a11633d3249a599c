"""A seeded tenth of the gradient study over mixed scenes."""

from validation.gradients_mixed import study


def test_a_tenth_of_the_mixed_gradient_study_passes_its_bars():
    figures = study(0.1)
    assert figures["scenes"] == 31
