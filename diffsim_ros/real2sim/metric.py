"""The metric of data/cube_toss/README.md: start of a rollout, its velocity, and its errors.

A toss is simulated open loop from 3 frames before its centre first falls below sqrt(3) half edges,
with the measured pose and a velocity refitted on the frames up to that one. All lengths are those
stored in the file and g is 9.81 m/s^2 there, whatever scale or gravity a model uses inside; with
`gravity` the same parabola is fitted with the model's own gravity (stored lengths).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..rotation import quat_angle, quat_conjugate, quat_log, quat_multiply, quat_rotate
from ..sensing.observation import PoseTrial

MIN_FRAMES = 4
"""Frames that must lie before the start for its velocity to be refitted."""


@dataclass(frozen=True)
class MetricOptions:
    """What the metric needs to know of the experiment.

    half           half edge of the cube, stored lengths [m]
    width          the length that position errors are divided by [m]
    gravity        magnitude used in the refit of v_z [m/s^2]
    frames_before  frames between the start and the first frame below sqrt(3) half edges
    """

    half: float = 0.0524
    width: float = 0.1048
    gravity: float = 9.81
    frames_before: int = 3


@dataclass(frozen=True)
class Start:
    """Where a rollout starts.

    sample            index of the start in the samples of the trial
    position          [m] (3,);  orientation (x, y, z, w) (4,)
    velocity          world frame [m/s] (3,), v_z refitted with MetricOptions.gravity
    angular_velocity  world frame [rad/s] (3,)
    dvz_dg            change of the refitted v_z with the magnitude of gravity [s]
    rule              "refitted", "file" (velocity columns) or "difference" (poses alone)
    """

    sample: int
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    dvz_dg: float
    rule: str


def start_sample(trial: PoseTrial, options: MetricOptions) -> int:
    """Sample from which the trial is simulated; 0 if it begins nearer to the ground."""
    below = np.flatnonzero(trial.position[:, 2] < np.sqrt(3.0) * options.half)
    first = int(below[0]) if len(below) else len(trial) - 1
    return max(first - options.frames_before, 0)


def start_state(trial: PoseTrial, options: MetricOptions) -> Start:
    """The pose of the start as measured, and its velocity by the metric's rule.

    With at least four frames before the start: v_x, v_y and omega from first to last of the frames
    up to the start, v_z from a parabola through them with fixed gravity. With fewer: the velocity
    columns of the file, or differences over the first frames of a recording that has none.
    """
    i = start_sample(trial, options)
    position, orientation = trial.position[i], trial.orientation[i]
    t = (trial.frames[: i + 1] - trial.frames[i]) * trial.dt
    if i >= MIN_FRAMES:
        velocity, omega, dvz_dg = _refit(trial, i, t, options.gravity)
        rule = "refitted"
    elif trial.velocity is not None:
        velocity, omega = trial.velocity[i, :3], trial.velocity[i, 3:]
        dvz_dg, rule = 0.0, "file"
    else:
        velocity, omega, dvz_dg = _difference(trial, i, options.gravity)
        rule = "difference"
    return Start(i, position, orientation, velocity, omega, dvz_dg, rule)


def _refit(trial: PoseTrial, i: int, t: np.ndarray, gravity: float):
    """Velocity [m/s], angular velocity [rad/s] (both world) at sample i, and d v_z / d gravity."""
    span = -t[0]
    velocity = (trial.position[i] - trial.position[0]) / span
    # z(t) + g t^2/2 is a line; its slope at t = 0 is v_z
    centred = t - t.mean()
    slope = centred / (centred @ centred)
    dvz_dg = float(slope @ (0.5 * t * t))
    velocity[2] = slope @ trial.position[: i + 1, 2] + gravity * dvz_dg
    q0, q1 = trial.orientation[0], trial.orientation[i]
    body_rate = quat_log(quat_multiply(quat_conjugate(q0), q1)) / span
    return velocity, quat_rotate(q1, body_rate), dvz_dg


def _difference(trial: PoseTrial, i: int, gravity: float):
    """Velocity at sample i from the two samples around it (poses alone, start near the ground)."""
    j = min(i + 1, len(trial) - 1)
    k = max(j - 2, 0)
    span = (trial.frames[j] - trial.frames[k]) * trial.dt
    velocity = (trial.position[j] - trial.position[k]) / span
    # the difference is the velocity at the middle of the span
    late = (trial.frames[i] - 0.5 * (trial.frames[j] + trial.frames[k])) * trial.dt
    velocity[2] -= gravity * late
    turn = quat_multiply(trial.orientation[j], quat_conjugate(trial.orientation[k]))
    return velocity, quat_log(turn) / span, -late


@dataclass(frozen=True)
class TossErrors:
    """Errors of one predicted toss, means over its frames from the start on.

    position  |dp| in widths;  rotation  angle of R_sim R_meas^T [deg]
    e_q       |dp|^2 / half + angle^2  [m + rad^2], the training loss of the data's authors
    """

    position: float
    rotation: float
    e_q: float


def toss_errors(
    position: np.ndarray,
    orientation: np.ndarray,
    measured_position: np.ndarray,
    measured_orientation: np.ndarray,
    options: MetricOptions,
) -> TossErrors:
    """Errors of simulated poses (n, 3), (n, 4) against measured ones at the same frames."""
    dp = np.linalg.norm(position - measured_position, axis=-1)
    turn = quat_angle(measured_orientation, orientation)
    return TossErrors(
        float(dp.mean() / options.width),
        float(np.degrees(turn.mean())),
        float((dp**2 / options.half + turn**2).mean()),
    )
