"""Goals of a plan: places and velocities of a body, or of its points, at rows of a rollout.

Over several rows either all of them count equally, or only the nearest passage: with distances
e_i = x_i - x* of n points the residual is the mean of the e_i under weights of a soft minimum,

    r = sum_i w_i e_i,   w_i = exp(-|e_i|^2/(n s^2))/sum_j exp(-|e_j|^2/(n s^2)),
    dr/dx_j = w_j [1 + (2/(n s^2)) (r - e_j) e_j^T],

which is smooth, and small only if the body comes near x* at some time  [Eq. 7d].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from diffsim_ros.errors import InputError

from .losses import Loss
from .marker_track import Carrier, RigidPoints, SoftPoints
from .objectives import AtFrames, BodySlot, PoseTrack, Term, _checked


class Aim:
    """What goals of a plan provide besides residuals; the defaults."""

    sigma: float
    called: ClassVar[str] = "goal"

    @property
    def tolerance(self) -> float:
        """Tolerance in the unit of `reached`: sigma."""
        return float(self.sigma)

    @property
    def targets(self) -> np.ndarray:
        """Places (n, 3) [m, world] that are aimed at: none."""
        return np.zeros((0, 3))

    @property
    def row(self) -> int | None:
        """Row of the rollout at which the body itself is to be at one place; None: another goal."""
        return None

    def aimed_at(self, place: np.ndarray) -> Self:
        """Return the goal with this place (3,) [m, world] for all `targets`."""
        return self


@dataclass(frozen=True)
class Goal(Aim, AtFrames):
    """Places, or velocities, of n points: r = (x - x*)/sigma, the mean square over rows and points.

    frames    (M,)    rows of the rollout
    target    (3,)    x* [m, world], or the velocity [m/s]; (n, 3) of several points
    sigma     ()      tolerance [m or m/s]
    rate      True: of the velocity
    local     (3,)    a point of a rigid body instead of its centre, body frame [m]
    weights   (n,)    masses of a soft body's nodes, in the rollout's order; None: one node
    points    instead of these: where any number of points are fixed to the body
    across    (k, 3)  directions along which the distance counts, orthonormal; None: all
    softness  [m]     s of the soft minimum over the rows; None: all rows count
    """

    target: np.ndarray
    sigma: float
    rate: bool = False
    local: np.ndarray | None = None
    weights: np.ndarray | None = None
    softness: float | None = None
    points: Carrier | None = None
    across: np.ndarray | None = None
    name: str = field(default="goal", kw_only=True)
    soft: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place = object.__setattr__, self.place
        _checked(place, "sigma", self.sigma, (), positive=True)
        if self.softness is not None:
            _checked(place, "softness", self.softness, (), positive=True)
        if sum(given is not None for given in (self.local, self.weights, self.points)) > 1:
            raise InputError(place, "points", "several", "one of local, weights and points")
        if self.local is not None:
            put(self, "points", RigidPoints(_checked(place, "local", self.local, (3,))[None]))
        if self.weights is not None:
            weights = _checked(place, "weights", self.weights, (-1,), positive=True)
            share = (weights / weights.sum())[None]
            put(self, "points", SoftPoints(np.arange(len(weights)), share, np.zeros((1, 3))))
        put(self, "local", None)  # `points` has it now, so that a copy may have another target
        put(self, "weights", None)
        count = 1 if self.points is None else len(self.points)
        target = np.reshape(self.target, (1, 3)) if np.size(self.target) == 3 else self.target
        put(self, "target", _checked(place, "target", target, (count, 3)))
        if self.across is not None:
            put(self, "across", _checked(place, "across", self.across, (-1, 3)))

    def _distances(
        self, rollout: Any, slot: BodySlot
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """(e (M, q), partials by pose (M, q, d) or None, by velocity or None), q = n k."""
        M = len(self.frames)
        turning: np.ndarray | None = None
        if self.points is None:
            source = rollout.velocity if self.rate else rollout.position
            e = np.asarray(source)[self.frames, slot.index][:, None]
            by_x = np.zeros((M, 1, 3, slot.size))
            by_x[..., :3] = np.eye(3)
        else:
            x, v, by_x, turning = self.points.motion(rollout, slot, self.frames)
            e = v if self.rate else x
        e, parts = e - self.target, [turning, by_x] if self.rate else [by_x, None]
        if self.across is not None:
            e, parts = e @ self.across.T, [None if p is None else self.across @ p for p in parts]
        by_pose, by_speed = (None if p is None else p.reshape(M, -1, p.shape[-1]) for p in parts)
        return e.reshape(M, -1), by_pose, by_speed

    @property
    def targets(self) -> np.ndarray:
        """Places (n, 3) [m, world] that are aimed at; none of velocities."""
        return self.target[:0] if self.rate else self.target

    @property
    def row(self) -> int | None:
        """See `Aim.row`."""
        one = len(self.frames) == 1 and self.points is None and not self.rate
        return int(self.frames[0]) if one else None

    def aimed_at(self, place: np.ndarray) -> Self:
        """See `Aim.aimed_at`."""
        if self.rate:
            return self
        return replace(self, target=np.broadcast_to(place, self.target.shape))

    def reached(self, rollout: Any, slot: BodySlot) -> float:
        """Distance [m, m/s] from the target: of the nearest passage, else the mean square's root.

        The passage may lie on the straight lines between the rows.
        """
        e = self._distances(rollout, slot)[0] / np.sqrt(len(self.target))
        if self.softness is None or len(e) == 1:
            return float(np.sqrt(np.mean(np.sum(e**2, axis=1))))
        a, step = e[:-1], np.diff(e, axis=0)
        length = np.maximum(np.sum(step**2, axis=1), np.finfo(float).tiny)
        share = np.clip(-np.sum(a * step, axis=1) / length, 0.0, 1.0)
        return float(np.linalg.norm(a + share[:, None] * step, axis=1).min())

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (M, q), or (1, q) of the nearest passage, and exact partials."""
        e, *parts = self._distances(rollout, slot)
        scale = 1.0 / (self.sigma * np.sqrt(len(self.target)))
        if self.softness is None:
            scale /= np.sqrt(len(e))
            residual, frames = e * scale, self.frames
            parts = [None if p is None else p * scale for p in parts]
        else:
            width = 1.0 / (self.softness**2 * len(self.target))
            power = -np.sum(e**2, axis=1) * width
            w = np.exp(power - power.max())
            w /= w.sum()
            r = w @ e
            outer = np.einsum("mi,mj->mij", r - e, e) * (2.0 * width)
            by_e = w[:, None, None] * (np.eye(e.shape[1]) + outer) * scale
            residual, frames = r[None] * scale, self.frames[None]
            parts = [None if p is None else (by_e @ p)[None] for p in parts]
        dofs = None if self.points is None else self.points.dofs(slot)
        return Term(residual, frames, jx=parts[0], jv=parts[1], dofs=dofs)


