"""Stamps in the names of a folder's files.

Seconds with a decimal point, or whole nano-, micro- or milliseconds since 1970.  pcl_ros writes
SECONDS.NANOSECONDS without leading zeros: 900.24482763 is 24 ms after 900, not 245.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

NANO_DIGITS = 9
UNITS = {13: ("milliseconds", 1e-3), 16: ("microseconds", 1e-6)}
"""Digits of a whole number of the years 2001 to 2286 -> its unit [s]."""
PCL = (
    "file names are read as SECONDS.NANOSECONDS without leading zeros, as pcl_ros writes them: "
    "their digits differ, and none begins with 0"
)
DECIMAL = (
    "file names are read as decimal seconds, though their digits differ; if they are "
    "SECONDS.NANOSECONDS, fill the nanoseconds to 9 digits"
)


class NamedStamps(NamedTuple):
    """Stamp [s] of each name, None of one that is none; notes: how they were read."""

    stamps: Sequence[float | None]
    notes: tuple[str, ...] = ()


def stamps_of(stems: Sequence[str]) -> NamedStamps:
    """Stamps of file names without their suffix, in the order of the names."""
    parts = [re.fullmatch(r"(\d{1,18})\.(\d{1,18})", stem) for stem in stems]
    if any(parts):
        return _of_parts([None if p is None else p.groups() for p in parts])
    whole = [int(stem) if re.fullmatch(r"\d{13}|\d{16,19}", stem) else None for stem in stems]
    digits = {len(stem) for stem in stems}
    if len(digits) == 1 and (unit := UNITS.get(digits.pop())) and all(w is not None for w in whole):
        note = f"file names are read as {unit[0]} since 1970"
        return NamedStamps([w * unit[1] for w in whole if w is not None], (note,))
    return NamedStamps([
        None if w is None or len(stem) == 13 else w * 1e-9
        for w, stem in zip(whole, stems, strict=True)
    ])  # fmt: skip


def _of_parts(parts: Sequence[tuple[str, ...] | None]) -> NamedStamps:
    decimal = [None if p is None else float(".".join(p)) for p in parts]
    known = [p for p in parts if p is not None]
    lengths = {len(fraction) for _, fraction in known}
    if len(lengths) == 1 and lengths != {NANO_DIGITS - 1}:
        return NamedStamps(decimal)  # either reading is the same, or no nanoseconds
    zeros = any(fraction[0] == "0" and len(fraction) > 1 for _, fraction in known)
    if zeros or max(lengths) > NANO_DIGITS or max(lengths) < NANO_DIGITS - 1:
        return NamedStamps(decimal)
    nano = [None if p is None else int(p[0]) + 1e-9 * int(p[1]) for p in parts]
    if _unevenness(nano) < _unevenness(decimal):
        return NamedStamps(nano, (PCL,))
    return NamedStamps(decimal, (DECIMAL,) if len(lengths) > 1 else ())


def _unevenness(stamps: Sequence[float | None]) -> float:
    """Spread of the spacings over their median: 0 of a regular clock without gaps."""
    dt = np.diff(np.sort([s for s in stamps if s is not None]))
    middle = float(np.median(dt)) if len(dt) else 0.0
    return float(np.mean(np.abs(dt - middle))) / middle if middle > 0.0 else np.inf
