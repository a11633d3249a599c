"""The demo's study: what counts as right, and that its machine is busy when it should be."""

import os
import time

import pytest

from validation import demo
from validation.common import Missed


def run(hit=True, warned=False):
    return {"hit": hit, "warned": warned, "seconds": 1.0}


@pytest.mark.parametrize("wrong, warned", [(0, False), (2, False), (20, True)])
def test_hits_and_warnings_are_right(monkeypatch, wrong, warned):
    runs = [run(k >= wrong, warned and k < wrong) for k in range(20)]
    monkeypatch.setattr(demo, "_run", lambda seed: runs[seed % 20])
    figures = demo.study()
    assert figures["alone"]["hit"] == figures["busy"]["hit"] == 20 - wrong
    assert figures["alone"]["hit_or_warned"] == (20 if warned else 20 - wrong)


def test_three_misses_without_a_warning_are_too_many(monkeypatch):
    monkeypatch.setattr(demo, "_run", lambda seed: run(seed not in (0, 1, 2)))
    with pytest.raises(Missed, match="alone: 17 of 20 hit"):
        demo.study()


def test_the_machine_is_busy_while_it_should_be():
    before = os.times().children_user
    with demo._busy():
        time.sleep(0.2)
    assert os.times().children_user > before
