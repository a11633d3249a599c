"""A part of validation/soft_body.py: the choice of law over the first frames."""

from validation.soft_body import study


def test_a_soft_ball_is_found_where_a_rigid_one_cannot_explain_the_data():
    figures = study(fraction=0.1)
    assert figures["law"] == "soft ball" and figures["tried"]["soft ball"]["low"] > 1.0
