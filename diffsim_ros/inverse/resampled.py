"""Rollouts with other steps than a problem's, read at the same times.

Steps of h/factor begin and end elsewhere within every contact.  Where the rows of the rollout are
on the new steps too, they are read as they are; else poses and their sensitivities are interpolated
by cubic Hermite polynomials between the two steps around each time, velocities, outputs and theirs
linearly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from ..rotation import left_jacobian_inverse, quat_conjugate, quat_exp, quat_log, quat_multiply
from .engine_options import options_like
from .simulation_problem import body_slots, engine_rollouts

APART = 16
"""Steps between rows from which on only whole numbers of steps between rows are taken."""
LARGEST = 4e9  # bytes of sensitivities of one rollout


@dataclass(frozen=True)
class Resampled:
    """A rollout's arrays, as the engine's `Rollout` names them, at F times.

    time, position, orientation, velocity, angular_velocity; dx, dv: None without sensitivities
    outputs, outputs_dp  name -> values, as asked for
    modes  of every step (not resampled), `step` [s] apart
    """

    ok: bool
    status: str
    message: str
    mode_hash: int
    step: float
    modes: np.ndarray
    time: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    dx: np.ndarray | None = None
    dv: np.ndarray | None = None
    outputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    outputs_dp: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Steps:
    """How many steps, how many between recorded rows, and their length [s]."""

    count: int
    stride: int
    step: float

    @classmethod
    def refined(cls, count: int, every: int, step: float, factor: float) -> Steps:
        """About `factor` times as many for `count` steps with rows `every` of them."""
        stride = every * factor
        if abs(stride - round(stride)) < 1e-9:
            return cls(round(count * factor), round(stride), step / factor)
        if every >= APART:
            stride = round(stride)
            return cls(count // every * stride, stride, step * every / stride)
        more = round(count * factor)
        return cls(more, 1, step * count / more)


@dataclass
class Refined:
    """Simulator of a `SimulationProblem` (its default takes factor 1); keeps the last rollouts."""

    factor: float
    rollouts: list[Resampled] = field(default_factory=list)

    def __call__(
        self, scene: Any, P: np.ndarray, steps: np.ndarray, options: Any,
        active: Sequence[int] | None, mode: str, threads: int, cancel: Any,
        directions: Sequence[np.ndarray] | None = None, outputs: Sequence[str] = (),
    ) -> list[Resampled]:  # fmt: skip
        """See `engine_rollouts`."""
        self.rollouts = [
            self._one(
                scene, P[k : k + 1], int(count), options, active, mode, threads, cancel,
                None if directions is None else directions[k : k + 1], outputs,
            )
            for k, count in enumerate(np.broadcast_to(steps, len(P)))
        ]  # fmt: skip
        return self.rollouts

    def _one(
        self, scene: Any, P: np.ndarray, count: int, options: Any, active: Sequence[int] | None,
        mode: str, threads: int, cancel: Any, directions: Sequence[np.ndarray] | None,
        outputs: Sequence[str],
    ) -> Resampled:  # fmt: skip
        every = options.record_every
        plan = Steps.refined(count, every, options.step, self.factor)
        columns = 0 if active is None else len(active)
        columns = columns if directions is None else directions[0].shape[1]
        size = 16.0 * (plan.count // plan.stride + 1) * scene.ndof * columns
        if mode == "sensitivity" and size > LARGEST:
            rule = f"at most {LARGEST / 1e9:.0f} GB; fewer parameters, or a larger record_every"
            raise InputError("sensitivities of all steps", "size", f"{size / 1e9:.0f} GB", rule)
        finer = options_like(
            options, step=plan.step, record_every=plan.stride, stagnate=options.stagnate,
            record_modes=True,
        )  # fmt: skip
        run = engine_rollouts(
            scene, P, np.array([plan.count]), finer, active, mode, threads, cancel, directions,
            outputs,
        )[0]  # fmt: skip
        times = every * options.step * np.arange(count // every + 1)
        return resampled(run, scene, times, plan, mode == "sensitivity")


def resampled(run: Any, scene: Any, times: np.ndarray, plan: Steps, sensitive: bool) -> Resampled:
    """The rollout `run` of these steps at `times` (F,) [s]; a failed one as it is."""
    said = (run.ok, run.status, run.message, int(run.mode_hash), plan.step, run.modes)
    motion = run.position, run.orientation, run.velocity, run.angular_velocity
    if not run.ok:
        return Resampled(*said, run.time, *motion)
    x, q, v, w = motion
    between = plan.stride * plan.step
    at = times / between
    first = np.clip(np.floor(at + 1e-6).astype(int), 0, max(len(x) - 2, 0))
    share = at - first
    if np.all(np.abs(share - np.round(share)) < 1e-6):
        rows = np.round(at).astype(int)
        S = (run.dx[rows], run.dv[rows]) if sensitive else (None, None)
        Y = [{name: y[rows] for name, y in of.items()} for of in _outputs(run, sensitive)]
        return Resampled(*said, times, x[rows], q[rows], v[rows], w[rows], *S, *Y)
    rows = np.stack([first, first + 1])
    turned = quat_log(quat_multiply(q[rows[1]], quat_conjugate(q[rows[0]])))
    rate = np.einsum("fnij,fnj->fni", left_jacobian_inverse(turned), w[rows[1]])
    turn = _cubic(share, np.zeros_like(turned), turned, between * w[rows[0]], between * rate)
    arrays = [
        _cubic(share, *x[rows], *(between * v[rows])),
        quat_multiply(quat_exp(turn), q[rows[0]]),
        _linear(share, *v[rows]),
        _linear(share, *w[rows]),
    ]
    S = (None, None)
    if sensitive:
        dx, dv = run.dx, run.dv
        slopes = [_rates(scene, dx[k], dv[k], w[k]) * between for k in rows]
        S = (_cubic(share, *dx[rows], *slopes), _linear(share, *dv[rows]))
    Y = [
        {name: _linear(share, *y[rows]) for name, y in of.items()}
        for of in _outputs(run, sensitive)
    ]
    return Resampled(*said, times, *arrays, *S, *Y)


def _outputs(run: Any, sensitive: bool) -> tuple[Mapping, Mapping]:
    """Outputs of a rollout and, where it has some, their sensitivities."""
    values = run.outputs
    return values, run.outputs_dp if values and sensitive else {}


def _rates(scene: Any, dx: np.ndarray, dv: np.ndarray, w: np.ndarray) -> np.ndarray:
    """d(dx)/dt (F, ndof, n): of a rigid body's rotation domega + omega x dphi."""
    slopes = dv.copy()
    for slot in body_slots(scene).values():
        if slot.size == 6 and slot.count == 1:
            turn = slice(slot.dof + 3, slot.dof + 6)
            slopes[:, turn] += np.cross(w[:, slot.index, :, None], dx[:, turn], axis=1)
    return slopes


def _cubic(
    share: np.ndarray, a: np.ndarray, b: np.ndarray, slope_a: np.ndarray, slope_b: np.ndarray
) -> np.ndarray:
    """Hermite polynomial at `share` (F,) from a (share 0) to b (share 1)."""
    s = share.reshape(-1, *[1] * (a.ndim - 1))
    rest = 1.0 - s
    ends = rest**2 * (1.0 + 2.0 * s) * a + s**2 * (3.0 - 2.0 * s) * b
    return ends + s * rest * (rest * slope_a - s * slope_b)


def _linear(share: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    s = share.reshape(-1, *[1] * (a.ndim - 1))
    return (1.0 - s) * a + s * b
