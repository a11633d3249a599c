"""A motion that another one goes on from: its two samples with which the other begins.

A stop out of a trot, or a trot out of a stand that was planned before: two samples say where
everything is and how fast it moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.rotation import quat_exp, quat_matrix, quat_multiply, quat_yaw

from .footfall import FootfallPattern
from .motion import LocomotionMotion, engine_plan, moved_by_periods

SAME_STEP = 1e-6
"""Steps are one where they differ by less than this share."""


@dataclass(frozen=True, eq=False)
class Begin:
    """Samples `sample` and the next one of `motion`; of a periodic one the next may be the first of
    the period that follows."""

    motion: LocomotionMotion
    sample: int = 0

    @property
    def frame(self) -> np.ndarray:
        """(3,): x, y [m] of the centre of mass and yaw [rad] of the base at the sample."""
        x, y = self.motion.com[self.sample, :2]
        return np.array([x, y, quat_yaw(self.motion.base[self.sample, 3:])])

    def at_origin(self) -> Self:
        """The same in axes of its `frame`: the motion begins at the origin and heads along x."""
        return replace(self, motion=self.motion.seen_from(self.frame))

    def check(self, place: str, footfall: FootfallPattern, joints: tuple, step: float) -> None:
        """InputError naming `place` unless a plan of this pattern and step can go on from it."""
        motion, last = self.motion, self.motion.samples - (1 if self.motion.periodic else 2)
        if footfall.periodic:
            rule = "`periodic: false`, as a motion that repeats itself begins as it ends"
            raise InputError(place, "footfall.periodic", True, rule)
        if (motion.joints, motion.end_effectors) != (joints, footfall.names):
            got = f"joints {', '.join(motion.joints)}; feet {', '.join(motion.end_effectors)}"
            raise InputError(place, "begin.motion", got, "a motion of the plan's robot")
        if not motion.holds:
            broken = ", ".join(one.name for one in motion.broken)
            raise InputError(place, "begin.motion", broken, "a motion that violates no constraint")
        if not 0 <= self.sample <= last:
            raise InputError(place, "begin.sample", self.sample, f"a sample of it, 0 to {last}")
        if abs(step - motion.step) > SAME_STEP * motion.step:
            fits = motion.step * (footfall.samples - 1)
            rule = f"{motion.step:.9g} s between samples, as of `begin`"
            raise InputError(place, "duration", f"{step:.9g} s between samples", rule,
                             f"duration: {fits:.9g}")  # fmt: skip
        ours, theirs = footfall.contact[:2], motion.contact[[r % motion.samples for r in self.rows]]
        if not np.array_equal(ours, theirs):
            i, j = np.argwhere(ours != theirs)[0]
            rule = f"{'in contact' if theirs[i, j] else 'in the air'} there, as `begin` has it"
            got = (
                f"{footfall.names[j]} {'in contact' if ours[i, j] else 'in the air'} at sample {i}"
            )
            raise InputError(place, "footfall", got, rule)

    @property
    def rows(self) -> tuple[int, int]:
        """Both samples, counted on beyond a period."""
        return self.sample, self.sample + 1

    def heights(self, footfall: FootfallPattern, height: float) -> np.ndarray:
        """`FootfallPattern.heights` (samples, m) [m] where swings that `motion` has begun go on."""
        motion = self.motion
        first = self.sample - motion.samples if motion.periodic else 0
        before = motion.contact[np.arange(first, self.sample) % motion.samples]
        rows = np.vstack([before, footfall.contact])
        return FootfallPattern(footfall.names, rows, False).heights(height)[len(before) :]

    def rates(self, plan: Mapping[str, np.ndarray]) -> tuple[float, ...]:
        """`LocomotionMotion.begin_rates` of a plan that goes on from here."""
        found = self.motion.rates(self.sample * self.motion.step)
        there, here = self.motion.base[self.sample, 3:], plan["q"][0, 3:7]
        found[6:10] *= 1.0 if there @ here > 0 else -1.0  # a quaternion's two signs
        return tuple(found.tolist())

    def begun(self, plan: Mapping[str, np.ndarray], weight: float) -> dict[str, np.ndarray]:
        """A plan of the engine whose first samples are both; weight [N] of the robot."""
        out = {name: np.array(value) for name, value in plan.items()}
        for i, row in enumerate(self._samples(weight)):
            for name, value in row.items():
                out[name][i] = value
        return out

    def placed(self, standing: Mapping[str, np.ndarray], weight: float) -> dict[str, np.ndarray]:
        """As `begun`, of a plan that stands: then it stands where they are."""
        first = self._samples(weight)[0]
        yaw = np.arctan2(first["R"][1, 0], first["R"][0, 0])
        there = np.array([*(first["x"] - standing["x"][0])[:2], 0.0, yaw])
        rows = [_later(standing, i, 1, there) for i in range(len(standing["x"]))]
        plan = {name: np.array(value) for name, value in standing.items()}
        plan |= {name: np.array([row[name] for row in rows]) for name in rows[0]}
        return self.begun(plan, weight)

    def _samples(self, weight: float) -> list[dict[str, Any]]:
        own, count = engine_plan(self.motion, weight), self.motion.samples
        return [_later(own, row % count, row // count, own["travel"]) for row in self.rows]


def _later(plan: Mapping[str, Any], i: int, periods: int, travel: np.ndarray) -> dict[str, Any]:
    """Sample i of a plan, as it is `periods` later."""
    turn = periods * travel[3]
    row = {name: np.array(value[i]) for name, value in plan.items() if name != "travel"}
    for name in ("x", "e"):
        row[name] = moved_by_periods(row[name], travel, periods)
    row["f"] = moved_by_periods(row["f"], travel, periods, place=False)
    row["R"] = quat_matrix(quat_exp([0.0, 0.0, turn])) @ row["R"]
    row["q"][:3] = moved_by_periods(row["q"][:3], travel, periods)
    row["q"][3:7] = quat_multiply(quat_exp([0.0, 0.0, turn]), row["q"][3:7])
    row["yaw"] = row["yaw"] + turn
    return row
