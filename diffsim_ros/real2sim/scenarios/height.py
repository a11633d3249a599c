"""Starts by height: as measured, a little before a body may touch the ground.

A rollout starts 3 frames before the centre first falls below sqrt(3) half edges, with the measured
pose and a velocity refitted on the frames up to that one (data/cube_toss/README.md).  All lengths
are those stored in the file and g is 9.81 m/s^2 there, whatever scale or gravity a model uses
inside; with `own_gravity` the parabola is fitted with the model's own gravity (stored lengths).

Nuisance starts: 12 numbers and their covariance from the flight before.  Position follows
x0 + v t + g t^2/2 with known gravity and rotation a constant world rate (exact for isotropic
inertia); both are fitted to the samples up to the start, which are then no residuals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...inverse.trial import InitialState
from ...rotation import (
    left_jacobian,
    left_jacobian_inverse,
    quat_conjugate,
    quat_exp,
    quat_log,
    quat_multiply,
    quat_rotate,
)
from ...sensing.observation import PoseTrial
from ..model import Model

MIN_FRAMES = 4
"""Frames that must lie before the start for its velocity to be refitted."""
FILE_SIGMA = (0.05, 0.5)
"""Standard deviation of a start velocity that is not fitted [m/s], [rad/s]."""
ROUNDS = 4


@dataclass(frozen=True)
class HeightOptions:
    """Settings of the start.

    half           half edge of the cube, stored lengths [m]
    gravity        magnitude used in the refit of v_z [m/s^2]
    frames_before  frames between the start and the first frame below sqrt(3) half edges
    """

    half: float = 0.0524
    gravity: float = 9.81
    frames_before: int = 3


@dataclass(frozen=True)
class Start:
    """Where a rollout starts.

    sample            index of the start in the samples of the trial
    position          [m] (3,);  orientation (x, y, z, w) (4,)
    velocity          world frame [m/s] (3,), v_z refitted with HeightOptions.gravity
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


def start_sample(trial: PoseTrial, options: HeightOptions) -> int:
    """Sample from which the trial is simulated; 0 if it begins nearer to the ground."""
    below = np.flatnonzero(trial.position[:, 2] < np.sqrt(3.0) * options.half)
    first = int(below[0]) if len(below) else len(trial) - 1
    return max(first - options.frames_before, 0)


def start_state(trial: PoseTrial, options: HeightOptions) -> Start:
    """The pose of the start as measured, and its velocity by this rule.

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


def _refit(
    trial: PoseTrial, i: int, t: np.ndarray, gravity: float
) -> tuple[np.ndarray, np.ndarray, float]:
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


def _difference(trial: PoseTrial, i: int, gravity: float) -> tuple[np.ndarray, np.ndarray, float]:
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


def measured_start(
    model: Model, height: HeightOptions, trial: PoseTrial, z: np.ndarray, *, own_gravity: bool
) -> InitialState:
    """Start as measured; with own_gravity its v_z follows the model's gravity at z."""
    start, slopes = start_state(trial, height), {}
    if own_gravity:
        velocity = start.velocity.copy()
        velocity[2] += start.dvz_dg * (-model.gravity(z)[2] - height.gravity)
        by_gravity = np.zeros((12, 3))
        by_gravity[8, 2] = -start.dvz_dg
        start, slopes = replace(start, velocity=velocity), _gravity_slopes(model, z, by_gravity)
    return _initial(model, start, slopes=slopes)


def free_start(
    model: Model, height: HeightOptions, trial: PoseTrial, z: np.ndarray
) -> InitialState:
    """Start fitted to the flight before it, with its covariance (nuisance starts)."""
    start, covariance, by_gravity = precontact_fit(trial, model.gravity(z), height)
    slopes = _gravity_slopes(model, z, by_gravity)
    return _initial(model, start, covariance=covariance, slopes=slopes)


def _initial(model: Model, start: Start, **prior: Any) -> InitialState:
    """The tracked body at this start; prior: covariance and slopes of InitialState."""
    pose, twist = (start.position, start.orientation), (start.velocity, start.angular_velocity)
    return InitialState(model.config.body, *pose, *twist, **prior)


