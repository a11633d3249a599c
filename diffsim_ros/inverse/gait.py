"""What a gait is to keep to: a speed, the same state cycle after cycle, smooth targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from diffsim_ros.errors import InputError

from ..rotation import left_jacobian_inverse, quat_conjugate, quat_log, quat_multiply
from .losses import Loss
from .objectives import AtFrames, BodySlot, Term, _checked


@dataclass(frozen=True)
class MeanSpeed(AtFrames):
    """Mean speed over spans of time  [Eq. 7n]:

    r_k = (d . (x(t_k+1) - x(t_k))/(t_k+1 - t_k) - v)/(sigma sqrt K)

    frames     (K+1,) rows of the rollout, ascending: ends of the K spans that follow one another
    times      (K+1,) of these rows [s]
    direction  (3,)   d, world; a unit vector is made of it
    speed, sigma      [m/s]
    """

    times: np.ndarray
    direction: np.ndarray
    speed: float
    sigma: float
    name: str = field(default="speed", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place = object.__setattr__, self.place
        times = _checked(place, "times", self.times, (len(self.frames),))
        if len(times) < 2 or np.any(np.diff(times) <= 0):
            raise InputError(place, "times", times.tolist(), "two or more, ascending")
        put(self, "times", times)
        d = _checked(place, "direction", self.direction, (3,))
        if not np.linalg.norm(d) > 0:
            raise InputError(place, "direction", d.tolist(), "not all zero")
        put(self, "direction", d / np.linalg.norm(d))
        _checked(place, "speed", self.speed, ())
        _checked(place, "sigma", self.sigma, (), positive=True)

    def speeds(self, rollout: Any, slot: BodySlot) -> np.ndarray:
        """Mean speeds (K,) [m/s]."""
        along = rollout.position[self.frames, slot.index] @ self.direction
        return np.diff(along) / np.diff(self.times)

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (K, 1) and its partials by the positions at both ends."""
        count = len(self.times) - 1
        scale = 1.0 / (self.sigma * np.sqrt(count))
        jx = np.zeros((count, 2, 1, slot.size))
        per = (scale / np.diff(self.times))[:, None] * self.direction
        jx[:, 0, 0, :3], jx[:, 1, 0, :3] = -per, per
        pairs = np.stack([self.frames[:-1], self.frames[1:]], axis=1)
        residual = (self.speeds(rollout, slot) - self.speed) * scale
        return Term(residual[:, None], pairs, jx=jx)

    def until(self, frame: int) -> Self | None:
        """See `Objective.until`: only whole motions have a mean speed."""
        return self if self.frames[-1] <= frame else None


@dataclass(frozen=True)
class CycleChange(AtFrames):
    """How a rigid body's state changes from cycle to cycle  [Eq. 7o]:

    r_k = [n . dc/sigma_p, log(R_k+1 R_k^T)/sigma_r, dv/sigma_v, dw/sigma_w]/sqrt(K), d: k+1 less k.

    frames  (K+1,) rows of the rollout at the same phase of cycles that follow one another
    across  (3,)   n, world unit vector along which the place counts (of a walk: up)
    sigmas  (4,)   [m, rad, m/s, rad/s]
    """

    across: np.ndarray
    sigmas: np.ndarray
    name: str = field(default="cycles", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place = object.__setattr__, self.place
        put(self, "across", _checked(place, "across", self.across, (3,)))
        put(self, "sigmas", _checked(place, "sigmas", self.sigmas, (4,), positive=True))
        if len(self.frames) < 2:
            raise InputError(place, "frames", len(self.frames), "two or more")

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (K, 10) and its partials by pose and velocity at both ends."""
        at, to = self.frames[:-1], self.frames[1:]
        q = rollout.orientation[:, slot.index]
        turn = quat_log(quat_multiply(q[to], quat_conjugate(q[at])))
        inverse = left_jacobian_inverse(turn)  # by exp(phi) on the later one; -its transpose else
        change = [
            x[to, slot.index] - x[at, slot.index]
            for x in (rollout.position, rollout.velocity, rollout.angular_velocity)
        ]
        p, r, v, w = 1.0 / (self.sigmas * np.sqrt(len(at)))
        parts = [(change[0] @ self.across)[:, None] * p, turn * r, change[1] * v, change[2] * w]
        jx, jv = np.zeros((2, len(at), 2, 10, 6))
        jx[:, 1, 0, :3] = self.across * p
        jx[:, 1, 1:4, 3:] = inverse * r
        jx[:, 0] = -jx[:, 1]
        jx[:, 0, 1:4, 3:] = -np.swapaxes(inverse, 1, 2) * r
        jv[:, 1, 4:7, :3], jv[:, 1, 7:, 3:] = np.eye(3) * v, np.eye(3) * w
        jv[:, 0] = -jv[:, 1]
        pairs = np.stack([at, to], axis=1)
        return Term(np.concatenate(parts, axis=1), pairs, jx=jx, jv=jv)


@dataclass(frozen=True)
class SmoothCycle:
    """Second differences of what a periodic motion is changed by: r = D W theta/sigma  [Eq. 7p].

    names    (m,)    parameters theta
    matrix   (n, m)  W: changes of n samples of a cycle by them
    sigma    () [rad] of a second difference, first and last sample being neighbours
    """

    body: str
    names: tuple[str, ...]
    matrix: np.ndarray
    sigma: float
    loss: Loss = field(default_factory=Loss)
    name: str = "smooth"
    soft: ClassVar[bool] = True

    def __post_init__(self) -> None:
        W = np.asarray(self.matrix, float)
        second = np.roll(W, 1, axis=0) - 2.0 * W + np.roll(W, -1, axis=0)
        object.__setattr__(self, "_rows", second / (self.sigma * np.sqrt(len(W))))

    @property
    def parameters(self) -> tuple[str, ...]:
        """See `Objective`."""
        return self.names

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (1, n) and its partials by the parameters; the motion does not enter."""
        rows: np.ndarray = self._rows  # type: ignore[attr-defined]
        theta = np.array([values[name] for name in self.names])
        own = {name: rows[None, :, i] for i, name in enumerate(self.names)}
        return Term((rows @ theta)[None], np.zeros(1, np.int64), own=own, moves=False)

    def until(self, frame: int) -> Self:
        """See `Objective.until`."""
        return self
