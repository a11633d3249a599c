"""Least squares of efforts over inertial parameters, gains and friction, physically consistent.

Of joint j at sample n, with the regressor Y of robots.dynamics and friction's columns F

    e_jn = k_j Y_jn phi + F_jn c_j + noise of sigma_j                                           (1)

    minimise  1/2 sum (e - k Y phi - F c)^2 / sigma_j^2 + 1/2 gamma N d(phi | phi0)             (2)

over phi (the bodies'), k (gains) and c; d of physical.py keeps phi physical and ties what the
motion does not show to the URDF, gamma is its weight beside N samples.  Given k it is convex; it is
solved by Gauss-Newton steps with a line search, from phi0 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .physical import Divergence

STEPS, DECREASE = 60, 1e-9
"""Most steps, and the relative decrease that ends them."""


@dataclass(frozen=True)
class JointRows:
    """Samples of one joint that count: regressor (n, p), friction's columns (n, k), effort (n,),
    and the number of the stretch of time that each lies in (n,)."""

    Y: np.ndarray
    F: np.ndarray
    effort: np.ndarray
    stretch: np.ndarray

    def kept(self, rows: np.ndarray) -> JointRows:
        """The samples of a mask."""
        return JointRows(self.Y[rows], self.F[rows], self.effort[rows], self.stretch[rows])


@dataclass(frozen=True)
class Coefficients:
    """What was estimated.

    phi   (n, 10) of the bodies;  gain (n,) effort per N m or N;  friction: of every joint (k_j,)
    gamma weight of the URDF's inertias; inf: they were held
    settled  False: STEPS were not enough
    """

    phi: np.ndarray
    gain: np.ndarray
    friction: tuple[np.ndarray, ...]
    gamma: float
    settled: bool = True

    def predicted(self, j: int, Y: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Efforts (n,) of joint j by its regressor (n, 10 n) and columns (n, k_j)."""
        return self.gain[j] * (Y @ self.phi.ravel()) + F @ self.friction[j]


