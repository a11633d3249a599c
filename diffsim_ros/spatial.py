"""Spatial algebra in six dimensions, and the conventions of other engines.

Motions are (omega, v), forces (n, f), angular part first, in the axes and about the origin of one
frame; transforms are kept as (E, r) [Featherstone 2008].  What is compiled (`native/spatial`):

    Plx(E, r), Plxb(E, r)                  transforms, left- and right-associative [S]; their action
    RigidInertia, ArticulatedInertia       motions -> forces
    crossm, crossf, inertia_rate, dyad_*   products
    ..._adjoint                            reverse-mode derivatives of all of them [Qa App. G]

Below are conversions from and to other engines; they broadcast over leading axes and raise
InputError for wrong shapes, for what is not finite and for an R that is no rotation.  R (..., 3, 3)
and p (..., 3) are the pose of a body in the world, x_world = R x_body + p.  "Here" means (omega, v)
or (n, f) of the body's frame, in its axes and about its origin.
docs/explanation/spatial_algebra.md compares the conventions.
"""

from __future__ import annotations

import numpy as np

from diffsim_ros._engine import spatial as _compiled
from diffsim_ros.errors import InputError

Plx = _compiled.Plx
Plxb = _compiled.Plxb
RigidInertia = _compiled.RigidInertia
ArticulatedInertia = _compiled.ArticulatedInertia
crossm = _compiled.crossm
crossf = _compiled.crossf
crossm_matrix = _compiled.crossm_matrix
crossf_matrix = _compiled.crossf_matrix
crossm_adjoint = _compiled.crossm_adjoint
crossf_adjoint = _compiled.crossf_adjoint
inertia_rate = _compiled.inertia_rate
dyad_multiply = _compiled.dyad_multiply
dyad_multiply_adjoint = _compiled.dyad_multiply_adjoint
dyad_multiply_transpose = _compiled.dyad_multiply_transpose
dyad_multiply_transpose_adjoint = _compiled.dyad_multiply_transpose_adjoint
dyad_outer = _compiled.dyad_outer
dyad_outer_adjoint = _compiled.dyad_outer_adjoint
dyad_shift = _compiled.dyad_shift
dyad_shift_adjoint = _compiled.dyad_shift_adjoint
product_adjoint = _compiled.product_adjoint
congruence_adjoint = _compiled.congruence_adjoint
matrix_inverse_adjoint = _compiled.matrix_inverse_adjoint
triple_product_adjoint = _compiled.triple_product_adjoint
cross_adjoint = _compiled.cross_adjoint
norm_adjoint = _compiled.norm_adjoint
skew_adjoint = _compiled.skew_adjoint
quat_multiply_adjoint = _compiled.quat_multiply_adjoint
quat_times_vector = _compiled.quat_times_vector
quat_times_vector_adjoint = _compiled.quat_times_vector_adjoint


# --- order of the halves -----------------------------------------------------------------------


def from_linear_first(x: np.ndarray) -> np.ndarray:
    """(omega, v) of (v, omega), (n, f) of (f, n): (..., 6).

    Pinocchio's Motion and Force, ROS's Twist and Wrench, MuJoCo's xfrc_applied.
    """
    x = _shaped("from_linear_first", "x", x, 6)
    return np.concatenate([x[..., 3:], x[..., :3]], axis=-1)


def to_linear_first(x: np.ndarray) -> np.ndarray:
    """(v, omega) of (omega, v), (f, n) of (n, f): (..., 6)."""
    return from_linear_first(x)


def swap_blocks(matrix: np.ndarray) -> np.ndarray:
    """A (..., 6, 6) matrix on vectors of one order as that on vectors of the other order."""
    matrix = np.asarray(matrix, float)
    if matrix.shape[-2:] != (6, 6):
        raise InputError("swap_blocks", "matrix", matrix.shape, "shape (..., 6, 6)")
    return np.roll(matrix, (3, 3), axis=(-2, -1))


# --- axes and points ---------------------------------------------------------------------------


def from_world_axes(
    x: np.ndarray, R: np.ndarray, offset: np.ndarray | None = None, *, force: bool = False
) -> np.ndarray:
    """A motion (omega, v) or, with `force`, a force (n, f), told in world axes -> here, (..., 6).

    offset  (..., 3) the body's origin less the point that v or n is about, world axes [m];
            without it that point is the body's origin, as in Drake and in Pinocchio's
            LOCAL_WORLD_ALIGNED.  With `p` it is the world's origin: Pinocchio's WORLD.
    """
    first, second = _halves("from_world_axes", x)
    R = _rotation("from_world_axes", R)
    if offset is not None:
        offset = _shaped("from_world_axes", "offset", offset, 3)
        if force:
            first = first - np.cross(offset, second)
        else:
            second = second - np.cross(offset, first)
    return np.concatenate([_back(R, first), _back(R, second)], axis=-1)


