"""Motions of joints as finite Fourier series that rest at both ends and keep within limits.

Displacement of joint j from where it begins, with omega = 2 pi / period (Swevers, Ganseman, Tukel,
De Schutter and Van Brussel, IEEE Trans. Robotics and Automation 13, 1997):

    d_j(t) = sum_k a_jk sin(k omega t) / (k omega) + b_jk (1 - cos(k omega t)) / (k omega)       (1)

with sum_k a_jk = 0 and sum_k k b_jk = 0, so that velocity and acceleration are zero at t = 0 and at
every end of a period.  Limits of position, velocity, acceleration and jerk are linear in the
coefficients: the shares r of them that a joint takes have a norm N = |r|_p >= max |r|, and

    q_j(t) = q_j(0) + d_j(t) (1 + N^p)^(-1/p)                                                    (2)

stays within all of them at every sample, whatever the coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import null_space

from ...robots.arm import Limits

NORM = 40.0
"""p of equation (2): the larger, the nearer motions come to their limits."""
DENSER = 3
"""Times of a period at which positions alone are looked at, for each of the others."""
ORDERS = ("position", "velocity", "acceleration", "jerk")


@dataclass(frozen=True)
class FourierSeries:
    """Of a period [s] with harmonics 1 .. `harmonics`, at `samples` even times of it."""

    period: float
    harmonics: int
    samples: int

    @property
    def size(self) -> int:
        """Free coefficients of a joint."""
        return 2 * self.harmonics - 2

    @cached_property
    def times(self) -> np.ndarray:
        """(samples,) [s]."""
        return self.period * np.arange(self.samples) / self.samples

    @cached_property
    def tables(self) -> np.ndarray:
        """(4, samples, size): displacement, velocity, acceleration and jerk by coefficients."""
        return self.at(self.times)

    @cached_property
    def dense(self) -> np.ndarray:
        """(DENSER samples, size): displacement at more times."""
        count = DENSER * self.samples
        return self.at(self.period * np.arange(count) / count)[0]

    @cached_property
    def _free(self) -> np.ndarray:
        """Orthonormal basis (2 harmonics, size) of coefficients (a, b) that rest at the ends."""
        k = np.arange(1.0, self.harmonics + 1)
        none = np.zeros_like(k)
        return null_space(np.array([[*np.ones_like(k), *none], [*none, *k]]))

    def at(self, times: np.ndarray) -> np.ndarray:
        """`tables` at times (m,) [s]."""
        k = 2 * np.pi / self.period * np.arange(1, self.harmonics + 1)
        phase = np.asarray(times, float)[:, None] * k
        sine, cosine = np.sin(phase), np.cos(phase)
        rows = [
            np.hstack([sine / k, (1.0 - cosine) / k]), np.hstack([cosine, sine]),
            np.hstack([-k * sine, k * cosine]), np.hstack([-k * k * cosine, -k * k * sine]),
        ]  # fmt: skip
        return np.stack(rows) @ self._free


@dataclass(frozen=True)
class Bounded:
    """Series of all joints within limits: equation (2).

    limits  of rates;  room (2, n): how far joints go up and down from where they begin [rad or m]
    """

    series: FourierSeries
    limits: Limits
    room: np.ndarray

    @cached_property
    def _most(self) -> np.ndarray:
        """(3, n) limits of velocity, acceleration and jerk."""
        return np.stack([getattr(self.limits, name) for name in ORDERS[1:]])

    def motion(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Displacement, velocity, acceleration and jerk (4, samples, n) of coefficients (n, size),
        and the factors (n,) of equation (2)."""
        raw = np.einsum("ktc,jc->ktj", self.series.tables, c)
        factor = (1.0 + self._norm(raw) ** NORM) ** (-1.0 / NORM)
        return raw * factor, factor

    def _shares(self, raw: np.ndarray) -> np.ndarray:
        """Shares of the limits (4, samples, n), not negative."""
        room = np.where(raw[0] >= 0.0, self.room[0], self.room[1])
        return np.concatenate([np.abs(raw[:1]) / room, np.abs(raw[1:]) / self._most[:, None]])

    def _norm(self, raw: np.ndarray) -> np.ndarray:
        shares = self._shares(raw)
        largest = np.maximum(shares.max(axis=(0, 1)), 1e-12)
        return largest * np.sum((shares / largest) ** NORM, axis=(0, 1)) ** (1.0 / NORM)

    def places(self, c: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Displacement (DENSER samples, n) at more times."""
        return self.series.dense @ c.T * factor

    def back(self, c: np.ndarray, slopes: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Gradient (n, size) by the coefficients from those by the motion (4, samples, n), and by
        `places` (DENSER samples, n)."""
        raw = np.einsum("ktc,jc->ktj", self.series.tables, c)
        norm = np.maximum(self._norm(raw), 1e-12)
        factor = (1.0 + norm**NORM) ** (-1.0 / NORM)
        # d factor / d norm, times d norm / d raw
        bend = -factor / (1.0 + norm**-NORM) / norm
        shares = self._shares(raw)
        room = np.where(raw[0] >= 0.0, self.room[0], self.room[1])[None]
        most = np.concatenate([room, np.broadcast_to(self._most[:, None], raw[1:].shape)])
        turn = (shares / norm) ** (NORM - 1.0) * np.sign(raw) / most
        whole = np.sum(slopes * raw, axis=(0, 1)) + np.sum(more * (self.series.dense @ c.T), axis=0)
        through = slopes * factor + whole * bend * turn
        found = np.einsum("ktj,ktc->jc", through, self.series.tables)
        return found + (more * factor).T @ self.series.dense
