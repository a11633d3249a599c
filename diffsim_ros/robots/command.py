"""A command to a joint controller, as in its message: nothing is checked, sizes may disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .trajectory import FIELDS, JointTrajectory

NANO = 1_000_000_000


@dataclass(frozen=True)
class CommandPoint:
    """time [ns] from the start; lists of any length, empty where nothing is given."""

    time: int
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


@dataclass(frozen=True)
class JointCommand:
    """Joints in the message's order, points, stamp [ns] of the start (0: at once)."""

    names: tuple[str, ...]
    points: tuple[CommandPoint, ...]
    stamp: int = 0
    release: float | None = None

    @staticmethod
    def of(trajectory: JointTrajectory, stamp: int = 0) -> JointCommand:
        """As a message carries a trajectory: times in whole nanoseconds."""
        rows = trajectory.rows.values()
        empty = [()] * len(trajectory.times)
        lists = [empty if row is None else map(tuple, np.asarray(row, float).tolist())
                 for row in rows]  # fmt: skip
        times = map(nanoseconds, np.asarray(trajectory.times, float).tolist())
        points = tuple(CommandPoint(*given) for given in zip(times, *lists, strict=True))
        return JointCommand(tuple(trajectory.names), points, stamp, trajectory.release)

    def wait(self, now: int) -> float:
        """[s] from `now` [ns] until the start; 0 without a stamp."""
        return (self.stamp - now) / NANO if self.stamp else 0.0

    @cached_property
    def rows(self) -> tuple[int, dict[str, np.ndarray | None]]:
        """How many points, from the first on, have the fields of the first in the names' number.

        And these points' positions, velocities, accelerations (points, names): None where the first
        gives none.
        """
        size, fitting, found = len(self.names), len(self.points), {}
        for key in FIELDS if self.points else ():
            sizes = [len(getattr(point, key)) for point in self.points]
            wanted = size if key == "positions" or sizes[0] else 0
            odd = np.flatnonzero(np.array(sizes) != wanted)
            fitting = min([fitting, *odd[:1]])
            found[key] = None if wanted == 0 else [getattr(point, key) for point in self.points]
        for key, rows in found.items():
            if rows is not None:
                found[key] = np.array(rows[:fitting], float).reshape(fitting, size)
        return int(fitting), found

    def trajectory(self, order: Sequence[str]) -> JointTrajectory:
        """The same with columns in `order`, a permutation of the names; sizes must fit.

        Velocities and accelerations are kept where every point has them.
        """
        columns = [self.names.index(name) for name in order]
        times = np.array([point.time for point in self.points], float) / NANO
        count, rows = self.rows
        if count == len(self.points):
            kept = {key: None if row is None else row[:, columns] for key, row in rows.items()}
        else:
            kept = {key: self._whole(key, columns) for key in FIELDS}
        if kept["velocities"] is None:
            kept["accelerations"] = None
        return JointTrajectory(tuple(order), times, **kept, release=self.release)

    def _whole(self, key: str, columns: Sequence[int]) -> np.ndarray | None:
        """A field's columns; None where some point lacks it."""
        given = [getattr(point, key) for point in self.points]
        return np.array(given, float)[:, columns] if all(map(len, given)) else None


@dataclass(frozen=True)
class JointSample:
    """Reported states of joints: by name, positions [rad or m] and velocities [rad/s or m/s].

    age  [s] since it was measured
    """

    positions: Mapping[str, float]
    velocities: Mapping[str, float] = field(default_factory=dict)
    age: float = 0.0

    def rows(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (n,) in the order of `names`; NaN and 0 where none are given."""
        position = np.array([self.positions.get(name, np.nan) for name in names], float)
        return position, np.array([self.velocities.get(name, 0.0) for name in names], float)


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds of a time [s], which must be finite."""
    whole = int(seconds // 1)
    return whole * NANO + round((float(seconds) - whole) * NANO)
