"""Cook's membrane, a pressed block and the cantilever by independent finite elements.

Triquadratic bricks with a linear pressure in each (reference_fem.Bar). What is taken is the mean
displacement of a face, and its derivatives by Young's modulus and Poisson's ratio through the
implicit function: exact for these bricks.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from skfem import MeshHex

from .cantilever_reference import extrapolated
from .closed_forms import lame
from .reference_fem import DENSITY, GRAVITY, Bar, equilibrium, factorized

HEIGHT, END, RISE, SPAN = 0.44, 0.16, 0.44, 0.48  # m, Cook's membrane; as Cook gives it, times 0.01
THICK = 0.04  # m
SIDE, FLAT = 0.1, 0.04  # m, the block: square, its height
PRESSED = 0.05  # m, the square in the middle of its upper face that is pressed
SMALL = 1e-4  # m, deflection at which all is linear
LIGHT = 1e-3  # of the cantilever's weight, for the same
ROUNDING = 1e-4  # of the load: above rounding near Poisson 1/2, below what a Newton step leaves
UP = np.array([0, 1.0, 0])


def tapered(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Heights of Cook's membrane, x and y from 0 to 1."""
    return RISE * x + y * (HEIGHT + (END - HEIGHT) * x)


@dataclass
class Cantilever(Bar):
    """The bar of reference_fem under its own weight: the sag of its end, were all linear."""

    def problem(self) -> tuple:
        """Shares of the face that is watched (ndof,), load (ndof,), free dofs, scale."""
        share = self.nodal(-UP, end_only=True)
        weight = LIGHT * self.nodal(-DENSITY * GRAVITY * UP)
        return share, weight, self.free(on_x=(0,)), LIGHT


@dataclass
class Membrane(Bar):
    """Cook's membrane, n x n x 1 bricks in plane strain, under a force upwards on its end."""

    def mesh(self) -> MeshHex:
        """The bricks, small where the upper edge is clamped."""
        t = np.linspace(0, 1, self.n + 1)
        mesh = MeshHex.init_tensor(t**1.5, 1 - (1 - t) ** 1.5, np.array([0, THICK]))
        x, y, z = mesh.p
        return MeshHex(np.array([SPAN * x, tapered(x, y), z]), mesh.t)

    def problem(self) -> tuple:
        """As of Cantilever; displacements are per newton."""
        end = self.areas(lambda x: np.isclose(x[0], SPAN))
        fixed = np.zeros((len(self.x), 3), bool)
        fixed[:, 2] = True
        fixed[np.isclose(self.x[:, 0], 0)] = True
        share = np.outer(end / end.sum(), UP).ravel()
        force = SMALL * self.young * THICK / 20
        return share, force * share, np.flatnonzero(~fixed.ravel()), force


@dataclass
class Block(Bar):
    """A quarter of the block, 2n x 2n x 2n bricks, glued to the ground at z = 0 and pressed."""

    def mesh(self) -> MeshHex:
        """The bricks, equal inside and outside of the pressed square."""
        side = np.linspace(0, SIDE / 2, 2 * self.n + 1)
        return MeshHex.init_tensor(side, side, np.linspace(0, FLAT, 2 * self.n + 1))

    def problem(self) -> tuple:
        """As of Cantilever; displacements downwards per newton."""
        square = self.areas(
            lambda x: np.isclose(x[2], FLAT) & (x[0] < PRESSED / 2) & (x[1] < PRESSED / 2)
        )
        fixed = np.isclose(self.x, 0) & [True, True, False]
        fixed[np.isclose(self.x[:, 2], 0)] = True
        share = np.outer(square / square.sum(), [0, 0, -1.0]).ravel()
        force = SMALL * self.young * SIDE / 10
        return share, force / 4 * share, np.flatnonzero(~fixed.ravel()), force


def slopes(bar) -> dict[str, float]:
    """Mean displacement of the face that is watched, and its derivatives by both elastic numbers.

    share u(p), r(u, p) = 0: d/dp = -(K^-1 share) dr/dp; forces are linear in both moduli.
    """
    share, load, free, scale = bar.problem()
    share = share / np.abs(share).sum()
    u = equilibrium(bar, load, free, ROUNDING)
    state = bar.state(u)
    K = bar.stiffness(state, bar.pressed(state[2]))[free][:, free]
    back = factorized(K).solve(share[free]) / scale
    young, nu = bar.young, bar.poisson
    mu, lam = lame(young, nu)
    moduli = {
        "by_young": (mu / young, lam / young),
        "by_poisson": (
            -mu / (1 + nu), young * (1 + 2 * nu**2) / ((1 + nu) * (1 - 2 * nu)) ** 2
        ),
    }  # fmt: skip
    found = {"mean": float(share @ u / scale)}
    for name, derivatives in moduli.items():
        other = copy.copy(bar)
        other.mu, other.lam = derivatives
        found[name] = float(-back @ other.force(state)[free])
    return found


def limits(kind, levels, young: float, poisson: float) -> dict[str, float]:
    """The same without bricks' errors: extrapolated from three levels of refinement."""
    rows = [slopes(kind(n, poisson, young=young)) for n in levels]
    return {name: extrapolated(levels, [row[name] for row in rows])["value"] for name in rows[0]}
