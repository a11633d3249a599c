"""Result files: never overwritten, never half-written."""

import errno
import json
import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import yaml

from diffsim_ros import output
from diffsim_ros.errors import InputError
from diffsim_ros.output import OutputFolder, write_bytes, write_json, write_text, yaml_text


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_new_folder_is_made_and_filled(tmp_path):
    folder = OutputFolder(tmp_path / "a" / "b", ["x.txt"])
    with folder.staging() as stage:
        write_text(stage / "x.txt", "hello")
        (stage / "sub").mkdir()
        write_text(stage / "sub" / "y.txt", "there")
        assert names(folder.path) == [stage.name]  # nothing to be seen before all is there
    assert (folder / "x.txt").read_text() == "hello"
    assert names(folder.path) == ["sub", "x.txt"]


def test_existing_results_are_refused_before_any_work_and_others_left_alone(tmp_path):
    (tmp_path / "other.txt").write_text("mine")
    OutputFolder(tmp_path, ["metrics.json"])
    (tmp_path / "metrics.json").write_text("old")
    with pytest.raises(InputError, match=r"metrics\.json: --out: got .*exists already"):
        OutputFolder(tmp_path, ["result.yaml", "metrics.json"])
    (tmp_path / "metrics.json").unlink()
    (tmp_path / "metrics.json").symlink_to("nowhere")  # a dangling link is a name that is taken
    with pytest.raises(InputError, match="exists already"):
        OutputFolder(tmp_path, ["metrics.json"])
    assert (tmp_path / "other.txt").read_text() == "mine"


def test_a_file_that_appears_meanwhile_is_kept(tmp_path):
    folder = OutputFolder(tmp_path, ["x.txt", "y.txt"])
    with pytest.raises(InputError, match=r"y\.txt"), folder.staging() as stage:
        write_text(stage / "x.txt", "new")
        write_text(stage / "y.txt", "new")
        (tmp_path / "y.txt").write_text("theirs")
    assert names(tmp_path) == ["y.txt"]
    assert (tmp_path / "y.txt").read_text() == "theirs"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_an_interruption_leaves_nothing(tmp_path, error):
    folder = OutputFolder(tmp_path / "new", ["x.txt"])
    with pytest.raises(type(error)), folder.staging() as stage:
        write_text(stage / "x.txt", "half")
        raise error
    assert names(folder.path) == []
    folder.discard_if_empty()
    assert names(tmp_path) == []


def test_a_full_disk_leaves_no_temporary_file(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(output.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_bytes(tmp_path / "x", b"data")
    assert names(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_folder_that_cannot_be_made_or_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "sub", "/proc/none/x"):
        with pytest.raises(InputError, match="a folder that can be made and written to"):
            OutputFolder(path, [])


def test_write_refuses_and_overwrite_replaces(tmp_path):
    write_text(tmp_path / "x", "a")
    with pytest.raises(FileExistsError):
        write_text(tmp_path / "x", "b")
    assert (tmp_path / "x").read_text() == "a"
    write_text(tmp_path / "x", "b", overwrite=True)
    assert (tmp_path / "x").read_text() == "b"
    assert names(tmp_path) == ["x"]


def test_moving_works_without_hard_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(output.os, "link", refuse)
    write_text(tmp_path / "x", "a")
    assert names(tmp_path) == ["x"]
    with pytest.raises(FileExistsError):
        write_text(tmp_path / "x", "b")
    assert names(tmp_path) == ["x"]


def test_dated_folders_are_new(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = OutputFolder(None, command="bench"), OutputFolder(None, command="bench")
    assert first.path != second.path
    assert first.path.parent.name == "out" and "bench" in first.path.name
    second.discard_if_empty()
    assert first.path.is_dir() and not second.path.exists()


def test_dated_folders_made_at_once_are_each_their_own(tmp_path, monkeypatch):
    """Neither of two planners may remove the folder that the other is about to write to."""
    monkeypatch.chdir(tmp_path)
    ready = threading.Barrier(8)

    def make(_):
        ready.wait()
        return OutputFolder(None, command="plan").path

    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            assert len(set(pool.map(make, range(8)))) == 8


def test_json_and_yaml_hold_plain_values(tmp_path):
    data = {"a": np.float64(0.1), "b": np.arange(3), "c": math.nan, "d": (1, np.inf), "e": True}
    write_json(tmp_path / "m.json", data)
    read = json.loads((tmp_path / "m.json").read_text())
    assert read == {"a": 0.1, "b": [0, 1, 2], "c": None, "d": [1, None], "e": True}
    numbers = np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(-25, 25)
    assert yaml.safe_load(yaml_text({"x": numbers}))["x"] == numbers.tolist()
