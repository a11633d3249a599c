"""Frictional contact as inequalities, for comparison with penalties  [G 4.4.1, Fig. 4.1].

A soft puck (a lattice of mass points and damped springs) on an incline; one BDF1 step solves

    M (u - u_0)/h - f(x_0 + h u, u) - M g = n lam_n + lam_t
    0 <= z  _|_  lam_n >= 0,   v_t = -s lam_t,   0 <= s  _|_  c_f lam_n - |lam_t| >= 0

by a sequence of linearisations of f, each a small problem in the contact forces alone (Delassus
matrix W = J A^-1 J^T) solved by a semismooth Newton method. Nothing is smoothed: z >= 0 and the
Coulomb cone hold to the tolerance, and a stuck point stands still. Independent of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve

G = 9.81
ROUNDS, ITERATIONS = 60, 40
TOLERANCE = 1e-12  # on contact forces, relative to their largest


@dataclass
class Puck:
    """Mass points (n, 3) [m] and springs between them; z is the incline's normal."""

    vertices: np.ndarray
    springs: np.ndarray  # (m, 2)
    mass: float = 0.3
    stiffness: float = 400.0  # [N/m]
    damping: float = 0.5  # [N s/m]

    @property
    def lengths(self) -> np.ndarray:
        """Rest lengths (m,) [m]."""
        a, b = self.vertices[self.springs.T]
        return np.linalg.norm(b - a, axis=1)


def puck(layers: int = 2, radius: float = 0.06, height: float = 0.03) -> Puck:
    """Rings of 1, 6 and 12 points per layer, springs between all neighbours."""
    ring = [np.zeros((1, 2))]
    for k in (1, 2):
        t = 2 * np.pi * np.arange(6 * k) / (6 * k)
        ring.append(radius * k / 2 * np.stack([np.cos(t), np.sin(t)], axis=1))
    flat = np.concatenate(ring)
    z = np.linspace(0, height, layers)
    vertices = np.concatenate([np.column_stack([flat, np.full(len(flat), h)]) for h in z])
    gap = np.linalg.norm(vertices[:, None] - vertices[None], axis=2)
    springs = np.argwhere(np.triu(gap < 1.6 * radius / 2, 1))
    return Puck(vertices, springs)


def spring_forces(body: Puck, x: np.ndarray, u: np.ndarray):
    """Forces (3n,) [N] and -df/dx, -df/du (3n, 3n)."""
    a, b = body.springs.T
    d, e = x[b] - x[a], u[b] - u[a]
    length = np.linalg.norm(d, axis=1, keepdims=True)
    t = d / length
    rate = np.sum(t * e, axis=1, keepdims=True)
    tension = body.stiffness * (length - body.lengths[:, None]) + body.damping * rate
    f = np.zeros_like(x)
    np.add.at(f, a, tension * t)
    np.add.at(f, b, -tension * t)
    along = t[:, :, None] * t[:, None, :]
    across = (np.eye(3) - along) / length[:, :, None]
    turn = body.damping * t[:, :, None] * np.einsum("mij,mj->mi", across, e)[:, None, :]
    K = body.stiffness * along + turn + tension[:, :, None] * across
    n = len(x)
    blocks = []
    for part in (K, body.damping * along):
        M = np.zeros((n, 3, n, 3))
        for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
            np.add.at(M.transpose(0, 2, 1, 3), (i, j), sign * part)
        blocks.append(M.reshape(3 * n, 3 * n))
    return f.ravel(), *blocks


def _gap(W, free, gap, c_f, lam):
    """How far forces are from the laws, F = lam - P(lam - rho z), and its generalized Jacobian.

    P: onto lam_n >= 0 and the disc of radius c_f times the projected lam_n (Alart and Curnier).
    """
    count, rho = len(gap), 1 / W.diagonal().max()
    z = (free + W @ lam.ravel()).reshape(count, 3)
    z[:, 2] += gap
    trial = lam - rho * z
    T = np.eye(3 * count) - rho * W  # d trial / d lam
    P, D = np.zeros_like(lam), np.zeros((3 * count, 3 * count))
    for i in np.flatnonzero(trial[:, 2] > 0):
        n, t = 3 * i + 2, slice(3 * i, 3 * i + 2)
        P[i, 2], D[n] = trial[i, 2], T[n]
        size, limit = np.hypot(*trial[i, :2]), c_f * trial[i, 2]
        if size <= limit:
            P[i, :2], D[t] = trial[i, :2], T[t]
            continue
        u = trial[i, :2] / size  # the direction of sliding
        P[i, :2] = limit * u
        D[t] = c_f * np.outer(u, T[n]) + limit / size * (np.eye(2) - np.outer(u, u)) @ T[t]
    return (lam - P).ravel(), np.eye(3 * count) - D


