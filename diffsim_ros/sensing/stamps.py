"""Times of a topic's messages: the stamps of their headers, beside their times of arrival.

A bag has two clocks, the sensor's and the recorder's. Where the sensor's is not there, repeats or
steps, the other shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .cdr import NANO

NO_STAMPS = "all header stamps are 0: times of arrival are used, with their jitter"
LEAST_STEP = 0.02
"""Steps [s] of the stamps' clock that can be told from times of arrival."""
SPACINGS = 3.0
"""A step is as many usual spacings at least."""
JITTERS = 10.0
"""A step is so many times the usual jitter of arrival at least."""
FIRST = 3600.0
"""A clock [s] whose stamps begin below this may have begun at 0."""
WINDOW = 50
"""Samples on either side of a step by which it is measured."""


def nanoseconds(stamp: Any) -> int:
    """Stamp [ns] of a message's time."""
    return stamp.sec * NANO + stamp.nanosec


def times(
    stamps: Sequence[int] | np.ndarray, arrivals: Sequence[int] | np.ndarray
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Times [ns] (n,) of samples with these stamps and times of arrival [ns], and notes.

    Stamps of 0 are replaced by times of arrival, shifted to the stamps' clock where others have
    one. Where that clock steps and arrivals do not, later stamps are moved by the step.
    """
    stamp, arrival = np.array(stamps, np.int64), np.array(arrivals, np.int64)
    unset = stamp == 0
    if unset.all():
        return arrival, (NO_STAMPS,) if len(stamp) else ()
    notes = []
    if unset[0] and unset.sum() == 1 and stamp[1:].min() < FIRST * NANO:
        unset[0] = False  # simulated time begins at 0
    if unset.any():
        stamp = np.where(unset, arrival + _median((stamp - arrival)[~unset]), stamp)
        notes.append(
            f"{np.count_nonzero(unset)} of {len(stamp)} header stamps are 0, the first that of "
            f"sample {np.argmax(unset)}: times of arrival are used there, with their jitter"
        )
    stamp, found = _without_steps(stamp, arrival)
    notes += found
    same = np.flatnonzero(np.diff(stamp) == 0) + 1
    if len(same):
        notes.append(
            f"{len(same)} stamps are those of the sample before, with other content, the first at "
            f"sample {same[0]}: two publishers on one topic, or a coarse clock?"
        )
    return stamp, tuple(notes)


def _without_steps(stamp: np.ndarray, arrival: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Stamps that go on where their clock stepped, and a note of each step."""
    at = _steps(stamp, arrival)
    if not at:
        return stamp, []
    offset, moved, notes = stamp - arrival, stamp.copy(), []
    edges = [0, *at, len(stamp)]
    for k in range(1, len(edges) - 1):
        before = offset[max(edges[k - 1], edges[k] - WINDOW) : edges[k]]
        after = offset[edges[k] : min(edges[k + 1], edges[k] + WINDOW)]
        step = _median(after) - _median(before)
        spread = [1.25e-6 * np.std(one - one[0]) / np.sqrt(len(one)) for one in (before, after)]
        moved[edges[k] :] -= step
        notes.append(
            f"the clock of the stamps steps by {step * 1e-9:+.6g} s at sample {edges[k]}, times of "
            f"arrival do not: later stamps are moved back by it, to {np.hypot(*spread):.2g} ms"
        )
    return moved, notes


def _steps(stamp: np.ndarray, arrival: np.ndarray) -> list[int]:
    """Samples before which the stamps' clock steps against that of arrival."""
    spacing, heard = (np.diff(one) * 1e-9 for one in (stamp, arrival))
    if len(spacing) < 2 or not (spacing > 0).any():
        return []
    usual = float(np.median(spacing[spacing > 0]))
    jump = spacing - heard
    jitter = 1.4826 * float(np.median(np.abs(jump - np.median(jump))))
    least = max(LEAST_STEP, SPACINGS * usual, JITTERS * jitter)
    odd = (np.abs(jump) > least) & (np.abs(spacing - usual) > least)
    found = np.flatnonzero(odd & ((spacing <= 0) | (heard < usual + least))) + 1
    offset = (stamp - arrival - (stamp[0] - arrival[0])) * 1e-9
    kept: list[int] = []
    for k in found:
        before = offset[max(kept[-1] if kept else 0, k - WINDOW) : k]
        after = offset[k : k + WINDOW]
        lasting = float(np.median(after) - np.median(before))
        if abs(lasting - jump[k - 1]) <= max(0.5 * abs(jump[k - 1]), least):
            kept.append(int(k))
    return kept


def _median(values: np.ndarray) -> int:
    """Median of whole numbers, to the last digit whatever their size."""
    return int(values[0]) + round(float(np.median(values - values[0])))
