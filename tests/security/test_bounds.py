"""Bounds of messages, YAML, archives and files: what would take all time or memory is refused."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError, nearest, shown
from diffsim_ros.files import check_unpacked, read_bytes, require_regular
from diffsim_ros.npz import numbers, read_npz, whole_numbers
from diffsim_ros.tables import COLUMNS, read_header, read_rows
from diffsim_ros.yaml_file import DEEPEST, MOST, parse_yaml, read_yaml

BOUND = 20.0
"""CPU seconds that no bounded call comes near; unbounded, each takes minutes or gigabytes."""


def nested(levels: int = 40, width: int = 9) -> list:
    """A list of a few hundred references that stands for width**levels values."""
    value: list = ["x"] * width
    for _ in range(levels):
        value = [value] * width
    return value


def itself() -> list:
    value: list = []
    value.append(value)
    return value


LARGE = {
    "nested": nested(), "itself": itself(), "nested values": {"a": nested()},
    "tuple": (nested(),), "text": "x" * 10**7, "spaces": " " * 10**7, "number": 10**10000,
    "array": np.zeros(10**6), "objects": np.array([nested(2)], object),
    "error": ValueError(nested()), "range": range(10**9),
    "mapping": {i: i for i in range(10**5)}, "bytes": b"x" * 10**7,
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_any_value_is_shown_shortly(name):
    value = LARGE[name]
    start = time.process_time()
    assert 0 < len(shown(value)) <= 120
    assert len(str(InputError("file", "key", value, "a number"))) < 300
    assert time.process_time() - start < BOUND


SHOWN = [
    ([1, [2.5, "a"], (3,), {"b": None}, set()], "[1, [2.5, 'a'], (3,), {'b': None}, set()]"),
    ("two  words", "'two words'"), (np.zeros(2), "array([0., 0.])"), (True, "True"),
    (np.zeros((40, 9)), "array of shape (40, 9) of float64"), (KeyError("x"), "KeyError('x')"),
    (10**10000, "a whole number of 33220 bits"), ([1] * 100, "[" + "1, " * 38 + "1 ..."),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), SHOWN, ids=range(len(SHOWN)))
def test_what_fits_is_shown_whole(value, text):
    assert shown(value) == text


def test_an_object_whose_repr_fails_is_named():
    class Odd:
        def __repr__(self):
            raise RuntimeError("no")

    assert shown([Odd()]) == "[<Odd without a repr: RuntimeError>]"


def test_messages_are_bounded_in_every_part():
    error = InputError("p" * 10**6, "k" * 10**6, "v" * 10**6, "r" * 10**6, "m" * 10**6)
    assert len(str(error)) <= 4000
    start = time.process_time()
    assert len(nearest("x" * 10**6, (f"{i:06d}" * 100 for i in range(20_000)))) < 20_000
    assert time.process_time() - start < BOUND


# ---------------------------------------------------------------------------- YAML


def bomb(levels: int, width: int = 9) -> str:
    lines = ["a0: &a0 [x, x, x]"]
    names = [", ".join([f"*a{i}"] * width) for i in range(levels)]
    return "\n".join(lines + [f"a{i + 1}: &a{i + 1} [{n}]" for i, n in enumerate(names)])


MERGES = bomb(9).replace("[x, x, x]", "{x: 1}").replace("[", "{<<: [").replace("]", "]}")


@pytest.mark.parametrize(
    ("text", "words"),
    [(bomb(9), f"more than {MOST} values"), (bomb(30, 2), "more than"),
     (MERGES, "more than"),
     ("[" * 500, f"more than {DEEPEST} levels"), (bomb(80, 1), f"more than {DEEPEST} levels"),
     ("a: &a [*a]", "an alias within"), ("a: 1\na: 2", "given twice"),
     ("a: !!int x", "ValueError"), ("a: 2001-13-45", "ValueError"), ("a: !!bool x", "KeyError"),
     ("a: !!timestamp x", "AttributeError"), ("a: !!int ''", "IndexError"),
     ("a: " + "9" * 5000, "a number of 5000 characters"), ("a: \ud800", "UnicodeEncodeError"),
     ("a: !!python/object/apply:os.getcwd []", "could not determine a constructor")],
)  # fmt: skip
def test_yaml_beyond_the_bounds_is_refused(text, words):
    start = time.process_time()
    with pytest.raises(InputError, match=words):
        parse_yaml(text, "file.yaml")
    assert time.process_time() - start < BOUND


def test_yaml_keeps_anchors_merges_and_large_files():
    text = "base: &base {a: 1, b: 2}\none: {<<: *base, b: 3}\nall: [*base, *base]\n"
    one = {"a": 1, "b": 2}
    assert parse_yaml(text, "") == {"base": one, "one": {"a": 1, "b": 3}, "all": [one, one]}
    rows = "positions: [" + "[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], " * 30_000 + "]"
    assert len(parse_yaml(rows, "")["positions"]) == 30_000
    deep = "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)
    assert parse_yaml(deep, "") is not None


# ---------------------------------------------------------------------------- files


def test_only_regular_files_are_read(tmp_path: Path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "large").write_bytes(bytes(11))
    for name, words in (("fifo", "a FIFO"), ("zeros", "a device"), (".", "a folder"),
                        ("loop", "symbolic"), ("none", "no such file"), ("n" * 300, "too long"),
                        ("a\0b", "null"), ("large", "at most 10 bytes")):  # fmt: skip
        for reader in (read_bytes, require_regular):
            with pytest.raises(InputError, match=words):
                reader(tmp_path / name, "a file", limit=10)
    with pytest.raises(InputError, match="a FIFO"):
        read_yaml(tmp_path / "fifo")
    assert require_regular(tmp_path / "large", "a file") == 11


def test_what_unfolds_without_end_is_refused():
    check_unpacked("x", 10**9, 10**8)
    check_unpacked("x", 10**6, 1)
    with pytest.raises(InputError, match="unfold"):
        check_unpacked("x", 10**9, 10**6)


def test_npz_arrays_have_kinds_and_shapes(tmp_path: Path):
    path = tmp_path / "a.npz"
    arrays = {"t": np.arange(3), "q": np.zeros((3, 2), order="F"), "n": np.array(["a", "b"])}
    np.savez_compressed(path, **arrays)
    found = read_npz(path, "an NPZ")
    assert all(np.array_equal(found[key], value) for key, value in arrays.items())
    assert read_npz(path, "an NPZ", wanted=["t"]).keys() == {"t"}
    assert numbers(path, found, "q", (3, None)).dtype == float
    for key, shape, words in (("q", (2, 3), "accepted: shape \\(2, 3\\)"), ("n", (2,), "real"),
                              ("t", (3, 1), "shape \\(3, 1\\)")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            numbers(path, found, key, shape)
    with pytest.raises(InputError, match="a whole number"):
        whole_numbers(path, {"x": np.array([0.0, np.nan])}, "x", (2,))
    np.savez(path, x=np.array([{}], object))
    with pytest.raises(InputError, match="no objects"):
        read_npz(path, "an NPZ")


def test_tables_have_few_columns(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("\ufeff a ,b\n1,2\n\n3\n", encoding="utf-8")
    assert read_header(path, "a table") == ["a", "b"]
    assert read_rows(path, "a table") == (["a", "b"], [["1", "2"], [], ["3"]])
    path.write_text("x," * (COLUMNS + 1))
    with pytest.raises(InputError, match="columns"):
        read_rows(path, "a table")
    path.write_text('a,b\n"1,2\n' + "x" * 200_000)
    with pytest.raises(InputError, match="a table"):
        read_rows(path, "a table")
