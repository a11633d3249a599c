"""Markers on soft or rigid bodies, measured at times of their own: residuals with exact partials.

Between two rows a and b of a rollout, T apart, a marker moves along the cubic through its places
and velocities there [Eq. 7a],

    x(t) = h_00 x_a + h_10 T v_a + h_01 x_b + h_11 T v_b,   s = (t - t_a)/T,
    h_00 = (1 + 2s)(1 - s)^2, h_10 = s(1 - s)^2, h_01 = s^2 (3 - 2s), h_11 = s^2 (s - 1),

so a recording's clock need not be that of the steps.  The error is T^4/384 times x'''' at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from diffsim_ros.errors import InputError

from ..rotation import quat_matrix, skew
from .at_times import AtTimes, rows_around
from .clock import NamedNumbers
from .objectives import BodySlot, Term, _checked

PointMotion = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]
"""What `Carrier.motion` gives."""


class Carrier(Protocol):
    """Where markers are fixed: gives their motion at rows of a rollout, and its partials."""

    def __len__(self) -> int:
        """Return the number of markers."""
        ...

    def dofs(self, slot: BodySlot) -> np.ndarray:
        """Dofs of the body (d,) that the markers depend on."""
        ...

    def motion(self, rollout: Any, slot: BodySlot, frames: np.ndarray) -> PointMotion:
        """(x, v (F, n, 3); dx/dq, dv/dq (F, n, 3, d)): dv/dqd is dx/dq."""
        ...


@dataclass(frozen=True)
class SoftPoints:
    """Markers carried by the nodes of a soft body: x = fixed + sum_k weights_k x_k.

    nodes    (k,)    of the body's free nodes, in the rollout's order
    weights  (n, k)  of each marker; with what `fixed` (n, 3) [m] has of pinned vertices their sum
             is 1.  Weights outside 0..1 extend the motion affinely to a marker that stands off.
    """

    nodes: np.ndarray
    weights: np.ndarray
    fixed: np.ndarray

    def __len__(self) -> int:
        return len(self.weights)

    def dofs(self, slot: BodySlot) -> np.ndarray:
        """See `Carrier.dofs`."""
        return (3 * np.asarray(self.nodes)[:, None] + np.arange(3)).ravel()

    def motion(self, rollout: Any, slot: BodySlot, frames: np.ndarray) -> PointMotion:
        """See `Carrier.motion`."""
        rows = slot.index + np.asarray(self.nodes)
        x = np.einsum("nk,fki->fni", self.weights, rollout.position[frames][:, rows])
        v = np.einsum("nk,fki->fni", self.weights, rollout.velocity[frames][:, rows])
        n, k = self.weights.shape
        by_x = np.einsum("nk,ij->nikj", self.weights, np.eye(3)).reshape(n, 3, 3 * k)
        by_x = np.broadcast_to(by_x, (len(frames), n, 3, 3 * k))
        return self.fixed + x, v, by_x, None


@dataclass(frozen=True)
class RigidPoints:
    """Markers fixed in a rigid body or kinematic body at `local` (n, 3) [m], body frame [Eq. 6]."""

    local: np.ndarray

    def __len__(self) -> int:
        return len(self.local)

    def dofs(self, slot: BodySlot) -> np.ndarray:
        """See `Carrier.dofs`."""
        return np.arange(slot.size)

    def motion(self, rollout: Any, slot: BodySlot, frames: np.ndarray) -> PointMotion:
        """See `Carrier.motion`."""
        arm = np.einsum(
            "fij,nj->fni", quat_matrix(rollout.orientation[frames, slot.index]), self.local
        )
        spin = np.broadcast_to(rollout.angular_velocity[frames, slot.index][:, None], arm.shape)
        x = rollout.position[frames, slot.index][:, None] + arm
        v = rollout.velocity[frames, slot.index][:, None] + np.cross(spin, arm)
        by_x = np.zeros((*arm.shape, 6))
        by_x[..., :3] = np.eye(3)
        by_x[..., 3:] = -skew(arm)
        turning = np.zeros((*arm.shape, 6))
        turning[..., 3:] = -skew(spin) @ skew(arm)
        return x, v, by_x, turning


def interpolated(
    carrier: Carrier, rollout: Any, slot: BodySlot, t: np.ndarray, interval: float
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Places (M, n, 3) of markers at times t (M,) >= 0 since the start, and their partials.

    The partials are (dx/dq, dx/dqd) (M, n, 3, d) for the rows before and after [Eq. 7a].
    """
    frames, T = rows_around(t, interval), interval
    s = np.clip(t / T - frames[:, 0], 0.0, 1.0)[:, None, None]
    place = ((1 + 2 * s) * (1 - s) ** 2, s**2 * (3 - 2 * s))
    speed = (T * s * (1 - s) ** 2, T * s**2 * (s - 1))
    x: np.ndarray = np.zeros(())
    partials = []
    for k in range(2):
        at, rate, by_x, turning = carrier.motion(rollout, slot, frames[:, k])
        x = x + place[k] * at + speed[k] * rate
        of_pose = place[k][..., None] * by_x
        if turning is not None:
            of_pose = of_pose + speed[k][..., None] * turning
        partials.append((of_pose, speed[k][..., None] * by_x))
    return x, partials


