"""Where an object is at first, from its points alone: start values for an estimation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import InputError
from .cloud import Cloud

ROUNDS = 20
STILL = 1e-7  # [m]
TRIMMED = 3.0  # median absolute distances


def placed(vertices, triangles, cloud: Cloud, guess=None) -> np.ndarray:
    """Translation (3,) [m] that brings a surface onto the side of it that a camera saw.

    Gauss-Newton on the points' distances to the nearest visible triangle, far ones left out.
    vertices (n, 3) [m], triangles (m, 3) about the object's origin; guess (3,), by default so
    that the middle of the surface is half its size behind the middle of the points.
    """
    from ... import _engine

    vertices = np.asarray(vertices, float)
    if guess is None:
        middle = cloud.points.mean(axis=0)
        ray = (middle - cloud.eye) / np.linalg.norm(middle - cloud.eye)
        guess = middle + 0.3 * np.ptp(vertices, axis=0).mean() * ray - vertices.mean(axis=0)
    place = np.array(guess, float)
    frame = [0] * len(cloud)
    for _ in range(ROUNDS):
        x = vertices + place
        triangle, weights, _ = _engine.nearest_on_surface(
            x[None], triangles, cloud.points, frame, cloud.eye
        )
        at = x[np.asarray(triangles)[triangle]]
        normal = np.cross(at[:, 1] - at[:, 0], at[:, 2] - at[:, 0])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        away = np.einsum("ni,ni->n", normal, cloud.points - np.einsum("nc,nci->ni", weights, at))
        near = np.abs(away) <= TRIMMED * np.median(np.abs(away)) + 1e-12
        step, *_ = np.linalg.lstsq(normal[near], away[near], rcond=1e-6)
        place += step
        if np.abs(step).max() < STILL:
            break
    return place


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