@dataclass(frozen=True)
class OrientationGoal(Aim, PoseTrack):
    """Target orientations (M, 4) of a rigid body; `sigma_rotation` (M,) is that of a mean."""

    @property
    def tolerance(self) -> float:
        """Tolerance [rad]."""
        sigma = np.asarray(self.sigma_rotation)
        return float(sigma[0]) / np.sqrt(len(sigma))

    def reached(self, rollout: Any, slot: BodySlot) -> float:
        """Largest angle from the orientation [rad]: the residual is an angle over sigma."""
        residual = self.term(rollout, slot, {}).residual
        sigma = np.asarray(self.sigma_rotation)
        return float(np.linalg.norm(residual, axis=1).max() * sigma[0])


class OfParameters:
    """What objectives of parameters alone have in common: the motion does not enter.

    names  rows of parameters; "": none
    """

    names: tuple[tuple[str, ...], ...]
    frames: ClassVar[np.ndarray] = np.zeros(1, np.int64)
    soft: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[str, ...]:
        """See `Objective`."""
        return tuple(name for row in self.names for name in row if name)

    def until(self, frame: int) -> Self:
        """See `Objective.until`."""
        return self


@dataclass(frozen=True)
class Smooth(OfParameters):
    """Keys of a driven motion near each other: r_i = (p_i - p_{i-1})/sigma, i = 1 ... n  [G 4.7.5].

    names  (n, a)  parameters: keys by axes, in the order of time
    first  (a,)    the key before them, which stays, and `last` the one after them, if there is one
    sigma  [m or rad] of a step
    """

    body: str
    names: tuple[tuple[str, ...], ...]
    first: np.ndarray
    sigma: float
    last: np.ndarray | None = None
    loss: Loss = field(default_factory=Loss)
    name: str = "smooth"

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (1, steps a) and its partials by the keys; the motion does not enter."""
        keys = np.array([[values[name] for name in row] for row in self.names])
        ends = [] if self.last is None else [np.reshape(self.last, (1, -1))]
        steps = np.diff(np.concatenate([np.reshape(self.first, (1, -1)), keys, *ends]), axis=0)
        own: dict[str, np.ndarray] = {}
        for i, row in enumerate(self.names):
            for j, name in enumerate(row):
                partial = np.zeros(steps.shape)
                partial[i, j] = 1.0
                if i + 1 < len(steps):
                    partial[i + 1, j] = -1.0
                own[name] = partial.reshape(1, -1) / self.sigma
        return Term(steps.reshape(1, -1) / self.sigma, self.frames, own=own, moves=False)
