"""Measured velocities of a rigid body, for recordings of little else [Eq. 7e]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .objectives import AtFrames, BodySlot, Term, _checked, _sigma


@dataclass(frozen=True)
class TwistTrack(AtFrames):
    """Measured velocities of a rigid body: r = [(v_sim - v)/sigma_v, (w_sim - w)/sigma_w].

    frames            (M,)    rows of the rollout
    velocity          (M, 3)  of the centre of mass [m/s, world]
    angular_velocity  (M, 3)  [rad/s, world]
    sigma_velocity    () or (M,) [m/s];  sigma_spin () or (M,) [rad/s]
    """

    velocity: np.ndarray
    angular_velocity: np.ndarray
    sigma_velocity: np.ndarray | float = 0.05
    sigma_spin: np.ndarray | float = 0.5
    name: str = field(default="twist", kw_only=True)
    each_frame = ("velocity", "angular_velocity", "sigma_velocity", "sigma_spin")

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place, count = object.__setattr__, self.place, len(self.frames)
        for key in ("velocity", "angular_velocity"):
            put(self, key, _checked(place, key, getattr(self, key), (count, 3)))
        for key in ("sigma_velocity", "sigma_spin"):
            put(self, key, _sigma(place, key, getattr(self, key), count))

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (M, 6) and its partials by (dv, domega), which are constant."""
        weight = np.repeat(1.0 / np.stack([self.sigma_velocity, self.sigma_spin], 1), 3, axis=1)
        at = (self.frames, slot.index)
        off = (rollout.velocity[at] - self.velocity, rollout.angular_velocity[at])
        residual = np.concatenate([off[0], off[1] - self.angular_velocity], axis=1) * weight
        return Term(residual, self.frames, jv=np.eye(6) * weight[..., None])
