"""A twentieth of validation/interpolation.py: accepted motions keep limits in each version."""

from validation.interpolation import study


def test_no_version_of_the_controller_takes_an_accepted_motion_beyond_a_limit():
    figures = study(0.05)
    assert figures["accepted"] == 500
    assert figures["cubic_rule_alone"]["worst_share_of_a_limit"] > 1.1
