"""Results on disk: exact, never mixed, readable whenever the process is killed."""

import dataclasses
import json
import threading

import numpy as np
import pytest
import yaml

from diffsim_ros import load_scene
from diffsim_ros.errors import InputError
from diffsim_ros.executors import fingerprint as digests
from diffsim_ros.executors import gather, stream
from diffsim_ros.executors.fingerprint import fingerprint
from diffsim_ros.executors.journal import Journal
from diffsim_ros.executors.plain import from_line, to_line
from tests.executors import work
from tests.executors.test_executors import SCENE


def count(shared, task, cancel):
    shared_calls.append(task)
    return {"squares": np.arange(task) ** 2.0, "of": (task, None)}


shared_calls = []


@pytest.fixture(autouse=True)
def no_calls():
    shared_calls.clear()


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -0.0, 0.1 + 0.2, float("nan"), float("inf"), "ü\n", [1, [2.5]], (1, (2, "a")),
     {"a": {"$b": 1}}, {3: "x", (1, 2): None}, {"$array": 1}, np.float64(0.1), np.int32(7),
     np.arange(6.0).reshape(2, 3) / 7, np.zeros((0, 3), np.float32), np.array(["a", "bc"]),
     np.array([True, False])],
)  # fmt: skip
def test_plain_data_come_back_digit_for_digit(value):
    line = to_line(value)
    again = from_line(line)
    assert "\n" not in line and type(again) is type(value)
    if isinstance(value, np.ndarray):
        assert again.dtype == value.dtype and again.shape == value.shape
    assert repr(again) == repr(value)


def test_other_results_are_refused():
    with pytest.raises(InputError, match=r"task: result: got .*; accepted: numbers, texts"):
        to_line({"a": object()})


def test_a_run_goes_on_from_what_it_has(tmp_path):
    first = stream(count, [4, 5, 6], 1, folder=tmp_path)
    next(first)
    first.close()
    had = len(shared_calls)
    again = gather(count, [6, 5, 4, 7], 1, folder=tmp_path)
    (kept,) = tmp_path.iterdir()
    assert [one["of"] for one in again] == [(k, None) for k in (6, 5, 4, 7)]
    assert np.array_equal(again[3]["squares"], np.arange(7) ** 2.0)
    assert len(kept.read_text().splitlines()) == 5 and had >= 1
    shared_calls.clear()
    assert len(gather(count, [6, 5, 4, 7], 1, folder=tmp_path)) == 4 and not shared_calls


def test_another_input_has_other_results(tmp_path):
    assert gather(work.double, [1, 2], 10, folder=tmp_path) == [10, 20]
    assert gather(work.double, [1, 2], 11, folder=tmp_path) == [11, 22]
    scene = load_scene(SCENE)
    before = gather(work.reach, [1.0], scene, folder=tmp_path)
    scene = load_scene(yaml.safe_load(SCENE.read_text().replace("0, 0, 0.35", "0, 0, 0.4")))
    after = gather(work.reach, [1.0], scene, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 4 and not np.array_equal(before, after)


def test_every_prefix_of_the_file_is_gone_on_from(tmp_path):
    gather(work.double, range(3), 2, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        assert gather(work.double, range(3), 2, folder=tmp_path) == [0, 2, 4]
        assert len(path.read_bytes().splitlines()) == 4


def test_a_damaged_line_is_named(tmp_path):
    gather(work.double, range(3), 2, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + "{}\n" + lines[2])
    with pytest.raises(InputError, match=r"work.double-.*line 2: got .*remove it"):
        gather(work.double, range(3), 2, folder=tmp_path)


def test_two_runs_do_not_write_one_file(tmp_path):
    with Journal(tmp_path, work.double, 2), pytest.raises(InputError, match="no other run writes"):
        gather(work.double, range(3), 2, folder=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="a folder that can be written"):
        gather(work.double, range(3), 2, folder=tmp_path / "file")


@dataclasses.dataclass
class Thing:
    a: object


def test_fingerprints_are_of_content(tmp_path):
    same = [[1, 2], [1, 2]]
    twice = [same[0], same[0]]
    assert fingerprint(same) == fingerprint(twice)
    circle = []
    circle.append(circle)
    (tmp_path / "a").write_text("x")
    values = [1, 1.0, True, "1", b"1", None, [1], (1,), {1}, {1: 1}, {"a": 1, "b": 2},
              {"b": 2, "a": 1}, np.ones(1), np.ones(1, int), np.ones((1, 1)), Thing(1), Thing(2),
              Thing(np.zeros(2)), tmp_path / "a", circle, work.double, work.fail, Thing,
              np.float64(1), lambda x: x, lambda x: x + 1]  # fmt: skip
    assert len({fingerprint(value) for value in values}) == len(values)
    before = fingerprint(tmp_path / "a")
    (tmp_path / "a").write_text("y")
    assert fingerprint(tmp_path / "a") != before
    with pytest.raises(InputError, match="data that can be pickled"):
        fingerprint(threading.Lock())


def test_the_head_says_what_the_file_is_of(tmp_path):
    with Journal(tmp_path, work.double, 2) as journal:
        head = json.loads(journal.path.read_text())
    assert head["function"] == "tests.executors.work.double" and head["build"].startswith("0.1.0 ")


def test_results_of_other_code_of_one_version_are_not_taken(tmp_path, monkeypatch):
    """A checkout changes without its version."""
    code = tmp_path / "package" / "inner" / "law.py"
    code.parent.mkdir(parents=True)
    code.write_text("slope = 1\n")
    monkeypatch.setattr(digests, "PACKAGE", tmp_path / "package")

    def done() -> int:
        digests.build.cache_clear()
        shared_calls.clear()
        assert gather(count, [3], 1, folder=tmp_path / "kept")
        return len(shared_calls)

    try:
        assert [done(), done()] == [1, 0]
        (code.parent / "__pycache__").mkdir()
        (code.parent / "__pycache__" / "law.pyc").write_bytes(b"compiled")
        assert done() == 0
        code.write_text("slope = 2\n")
        assert [done(), done()] == [1, 0]
        code.rename(code.with_name("other.py"))
        assert done() == 1
    finally:
        digests.build.cache_clear()
