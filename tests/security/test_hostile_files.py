"""A seeded part of `./run validate security`, and of the fuzzers."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from diffsim_ros.errors import InputError
from validation import fuzz_readers, security
from validation.hostile import Case, Outcome, judged, verdict
from validation.hostile_seeds import SEEDS

pytest.importorskip("meshio")
pytest.importorskip("open3d")
TENTH = 10


@pytest.fixture(scope="module", autouse=True)
def warmed():
    security.warm()


def test_a_tenth_of_the_hostile_files_is_refused():
    every = security.cases(seed=0)
    assert len(every) >= security.LEAST
    assert len({(c.kind, c.name) for c in every}) == len(every)
    found = security.outcomes(every[::TENTH])
    assert not [f"{c.kind}: {c.name}: {text}" for c, o in found if (text := verdict(c, o))]
    assert sum(o.end == "refused" for _, o in found) > 0.8 * len(found)


def test_nothing_in_a_file_is_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Pickles, code in definitions and headers: no folder "executed" appears."""
    monkeypatch.chdir(tmp_path)
    words = ("a pickle", "code in", "code as", "python")
    some = [c for c in security.cases() if any(w in c.name for w in words)]
    assert len(some) > 8
    for case, outcome in judged(some, tmp_path / "cases"):
        assert outcome.end == "refused", (case.name, outcome)
    assert not [p for p in tmp_path.rglob("executed")]


def test_the_judge_sees_hangs_crashes_and_other_errors(tmp_path: Path, monkeypatch):
    """A case that is read, raises, ends its process or takes memory is wrong, each by its name."""
    from validation import hostile

    ends = {
        "reads": lambda s: None,
        "raises": lambda s: {}[s],
        "dies": lambda s: os.kill(os.getpid(), signal.SIGKILL),
        "grows": lambda s: _refuse(bytearray(os.urandom(1)) * (600 * 2**20)),
        "refuses": lambda s: _refuse(None),
        "writes": lambda s: (Path("/nowhere/x").open("a"), _refuse(None)),
        "looks up": lambda s: (socket.getaddrinfo("127.0.0.1", 9), _refuse(None)),
    }
    monkeypatch.setattr(hostile, "READERS", ends)
    cases = [Case("test", name, name, lambda folder: folder) for name in ends]
    found = {c.name: (o, verdict(c, o)) for c, o in judged(cases, tmp_path)}
    assert found["reads"][1].startswith("read instead")
    assert found["raises"][1].startswith("KeyError instead")
    assert found["dies"][0].end == "SIGKILL"
    assert found["grows"][1].endswith("MB")
    assert found["refuses"][1] == ""
    for name in ("writes", "looks up"):
        assert found[name][0].end == "did what it must not"
    assert verdict(cases[0], Outcome("refused", 9.0, 0)) == "9.0 s"


def _refuse(value: object) -> None:
    raise InputError("a file", "", type(value).__name__, "something else")


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_corrupted_files_are_read_or_refused(first: int):
    for seed in range(first, first + 50):
        fuzz_readers.program(seed)


def test_sound_files_are_read(tmp_path: Path):
    """What the hostile files are made from is no reason to refuse them."""
    cases = [
        Case("sound", name, seed.kind, lambda f, s=seed: _write(f, s), refused=False)
        for name, seed in SEEDS.items()
    ]
    for case, outcome in judged(cases, tmp_path):
        assert outcome.end == "read", (case.name, outcome)


def _write(folder: Path, seed) -> Path:
    path = folder / seed.name
    path.write_bytes(seed.make())
    return path
