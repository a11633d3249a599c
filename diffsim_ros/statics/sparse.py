"""Linear systems of a scene at rest: sparse, symmetric or nearly so, perhaps with free directions.

A free direction is one in which nothing holds the scene: K N = 0, as for a block on a level table.

Constrained joints make K a saddle, K = [[K_x, -G^T], [-G, 0]] with the rows g(x) = 0, G = dg/dx,
of their multipliers.  What is sought in it is sought along G x = 0; signs of pivots are counted,
and systems of the search solved, with K_x + w G^T G in place of K_x, which changes nothing there.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh, splu

Array = np.ndarray
DENSE = 200  # unknowns up to which all eigenvalues are found at once
LOST = 1e-11  # share of the terms of a sum below which the sum is rounding
ROUNDING = 1e-13  # of the largest K_ii/M_ii, below which an eigenvalue is rounding
LEAST_SHIFT = 1e-13  # of the largest K_ii/M_ii, so that matrices with free directions factor
UNHELD = 1e-7  # share of a push along a free direction above which it is one
WEIGHT = 1e3  # of what is held, over the largest K_ii/M_ii, where signs of pivots are counted
PIVOT_SHIFT = 1e-9  # the same where signs of pivots are counted


class Factor:
    """LU of a symmetric sparse matrix; `negative` pivots count its negative eigenvalues."""

    def __init__(self, A: Any) -> None:
        A = sparse.csc_matrix(A)
        options = {"SymmetricMode": True}
        self._lu = splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        exchanged = np.any(self._lu.perm_r != self._lu.perm_c)
        pivots = self._lu.U.diagonal()
        self.usable = bool(np.all(np.isfinite(pivots)) and np.all(pivots != 0))
        self.negative = int(np.sum(pivots < 0)) + int(exchanged)

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """A^-1 b, or A^-T b."""
        return self._lu.solve(b, "T" if transposed else "N")


def stiffest(K: Any, M: Any) -> float:
    """Largest K_ii/M_ii [1/s^2], the scale of the largest eigenvalue; at least 1e-12."""
    mass = M.diagonal()
    ratio = np.abs(K.diagonal()) / np.where(mass > 0, mass, np.inf)
    return max(float(np.max(ratio, initial=0.0)), 1e-12)


def asymmetry(K: Any) -> float:
    """Largest entry of K - K^T over that of K."""
    largest = abs(K).max() if K.nnz else 0.0
    return float(abs(K - K.T).max() / largest) if largest > 0 else 0.0


class SaddleFactor:
    """Solutions of [[K + mu M, -G^T], [-G, 0]] with K + mu M positive along G x = 0.

    K, M  (n, n) sparse, symmetric;  G (m, n) sparse, of full rank, m = 0: nothing is held
    usable, positive  whether it can be solved, and is positive
    """

    def __init__(self, K: Any, M: Any, G: Any, mu: float) -> None:
        self.G = G
        A = K + mu * M
        if G.shape[0]:
            mass = M.diagonal()
            inverse = 1 / np.where(mass > 0, mass, np.inf)
            rows = np.asarray(G.multiply(G) @ inverse)  # of G M^-1 G^T
            self._weight = WEIGHT * (stiffest(K, M) + mu) / np.maximum(rows, 1e-300)
            A = A + G.T @ sparse.diags(self._weight) @ G
        self._factor = Factor(A)
        self.positive = self._factor.usable and not self._factor.negative
        self.usable = self._factor.usable
        if self.usable and G.shape[0]:
            self._carried = self._factor.solve(G.T.toarray())
            self._across = G @ self._carried
            self.usable = bool(np.all(np.isfinite(self._across)))

    def solve(self, a: Array, b: Array) -> tuple[Array, Array]:
        """(x (n,), l (m,)): (K + mu M) x - G^T l = a, -G x = b."""
        if not self.G.shape[0]:
            return self._factor.solve(a), np.zeros(0)
        x = self._factor.solve(a - self.G.T @ (self._weight * b))
        multiplier = np.linalg.solve(self._across, -b - self.G @ x)
        return x + self._carried @ multiplier, multiplier

    def close(self, g: Array) -> Array:
        """x (n,) with G x = -g of least work."""
        return -self._carried @ np.linalg.solve(self._across, g)


def lowest(K: Any, M: Any, count: int, G: Any = None) -> tuple[Array, Array]:
    """The `count` lowest eigenvalues (k,) of K phi = w M phi along G phi = 0, and phi (n, k),
    phi^T M phi = 1.

    K symmetric, M symmetric and positive definite.  By Lanczos' method with shift and invert, the
    shift below all eigenvalues; the same start vector every time.
    """
    G = sparse.csc_matrix((0, K.shape[0])) if G is None else G
    size, free = K.shape[0], K.shape[0] - G.shape[0]
    count = min(count, free)
    basis = min(free, max(2 * count + 1, 40))
    if size <= DENSE or 2 * basis > free:
        dense = [matrix.toarray() for matrix in (K, M)]
        if not G.shape[0]:
            return linalg.eigh(*dense, subset_by_index=(0, count - 1))
        along = linalg.qr(G.T.toarray())[0][:, G.shape[0] :]
        if not along.shape[1]:
            return np.zeros(0), np.zeros((size, 0))
        dense = [along.T @ matrix @ along for matrix in dense]
        values, vectors = linalg.eigh(*dense, subset_by_index=(0, count - 1))
        return values, along @ vectors
    shift = 1e-9 * stiffest(K, M)
    factor = SaddleFactor(K, M, G, shift)
    while not (factor.positive and factor.usable):  # an eigenvalue below -shift
        shift *= 10
        factor = SaddleFactor(K, M, G, shift)
    none = np.zeros(G.shape[0])
    inverse = LinearOperator(K.shape, matvec=lambda b: factor.solve(b, none)[0], dtype=float)
    begin = inverse.matvec(M @ np.random.default_rng(0).standard_normal(size))
    values, vectors = eigsh(
        K, k=count, M=M, sigma=-shift, which="LM", OPinv=inverse, v0=begin, tol=1e-13,
        ncv=basis,
    )  # fmt: skip
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    return values, vectors / np.sqrt(np.einsum("ik,ik->k", vectors, M @ vectors))


def is_free(K: Any, M: Any, vectors: Array) -> Array:
    """(k,) bool: whether phi^T K phi is nothing but rounding, for columns phi, phi^T M phi = 1."""
    work = np.einsum("ik,ik->k", vectors, K @ vectors)
    terms = np.einsum("ik,ik->k", np.abs(vectors), abs(K) @ np.abs(vectors))
    return np.abs(work) <= LOST * terms + ROUNDING * stiffest(K, M)


def holding(force: Array, M: Any, G: Any) -> Array:
    """l (m, k) with G^T l = force (n, k), which is known to be of that form."""
    mass = M.diagonal()
    spread = G @ sparse.diags(1 / np.where(mass > 0, mass, np.inf))
    if not G.shape[0]:
        return np.zeros((0, force.shape[1]))
    return np.linalg.solve((spread @ G.T).toarray(), spread @ force)


class FreeInverse:
    """Solutions of K x = b with x^T M N = 0, where N are K's free directions.

    K, M  (n, n) sparse;  held (n,) bool, the multipliers among x: K is a saddle, see above
    N (n, f) with N^T M N = 1, found when first used, zero for multipliers.  Where there are none,
    the plain inverse (also of a K that is not symmetric).
    """

    def __init__(self, K: Any, M: Any, held: Array) -> None:
        self.K, self.M, self.held = K, M, held
        moves = ~held
        self.G = -K[held][:, moves]
        self._moving = K[moves][:, moves], M[moves][:, moves]

    @cached_property
    def N(self) -> Array:
        """(n, f) free directions."""
        K, M = self._moving
        most = K.shape[0] - self.G.shape[0]
        if most <= 0:
            return np.zeros((self.K.shape[0], 0))
        K, count = (K + K.T) / 2, 8
        while True:
            values, vectors = lowest(K, M, count, self.G)
            free = is_free(K, M, vectors)
            if not free.all() or len(values) == most:
                found = np.zeros((self.K.shape[0], int(free.sum())))
                found[~self.held] = vectors[:, free]
                return found
            count *= 3

    @cached_property
    def _lu(self) -> Any:
        edge = sparse.csc_matrix(self.M @ self.N)
        # a weight that makes the border as large as K, for the pivots' sake
        weight = stiffest(*self._moving)
        return splu(sparse.bmat([[self.K, weight * edge], [weight * edge.T, None]], format="csc"))

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """x (n, m) for b (n, m), b's part along the free directions left out."""
        if not self.K.shape[0]:
            return np.zeros(b.shape)
        edge = np.zeros((self.N.shape[1], b.shape[1]))
        return self._lu.solve(np.vstack([b, edge]), "T" if transposed else "N")[: len(b)]

    def unheld(self, b: Any) -> Array:
        """(m,) bool: whether column b (n, m), sparse, pushes along a free direction."""
        K, M = self._moving
        mass = M.diagonal()
        inverse = 1 / np.where(mass > 0, mass, np.inf)
        push, N = b[~self.held], self.N[~self.held]
        along = push.T @ N
        whole = np.sqrt(push.multiply(push).T @ inverse)
        if self.G.shape[0]:  # what opens joints moves bodies, against K
            spread = sparse.diags(inverse) @ self.G.T
            across = (self.G @ spread).toarray()
            moved = K @ (spread @ np.linalg.solve(across, b[self.held].toarray()))
            along = along + moved.T @ N
            whole = whole + np.sqrt((moved * moved).T @ inverse)
        return np.linalg.norm(along, axis=1) > UNHELD * whole
