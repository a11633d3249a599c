"""Pose of a tracker or a camera relative to a robot's base: a static transform from touched points.

x_parent = R x_child + p, for example from the tracker's world (child) to the robot's base (parent).
Three kinds of pairs, each solved by a closed form and then Gauss-Newton on all unknowns:

touched points    the same places in both frames                       R c_i + p = a_i
flange, marker    the flange in the parent, one marker on it in the child; its place x on the
                  flange is found too                                  R c_i + p = A_i x + a_i
flange, body      as before, with a tracked body's whole poses (hand-eye): its pose on the flange
                  (X, x) is found too                     R Q_i = A_i X,  R q_i + p = A_i x + a_i
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..rotation import left_jacobian_inverse, quat_exp, quat_log, quat_matrix, skew
from ..sensing.frames import Transform
from ..sensing.observation import SIGMA
from .sensors.marker.attach import rigid_fit

ACROSS = 0.02
"""Least spread of points across their line, over that along it."""
SPREAD = 5e-3
"""And least spread at all [m]."""
TURNED = np.radians(10.0)
"""Least turn of the flange about a second axis [rad]."""
SCALE = 1.05
"""Accepted ratio of the points' spreads in the two frames."""
MAX_RESIDUAL = 0.01
"""Rms residual [m] beyond which a calibration is refused by default."""
ITERATIONS, STILL, ROUNDS = 50, 1e-11, 3
Pairs = tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]
LEAST = 1e-9
"""Noise [m, rad] below which exact data are not weighed."""


