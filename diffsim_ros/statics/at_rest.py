"""A scene at a pose, without velocities: its forces, stiffness, mass, and their derivatives.

Coordinates are those of the engine: r (ndof,) holds minus the force [N] on every node and minus the
torque [N m] about every frame, world; K = dr/dx, where x moves nodes by vectors and turns frames by
world rotation vectors, dR = [dpsi]_x R.  All is taken at time 0 (loads over time, motors' targets,
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
from diffsim_ros.rotation import quat_exp, quat_multiply

Array = np.ndarray


@dataclass(frozen=True)
class Placement:
    """Where all nodes are: position (nodes, 3) [m], orientation (nodes, 4) (x, y, z, w), world."""

    position: Array
    orientation: Array


@dataclass(frozen=True)
class Forces:
    """What `SceneAtRest.evaluate` finds at a placement.

    r          (ndof,) minus the forces [N], torques [N m]
    reference  sum of the elements' norms, what r is small against [N]
    branches   codes of contact points and the like; equal ones are on one smooth piece
    K, M       stiffness dr/dx and mass, (ndof, ndof), sparse; None without derivatives
    dr_dp      (ndof, parameters), sparse
    """

    r: Array
    reference: float
    branches: tuple[int, ...]
    K: Any = None
    M: Any = None
    dr_dp: Any = None


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
            accepted = "a scene that can be at rest"
            raise InputError("statics", "scene", str(error), accepted) from None

    @cached_property
    def start(self) -> Placement:
        """Where motions of the scene start."""
        position, orientation, _ = self.scene.start_pose(self.values, [])
        return Placement(position, orientation)

    @cached_property
    def free(self) -> Array:
        """(ndof,) bool: degrees of freedom that no kinematic body prescribes."""
        return ~np.array(self.scene.driven_dofs, bool)

    @cached_property
    def first(self) -> Array:
        """(nodes + 1,): first degree of freedom of every node, then ndof."""
        return np.array(self.scene.node_dofs)

    @cached_property
    def frames(self) -> Array:
        """Nodes with a rotation: those of rigid and kinematic bodies."""
        return np.flatnonzero(np.diff(self.first) == 6)

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
            if not self.free[self.first[self.scene.nodes_of(name)[0]]]
        }
        return [i for i, name in enumerate(self.names) if name.split(".")[0] in driven]

    @cached_property
    def size(self) -> float:
        """Extent [m] of the smallest body with one, else of the scene, else 0.1."""
        turns = self.first[self.frames] + 3
        found = list(1 / self.scale[turns][self.free[turns]])
        for name in self.scene.body_names:
            first, count = self.scene.nodes_of(name)
            extent = np.ptp(self.start.position[first : first + count], axis=0)
            found.append(float(np.linalg.norm(extent)))
        whole = float(np.linalg.norm(np.ptp(self.start.position, axis=0)))
        return min((f for f in found if f > 0), default=whole or 0.1)

    def evaluate(self, at: Placement, *, derivatives: bool = True) -> Forces:
        """Forces at a placement; with derivatives K, M and dr_dp."""
        found = self.scene.evaluate_at_rest(self.values, at.position, at.orientation, derivatives)
        plain = found["r"], found["reference"], tuple(found["modes"])
        if not derivatives:
            return Forces(*plain)
        count = self.scene.ndof
        K, M = (_matrix(found[key], (count, count)) for key in "KM")
        return Forces(*plain, K, M, _matrix(found["dr_dp"], (count, len(self.names))))

    def moved(self, at: Placement, step: Array) -> Placement:
        """The placement that `step` (ndof,) leads to: displacements [m], rotation vectors [rad]."""
        first = self.first[:-1, None] + np.arange(3)
        orientation = at.orientation.copy()
        turn = quat_exp(step[first[self.frames] + 3])
        turned = quat_multiply(turn, at.orientation[self.frames])
        orientation[self.frames] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        return Placement(at.position + step[first], orientation)

    def reach(self, step: Array) -> float:
        """Largest displacement [m] in `step`, rotations at the bodies' radii."""
        return float(np.max(np.abs(step) / self.scale, initial=0.0))

    def norm(self, r: Array) -> float:
        """Norm [N] of what free nodes feel."""
        return float(np.linalg.norm((r * self.scale)[self.free]))

    def start_derivative(self, parameters: Sequence[int]) -> Array:
        """(ndof, n): how the start moves with parameters."""
        return self.scene.start_pose(self.values, list(parameters))[2]

    def momentum_derivatives(self, at: Placement, rate: Array) -> tuple[Any, Any]:
        """d(M rate)/dx (ndof, ndof) and d(M rate)/dp (ndof, parameters), sparse, at fixed rate."""
        K, dp = self.scene.momentum_derivatives(self.values, at.position, at.orientation, rate)
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

    def body_of(self, dof: int) -> str:
        """Name of the body, and node, that a degree of freedom is of."""
        return self.scene.dof_name(int(dof)).split(".")[0]


def _matrix(triplets: tuple[Array, Array, Array], shape: tuple[int, int]) -> Any:
    """Sparse matrix of (row, column, value); entries of one place add up."""
    row, column, value = (np.asarray(part) for part in triplets)
    if not len(row):
        return sparse.csc_matrix(shape)
    return sparse.coo_matrix((value, (row, column)), shape=shape).tocsc()
