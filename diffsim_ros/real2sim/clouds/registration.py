"""Where an object is at first, from its points alone: start values for an estimation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from ...errors import InputError
from ...sensing.clouds.cloud import Cloud

ROUNDS = 20
STILL = 1e-7  # [m], and of the size of the object for a turn
TRIMMED = 3.0  # median absolute distances


class RegisteredSurface(NamedTuple):
    """A surface put onto the points of one frame: x = turn @ vertices + place.

    turn (3, 3); place (3,) [m]; cosine (n,) between each point's ray and the surface behind it
    """

    turn: np.ndarray
    place: np.ndarray
    cosine: np.ndarray


def posed(
    vertices, triangles, cloud: Cloud, guess=None, turn=None, *, turning: bool = False
) -> RegisteredSurface:
    """Move a surface onto the side of it that a camera saw.

    Gauss-Newton on the points' distances to the nearest visible triangle, far ones left out.
    vertices (n, 3) [m], triangles (m, 3) about the object's origin; guess (3,), by default so
    that the middle of the surface is half its size behind the middle of the points; turn (3, 3)
    is the first orientation, which changes only if `turning`.
    """
    vertices, turn = np.asarray(vertices, float), np.eye(3) if turn is None else np.array(turn)
    if guess is None:
        middle = cloud.points.mean(axis=0)
        ray = (middle - cloud.eye) / np.linalg.norm(middle - cloud.eye)
        guess = middle + 0.3 * np.ptp(vertices, axis=0).mean() * ray
        guess = guess - turn @ vertices.mean(axis=0)
    place, size = np.array(guess, float), np.ptp(vertices, axis=0).mean()
    # first with all points: a whole face may be far at first
    for trimmed in (np.inf, TRIMMED):
        for _ in range(ROUNDS):
            normal, away = _distances(vertices @ turn.T + place, triangles, cloud)
            near = np.abs(away) <= trimmed * (np.median(np.abs(away)) + 1e-12)
            columns = normal
            if turning:
                columns = np.hstack([normal, np.cross(cloud.points - place, normal) / size])
            step, *_ = np.linalg.lstsq(columns[near], away[near], rcond=1e-6)
            place = place + step[:3]
            if turning:
                turn = Rotation.from_rotvec(step[3:] / size).as_matrix() @ turn
            if np.abs(step).max() < STILL:
                break
    normal, _ = _distances(vertices @ turn.T + place, triangles, cloud)
    ray = cloud.points - cloud.eye
    ray /= np.linalg.norm(ray, axis=1, keepdims=True)
    return RegisteredSurface(turn, place, np.abs(np.einsum("ni,ni->n", ray, normal)))


def registered(vertices, triangles, cloud: Cloud, guess=None) -> np.ndarray:
    """Translation (3,) [m] alone of `posed`."""
    return posed(vertices, triangles, cloud, guess).place


def _distances(x, triangles, cloud):
    """Normals (n, 3) of the visible triangles that are nearest, and heights (n,) above them."""
    from ... import _engine

    triangle, weights, _ = _engine.nearest_on_surface(
        x[None], triangles, cloud.points, [0] * len(cloud), cloud.eye
    )
    at = x[np.asarray(triangles)[triangle]]
    normal = np.cross(at[:, 1] - at[:, 0], at[:, 2] - at[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    foot = np.einsum("nc,nci->ni", weights, at)
    return normal, np.einsum("ni,ni->n", normal, cloud.points - foot)


def followed(
    vertices, triangles, clouds: Sequence[Cloud], turn, *, turning: bool = False
) -> list[RegisteredSurface]:
    """The surface put onto every frame in turn, its orientation starting from `turn` (3, 3).

    A turning object is expected to go on turning as it did between the last two frames.
    """
    found: list[RegisteredSurface] = []
    for cloud in clouds:
        expected = turn
        if turning and len(found) > 1:
            expected = found[-1].turn @ found[-2].turn.T @ found[-1].turn
        elif found:
            expected = found[-1].turn
        found.append(posed(vertices, triangles, cloud, None, expected, turning=turning))
    return found


def free_frames(
    found: Sequence[RegisteredSurface],
    gap: Callable[[RegisteredSurface], float],
    clear: float,
    t: Sequence[float],
    gravity: np.ndarray,
) -> int:
    """How many frames from the first on are of one flight.

    It ends before the first frame nearer than `clear` [m] to anything (gap: nearest distance), and
    before the first that the flight so far would reach nearer than that: a bounce between two
    frames is seen in neither.  t (n,) [s], gravity (3,) [m/s^2].
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


def free_flight(t: Sequence[float], places, gravity) -> tuple[np.ndarray, np.ndarray, float]:
    """Place and velocity (3,) at time 0 of a flight, and the rms of what is left [m].

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


def flight_acceleration(t: Sequence[float], places) -> tuple[np.ndarray, float]:
    """Constant acceleration (3,) of a flight [m/s^2], and its standard deviation along an axis.

    t (n,) [s], places (n, 3) [m]; at least 4, as one frame must be left to tell the noise from.
    """
    t, places = np.asarray(t, float), np.asarray(places, float)
    matrix = np.column_stack([np.ones(len(t)), t, 0.5 * t**2])
    found, *_ = np.linalg.lstsq(matrix, places, rcond=None)
    left = places - matrix @ found
    noise = np.sqrt(np.sum(left**2) / (3 * (len(t) - 3)))
    return found[2], float(noise * np.sqrt(np.linalg.inv(matrix.T @ matrix)[2, 2]))


def free_spin(t: Sequence[float], turns) -> tuple[np.ndarray, np.ndarray]:
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