def to_world_axes(
    x: np.ndarray, R: np.ndarray, offset: np.ndarray | None = None, *, force: bool = False
) -> np.ndarray:
    """The inverse of `from_world_axes`."""
    first, second = _halves("to_world_axes", x)
    R = _rotation("to_world_axes", R)
    first, second = _turn(R, first), _turn(R, second)
    if offset is not None:
        offset = _shaped("to_world_axes", "offset", offset, 3)
        if force:
            first = first + np.cross(offset, second)
        else:
            second = second + np.cross(offset, first)
    return np.concatenate([first, second], axis=-1)


# --- MuJoCo ------------------------------------------------------------------------------------


def from_mujoco_free(qvel: np.ndarray, R: np.ndarray) -> np.ndarray:
    """The six qvel of a free joint, v in world axes and then omega in the body's, -> here."""
    linear, angular = _halves("from_mujoco_free", qvel)
    return np.concatenate([angular, _back(_rotation("from_mujoco_free", R), linear)], axis=-1)


def to_mujoco_free(motion: np.ndarray, R: np.ndarray) -> np.ndarray:
    """The six qvel of a free joint that has this motion."""
    angular, linear = _halves("to_mujoco_free", motion)
    R = _rotation("to_mujoco_free", R)
    return np.concatenate([_turn(R, linear), angular], axis=-1)


def from_mujoco_com(
    x: np.ndarray, R: np.ndarray, p: np.ndarray, center: np.ndarray, *, force: bool = False
) -> np.ndarray:
    """cvel, cdof, cacc (motions) or, with `force`, cfrc_ext, cfrc_int of a body -> here.

    R, p    xmat and xpos of the body whose frame is wanted
    center  (..., 3) subtree_com of the root of its tree: `data.subtree_com[model.body_rootid[i]]`
    """
    offset = _shaped("from_mujoco_com", "p", p, 3) - _shaped("from_mujoco_com", "center", center, 3)
    return from_world_axes(x, R, offset, force=force)


def to_mujoco_com(
    x: np.ndarray, R: np.ndarray, p: np.ndarray, center: np.ndarray, *, force: bool = False
) -> np.ndarray:
    """The inverse of `from_mujoco_com`."""
    offset = _shaped("to_mujoco_com", "p", p, 3) - _shaped("to_mujoco_com", "center", center, 3)
    return to_world_axes(x, R, offset, force=force)


def from_mujoco_cinert(cinert: np.ndarray) -> np.ndarray:
    """Parameters (..., 10) of `RigidInertia` of a row of cinert: world axes, about subtree_com."""
    cinert = _shaped("from_mujoco_cinert", "cinert", cinert, 10)
    return np.concatenate([cinert[..., 9:], cinert[..., 6:9], cinert[..., :6]], axis=-1)


# --- quaternions -------------------------------------------------------------------------------


def from_scalar_first(q: np.ndarray) -> np.ndarray:
    """(x, y, z, w) of (w, x, y, z), (..., 4): MuJoCo, Drake and brax have the scalar first."""
    return np.roll(_shaped("from_scalar_first", "q", q, 4), -1, axis=-1)


def to_scalar_first(q: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of (x, y, z, w), (..., 4)."""
    return np.roll(_shaped("to_scalar_first", "q", q, 4), 1, axis=-1)


# --- checks ------------------------------------------------------------------------------------


def _shaped(place: str, key: str, value: np.ndarray, size: int) -> np.ndarray:
    value = np.asarray(value, float)
    if value.shape[-1:] != (size,):
        raise InputError(place, key, value.shape, f"shape (..., {size})")
    if not np.isfinite(value).all():
        raise InputError(place, key, value.tolist(), "finite numbers")
    return value


def _halves(place: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x = _shaped(place, "x", x, 6)
    return x[..., :3], x[..., 3:]


def _rotation(place: str, R: np.ndarray) -> np.ndarray:
    R = np.asarray(R, float)
    if R.shape[-2:] != (3, 3):
        raise InputError(place, "R", R.shape, "shape (..., 3, 3)")
    error = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0)
    if not error < 1e-9 or not (np.linalg.det(R) > 0).all():
        remedy = "scipy's Rotation.from_matrix gives the nearest one"
        accepted = "rotations: R R^T = 1 within 1e-9, det R = 1"
        raise InputError(place, "R", R.tolist(), accepted, remedy)
    return R


def _turn(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """R x."""
    return np.einsum("...ij,...j->...i", R, x)


def _back(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """R^T x."""
    return np.einsum("...ji,...j->...i", R, x)
