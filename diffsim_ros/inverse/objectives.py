"""Objectives: what is measured of a rollout, as residuals with exact partials [Eqs. 4-7].

An objective gives one `Term` per rollout: residuals (M, q) at M frames and their partials with
respect to the pose tangent (dc, dphi) and the velocity tangent (dv, domega) of its body, which
serve Gauss-Newton (through S) and the adjoint.  To add one: a frozen dataclass on `AtFrames`
with a `term`, and a case in tests/inverse/test_objectives.py.  Markers on soft and rigid bodies at
any time: marker_track.  Velocities: twist_track.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from diffsim_ros.errors import InputError

from ..rotation import (
    left_jacobian,
    left_jacobian_inverse,
    quat_conjugate,
    quat_exp,
    quat_log,
    quat_matrix,
    quat_multiply,
    skew,
)
from .losses import Loss


@dataclass(frozen=True)
class BodySlot:
    """Where a body stands in a rollout: first row in position, first dof, number of dofs.

    count   of its rows: one, but of soft bodies one for every free vertex, with three dofs each
    """

    index: int
    dof: int
    size: int
    count: int = 1


@dataclass(frozen=True)
class Term:
    """Residuals of one objective in one rollout.

    residual  (M, q)     whitened (divided by sigma); of a linear functional its value, (1, 1)
    frames    (M,)       rows of the rollout; (M, s): the partials are of s rows each
    jx, jv    (M, q, d)  partials by pose and velocity tangent of the body (particle: d = 3);
              (M, s, q, d) with s rows
    dofs      (d,) of the body's dofs that the partials are by; None: all
    own       name -> (M, q) partials by values of parameters that the objective uses directly
    direct    (M, q, na) partials by the scene's active parameters other than through the motion
    moves     False: the motion does not enter, only `own` values do
    linear    True: the cost is the residual itself, not its square
    signature names the branches that an objective with kinks took
    """

    residual: np.ndarray
    frames: np.ndarray
    jx: np.ndarray | None = None
    jv: np.ndarray | None = None
    own: Mapping[str, np.ndarray] = field(default_factory=dict)
    direct: np.ndarray | None = None
    moves: bool = True
    linear: bool = False
    dofs: np.ndarray | None = None
    signature: int = 0

    def _columns(self, slot: BodySlot) -> np.ndarray | slice:
        """Dofs of the scene that the partials are by."""
        if self.dofs is None:
            return slice(slot.dof, slot.dof + slot.size)
        return slot.dof + self.dofs

    def _by_frame(self) -> Iterator[tuple[np.ndarray, np.ndarray | None, np.ndarray | None]]:
        """(frames (M,), jx, jv (M, q, d) or None) for each of the s rows a residual is made of."""
        if self.frames.ndim == 1:
            yield self.frames, self.jx, self.jv
            return
        for s, frames in enumerate(self.frames.T):
            jx, jv = (None if j is None else j[:, s] for j in (self.jx, self.jv))
            yield frames, jx, jv

    def through(self, slot: BodySlot, dx: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """Residual Jacobian (M, q, na) by the sensitivities dx, dv (F, ndof, na)  [Eq. 6]."""
        J, dofs = np.zeros((*self.residual.shape, dx.shape[2])), self._columns(slot)
        if self.direct is not None:
            J += self.direct
        for frames, jx, jv in self._by_frame():
            for partial, moved in ((jx, dx), (jv, dv)):
                if partial is not None:
                    J += partial @ moved[frames][:, dofs]
        return J

    def pull(self, slot: BodySlot, weight: np.ndarray, gx: np.ndarray, gv: np.ndarray) -> None:
        """Add weight (M, q) . residual's partials to gx, gv (F, ndof), for the adjoint."""
        dofs = np.arange(gx.shape[1])[self._columns(slot)]
        for frames, jx, jv in self._by_frame():
            for partial, into in ((jx, gx), (jv, gv)):
                if partial is not None:
                    pulled = np.einsum("mqd,mq->md", partial, weight)
                    np.add.at(into, (frames[:, None], dofs), pulled)


