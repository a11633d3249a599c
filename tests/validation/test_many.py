"""A part of the study of many tasks, without Ray."""

from validation import many


def test_a_part_of_the_study_has_equal_digits_in_threads_and_processes():
    figures = many.study(0.02)
    assert figures["digits"]["motions"] == 4 and len(figures["digits"]["digests"]) == 3
