"""Cantilever by independent finite elements: large-deformation statics and small vibrations.

scikit-fem gives mesh, triquadratic bricks (27 nodes), quadrature and numbering; nothing is shared
with the engine. Energy of a solid with density, clamped at z = 0:

    E(u) = int mu/2 (I_C - 3) - mu ln J + lambda/2 (Pi ln J)^2 dV - loads

Pi is the L2 projection onto linear functions in each brick (the Q2/P1 pair with its pressure
p = lambda Pi ln J eliminated), which is free of locking up to Poisson 0.5 and, as h -> 0, the law
itself; with pressure=False Pi = 1, the plain displacement method. Symmetry halves the statics and
quarters the vibrations. Bricks shrink towards the clamp and the sides, where stresses are singular.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh, splu
from skfem import Basis, ElementHex2, MeshHex

from .closed_forms import lame

WIDTH, LENGTH = 0.03, 0.1  # m
YOUNG, DENSITY, GRAVITY, TIP_LOAD = 2.6e5, 1070.0, 9.81, 0.51012  # Pa, kg/m^3, m/s^2, N
GRADING = 1.5  # exponent with which bricks shrink towards clamp and sides

# Classes of vibrations of a square bar along z: components that vanish on x = 0 and on y = 0.
CLASSES = {
    "bending": ((0,), (0, 2)),  # along y; along x is its twin
    "torsion": ((1, 2), (0, 2)),
    "axial": ((0,), (1,)),
}


def _graded(n: int, towards_end: bool) -> np.ndarray:
    """n + 1 coordinates in [0, 1], denser towards one end."""
    t = np.linspace(0, 1, n + 1)
    return 1 - (1 - t) ** GRADING if towards_end else t**GRADING


@dataclass
class Bar:
    """Bricks of a quarter (x, y >= 0) or half (x >= 0) of the bar, n per half width, 4 n along."""

    n: int
    poisson: float
    quarter: bool = False
    pressure: bool = True
    young: float = YOUNG

    def mesh(self) -> MeshHex:
        """The bricks."""
        side = WIDTH / 2 * _graded(self.n, towards_end=True)
        other = side if self.quarter else np.concatenate([-side[:0:-1], side])
        along = LENGTH * _graded(4 * self.n, towards_end=False)
        return MeshHex.init_tensor(side, other, along)

    def __post_init__(self):
        self.basis = Basis(self.mesh(), ElementHex2(), intorder=5)
        self.nodes = self.basis.element_dofs.T  # (elements, 27)
        self.x = self.basis.doflocs.T  # (nodes, 3)
        shape = [b[0] for b in self.basis.basis]
        self.N = np.stack(
            [np.broadcast_to(np.asarray(s), self.basis.dx.shape) for s in shape], axis=-1
        )
        self.dN = np.stack([s.grad for s in shape], axis=-1).transpose(1, 2, 3, 0)  # (e, q, 27, 3)
        self.w = self.basis.dx  # (elements, points)
        self.mu, self.lam = lame(self.young, self.poisson)
        self._projection()
        i = (3 * self.nodes[:, :, None] + np.arange(3)).reshape(len(self.nodes), 81)
        self.dofs = i
        self.rows = np.repeat(i, 81, axis=1).ravel()
        self.columns = np.tile(i, (1, 81)).ravel()

    @property
    def ndof(self) -> int:
        """Number of displacement components before anything is fixed."""
        return 3 * len(self.x)

    def _projection(self) -> None:
        """phi (e, q, 4): linear functions, orthonormal in each brick."""
        at = np.einsum("eqi,eik->eqk", self.N, self.x[self.nodes])
        monomials = np.concatenate([np.ones((*at.shape[:2], 1)), (at - at.mean(1)[:, None])], -1)
        monomials[..., 1:] /= np.abs(monomials[..., 1:]).max(axis=1, keepdims=True)
        gram = np.einsum("eqa,eqb,eq->eab", monomials, monomials, self.w)
        root = np.linalg.cholesky(gram)
        self.phi = np.linalg.solve(root[:, None], monomials[..., None])[..., 0]

    def assembled(self, blocks: np.ndarray) -> sp.csc_matrix:
        """Sparse matrix of element matrices (e, 81, 81)."""
        return sp.csc_matrix(
            (blocks.ravel(), (self.rows, self.columns)), shape=(self.ndof, self.ndof)
        )

    def state(self, u: np.ndarray) -> tuple:
        """F, spatial gradients G (e, q, 27, 3), ln J (e, q); None where J <= 0 somewhere."""
        grad = np.einsum("eia,eqic->eqac", u.reshape(-1, 3)[self.nodes], self.dN)
        F = grad + np.eye(3)
        J = np.linalg.det(F)
        return None if np.any(J <= 0) else (F, self.dN @ np.linalg.inv(F), np.log(J))

    def pressed(self, log: np.ndarray) -> np.ndarray:
        """lambda Pi ln J (e, q)."""
        if self.pressure:
            moments = np.einsum("eqa,eq,eq->ea", self.phi, log, self.w)
            log = np.einsum("eqa,ea->eq", self.phi, moments)
        return self.lam * log

    def force(self, state) -> np.ndarray:
        """dE/du (ndof,) of the elastic energy."""
        F, G, log = state
        p = self.pressed(log)
        local = self.mu * np.einsum("eqac,eqic,eq->eia", F, self.dN, self.w)
        local += np.einsum("eqia,eq->eia", G, (p - self.mu) * self.w)
        return np.bincount(self.dofs.ravel(), local.ravel(), minlength=self.ndof)

    def predicted_pressure(self, state, step: np.ndarray) -> np.ndarray:
        """Pressure (e, q) after a displacement step, by the linearised ln J."""
        _, G, log = state
        return self.pressed(log + np.einsum("eqia,eia->eq", G, step.reshape(-1, 3)[self.nodes]))

    def stiffness(self, state, p: np.ndarray | float = 0.0) -> sp.csc_matrix:
        """d2E/du2, in whose geometric part the pressure is p (e, q).

        At an equilibrium p = lambda Pi ln J. Before that Newton keeps the pressure as an
        unknown of its own (predicted_pressure), as lambda ln J is far off while J is not yet 1.
        """
        _, G, _ = state
        e, q = self.w.shape
        flat = (self.dN * self.w[..., None, None]).transpose(0, 2, 1, 3).reshape(e, 27, -1)
        laplace = self.mu * flat @ self.dN.transpose(0, 2, 1, 3).reshape(e, 27, -1).swapaxes(1, 2)
        blocks = np.einsum("eij,ab->eiajb", laplace, np.eye(3))
        weighted = (G * ((self.mu - p) * self.w)[..., None, None]).reshape(e, q, 81)
        cross = weighted.swapaxes(1, 2) @ G.reshape(e, q, 81)  # (i b, j a)
        blocks += cross.reshape(e, 27, 3, 27, 3).transpose(0, 1, 4, 3, 2)
        rows = G.reshape(e, q, 81)
        if self.pressure:
            rows = np.einsum("eqa,eq,eqk->eak", self.phi, self.w, rows)
            volume = rows.swapaxes(1, 2) @ rows
        else:
            volume = (rows * self.w[..., None]).swapaxes(1, 2) @ rows
        return self.assembled(blocks.reshape(e, 81, 81) + self.lam * volume)

    def mass(self) -> sp.csc_matrix:
        """Consistent mass matrix [kg]."""
        scalar = np.einsum("eqi,eqj,eq->eij", self.N, self.N, DENSITY * self.w)
        e = len(scalar)
        return self.assembled(np.einsum("eij,ab->eiajb", scalar, np.eye(3)).reshape(e, 81, 81))

    def nodal(self, density: np.ndarray, end_only: bool = False) -> np.ndarray:
        """(ndof,) nodal forces of a uniform vector: per volume, or per area of the end face."""
        if not end_only:
            weights = np.einsum("eqi,eq->ei", self.N, self.w)
            shares = np.bincount(self.nodes.ravel(), weights.ravel(), minlength=len(self.x))
        else:
            shares = self.areas(lambda x: np.isclose(x[2], LENGTH))
        return np.outer(shares, density).ravel()

    def areas(self, chosen) -> np.ndarray:
        """(nodes,) integrals of shape functions [m^2] over faces, chosen by middles x (3, n)."""
        face = self.basis.boundary(self.basis.mesh.facets_satisfying(chosen))
        shares = np.zeros(len(self.x))
        for i, b in enumerate(face.basis):
            np.add.at(shares, face.element_dofs[i], np.sum(np.asarray(b[0]) * face.dx, axis=1))
        return shares

    def free(self, on_x: tuple, on_y: tuple = ()) -> np.ndarray:
        """Free dofs: the clamp and components on the planes x = 0 and y = 0 are fixed."""
        fixed = np.zeros((len(self.x), 3), bool)
        fixed[np.isclose(self.x[:, 2], 0)] = True
        for axis, components in ((0, on_x), (1, on_y)):
            for component in components:
                fixed[np.isclose(self.x[:, axis], 0), component] = True
        return np.flatnonzero(~fixed.ravel())


def factorized(matrix):
    """LU of a symmetric matrix in a fill-reducing order."""
    return splu(
        matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )  # fmt: skip


def equilibrium(
    bar: Bar, load: np.ndarray, free: np.ndarray, tolerance: float = 1e-9
) -> np.ndarray:
    """Static equilibrium u (ndof,) under dead loads, by Newton from the unloaded state."""
    u, p = np.zeros(bar.ndof), 0.0
    for _ in range(30):
        state = bar.state(u)
        r = (bar.force(state) - load)[free]
        if np.linalg.norm(r) <= tolerance * np.linalg.norm(load):
            return u
        step = np.zeros(bar.ndof)
        step[free] = -factorized(bar.stiffness(state, p)[free][:, free]).solve(r)
        if bar.state(u + step) is None:
            raise AssertionError("a brick turned inside out")
        u, p = u + step, bar.predicted_pressure(state, step)
    raise AssertionError("no equilibrium within 30 Newton iterations")


def tip_deflections(n: int, poisson: float, pressure: bool = True) -> dict:
    """Transversal deflections [m], downward positive, of three loads on the half bar.

    tip: mean over the end face; centre: its middle.
    """
    bar = Bar(n, poisson, pressure=pressure)
    free = bar.free(on_x=(0,))
    down = np.array([0, -1.0, 0])
    weight = bar.nodal(DENSITY * GRAVITY * down)
    pull = bar.nodal(TIP_LOAD / WIDTH**2 * down, end_only=True)
    share = bar.nodal(np.array([0, 1.0, 0]), end_only=True)
    middle = int(np.argmin(np.linalg.norm(bar.x - [0, 0, LENGTH], axis=1)))
    figures = {}
    for name, load in (("weight", weight), ("tip_load", pull), ("both", weight + pull)):
        u = equilibrium(bar, load, free)
        figures[f"{name}_tip_m"] = float(-share @ u / share.sum())
        figures[f"{name}_centre_m"] = float(-u[3 * middle + 1])
    return figures


def frequencies(n: int, poisson: float, pressure: bool = True, per_class: int = 3) -> dict:
    """Natural frequencies [Hz] about the unloaded straight state: class -> lowest ones."""
    bar = Bar(n, poisson, quarter=True, pressure=pressure)
    K, M = bar.stiffness(bar.state(np.zeros(bar.ndof))), bar.mass()
    figures = {}
    for name, planes in CLASSES.items():
        free = bar.free(*planes)
        inner, mass = K[free][:, free], M[free][:, free]
        inverse = LinearOperator(inner.shape, factorized(inner).solve)
        start = np.random.default_rng(0).normal(size=len(free))
        squares = eigsh(
            inner, per_class, mass, sigma=0, OPinv=inverse, v0=start, return_eigenvectors=False
        )
        figures[name] = (np.sqrt(np.sort(squares)) / (2 * np.pi)).tolist()
    return figures
