"""Elastic energy of solids in a recorded motion: an independent sum over tets in numpy.

  neo_hookean        psi = mu/2 (I_C - 3) - mu ln J + lambda/2 (ln J)^2
  neo_hookean_safe   psi = mu/2 (I_C - 3) - mu (J - 1) + (lambda + mu)/2 (J - 1)^2
Linear tets have one F, quadratic ones are integrated at four points.
"""

from __future__ import annotations

import numpy as np

from diffsim_ros.scene.soft_shapes import SoftShape
from diffsim_ros.scene.tets import EDGES

Array = np.ndarray
GAUSS = (0.5854101966249685, 0.1381966011250105)  # barycentric coordinates of the four points


def solid_energy(
    name: str, body: dict, shape: SoftShape, vertices: Array, values: dict[str, float]
) -> Array:
    """Energy [J] (F,) of a solid with vertices (F, n, 3); not of element p1_fbar, which gives 0.

    A locking-free tet's volume change is that of its neighbours too (docs/engine.md): only the
    engine knows its patches.
    """
    energy = np.zeros(len(vertices))
    if body["element"] == "p1_fbar":
        return energy
    young, poisson = values[f"{name}.young"], values[f"{name}.poisson"]
    mu, lame = young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    gradients = p1_gradients if body["element"] == "p1" else p2_gradients
    for slopes, volume in gradients(shape.vertices, shape.tets):
        for k, x in enumerate(vertices):
            deformation = np.einsum("mai,maj->mij", x[shape.tets], slopes)
            energy[k] += volume @ energy_density(deformation, mu, lame, body["model"])
    return energy


def energy_density(deformation: Array, mu: float, lame: float, model: str) -> Array:
    """psi [J/m^3] (m,) of deformation gradients (m, 3, 3)."""
    stretch = np.einsum("mij,mij->m", deformation, deformation) - 3
    det = np.linalg.det(deformation)
    if model == "neo_hookean":
        log = np.log(np.maximum(det, 1e-300))
        return mu / 2 * stretch - mu * log + lame / 2 * log**2
    return mu / 2 * stretch - mu * (det - 1) + (lame + mu) / 2 * (det - 1) ** 2


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
