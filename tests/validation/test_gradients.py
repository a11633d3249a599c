"""A seeded tenth of the gradient study."""

from validation.gradients import study


def test_a_tenth_of_the_gradient_study_passes_its_bars():
    figures = study(0.1)
    assert figures["scenes"] == 20
