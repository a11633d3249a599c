"""Parts of some work: here, by an executor, or from a folder."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.executors import ALONE, InProcess, SideBySide
from tests.executors import work

TASKS = [1, 2, 3]


def refused(*_):
    raise AssertionError("not wanted")


def test_alone_nothing_is_shared_and_every_task_is_done_here():
    assert not ALONE and ALONE.results(work.double, TASKS, refused, lambda k: 10 * k) == [0, 10, 20]


def test_an_executor_does_several_and_leaves_one_here():
    side, seen = SideBySide(InProcess(2)), []
    found = side.results(
        work.double, TASKS, lambda: 5, refused, report=lambda *now: seen.append(now)
    )
    assert side and found == [5, 10, 15] and seen[-1] == (3, 3)
    assert side.results(work.double, [4], refused, lambda k: "here") == ["here"]


def test_what_a_folder_has_is_not_done_again_whoever_did_it(tmp_path):
    kept = SideBySide(None, tmp_path)
    done = [np.array([0.1 * task]) for task in TASKS]
    found = kept.results(work.double, TASKS, lambda: 0.1, lambda k: done[k])
    assert all(np.array_equal(*pair) for pair in zip(found, done, strict=True))
    for side in (kept, SideBySide(InProcess(2), tmp_path)):
        again = side.results(work.double, TASKS, lambda: 0.1, refused)
        assert all(np.array_equal(*pair) for pair in zip(again, done, strict=True))
    assert kept.results(work.double, [2, 9], lambda: 0.1, lambda k: f"new {k}")[1] == "new 1"
    with pytest.raises(InputError, match="numbers, texts, arrays"):
        kept.results(work.double, [7], lambda: 0.1, lambda k: object())


def test_what_was_cut_short_is_returned_and_not_kept(tmp_path):
    token = _engine.CancelToken()

    def here(k):
        if k == 1:
            token.cancel()
        return f"part {k}"

    side = SideBySide(None, tmp_path)
    found = side.results(work.double, TASKS, lambda: 1, here, cancel=token)
    assert found == ["part 0", "part 1", None]
    again = side.results(work.double, TASKS, lambda: 1, lambda k: f"again {k}")
    assert again == ["part 0", "again 1", "again 2"]
