"""What is asked of a joint controller, as its message says it: nothing is checked, nothing fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .trajectory import JointTrajectory

NANO = 1_000_000_000


@dataclass(frozen=True)
class CommandPoint:
    """time [ns] from the start; lists of any length, empty where nothing is said."""

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
        points = []
        for k, time in enumerate(trajectory.times):
            rows = [
                () if rows is None else tuple(map(float, rows[k]))
                for rows in (trajectory.positions, trajectory.velocities, trajectory.accelerations)
            ]
            points.append(CommandPoint(nanoseconds(time), *rows))
        return JointCommand(tuple(trajectory.names), tuple(points), stamp, trajectory.release)

    def trajectory(self, order: Sequence[str]) -> JointTrajectory:
        """The same with columns in `order`, a permutation of the names; sizes must fit.

        Velocities and accelerations are kept where every point has them.
        """
        columns = [self.names.index(name) for name in order]
        times = np.array([point.time for point in self.points], float) / NANO
        rows = {}
        for key in ("positions", "velocities", "accelerations"):
            given = [getattr(point, key) for point in self.points]
            whole = all(len(row) for row in given)
            rows[key] = np.array(given, float)[:, columns] if whole else None
        if rows["velocities"] is None:
            rows["accelerations"] = None
        return JointTrajectory(tuple(order), times, **rows, release=self.release)


@dataclass(frozen=True)
class JointSample:
    """Where joints are said to be: by name, positions [rad or m] and velocities [rad/s or m/s].

    age  [s] since it was measured
    """

    positions: Mapping[str, float]
    velocities: Mapping[str, float] = field(default_factory=dict)
    age: float = 0.0

    def rows(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (n,) in the order of `names`; NaN and 0 where none are said."""
        position = np.array([self.positions.get(name, np.nan) for name in names], float)
        return position, np.array([self.velocities.get(name, 0.0) for name in names], float)


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds of a time [s], which must be finite."""
    whole = int(seconds // 1)
    return whole * NANO + round((float(seconds) - whole) * NANO)


def approach(
    position: np.ndarray, velocity: np.ndarray, target: JointTrajectory, duration: float
) -> JointTrajectory:
    """How ros2_controllers goes from a state (n,), (n,) to the first point of `target`.

    A cubic within `duration` [s], a straight line where the target has no velocities.
    """
    rows = None if target.velocities is None else np.stack([velocity, target.velocities[0]])
    times = np.array([0.0, duration])
    return JointTrajectory(target.names, times, np.stack([position, target.positions[0]]), rows)
