"""How much efforts along a motion tell of an arm: Fisher information, and its slopes.

Of joint j at a sample, with the regressor Y of robots.dynamics,

    effort_j = k_j Y_j phi + armature_j q''_j + viscous_j q'_j + dry_j s(q'_j) + offset_j       (1)

with s a smooth sign.  Columns of (1), each over its joint's sigma, sum up to the information F.
What no motion tells (columns that are zero, or sums of others at random states) is taken out, the
rest is scaled by what random motions within the limits tell, so that log det F (D-optimality) is a
number without units, zero for one sample of such motions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...robots.dynamics import inertial_parameters, regressor
from ...robots.robot import Robot

OWN = ("armature", "viscous", "coulomb", "offset")
"""Coefficients of every joint beside the bodies' inertial parameters."""
SLIP = 0.05
"""Speed at which dry friction is at 76 % of its level, over the joint's limit: wide enough that a
search sees on which side of rest a joint is."""
RANK = 1e-8
"""Singular values below this share of the largest are those of what no motion tells."""
APART = 1e-6
"""Share of a coefficient in what no motion tells, below which it is told by itself."""
RANDOM = 40
"""Random states per joint by which that is found."""
STEP = 1e-6
"""Of differences by positions [rad or m], and by velocities over the limits."""


@dataclass(frozen=True)
class Information:
    """Information in efforts of a robot's joints.

    sigma    (n,) noise of their efforts [N m or N];  fast (n,) limits of their speeds
    room     (2, n) upper and lower end of positions, for random states [rad or m]
    speedup  (n,) limits of their accelerations;  gravity (3,) [m/s^2], axes of the base
    unknown  joints whose gain k is to be found
    """

    robot: Robot
    sigma: np.ndarray
    room: np.ndarray
    fast: np.ndarray
    speedup: np.ndarray
    gravity: Sequence[float]
    unknown: Sequence[int] = ()

    @property
    def names(self) -> list[str]:
        """Of the columns that belong to one joint alone: JOINT.armature, ..., JOINT.gain."""
        joints = self.robot.joint_names
        found = [f"{joint}.{name}" for name in OWN for joint in joints]
        return found + [f"{joints[j]}.gain" for j in self.unknown]

    def columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Columns (m, n, p) of equation (1) at states (m, n), over sigma."""
        n = len(self.robot.joints)
        Y = regressor(self.robot, q, qd, qdd, self.gravity)
        own = np.stack([qdd, qd, np.tanh(qd / (SLIP * self.fast)), np.ones_like(qd)], axis=1)
        table = np.einsum("mkj,ji->mjki", own, np.eye(n)).reshape(len(q), n, -1)
        parts = [Y, table]
        if len(self.unknown):
            load = Y @ self._phi
            parts.append(np.einsum("mj,jk->mjk", load, np.eye(n)[:, list(self.unknown)]))
        return np.concatenate(parts, axis=2) / self.sigma[:, None]

    @cached_property
    def _phi(self) -> np.ndarray:
        return inertial_parameters(self.robot).ravel()

    def index(self, name: str) -> int:
        """Column of one of `names`."""
        return 10 * len(self.robot.joints) + self.names.index(name)

    @property
    def basis(self) -> np.ndarray:
        """(p, r): combinations of columns that random motions tell, of which one sample has unit
        information in the mean."""
        return self._found[0]

    @property
    def alone(self) -> np.ndarray:
        """(p,) whether efforts tell a coefficient by itself, not only in a sum with others."""
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[np.ndarray, np.ndarray]:
        rng, n = np.random.default_rng(0), len(self.robot.joints)
        draw = rng.uniform(-1.0, 1.0, size=(3, RANDOM * n, n))
        upper, lower = self.room
        q = 0.5 * (upper + lower) + 0.5 * (upper - lower) * draw[0]
        X = self.columns(q, self.fast * draw[1], self.speedup * draw[2])
        X = X.reshape(-1, X.shape[2]) / np.sqrt(len(q))
        size = np.linalg.norm(X, axis=0)
        live = size > 1e-12 * size.max()
        scale = np.where(live, 1.0 / np.where(live, size, 1.0), 0.0)
        _, values, vectors = np.linalg.svd(X * scale, full_matrices=False)
        told = values > RANK * values[0]
        basis = scale[:, None] * vectors[told].T / values[told]
        return basis, np.linalg.norm(vectors[~told], axis=0) < APART

    def matrix(self, columns: np.ndarray) -> np.ndarray:
        """F (r, r) of a sample, in the mean over those of `columns` (m, n, p)."""
        X = (columns @ self.basis).reshape(-1, self.basis.shape[1])
        return X.T @ X / len(columns)

    def slopes(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, columns: np.ndarray,
        weight: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Gradient (3, m, n) of trace(weight F) by q, qd, qdd, the weight (r, r) held; `columns` at
        these states.

        The regressor's own are differences by the state of every sample, 3 n + 1 regressors
        whatever the number of coefficients; by accelerations, where it is linear, they are exact.
        """
        m, n = q.shape
        pull = 2.0 / m * (columns @ (self.basis @ weight @ self.basis.T)) / self.sigma[:, None]
        bodies, gains = pull[:, :, : 10 * n], pull[:, :, 14 * n :]
        if len(self.unknown):
            bodies = bodies.copy()
            for k, j in enumerate(self.unknown):
                bodies[:, j] += gains[:, j, k, None] * self._phi
        out = np.zeros((3, m, n))
        own = pull[:, :, 10 * n : 14 * n].reshape(m, n, 4, n)
        own = np.einsum("mjkj->kmj", own)
        sign = np.tanh(qd / (SLIP * self.fast))
        out[2] = own[0]
        out[1] = own[1] + own[2] * (1.0 - sign**2) / (SLIP * self.fast)
        here = np.sum(bodies * columns[:, :, : 10 * n] * self.sigma[:, None], axis=(1, 2))
        for kind, step in enumerate((np.full(n, STEP), STEP * self.fast, self.speedup)):
            moved = [np.broadcast_to(x, (n, m, n)) for x in (q, qd, qdd)]
            moved[kind] = moved[kind] + np.diag(step)[:, None, :]
            out[kind] += ((self._pulled(bodies, moved) - here) / step[:, None]).T
        return out

    def _pulled(self, pull: np.ndarray, states: Sequence[np.ndarray]) -> np.ndarray:
        """(n, m): sum of the regressor's entries times `pull` (m, n, 10 n) at states (n, m, n)."""
        q, qd, qdd = states
        Y = regressor(self.robot, q, qd, qdd, self.gravity)
        return np.einsum("mja,imja->im", pull, Y)
