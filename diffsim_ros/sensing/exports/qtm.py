"""TSV that Qualisys Track Manager exports: 3D (markers) and 6D (rigid bodies), in millimetres.

The header has a key and its values a line; NULL data are blank, zeros, or a word.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import InputError
from ...tables import Sheet, read_sheet
from ..formats import Export
from ..observation import Observation
from .streams import (
    body_stream,
    data_rows,
    frame_times,
    from_euler,
    from_matrix,
    marker_stream,
)

NAME = "QTM TSV"
KEYS = ("NO_OF_FRAMES", "NO_OF_CAMERAS", "NO_OF_MARKERS", "NO_OF_BODIES", "FREQUENCY",
        "DATA_INCLUDED", "MARKER_NAMES", "BODY_NAMES", "FILE_VERSION")  # fmt: skip
PER_BODY = {16: (0, 7), 15: (0, 6), 12: (0, 3), 7: (0, None), 6: (0, None)}
"""Columns of a body -> where its place begins, and its matrix: x y z roll pitch yaw residual and
nine of the matrix, without residual, without angles; or angles alone."""
METRE = 1e-3
DETERMINANT = 1e-2
"""Accepted error of a rotation matrix that was written with few digits."""
SEARCHED = 60
"""Lines in which the header ends."""


def holds(head: Sheet) -> bool:
    """True where two of the first lines begin with keys of QTM."""
    return sum(bool(row) and row[0].strip() in KEYS for row in head.rows[:20]) > 1


def read(path: Path) -> list[Observation]:
    """Labelled markers of a 3D file, or poses of every body of a 6D file.

    Raises InputError: a frequency that is no number, as many columns as no layout has, angles
    without a matrix.
    """
    sheet = read_sheet(path, "a TSV of QTM")
    header, begin = _header(sheet)
    rate = _rate(path, header)
    kind = (header.get("DATA_INCLUDED") or [""])[0].upper()
    names = header.get("BODY_NAMES" if kind == "6D" else "MARKER_NAMES", [])
    if kind not in ("3D", "6D") or not names:
        got = kind or "no DATA_INCLUDED"
        raise InputError(path, "DATA_INCLUDED", got, "3D with MARKER_NAMES, or 6D with BODY_NAMES")
    width = len(sheet.rows[begin]) if begin < len(sheet.rows) else 0
    width = max([width, *(len(row) for row in sheet.rows[begin : begin + SEARCHED])])
    table, notes = data_rows(path, sheet, begin, width, numbered=False)
    while width and np.isnan(table[:, width - 1]).all() and width % len(names):
        table, width = table[:, :-1], width - 1  # a tab at the ends of lines
    ahead = _ahead(table, rate)
    each = _layout(path, kind, len(names), width - len(ahead))
    frame = table[:, ahead["frame"]] if "frame" in ahead else np.arange(len(table))
    time = table[:, ahead["time"]] if "time" in ahead else None
    t, clock = frame_times(frame, rate, time)
    declared = (header.get("NO_OF_FRAMES") or [""])[0]
    if declared.isdigit() and int(declared) != len(table):
        notes.append(f"{len(table)} frames of the {declared} that the header states")
    notes = [*sheet.notes[1:], f"{rate:g} Hz by the header; {kind} in mm", *notes, *clock]
    values = table[:, len(ahead) :].reshape(len(table), len(names), each)
    if kind == "3D":
        lost = (values[:, :, :3] == 0.0).all(axis=2)
        if lost.any():
            notes.append(f"{int(lost.sum())} places that are exactly 0 0 0 are lost samples")
        places = np.where(lost[..., None], np.nan, METRE * values[:, :, :3])
        return [marker_stream(path, NAME, _apart(path, names, places), t, notes)]
    return _bodies(path, names, values, t, notes)


def _header(sheet: Sheet) -> tuple[dict[str, list[str]], int]:
    """Values by key, and the index of the first line of numbers."""
    found: dict[str, list[str]] = {}
    for k, row in enumerate(sheet.rows[:SEARCHED]):
        if not any(cell.strip() for cell in row):
            continue
        first = row[0].strip()
        if _starts_with_number(first) or (not first and len(row) > 3 and _numbers(row)):
            return found, k
        values = [cell.strip() for cell in row[1:]]
        while values and not values[-1]:
            values.pop()
        found.setdefault(first, values)
    return found, len(sheet.rows)


def _starts_with_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(row: list[str]) -> bool:
    return all(_starts_with_number(cell) for cell in row if cell.strip())


def _rate(path: Path, header: dict[str, list[str]]) -> float:
    text = (header.get("FREQUENCY") or [""])[0]
    rate = float(text) if _starts_with_number(text) else 0.0
    if not (np.isfinite(rate) and rate > 0):
        remedy = "an external time base has no frequency: export the column of times, as `t`"
        raise InputError(path, "FREQUENCY", text or "none", "a number > 0 [Hz]", remedy)
    return rate


def _ahead(table: np.ndarray, rate: float) -> dict[str, int]:
    """Columns of frames and times before the data, by their steps: 1, and 1 / rate."""
    found: dict[str, int] = {}
    for k in range(min(2, table.shape[1])):
        step = np.diff(table[:, k])
        if not np.isfinite(step).all():
            break
        # times are written with five digits
        if "frame" not in found and "time" not in found and (step == 1.0).all() and rate != 1.0:
            found["frame"] = k
        elif "time" not in found and (np.abs(step - 1.0 / rate) < 2e-5).all():
            found["time"] = k
        else:
            break
    return found


def _layout(path: Path, kind: str, count: int, width: int) -> int:
    """Columns of each name."""
    per = (3, 4) if kind == "3D" else tuple(PER_BODY)
    each = next((one for one in per if one * count == width), 0)
    if not each:
        rule = f"{' or '.join(map(str, per))} for each of {count} names"
        raise InputError(path, "columns beside frame and time", width, rule)
    return each


def _apart(path: Path, names: list[str], places: np.ndarray) -> dict[str, np.ndarray]:
    """Places (n, 3) by label; InputError for a label that is given twice."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(path, "MARKER_NAMES", f"{twice!r} twice", "each label once")
    return {name: places[:, k] for k, name in enumerate(names)}