class Regression:
    """Samples of all joints as sums over stretches of time, so that any of them can be left out.

    rows   of every joint;  phi0 (n, 10) physical;  sigma (n,) noise of the joints' efforts
    gains  gain of every joint, NaN: estimated
    free   bodies whose inertias are estimated where gamma is finite (n,), None: all
    block  number of the block of correlated noise of every stretch, by its number; None: each is
           one
    """

    def __init__(
        self, rows: Sequence[JointRows], phi0: np.ndarray, sigma: np.ndarray, gains: np.ndarray,
        free: np.ndarray | None = None, block: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.phi0, self.sigma, self.gains = phi0, sigma, gains
        self.free = np.ones(len(phi0), bool) if free is None else free
        self.divergence = Divergence(phi0)
        self.stretches = np.unique(np.concatenate([one.stretch for one in rows]))
        self.blocks = self.stretches if block is None else block[self.stretches]
        self.rows = rows
        self.grams = []
        for one in rows:
            table = np.column_stack([one.Y, one.F, one.effort])
            parts = [table[one.stretch == s] for s in self.stretches]
            self.grams.append(np.array([part.T @ part for part in parts]))
        self.counts = np.array([[np.sum(one.stretch == s) for s in self.stretches] for one in rows])

    def fitted(self, gamma: float, without: np.ndarray | None = None) -> Coefficients:
        """Coefficients by (2), without the stretches of a mask (s,)."""
        kept = np.ones(len(self.stretches), bool) if without is None else ~without
        grams = [gram[kept].sum(axis=0) for gram in self.grams]
        phi, gain = self.phi0.copy(), np.ones(len(grams))
        friction = []
        for j, gram in enumerate(grams):
            gain[j], coefficients = self._linear(j, gram, phi)
            friction.append(coefficients)
        found = Coefficients(phi, gain, tuple(friction), gamma)
        if not np.isfinite(gamma):
            return found
        weight = gamma * float(self.counts[:, kept].sum())
        return self._descended(found, grams, weight)

    def _linear(self, j: int, gram: np.ndarray, phi: np.ndarray) -> tuple[float, np.ndarray]:
        """Gain and friction of one joint by least squares, at given inertias."""
        small = self._at(gram, phi)
        if np.isnan(self.gains[j]):
            found = solved(small[:-1, :-1], small[:-1, -1])
            return float(found[0]), found[1:]
        given = float(self.gains[j])
        return given, solved(small[1:-1, 1:-1], small[1:-1, -1] - given * small[1:-1, 0])

    def _at(self, gram: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """Sums of products of (load, friction's columns, effort) at given inertias."""
        p = phi.size
        turn = np.zeros((len(gram), len(gram) - p + 1))
        turn[:p, 0], turn[p:, 1:] = phi.ravel(), np.eye(len(gram) - p)
        return turn.T @ gram @ turn

    def heaviest(self, joints: np.ndarray) -> int:
        """Of the joints of a mask (n,), that whose load at phi0 varies most beside what friction's
        columns have of it: bodies that the URDF lacks change it least."""
        varied = np.full(len(self.grams), -1.0)
        for j in np.flatnonzero(joints):
            own = inverted(self._at(self.grams[j].sum(axis=0), self.phi0)[:-1, :-1])[0, 0]
            varied[j] = 1.0 / own if own > 0 else 0.0
        return int(np.argmax(varied))

    def gain_at(self, j: int, phi: np.ndarray) -> float:
        """Gain of a joint at inertias phi."""
        return self._linear(j, self.grams[j].sum(axis=0), phi)[0]

    def _objective(self, c: Coefficients, grams: Sequence[np.ndarray], weight: float) -> float:
        total = 0.5 * weight * self.divergence.value(c.phi)
        for j, gram in enumerate(grams):
            b = np.concatenate([c.gain[j] * c.phi.ravel(), c.friction[j], [-1.0]])
            total += 0.5 * float(b @ gram @ b) / self.sigma[j] ** 2
        return total

    def _descended(
        self, c: Coefficients, grams: Sequence[np.ndarray], weight: float
    ) -> Coefficients:
        value = self._objective(c, grams, weight)
        for _ in range(STEPS):
            gradient, hessian = self.derivatives(c, grams, weight)
            free, step, share = self._varied(c), np.zeros(len(gradient)), 1.0
            step[free] = -solved(hessian[np.ix_(free, free)], gradient[free])
            while share > 1e-8:
                there = self._moved(c, share * step)
                lower = self._objective(there, grams, weight)
                if lower < value:
                    break
                share *= 0.5
            else:
                return c
            c, done, value = there, value - lower <= DECREASE * abs(value), lower
            if done:
                return c
        return replace(c, settled=False)

    def _moved(self, c: Coefficients, step: np.ndarray) -> Coefficients:
        p, n = c.phi.size, len(c.gain)
        phi = c.phi + step[:p].reshape(-1, 10)
        ends = np.cumsum([p + n, *(len(f) for f in c.friction)])
        friction = [f + step[a:b] for f, a, b in zip(c.friction, ends, ends[1:], strict=False)]
        return Coefficients(phi, c.gain + step[p : p + n], tuple(friction), c.gamma)

    def _varied(self, c: Coefficients) -> np.ndarray:
        """Indices of the variables (phi, k, c) that are not held."""
        bodies = self.free & np.isfinite(c.gamma)
        return np.flatnonzero(
            np.concatenate([np.repeat(bodies, 10), np.ones(self.slots(c)[0] - c.phi.size, bool)])
        )

    def slots(self, c: Coefficients) -> tuple[int, np.ndarray]:
        """Number of variables, and where each joint's friction begins."""
        starts = np.cumsum([c.phi.size + len(c.gain), *(len(f) for f in c.friction)])
        return int(starts[-1]), starts[:-1]

    def slopes(self, c: Coefficients, j: int) -> np.ndarray:
        """How joint j's columns (Y, F) are weighted, by all variables (p + k_j, size)."""
        size, starts = self.slots(c)
        p, k = c.phi.size, len(c.friction[j])
        out = np.zeros((p + k, size))
        out[:p, :p] = c.gain[j] * np.eye(p)
        if np.isnan(self.gains[j]):
            out[:p, p + j] = c.phi.ravel()
        out[p:, starts[j] : starts[j] + k] = np.eye(k)
        return out

    def derivatives(
        self, c: Coefficients, grams: Sequence[np.ndarray], weight: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Gauss-Newton Hessian of (2) by (phi, k, c); the Hessian of d is whole."""
        p = c.phi.size
        size, _ = self.slots(c)
        gradient, hessian = np.zeros(size), np.zeros((size, size))
        for j, gram in enumerate(grams):
            T = self.slopes(c, j)
            b = np.concatenate([c.gain[j] * c.phi.ravel(), c.friction[j], [-1.0]])
            gradient += T.T @ (gram[:-1] @ b) / self.sigma[j] ** 2
            hessian += T.T @ gram[:-1, :-1] @ T / self.sigma[j] ** 2
        if np.isfinite(weight):
            own, bend = self.divergence.derivatives(c.phi)
            gradient[:p] += 0.5 * weight * own
            hessian[:p, :p] += 0.5 * weight * bend
        return gradient, hessian

    def covariance(self, c: Coefficients, without: np.ndarray | None = None) -> np.ndarray:
        """Of (phi, k, c), without the stretches of a mask: the jackknife over the blocks
        within which noise is correlated; the prior counts as a measurement.  Held ones have
        zeros.

        How far the coefficients go if a block is left out is (H - H_g)^-1 times its score (one
        Newton step); with few blocks the sandwich, H^-1 times the score, is much too small
        (MacKinnon and White, J. Econometrics 29, 1985).
        """
        kept = np.ones(len(self.stretches), bool) if without is None else ~without
        held = not np.isfinite(c.gamma)
        weight = 0.0 if held else c.gamma * float(self.counts[:, kept].sum())
        grams = [gram[kept].sum(axis=0) for gram in self.grams]
        _, whole = self.derivatives(c, grams, weight)
        _, data = self.derivatives(c, grams, 0.0)
        free = self._varied(c)
        at = np.unique(self.blocks[kept], return_inverse=True)[1]
        count = int(at[-1]) + 1
        scores, parts = np.zeros((count, len(free))), np.zeros((count, len(free), len(free)))
        for j, own in enumerate(self.grams):
            T = self.slopes(c, j)[:, free]
            b = np.concatenate([c.gain[j] * c.phi.ravel(), c.friction[j], [-1.0]])
            summed = np.zeros((count, *own.shape[1:]))
            np.add.at(summed, at, own[kept])
            scores += (summed[:, :-1] @ b) @ T / self.sigma[j] ** 2
            parts += T.T @ summed[:, :-1, :-1] @ T / self.sigma[j] ** 2
        hessian = whole[np.ix_(free, free)]
        moved = np.array([
            inverted(hessian - part) @ score for part, score in zip(parts, scores, strict=True)
        ])  # fmt: skip
        bread = inverted(hessian)
        prior = bread @ (hessian - data[np.ix_(free, free)]) @ bread
        out = np.zeros_like(whole)
        out[np.ix_(free, free)] = moved.T @ moved * (count - 1) / count + prior
        return out

    def left_out(self, gamma: float, folds: Sequence[np.ndarray]) -> np.ndarray:
        """Mean squares of every joint's efforts in folds that were left out, in sigmas^2 (folds,
        joints); NaN where a joint has no samples."""
        out = np.full((len(folds), len(self.rows)), np.nan)
        for i, without in enumerate(folds):
            c = self.fitted(gamma, without)
            for j, parts in enumerate(self.grams):
                count = self.counts[j][without].sum()
                if count:
                    b = np.concatenate([c.gain[j] * c.phi.ravel(), c.friction[j], [-1.0]])
                    out[i, j] = b @ parts[without].sum(axis=0) @ b / count / self.sigma[j] ** 2
        return out


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Least-squares solution of a symmetric system, whatever its columns' units; what it does not
    determine is 0."""
    return inverted(matrix) @ right


def inverted(matrix: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric matrix >= 0 on what it determines, in units of its diagonal."""
    scale = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    live = np.flatnonzero(scale)
    units = np.outer(scale[live], scale[live])
    out = np.zeros_like(matrix)
    inner = matrix[np.ix_(live, live)] / units
    out[np.ix_(live, live)] = np.linalg.pinv(inner, rcond=1e-12, hermitian=True) / units
    return out
