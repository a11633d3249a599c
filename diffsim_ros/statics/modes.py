"""Small vibrations about a pose: K phi = omega^2 M phi, and how omega changes with parameters.

    d(omega^2)/dp = phi^T (dK/dp - omega^2 dM/dp) phi,   phi^T M phi = 1

d is the whole derivative: also through the pose, which moves with the parameters (the equilibrium
by the implicit function, the start as its own parameters say).  With r's third derivatives
symmetric where forces have a potential, all parameters follow from derivatives along phi alone,

    phi^T (dK/dp) phi = d/ds phi^T r_p(x + s phi) + a . dx/dp,   a = d/ds K(x + s phi)^T phi + ...

(the dots: rotations do not commute).  d/ds is a central difference of the engine's analytic dr/dp
and K, of fourth order, kept on one smooth piece of contacts; dM/dp and dx/dp are exact.  Of
eigenvalues that are equal, only the mean has a derivative without more being said; that is given,
for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.statics.at_rest import Forces, Placement, SceneAtRest
from diffsim_ros.statics.equilibrium import Equilibrium, equilibrium
from diffsim_ros.statics.sparse import asymmetry, holding, is_free, lowest

Array = np.ndarray
EQUAL = 1e-6  # eigenvalues that differ by less, relatively, are one
SPARE = 4  # more modes than wanted, so that the last ones' equals are known
CIRCULATORY = 1e-6  # asymmetry of K above which forces have no potential
AMPLITUDE = 1e-4  # of differences along a mode, by the smallest body's size
LEAST_AMPLITUDE = 1e-9


@dataclass(frozen=True)
class Modes:
    """Small vibrations about a pose.

    scene          SceneAtRest;  at: Placement;  forces: there
    rest           the Equilibrium, None about the start
    omega_squared  (k,) [1/s^2], ascending
    vectors        (ndof, k), phi^T M phi = 1 kg m^2 (displacements and rotation vectors)
    kind           k words: vibration; rigid: nothing holds it; unstable: omega^2 < 0
    clusters       numbers of modes whose omega^2 are equal, two or more each
    """

    scene: SceneAtRest
    at: Placement
    forces: Forces
    rest: Equilibrium | None
    omega_squared: Array
    vectors: Array
    kind: tuple[str, ...]
    clusters: tuple[tuple[int, ...], ...]
    count: int

    @property
    def position(self) -> Array:
        """(nodes, 3) [m] of bodies at the pose, world."""
        return self.scene.shown(self.at)[0][0]

    @property
    def orientation(self) -> Array:
        """(nodes, 4), (x, y, z, w), world."""
        return self.scene.shown(self.at)[1][0]

    @property
    def frequency(self) -> Array:
        """(count,) [Hz]; 0 for what is not a vibration."""
        vibrates = np.array([word == "vibration" for word in self.kind])
        positive = np.where(vibrates, self.omega_squared, 0.0)
        return np.sqrt(positive)[: self.count] / (2 * np.pi)

    @property
    def vibrations(self) -> list[int]:
        """Which of the `count` modes are vibrations."""
        return [i for i in range(self.count) if self.kind[i] == "vibration"]

    @property
    def shape(self) -> Array:
        """(count, nodes, 3): displacements of the nodes, of largest length 1."""
        first = self.scene.first[:-1, None] + np.arange(3)
        moves = np.moveaxis(self.vectors[first], 2, 0)[: self.count]
        return moves / np.maximum(np.linalg.norm(moves, axis=2).max(axis=1), 1e-300)[:, None, None]

    def group(self, i: int) -> tuple[int, ...]:
        """The cluster that mode i is of, or itself."""
        return next((cluster for cluster in self.clusters if i in cluster), (i,))

    def group_frequency(self, i: int) -> float:
        """sqrt(mean omega^2)/2 pi [Hz] over the group of mode i."""
        return float(np.sqrt(np.mean(self.omega_squared[list(self.group(i))])) / (2 * np.pi))

    def derivatives(
        self, names: Sequence[str] | None = None, of: Sequence[int] | None = None
    ) -> Array:
        """df/dp (m, n) [Hz per unit] by parameters [all], a row per mode in `of` [vibrations].

        In a cluster: of `group_frequency`, the same row for each.
        Raises InputError for parameters along which the equilibrium is undefined.
        """
        wanted = self.scene.columns(names)
        if self.rest is not None:
            self.rest.refuse(wanted)
        groups = [self.group(i) for i in (self.vibrations if of is None else of)]
        needed = sorted({j for group in groups for j in group})
        squared = {j: self._squared(j)[wanted] for j in needed}
        rows = []
        for group in groups:
            slope = np.mean([squared[j] for j in group], axis=0)
            rows.append(slope / (8 * np.pi**2 * self.group_frequency(group[0])))
        return np.array(rows).reshape(len(rows), len(wanted))

    def _squared(self, i: int) -> Array:
        """d(omega_i^2)/dp (parameters,); where the equilibrium is undefined, without its part."""
        phi, scene = self.vectors[:, i], self.scene
        omega = self.omega_squared[i]
        by_p, a = self._along(phi)
        mass_x, mass_p = scene.inertia_slopes(self.at, np.where(scene.held, 0.0, phi))
        a -= omega * mass_x
        found = by_p - omega * mass_p
        if self.rest is not None:
            return found + self.rest.pull_back(a)
        moving = self._starts
        found[moving] += scene.start_derivative(moving).T @ a
        return found

    @cached_property
    def _starts(self) -> list[int]:
        """Parameters that the start pose depends on; coordinates of joints depend on places."""
        prescribing = set(self.scene.prescribing)
        infos, joints = self.scene.scene.parameters, self.scene.reduced or self.scene.held.any()
        return [i for i, info in enumerate(infos) if joints or info.initial or i in prescribing]

    def _changing(self, near: Sequence[Forces]) -> str:
        """The contacts, strings and limits that change over poses near by, by name."""
        engine, here, names = self.scene.scene, self.forces.branches, []
        for name in engine.element_names:
            first, count = engine.modes_of(name)
            own = slice(first, first + count)
            if any(f.branches[own] != here[own] for f in near):
                names.append(repr(name))
        return ", ".join(names)

    def _along(self, phi: Array) -> tuple[Array, Array]:
        """(phi^T dK/dp phi at fixed x (parameters,), its derivative by x (ndof,))."""
        scene = self.scene
        size = scene.size / scene.reach(phi)
        h = AMPLITUDE * size
        while True:
            near = [scene.evaluate(scene.moved(self.at, s * h * phi)) for s in (-2, -1, 1, 2)]
            if all(f.branches == self.forces.branches for f in near):
                break
            h /= 4
            if h < LEAST_AMPLITUDE * size:
                raise NotConverged(
                    f"modes: {self._changing(near)} is at the point of opening or closing here, "
                    "where frequencies have no derivative"
                )
        by_p, by_x = (
            (values[0] - values[3] + 8 * (values[2] - values[1])) / (12 * h)
            for values in (
                [f.dr_dp.T @ phi for f in near],
                [f.K.T @ phi for f in near],
            )
        )
        # phi^T dK(xi) phi = xi . d/ds K^T phi + (K^T phi) . (phi x xi) for the rotations of frames
        turns = scene.turns
        twist = (self.forces.K.T @ phi)[turns]
        by_x[turns] += np.cross(twist, phi[turns])
        return by_p, by_x


def modes(
    scene: Any,
    values: Sequence[float] | Array | None = None,
    count: int = 6,
    *,
    at: str = "equilibrium",
    cancel: Any = None,
) -> Modes:
    """The `count` lowest modes of `scene` (_engine.Scene).

    at  "equilibrium", which is searched for, or "start": about the start pose as if its forces
        were balanced there, with the symmetric part of K; not where joints are constrained
    Raises InputError (count, follower forces, what `equilibrium` refuses) and NotConverged.
    """
    if at not in ("equilibrium", "start"):
        raise InputError("modes", "at", at, "equilibrium or start")
    if at == "equilibrium":
        return modes_about(equilibrium(scene, values, cancel=cancel), count)
    bare = SceneAtRest(scene, values)
    if bare.held.any():
        accepted = "equilibrium where joints are constrained, whose forces are not known elsewhere"
        raise InputError("modes", "at", at, accepted)
    return _modes(bare, bare.start, bare.evaluate(bare.start), None, count)


def modes_about(rest: Equilibrium, count: int = 6) -> Modes:
    """The `count` lowest modes about an equilibrium; raises as `modes`."""
    return _modes(rest.scene, rest.at, rest.forces, rest, count)


def _modes(
    bare: SceneAtRest, where: Placement, forces: Forces, rest: Equilibrium | None, count: int
) -> Modes:
    if count < 1:
        raise InputError("modes", "count", count, "at least 1")
    keep = bare.moves
    if not keep.any():
        accepted = "a scene in which something may move"
        raise InputError("modes", "scene", "kinematic bodies alone", accepted)
    K, M = (matrix[keep][:, keep] for matrix in (forces.K, forces.M))
    G = -forces.K[bare.held][:, keep]
    if rest is not None and asymmetry(K) > CIRCULATORY:
        raise InputError(
            "modes",
            "scene",
            f"a stiffness that is not symmetric (by {asymmetry(K):.2g})",
            "forces with a potential",
            "body-fixed forces and torques turn with their bodies; give them in the world",
        )
    K = (K + K.T) / 2
    found, vectors = lowest(K, M, count + SPARE, G)
    free = is_free(K, M, vectors)
    kind = tuple(
        "rigid" if f else "vibration" if w > 0 else "unstable"
        for f, w in zip(free, found, strict=True)
    )
    whole = np.zeros((len(keep), len(found)))
    whole[keep] = vectors
    whole[bare.held] = holding(K @ vectors - M @ vectors * found, M, G)
    whole = forces.follow @ whole
    shown = min(count, len(found))
    return Modes(bare, where, forces, rest, found, whole, kind, _clusters(found, kind), shown)


def _clusters(values: Array, kind: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Groups of two or more equal eigenvalues among the vibrations."""
    groups: list[list[int]] = []
    for i, value in enumerate(values):
        if kind[i] != "vibration":
            continue
        if groups and value - values[groups[-1][-1]] <= EQUAL * value:
            groups[-1].append(i)
        else:
            groups.append([i])
    return tuple(tuple(group) for group in groups if len(group) > 1)