@dataclass(frozen=True)
class Calibration:
    """A transform with its residual, and the other unknowns.

    residuals       of every pair: distance [m] (n,);  turns: angle [rad] of poses (n,), else None
    offset          place of the marker on the flange [m] (3,), None of touched points
    offset_turn     of a body on the flange, quaternion x, y, z, w, else None
    """

    transform: Transform
    residuals: np.ndarray
    turns: np.ndarray | None = None
    offset: np.ndarray | None = None
    offset_turn: np.ndarray | None = None

    @property
    def residual(self) -> float:
        """Rms distance [m]."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    def document(self) -> dict:
        """What the file has besides the transform."""
        found: dict[str, Any] = {"pairs": len(self.residuals), "residuals_m": self.residuals}
        if self.turns is not None:
            found["residuals_deg"] = np.degrees(self.turns)
        if self.offset is not None:
            found["marker_on_flange_m"] = self.offset
        if self.offset_turn is not None:
            found["marker_on_flange_orientation"] = self.offset_turn
        return found


@dataclass
class _State:
    """Unknowns: R, p, and where it is asked x and X."""

    R: np.ndarray
    p: np.ndarray
    x: np.ndarray | None = None
    X: np.ndarray | None = None

    def moved(self, step: np.ndarray) -> _State:
        """The state turned and shifted by a step (6, 9 or 12)."""
        x = None if self.x is None else self.x + step[6:9]
        X = None if self.X is None else _turn(step[9:12]) @ self.X
        return _State(_turn(step[:3]) @ self.R, self.p + step[3:6], x, X)


def from_points(
    parent: str, child: str, parent_points: ArrayLike, child_points: ArrayLike, *,
    max_residual: float = MAX_RESIDUAL,
) -> Calibration:  # fmt: skip
    """From the same places touched in both frames [m] (n, 3), n >= 3.

    Raises InputError by name for too few points, points on a line, another unit of length in one
    frame, and residuals above `max_residual` [m] (with the worst pair).
    """
    a, c = _points("parent_points", parent_points, 3), _points("child_points", child_points, 3)
    _same_count("parent_points", a, c)
    _spread("parent_points", a)
    _spread("child_points", c)
    ratio = np.linalg.norm(c - c.mean(axis=0)) / np.linalg.norm(a - a.mean(axis=0))
    if not 1 / SCALE < ratio < SCALE:
        rule = f"points about as far apart as parent_points (ratio within {SCALE:g})"
        remedy = "are they in millimetres, or in another order?"
        raise InputError("calibrate", "child_points", f"{ratio:.4g} times", rule, remedy)
    R, p = rigid_fit(c, a)
    return _solved(parent, child, _State(R, p), (a, c, None, None), max_residual)


def from_flange(
    parent: str, child: str, flange: ArrayLike, child_points: ArrayLike, *,
    max_residual: float = MAX_RESIDUAL,
) -> Calibration:  # fmt: skip
    """From poses of the flange in the parent (n, 7) and one marker on it in the child [m] (n, 3).

    Its place on the flange need not be known; n >= 4, and the flange must turn about two axes.
    Raises InputError by name, as from_points.
    """
    A, a = _poses("flange_poses", flange, 4)
    c = _points("child_points", child_points, 4)
    _same_count("flange_poses", a, c)
    _turns("flange_poses", A)
    _spread("child_points", c)
    R, _ = rigid_fit(c, a)
    if len(c) >= 5:  # linear in the nine numbers of R, p and x
        rows = np.concatenate([np.kron(np.eye(3), c[:, None, :]).reshape(-1, 3, 9),
                               np.tile(np.eye(3), (len(c), 1, 1)), -A], axis=2)  # fmt: skip
        solution = np.linalg.lstsq(rows.reshape(-1, 15), a.ravel(), rcond=None)[0]
        R = _nearest_rotation(solution[:9].reshape(3, 3))
    return _solved(parent, child, _State(R, *_places(R, A, a, c)), (a, c, A, None), max_residual)


def from_bodies(
    parent: str, child: str, flange: ArrayLike, bodies: ArrayLike, *,
    max_residual: float = MAX_RESIDUAL,
) -> Calibration:  # fmt: skip
    """From poses of the flange in the parent and of a body on it in the child (n, 7), n >= 3.

    Raises InputError by name, as from_points.
    """
    A, a = _poses("flange_poses", flange, 3)
    Q, q = _poses("child_poses", bodies, 3)
    _same_count("flange_poses", a, q)
    _turns("flange_poses", A)
    _turns("child_poses", Q)
    eye = np.eye(3)
    rows = [np.concatenate([np.kron(eye, Qi.T), -np.kron(Ai, eye)], axis=1)
            for Ai, Qi in zip(A, Q, strict=True)]  # fmt: skip
    null = np.linalg.svd(np.concatenate(rows))[2][-1]
    R, X = null[:9].reshape(3, 3), null[9:].reshape(3, 3)
    sign = np.sign(np.linalg.det(R))
    R, X = _nearest_rotation(sign * R), _nearest_rotation(sign * X)
    state = _State(R, *_places(R, A, a, q), X)
    return _solved(parent, child, state, (a, q, A, Q), max_residual)


# ---------------------------------------------------------------------------- solving


def _solved(
    parent: str, child: str, state: _State, data: Pairs, max_residual: float
) -> Calibration:
    """Gauss-Newton from a start; the covariance is that of its normal equations.

    Whole poses are solved again with the noise of places and turns that the first residuals show.
    """
    n, sigma = len(data[0]), (float(SIGMA[0]), float(SIGMA[1]))
    for _ in range(1 if state.X is None else ROUNDS):
        state, r, J = _gauss_newton(state, data, sigma)
        distance = sigma[0] * np.linalg.norm(r[: 3 * n].reshape(n, 3), axis=1)
        turns = sigma[1] * np.linalg.norm(r[3 * n :].reshape(-1, 3), axis=1)
        rest = max(3 * n - 6, 1)
        first, second = (max(float(np.sqrt(v @ v / rest)), LEAST) for v in (distance, turns))
        sigma = first, second
    rms, worst = float(np.sqrt(np.mean(distance**2))), int(np.argmax(distance))
    if not rms <= max_residual:
        got = f"rms {rms:.4g} m, pair {worst} {distance[worst]:.4g} m"
        remedy = "is a pair swapped, or did something move?"
        raise InputError("calibrate", "residual", got, f"at most {max_residual:g} m", remedy)
    free = len(r) - J.shape[1]
    covariance = None
    if free > 0:
        whole = np.linalg.inv(J.T @ J) * (r @ r) / free
        order = [3, 4, 5, 0, 1, 2]  # position first
        covariance = whole[np.ix_(order, order)]
    transform = Transform(
        parent, child, state.p, _quaternion(state.R), "calibration", covariance, rms
    )
    if state.X is None:
        return Calibration(transform, distance, None, state.x)
    return Calibration(transform, distance, turns, state.x, _quaternion(state.X))


def _gauss_newton(
    state: _State, data: Pairs, sigma: tuple[float, float]
) -> tuple[_State, np.ndarray, np.ndarray]:
    """The solution, residuals and derivatives there."""
    for _ in range(ITERATIONS):
        r, J = _equations(state, sigma, *data)
        step = np.linalg.lstsq(J, -r, rcond=None)[0]
        state = state.moved(step)
        if np.abs(step).max() < STILL:
            break
    return state, *_equations(state, sigma, *data)


def _equations(
    state: _State, sigma: tuple[float, float], a: np.ndarray, c: np.ndarray, A: Any, Q: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Residuals in standard deviations sigma (m, rad), and their derivatives by the unknowns."""
    n, turned = len(a), c @ state.R.T
    r = turned + state.p - a
    blocks = [-skew(turned), np.tile(np.eye(3), (n, 1, 1))]
    if state.x is not None:
        r = r - A @ state.x
        blocks.append(-A)
    if state.X is not None:
        blocks.append(np.zeros((n, 3, 3)))
    J = np.concatenate(blocks, axis=2).reshape(3 * n, -1) / sigma[0]
    r = r.ravel() / sigma[0]
    if state.X is None:
        return r, J
    e = _vector(state.R @ Q @ state.X.T @ A.transpose(0, 2, 1))
    left = left_jacobian_inverse(e)
    none = np.zeros((n, 3, 6))
    more = np.concatenate([left, none, -left.transpose(0, 2, 1) @ A], axis=2)
    return (
        np.concatenate([r, e.ravel() / sigma[1]]),
        np.concatenate([J, more.reshape(3 * n, -1) / sigma[1]]),
    )


