"""The start of a toss from its free flight: 12 numbers and their covariance [nuisance starts].

Position follows x0 + v t + g t^2/2 with known gravity and rotation a constant world rate (exact for
isotropic inertia); both are fitted to the samples up to the start, which are then no residuals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..rotation import (
    left_jacobian,
    left_jacobian_inverse,
    quat_conjugate,
    quat_exp,
    quat_log,
    quat_multiply,
)
from ..sensing.observation import PoseTrial
from .metric import MIN_FRAMES, MetricOptions, Start, start_state

FILE_SIGMA = (0.05, 0.5)
"""Standard deviation of a start velocity that is not fitted [m/s], [rad/s]."""
ROUNDS = 4


def precontact_fit(
    trial: PoseTrial, gravity: Sequence[float], options: MetricOptions
) -> tuple[Start, np.ndarray, np.ndarray]:
    """Start fitted to the flight before it, covariance (12, 12) of (dc, dphi, dv, domega), slopes.

    The slopes (12, 3) say how the fitted start changes with the gravity vector.

    gravity  of the model, recorded lengths [m/s^2] (3,). With fewer than four samples before the
    start its velocity is that of the metric, with the wide sigma FILE_SIGMA.
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


def _line(position: np.ndarray, t: np.ndarray, gravity: np.ndarray):
    """Position and velocity at t = 0; at unit sigma their covariance (2, 2); slopes (2,) by g."""
    columns = np.stack([np.ones_like(t), t], axis=1)
    inverse = np.linalg.inv(columns.T @ columns)
    solved = inverse @ columns.T @ (position - 0.5 * gravity * t[:, None] ** 2)
    return solved[0], solved[1], inverse, -inverse @ columns.T @ (0.5 * t * t)


def _turn(orientation, t, q, omega):
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
