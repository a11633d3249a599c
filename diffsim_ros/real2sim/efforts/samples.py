"""Samples of an arm's trials that efforts are regressed on, with all that laws need of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...robots.dynamics import inertial_parameters, inverse_dynamics, regressor
from ...robots.robot import Robot
from .friction import FrictionLaw, direction
from .regression import JointRows
from .signals import FilteredMotion

STILL = 0.03
"""A joint moves where it is faster than this share of its fast speed: the effort of one that stands
is anything within its dry friction, and says nothing."""
FAST = 95.0
"""Percentile of the speeds of a joint that is its fast one."""
ROWS = 4.0
"""Samples that count per period of the bandwidth."""
STRETCH = 2.0
"""Length [s] of the stretches of time that can be left out of a regression."""
PERIODS = 5.0
"""Length of the blocks of stretches within which noise is taken to be correlated, in periods of the
bandwidth: what a law leaves goes on for as long as a motion, and by default a motion's fastest part
has a period of five of the bandwidth (signals.WIDER)."""
OUTLYING = 3.0
"""Robust standard deviations beyond which an effort counts less: at an end stop, in a collision."""
ROUNDS = 30
"""Of weights and coefficients in turn."""
FIVE = ("gravity", "viscous", "coulomb", "acceleration", "offset")
"""Coefficients of the regression that everything is compared with."""


def fast_speeds(motions: Sequence[FilteredMotion]) -> np.ndarray:
    """The speed (n,) of every joint when it moves fast [rad/s or m/s]."""
    speeds = np.concatenate([np.abs(motion.qd[motion.inside]) for motion in motions])
    return np.maximum(np.percentile(speeds, FAST, axis=0), 1e-9)


def _length(motion: FilteredMotion) -> float:
    """Length of a trial's stretches [s]."""
    return max(STRETCH, 2.0 / motion.bandwidth)


@dataclass(frozen=True)
class Samples:
    """Of several trials of a robot with n joints; arrays are one after the other (N, ...).

    fast     (n,) of the trials that were trained on;  gravity (3,) [m/s^2], axes of the base
    rows_of_period  samples per period of the bandwidth
    """

    robot: Robot
    motions: tuple[FilteredMotion, ...]
    fast: np.ndarray
    gravity: tuple[float, float, float]
    rows_of_period: float = ROWS

    def _every(self, of: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate([table[m] for table, m in zip(of, self.taken, strict=True)])

    @cached_property
    def taken(self) -> list[np.ndarray]:
        """Indices of the samples of every trial."""
        found = []
        for motion in self.motions:
            step = max(
                1, int(1.0 / (self.rows_of_period * motion.bandwidth * (motion.t[1] - motion.t[0])))
            )
            found.append(np.flatnonzero(motion.inside)[::step])
        return found

    @cached_property
    def effort(self) -> np.ndarray:
        """Measured, filtered (N, n)."""
        return self._every([motion.effort for motion in self.motions])

    @cached_property
    def moving(self) -> np.ndarray:
        """Whether a joint moves (N, n)."""
        return np.abs(self._every([m.qd for m in self.motions])) > STILL * self.fast

    @cached_property
    def stretch(self) -> np.ndarray:
        """Number of the stretch of time that a sample lies in (N,)."""
        found, first = [], 0
        for motion, taken in zip(self.motions, self.taken, strict=True):
            own = first + (motion.t[taken] / _length(motion)).astype(int)
            found.append(own)
            first = int(own[-1]) + 1
        return np.concatenate(found)

    @cached_property
    def block(self) -> np.ndarray:
        """Number of the block of correlated noise that each stretch lies in (last stretch + 1,)."""
        found, first = np.zeros(int(self.stretch[-1]) + 1, int), 0
        ends = np.cumsum([len(taken) for taken in self.taken])
        for motion, end, count in zip(self.motions, ends, map(len, self.taken), strict=True):
            own = self.stretch[end - count : end]
            many = max(1, round(PERIODS / motion.bandwidth / _length(motion)))
            here = np.arange(own[0], own[-1] + 1)
            found[here] = first + (here - own[0]) // many
            first = int(found[here[-1]]) + 1
        return found

    @cached_property
    def Y(self) -> np.ndarray:
        """Regressor (N, n, 10 n)."""
        q, qd, qdd = (
            self._every([getattr(m, s) for m in self.motions]) for s in ("q", "qd", "qdd")
        )
        return regressor(self.robot, q, qd, qdd, self.gravity)

    @cached_property
    def loads(self) -> list[np.ndarray]:
        """Torques and forces of the bodies by the URDF, of every trial's whole motion (n_t, n)."""
        return [inverse_dynamics(self.robot, m.q, m.qd, m.qdd, self.gravity) for m in self.motions]

    @cached_property
    def five(self) -> np.ndarray:
        """Columns (N, n, 5) of the five-coefficient regression."""
        found = []
        for m in self.motions:
            still = np.zeros_like(m.q)
            weight = inverse_dynamics(self.robot, m.q, still, still, self.gravity)
            dry = m.filtered(direction(m.qd, self.fast))
            found.append(np.stack([weight, m.qd, dry, m.qdd, np.ones_like(dry)], axis=2))
        return self._every(found)

    def columns(self, j: int, law: FrictionLaw) -> np.ndarray:
        """(N, 2 + k) of a joint: acceleration, 1, and its friction's columns, filtered."""
        found = []
        for m, load in zip(self.motions, self.loads, strict=True):
            rubs = m.filtered(law.columns(m.qd[:, j], load[:, j], float(self.fast[j])))
            found.append(np.column_stack([m.qdd[:, j], np.ones(len(m.t)), rubs]))
        return self._every(found)

    @cached_property
    def weights(self) -> np.ndarray:
        """How much every effort counts (N, n): 1, less where five coefficients, fitted so, leave
        more than OUTLYING robust standard deviations (Huber)."""
        found = np.ones(self.effort.shape)
        for j in range(len(self.robot.joints)):
            on = self.moving[:, j]
            columns, effort = self.five[on, j], self.effort[on, j]
            columns = columns / np.maximum(np.abs(columns).max(axis=0, initial=0.0), 1e-12)
            own = found[on, j]
            for _ in range(ROUNDS):
                root = np.sqrt(own)
                b = np.linalg.lstsq(root[:, None] * columns, root * effort, rcond=1e-10)[0]
                off = np.abs(effort - columns @ b)
                scale = OUTLYING * 1.4826 * float(np.median(off)) if len(off) else 0.0
                before, own = own, np.minimum(1.0, scale / np.maximum(off, 1e-300))
                if scale == 0.0:
                    own = np.ones_like(own)
                if np.allclose(before, own, atol=1e-6):
                    break
            found[on, j] = own
        return found

    def rows(
        self, laws: Sequence[FrictionLaw], kept: Sequence[np.ndarray] | None = None
    ) -> list[JointRows]:
        """Samples of every joint that moves, by a law each, times the roots of their weights.

        kept  of every joint, False for columns whose coefficient is 0 (2 + k,); None: for none
        """
        found = []
        for j, law in enumerate(laws):
            on = self.moving[:, j]
            root = np.sqrt(self.weights[on, j])
            Y, F = root[:, None] * self.Y[on, j], root[:, None] * self.columns(j, law)[on]
            if kept is not None:
                F[:, ~kept[j]] = 0.0
            found.append(JointRows(Y, F, root * self.effort[on, j], self.stretch[on]))
        return found

    @property
    def inertias(self) -> np.ndarray:
        """phi (n, 10) of the URDF."""
        return inertial_parameters(self.robot)
