"""How high a body rises: the height of a bounce, as a ruler or a light barrier gives it  [Eq. 7k].

    r = (max over t of u·x(t) - height)/sigma

x is the cubic through places and velocities of the rollout's rows (7a).  At the highest point the
slope by time is zero, so the partials are those of the place at that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .at_times import rows_around
from .marker_track import Carrier, RigidPoints, interpolated
from .objectives import AtFrames, BodySlot, Term, _checked


@dataclass(frozen=True)
class Apex(AtFrames):
    """The highest place of a point of a body between two rows; see the module.

    frames    (2,)  first and last row of the rollout that count
    height    measured [m];  sigma [m];  interval  of the rollout's rows [s]
    direction u (3,) world, unit
    point     one point of the body: RigidPoints, or SoftPoints (of a particle: its one node)
    """

    height: float
    interval: float
    sigma: float = 1e-3
    direction: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    point: Carrier = field(default_factory=lambda: RigidPoints(np.zeros((1, 3))))
    name: str = field(default="apex", kw_only=True)
    soft: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _checked(self.place, "frames", self.frames, (2,))
        _checked(self.place, "sigma", self.sigma, (), positive=True)
        _checked(self.place, "height", self.height, ())
        put, u = object.__setattr__, _checked(self.place, "direction", self.direction, (3,))
        put(self, "direction", u / np.linalg.norm(u))

    def until(self, frame: int) -> Apex | None:
        """See `Objective.until`: of a part of the rise nothing is known."""
        return self if self.frames[1] <= frame else None

    def time(self, rollout: Any, slot: BodySlot) -> float:
        """When the point is highest [s], from the rollout's start."""
        rows = np.arange(self.frames[0], self.frames[1] + 1)
        x, v, *_ = self.point.motion(rollout, slot, rows)
        z, rate = x[:, 0] @ self.direction, self.interval * (v[:, 0] @ self.direction)
        rise, a, b = np.diff(z), rate[:-1], rate[1:]
        # slope of the cubic: A s^2 + B s + a = 0 where it falls
        A, B = 3.0 * (a + b - 2.0 * rise), 2.0 * (3.0 * rise - 2.0 * a - b)
        root = np.sqrt(np.maximum(B**2 - 4.0 * A * a, 0.0))
        s = 2.0 * a / np.where(root > B, root - B, np.inf)
        s = np.where((a > 0) & (s < 1.0), s, 0.0)
        peak = z[:-1] + s * (a + s * (B / 2.0 + s * A / 3.0))
        k = int(np.argmax(peak))
        if z[-1] > peak[k]:
            return float(rows[-1] * self.interval)
        return float((rows[k] + s[k]) * self.interval)

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (1, 1); partials by the rows before and after the highest point."""
        t = np.array([self.time(rollout, slot)])
        # the last row is met from the one before it
        t = np.minimum(t, (len(rollout.position) - 1 - 1e-6) * self.interval)
        x, partials = interpolated(self.point, rollout, slot, t, self.interval)
        weight = self.direction / self.sigma
        jx, jv = (np.stack([weight @ p[k][:, 0] for p in partials], axis=1)[:, :, None]
                  for k in range(2))  # fmt: skip
        residual = (x[:, 0] @ self.direction - self.height)[:, None] / self.sigma
        rows = rows_around(t, self.interval)
        return Term(residual, rows, jx=jx, jv=jv, dofs=self.point.dofs(slot))
