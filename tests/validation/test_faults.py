"""A hundredth of the study of faults: processes of robot, driver and clients; a broken driver."""

import pytest

pytest.importorskip("rclpy")

from validation.faults import study

pytestmark = [pytest.mark.ros, pytest.mark.slow]


def test_whatever_happens_the_arm_is_safe_and_the_answer_true():
    figures = study(0.006, pipelines=1, breaks=["path_unchecked"])  # asserts it
    assert figures["executions"] == 13 and len(figures["by_fault"]) > 8
    assert figures["all"]["worst"]["told_velocity"] < 1.01
    assert figures["broken_drivers"]["path_unchecked"]["caught"] > 0