def _sweep(W, free, gap, c_f, lam, sweeps: int):
    """Projected Gauss-Seidel over the contacts."""
    lam, z = lam.copy(), free + W @ lam.ravel()
    diagonal = W.diagonal().reshape(-1, 3)
    for _ in range(sweeps):
        for i in range(len(gap)):
            s = slice(3 * i, 3 * i + 3)
            v, old = z[s], lam[i].copy()
            lam[i, 2] = max(0.0, old[2] - (v[2] + gap[i]) / diagonal[i, 2])
            # above the norm of the tangential block: a contraction
            trial = old[:2] - v[:2] / (1.2 * diagonal[i, :2].max())
            size, limit = np.hypot(*trial), c_f * lam[i, 2]
            lam[i, :2] = trial * (limit / size if size > limit else 1.0)
            z += W[:, s] @ (lam[i] - old)
    return lam


def contact_forces(W: np.ndarray, free: np.ndarray, gap: np.ndarray, c_f: float, start: np.ndarray):
    """Forces (c, 3) with velocity free + W lam under Signorini (gap [m/s] ahead) and Coulomb.

    Semismooth Newton, begun again from swept forces where it does not close in.
    """
    lam, best = start, np.inf
    for _ in range(ROUNDS):
        for _ in range(10):
            F, D = _gap(W, free, gap, c_f, lam)
            size = np.abs(F).max()
            if size <= TOLERANCE * (np.abs(lam).max() + 1e-3):
                return lam
            if not np.isfinite(size) or size > 10 * best:
                break
            best = min(best, size)
            lam = lam - np.linalg.lstsq(D, F, rcond=None)[0].reshape(-1, 3)
        lam = _sweep(W, free, gap, c_f, np.where(np.isfinite(lam), lam, 0.0), 20)
        best = np.inf
    raise RuntimeError("the contact forces do not converge")


def step(body: Puck, x0, u0, forces, h: float, gravity, c_f: float):
    """One BDF1 step: x, u and contact forces (n, 3) from those before."""
    n, m = len(x0), body.mass / len(x0)
    near = np.flatnonzero(x0[:, 2] + h * u0[:, 2] < 0.25 * np.ptp(body.vertices[:, 2]))
    rows = (3 * near[:, None] + np.arange(3)).ravel()
    u, lam = u0.copy(), forces[near]
    for _ in range(ITERATIONS):
        f, K, B = spring_forces(body, x0 + h * u, u)
        A = lu_factor((m / h) * np.eye(3 * n) + h * K + B)
        residual = (m * (u - u0) / h - m * np.asarray(gravity)).ravel() - f
        pull = np.zeros((3 * n, len(rows)))
        pull[rows, np.arange(len(rows))] = 1
        reach = lu_solve(A, pull)
        free = u.ravel() - lu_solve(A, residual)
        lam = contact_forces(reach[rows], free[rows], x0[near, 2] / h, c_f, lam)
        new = (free + reach @ lam.ravel()).reshape(n, 3)
        change, u = np.abs(new - u).max(), new
        if change <= 1e-10 * max(np.abs(u).max(), 1e-3):
            after = np.zeros((n, 3))
            after[near] = lam
            return x0 + h * u, u, after
    raise RuntimeError("SQP does not converge")


def simulate(body: Puck, start, velocity, steps: int, h: float, gravity, c_f: float):
    """Positions, velocities and contact forces (steps + 1, n, 3)."""
    x = body.vertices + np.asarray(start)
    u = np.tile(np.asarray(velocity, float), (len(x), 1))
    forces = np.zeros_like(x)
    out = [(x, u, forces)]
    for _ in range(steps):
        x, u, forces = step(body, x, u, forces, h, gravity, c_f)
        out.append((x, u, forces))
    return tuple(np.stack(part) for part in zip(*out, strict=True))
