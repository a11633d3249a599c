"""Where a scene comes to rest: the pose at which all forces on free bodies vanish, r(x, p) = 0.

Found by pseudo-transient continuation (Kelley and Keyes, SIAM J. Numer. Anal. 35, 1998): implicit
steps of M dx/ds = -r with growing steps, (mu M + K) dx = -r with falling mu, which lead
downhill and end as Newton's method.  mu is raised where mu M + K has a negative pivot, so the
search is not drawn to saddles; a pose that is one all the same (an upright column that buckles) is
left along the direction in which it is unstable.

Constrained joints are rows g(x) = 0 beside r = 0: every step solves for their multipliers too and
keeps G dx = -g, and what is left of g after it is closed.

Derivatives are those of the implicit function, dx/dp = -K^-1 dr/dp.  Friction depends on velocities
and vanishes at rest: where friction alone would hold a body, it slides; along a level table it is
free, and its place there is where the search left it.  Then K has free directions, dx/dp is the one
that does not move along them (in the metric of M), and parameters that push along them have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.statics.at_rest import Forces, Placement, SceneAtRest
from diffsim_ros.statics.sparse import (
    LEAST_SHIFT,
    PIVOT_SHIFT,
    FreeInverse,
    SaddleFactor,
    asymmetry,
    lowest,
    stiffest,
)

Array = np.ndarray
REACH = 0.1  # of the smallest body's size: most that a step moves anything
FAR = 1e3  # of that size: nothing goes so far on its way to rest
MOST_KICKS = 3  # off unstable poses
CLOSED = 1e-12  # of that size, or the farthest coordinate: gap of a closed joint
BALLAST = 1.0  # of a rotation's largest inertia
TRIALS = 12  # lengths of a step that are tried


@dataclass(frozen=True)
class Equilibrium:
    """A scene at rest.

    scene     SceneAtRest
    at        Placement of all nodes
    forces    there, with derivatives
    steps     of the search
    stable    whether K has no negative eigenvalue (free directions are not negative)
    residual  norm of the forces that are left [N]
    """

    scene: SceneAtRest
    at: Placement
    forces: Forces
    steps: int
    stable: bool
    residual: float

    @property
    def position(self) -> Array:
        """(nodes, 3) [m], world; `_engine.Scene.nodes_of` gives a body's rows."""
        return self.at.position[: self.scene.bodies]

    @property
    def orientation(self) -> Array:
        """(nodes, 4), (x, y, z, w), world."""
        return self.at.orientation[: self.scene.bodies]

    @cached_property
    def inverse(self) -> FreeInverse:
        """Of K over the free degrees of freedom."""
        keep = self.scene.free
        K, M = (matrix[keep][:, keep] for matrix in (self.forces.K, self.forces.M))
        return FreeInverse(K, M, self.scene.held[keep])

    @cached_property
    def push(self) -> Any:
        """(free, parameters), sparse: minus the forces on free nodes by each parameter."""
        keep, driven, moving = self.scene.free, self.scene.driven, self.scene.prescribing
        found = self.forces.dr_dp[keep]
        if not moving:
            return found.tocsc()
        carried = self.forces.K[keep][:, driven] @ self.scene.start_derivative(moving)[driven]
        spread = sparse.coo_matrix(
            (np.ones(len(moving)), (np.arange(len(moving)), moving)),
            shape=(len(moving), found.shape[1]),
        )
        return (found + sparse.csc_matrix(carried) @ spread).tocsc()

    @cached_property
    def undefined(self) -> list[str]:
        """Parameters that push along a free direction: no equilibrium beside this one has them."""
        return [self.scene.names[i] for i in np.flatnonzero(self.inverse.unheld(self.push))]

    def derivatives(self, names: Sequence[str] | None = None) -> Array:
        """d(c, psi)/dp (ndof, n) of the pose by parameters [all], rotations as world vectors; of
        joint coordinates and multipliers in their rows.

        Zero for what does not act at rest: starts of free bodies, dampers, friction.
        Raises InputError for a parameter that is `undefined`.
        """
        wanted = self.scene.columns(names)
        self.refuse(wanted)
        keep = self.scene.free
        found = np.zeros((len(keep), len(wanted)))
        found[keep] = -self.inverse.solve(self.push[:, wanted].toarray())
        found[self.scene.driven] = self._driven(wanted)
        found = self.forces.follow @ found
        if self.forces.places is not None:
            found += self.forces.places[:, wanted].toarray()
        return found

    def _driven(self, wanted: Sequence[int]) -> Array:
        """(driven dofs, n): how parameters move the kinematic bodies."""
        moving = [c for c in wanted if c in set(self.scene.prescribing)]
        driven = self.scene.driven
        found = np.zeros((int(driven.sum()), len(wanted)))
        if moving:
            where = [wanted.index(c) for c in moving]
            found[:, where] = self.scene.start_derivative(moving)[driven]
        return found

    def outputs(self, outputs: Sequence[str]) -> dict[str, Array]:
        """Forces, stresses, energies at rest by name, as of a rollout: `_engine.Scene.outputs`.

        JOINT.force and JOINT.torque of joints that hold exactly are what they bear here.
        """
        found = self.scene.outputs(self.at, outputs)
        return found.split(found.y)

    def output_derivatives(
        self, outputs: Sequence[str], names: Sequence[str] | None = None
    ) -> dict[str, Array]:
        """dy/dp (*shape, n) of outputs by parameters [all], through the pose and beside it."""
        found, wanted = self.scene.outputs(self.at, outputs), self.scene.columns(names)
        by = found.by_x @ self.derivatives(names) + found.by_p[:, wanted].toarray()
        return found.split(by)

    def gradient(
        self,
        dx: Array | None = None,
        names: Sequence[str] | None = None,
        *,
        outputs: Mapping[str, Array] | None = None,
    ) -> Array:
        """dO/dp (n,) from dO/d(c, psi) (ndof,) and dO/dy by output, by one solution with K^T."""
        wanted = self.scene.columns(names)
        self.refuse(wanted)
        by = np.zeros(len(self.scene.free)) if dx is None else np.array(dx, float)
        if not outputs:
            return self.pull_back(by)[wanted]
        found = self.scene.outputs(self.at, list(outputs))
        weight = np.zeros(len(found.y))
        for name, (rows, shape) in found.place.items():
            weight[rows] = np.broadcast_to(np.asarray(outputs[name], float), shape).ravel()
        return (self.pull_back(by + found.by_x.T @ weight) + found.by_p.T @ weight)[wanted]

    def pull_back(self, dx: Array) -> Array:
        """`gradient` by all parameters (parameters,); of `undefined` ones the part that is held."""
        by = self.forces.follow.T @ dx
        multiplier = self.inverse.solve(by[self.scene.free, None], transposed=True)[:, 0]
        found = -(self.push.T @ multiplier)
        driven, moving = self.scene.driven, self.scene.prescribing
        if moving:
            found[moving] += by[driven] @ self.scene.start_derivative(moving)[driven]
        if self.forces.places is not None:
            found += self.forces.places.T @ dx
        return found

    def refuse(self, wanted: Sequence[int]) -> None:
        """Raise InputError for the first of these parameters that is `undefined`."""
        names = [self.scene.names[c] for c in wanted]
        for name in self.undefined:
            if name in names:
                raise InputError(
                    "statics",
                    "parameters",
                    name,
                    "a parameter that does not push along a free direction of the equilibrium",
                )