def rates(
    carrier: Carrier, rollout: Any, slot: BodySlot, t: np.ndarray, interval: float
) -> np.ndarray:
    """Velocities (M, n, 3) of markers at times t (M,) on the cubic of `interpolated` [m/s]."""
    frames, T = rows_around(t, interval), interval
    s = np.clip(t / T - frames[:, 0], 0.0, 1.0)[:, None, None]
    turn = 6 * s * (1 - s) / T
    place, speed = (-turn, turn), ((1 - s) * (1 - 3 * s), s * (3 * s - 2))
    found: np.ndarray = np.zeros(())
    for k in range(2):
        at, rate, *_ = carrier.motion(rollout, slot, frames[:, k])
        found = found + place[k] * at + speed[k] * rate
    return found


@dataclass(frozen=True)
class MarkerTrack(AtTimes):
    """Measured markers of one body: r = (x_sim(t) - x)/sigma.

    carrier   n markers: SoftPoints or RigidPoints
    position  (M, n, 3)  measured [m, world]; NaN: missing
    sigma     ()  (n,) or (M, n)  [m]
    origin    (3,) [m] of what they are measured from
    """

    carrier: Carrier
    position: np.ndarray
    sigma: np.ndarray | float = 1e-3
    name: str = field(default="markers", kw_only=True)
    origin: NamedNumbers = field(default_factory=lambda: NamedNumbers.zero(3))
    weight: np.ndarray = field(init=False, repr=False, compare=False)  # (M, n) 1/sigma; 0: missing
    each_time = ("position", "sigma")

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place = object.__setattr__, self.place
        shape, position = (len(self.t), len(self.carrier), 3), np.array(self.position, float)
        if position.shape != shape:
            raise InputError(place, "position", position.shape, f"shape {shape}")
        visible = np.isfinite(position).all(axis=2)
        position[~visible] = np.nan
        put(self, "position", position)
        sigma = _checked(place, "sigma", self.sigma, np.shape(self.sigma), positive=True)
        put(self, "sigma", np.broadcast_to(sigma, shape[:2]))
        put(self, "weight", visible / self.sigma)

    @property
    def parameters(self) -> tuple[str, ...]:
        """See AtTimes."""
        named = (name for name in self.origin.names if name)
        return tuple(dict.fromkeys((*super().parameters, *named)))

    def predicted(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> np.ndarray:
        """What the sensor would measure: places (M, n, 3) from its origin."""
        at, _ = self.within(rollout, values)
        x, _ = interpolated(self.carrier, rollout, slot, at, self.interval)
        return x - self.origin.at(values)

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (M, 3n), one block per time; partials by two rows of the rollout."""
        at, moving = self.within(rollout, values)
        x, partials = interpolated(self.carrier, rollout, slot, at, self.interval)
        M, n = self.weight.shape
        scale = self.weight[..., None]
        jx, jv = (
            np.stack([(p[k] * scale[..., None]).reshape(M, 3 * n, -1) for p in partials], axis=1)
            for k in range(2)
        )
        apart = np.where(scale > 0, x - self.origin.at(values) - self.position, 0.0)
        residual = (apart * scale).reshape(M, 3 * n)
        own: dict[str, np.ndarray] = {}
        if self.clock.parameters:
            speed = rates(self.carrier, rollout, slot, at, self.interval)
            own = self.clock.own(self.t, moving, (speed * scale).reshape(M, 3 * n))
        for k, name in enumerate(self.origin.names):
            if name:
                by = np.zeros((M, n, 3))
                by[..., k] = -self.weight
                own[name] = own.get(name, 0.0) + by.reshape(M, 3 * n)
        rows = rows_around(at, self.interval)
        return Term(residual, rows, jx=jx, jv=jv, own=own, dofs=self.carrier.dofs(slot))
