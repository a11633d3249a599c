"""Tables of UR's RTDE client: actual_q_0 .. actual_q_5, actual_qd, actual_current, target_q, ...

The protocol is that of UR's six joints, from the base to the last wrist: their names are those of
ur_description. Efforts are motor currents [A].
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...errors import InputError, listed
from ...tables import Sheet, number_table, table_of
from ..columns import is_time, read_timed
from ..formats import Export
from ..observation import Observation

NAME = "table of RTDE"
JOINTS = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint",
          "wrist_2_joint", "wrist_3_joint")  # fmt: skip
SIGNALS = {"actual_q": "position", "actual_qd": "velocity", "actual_current": "effort",
           "target_q": "command_position"}  # fmt: skip


def holds(head: Sheet) -> bool:
    """True of a header with a time and actual_q of six joints."""
    header = table_of(head, "").header
    return any(map(is_time, header)) and set(_columns("actual_q")) <= set(header)


def read(path: Path) -> list[Observation]:
    """The six joints.

    Raises InputError: words among the numbers.
    """
    header, rows, lines, said = read_timed(path, "a table of RTDE")
    if "t" not in header:
        raise InputError(path, "header", header[:40], "one column of times")
    table = number_table(path, header, rows, lines)
    values, used = {}, ["t"]
    for name, signal in SIGNALS.items():
        columns = _columns(name)
        if set(columns) <= set(header):
            values[signal] = table[:, [header.index(column) for column in columns]]
            used += columns
    notes = [*said, "joints 0 to 5 are UR's, base first"]
    if "effort" in values:
        notes.append("efforts are motor currents [A]")
    left = [name for name in header if name not in used]
    if left:
        notes.append(f"not used: {listed(left)}")
    t = np.asarray(table[:, header.index("t")])
    return [Observation(kind="joints", t=t, names=JOINTS, values=values, source=str(path),
                        format=NAME, notes=tuple(notes))]  # fmt: skip


def _columns(name: str) -> list[str]:
    return [f"{name}_{k}" for k in range(6)]


EXPORT = Export(NAME, ("joints",), (".csv", ".tsv", ".txt"), holds, read, guessed=True)
