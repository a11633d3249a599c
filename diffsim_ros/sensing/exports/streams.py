"""What the readers of exports share: cells to numbers, names, axes, clocks, streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...rotation import quat_exp, quat_from_matrix, quat_multiply, quat_rotate
from ...tables import Sheet, check_finite, number_table
from ..markers import labelled_names
from ..observation import Observation

Y_UP = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
"""Turn of a world with y up to one with z up: x stays, y becomes z."""
TURNED = "y is up there: turned to z up (x stays, y becomes z)"
OFF_GRID = 0.05
"""Distance of a time from the frame's own [frames] beyond which the column of times is used."""


def data_rows(
    path: Path,
    sheet: Sheet,
    begin: int,
    width: int,
    *,
    cut_blanks: bool = False,
    numbered: bool = True,
) -> tuple[np.ndarray, list[str]]:
    """Numbers (n, width) of the lines from row `begin` up to the first that is empty, and notes.

    cut_blanks   lines may lack the triples at their end that were not seen
    numbered     the first cell is a frame: False, and a line of empty cells is a lost frame
    Empty cells are NaN; a last line that is cut is left out, with a note.
    Raises InputError naming a line of other width, or with a word in it.
    """
    rows, lines, notes = [], [], []
    for row, line in zip(sheet.rows[begin:], sheet.lines[begin:], strict=True):
        if not any(cell.strip() for cell in row) and (numbered or len(row) < 2):
            break
        rows.append(row[:width] if not any(c.strip() for c in row[width:]) else row)
        lines.append(line)
    if len(rows) > 1 and len(rows[-1]) < width == len(rows[-2]):
        notes.append(f"the last line, {lines[-1]}, is cut and left out")
        rows, lines = rows[:-1], lines[:-1]
    if not rows:
        raise InputError(path, "frames", 0, "at least one line of numbers below the header")
    if cut_blanks:
        rows = [row + [""] * (width - len(row)) if _short(row, width) else row for row in rows]
    table = number_table(path, [str(k + 1) for k in range(width)], rows, lines)
    check_finite(path, table, lines)
    return table, notes


def _short(row: Sequence[str], width: int) -> bool:
    """True of a line that lacks whole triples at its end."""
    return 2 < len(row) < width and (width - len(row)) % 3 == 0


def frame_times(
    frame: np.ndarray, rate: float, time: np.ndarray | None = None
) -> tuple[np.ndarray, list[str]]:
    """Times [s] of numbered frames at a rate [Hz], and notes.

    A column of times has few digits: where it agrees with frame / rate, that is taken.
    """
    even = (frame - frame[0]) / rate
    if time is None:
        return even, []
    off = float(np.nanmax(np.abs(time - time[0] - even), initial=0.0))
    if off * rate <= OFF_GRID:
        return time[0] + even, []
    return time, [f"times are those of the column: they differ from frame / rate by {off:.3g} s"]


def upright(position: np.ndarray) -> np.ndarray:
    """Places (..., 3) of a world with y up, in one with z up."""
    return quat_rotate(Y_UP, position)


def turned(orientation: np.ndarray) -> np.ndarray:
    """Orientations (n, 4), body to a world with y up, as body to one with z up."""
    return quat_multiply(Y_UP, orientation)


def from_euler(angles: np.ndarray, order: str) -> np.ndarray:
    """Quaternions (n, 4) of angles [rad] (n, 3) about axes that turn with the body.

    order   "XYZ": first about x, then about the new y; the angles in that order
    """
    result = None
    for k, axis in enumerate(order):
        step = quat_exp(angles[:, k, None] * np.eye(3)["XYZ".index(axis)])
        result = step if result is None else quat_multiply(result, step)
    assert result is not None
    return result


def from_matrix(matrix: np.ndarray) -> np.ndarray:
    """Unit quaternions (n, 4) of rotation matrices (n, 3, 3), NaN where they have no numbers."""
    found = np.full((len(matrix), 4), np.nan)
    good = np.isfinite(matrix).all(axis=(1, 2))
    if good.any():
        found[good] = quat_from_matrix(matrix[good])
    return found


def body_stream(
    path: Path, what: str, body: str, t: np.ndarray, position: np.ndarray,
    orientation: np.ndarray, notes: Sequence[str], *, several: bool, epoch: int = 0,
) -> Observation:  # fmt: skip
    """Poses of a body: places [m] (n, 3), quaternions (n, 4); lost where either is no number."""
    lost = ~(np.isfinite(position).all(axis=1) & np.isfinite(orientation).all(axis=1))
    position = np.where(lost[:, None], np.nan, position)
    orientation = np.where(lost[:, None], np.nan, orientation)
    if lost.all():
        raise InputError(path, body, "never seen", "a body that is seen in some frame")
    return Observation(
        kind="poses", t=t, names=(body,), source=str(path), format=what, notes=tuple(notes),
        values={"position": position[:, None], "orientation": orientation[:, None]},
        sensor=body if several else "", epoch=epoch,
    )  # fmt: skip


def marker_stream(
    path: Path, what: str, places: Mapping[str, np.ndarray], t: np.ndarray, notes: Sequence[str]
) -> Observation:  # fmt: skip
    """Markers: label -> places [m] (n, 3), NaN where unseen.

    Labels become names in small letters and digits, without a subject that all share. Fragments
    without a label are left out, with a note.
    Raises InputError: no labelled marker, labels that are empty or become one name.
    """
    labels = list(places)
    names, kept, more = labelled_names(path, labels, subject=False)
    values = {"position": np.stack([places[labels[k]] for k in kept], axis=1)}
    return Observation(
        kind="markers", t=t, names=names, values=values, source=str(path), format=what,
        notes=(*notes, *more), frame="tracker",
    )  # fmt: skip
