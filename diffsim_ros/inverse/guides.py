"""What a planned motion keeps to throughout: a heading, a clearance, limits of a kinematic body.

They have the partials of any objective, and report how far they are missed as goals do (`reached`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from diffsim_ros.errors import InputError

from .goals import Aim, OfParameters
from .losses import Loss
from .marker_track import Carrier
from .objectives import AtFrames, BodySlot, Term, _checked

MARGIN = 0.02
"""Share of a limit at which its penalty begins, so that the limit itself is kept."""


@dataclass(frozen=True)
class Heading(Aim, AtFrames):
    """An axis of a body near a direction: r = (u/|u| - d)/sigma, the mean square over the rows.

    u = x_1 - x_0 of two points: of a rigid body its origin and the axis' end; of a soft one what
    the axis becomes under the best affine fit of its motion (`affine_axis`).

    frames     (M,)  rows of the rollout;  sigma [rad]
    axis       where x_0 and x_1 are fixed;  direction (3,) world, unit
    """

    axis: Carrier
    direction: np.ndarray
    sigma: float
    name: str = field(default="heading", kw_only=True)
    soft: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place = object.__setattr__, self.place
        direction = _checked(place, "direction", self.direction, (3,))
        length = np.linalg.norm(direction)
        if not length > 0:
            raise InputError(place, "direction", direction.tolist(), "not all zero")
        put(self, "direction", direction / length)
        _checked(place, "sigma", self.sigma, (), positive=True)
        if len(self.axis) != 2:
            raise InputError(place, "axis", len(self.axis), "two points")

    def _axis(self, rollout: Any, slot: BodySlot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(u/|u| (M, 3), |u| (M,), du/dq (M, 3, d))."""
        x, _, by_x, _ = self.axis.motion(rollout, slot, self.frames)
        u = x[:, 1] - x[:, 0]
        length = np.linalg.norm(u, axis=1)
        return u / length[:, None], length, by_x[:, 1] - by_x[:, 0]

    def reached(self, rollout: Any, slot: BodySlot) -> float:
        """Angle from the direction, root of the mean square over the rows [rad]."""
        chord = np.linalg.norm(self._axis(rollout, slot)[0] - self.direction, axis=1)
        angle = 2.0 * np.arcsin(np.clip(0.5 * chord, 0.0, 1.0))
        return float(np.sqrt(np.mean(angle**2)))

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (M, 3) and its partials by pose."""
        unit, length, by_x = self._axis(rollout, slot)
        scale = 1.0 / (self.sigma * np.sqrt(len(unit)))
        across = np.eye(3) - np.einsum("mi,mj->mij", unit, unit)
        jx = (scale / length[:, None, None]) * (across @ by_x)
        residual = (unit - self.direction) * scale
        return Term(residual, self.frames, jx=jx, dofs=self.axis.dofs(slot))


def affine_axis(vertices: np.ndarray, masses: np.ndarray, axis: np.ndarray) -> np.ndarray | None:
    """Weights w (n,) with sum_i w_i x_i = F axis, F the best affine fit of x_i to vertices (n, 3).

    None if the vertices do not span the axis (the normal of a flat sheet).
    """
    apart = vertices - masses @ vertices / masses.sum()
    spread = (apart * masses[:, None]).T @ apart
    solution, *_ = np.linalg.lstsq(spread, axis, rcond=1e-9)
    if np.linalg.norm(spread @ solution - axis) > 1e-6 * np.linalg.norm(axis):
        return None
    return masses * (apart @ solution)


@dataclass(frozen=True)
class ClearanceGuide(Aim, AtFrames):
    """Points of a body at a distance from a surface at rest: r = max(0, distance - g(x))/sigma.

    frames    (M,)  rows of the rollout;  sigma [m]
    points    n points of the body;  surface  has evaluate(x) -> gap [m], normal, ...
    distance  () or (n,) [m]: the clearance, and the radius of a point
    """

    points: Carrier
    surface: Any
    distance: np.ndarray | float
    sigma: float
    name: str = field(default="clearance", kw_only=True)
    soft: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place = object.__setattr__, self.place
        distance = _checked(place, "distance", self.distance, np.shape(self.distance))
        put(self, "distance", np.broadcast_to(distance, (len(self.points),)))
        _checked(place, "sigma", self.sigma, (), positive=True)

    def _lacking(self, rollout: Any, slot: BodySlot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(distance - g (M, n), normals (M, n, 3), dx/dq (M, n, 3, d))."""
        x, _, by_x, _ = self.points.motion(rollout, slot, self.frames)
        gap, normal, *_ = self.surface.evaluate(np.ascontiguousarray(x.reshape(-1, 3)))
        return self.distance - gap.reshape(x.shape[:2]), normal.reshape(x.shape), by_x

    def reached(self, rollout: Any, slot: BodySlot) -> float:
        """How much is lacking where the body comes nearest [m]."""
        return float(max(0.0, self._lacking(rollout, slot)[0].max()))

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (M, n) and its partials by pose."""
        lacking, normal, by_x = self._lacking(rollout, slot)
        near = lacking > 0
        jx = -np.einsum("mni,mnid->mnd", normal * (near / self.sigma)[..., None], by_x)
        residual = np.where(near, lacking, 0.0) / self.sigma
        return Term(residual, self.frames, jx=jx, dofs=self.points.dofs(slot))


@dataclass(frozen=True)
class KeyLimit(OfParameters):
    """Largest speed, acceleration or jerk of a kinematic body through keys at equal intervals.

    r_i = max(0, |D_i|/limit - (1 - MARGIN))/sigma; D_i are first differences over the interval
    (order 1: the speed), second ones over its square (order 2: the speed's change at a key, shared
    by the interval around it) or third ones over its cube (order 3), the kinematic body at rest
    before the first key and after the last.  Orders 2 and 3 have D_i/usual as residuals too:
    without them every step of the search is jagged and runs into the limit at once.

    names     (K, 3)  parameters of the keys by axes; "": stays as in `keys` (K, 3) [m or rad]
    limit     [m or rad, per s, s^2 or s^3];  usual  the same, default: the limit
    """

    body: str
    names: tuple[tuple[str, ...], ...]
    keys: np.ndarray
    interval: float
    limit: float
    order: int = 1
    sigma: float = 0.01
    usual: float | None = None
    loss: Loss = field(default_factory=Loss)
    name: str = "limit"

    def _map(self) -> np.ndarray:
        """Differences (m, K) of keys."""
        count, rest = len(self.keys), self.order - 1
        ends = np.eye(count)[[*[0] * rest, *range(count), *[count - 1] * rest]]
        return np.diff(ends, n=self.order, axis=0) / self.interval**self.order

    def _differences(self, values: Mapping[str, float]) -> np.ndarray:
        keys = np.array(self.keys, float)
        for k, row in enumerate(self.names):
            for a, name in enumerate(row):
                keys[k, a] = values[name] if name else keys[k, a]
        return self._map() @ keys

    def peak(self, values: Mapping[str, float]) -> float:
        """Largest of |D_i| [m or rad, per s, s^2 or s^3]."""
        return float(np.linalg.norm(self._differences(values), axis=1).max())

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (1, m or 4 m), and its partials by the keys; the motion does not enter."""
        D, by_key = self._differences(values), self._map()
        size = np.linalg.norm(D, axis=1)
        over = size / self.limit - (1.0 - MARGIN)
        active = over > 0
        unit = D / np.where(active, size, 1.0)[:, None] * active[:, None]
        # (K, 3, m) by every key and axis, and of all of D (K, 3, m, 3)
        by_above = by_key.T[:, None] * unit.T / self.limit
        by_all = by_key.T[:, None, :, None] * np.eye(3)[:, None]
        partial = self._side_by_side(by_above, by_all)
        own = {
            name: partial[k, a][None]
            for k, row in enumerate(self.names)
            for a, name in enumerate(row)
            if name
        }
        residual = self._side_by_side(np.where(active, over, 0.0), D)[None]
        return Term(residual, self.frames, own=own, moves=False)

    def _side_by_side(self, above: np.ndarray, all_of_it: np.ndarray) -> np.ndarray:
        """Residuals (..., m), or (..., 4 m), from what is above the limit and from all D."""
        if self.order == 1:
            return above / self.sigma
        even = all_of_it.reshape(*above.shape[:-1], -1) / (self.usual or self.limit)
        return np.concatenate([above / self.sigma, even], axis=-1)