class AnyTerm(Protocol):
    """What `SimulationProblem` needs of a term: a `Term`, or cloud_track's SparseTerm."""

    @property
    def residual(self) -> np.ndarray:
        """See `Term`."""
        ...

    @property
    def own(self) -> Mapping[str, np.ndarray]:
        """See `Term`."""
        ...

    @property
    def direct(self) -> np.ndarray | None:
        """See `Term`."""
        ...

    @property
    def moves(self) -> bool:
        """See `Term`."""
        ...

    @property
    def linear(self) -> bool:
        """See `Term`."""
        ...

    @property
    def signature(self) -> int:
        """See `Term`."""
        ...

    def through(self, slot: BodySlot, dx: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """See `Term.through`."""
        ...

    def pull(self, slot: BodySlot, weight: np.ndarray, gx: np.ndarray, gv: np.ndarray) -> None:
        """See `Term.pull`."""
        ...


class Objective(Protocol):
    """What `SimulationProblem` needs of an objective."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    @property
    def body(self) -> str:
        """Body of the scene that is measured."""
        ...

    @property
    def loss(self) -> Loss:
        """Of its residuals."""
        ...

    @property
    def parameters(self) -> tuple[str, ...]:
        """Parameters that the objective uses directly."""
        ...

    @property
    def soft(self) -> bool:
        """True (a class attribute): also of soft bodies, which have many nodes."""
        ...

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> AnyTerm:
        """Residuals and partials; `values` are all parameters by name, in natural units."""
        ...

    def until(self, frame: int) -> Objective | None:
        """Return its part up to this frame of the rollout; None: nothing."""
        ...


def _checked(
    place: str, key: str, value: ArrayLike, shape: tuple[int, ...], *, positive: bool = False
) -> np.ndarray:
    """Array of float with this shape (-1: any), finite; InputError names place and key."""
    array = np.asarray(value, float)
    rule = f"shape {shape} (-1: any), finite" + (", > 0" if positive else "")
    fits = array.ndim == len(shape) and all(
        want in (-1, got) for want, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise InputError(place, key, array.shape, rule)
    if not np.all(np.isfinite(array)):
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise InputError(place, key, f"non-finite value in row {row}", rule, "leave the frame out")
    if positive and not np.all(array > 0):
        raise InputError(place, key, float(array.min()), rule)
    return array


def _checked_times(place: str, t: np.ndarray) -> np.ndarray:
    """Times (M,) [s] since the start of the rollout, none before it."""
    t = _checked(place, "t", t, (-1,))
    if t.size and t.min() < 0:
        raise InputError(place, "t", float(t.min()), "times from the start of the rollout on")
    return t


def _sigma(place: str, key: str, value: ArrayLike, count: int) -> np.ndarray:
    return np.broadcast_to(_checked(place, key, value, np.shape(value), positive=True), (count,))


@dataclass(frozen=True)
class AtFrames:
    """What objectives at rows of a rollout have in common.

    frames     (M,)  rows of the rollout
    each_frame names of the fields with one row a frame, which `until` cuts
    """

    body: str
    frames: np.ndarray
    loss: Loss = field(default_factory=Loss, kw_only=True)
    name: str = field(default="", kw_only=True)
    soft: ClassVar[bool] = False
    each_frame: ClassVar[tuple[str, ...]] = ()
    called: ClassVar[str] = "objective"

    def __post_init__(self) -> None:
        object.__setattr__(self, "frames", np.atleast_1d(np.asarray(self.frames, np.int64)))

    @property
    def place(self) -> str:
        """For messages."""
        return f"{self.called} {self.name!r} of {self.body!r}"

    @property
    def parameters(self) -> tuple[str, ...]:
        """See `Objective`: none."""
        return ()

    def until(self, frame: int) -> Self | None:
        """See `Objective.until`."""
        kept = self.frames <= frame
        if kept.all():
            return self
        rows = {key: getattr(self, key) for key in self.each_frame}
        cut = {key: value[kept] for key, value in rows.items() if value is not None}
        return replace(self, frames=self.frames[kept], **cut) if kept.any() else None


@dataclass(frozen=True)
class PoseTrack(AtFrames):
    """Measured poses of a body's pivot: r = [(P_sim - P)/sigma_p, log(R_sim R^T)/sigma_r]  [Eq. 4].

    frames          (M,)    rows of the rollout
    position        (M, 3)  measured pivot [m, world], or None: only rotations count
    orientation     (M, 4)  measured, xyzw, body to world, or None: only positions count
    sigma_position  () or (M,)  [m];  sigma_rotation () or (M,) [rad]
    offset          (6,)    pivot in the body: position [m], rotation vector [rad], body frame
    offset_names    ()      or 6 parameters to read the offset from, "": the number of `offset`
    """

    position: np.ndarray | None
    orientation: np.ndarray | None
    sigma_position: np.ndarray | float = 1e-3
    sigma_rotation: np.ndarray | float = 0.5 * math.pi / 180
    offset: tuple[float, ...] | None = None
    offset_names: tuple[str, ...] = ()
    name: str = field(default="pose", kw_only=True)
    each_frame = ("position", "orientation", "sigma_position", "sigma_rotation")

    def __post_init__(self) -> None:
        super().__post_init__()
        put, place, count = object.__setattr__, self.place, len(self.frames)
        if self.position is None and self.orientation is None:
            raise InputError(place, "position", None, "a position or an orientation track")
        if self.position is not None:
            put(self, "position", _checked(place, "position", self.position, (count, 3)))
        if self.orientation is not None:
            q = _checked(place, "orientation", self.orientation, (count, 4))
            norm = np.linalg.norm(q, axis=1, keepdims=True)
            if np.any(np.abs(norm - 1) > 1e-3):
                bad = float(norm[np.argmax(np.abs(norm - 1)), 0])
                raise InputError(place, "orientation", f"norm {bad:.4g}", "unit quaternions (xyzw)")
            put(self, "orientation", q / norm)
        for key in ("sigma_position", "sigma_rotation"):
            put(self, key, _sigma(place, key, getattr(self, key), count))
        if self.offset_names and len(self.offset_names) != 6:
            raise InputError(place, "offset_names", self.offset_names, "6 names, or none")
        if self.offset is not None:
            put(self, "offset", tuple(_checked(place, "offset", self.offset, (6,))))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Parameters that the objective uses directly."""
        return tuple(name for name in self.offset_names if name)

    def _offset(self, values: Mapping[str, float]) -> np.ndarray | None:
        if not self.offset_names:
            return None if self.offset is None else np.array(self.offset)
        numbers = np.zeros(6) if self.offset is None else self.offset
        pairs = zip(self.offset_names, numbers, strict=True)
        return np.array([values[name] if name else number for name, number in pairs])

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (M, 3 or 6), partials by (dc, dphi) and by the offset."""
        offset = self._offset(values)
        parts = []
        if self.position is not None:
            parts.append(self._positions(rollout, slot, offset))
        if self.orientation is not None:
            parts.append(self._rotations(rollout, slot, offset))
        residual = np.concatenate([p[0] for p in parts], axis=1)
        jx = np.concatenate([p[1] for p in parts], axis=1)
        own: dict[str, np.ndarray] = {}
        for i, name in enumerate(self.offset_names):
            if name:
                own[name] = np.concatenate([p[2][:, :, i] for p in parts], axis=1)
        return Term(residual, self.frames, jx=jx, own=own)

    def _positions(
        self, rollout: Any, slot: BodySlot, offset: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        weight = 1.0 / np.asarray(self.sigma_position)[:, None]
        centre = rollout.position[self.frames, slot.index]
        jx = np.zeros((len(self.frames), 3, slot.size))
        jx[:, :, :3] = np.eye(3) * weight[..., None]
        own = np.zeros((len(self.frames), 3, 6))
        if offset is not None:
            matrix = quat_matrix(rollout.orientation[self.frames, slot.index])
            arm = matrix @ offset[:3]
            centre = centre + arm
            jx[:, :, 3:] = -skew(arm) * weight[..., None]
            own[:, :, :3] = matrix * weight[..., None]
        return (centre - self.position) * weight, jx, own

    def _rotations(
        self, rollout: Any, slot: BodySlot, offset: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        weight = 1.0 / np.asarray(self.sigma_rotation)[:, None]
        q = rollout.orientation[self.frames, slot.index]
        matrix = quat_matrix(q)
        if offset is not None:
            q = quat_multiply(q, quat_exp(offset[3:]))
        theta = quat_log(quat_multiply(q, quat_conjugate(np.asarray(self.orientation))))
        inverse = left_jacobian_inverse(theta) * weight[..., None]
        jx = np.zeros((len(self.frames), 3, slot.size))
        jx[:, :, 3:] = inverse
        own = np.zeros((len(self.frames), 3, 6))
        if offset is not None:
            own[:, :, 3:] = inverse @ matrix @ left_jacobian(offset[3:])
        return theta * weight, jx, own


def metric_track(
    body: str, frames: np.ndarray, position: np.ndarray, orientation: np.ndarray, length: float,
    **kwargs: Any,
) -> PoseTrack:  # fmt: skip
    """PoseTrack with |r|^2 = e_q = mean over frames of |dp|^2/length + angle^2 [m, rad^2]  [Eq. 5].

    The cost is e_q/2.  `length` [m] weights positions (cube tosses: half the width, 0.0524).
    """
    count = len(frames)
    return PoseTrack(
        body, frames, position, orientation,
        sigma_position=np.sqrt(count * length), sigma_rotation=np.sqrt(count), name="e_q", **kwargs,
    )  # fmt: skip


@dataclass(frozen=True)
class LinearFunctional:
    """A weighted sum of a body's position and velocities at one frame, itself the cost [Eq. 7].

    Those of a soft body are the means over its free vertices.
    frame             row of the rollout, -1: the last
    position          (3,) weights of the position [1/m]
    velocity          (3,) weights of the velocity [s/m]; angular_velocity (3,) [s/rad], world
    """

    body: str
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    velocity: tuple[float, ...] = (0.0, 0.0, 0.0)
    angular_velocity: tuple[float, ...] = (0.0, 0.0, 0.0)
    frame: int = -1
    loss: Loss = field(default_factory=Loss)
    name: str = "functional"
    parameters: tuple[str, ...] = ()
    soft: ClassVar[bool] = True

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Value (1, 1) and its exact gradient by pose and velocity."""
        frame, count = self.frame % len(rollout.position), slot.count
        rows = slice(slot.index, slot.index + count)
        jx, jv = np.zeros((1, 1, slot.size)), np.zeros((1, 1, slot.size))
        jx[0, 0, : 3 * count] = np.tile(self.position, count) / count
        jv[0, 0, : 3 * count] = np.tile(self.velocity, count) / count
        value = np.dot(self.position, rollout.position[frame, rows].mean(axis=0))
        value += np.dot(self.velocity, rollout.velocity[frame, rows].mean(axis=0))
        if slot.size == 6 and count == 1:
            jv[0, 0, 3:] = self.angular_velocity
            spin = rollout.angular_velocity[frame, slot.index]
            value += np.dot(self.angular_velocity, spin)
        return Term(np.array([[value]]), np.array([frame]), jx=jx, jv=jv, linear=True)

    def until(self, frame: int) -> LinearFunctional | None:
        """See `Objective.until`; the last frame stays the last."""
        return self if self.frame <= frame else None