def _places(
    R: np.ndarray, A: np.ndarray, a: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """p and x (3,) with least |R c_i + p - A_i x - a_i|, R held."""
    rows = np.concatenate([np.tile(np.eye(3), (len(a), 1, 1)), -A], axis=2).reshape(-1, 6)
    found = np.linalg.lstsq(rows, (a - c @ R.T).ravel(), rcond=None)[0]
    return found[:3], found[3:]


def _nearest_rotation(matrix: np.ndarray) -> np.ndarray:
    left, _, right = np.linalg.svd(matrix)
    return left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right


def _turn(vector: np.ndarray) -> np.ndarray:
    return quat_matrix(quat_exp(vector))


def _quaternion(R: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(R).as_quat()


def _vector(R: np.ndarray) -> np.ndarray:
    """Rotation vectors (..., 3) of matrices (..., 3, 3)."""
    return quat_log(_quaternion(R))


# ---------------------------------------------------------------------------- what is refused


def _points(key: str, values: ArrayLike, least: int) -> np.ndarray:
    points = np.asarray(values, float).reshape(-1, 3)
    _finite(key, points, least)
    return points


def _poses(key: str, values: ArrayLike, least: int) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (n, 3, 3) and places (n, 3) of poses (n, 7): position, quaternion x, y, z, w."""
    poses = np.asarray(values, float).reshape(-1, 7)
    _finite(key, poses, least)
    norm = np.linalg.norm(poses[:, 3:], axis=1)
    bad = np.flatnonzero(np.abs(norm - 1.0) > 1e-3)
    if len(bad):
        rule = "a unit quaternion x, y, z, w"
        raise InputError("calibrate", f"{key}[{bad[0]}]", f"norm {norm[bad[0]]:.4g}", rule)
    return quat_matrix(poses[:, 3:] / norm[:, None]), poses[:, :3]


def _finite(key: str, values: np.ndarray, least: int) -> None:
    if len(values) < least:
        raise InputError("calibrate", key, len(values), f"at least {least}")
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise InputError("calibrate", f"{key}[{bad[0]}]", values[bad[0]].tolist(), "finite numbers")


def _same_count(key: str, first: np.ndarray, second: np.ndarray) -> None:
    if len(first) != len(second):
        rule = f"as many as {key}, {len(first)}: one of each pair"
        raise InputError("calibrate", "child's side", len(second), rule)


def _spread(key: str, points: np.ndarray) -> None:
    """Refuse points on a line: the turn about it is not determined."""
    along, across = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[:2]
    along, across = (value / np.sqrt(len(points)) for value in (along, across))
    if across < max(ACROSS * along, SPREAD):
        got = f"{across:.3g} m across a line, {along:.3g} m along it (rms)"
        least = max(ACROSS * along, SPREAD)
        raise InputError("calibrate", key, got, f"at least {least:.3g} m across",
                         "touch points that are not on a line")  # fmt: skip


def _turns(key: str, turns: np.ndarray) -> None:
    """Refuse a flange that turns about one axis, or not at all."""
    vectors = _vector(turns[1:] @ turns[0].T)
    second = float(np.linalg.svd(vectors, compute_uv=False)[1])
    if second < TURNED:
        got = f"{np.degrees(second):.3g} deg about a second axis"
        rule = f"at least {np.degrees(TURNED):.3g} deg"
        raise InputError("calibrate", key, got, rule, "turn the flange about two axes")