def equilibrium(
    scene: Any,
    values: Sequence[float] | Array | None = None,
    *,
    tolerance: float = 1e-10,
    most_steps: int = 1000,
    cancel: Any = None,
) -> Equilibrium:
    """Find where `scene` (_engine.Scene) rests, from its start pose.

    values      (parameters,) [the scene's]
    tolerance   of |r| over the sum of the elements' norms; what follows goes on to rounding
    most_steps  of the search
    cancel      _engine.CancelToken
    Raises InputError (hybrid friction, unusable values) and NotConverged, which names the body that
    is pulled most.
    """
    rest = SceneAtRest(scene, values)
    search = _Search(rest, tolerance, most_steps, cancel)
    search.run()
    for kick in range(MOST_KICKS + 1):
        way = search.downhill()
        if way is None or kick == MOST_KICKS:
            break
        search.kick(way)
        search.run()
    search.polish()
    return Equilibrium(
        rest, search.at, search.forces, search.steps, way is None, rest.norm(search.forces.r)
    )


class _Search:
    """The way from the start to rest: `at` and the `forces` there."""

    def __init__(self, rest: SceneAtRest, tolerance: float, most: int, cancel: Any) -> None:
        self.rest, self.tolerance, self.most, self.cancel = rest, tolerance, most, cancel
        self.at, self.steps = rest.start, 0
        self.forces = rest.evaluate(self.at)
        self.keep = rest.moves
        self.reach = REACH * rest.size
        self.closed = CLOSED * max(rest.size, float(np.max(np.abs(rest.start.position))))

    def parts(self) -> tuple[Any, Any, Array]:
        """(K, M, r) of the free degrees of freedom, without multipliers."""
        f, keep = self.forces, self.keep
        return f.K[keep][:, keep], f.M[keep][:, keep], f.r[keep]

    @property
    def G(self) -> Any:
        """(multipliers, free): slopes of what constrained joints hold."""
        return -self.forces.K[self.rest.held][:, self.keep]

    @property
    def at_rest(self) -> bool:
        """Whether joints are closed and the forces small, or what rounding of the positions makes
        them."""
        place = np.zeros(len(self.keep))
        far = np.abs(self.at.position[: self.rest.bodies])
        place[self.rest.first[:-1, None] + np.arange(3)] = far
        place[self.rest.turns] = 1.0
        joints = self.keep.copy()
        joints[: self.rest.scene.body_ndof] = False
        place[joints] = np.maximum(far.max(initial=0.0) * self.rest.scale[joints], 1.0)
        place[self.rest.held] = np.abs(self.multipliers)
        rounding = 2 * np.finfo(float).eps * self.rest.norm(abs(self.forces.K) @ place)
        least = max(self.tolerance * self.forces.reference, rounding)
        return self.rest.norm(self.forces.r) <= least and self.is_closed(self.forces)

    @property
    def multipliers(self) -> Array:
        """Of constrained joints [N, N m]: the last coordinates."""
        return self.at.coordinates[len(self.at.coordinates) - int(self.rest.held.sum()) :]

    def is_closed(self, forces: Forces) -> bool:
        """Whether constrained joints are, to rounding."""
        return self.rest.gap(forces.r) <= self.closed

    def run(self) -> None:
        """Go on until the forces vanish; NotConverged where they do not."""
        if not self.keep.any():
            return
        _, M, r = self.parts()
        # such that what nothing holds moves by the reach
        mu = float(np.max(np.abs(r) / np.maximum(M.diagonal(), 1e-300))) / self.reach
        while not self.at_rest:
            if self.steps >= self.most or (self.cancel is not None and self.cancel.cancelled):
                self.fail()
            mu = self.step(mu)
            self.steps += 1

    def step(self, mu: float) -> float:
        """One step; the mu of the next one."""
        K, M, _ = self.parts()
        M = M + self.ballast(M)
        symmetric = (K + K.T) / 2
        least = LEAST_SHIFT * stiffest(K, M)
        mu = max(mu, least)
        while True:
            factor = SaddleFactor(symmetric, M, self.G, mu)
            if factor.positive and factor.usable:
                break
            if mu > 1e6 * stiffest(K, M):
                self.fail()
            mu = max(8 * mu, 1e-6 * stiffest(K, M))
        if asymmetry(K) > 1e-6:  # follower forces: Newton's own direction
            own = SaddleFactor(K, M, self.G, mu)
            step = self.solved(own if own.usable else factor)
        else:
            step = self.solved(factor)
        long = self.rest.reach(step) / self.reach
        if long > 1:
            step[self.keep] /= long
        share = self.advance(step, factor)
        moved = np.max(np.abs(self.at.position - self.rest.start.position))
        if moved > FAR * self.rest.size:
            self.fail()
        if share < 0.2:
            return 10 * mu
        if share < 1:
            return mu
        return mu * (0.1 if long <= 1 else 0.5)

    def ballast(self, M: Any) -> Any:
        """What M lacks to be as heavy about all axes of a rotation, nearly: off its rest a slender
        body's turns about its axis and across make K's symmetric part negative, and a light axis
        would ask for a large mu."""
        heavy, mass = np.zeros(len(self.keep)), np.zeros(len(self.keep))
        mass[self.keep] = M.diagonal()
        turns = self.rest.turns
        heavy[turns] = BALLAST * mass[turns].max(axis=1, keepdims=True, initial=0.0)
        return sparse.diags(heavy[self.keep])

    def solved(self, factor: SaddleFactor) -> Array:
        """The step (ndof,) that brings forces and gaps to zero, as far as they are linear."""
        held, step = self.rest.held, np.zeros(len(self.keep))
        step[self.keep], step[held] = factor.solve(-self.forces.r[self.keep], -self.forces.r[held])
        return step

    def reached(self, step: Array, factor: SaddleFactor) -> tuple[Placement, Forces]:
        """Where `step` leads to, joints closed as well as they can be, and the forces there."""
        at = self.rest.moved(self.at, step)
        forces = self.rest.evaluate(at, derivatives=False)
        before = np.inf
        while not self.is_closed(forces) and self.rest.gap(forces.r) < 0.5 * before:
            before = self.rest.gap(forces.r)
            back = np.zeros(len(step))
            back[self.keep] = factor.close(-forces.r[self.rest.held])
            at = self.rest.moved(at, back)
            forces = self.rest.evaluate(at, derivatives=False)
        return at, forces

    def advance(self, step: Array, factor: SaddleFactor) -> float:
        """Go along `step` to where the forces have lost most of their work; the share gone.

        Multipliers become those of the step at once.
        """
        keep, held = self.keep, self.rest.held
        if held.any():
            self.at = self.rest.moved(self.at, np.where(held, step, 0.0))
            self.forces = self.rest.evaluate(self.at, derivatives=False)
            step = np.where(held, 0.0, step)
        start, work = self.rest.norm(self.forces.r), -float(self.forces.r[keep] @ step[keep])
        share, far = 1.0, 0.0
        best: tuple[Placement, float, float] | None = None
        for _ in range(TRIALS):
            trial, forces = self.reached(share * step, factor)
            left = -float(forces.r[keep] @ step[keep]) / work if work > 0 else 0.0
            norm = self.rest.norm(forces.r)
            if not self.is_closed(forces):
                norm = np.nan
            if np.isfinite(norm) and (norm <= 0.5 * start or -0.5 <= left <= 1.5):
                best = trial, share, norm
                break
            if np.isfinite(norm) and (best is None or norm < best[2]):
                best = trial, share, norm
            far = 1 / (1 - left) if np.isfinite(left) and left < 0 else 0.3
            share *= min(max(far, 0.1), 0.7)
        if best is None:
            self.fail()
        self.at = best[0]
        self.forces = self.rest.evaluate(self.at)
        return best[1]

    def polish(self) -> None:
        """Newton's steps until the forces fall no further."""
        if not self.keep.any():
            return
        for _ in range(5):
            K, M, _ = self.parts()
            factor = SaddleFactor(K, M, self.G, LEAST_SHIFT * stiffest(K, M))
            if not factor.usable:
                return
            step = self.solved(factor)
            if not np.all(np.isfinite(step)) or self.rest.reach(step) > self.reach:
                return
            trial, _ = self.reached(step, factor)
            forces = self.rest.evaluate(trial)
            fell = self.rest.norm(forces.r) < 0.5 * self.rest.norm(self.forces.r)
            if not fell or not self.is_closed(forces):
                return
            self.at, self.forces = trial, forces

    def downhill(self) -> Array | None:
        """Direction (ndof,) in which the pose is unstable, of largest reach 1 m, or None."""
        if not self.keep.any():
            return None
        K, M, _ = self.parts()
        K = (K + K.T) / 2
        if SaddleFactor(K, M, self.G, PIVOT_SHIFT * stiffest(K, M)).positive:
            return None
        values, vectors = lowest(K, M, 1, self.G)
        if not len(values) or values[0] >= -PIVOT_SHIFT * stiffest(K, M):
            return None
        way = np.zeros(len(self.keep))
        way[self.keep] = vectors[:, 0]
        return way / self.rest.reach(way)

    def kick(self, way: Array) -> None:
        """Leave along `way`, a little."""
        K, M, _ = self.parts()
        factor = SaddleFactor((K + K.T) / 2, M, self.G, stiffest(K, M))
        self.at, _ = self.reached(0.1 * self.reach * way, factor)
        self.forces = self.rest.evaluate(self.at)

    def fail(self) -> NoReturn:
        """Raise NotConverged: which body is pulled most, by how much, and what may be why."""
        pull = np.abs(self.forces.r * self.rest.scale) * self.keep
        worst = int(np.argmax(np.where(np.isfinite(pull), pull, np.inf)))
        gone = float(np.max(np.abs(self.at.position - self.rest.start.position)))
        why = f"the scene does not come to rest in {self.steps} steps, {gone:.3g} m from its start"
        if self.cancel is not None and self.cancel.cancelled:
            why = f"stopped after {self.steps} steps"
        raise NotConverged(
            f"{why}: {self.rest.owner_of(worst)} is pulled with {pull[worst]:.4g} N "
            f"({self.rest.scene.dof_name(worst)}); what nothing but friction or damping holds has "
            "no equilibrium"
        )
