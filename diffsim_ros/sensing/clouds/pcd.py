"""PCD files (.pcd of the Point Cloud Library): ascii, binary and binary_compressed, little-endian.

Every number of the header is checked against the others and against the file's length.  Fields that
are not x, y, z or colour are skipped, whatever their names: those called `_` are padding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ...files import check_unpacked
from . import lzf
from .table import (
    AXES,
    LONGEST,
    PointTable,
    as_declared,
    beyond_end,
    check_columns,
    check_count,
    check_length,
    finite_float,
    finite_or,
    packed_colour,
    split_colour,
    text_rows,
    whole_number,
)

KEYS = (
    "VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA",
)  # fmt: skip
BODIES = ("ascii", "binary", "binary_compressed")
SIZES = {"F": (4, 8), "I": (1, 2, 4, 8), "U": (1, 2, 4, 8)}
COLOURS = ("rgb", "rgba", "r", "g", "b")
TURNED = np.radians(0.1)
"""A VIEWPOINT that turns by less is none that turns."""


class PcdField(NamedTuple):
    """A field of a point: name, type of its numbers, how many they are, bytes and numbers that
    come before it."""

    name: str
    kind: np.dtype
    numbers: int
    offset: int
    column: int


class Layout(NamedTuple):
    """Fields of a point, its bytes and its numbers."""

    fields: tuple[PcdField, ...]
    size: int
    width: int


def read_pcd(path: Path, data: bytes) -> PointTable:
    """The cloud in the bytes of a file; raises InputError naming the file, field and value."""
    words, used = _header(path, data)
    layout = _layout(path, words)
    shape = _shape(path, words)
    count = shape[0] * shape[1]
    kind = words["DATA"][0].lower() if words["DATA"] else ""
    if kind not in BODIES:
        raise InputError(path, "DATA", " ".join(words["DATA"]), ", ".join(BODIES))
    eye, notes = _viewpoint(path, words)
    unknown = [key for key in words if key not in KEYS]
    if unknown:
        notes += (f"lines of the header that are not used: {', '.join(unknown)[:80]}",)
    column, beyond = _body(path, data, used, kind, count, layout)
    points = np.stack([finite_float(column(axis)) for axis in AXES], axis=1)
    colour, more = _colour(path, layout, column, kind == "ascii")
    return PointTable(points, colour, shape, eye, beyond, notes + more)


def _header(path: Path, data: bytes) -> tuple[dict[str, list[str]], int]:
    """Its lines, key -> words, and where the body begins."""
    words: dict[str, list[str]] = {}
    at = 0
    while (end := data.find(b"\n", at, LONGEST)) >= 0:
        key, *rest = data[at:end].decode("ascii", "replace").split() or [""]
        at = end + 1
        if not key or key.startswith("#"):
            continue
        key = "FIELDS" if key == "COLUMNS" else key
        if key in words:
            raise InputError(path, "header", f"{key} twice", "each line once")
        words[key] = rest
        if key == "DATA":
            break
    for key in ("FIELDS", "SIZE", "TYPE", "DATA"):
        if not words.get(key):
            got = sorted(words)[:12] or data[:12]
            raise InputError(path, "header", got, f"a PCD header with {key}")
    return words, at


def _layout(path: Path, words: Mapping[str, list[str]]) -> Layout:
    names = words["FIELDS"]
    check_columns(path, names, (*AXES, *COLOURS))
    numbers = {"SIZE": words["SIZE"], "TYPE": words["TYPE"]}
    numbers["COUNT"] = words.get("COUNT") or ["1"] * len(names)
    for key, given in numbers.items():
        if len(given) != len(names):
            rule = f"one for each of the {len(names)} FIELDS {' '.join(names)}"
            raise InputError(path, key, " ".join(given), rule)
    fields, offset, column = [], 0, 0
    rows = zip(names, numbers["SIZE"], numbers["TYPE"], numbers["COUNT"], strict=True)
    for name, size_word, letter, count_word in rows:
        if letter not in SIZES:
            raise InputError(path, f"field {name}, TYPE", letter, "F, I or U")
        size = whole_number(path, f"field {name}, SIZE", size_word, 1)
        if size not in SIZES[letter]:
            rule = f"{', '.join(map(str, SIZES[letter]))} for TYPE {letter}"
            raise InputError(path, f"field {name}, SIZE", size, rule)
        count = whole_number(path, f"field {name}, COUNT", count_word, 1)
        if count > 1 and name in (*AXES, *COLOURS):
            raise InputError(path, f"field {name}, COUNT", count, "1 for a coordinate or colour")
        kind = np.dtype(f"<{letter.lower()}{size}")
        fields.append(PcdField(name, kind, count, offset, column))
        offset, column = offset + size * count, column + count
    return Layout(tuple(fields), offset, column)


def _shape(path: Path, words: Mapping[str, list[str]]) -> tuple[int, int]:
    """(height, width), of WIDTH and HEIGHT, or a row of POINTS."""

    def number(key: str) -> int | None:
        if key not in words:
            return None
        return whole_number(path, key, " ".join(words[key]))

    points, width, height = number("POINTS"), number("WIDTH"), number("HEIGHT")
    if width is None:
        if points is None:
            raise InputError(path, "header", sorted(words)[:12], "a PCD header with WIDTH")
        height = height or 1
        width = points // height
    height = 1 if height is None else height
    if points is not None and points != width * height:
        raise InputError(path, "POINTS", points, f"WIDTH x HEIGHT = {width * height}")
    check_count(path, "WIDTH x HEIGHT", width * height)
    return height, width


def _viewpoint(path: Path, words: Mapping[str, list[str]]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Place of the sensor, and a note where it is turned: points are as they are stored."""
    given = words.get("VIEWPOINT", ["0"] * 3)
    try:
        numbers = np.array([float(word) for word in given])
    except ValueError:
        numbers = np.array([np.nan])
    turn = numbers[3:]
    sound = len(numbers) in (3, 7) and np.isfinite(numbers).all()
    largest = np.abs(turn).max(initial=0.0)
    if not sound or (len(turn) and not largest):
        rule = "a place x y z, and a quaternion w x y z"
        raise InputError(path, "VIEWPOINT", " ".join(given), rule)
    if not len(turn):
        return numbers, ()
    turn = turn / largest
    angle = 2.0 * np.arctan2(np.linalg.norm(turn[1:]), abs(turn[0]))
    if angle < TURNED:
        return numbers[:3], ()
    note = (
        f"VIEWPOINT turns the sensor by {np.degrees(angle):.1f} deg: points are taken as they are "
        "stored, only its place is used"
    )
    return numbers[:3], (note,)


