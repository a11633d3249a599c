"""A tenth of validation/driver.py: nothing unsafe leaves the driver, and every motion ends well."""

from validation.driver import events, rules


def test_nothing_that_the_real_controller_refuses_leaves():
    assert rules(0.1)["corrupted"] == 500


def test_motions_end_as_they_should_whatever_happens():
    assert events(0.1)["motions"] == 30
