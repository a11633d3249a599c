"""A scene at a pose, without velocities: its forces, stiffness, mass, and their derivatives.

Coordinates are those of the engine: r (ndof,) holds minus the force [N] on every node and minus the
torque [N m] about every frame, world; K = dr/dx, where x moves nodes by vectors and turns frames by
world rotation vectors, dR = [dpsi]_x R.  Joints in reduced coordinates have degrees of freedom of
their own, and the bodies that they carry none: those follow.  Constrained joints have multipliers,
whose rows of r are -g, what the joints are open [m, rad]: all in one, r is the slope of

    L(x, lambda) = potential energy - lambda . g(x)

All is taken at time 0 (loads over time, motors' targets,
kinematic bodies).  What only acts on moving things does not act: dampers, drag, friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from diffsim_ros.errors import InputError, nearest

Array = np.ndarray


@dataclass(frozen=True)
class Placement:
    """Where all nodes are: position (nodes, 3) [m], orientation (nodes, 4) (x, y, z, w), world,
    those of bodies first; coordinates (n,) of joints, and multipliers [N, N m]."""

    position: Array
    orientation: Array
    coordinates: Array


@dataclass(frozen=True)
class Forces:
    """What `SceneAtRest.evaluate` finds at a placement.

    r          (ndof,) minus the forces [N], torques [N m]
    reference  sum of the elements' norms, what r is small against [N]
    branches   codes of contact points and the like; equal ones are on one smooth piece
    K, M       stiffness dr/dx and mass, (ndof, ndof), sparse; None without derivatives
    dr_dp      (ndof, parameters), sparse
    mass       (ndof, ndof), sparse: of all nodes; M = follow^T mass follow
    follow     (ndof, ndof), sparse: how all nodes move with the degrees of freedom
    places     (ndof, parameters), sparse: how they move with places of joints besides
    """

    r: Array
    reference: float
    branches: tuple[int, ...]
    K: Any = None
    M: Any = None
    dr_dp: Any = None
    mass: Any = None
    follow: Any = None
    places: Any = None


@dataclass(frozen=True)
class RestOutputs:
    """Outputs at a placement, stacked.

    y      (rows,)
    by_x   (rows, ndof), by_p (rows, parameters), sparse; by_x: all nodes and multipliers
    place  name -> its rows and its shape
    """

    y: Array
    by_x: Any
    by_p: Any
    place: dict[str, tuple[slice, tuple[int, ...]]]

    def split(self, stacked: Array) -> dict[str, Array]:
        """Per output what is stacked along the first axis: (*shape, ...)."""
        return {
            name: stacked[rows].reshape(*shape, *stacked.shape[1:])
            for name, (rows, shape) in self.place.items()
        }


class SceneAtRest:
    """An engine scene and its parameter vector, evaluated at placements.

    scene   _engine.Scene
    values  (parameters,), default the scene's
    Raises InputError for values that the engine refuses, and for hybrid friction, which holds what
    is at rest by constraints that have no stiffness.
    """

    def __init__(self, scene: Any, values: Sequence[float] | Array | None = None) -> None:
        self.scene = scene
        self.values = np.array(scene.values if values is None else values, float)
        self.names = [info.name for info in scene.parameters]
        if self.values.shape != (len(self.names),):
            accepted = f"({len(self.names)},), a number for each parameter of the scene"
            raise InputError("statics", "values", f"shape {self.values.shape}", accepted)
        try:
            self.evaluate(self.start, derivatives=False)
        except ValueError as error:
            accepted = "one that can be at rest"
            raise InputError("statics", "scene", "this one", accepted, str(error)) from None

    @cached_property
    def start(self) -> Placement:
        """Where motions of the scene start, constrained joints closed."""
        return Placement(*self.scene.rest_start(self.values))

    @cached_property
    def driven(self) -> Array:
        """(ndof,) bool: degrees of freedom that kinematic bodies prescribe."""
        return np.array(self.scene.driven_dofs, bool)

    @cached_property
    def held(self) -> Array:
        """(ndof,) bool: multipliers of constrained joints."""
        return np.array(self.scene.multiplier_dofs, bool)

    @cached_property
    def free(self) -> Array:
        """(ndof,) bool: what is solved for, degrees of freedom that nothing prescribes and
        multipliers."""
        return ~(self.driven | np.array(self.scene.dependent_dofs, bool))

    @cached_property
    def moves(self) -> Array:
        """(ndof,) bool: `free` without multipliers."""
        return self.free & ~self.held

    @cached_property
    def first(self) -> Array:
        """(bodies' nodes + 1,): first degree of freedom of each, then the first behind them."""
        return np.array(self.scene.node_dofs)[: self.bodies + 1]

    @cached_property
    def bodies(self) -> int:
        """Number of bodies' nodes, which come first."""
        return max(sum(self.scene.nodes_of(name)) for name in self.scene.body_names)

    @cached_property
    def frames(self) -> Array:
        """Nodes with a rotation: those of rigid and kinematic bodies."""
        return np.flatnonzero(np.diff(self.first) == 6)

    @cached_property
    def turns(self) -> Array:
        """(rotations, 3): degrees of freedom of all rotations."""
        return np.array(self.scene.turn_dofs, int)[:, None] + np.arange(3)

    @cached_property
    def scale(self) -> Array:
        """(ndof,): torques times this are comparable with forces, 1/(body radius) [1/m]."""
        return np.array(self.scene.residual_scale)

    @cached_property
    def prescribing(self) -> list[int]:
        """Parameters of kinematic bodies, which prescribe where these are."""
        driven = {
            name
            for name in self.scene.body_names
            if self.driven[self.first[self.scene.nodes_of(name)[0]]]
        }
        return [i for i, name in enumerate(self.names) if name.split(".")[0] in driven]

    @cached_property
    def size(self) -> float:
        """Extent [m] of the smallest body with one, else of the scene, else 0.1."""
        turns = self.first[self.frames] + 3
        found = list(1 / self.scale[turns][~self.driven[turns]])
        for name in self.scene.body_names:
            first, count = self.scene.nodes_of(name)
            extent = np.ptp(self.start.position[first : first + count], axis=0)
            found.append(float(np.linalg.norm(extent)))
        whole = float(np.linalg.norm(np.ptp(self.start.position[: self.bodies], axis=0)))
        return min((f for f in found if f > 0), default=whole or 0.1)

    def evaluate(self, at: Placement, *, derivatives: bool = True) -> Forces:
        """Forces at a placement; with derivatives K, M and dr_dp."""
        found = self.scene.evaluate_at_rest(
            self.values, at.position, at.orientation, derivatives, at.coordinates
        )
        plain = found["r"], found["reference"], tuple(found["modes"])
        if not derivatives:
            return Forces(*plain)
        count, by_p = self.scene.ndof, (self.scene.ndof, len(self.names))
        K, M = (_matrix(found[key], (count, count)) for key in "KM")
        dr_dp = _matrix(found["dr_dp"], by_p)
        if "follow" not in found:
            return Forces(*plain, K, M, dr_dp, M, sparse.identity(count, format="csc"))
        follow = _matrix(found["follow"], (count, count))
        places = _matrix(found["places_x"], by_p)
        dr_dp = follow.T @ dr_dp + _matrix(found["places_r"], by_p)
        whole = (follow.T @ M @ follow).tocsc()
        return Forces(*plain, K, whole, dr_dp.tocsc(), M, follow, places)

    def moved(self, at: Placement, step: Array) -> Placement:
        """The placement that `step` (ndof,) leads to: displacements [m], rotation vectors [rad],
        what coordinates and multipliers grow by."""
        found = self.scene.rest_moved(
            self.values, at.position, at.orientation, at.coordinates, step
        )
        return Placement(*found)

    def shown(self, *places: Placement) -> tuple[Array, Array]:
        """(position (k, nodes, 3), orientation (k, nodes, 4)) of bodies at k placements."""
        position = np.stack([at.position[: self.bodies] for at in places])
        return position, np.stack([at.orientation[: self.bodies] for at in places])

    def outputs(self, at: Placement, names: Sequence[str]) -> RestOutputs:
        """Outputs at a placement; InputError for one that the scene has not."""
        known = [o.name for o in (*self.scene.outputs, *self.scene.motion_outputs)]
        for name in names:
            if name not in known:
                hint = nearest(name, known)
                raise InputError("statics", "outputs", name, "an output of the scene", hint)
        where = at.position, at.orientation, at.coordinates
        found = self.scene.outputs_at_rest(self.values, list(dict.fromkeys(names)), *where)
        place = {}
        for name, (first, size, items, width) in found["rows"].items():
            shape = ((items,) if items else ()) + ((width,) if width > 1 else ())
            place[name] = slice(first, first + size), shape
        rows = len(found["y"])
        by_x = _matrix(found["dy_dx"], (rows, self.scene.ndof))
        by_p = _matrix(found["dy_dp"], (rows, len(self.names)))
        return RestOutputs(found["y"], by_x, by_p, place)

    def reach(self, step: Array) -> float:
        """Largest displacement [m] in `step`, rotations at the bodies' radii."""
        return float(np.max((np.abs(step) / self.scale)[self.moves], initial=0.0))

    def norm(self, r: Array) -> float:
        """Norm [N] of what free nodes feel."""
        return float(np.linalg.norm((r * self.scale)[self.moves]))

    def gap(self, r: Array) -> float:
        """Most that a constrained joint is open [m, rad]."""
        return float(np.max(np.abs(r[self.held]), initial=0.0))

    def start_derivative(self, parameters: Sequence[int]) -> Array:
        """(ndof, n): how the start moves with parameters."""
        return self.scene.start_pose(self.values, list(parameters))[2]

    def inertia_slopes(self, at: Placement, rate: Array) -> tuple[Array, Array]:
        """Derivatives of rate^T M rate by x (ndof,) and by p (parameters,), at fixed rate."""
        where = self.values, at.position, at.orientation
        if not self.reduced:
            K, dp = self._momentum(at, rate)
            return K.T @ rate, dp.T @ rate
        # M is follow^T (mass of all nodes) follow, and follow turns with the pose.
        found = self.scene.evaluate_at_rest(*where, True, at.coordinates)
        count = self.scene.ndof
        speed = _matrix(found["follow"], (count, count)) @ rate
        K, dp = self._momentum(at, rate)
        momentum = _matrix(found["M"], (count, count)) @ speed
        by_x, by_p = self.scene.pull_at_rest(
            *where, rate, K.T @ speed, 2 * momentum, at.coordinates
        )
        return by_x, by_p + dp.T @ speed

    @cached_property
    def reduced(self) -> bool:
        """Whether some joints are in reduced coordinates."""
        return bool(np.any(self.scene.dependent_dofs))

    def _momentum(self, at: Placement, rate: Array) -> tuple[Any, Any]:
        """d(momentum)/dx (ndof, ndof), /dp (ndof, parameters) of all nodes, sparse."""
        K, dp = self.scene.momentum_derivatives(
            self.values, at.position, at.orientation, rate, at.coordinates
        )
        count = self.scene.ndof
        return _matrix(K, (count, count)), _matrix(dp, (count, len(self.names)))

    def columns(self, names: Sequence[str] | None) -> list[int]:
        """Numbers of parameters by name [all]; InputError names an unknown one."""
        if names is None:
            return list(range(len(self.names)))
        for name in names:
            if name not in self.names:
                hint = nearest(name, self.names)
                raise InputError("statics", "parameters", name, "a parameter of the scene", hint)
        return [self.names.index(name) for name in names]

    def owner_of(self, dof: int) -> str:
        """The body, and node, or joint that a degree of freedom is of, such as "body 'cube'"."""
        kind = "body" if dof < self.scene.body_ndof else "joint"
        return f"{kind} {self.scene.dof_name(int(dof)).split('.')[0]!r}"


def _matrix(triplets: tuple[Array, Array, Array], shape: tuple[int, int]) -> Any:
    """Sparse matrix of (row, column, value); entries of one place add up."""
    row, column, value = (np.asarray(part) for part in triplets)
    if not len(row):
        return sparse.csc_matrix(shape)
    return sparse.coo_matrix((value, (row, column)), shape=shape).tocsc()
