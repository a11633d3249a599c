"""Linear systems of a scene at rest: sparse, symmetric or nearly so, perhaps with free directions.

A free direction is one in which nothing holds the scene: K N = 0, as for a block on a level table.
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


def lowest(K: Any, M: Any, count: int) -> tuple[Array, Array]:
    """The `count` lowest eigenvalues (k,) of K phi = w M phi, and phi (n, k), phi^T M phi = 1.

    K symmetric, M symmetric and positive definite.  By Lanczos' method with shift and invert, the
    shift below all eigenvalues; the same start vector every time.
    """
    size = K.shape[0]
    count = min(count, size)
    if size <= DENSE or count > size // 2:
        dense = (matrix.toarray() for matrix in (K, M))
        values, vectors = linalg.eigh(*dense, subset_by_index=(0, count - 1))
        return values, vectors
    shift = 1e-9 * stiffest(K, M)
    factor = Factor(K + shift * M)
    while factor.negative or not factor.usable:  # an eigenvalue below -shift
        shift *= 10
        factor = Factor(K + shift * M)
    inverse = LinearOperator(K.shape, matvec=factor.solve, dtype=float)
    begin = np.random.default_rng(0).standard_normal(size)
    values, vectors = eigsh(
        K, k=count, M=M, sigma=-shift, which="LM", OPinv=inverse, v0=begin, tol=1e-13,
        ncv=min(size, max(2 * count + 1, 40)),
    )  # fmt: skip
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    return values, vectors / np.sqrt(np.einsum("ik,ik->k", vectors, M @ vectors))


def is_free(K: Any, M: Any, vectors: Array) -> Array:
    """(k,) bool: whether phi^T K phi is nothing but rounding, for columns phi, phi^T M phi = 1."""
    work = np.einsum("ik,ik->k", vectors, K @ vectors)
    terms = np.einsum("ik,ik->k", np.abs(vectors), abs(K) @ np.abs(vectors))
    return np.abs(work) <= LOST * terms + ROUNDING * stiffest(K, M)


class FreeInverse:
    """Solutions of K x = b with x^T M N = 0, where N are K's free directions.

    K, M  (n, n) sparse;  N (n, f) with N^T M N = 1, found when first used.  Where there are none,
    the plain inverse (also of a K that is not symmetric).
    """

    def __init__(self, K: Any, M: Any) -> None:
        self.K, self.M = K, M

    @cached_property
    def N(self) -> Array:
        """(n, f) free directions."""
        if not self.K.shape[0]:
            return np.zeros((0, 0))
        K, count = (self.K + self.K.T) / 2, 8
        while True:
            values, vectors = lowest(K, self.M, count)
            free = is_free(K, self.M, vectors)
            if not free.all() or len(values) == K.shape[0]:
                return vectors[:, free]
            count *= 3

    @cached_property
    def _lu(self) -> Any:
        edge = sparse.csc_matrix(self.M @ self.N)
        # a weight that makes the border as large as K, for the pivots' sake
        weight = stiffest(self.K, self.M)
        return splu(sparse.bmat([[self.K, weight * edge], [weight * edge.T, None]], format="csc"))

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """x (n, m) for b (n, m), b's part along the free directions left out."""
        if not self.K.shape[0]:
            return np.zeros(b.shape)
        edge = np.zeros((self.N.shape[1], b.shape[1]))
        return self._lu.solve(np.vstack([b, edge]), "T" if transposed else "N")[: len(b)]

    def unheld(self, b: Any) -> Array:
        """(m,) bool: whether column b (n, m), sparse, pushes along a free direction."""
        along = np.linalg.norm(b.T @ self.N, axis=1)
        mass = self.M.diagonal()
        whole = np.sqrt(b.multiply(b).T @ (1 / np.where(mass > 0, mass, np.inf)))
        return along > UNHELD * whole
