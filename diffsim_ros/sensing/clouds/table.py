"""Columns of a point cloud's file, whatever its format: rows of text, the length, colour.

Memory is bounded by the file's size: a count is compared with it before anything is allocated.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import InputError

MOST = 2**28
"""Points of a cloud."""
LARGEST = 2**30
"""Bytes of a file."""
LONGEST = 65536
"""Bytes in which a header must end."""
AXES = ("x", "y", "z")
BEYOND = "beyond the count of the header"
"""Reason of a cloud for points that a file holds and its header does not count."""


class PointTable(NamedTuple):
    """What a file holds of a cloud.

    points   in the file's unit                                              (n, 3) float64
    colour   red, green, blue from 0 to 1, or None                           (n, 3) float64
    shape    (height, width);  eye: where the sensor is (3,)
    beyond   further points in the file than its header counts
    notes    what was read in a way that the file does not state
    """

    points: np.ndarray
    colour: np.ndarray | None
    shape: tuple[int, int]
    eye: np.ndarray
    beyond: int = 0
    notes: tuple[str, ...] = ()


def whole_number(path: Path, key: str, word: str, least: int = 0) -> int:
    """An integer of a header, at least `least`."""
    if not re.fullmatch(r"-?[0-9]{1,18}", word) or int(word) < least:
        raise InputError(path, key, word, f"a whole number, at least {least}")
    return int(word)


def check_count(path: Path, key: str, count: int) -> None:
    """Raise unless a cloud may have so many points."""
    if count < 1:
        raise InputError(path, key, count, "at least one point", "the cloud is empty")
    if count > MOST:
        raise InputError(path, key, count, f"at most {MOST} points")


def check_length(path: Path, got: int, wanted: int) -> None:
    """Raise unless the body of a file has the bytes that its header announces."""
    if got < wanted:
        raise InputError(path, "data", f"{got} bytes", f"the {wanted} of its header", "cut?")


def check_columns(path: Path, names: Sequence[str], used: Sequence[str]) -> None:
    """Raise unless x, y, z are there, and what is used once only; others may repeat (padding)."""
    for axis in AXES:
        if axis not in names:
            raise InputError(path, "fields", " ".join(names), f"a field {axis!r}")
    for name in used:
        if names.count(name) > 1:
            raise InputError(path, f"field {name}", "given twice", "each of x, y, z, colour once")


def beyond_end(rest: bytes, point: int) -> int:
    """Points that stand in the bytes after a cloud; zeros and blanks pad a file."""
    return len(rest) // point if rest.strip(b"\0\r\n\t ") else 0


def text_rows(
    path: Path, body: bytes, *, skip: int, count: int, width: int, after: int = 0
) -> tuple[np.ndarray, int]:
    """Numbers (count, width) of a body of text, a point a line, and how many lines are left over.

    skip, after   lines of other things before and after the points; blank lines do not count
    """
    total = sum(1 for line in _lines(body) if line.strip())
    if total < skip + count + after:
        got, wanted = max(total - skip, 0), count + after
        raise InputError(path, "data", f"{got} points", f"the {wanted} of its header", "cut?")
    lines = _lines(body)
    for _ in range(skip):
        while not lines.readline().strip():
            pass
    start = lines.tell()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of blank lines
        try:
            table = np.loadtxt(lines, max_rows=count, comments=None, ndmin=2)
        except (ValueError, OverflowError, MemoryError):
            table = np.zeros((0, 0))
    if table.shape != (count, width):
        lines.seek(start)
        raise _bad_row(path, lines, count, width)
    return table, total - skip - count - after


def _lines(body: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(body), encoding="latin-1")


def _bad_row(path: Path, lines: io.TextIOWrapper, count: int, width: int) -> InputError:
    """The first line that is not `width` numbers."""
    rule = f"{width} numbers, one for each field"
    i = 0
    while i < count:
        line = lines.readline()
        if not line:
            break
        words = line.split()
        if not words:
            continue
        if len(words) != width:
            return InputError(path, f"data, point {i}", line.strip()[:200], rule, "cut?")
        for word in words:
            try:
                float(word if "_" not in word else "_")
            except ValueError:
                return InputError(path, f"data, point {i}", word[:200], rule)
        i += 1
    return InputError(path, "data", "what is no table", f"{count} lines of {rule}")


def as_declared(values: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Numbers of a text, rounded as those of a binary file of the same header."""
    if kind.kind != "f":
        return values
    with np.errstate(over="ignore"):
        return values.astype(kind)


def finite_float(values: np.ndarray) -> np.ndarray:
    """float64 of any numbers; signalling NaN, too, are NaN."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def finite_or(values: np.ndarray, instead: float) -> np.ndarray:
    """The values, with `instead` in place of what is not finite."""
    return np.where(np.isfinite(values), values, instead)


def packed_colour(bits: np.ndarray) -> np.ndarray:
    """(n, 3) from 0 to 1 of 32 bits each, red in bits 16 to 23."""
    return np.stack([(bits >> shift) & 255 for shift in (16, 8, 0)], axis=1) / 255.0


def split_colour(
    column: Callable[[str], np.ndarray], names: Sequence[str], kind: np.dtype
) -> tuple[np.ndarray, tuple[str, ...]]:
    """(n, 3) from 0 to 1 of three columns, and a note where their range was guessed.

    kind   of their numbers in the file: of one byte from 0 to 255, of two from 0 to 65535, of
           floats from 0 to 1
    """
    values = np.stack([finite_or(column(name).astype(np.float64), 0.0) for name in names], axis=1)
    if kind.kind == "f":
        if values.max() <= 1.0:
            return values, ()
        return values / 255.0, ("colours above 1 are taken to reach from 0 to 255",)
    return values / (65535.0 if kind.itemsize == 2 else 255.0), ()
