"""What free flight says about a recording: direction and size of gravity, hence axes and units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .observation import PoseTrial

WINDOW = 8
"""Samples at the beginning of a toss that are taken for free flight."""
MAX_ANGLE = np.radians(20.0)
"""Accepted angle between the measured acceleration and the world's gravity [rad]."""
SIZE_RANGE = (0.75, 1.33)
"""Accepted ratio of the measured acceleration to the world's gravity."""


@dataclass(frozen=True)
class Flight:
    """Acceleration [m/s^2] in the first samples of every toss, (n, 3), and their median (3,)."""

    per_trial: np.ndarray
    median: np.ndarray
    spread: np.ndarray


def free_flight(trials: Sequence[PoseTrial]) -> Flight:
    """Least-squares accelerations over the first samples of each toss, in recorded units."""
    rows = []
    for trial in trials:
        t = trial.frames[:WINDOW] * trial.dt
        columns = np.stack([np.ones_like(t), t, 0.5 * t * t], axis=1)
        rows.append(np.linalg.lstsq(columns, trial.position[:WINDOW], rcond=None)[0][2])
    per_trial = np.array(rows)
    median = np.median(per_trial, axis=0)
    # robust standard error of the median: tosses that start in contact do not count
    deviation = 1.4826 * np.median(np.abs(per_trial - median), axis=0)
    return Flight(per_trial, median, 1.2533 * deviation / np.sqrt(len(per_trial)))


def check_gravity(trials: Sequence[PoseTrial], gravity: Sequence[float] | np.ndarray) -> Flight:
    """Refuse recordings whose free flight contradicts the world's gravity [m/s^2] (3,).

    Raises InputError naming the source and a toss: another axis is up, millimetres, g's, or a
    recording without free flight. Single tosses are not judged (some begin in contact).
    """
    flight = free_flight(trials)
    gravity = np.asarray(gravity, dtype=float)
    g, size = float(np.linalg.norm(gravity)), float(np.linalg.norm(flight.median))
    if g == 0.0:
        return flight
    slack = 4.0 * np.linalg.norm(flight.spread)
    worst = int(np.argmin(np.linalg.norm(flight.per_trial - flight.median, axis=1)))
    place = trials[worst].place
    key = f"sample 0 to {WINDOW - 1}, acceleration in free flight (median of {len(trials)} tosses)"
    got = "({:.3g}, {:.3g}, {:.3g}) m/s^2".format(*flight.median)
    world = "({:.4g}, {:.4g}, {:.4g}) m/s^2".format(*gravity)
    if not SIZE_RANGE[0] * g - slack <= size <= SIZE_RANGE[1] * g + slack:
        ratio = size / g
        remedy = "the tosses do not begin in free flight"
        if ratio > 2.0:
            unit = "millimetres" if ratio > 200.0 else "centimetres" if ratio > 20.0 else "metres"
            remedy = f"it is {ratio:.3g} times too large: are positions in {unit}, and dt in s?"
        raise InputError(place, key, got, f"about the world's gravity {world}", remedy)
    angle = np.arccos(np.clip(flight.median @ gravity / (g * max(size, 1e-12)), -1.0, 1.0))
    if angle > MAX_ANGLE + slack / g:
        axis = int(np.argmax(np.abs(flight.median)))
        up = ("-" if flight.median[axis] > 0 else "") + "XYZ"[axis]
        remedy = f"the recording is {up}-up: turn it, or set the world's gravity"
        raise InputError(place, key, got, f"parallel to the world's gravity {world}", remedy)
    return flight
