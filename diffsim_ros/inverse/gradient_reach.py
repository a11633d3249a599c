"""How large a change a derivative predicts: differences over decades of size beside it.

A derivative holds for infinitely small changes.  Where small changes grow (after many impacts, in a
double pendulum), near a kink, or where a body just touches or just misses, it is exact and holds
for changes far smaller than anybody makes.  With z the scaled variables, of which 1 is a usual
change, and O the objective,

    s_i(d) = (O(z + d e_i) - O(z - d e_i))/(2 d),   off_i(d) = |s_i(d) - g_i|/max(|g_i|, |g|/100).

The derivative is right up to the largest of SIZES up to which all off_i <= RIGHT.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from .simulation_problem import SimulationProblem

RIGHT = 0.2
"""Relative difference up to which a derivative predicts a change."""
LEAST = 1e-2
"""Change in usual ones up to which a derivative has to be right."""
SIZES = 10.0 ** np.arange(-7.0, -1.0)
STAGES = slice(4, 6), slice(2, 4), slice(0, 2)
"""Of SIZES: those that are tried of all parameters, then smaller ones where these are wrong."""
CLOSER = 16
"""Parameters at most of which smaller changes are tried, the largest."""
FLOOR = 1e-2
"""Of |g|: smaller components count as this."""
MOST, LOST = 128, 3
"""Parameters at most, the largest components of g; and of those that mean nothing anyway."""
TOGETHER = 64
"""Motions that are simulated in one call: their frames are kept until then."""
NAMED = 3
"""Parameters in a sentence."""


@dataclass(frozen=True)
class Reach:
    """Differences beside the derivative g by one parameter; sizes are changes of its value [unit].

    usual        a usual change, that of 1 of the scaled variable
    sizes        tried, ascending; differences over them, by the scaled variable as g is
    right_up_to  largest size up to which g is right; 0: at none;  NaN: none could be simulated
    wrong_from   smallest size at which it is wrong;  inf: at none of those tried
    """

    unit: str
    usual: float
    gradient: float
    sizes: tuple[float, ...]
    differences: tuple[float, ...]
    right_up_to: float
    wrong_from: float
    off: float

    @property
    def enough(self) -> bool:
        """Whether it is right for changes of a hundredth of usual ones, as far as is known."""
        return not self.wrong_from <= 1.01 * LEAST * self.usual

    @property
    def short(self) -> str:
        """Up to which change, for tables; `+`: no larger one was tried."""
        if math.isnan(self.right_up_to):
            return "?"
        if self.right_up_to == 0:
            return f"< {self.wrong_from:.2g}{self._unit}"
        more = "+" if math.isinf(self.wrong_from) else ""
        return f"{self.right_up_to:.2g}{more}{self._unit}"

    def __str__(self) -> str:
        if math.isnan(self.right_up_to):
            return "no change could be simulated"
        if math.isinf(self.wrong_from):
            return (
                f"right for all changes that were tried, up to {self.right_up_to:.2g}{self._unit}"
            )
        at = f"{self.wrong_from:.2g}{self._unit}"
        share = "more than ten times" if self.off > 9.99 else f"{100 * self.off:.0f} %"
        found = self.differences[self.sizes.index(self.wrong_from)]
        wrong = f"differences over +-{at} give {found:.4g}, not {self.gradient:.4g}: {share} off"
        if self.right_up_to > 0:
            return f"right for changes up to {self.right_up_to:.2g}{self._unit}; {wrong}"
        return f"wrong for all changes that were tried; {wrong}"

    @property
    def _unit(self) -> str:
        return "" if self.unit in ("", "1") else f" {self.unit}"


def reaches(
    problem: SimulationProblem, z: np.ndarray, y: np.ndarray, gradient: np.ndarray, *,
    lost: np.ndarray | None = None, threads: int = 0, cancel: Any = None,
) -> list[Reach | None]:  # fmt: skip
    """Reach of the derivative by each parameter; None: not tried (MOST, LOST).

    gradient  (nz,) exact gradient at (z, y), at the problem's own step
    lost      (nz,) bool: derivatives that are known to mean nothing, of which few are tried
    """
    exact = problem.exact()
    exact.threads = threads
    order = np.argsort(-np.abs(gradient), kind="stable")
    lost = np.zeros(len(gradient), bool) if lost is None else lost
    chosen = np.concatenate([order[~lost[order]][:MOST], order[lost[order]][:LOST]])
    D = np.maximum(np.abs(gradient), max(FLOOR * np.linalg.norm(gradient), np.finfo(float).tiny))
    slopes = np.full((len(gradient), len(SIZES)), np.nan)
    tried = chosen
    for part in STAGES:
        slopes[tried, part] = _differences(exact, z, y, tried, SIZES[part], cancel)
        off = np.abs(slopes - gradient[:, None]) / D[:, None]
        tried = tried[np.any(off[tried, part] > RIGHT, axis=1)][:CLOSER]
    usual = exact.value_slopes(z)
    units = [parameter.unit for parameter in exact.map.free]
    found: list[Reach | None] = [None] * len(gradient)
    for i in chosen.tolist():
        found[i] = reach_of(units[i], float(usual[i]), float(gradient[i]), slopes[i], off[i])
    return found


def reach_of(
    unit: str, usual: float, gradient: float, slopes: np.ndarray, off: np.ndarray
) -> Reach:  # fmt: skip
    """From differences at SIZES, and how far they are from the gradient (NaN: not simulated)."""
    known = np.flatnonzero(np.isfinite(slopes))
    wrong = known[off[known] > RIGHT]
    right = known[known < (wrong[0] if len(wrong) else len(SIZES))]
    sizes = SIZES * abs(usual)
    return Reach(
        unit, abs(usual), gradient,
        tuple(sizes[known].tolist()), tuple(slopes[known].tolist()),
        float(sizes[right[-1]]) if len(right) else (0.0 if len(wrong) else math.nan),
        float(sizes[wrong[0]]) if len(wrong) else math.inf,
        float(off[wrong[0]]) if len(wrong) else 0.0,
    )  # fmt: skip


def _differences(
    problem: SimulationProblem, z: np.ndarray, y: np.ndarray, columns: Sequence[int] | np.ndarray,
    sizes: np.ndarray, cancel: Any,
) -> np.ndarray:  # fmt: skip
    """Central differences of the value (columns, sizes); NaN where it cannot be simulated."""
    steps = np.concatenate([sizes, -sizes])
    points = []
    for column in columns:
        for step in steps:
            point = np.array(z, float)
            point[column] += step
            points.append(point)
    values = []
    for first in range(0, len(points), TOGETHER):
        some = points[first : first + TOGETHER]
        for one in problem.evaluate_many(some, [y] * len(some), cancel=cancel):
            if one.cancelled:
                raise InputError("check_settling", "run", "cancelled", "a run to its end")
            values.append(one.value if one.ok else math.nan)
    table = np.array(values).reshape(len(columns), 2, len(sizes))
    return (table[:, 0] - table[:, 1]) / (2.0 * sizes)
