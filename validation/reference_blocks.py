"""Cook's membrane and a pressed block by independent finite elements, in linear elasticity.

Triquadratic bricks with a linear pressure in each (reference_fem.Bar).  Both are loaded by a
uniform traction on one face; what is taken is the mean displacement of that face along it, [m] per
newton, and of the membrane's upper corner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from skfem import MeshHex

from .reference_fem import Bar, factorized

HEIGHT, END, RISE, SPAN = 0.44, 0.16, 0.44, 0.48  # m, Cook's membrane; as Cook gives it, times 0.01
THICK = 0.04  # m
SIDE, FLAT = 0.1, 0.04  # m, the block: square, its height
PRESSED = 0.05  # m, the square in the middle of its upper face that is pressed


def tapered(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Heights of Cook's membrane, x and y from 0 to 1."""
    return RISE * x + y * (HEIGHT + (END - HEIGHT) * x)


@dataclass
class Membrane(Bar):
    """Cook's membrane, n x n x 1 bricks; plane: no strain across, else its faces are free."""

    plane: bool = True

    def mesh(self) -> MeshHex:
        """The bricks, small where the upper edge is clamped."""
        t = np.linspace(0, 1, self.n + 1)
        mesh = MeshHex.init_tensor(t**1.5, 1 - (1 - t) ** 1.5, np.array([0, THICK]))
        x, y, z = mesh.p
        return MeshHex(np.array([SPAN * x, tapered(x, y), z]), mesh.t)

    def compliance(self) -> dict[str, float]:
        """Displacements [m/N] by a force upwards on the right edge."""
        load = self.areas(lambda x: np.isclose(x[0], SPAN))
        fixed = np.zeros((len(self.x), 3), bool)
        fixed[np.isclose(self.x[:, 0], 0)] = True
        fixed[:, 2] |= self.plane
        if not self.plane:
            fixed[np.isclose(self.x[:, 2], 0), 2] = True  # the middle of a membrane twice as thick
        up = self.solved(np.outer(load / load.sum(), [0, 1, 0]), fixed)[:, 1]
        corner = np.argmin(np.linalg.norm(self.x[:, :2] - [SPAN, RISE + END], axis=1))
        return {"mean": float(load @ up / load.sum()), "corner": float(up[corner])}

    def solved(self, force: np.ndarray, fixed: np.ndarray) -> np.ndarray:
        """u (nodes, 3) under force (nodes, 3) where `fixed` is not."""
        free = np.flatnonzero(~fixed.ravel())
        K = self.stiffness(self.state(np.zeros(self.ndof)))
        u = np.zeros(self.ndof)
        u[free] = factorized(K[free][:, free]).solve(force.ravel()[free])
        return u.reshape(-1, 3)


@dataclass
class Block(Membrane):
    """A quarter of the block, 2n x 2n x 2n bricks, glued to the ground at z = 0."""

    def mesh(self) -> MeshHex:
        """The bricks, equal inside and outside of the pressed square."""
        side = np.linspace(0, SIDE / 2, 2 * self.n + 1)
        return MeshHex.init_tensor(side, side, np.linspace(0, FLAT, 2 * self.n + 1))

    def compliance(self) -> dict[str, float]:
        """Displacement [m/N] by a force downwards on the pressed square."""
        load = self.areas(
            lambda x: np.isclose(x[2], FLAT) & (x[0] < PRESSED / 2) & (x[1] < PRESSED / 2)
        )
        fixed = np.isclose(self.x, 0) & [True, True, False]
        fixed[np.isclose(self.x[:, 2], 0)] = True
        down = self.solved(np.outer(load / load.sum() / 4, [0, 0, -1]), fixed)[:, 2]
        return {"mean": float(-load @ down / load.sum())}


def slopes(kind, n: int, young: float, poisson: float, **options) -> dict[str, float]:
    """Mean compliance, and its relative slopes by Young's modulus and by Poisson's ratio."""
    step = 0.02 * (0.5 - poisson)
    low, here, high = (
        kind(n, poisson + k * step, young=young, **options).compliance()["mean"] for k in (-1, 0, 1)
    )
    return {"mean": here, "by_young": -here / young, "by_poisson": (high - low) / (2 * step)}
