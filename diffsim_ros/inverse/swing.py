"""Damped sinusoids: fitted to a curve, and as an objective through the fit's exact derivative.

    y(t) = offset + exp(-decay t) (a cos w t + b sin w t),  w = 2 pi frequency            [Eq. 7i]

Least squares over q = (offset, decay, w, a, b) makes q a function of the samples: with M = dm/dq
and left = m - y, M^T left = 0 gives dq/dy = (M^T M + sum left d2m/dq2)^-1 M^T            [Eq. 7j]

What a body does before the fit's first sample changes a and b alone, so an objective of the others
does not depend on how it was released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import least_squares

from diffsim_ros.errors import InputError

from .at_times import rows_around
from .losses import Loss
from .marker_track import Carrier, interpolated
from .objectives import BodySlot, Term, _checked

LEAST = 12
"""Samples that a fit needs."""
DECAYS = (1.0, 3.0, 10.0, 30.0)
"""Decays from which a fit starts, in units of one over the span of the samples."""
POLISH = 4
"""Newton's steps at the end of a fit."""


@dataclass(frozen=True)
class Oscillation:
    """Damped sinusoid [Eq. 7i], t from its first sample on.

    offset [m], frequency [Hz], decay [1/s], amplitudes a, b [m] of cosine and sine at the first
    sample, rms [m] of the residuals; creep [m], their mean in the last quarter of the
    samples; curve: its values at the samples (n,)
    """

    offset: float
    frequency: float
    decay: float
    a: float
    b: float
    rms: float
    creep: float
    curve: np.ndarray

    @property
    def measures(self) -> np.ndarray:
        """Offset [m], frequency [Hz], decay [1/s], creep [m] (4,)."""
        return np.array([self.offset, self.frequency, self.decay, self.creep])


def damped_sinusoid(place: str, t: np.ndarray, y: np.ndarray) -> Oscillation:
    """Least-squares fit of Eq. 7i to samples y [m] (n,) at times t [s]; NaN samples do not count.

    Decay and frequency are searched on a grid, and the fit ends with Newton's steps on all five
    numbers.  Raises InputError for fewer than LEAST samples.
    """
    valid = np.isfinite(y)
    if valid.sum() < LEAST:
        raise InputError(place, "samples", int(valid.sum()), f"at least {LEAST} to fit a swing to")
    time = t - t[valid][0]
    x, values = time[valid], y[valid]
    size = float(np.ptp(values)) or 1.0

    def left(rates: Sequence[float] | np.ndarray) -> np.ndarray:
        basis = _columns(rates, x)
        return (basis @ np.linalg.lstsq(basis, values, rcond=None)[0] - values) / size

    span = x[-1]
    slow, fast = 2 * np.pi * 1.5 / span, 0.9 * np.pi / np.median(np.diff(x))
    grid = [(d / span, w) for w in np.arange(slow, fast, 0.5 * np.pi / span) for d in DECAYS]
    first = min(grid, key=lambda rates: np.sum(left(rates) ** 2))
    decay, w = least_squares(left, first, x_scale=(1 / span, 1 / span)).x
    offset, a, b = np.linalg.lstsq(_columns((decay, w), x), values, rcond=None)[0]
    q = np.array([offset, decay, w, a, b])
    for _ in range(POLISH):
        M, bend, rest = _normal(q, x, values)
        q = q - np.linalg.solve(M.T @ M + bend, M.T @ rest)
    q[[2, 4]] *= np.sign(q[2])
    rms = float(np.sqrt(np.mean(_normal(q, x, values)[2] ** 2)))
    offset, decay, w, a, b = map(float, q)
    curve = _columns((decay, w), time) @ (offset, a, b)
    tail = _last(valid)
    creep = float(np.mean((y - curve)[tail]))
    return Oscillation(offset, w / (2 * np.pi), decay, a, b, rms, creep, curve)


def _last(valid: np.ndarray) -> np.ndarray:
    """The last quarter of the measured samples (n,), as a mask."""
    return valid & (np.cumsum(valid) > 0.75 * valid.sum())


