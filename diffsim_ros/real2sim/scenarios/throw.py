"""Starts of throws: the frames of free flight, and place, velocity, orientation and spin in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from ...errors import InputError
from ..sensors.cloud.detections import RegisteredSurface


def free_frames(
    found: Sequence[RegisteredSurface],
    gap: Callable[[RegisteredSurface], float],
    clear: float,
    t: np.ndarray,
    gravity: np.ndarray,
) -> int:
    """Number of frames from the first on that are of one flight.

    It ends before the first frame nearer than `clear` [m] to anything (gap: nearest distance), and
    before the first that the flight so far would reach nearer than that: a bounce between two
    frames shows in neither.  t (n,) [s], gravity (3,) [m/s^2].
    """
    for count, one in enumerate(found):
        if gap(one) < clear:
            return count
        if count >= 3:
            places = [before.place for before in found[:count]]
            start, velocity, _ = free_flight(t[:count], places, gravity)
            ahead = start + t[count] * velocity + 0.5 * t[count] ** 2 * gravity
            if gap(one._replace(place=ahead)) < clear:
                return count
    return len(found)


def free_flight(
    t: ArrayLike, places: ArrayLike, gravity: ArrayLike
) -> tuple[np.ndarray, np.ndarray, float]:
    """Place and velocity (3,) at time 0 of a flight, and the rms of the residuals [m].

    t (n,) [s], places (n, 3) [m], gravity (3,) [m/s^2]; at least 3 places (InputError).
    """
    t, places = np.asarray(t, float), np.asarray(places, float)
    if len(t) < 3:
        raise InputError("flight", "places", len(t), "at least 3 before the first contact")
    free = places - 0.5 * t[:, None] ** 2 * np.asarray(gravity, float)
    matrix = np.column_stack([np.ones(len(t)), t])
    (start, velocity), *_ = np.linalg.lstsq(matrix, free, rcond=None)
    left = free - matrix @ np.stack([start, velocity])
    return start, velocity, float(np.sqrt(np.mean(left**2)))


def flight_acceleration(t: ArrayLike, places: ArrayLike) -> tuple[np.ndarray, float]:
    """Constant acceleration (3,) of a flight [m/s^2], and its standard deviation along an axis.

    t (n,) [s], places (n, 3) [m]; at least 4, as the noise needs one frame more than the fit.
    """
    t, places = np.asarray(t, float), np.asarray(places, float)
    matrix = np.column_stack([np.ones(len(t)), t, 0.5 * t**2])
    found, *_ = np.linalg.lstsq(matrix, places, rcond=None)
    left = places - matrix @ found
    noise = np.sqrt(np.sum(left**2) / (3 * (len(t) - 3)))
    return found[2], float(noise * np.sqrt(np.linalg.inv(matrix.T @ matrix)[2, 2]))


def free_spin(t: ArrayLike, turns: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Orientation (3, 3) at time 0 and constant angular velocity (3,) [rad/s, world] of a flight.

    t (n,) [s], turns (n, 3, 3), less than half a revolution from one to the next: the mean of
    those steps, and least squares of what it leaves; the middle one is left as it is.
    """
    t, turns = np.asarray(t, float), np.asarray(turns, float)
    k, away = len(t) // 2, t - t[len(t) // 2]
    steps = Rotation.from_matrix(turns[1:] @ turns[:-1].transpose(0, 2, 1)).as_rotvec()
    mean = steps.sum(axis=0) / (t[-1] - t[0])
    back = Rotation.from_rotvec(-away[:, None] * mean).as_matrix()
    vectors = Rotation.from_matrix(turns @ turns[k].T @ back).as_rotvec()
    matrix = np.column_stack([np.ones(len(t)), away])
    (offset, more), *_ = np.linalg.lstsq(matrix, vectors, rcond=None)
    spin = mean + more
    turned = Rotation.from_rotvec(offset) * Rotation.from_rotvec(-t[k] * spin)
    return turned.as_matrix() @ turns[k], spin