def _bodies(
    path: Path, names: list[str], values: np.ndarray, t: np.ndarray, notes: list[str]
) -> list[Observation]:
    """Poses of every body; a frame of zeros is one in which it was lost."""
    _, begin = PER_BODY[values.shape[2]]
    if begin is None:
        rule = "the rotation matrix of every body, Rot[0] to Rot[8]"
        remedy = "angles alone depend on QTM's settings: export with the rotation matrix"
        raise InputError(path, "columns", f"{values.shape[2]} for each body", rule, remedy)
    found = []
    for k, name in enumerate(names):
        own = values[:, k]
        matrix = own[:, begin : begin + 9].reshape(-1, 3, 3)
        empty = ((matrix == 0.0) | np.isnan(matrix)).all(axis=(1, 2))
        lost = (own[:, :3] == 0.0).all(axis=1) & empty
        matrix = np.where(lost[:, None, None], np.nan, matrix)
        off = np.abs(np.linalg.det(np.nan_to_num(matrix)) - 1.0)
        bad = np.flatnonzero(np.isfinite(matrix).all(axis=(1, 2)) & (off > DETERMINANT))
        if len(bad):
            key, got = f"{name}, frame {bad[0]}", f"determinant off by {off[bad[0]]:.4g}"
            raise InputError(path, key, got, "a rotation matrix, Rot[0] to Rot[8]")
        columns, said = _by_columns(own[:, 3:6] if begin > 5 else None, matrix)
        matrix = matrix.transpose(0, 2, 1) if columns else matrix
        place = np.where(lost[:, None], np.nan, METRE * own[:, :3])
        own_notes = [f"body {name}, {said}", *notes]
        if lost.any():
            own_notes.append(f"{int(lost.sum())} frames of zeros are lost samples")
        q, several = from_matrix(matrix), len(names) > 1
        found.append(body_stream(path, NAME, name, t, place, q, own_notes, several=several))
    return found


def _by_columns(angles: np.ndarray | None, matrix: np.ndarray) -> tuple[bool, str]:
    """Whether matrices (n, 3, 3), read row by row, are written column by column, and what shows it.

    QTM writes them so; angles (n, 3) [deg], roll, pitch and yaw about axes that turn with the body,
    may show the reverse.
    """
    usual = "Rot[0] to Rot[8] taken column by column, as QTM writes them"
    if angles is None:
        return True, usual
    good = np.isfinite(matrix).all(axis=(1, 2)) & np.isfinite(angles).all(axis=1)
    if not good.any():
        return True, usual
    q = from_euler(np.radians(angles[good]), "XYZ")
    rows, columns = matrix[good], matrix[good].transpose(0, 2, 1)
    near, turned = (
        np.median(1.0 - np.abs(np.sum(q * from_matrix(one), axis=1))) for one in (rows, columns)
    )
    if near < 1e-6 < turned:
        return False, "Rot[0] to Rot[8] taken row by row, as roll, pitch and yaw show"
    return True, usual


EXPORT = Export(NAME, ("markers", "poses"), (".tsv", ".csv", ".txt"), holds, read)
