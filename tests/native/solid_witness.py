"""Independent witness of the solids' kernels: energies by dense numpy, nothing differentiated."""

import numpy as np

QUADRATURE = ((5 + 3 * 5**0.5) / 20, (5 - 5**0.5) / 20)


def lame(young, poisson):
    return young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson))


def linear_points(vertices, tets):
    """(map from places to F (m, 3, 3), volumes) of linear tetrahedra."""
    rest = np.moveaxis(vertices[tets[:, 1:]] - vertices[tets[:, :1]], 1, 2)
    inverse = np.linalg.inv(rest)

    def gradients(x):
        return np.moveaxis(x[tets[:, 1:]] - x[tets[:, :1]], 1, 2) @ inverse

    return gradients, np.linalg.det(rest) / 6


def _monomials(xi):
    x, y, z = np.moveaxis(xi, -1, 0)
    return np.stack([1 + 0 * x, x, y, z, x * x, y * y, z * z, x * y, y * z, z * x], -1)


def _slopes(xi):
    """d(monomials)/d xi (10, 3)."""
    x, y, z = xi
    return np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [2 * x, 0, 0], [0, 2 * y, 0],
                     [0, 0, 2 * z], [y, x, 0], [0, z, y], [z, 0, x]])  # fmt: skip


def quadratic_points(vertices, tets):
    """The same at the four quadrature points of ten-node tetrahedra, point by point."""
    corner = np.concatenate([np.zeros((1, 3)), np.eye(3)])
    middle = [(corner[i] + corner[j]) / 2
              for i, j in ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))]  # fmt: skip
    fit = np.linalg.inv(_monomials(np.concatenate([corner, middle])))  # (monomial, node)
    far, near = QUADRATURE
    at = np.full((4, 3), near)
    at[[1, 2, 3], [0, 1, 2]] = far
    by_node = [fit.T @ _slopes(xi) for xi in at]  # (node, 3) each
    rest = [np.einsum("mai,aj->mij", vertices[tets], d) for d in by_node]

    def gradients(x):
        return np.concatenate([np.einsum("mai,aj->mij", x[tets], d) @ np.linalg.inv(R)
                               for d, R in zip(by_node, rest, strict=True)])  # fmt: skip

    return gradients, np.concatenate([np.linalg.det(R) / 24 for R in rest])


def densities(F, mu, lam, model):
    """(part with mu, part with lambda) per volume."""
    J, shear = np.linalg.det(F), mu / 2 * ((F**2).sum((1, 2)) - 3)
    if model == "neo_hookean":
        return shear - mu * np.log(J), dilatation(J, lam, model)
    return shear - mu * (J - 1) + mu / 2 * (J - 1) ** 2, dilatation(J, lam, model)


def dilatation(J, lam, model):
    return lam / 2 * (np.log(J) if model == "neo_hookean" else J - 1) ** 2


def dissipation(F, rate, viscosity, model):
    """Half the power lost per volume: its derivative by the velocities is the viscous force."""
    turned = np.swapaxes(F, 1, 2) @ rate if model == "invariant" else rate
    D = (turned + np.swapaxes(turned, 1, 2)) / 2
    return viscosity * (D**2).sum((1, 2))


class Witness:
    """Energy and dissipation of a mesh with moduli per tetrahedron."""

    def __init__(self, element, vertices, tets, young, poisson, viscosity, model, viscosity_model):
        self.mu, self.lam = (np.broadcast_to(c, len(tets)) for c in lame(young, poisson))
        self.viscosity = np.broadcast_to(viscosity, len(tets))
        self.element, self.model, self.viscosity_model = element, model, viscosity_model
        self.tets = tets
        if element.startswith("p2"):
            self.gradients, self.volume = quadratic_points(vertices, tets)
            self.mu, self.lam, self.viscosity = (
                np.tile(c, 4) for c in (self.mu, self.lam, self.viscosity)
            )
            return
        self.gradients, self.volume = linear_points(vertices, tets)
        if element == "p1_fbar":
            self.edges = self.averages([(i, j) for i in range(4) for j in range(i)])
            self.nodes = self.averages([(i,) for i in range(4)])

    def averages(self, parts):
        """(patches, tets) matrix of shares of volume that edges or nodes get."""
        keys, entries = {}, []
        for e, tet in enumerate(self.tets):
            for part in parts:
                key = keys.setdefault(tuple(sorted(tet[list(part)])), len(keys))
                entries.append((key, e, self.volume[e] / len(parts)))
        A = np.zeros((len(keys), len(self.tets)))
        for key, e, share in entries:
            A[key, e] += share
        return A

    def energy(self, x):
        F = self.gradients(x)
        if self.element == "p2_p0":
            shear = densities(F, self.mu, self.lam, self.model)[0]
            volume = self.volume.reshape(4, -1)
            J = (volume * np.linalg.det(F).reshape(4, -1)).sum(0) / volume.sum(0)
            lam = self.lam[: len(self.tets)]
            return (self.volume * shear).sum() + (
                volume.sum(0) * dilatation(J, lam, self.model)
            ).sum()
        if self.element != "p1_fbar":
            return (self.volume * sum(densities(F, self.mu, self.lam, self.model))).sum()
        edge, node = self.edges.sum(1), self.nodes.sum(1)
        mean = np.einsum("pe,eij->pij", self.edges, F) / edge[:, None, None]
        mu = self.edges @ self.mu / edge
        J = self.nodes @ np.linalg.det(F) / node
        lam = self.nodes @ self.lam / node
        return (edge * densities(mean, mu, 0 * mu, self.model)[0]).sum() + (
            node * dilatation(J, lam, self.model)
        ).sum()

    def loss(self, x, v):
        F, rate, volume, viscosity = (
            self.gradients(x),
            self.gradients(v),
            self.volume,
            self.viscosity,
        )
        if self.element == "p1_fbar":
            volume = self.edges.sum(1)
            F, rate = (np.einsum("pe,eij->pij", self.edges, g) / volume[:, None, None]
                       for g in (F, rate))  # fmt: skip
            viscosity = self.edges @ viscosity / volume
        return (volume * dissipation(F, rate, viscosity, self.viscosity_model)).sum()
