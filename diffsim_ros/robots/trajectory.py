"""A robot's motion as joint values at times: planners make it, controllers run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.yaml_file import read_yaml

from .quintic import control_points

FIELDS = ("positions", "velocities", "accelerations")
"""Of the points of a trajectory."""


@dataclass(frozen=True)
class JointTrajectory:
    """Joint values at times, interpolated as ros2_controllers does.

    names          joints, in the order of the columns
    times          (n,) [s] from the start
    positions      (n, j) [rad or m]
    velocities     (n, j) [rad/s or m/s], or None: straight lines
    accelerations  (n, j) [rad/s^2 or m/s^2], or None: cubic, else quintic splines
    release        [s] when what the gripper holds is released, None: never

    Nothing is checked here but shapes: `trajectory_check` does that.
    """

    names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray | None = None
    accelerations: np.ndarray | None = None
    release: float | None = None

    def __post_init__(self) -> None:
        shape = (len(self.times), len(self.names))
        for key, value in self.rows.items():
            if value is not None and np.shape(value) != shape:
                rule = f"{shape[0]} times by {shape[1]} joints"
                raise InputError("trajectory", key, np.shape(value), rule)
        if self.accelerations is not None and self.velocities is None:
            raise InputError("trajectory", "velocities", None, "given where accelerations are")

    @property
    def rows(self) -> dict[str, np.ndarray | None]:
        """FIELDS by name."""
        return {key: getattr(self, key) for key in FIELDS}

    def ordered(self, joints: Sequence[str]) -> JointTrajectory:
        """The same with columns in the order of `joints`, a permutation of the names."""
        columns = [self.names.index(name) for name in joints]
        rows = {
            key: None if row is None else np.asarray(row, float)[:, columns]
            for key, row in self.rows.items()
        }
        return replace(self, names=tuple(joints), **rows)

    @property
    def duration(self) -> float:
        """Time of the last point [s]."""
        return float(self.times[-1])

    def at(self, times: np.ndarray | float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, qd and qdd (..., j) at times (...) [s]; at rest outside the first and last point."""
        times = np.asarray(times, float)
        inside = np.clip(times, self.times[0], self.times[-1])
        q, qd, qdd = (spline(inside) for spline in self.splines)
        still = ((times < self.times[0]) | (times > self.times[-1]))[..., None]
        return q, np.where(still, 0.0, qd), np.where(still, 0.0, qdd)

    @cached_property
    def splines(self) -> tuple[Any, Any, Any]:
        """Piecewise polynomials of q, qd, qdd: linear, cubic or quintic."""
        from scipy.interpolate import BPoly

        spline = BPoly(self._control_points(), self.times)
        return spline, spline.derivative(), spline.derivative(2)

    def _control_points(self) -> np.ndarray:
        """(k, n - 1, j) of the pieces; BPoly.from_derivatives takes 25 ms for 500 points."""
        q, v, steps = self.positions, self.velocities, np.diff(self.times)
        if v is None:
            return np.stack([q[:-1], q[1:]])
        if self.accelerations is not None:
            return control_points(steps, q, v, self.accelerations)
        third = steps[:, None] / 3
        return np.stack([q[:-1], q[:-1] + third * v[:-1], q[1:] - third * v[1:], q[1:]])

    def mapping(self) -> dict[str, Any]:
        """Plain data, for YAML and JSON."""
        found = {"joints": list(self.names), "times": self.times.tolist()}
        found |= {key: row.tolist() for key, row in self.rows.items() if row is not None}
        return found | ({} if self.release is None else {"release": float(self.release)})

    def save(self, path: str | Path) -> None:
        """Write a trajectory.yaml."""
        Path(path).write_text(yaml.safe_dump(self.mapping(), default_flow_style=None))

    @staticmethod
    def of(given: Mapping[str, Any], place: str = "trajectory") -> JointTrajectory:
        """From plain data; InputError names the key."""
        known = ("joints", "times", *FIELDS, "release")
        for key in given:
            if key not in known:
                raise InputError(place, str(key), given[key], f"one of {', '.join(known)}")
        arrays = {}
        for key in known[1:5]:
            if given.get(key) is not None:
                rule = "a list of numbers" if key == "times" else "a list of numbers for each time"
                try:
                    arrays[key] = np.asarray(given[key], float)
                except (TypeError, ValueError) as error:
                    raise InputError(place, key, given[key], rule) from error
                if arrays[key].ndim != (1 if key == "times" else 2) or not arrays[key].size:
                    raise InputError(place, key, given[key], rule)
        names, release = given.get("joints"), given.get("release")
        if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
            raise InputError(place, "joints", names, "a list of joint names")
        if not {"times", "positions"} <= set(arrays):
            raise InputError(place, "", sorted(given), "joints, times and positions")
        number = isinstance(release, (int, float)) and not isinstance(release, bool)
        if release is not None and not (number and abs(release) < 1e9):
            raise InputError(place, "release", release, "a finite time [s], or no such key")
        return JointTrajectory(
            tuple(names), **arrays, release=None if release is None else float(release)
        )

    @staticmethod
    def load(path: str | Path) -> JointTrajectory:
        """Read a trajectory.yaml."""
        given = read_yaml(path)
        if not isinstance(given, Mapping):
            raise InputError(path, "", type(given).__name__, "a mapping of keys to values")
        return JointTrajectory.of(given, str(path))
