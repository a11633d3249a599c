"""What robot, referee and judge of the fault study share: rows of the record, names of its files.

The robot appends one row per control cycle to a file, so that its commands are known however it
ended, and writes its events, JSON by the line, into a pipe.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

JOINTS = 6
DRIVER, OTHER = 1, 2
"""Who sent the trajectory that the controller follows; 0: nobody has yet."""
FOREIGN = "another client"
"""Frame in the header of what the driver did not send."""

ROW = np.dtype(
    [
        ("mono", "i8"),
        ("time", "i8"),
        ("run", "i4"),
        ("source", "i4"),
        ("active", "i4"),
        ("braking", "i4"),
        ("scaling", "f8"),
        ("elapsed", "f8"),
        ("desired", "f8", (3, JOINTS)),
        ("joints", "f8", (2, JOINTS)),
    ]
)
"""One control cycle: monotonic time [ns], the robot's own [ns], how many trajectories were begun,
whose this one is, whether it runs, whether the controller brakes, the speed scaling, time of the
trajectory [s], commanded position, velocity, acceleration at full speed, and the joints' position
and velocity."""


class Record:
    """The rows of one robot, in a file that only grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def add(self, *row) -> None:
        """Append a row; it is the kernel's from then on."""
        os.write(self._file, np.array([row], ROW).tobytes())


def rows_since(path: Path, begin: int) -> np.ndarray:
    """Rows from number `begin` on."""
    if not path.exists():
        return np.zeros(0, ROW)
    size = ROW.itemsize
    count = path.stat().st_size // size - begin
    return np.fromfile(path, ROW, count=max(count, 0), offset=begin * size)
