"""Tables without a header: TUM trajectories, and what `ros2 topic echo --csv` prints.

What the columns are is a guess by their number, by the texts among them and by quaternions of
length 1; a note has it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...tables import Sheet, is_number, number, read_sheet
from ..cdr import NANO
from ..formats import Export
from ..observation import UNIT_TOLERANCE, Observation
from .streams import body_stream, data_rows

TUM = "t x y z qx qy qz qw"
POSE = "sec nanosec frame_id x y z qx qy qz qw"
TRANSFORM = "sec nanosec frame_id child_frame_id x y z qx qy qz qw"
ODOMETRY = 89
"""Columns of an Odometry: 4, a pose with covariance (7 + 36), a twist with covariance (6 + 36)."""
COVARIANCE = 46
"""Columns of a PoseWithCovarianceStamped: a PoseStamped and 36, which are not used."""
WRENCH = "sec nanosec frame_id fx fy fz tx ty tz"
NAME = "table without a header"
ECHOED = "TransformStamped, echoed"


def holds(head: Sheet) -> bool:
    """True where the first line has numbers as the others have, in one of the layouts."""
    rows = [row for row in head.rows if _cells(row)]
    layout = _layout(rows) if rows else None
    # of eight numbers with commas between, no program is known that means a trajectory
    return layout is not None and not (layout is _tum and head.separator == ",")


def read(path: Path) -> list[Observation]:
    """Poses, joints or wrenches, as the layout says.

    Raises InputError: another number of cells in a line, words among the numbers, stamps of zero.
    """
    sheet = read_sheet(path, "a table without a header")
    kept = [k for k, row in enumerate(sheet.rows) if _cells(row)]
    sheet = Sheet([_cells(sheet.rows[k]) for k in kept], [sheet.lines[k] for k in kept],
                  sheet.separator, sheet.notes)  # fmt: skip
    layout = _layout(sheet.rows)
    if layout is None:
        raise InputError(path, "line 1", sheet.rows[:1], "a header, or columns of a known layout")
    return layout(path, sheet)


def _cells(row: list[str]) -> list[str]:
    """Cells without those of a trailing separator; [] of empty lines and comments."""
    cells = [cell.strip() for cell in row]
    if not any(cells) or cells[0].startswith(("#", "%", "---")):
        return []
    return cells[:-1] if not cells[-1] and len(cells) > 1 else cells


def _layout(rows: list[list[str]]) -> Callable[[Path, Sheet], list[Observation]] | None:
    """The reader of a layout by the first line and some others, None of no known one."""
    first = rows[0]
    texts = [k for k, cell in enumerate(first) if not _is_number(cell)]
    if any(len(row) != len(first) for row in rows[1:10]):
        return None
    if not texts and len(first) == 8 and _units(rows, 4):
        return _tum
    stamped = len(first) > 8 and _whole(first[0]) and _whole(first[1])
    if not stamped or not set(texts) <= set(range(2, len(first))):
        return None
    if len(first) == 10 and texts in ([2], []) and _units(rows, 6):
        return _pose
    if len(first) % 11 == 0 and _units(rows, 7) and set(texts) <= {
        11 * k + j for k in range(len(first) // 11) for j in (2, 3)
    }:  # fmt: skip
        return _transforms if len(first) > 11 else _transform
    if len(first) == COVARIANCE and texts in ([2], []) and _units(rows, 6):
        return _pose
    if len(first) == ODOMETRY and set(texts) <= {2, 3} and _units(rows, 7):
        return _odometry
    if len(first) == 9 and texts in ([2], []):
        return _wrench
    return _joints if _joint_count(first) else None


def _is_number(cell: str) -> bool:
    """True of a number; an empty cell among the first is an empty text."""
    return cell.strip() != "" and is_number(cell)


def _whole(cell: str) -> bool:
    return cell.strip().isdigit()


def _units(rows: list[list[str]], at: int) -> bool:
    """True where four columns from `at` are unit quaternions in the first lines that have them."""
    try:
        q = np.array([[number(cell) for cell in row[at : at + 4]] for row in rows[:20]])
    except ValueError:
        return False
    q = q[np.isfinite(q).all(axis=1)]
    return q.shape[1:] == (4,) and bool(
        len(q) and (np.abs(np.linalg.norm(q, axis=1) - 1) < 10 * UNIT_TOLERANCE).mean() > 0.5
    )


def _tum(path: Path, sheet: Sheet) -> list[Observation]:
    table, notes = data_rows(path, sheet, 0, 8)
    notes = [*sheet.notes, f"no header: columns taken as {TUM}", *notes]
    return [body_stream(path, "TUM trajectory", "body", table[:, 0], table[:, 1:4], table[:, 4:],
                        notes, several=False)]  # fmt: skip


def _stamped(
    path: Path, sheet: Sheet, drop: tuple[int, ...], said: str
) -> tuple[np.ndarray, int, np.ndarray, list[str]]:
    """Times [s] since the first stamp, its stamp [ns], the other numbers, notes."""
    width = len(sheet.rows[0])
    left = [k for k in range(width) if k not in drop]
    rows = [[row[k] for k in left] if len(row) == width else row for row in sheet.rows]
    table, notes = data_rows(path, sheet._replace(rows=rows), 0, len(left))
    pairs = zip(sheet.rows[: len(table)], sheet.lines, strict=False)
    ns = np.array([_stamp(path, row, line) for row, line in pairs])
    if not ns.any():
        rule = "stamps of the sensor in the messages"
        raise InputError(path, "stamps", "0 throughout", rule, "record a rosbag2 instead")
    notes = [*sheet.notes, f"no header: columns taken as {said}", *notes]
    return (ns - ns[0]) / NANO, int(ns[0]), table[:, 2:], notes


def _stamp(path: Path, row: list[str], line: int) -> int:
    """A stamp [ns] of seconds and nanoseconds."""
    good = row[0].isdecimal() and row[1].isdecimal() and len(row[0]) < 11 and len(row[1]) < 10
    if not good or int(row[0]) >= 2**33:
        got = ",".join(row[:2])[:40]
        raise InputError(path, f"line {line}", got, "a stamp: seconds and nanoseconds")
    return int(row[0]) * NANO + int(row[1])


def _pose(path: Path, sheet: Sheet) -> list[Observation]:
    t, epoch, value, notes = _stamped(path, sheet, (2,), f"PoseStamped: {POSE}")
    return [body_stream(path, "PoseStamped, echoed", "body", t, value[:, :3], value[:, 3:7], notes,
                        several=False, epoch=epoch)]  # fmt: skip


def _transform(path: Path, sheet: Sheet) -> list[Observation]:
    t, epoch, value, notes = _stamped(path, sheet, (2, 3), f"TransformStamped: {TRANSFORM}")
    frames = list(dict.fromkeys((row[2], row[3]) for row in sheet.rows))
    if len(frames) > 1:
        children = [child for _, child in frames]
        names = [f"{a}->{b}" if children.count(b) > 1 else b for a, b in frames]
        found = []
        for (parent, child), name in zip(frames, names, strict=True):
            own = [k for k, row in enumerate(sheet.rows[: len(t)]) if row[2:4] == [parent, child]]
            parts = t[own], value[own, :3], value[own, 3:7]
            one = body_stream(path, ECHOED, name, *parts, notes, several=True, epoch=epoch)
            found.append(one)
        return found
    return [body_stream(path, ECHOED, frames[0][1] or "body", t, value[:, :3],
                        value[:, 3:7], notes, several=False, epoch=epoch)]  # fmt: skip


def _transforms(path: Path, sheet: Sheet) -> list[Observation]:
    """Several transforms in a message: one line each."""
    count = len(sheet.rows[0]) // 11
    rows = [row[11 * k : 11 * k + 11] for row in sheet.rows for k in range(len(row) // 11)]
    lines = [line for row, line in zip(sheet.rows, sheet.lines, strict=True)
             for _ in range(len(row) // 11)]  # fmt: skip
    notes = (*sheet.notes, f"{count} transforms a line")
    return _transform(path, Sheet(rows, lines, sheet.separator, notes))


def _odometry(path: Path, sheet: Sheet) -> list[Observation]:
    said = "Odometry: sec nanosec frame_id child_frame_id x y z qx qy qz qw, the rest not used"
    t, epoch, value, notes = _stamped(path, sheet, (2, 3), said)
    return [body_stream(path, "Odometry, echoed", sheet.rows[0][3] or "body", t, value[:, :3],
                        value[:, 3:7], notes, several=False, epoch=epoch)]  # fmt: skip


def _wrench(path: Path, sheet: Sheet) -> list[Observation]:
    t, epoch, value, notes = _stamped(path, sheet, (2,), f"WrenchStamped: {WRENCH}")
    values = {"force": value[:, None, :3], "torque": value[:, None, 3:6]}
    return [Observation(kind="wrench", t=t, names=("sensor",), values=values, source=str(path),
                        format="WrenchStamped, echoed", frame=sheet.rows[0][2], notes=tuple(notes),
                        epoch=epoch)]  # fmt: skip


def _joint_count(first: list[str]) -> int:
    """Joints of a JointState: sec nanosec frame_id, m names, then one to three times m numbers."""
    names = next((k for k, cell in enumerate(first[3:]) if _is_number(cell)), 0)
    rest = len(first) - 3 - names
    good = names and rest in (names, 2 * names, 3 * names)
    texts = all(cell and not _is_number(cell) for cell in first[3 : 3 + names])
    return names if good and texts and len(set(first[3 : 3 + names])) == names else 0


def _joints(path: Path, sheet: Sheet) -> list[Observation]:
    count = _joint_count(sheet.rows[0])
    names = tuple(sheet.rows[0][3 : 3 + count])
    for row, line in zip(sheet.rows, sheet.lines, strict=True):
        if tuple(row[3 : 3 + count]) != names:
            rule = f"the same joints in every line: {', '.join(names)}"
            raise InputError(path, f"line {line}", ", ".join(row[3 : 3 + count]), rule)
    said = f"JointState: sec nanosec frame_id, {count} names, their positions, velocities, efforts"
    t, epoch, value, notes = _stamped(path, sheet, tuple(range(2, 3 + count)), said)
    signals = ("position", "velocity", "effort")[: value.shape[1] // count]
    values = {one: value[:, k * count : (k + 1) * count] for k, one in enumerate(signals)}
    values = {key: column for key, column in values.items() if np.isfinite(column).any()}
    return [Observation(kind="joints", t=t, names=names, values=values, source=str(path),
                        format="JointState, echoed", notes=tuple(notes), epoch=epoch)]  # fmt: skip


EXPORT = Export(
    NAME, ("poses", "joints", "wrench"), (".csv", ".tsv", ".txt", ".tum"), holds, read, guessed=True
)
