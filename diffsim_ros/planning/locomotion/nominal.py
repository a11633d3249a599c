"""A nominal motion: targets of motors over one cycle, as a motion generator gives them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.interpolate import BSpline

from ...errors import InputError
from ...tables import number_table, read_rows
from .motion import LocomotionMotion

EVEN = 1e-5
"""[1] by which intervals between samples may differ, of one."""
RULE = "a table (.csv) with the columns `time` and one per joint, two rows or more"


@dataclass(frozen=True)
class NominalMotion:
    """Targets of motors over one cycle, which then begins anew.

    joints   names (m,);  times (n,) [s], from 0 on at equal intervals
    targets  (n, m) [rad or m] at these times
    period   [s] of the cycle: the next one's first row comes one interval after the last
    """

    joints: tuple[str, ...]
    times: np.ndarray
    targets: np.ndarray
    period: float

    def __post_init__(self) -> None:
        times, targets = np.asarray(self.times, float), np.asarray(self.targets, float)
        shape = (len(times), len(self.joints))
        if targets.shape != shape or not np.all(np.isfinite(targets)):
            raise InputError("nominal motion", "targets", targets.shape, f"shape {shape}, finite")
        even = np.arange(len(times)) * self.period / max(len(times), 1)
        off = np.abs(times - even)
        if len(times) < 2 or not np.all(off <= EVEN * self.period):
            k = int(np.argmax(off)) if len(times) else 0
            got = f"{times[k]:g} s in row {k}" if len(times) else "no row"
            rule = (
                f"rows from 0 on at equal intervals, of which {len(times)} make {self.period:g} s"
            )
            raise InputError("nominal motion", "times", got, rule)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "targets", targets)

    @property
    def interval(self) -> float:
        """Time between two rows [s]."""
        return self.period / len(self.times)

    def over(self, cycles: int, lead_in: int, standing: np.ndarray) -> np.ndarray:
        """Targets (N+1, m) of `lead_in` and `cycles` cycles, from `standing` (m,) on."""
        share, row = self.shares(cycles, lead_in)
        return standing + share[:, None] * (self.targets[row] - standing)

    def shares(self, cycles: int, lead_in: int) -> tuple[np.ndarray, np.ndarray]:
        """Share (N+1,) of the cycle in every target, 0 at the start and smoothly 1 after the
        lead-in, and its row (N+1,) of the cycle."""
        n = len(self.times)
        k = np.arange(n * (cycles + lead_in) + 1)
        u = np.clip(k / (n * lead_in), 0.0, 1.0) if lead_in else np.ones(len(k))
        return u * u * (3.0 - 2.0 * u), k % n


def nominal_of(motion: LocomotionMotion) -> NominalMotion:
    """Positions of joints of a period of a legged robot's motion (`generate`), as targets.

    InputError for a motion that does not begin anew.
    """
    if not motion.periodic:
        rule = "one of a periodic footfall pattern"
        raise InputError(f"motion {motion.name!r}", "periodic", False, rule)
    times = np.arange(len(motion.positions)) * motion.step
    period = float(len(times) * motion.step)
    return NominalMotion(motion.joints, times, motion.positions, period)


def read_nominal(path: str | Path, period: float | None) -> NominalMotion:
    """Targets from a table, or from a motion.npz; InputError naming file, row and rule.

    period  [s]; None: that of equal intervals
    """
    if Path(path).suffix == ".npz":
        return nominal_of(LocomotionMotion.load(path))
    header, rows = read_rows(path, RULE)
    names = [name.strip() for name in header]
    if len(names) < 2 or names[0] != "time" or len(set(names)) < len(names) or len(rows) < 2:
        raise InputError(path, "", ", ".join(names)[:60] or "empty", RULE)
    table = number_table(path, names, rows)
    missing = np.argwhere(~np.isfinite(table))
    if len(missing):
        row, column = missing[0]
        raise InputError(path, f"line {row + 2}", f"{names[column]} is missing", "a number")
    times = table[:, 0]
    whole = period
    if whole is None:
        whole = float(times[-1] * len(times) / (len(times) - 1))
    try:
        return NominalMotion(tuple(names[1:]), times, table[:, 1:], whole)
    except InputError as error:
        raise InputError(path, error.key, error.value, error.accepted) from None


def periodic_splines(samples: int, knots: int) -> np.ndarray:
    """Values (samples, knots) of periodic cubic B-splines with equal intervals over a cycle."""
    at = np.arange(samples) * knots / samples
    basis = BSpline.basis_element(np.arange(-2.0, 3.0), extrapolate=False)
    apart = (at[:, None] - np.arange(knots) + knots / 2.0) % knots - knots / 2.0
    return np.nan_to_num(basis(apart))