def _columns(rates: Sequence[float] | np.ndarray, t: np.ndarray) -> np.ndarray:
    """Columns (n, 3) that offset, a and b multiply."""
    wave, phase = np.exp(-rates[0] * t), rates[1] * t
    return np.stack([np.ones_like(t), wave * np.cos(phase), wave * np.sin(phase)], axis=1)


def _normal(
    q: Sequence[float] | np.ndarray, t: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """dm/dq (n, 5), sum of left d2m/dq2 (5, 5), and left = m - y (n,) at q, t from 0 on."""
    offset, decay, w, a, b = q
    one, c, s = _columns((decay, w), t).T
    u, v = a * c + b * s, b * c - a * s
    M = np.stack([one, -t * u, t * v, c, s], axis=1)
    left = offset + u - y
    bend = np.zeros((5, 5))
    second = {
        (1, 1): t**2 * u, (1, 2): -(t**2) * v, (2, 2): -(t**2) * u,
        (1, 3): -t * c, (1, 4): -t * s, (2, 3): -t * s, (2, 4): t * c,
    }  # fmt: skip
    for (i, j), values in second.items():
        bend[i, j] = bend[j, i] = left @ values
    return M, bend, left


def slopes(swing: Oscillation, t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Derivative (4, n) of the measures of a fit by its samples, none of them NaN [Eq. 7j]."""
    q = (swing.offset, swing.decay, 2 * np.pi * swing.frequency, swing.a, swing.b)
    M, bend, _ = _normal(q, t - t[0], y)
    by_y = np.linalg.solve(M.T @ M + bend, M.T)
    tail = _last(np.ones(len(t), bool))
    creep = tail / tail.sum() - M[tail].mean(axis=0) @ by_y
    return np.stack([by_y[0], by_y[2] / (2 * np.pi), by_y[1], creep])


@dataclass(frozen=True)
class SwingTrack:
    """Measures of a marker's swing: r = (offset - theirs, frequency ..., decay ..., ...)/sigma.

    t         (n,)  times since the start of the rollout at which the swing is sampled [s]
    interval  of the rollout's rows [s]
    carrier   one marker;  axis (3,) direction in which it is measured, origin [m] added to that
    measures  (k,) of the recording, the first k of an Oscillation's;  sigma (k,)
    """

    body: str
    t: np.ndarray
    interval: float
    carrier: Carrier
    axis: np.ndarray
    origin: float
    measures: np.ndarray
    sigma: np.ndarray
    loss: Loss = field(default_factory=Loss)
    name: str = "swing"
    soft: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        put, place = object.__setattr__, f"objective {self.name!r} of {self.body!r}"
        put(self, "t", _checked(place, "t", self.t, (-1,)))
        put(self, "axis", _checked(place, "axis", self.axis, (3,)))
        put(self, "measures", _checked(place, "measures", self.measures, (-1,)))
        size = self.measures.shape
        put(self, "sigma", _checked(place, "sigma", self.sigma, size, positive=True))

    @property
    def frames(self) -> np.ndarray:
        """Rows of the rollout that it uses (1, 2 n)."""
        return rows_around(self.t, self.interval).reshape(1, -1)

    def until(self, frame: int) -> SwingTrack | None:
        """See `Objective.until`: a part of a swing is none."""
        return self if self.frames.max() <= frame else None

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (1, k); its partials are by all rows that the swing was sampled from."""
        x, partials = interpolated(self.carrier, rollout, slot, self.t, self.interval)
        y = self.origin + x[:, 0] @ self.axis
        swing = damped_sinusoid(self.name, self.t, y)
        k = len(self.measures)
        by_y = slopes(swing, self.t, y)[:k] / self.sigma[:, None]
        residual = ((swing.measures[:k] - self.measures) / self.sigma)[None]
        jx, jv = (
            np.stack(
                [np.einsum("kn,i,nid->nkd", by_y, self.axis, p[which][:, 0]) for p in partials]
            )
            for which in range(2)
        )
        # (2, n, k, d) -> the order of `frames`: before and after each sample
        jx, jv = (np.stack(list(j), axis=1).reshape(1, -1, k, j[0].shape[-1]) for j in (jx, jv))
        return Term(residual, self.frames, jx=jx, jv=jv, dofs=self.carrier.dofs(slot))
