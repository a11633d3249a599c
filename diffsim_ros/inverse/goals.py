"""Goals of a plan: where the centre of a body is to be, and how fast, at rows of a rollout.

Over several rows either all of them count alike, or only the nearest passage: with distances
e_i = x_i - x* the residual is the mean of the e_i under weights of a soft minimum,

    r = sum_i w_i e_i,   w_i = exp(-|e_i|^2/s^2)/sum_j exp(-|e_j|^2/s^2),
    dr/dx_j = w_j [1 + (2/s^2) (r - e_j) e_j^T],

which is smooth, and small only if the body comes near x* at some time  [Eq. 7d].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from diffsim_ros.errors import InputError

from .losses import Loss
from .objectives import Term, _checked, _shortened
from .rotation import quat_matrix, skew


@dataclass(frozen=True)
class Goal:
    """Place, or velocity, of a body's centre: r = (x - x*)/sigma, the mean square over the rows.

    frames    (M,)  rows of the rollout
    target    (3,)  x* [m, world], or the velocity [m/s]
    sigma     ()    what is near enough [m or m/s]
    rate      True: the velocity is meant
    local     (3,)  a point of a rigid body instead of its centre, body frame [m]
    weights   (n,)  masses of a soft body's nodes, in the rollout's order; None: one node
    softness  [m]   s of the soft minimum over the rows; None: all rows count
    """

    body: str
    frames: np.ndarray
    target: np.ndarray
    sigma: float
    rate: bool = False
    local: np.ndarray | None = None
    weights: np.ndarray | None = None
    softness: float | None = None
    loss: Loss = field(default_factory=Loss)
    name: str = "goal"
    parameters: tuple[str, ...] = ()
    soft: ClassVar[bool] = True

    def __post_init__(self):
        put, place = object.__setattr__, f"goal {self.name!r} of {self.body!r}"
        put(self, "frames", np.atleast_1d(np.asarray(self.frames, np.int64)))
        put(self, "target", _checked(place, "target", self.target, (3,)))
        _checked(place, "sigma", self.sigma, (), positive=True)
        if self.softness is not None:
            _checked(place, "softness", self.softness, (), positive=True)
        if self.local is not None:
            put(self, "local", _checked(place, "local", self.local, (3,)))
        if self.local is not None and (self.rate or self.weights is not None):
            raise InputError(place, "local", self.local, "the place of a point of a rigid body")
        if self.weights is not None:
            weights = _checked(place, "weights", self.weights, (-1,), positive=True)
            put(self, "weights", weights / weights.sum())

    def _reached(self, rollout, slot):
        """(x (M, 3), partials (M, 3, d) by pose, or by velocity if `rate`)."""
        source = rollout.velocity if self.rate else rollout.position
        partial = np.zeros((len(self.frames), 3, slot.size))
        if slot.count > 1:
            rows = slice(slot.index, slot.index + slot.count)
            x = np.einsum("n,fni->fi", self.weights, np.asarray(source)[self.frames, rows])
            partial[:] = np.kron(self.weights, np.eye(3))
            return x, partial
        x = np.asarray(source)[self.frames, slot.index]
        partial[..., :3] = np.eye(3)
        if self.local is not None:
            matrix = quat_matrix(np.asarray(rollout.orientation)[self.frames, slot.index])
            arm = matrix @ self.local
            x, partial[..., 3:] = x + arm, -skew(arm)
        return x, partial

    def reached(self, rollout, slot) -> float:
        """Distance [m, m/s] from the target: of the nearest passage, else the mean square's root.

        A passage is looked for on the straight lines between the rows.
        """
        e = self._reached(rollout, slot)[0] - self.target
        if self.softness is None or len(e) == 1:
            return float(np.sqrt(np.mean(np.sum(e**2, axis=1))))
        a, step = e[:-1], np.diff(e, axis=0)
        length = np.maximum(np.sum(step**2, axis=1), np.finfo(float).tiny)
        share = np.clip(-np.sum(a * step, axis=1) / length, 0.0, 1.0)
        return float(np.linalg.norm(a + share[:, None] * step, axis=1).min())

    def term(self, rollout, slot, values):
        """Residual (M, 3), or (1, 3) of the nearest passage, and exact partials."""
        x, partial = self._reached(rollout, slot)
        e = x - self.target
        if self.softness is None:
            scale = 1.0 / (self.sigma * np.sqrt(len(e)))
            residual, frames, partial = e * scale, self.frames, partial * scale
        else:
            power = -np.sum(e**2, axis=1) / self.softness**2
            w = np.exp(power - power.max())
            w /= w.sum()
            r = w @ e
            outer = np.einsum("mi,mj->mij", r - e, e) * (2.0 / self.softness**2)
            by_x = w[:, None, None] * (np.eye(3) + outer) / self.sigma
            residual, frames = r[None] / self.sigma, self.frames[None]
            partial = (by_x @ partial)[None]
        if self.rate:
            return Term(residual, frames, jv=partial)
        return Term(residual, frames, jx=partial)

    def until(self, frame):
        """See `Objective.until`."""
        return _shortened(self, frame, ())


@dataclass(frozen=True)
class Smooth:
    """Keys of a driven motion near each other: r_i = (p_i - p_{i-1})/sigma, i = 1 ... n  [G 4.7.5].

    names  (n, a)  parameters: keys by axes, in the order of time
    first  (a,)    the key before them, which stays;  sigma  [m or rad] of a step
    """

    body: str
    names: tuple[tuple[str, ...], ...]
    first: np.ndarray
    sigma: float
    loss: Loss = field(default_factory=Loss)
    name: str = "smooth"
    frames: ClassVar[np.ndarray] = np.zeros(1, np.int64)
    soft: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[str, ...]:
        """Parameters that the objective itself reads."""
        return tuple(name for row in self.names for name in row)

    def term(self, rollout, slot, values):
        """Residual (1, n a) and its partials by the keys; the motion does not enter."""
        keys = np.array([[values[name] for name in row] for row in self.names])
        steps = np.diff(np.concatenate([np.reshape(self.first, (1, -1)), keys]), axis=0)
        own = {}
        for i, row in enumerate(self.names):
            for j, name in enumerate(row):
                partial = np.zeros(steps.shape)
                partial[i, j] = 1.0
                if i + 1 < len(steps):
                    partial[i + 1, j] = -1.0
                own[name] = partial.reshape(1, -1) / self.sigma
        return Term(steps.reshape(1, -1) / self.sigma, self.frames, own=own)

    def until(self, frame):
        """See `Objective.until`."""
        return self
