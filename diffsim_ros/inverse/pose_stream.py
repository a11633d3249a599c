"""Measured poses of a rigid body by a sensor with a clock and a frame of its own.

With the columns of R at a stamp's time on the cubic of their rows (7a), M = [x_i - c], and the
sensor's pivot (o, theta) in the body and its origin s in the world,

    r = [(c + M o - P - s)/sigma_p ,  w/sqrt(1 + tr A)/sigma_r],  A = M exp(theta) R_measT   (7g)

w_k = A_ji - A_ij.  For a rotation A by an angle a the second is 2 sin(a/2) about its axis: the
turn itself to third order, smooth up to half a turn, and linear in M before it is divided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from diffsim_ros.errors import InputError

from ..rotation import left_jacobian, quat_exp, quat_matrix, skew
from .at_times import AtTimes, rows_around
from .clock import NamedNumbers
from .marker_track import RigidPoints, interpolated, rates
from .objectives import BodySlot, Term, _checked

FRAME = RigidPoints(np.concatenate([np.zeros((1, 3)), np.eye(3)]))
"""The body's centre and the ends of its axes."""
LEAST = 1e-9
"""Of 1 + tr A: a rotation by half a turn has no side."""
VEE = np.zeros((3, 3, 3))
VEE[0, 2, 1] = VEE[1, 0, 2] = VEE[2, 1, 0] = 1.0
VEE[0, 1, 2] = VEE[1, 2, 0] = VEE[2, 0, 1] = -1.0


@dataclass(frozen=True)
class PoseStream(AtTimes):
    """See the module; r per time: (M, 6), of positions alone (M, 3).

    position    (M, 3) measured pivot [m], axes of the world, from the sensor's origin
    orientation (M, 4) measured, xyzw, body to world; None: only positions count
    sigma_position [m];  sigma_rotation [rad]
    pivot (6: [m], rotation vector [rad], body frame), origin (3: [m])
    """

    position: np.ndarray
    orientation: np.ndarray | None = None
    sigma_position: float = 1e-3
    sigma_rotation: float = 0.01
    pivot: NamedNumbers = field(default_factory=lambda: NamedNumbers.zero(6))
    origin: NamedNumbers = field(default_factory=lambda: NamedNumbers.zero(3))
    name: str = field(default="poses", kw_only=True)
    soft: ClassVar[bool] = False
    each_time = ("position", "orientation")

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place, count = object.__setattr__, self.place, len(self.t)
        put(self, "position", _checked(place, "position", self.position, (count, 3)))
        if self.orientation is not None:
            q = _checked(place, "orientation", self.orientation, (count, 4))
            put(self, "orientation", q / np.linalg.norm(q, axis=1, keepdims=True))
        for key in ("sigma_position", "sigma_rotation"):
            if not getattr(self, key) > 0:
                raise InputError(place, key, getattr(self, key), "a number > 0")

    @property
    def parameters(self) -> tuple[str, ...]:
        """See AtTimes."""
        names = (*super().parameters, *self.pivot.names, *self.origin.names)
        return tuple(dict.fromkeys(name for name in names if name))

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residuals and partials by two rows of the rollout and by the sensor's own parameters."""
        at, moving = self.within(rollout, values)
        x, partials = interpolated(FRAME, rollout, slot, at, self.interval)
        residual, by_points, own = self._residual(x, values)
        jx, jv = (
            np.stack([np.einsum("mqnk,mnkd->mqd", by_points, p[k]) for p in partials], axis=1)
            for k in range(2)
        )
        if self.clock.parameters:
            speed = rates(FRAME, rollout, slot, at, self.interval)
            by_time = np.einsum("mqnk,mnk->mq", by_points, speed)
            for name, slope in self.clock.own(self.t, moving, by_time).items():
                own[name] = own.get(name, 0.0) + slope
        return Term(residual, rows_around(at, self.interval), jx=jx, jv=jv, own=own)

    def predicted(
        self, rollout: Any, slot: BodySlot, values: Mapping[str, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """What the sensor would measure: places (M, 3) from its origin, and matrices (M, 3, 3)."""
        at, _ = self.within(rollout, values)
        x, _ = interpolated(FRAME, rollout, slot, at, self.interval)
        pivot, M = self.pivot.at(values), (x[:, 1:] - x[:, :1]).transpose(0, 2, 1)
        return x[:, 0] + M @ pivot[:3] - self.origin.at(values), M @ _turn(pivot)

    def _residual(
        self, x: np.ndarray, values: Mapping[str, float]
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """r (M, q), its partials by the points (M, q, 4, 3) and by parameters name -> (M, q)."""
        pivot, M = self.pivot.at(values), (x[:, 1:] - x[:, :1]).transpose(0, 2, 1)
        count, eye = len(x), np.eye(3)
        miss = x[:, 0] + M @ pivot[:3] - self.position - self.origin.at(values)
        share = np.array([1.0 - pivot[:3].sum(), *pivot[:3]])
        by_points = np.broadcast_to(np.einsum("n,qk->qnk", share, eye), (count, 3, 4, 3))
        by_pivot = np.concatenate([M, np.zeros((count, 3, 3))], axis=2)
        place = (miss, by_points, by_pivot, np.broadcast_to(-eye, (count, 3, 3)))
        parts = [tuple(p / self.sigma_position for p in place)]
        if self.orientation is not None:
            parts.append(tuple(p / self.sigma_rotation for p in self._turned(M, pivot)))
        residual, by_points, by_pivot, by_origin = (
            np.concatenate(p, axis=1) for p in zip(*parts, strict=True)
        )
        own: dict[str, np.ndarray] = {}
        for placed, by in ((self.pivot, by_pivot), (self.origin, by_origin)):
            for k, name in enumerate(placed.names):
                if name:
                    own[name] = own.get(name, 0.0) + by[:, :, k]
        return residual, by_points, own

    def _turned(
        self, M: np.ndarray, pivot: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The turn (M, 3) from measured to simulated, by points, pivot (6) and origin (3)."""
        measured = quat_matrix(self.orientation).transpose(0, 2, 1)
        B = _turn(pivot) @ measured
        A = M @ B
        w = np.einsum("kab,mab->mk", VEE, A)
        s = np.sqrt(np.maximum(1.0 + np.trace(A, axis1=1, axis2=2), LEAST))
        by_A = VEE / s[:, None, None, None]
        by_A = by_A - np.einsum("mk,ab->mkab", 0.5 * w / s[:, None] ** 3, np.eye(3))
        by_M = np.einsum("mkab,mcb->mkca", by_A, B)  # by column c of M, component a
        by_points = np.concatenate([-by_M.sum(axis=2, keepdims=True), by_M], axis=2)
        axes = skew(left_jacobian(pivot[3:]).T)  # of the turn by each of theta's three numbers
        by_B = np.einsum("mkab,mac->mkcb", by_A, M)
        by_theta = np.einsum("mkcb,jcd,mdb->mkj", by_B, axes, B)
        zero = np.zeros((len(M), 3, 3))
        return w / s[:, None], by_points, np.concatenate([zero, by_theta], axis=2), zero


def _turn(pivot: np.ndarray) -> np.ndarray:
    """exp(theta) (3, 3) of a pivot."""
    return quat_matrix(quat_exp(pivot[3:]))
