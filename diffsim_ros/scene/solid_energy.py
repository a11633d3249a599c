"""Elastic energy of solids in a recorded motion: an independent sum over tets in numpy.

  neo_hookean        psi = mu/2 (I_C - 3) - mu ln J + lambda/2 (ln J)^2
  neo_hookean_safe   psi = mu/2 (I_C - 3) - mu (J - 1) + (lambda + mu)/2 (J - 1)^2
Linear tets have one F, quadratic ones are integrated at four points. Smoothed ones (p1_fbar) take
the terms with mu at the mean F of an edge's tets, the squared term at the mean J of a node's.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import scipy.sparse as sparse

from diffsim_ros.scene.soft_shapes import SoftShape
from diffsim_ros.scene.tets import EDGES

Array = np.ndarray
GAUSS = (0.5854101966249685, 0.1381966011250105)  # barycentric coordinates of the four points


def solid_energy(
    name: str, body: dict, shape: SoftShape, vertices: Array, values: dict[str, float]
) -> Array:
    """Energy [J] (F,) of a solid with vertices (F, n, 3)."""
    energy = np.zeros(len(vertices))
    young, poisson = values[f"{name}.young"], values[f"{name}.poisson"]
    mu, lame = young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    gradients = p2_gradients if body["element"] == "p2" else p1_gradients
    for slopes, volume in gradients(shape.vertices, shape.tets):
        shear = square = sparse.diags(volume)
        if body["element"] == "p1_fbar":
            shear, square = patches(shape.tets, volume, 2), patches(shape.tets, volume, 1)
        for k, x in enumerate(vertices):
            deformation = np.einsum("mai,maj->mij", x[shape.tets], slopes)
            energy[k] += _integral(deformation, (shear, square), mu, lame, body["model"])
    return energy


def patches(tets: Array, volume: Array, corners: int) -> sparse.csr_matrix:
    """(patches, tets): what each edge (corners = 2) or node (1) gets of each tet's volume [m^3]."""
    parts = np.stack([np.sort(tets[:, list(c)], axis=1) for c in combinations(range(4), corners)])
    keys, patch = np.unique(parts.reshape(-1, corners), axis=0, return_inverse=True)
    tet = np.tile(np.arange(len(tets)), len(parts))
    shares = np.tile(volume / len(parts), len(parts))
    return sparse.csr_matrix((shares, (patch.ravel(), tet)), shape=(len(keys), len(tets)))


def _integral(deformation: Array, parts: tuple, mu: float, lame: float, model: str) -> float:
    """Integral of psi [J] with deformation gradients (m, 3, 3) and volumes (p, m) of two parts."""
    shear, square = parts
    whole = np.asarray(shear.sum(axis=1)).ravel()
    mean = (shear @ deformation.reshape(-1, 9)).reshape(-1, 3, 3) / whole[:, None, None]
    stretch = np.einsum("mij,mij->m", mean, mean) - 3
    at_nodes = np.asarray(square.sum(axis=1)).ravel()
    det, mean_det = np.linalg.det(mean), square @ np.linalg.det(deformation) / at_nodes
    if model == "neo_hookean":
        log, mean_log = (np.log(np.maximum(J, 1e-300)) for J in (det, mean_det))
        first, second = mu / 2 * stretch - mu * log, lame / 2 * mean_log**2
    else:
        first, second = mu / 2 * stretch - mu * (det - 1), (lame + mu) / 2 * (mean_det - 1) ** 2
    return float(whole @ first + at_nodes @ second)


def p1_gradients(rest: Array, tets: Array) -> list[tuple[Array, Array]]:
    """[(dN_a/dX (m, 4, 3), volume (m,))]."""
    corners = rest[tets[:, :4]]
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    slopes = np.linalg.inv(edges)
    first = -slopes.sum(axis=1, keepdims=True)
    return [(np.concatenate([first, slopes], axis=1), np.abs(np.linalg.det(edges)) / 6)]


def p2_gradients(rest: Array, tets: Array) -> list[tuple[Array, Array]]:
    """[(dN_a/dX (m, 10, 3), volume (m,))] at the four points, nodes where they are in `rest`."""
    found = []
    for point in range(4):
        shares = np.where(np.arange(4) == point, *GAUSS)
        local = np.zeros((10, 4))  # dN_a/d(barycentric)
        local[np.arange(4), np.arange(4)] = 4 * shares - 1
        for a, (i, j) in enumerate(EDGES, 4):
            local[a, i], local[a, j] = 4 * shares[j], 4 * shares[i]
        by = local[:, 1:] - local[:, :1]
        jacobian = np.einsum("mai,aj->mij", rest[tets], by)
        slopes = np.einsum("aj,mji->mai", by, np.linalg.inv(jacobian))
        found.append((slopes, np.linalg.det(jacobian) / 24))
    return found