def _body(
    path: Path, data: bytes, used: int, kind: str, count: int, layout: Layout
) -> tuple[Callable[[str], np.ndarray], int]:
    """Values (count,) of a field by name, and how many points there are beyond the count."""
    fields = {field.name: field for field in layout.fields}
    if kind == "ascii":
        table, beyond = text_rows(path, data[used:], skip=0, count=count, width=layout.width)
        return (lambda name: as_declared(table[:, fields[name].column], fields[name].kind)), beyond
    if kind == "binary":
        end = used + count * layout.size
        check_length(path, len(data) - used, end - used)
        return (
            lambda name: np.ndarray(
                (count,), fields[name].kind, data, used + fields[name].offset, (layout.size,)
            )
        ), beyond_end(data[end:], layout.size)
    raw = _unpacked(path, data, used, count * layout.size)
    return (
        lambda name: np.frombuffer(raw, fields[name].kind, count, count * fields[name].offset)
    ), 0


def _unpacked(path: Path, data: bytes, used: int, size: int) -> bytes:
    """The body of a compressed file: field by field, all points of each."""
    check_length(path, len(data) - used, 8)
    packed, unpacked = np.frombuffer(data, "<u4", 2, used).tolist()
    check_length(path, len(data) - used, 8 + packed)
    if unpacked != size:
        raise InputError(path, "data", f"{unpacked} bytes unpacked", f"the {size} of its header")
    check_unpacked(path, unpacked, packed, "data")
    try:
        return lzf.unpack(data[used + 8 : used + 8 + packed], unpacked)
    except ValueError as error:
        raise InputError(path, "data", str(error), "a sound LZF stream", "damaged?") from error


def _colour(
    path: Path, layout: Layout, column: Callable[[str], np.ndarray], text: bool
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    fields = {field.name: field for field in layout.fields}
    for name in ("rgb", "rgba"):
        if name not in fields:
            continue
        kind, values = fields[name].kind, column(name)
        if kind.itemsize != 4:
            raise InputError(path, f"field {name}, SIZE", kind.itemsize, "4: a byte each, packed")
        if not text:
            return packed_colour(np.ascontiguousarray(values).view("<u4")), ()
        if kind.kind == "f":
            with np.errstate(over="ignore", invalid="ignore"):
                return packed_colour(values.astype("<f4").view("<u4")), ()
        whole = np.clip(finite_or(values, 0.0), -(2.0**31), 2.0**32 - 1).astype(np.int64)
        return packed_colour(whole & 0xFFFFFFFF), ()
    if not all(name in fields for name in "rgb"):
        return None, ()
    return split_colour(column, "rgb", fields["r"].kind)
