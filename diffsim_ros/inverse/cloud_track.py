"""Measured points of a surface against the simulated one: signed distances with exact partials.

A point p that a camera measured at time t is compared with the nearest point of the triangles that
are visible to it then, on the simulated, deformed surface [Eq. 7b]:

    y = sum_c w_c x_c(t),   d = n.(p - y),   r = d / sigma,   dr = -n . sum_c w_c dx_c / sigma

with w the weights of the nearest point in its triangle and n the triangle's normal, or, where y
lies on an edge or corner, the direction from y to p (turned to the normal's side).  Exact: by
moving y within the surface d does not change to first order, and n is a unit vector along p - y.
Vertices x_c(t) move between two rows of the rollout on the cubic of marker_track.  With a clock
that is estimated, dr/dt = -n . sum_c w_c v_c / sigma, v_c the velocities on that cubic [7f].
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from diffsim_ros.errors import InputError

from ..rotation import quat_matrix, skew
from .at_times import AtTimes
from .objectives import BodySlot, _checked

GRAZING = 0.2
"""Least cosine between ray and normal that a point's noise is reckoned with."""


@dataclass(frozen=True, eq=False)
class SoftSkin:
    """Surface carried by the nodes of a soft body: x = fixed + sum_k weights_k x_nodes_k.

    triangles  (m, 3)  counter-clockwise seen from outside, of the n surface vertices
    nodes      (n, k)  of the body's free nodes, in the rollout's order
    weights    (n, k)  with what `fixed` (n, 3) [m] has of pinned vertices their sum is 1
    """

    triangles: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray
    fixed: np.ndarray

    def motion(
        self, rollout: Any, slot: BodySlot, frames: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Places and velocities (F, n, 3) of the vertices at rows of a rollout."""
        rows = slot.index + self.nodes
        x, v = (
            sum(
                (
                    weight[:, None] * values[frames][:, at]
                    for weight, at in zip(self.weights.T, rows.T, strict=True)
                ),
                np.zeros(()),
            )
            for values in (rollout.position, rollout.velocity)
        )
        return self.fixed + x, v

    def partials(
        self, rollout: Any, slot: BodySlot, frames: np.ndarray, corners: np.ndarray,
        pushes: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:  # fmt: skip
        """Dofs (N, d) of the body and d(push . x), d(push . v) by them, d(push . v) by the rates.

        Of points i with corners (N, 3) at rows `frames` (N,), moved by sum_c pushes_ic . x_c;
        pushes (N, 3, 3).
        """
        nodes, weights = self.nodes[corners], self.weights[corners]
        by = np.einsum("nck,nci->ncki", weights, pushes).reshape(len(corners), -1)
        dofs = (3 * nodes[..., None] + np.arange(3)).reshape(len(corners), -1)
        return dofs, by, None


@dataclass(frozen=True, eq=False)
class RigidSkin:
    """Surface fixed in a rigid body: triangles (m, 3) of vertices local (n, 3) [m], body frame."""

    triangles: np.ndarray
    local: np.ndarray

    def motion(
        self, rollout: Any, slot: BodySlot, frames: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See SoftSkin.motion."""
        arm, spin = self._arms(rollout, slot, frames)
        x = rollout.position[frames, slot.index][:, None] + arm
        v = rollout.velocity[frames, slot.index][:, None] + np.cross(spin, arm)
        return x, v

    def _arms(
        self, rollout: Any, slot: BodySlot, frames: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        turn = quat_matrix(rollout.orientation[frames, slot.index])
        arm = np.einsum("fij,nj->fni", turn, self.local)
        return arm, rollout.angular_velocity[frames, slot.index][:, None]

    def partials(
        self, rollout: Any, slot: BodySlot, frames: np.ndarray, corners: np.ndarray,
        pushes: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:  # fmt: skip
        """See SoftSkin.partials."""
        turn = quat_matrix(rollout.orientation[frames, slot.index])
        arm = np.einsum("nij,ncj->nci", turn, self.local[corners])
        spin = rollout.angular_velocity[frames, slot.index][:, None]
        by_x, by_v = np.zeros((2, len(corners), 6))
        by_x[:, :3] = pushes.sum(axis=1)
        by_x[:, 3:] = np.einsum("nci,ncij->nj", pushes, -skew(arm))
        by_v[:, 3:] = np.einsum("nci,ncij->nj", pushes, -skew(spin) @ skew(arm))
        return np.broadcast_to(np.arange(6), (len(corners), 6)), by_x, by_v


@dataclass(frozen=True, eq=False)
class SparseTerm:
    """A `Term` of many residuals that each depend on few dofs.

    residual  (N, 1) whitened, each with a loss value of its own
    jx, jv    (N, F * size) partials by the body's poses and velocities at the rollout's F rows
    signature names the faces, edges and corners that the nearest points lie on
    """

    residual: np.ndarray
    jx: csr_array
    jv: csr_array
    signature: int
    own: Mapping[str, np.ndarray] = field(default_factory=dict)
    direct: ClassVar[None] = None
    moves: ClassVar[bool] = True
    linear: ClassVar[bool] = False

    def through(self, slot: BodySlot, dx: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """See Term.through."""
        J = np.zeros((len(self.residual), dx.shape[2]))
        for partial, moved in ((self.jx, dx), (self.jv, dv)):
            if partial.nnz:
                flat = moved[:, slot.dof : slot.dof + slot.size].reshape(-1, dx.shape[2])
                J += partial @ flat
        return J[:, None]

    def pull(self, slot: BodySlot, weight: np.ndarray, gx: np.ndarray, gv: np.ndarray) -> None:
        """See Term.pull."""
        for partial, into in ((self.jx, gx), (self.jv, gv)):
            if partial.nnz:
                pulled = partial.T @ weight[:, 0]
                into[:, slot.dof : slot.dof + slot.size] += pulled.reshape(len(into), slot.size)


class NearestPoints(NamedTuple):
    """Nearest points: corners (N, 3) of their triangles, weights (N, 3), place (N, 3) [m], push
    (N, 3) unit direction of the distance, distance (N,) [m] signed, normal (N, 3) of the triangle,
    signature."""

    corners: np.ndarray
    weights: np.ndarray
    place: np.ndarray
    push: np.ndarray
    distance: np.ndarray
    normal: np.ndarray
    signature: int


@dataclass(frozen=True, eq=False)
class CloudTrack(AtTimes):
    """Points of one body by a camera: r = (signed distance to the simulated surface)/sigma.

    t          (F,)    stamps of the camera's frames
    skin       SoftSkin or RigidSkin
    points     (N, 3)  [m, world];  frame (N,) which of the times each point is of
    eye        (3,)    place of the camera [m, world]: only what it can see counts; None: all around
    along      () or (N,) standard deviation along the ray [m];  across: across it
    incidence  () or (N,) cosine between ray and surface normal:
               sigma^2 = along^2 incidence^2 + across^2 (1 - incidence^2).  Held during a fit, so
               that derivatives stay exact
    """

    skin: SoftSkin | RigidSkin
    points: np.ndarray
    frame: np.ndarray
    eye: np.ndarray | None = None
    along: np.ndarray | float = 2e-3
    across: np.ndarray | float = 0.0
    incidence: np.ndarray | float = 1.0
    name: str = field(default="cloud", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place, t = object.__setattr__, self.place, self.t
        points = _checked(place, "points", self.points, (-1, 3))
        frame, rule = np.asarray(self.frame, np.int64), f"one of the {len(t)} times for every point"
        if not len(points):
            raise InputError(place, "points", 0, "at least one point of the object")
        if frame.shape != (len(points),):
            raise InputError(place, "frame", frame.shape, rule)
        if frame.min() < 0 or frame.max() >= len(t):
            raise InputError(place, "frame", (frame.min(), frame.max()), rule)
        put(self, "points", points)
        put(self, "frame", frame)
        for key in ("along", "across", "incidence"):
            value = _checked(place, key, getattr(self, key), np.shape(getattr(self, key)))
            put(self, key, np.broadcast_to(value, (len(points),)))
        if not np.all(self.sigma > 0):
            least, rule = float(np.min(self.along)), "standard deviations > 0 [m]"
            raise InputError(place, "along", least, rule)

    @property
    def sigma(self) -> np.ndarray:
        """Standard deviation of each point's distance (N,) [m]."""
        cosine = np.maximum(np.abs(self.incidence), GRAZING)
        return np.sqrt((self.along * cosine) ** 2 + self.across**2 * (1 - cosine**2))

    @property
    def frames(self) -> np.ndarray:
        """See AtTimes; one row twice where it is met."""
        return self._rows(np.maximum(self.clock.times(self.t), 0.0))

    def _rows(self, at: np.ndarray) -> np.ndarray:
        first = np.floor(at / self.interval + 1e-9).astype(np.int64)
        return np.stack([first, first + (self._share(at) > 0)], axis=1)

    def _share(self, at: np.ndarray) -> np.ndarray:
        """Where between its two rows every time lies, from 0 to 1 (F,)."""
        share = at / self.interval
        share = share - np.floor(share + 1e-9)
        return np.where(share < 1e-6, 0.0, share)

    def within(
        self, rollout: Any, values: Mapping[str, float] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """See AtTimes: the last row is met too."""
        return self.clock.within(self.t, values, (len(rollout.position) - 1) * self.interval)

    def until(self, frame: int) -> CloudTrack | None:
        """See `Objective.until`."""
        kept = self.frames[:, 1] <= frame
        if kept.all():
            return self
        points = kept[self.frame]
        if not points.any():
            return None
        some = {k: getattr(self, k)[points] for k in ("points", "along", "across", "incidence")}
        number = np.cumsum(kept) - 1
        return replace(self, t=self.t[kept], frame=number[self.frame[points]], **some)

    def _blend(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights (2, F) of places and of velocities at the two rows."""
        s, T = self._share(at), self.interval
        place = np.stack([(1 + 2 * s) * (1 - s) ** 2, s**2 * (3 - 2 * s)])
        speed = T * np.stack([s * (1 - s) ** 2, s**2 * (s - 1)])
        return place, speed

    def surface(
        self, rollout: Any, slot: BodySlot, values: Mapping[str, float] | None = None
    ) -> np.ndarray:
        """Simulated places of the skin's vertices at every time (F, n, 3) [m, world]."""
        at, _ = self.within(rollout, values)
        return self._summed(rollout, slot, at, self._blend(at))

    def _summed(
        self, rollout: Any, slot: BodySlot, at: np.ndarray,
        blend: tuple[Iterable[np.ndarray], Iterable[np.ndarray]],
    ) -> np.ndarray:  # fmt: skip
        """Places and velocities of the vertices at the two rows, so weighted (F, n, 3)."""
        rows = self._rows(at)
        found: np.ndarray = np.zeros(())
        for k, (place, speed) in enumerate(zip(*blend, strict=True)):
            x, rate = self.skin.motion(rollout, slot, rows[:, k])
            found = found + place[:, None, None] * x + speed[:, None, None] * rate
        return found

    def _by_time(
        self, rollout: Any, slot: BodySlot, at: np.ndarray, found: NearestPoints
    ) -> np.ndarray:
        """Slope (N, 1) of the residuals by the simulation's time [1/s]."""
        s, T = self._share(at), self.interval
        turn = 6 * s * (1 - s) / T
        place, speed = (-turn, turn), ((1 - s) * (1 - 3 * s), s * (3 * s - 2))
        velocity = self._summed(rollout, slot, at, (place, speed))
        corner = velocity[self.frame[:, None], found.corners]
        slope = np.einsum("ni,nc,nci->n", found.push, found.weights, corner)
        return -(slope / self.sigma)[:, None]

    def nearest(
        self, rollout: Any, slot: BodySlot, values: Mapping[str, float] | None = None
    ) -> NearestPoints:
        """Nearest points of the surface visible to the camera, for every measured point."""
        from diffsim_ros import _engine

        x = self.surface(rollout, slot, values)
        triangle, weights, feature = _engine.nearest_on_surface(
            x, self.skin.triangles, self.points, self.frame.tolist(), self.eye
        )
        corners = np.asarray(self.skin.triangles)[triangle]
        at = x[self.frame[:, None], corners]
        normal = np.cross(at[:, 1] - at[:, 0], at[:, 2] - at[:, 0])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        place = np.einsum("nc,nci->ni", weights, at)
        away = self.points - place
        height, size = np.einsum("ni,ni->n", normal, away), np.linalg.norm(away, axis=1)
        flat = (feature == 0) | (size < 1e-12)
        side = np.where(height < 0, -1.0, 1.0)
        direction = away * (side / np.where(flat, 1.0, size))[:, None]
        push = np.where(flat[:, None], normal, direction)
        distance = np.where(flat, height, side * size)
        # by corners, as two triangles share an edge: which of them is found is round-off
        touched = np.sort(np.where(weights > 0, corners, -1), axis=1)
        signature = zlib.crc32(touched.astype(np.int32).tobytes()) + 1
        return NearestPoints(corners, weights, place, push, distance, normal, signature)

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> SparseTerm:
        """Residuals (N, 1) and their partials by two rows of the rollout."""
        found = self.nearest(rollout, slot, values)
        rows, (at, moving) = len(rollout.position), self.within(rollout, values)
        around = self._rows(at)
        pushes = -(found.weights / self.sigma[:, None])[..., None] * found.push[:, None]
        place, speed = self._blend(at)
        by_pose, by_speed = [], []
        for k in range(2):
            row = around[self.frame, k]
            dofs, by_x, by_v = self.skin.partials(rollout, slot, row, found.corners, pushes)
            columns = row[:, None] * slot.size + dofs
            a, b = place[k][self.frame, None], speed[k][self.frame, None]
            by_pose.append((columns, a * by_x if by_v is None else a * by_x + b * by_v))
            by_speed.append((columns, b * by_x))
        shape = (len(self.points), rows * slot.size)
        residual = (found.distance / self.sigma)[:, None]
        jx, jv = (_sparse(parts, shape) for parts in (by_pose, by_speed))
        own: dict[str, np.ndarray] = {}
        if self.clock.parameters:
            by_time = self._by_time(rollout, slot, at, found)
            own = self.clock.own(self.t[self.frame], moving[self.frame], by_time)
        return SparseTerm(residual, jx, jv, found.signature, own)


def _sparse(parts: Iterable[tuple[np.ndarray, np.ndarray]], shape: tuple[int, int]) -> csr_array:
    """Sum of blocks (columns (N, d), values (N, d)); blocks of zeros are left out."""
    kept = [(columns, values) for columns, values in parts if np.any(values)]
    if not kept:
        return csr_array(shape)
    columns = np.concatenate([columns for columns, _ in kept], axis=1)
    values = np.concatenate([values for _, values in kept], axis=1)
    start = np.arange(shape[0] + 1) * columns.shape[1]
    return csr_array((values.ravel(), columns.ravel(), start), shape)