def _gravity_slopes(model: Model, z: np.ndarray, by_gravity: np.ndarray) -> dict[str, tuple]:
    """Slopes of a start by the parameters that set gravity: name -> (value, (12,)).

    by_gravity  (12, 3) change of (dc, dphi, dv, domega) with the model's gravity vector
    """
    parameters, engine = model.map, model.scene.engine
    jacobian = parameters.jacobian(z) / parameters.value_slopes(z)
    offsets, named = np.zeros((12, len(parameters.names))), parameters.named(z)
    for k, axis in enumerate("xyz"):
        index = engine.index(f"gravity.{axis}")
        if index in parameters.active:
            row = jacobian[parameters.active.index(index)]
            offsets += np.outer(by_gravity[:, k], row)
    columns = zip(parameters.names, offsets.T, strict=True)
    return {name: (named[name], column) for name, column in columns if column.any()}


def precontact_fit(
    trial: PoseTrial, gravity: ArrayLike, options: HeightOptions
) -> tuple[Start, np.ndarray, np.ndarray]:
    """Start fitted to the flight before it, covariance (12, 12) of (dc, dphi, dv, domega), slopes.

    The slopes (12, 3) are the derivatives of the fitted start by the gravity vector.

    gravity  of the model, recorded lengths [m/s^2] (3,). With fewer than four samples before the
    start its velocity is that of `start_state`, with the wide sigma FILE_SIGMA.
    """
    guess = start_state(trial, options)
    i = guess.sample
    sigma_p, sigma_r = trial.poses.sigma
    if i < MIN_FRAMES:
        wide = np.array([sigma_p, sigma_r, *FILE_SIGMA])
        return guess, np.diag(np.repeat(wide**2, 3)), np.zeros((12, 3))
    t = (trial.frames[: i + 1] - trial.frames[i]) * trial.dt
    position, velocity, line, falls = _line(trial.position[: i + 1], t, np.asarray(gravity, float))
    orientation, omega, turn = _turn(
        trial.orientation[: i + 1], t, guess.orientation, guess.angular_velocity
    )
    covariance = np.zeros((12, 12))
    covariance[np.ix_([0, 1, 2, 6, 7, 8], [0, 1, 2, 6, 7, 8])] = (
        np.kron(line, np.eye(3)) * sigma_p**2
    )
    rows = [3, 4, 5, 9, 10, 11]
    covariance[np.ix_(rows, rows)] = turn * sigma_r**2
    start = Start(i, position, orientation, velocity, omega, guess.dvz_dg, "refitted")
    by_gravity = np.zeros((12, 3))
    by_gravity[[0, 1, 2], [0, 1, 2]] = falls[0]
    by_gravity[[6, 7, 8], [0, 1, 2]] = falls[1]
    return start, 0.5 * (covariance + covariance.T), by_gravity


def _line(
    position: np.ndarray, t: np.ndarray, gravity: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Position and velocity at t = 0; at unit sigma their covariance (2, 2); slopes (2,) by g."""
    columns = np.stack([np.ones_like(t), t], axis=1)
    inverse = np.linalg.inv(columns.T @ columns)
    solved = inverse @ columns.T @ (position - 0.5 * gravity * t[:, None] ** 2)
    return solved[0], solved[1], inverse, -inverse @ columns.T @ (0.5 * t * t)


def _turn(
    orientation: np.ndarray, t: np.ndarray, q: np.ndarray, omega: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Orientation and world rate at t = 0, and the covariance (6, 6) of (dphi, domega)."""
    for _ in range(ROUNDS):
        predicted = quat_multiply(quat_exp(t[:, None] * omega), q)
        error = quat_log(quat_multiply(orientation, quat_conjugate(predicted)))
        # R(t) = exp(omega t) exp(dphi) R: world rotation of a change of (dphi, omega)
        turn = t[:, None] * omega
        by_rate = left_jacobian(turn) * t[:, None, None]
        by_phi = left_jacobian(turn) @ left_jacobian_inverse(-turn)
        J = np.concatenate([by_phi, by_rate], axis=2).reshape(-1, 6)
        inverse = np.linalg.inv(J.T @ J)
        change = inverse @ J.T @ error.ravel()
        q = quat_multiply(quat_exp(change[:3]), q)
        omega = omega + change[3:]
    return q / np.linalg.norm(q), omega, inverse
