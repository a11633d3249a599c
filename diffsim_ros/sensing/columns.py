"""Tables of recordings: the names that programs give to the columns that every table has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..tables import TextTable, number, read_table

TEXTS = (".csv", ".tsv", ".txt", ".tum")
"""Endings of tables."""
TIME = "t"
TIME_NAMES = ("time", "timestamp", "__time", "elapsed", "elapsed_time", "seconds", "sec", "secs",
              "time_s", "t_s", "stamp", "stamp_s", "timestamp_s", "time_sec", "t_sec")  # fmt: skip
"""What `t` is called elsewhere, in small letters and without its unit."""
SECONDS = {"s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "second": 1.0, "ms": 1e-3,
           "msec": 1e-3, "milliseconds": 1e-3, "us": 1e-6, "usec": 1e-6, "microseconds": 1e-6,
           "ns": 1e-9, "nsec": 1e-9, "nanoseconds": 1e-9}  # fmt: skip
"""Seconds in a unit of time."""
METRES = {"m": 1.0, "meters": 1.0, "metres": 1.0, "meter": 1.0, "metre": 1.0, "dm": 0.1,
          "cm": 1e-2, "centimeters": 1e-2, "centimetres": 1e-2, "mm": 1e-3, "millimeters": 1e-3,
          "millimetres": 1e-3, "in": 0.0254, "inches": 0.0254}  # fmt: skip
"""Metres in a unit of length."""
UNIT = re.compile(r"(?P<name>.*?)\s*[\[(](?P<unit>[^\[\]()]*)[\])]")
ENDS = re.compile(r"(?P<name>.+)_(?P<unit>ms|us|ns|msec|usec|nsec)")
"""Names that end with the unit of a time."""


class HeaderName(NamedTuple):
    """Name of a column and the unit that it states, "" where it states none."""

    name: str
    unit: str


def column_of(header: str) -> HeaderName:
    """`px [mm]`, `px (mm)` and `time_ms` as name and unit."""
    match = UNIT.fullmatch(header.strip())
    if match is not None:
        return HeaderName(match["name"].strip(), match["unit"].strip().lower())
    match = ENDS.fullmatch(header.strip())
    if match is None:
        return HeaderName(header.strip(), "")
    return HeaderName(match["name"], match["unit"])


def is_time(header: str) -> bool:
    """True of a name that a column of times has somewhere."""
    name = column_of(header).name.lower().lstrip("_")
    return name == TIME or name in {one.lstrip("_") for one in TIME_NAMES}


def read_timed(path: str | Path, accepted: str) -> TextTable:
    """read_table with its column of times called t, in seconds.

    A table without a column t has one of TIME_NAMES, if exactly one; its name and unit are notes.
    """
    table = read_table(path, accepted)
    if TIME in table.header:
        return table
    found = [k for k, name in enumerate(table.header) if is_time(name)]
    if len(found) != 1:
        return table
    (k,) = found
    unit = column_of(table.header[k]).unit
    if unit and unit not in SECONDS:
        rule = "seconds: " + ", ".join(SECONDS)
        raise InputError(path, f"header, {table.header[k]}", unit, rule)
    header = [*table.header]
    header[k] = TIME
    notes = (*table.notes, f"column {table.header[k]} is the time")
    if SECONDS.get(unit, 1.0) == 1.0:
        return table._replace(header=header, notes=notes)
    rows = [_scaled(row, k, unit) for row in table.rows]
    return TextTable(header, rows, table.lines, (*notes, f"its {unit} are read as seconds"))


def _scaled(row: list[str], k: int, unit: str) -> list[str]:
    """The row with its cell k in seconds; a cell that is no number stays, for the reader."""
    try:
        value = number(row[k]) * SECONDS[unit]
    except (ValueError, IndexError):
        return row
    return [*row[:k], repr(value), *row[k + 1 :]]


SLOWEST = 1.0
"""Spacing [s] from which on the stamps of a moving body are hardly seconds."""
MANY = 20
"""Fewest samples by which a clock is judged."""
CLOCKS = (("milliseconds", 1e3, 700.0, 1e14), ("microseconds", 1e6, 7e5, 1e17),
          ("nanoseconds", 1e9, np.inf, np.inf))  # fmt: skip
"""Unit, its count in a second, the longest spacing and the latest stamp since 1970 in it."""
LATEST = 1e11
"""[s] since 1970: the year 5138."""


def check_seconds(place: str, t: np.ndarray) -> None:
    """Refuse stamps (n,) that are in milliseconds, microseconds or nanoseconds.

    Spacings tell it, and stamps since 1970, which are 1.7e9 in seconds.
    """
    t = t[np.isfinite(t)]
    step = np.diff(t)
    step = step[step > 0]
    if not len(step):
        return
    usual, latest = float(np.median(step)), float(np.abs(t).max())
    if latest > LATEST:
        unit, count = next((u, c) for u, c, _, last in CLOCKS if latest < last)
    elif len(t) >= MANY and usual >= SLOWEST:
        unit, count = next((u, c) for u, c, most, _ in CLOCKS if usual < most)
    else:
        return
    got = f"{usual:.6g} s between samples, the first at {t[0]:.15g} s"
    remedy = f"stamps in {unit}? divide by {count:.0f}"
    raise InputError(place, "t", got, "stamps in seconds", remedy)
