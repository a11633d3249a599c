"""What is measured of a marker's curve, of recordings and of simulations alike.

A released body swings about its new rest: from some time after the release on,

    y(t) = offset + exp(-decay t) (a cos(2 pi f t) + b sin(2 pi f t)),                        (1)

fitted by least squares; a and b follow from the others (variable projection).  offset minus the
mean before the release is the static deflection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from ...errors import InputError

BEFORE = 20
"""Frames at the beginning whose mean is the place from which motion counts."""
LEAST = 12
"""Samples that a damped sinusoid needs."""
DECAYS = (0.1, 0.3, 1.0, 3.0)
"""Decays from which a fit starts, in units of one over the span of the samples, times ten."""


@dataclass(frozen=True)
class Oscillation:
    """Damped sinusoid (1), t from its first sample on.

    offset [m], frequency [Hz], decay [1/s], amplitude [m] at the first sample, rms [m] of what is
    left; curve: its values at the samples (n,)
    """

    offset: float
    frequency: float
    decay: float
    amplitude: float
    rms: float
    curve: np.ndarray


def release_frame(place: str, position: np.ndarray, distance: float) -> int:
    """First frame in which a marker (n, 3) is further than `distance` [m] from where it was held.

    Raises InputError if it moves at once, or never.
    """
    held = np.nanmean(position[:BEFORE], axis=0)
    moved = np.flatnonzero(np.linalg.norm(position - held, axis=1) > distance)
    if not len(moved):
        rule = f"a motion of more than {distance:g} m"
        raise InputError(place, "release", "none", rule, "is the right marker named?")
    if moved[0] < BEFORE:
        rule = f"at least {BEFORE} frames at rest before the release"
        raise InputError(place, "release", f"frame {moved[0]}", rule)
    return int(moved[0])


def crossing(t: np.ndarray, position: np.ndarray, held: np.ndarray, distance: float) -> float:
    """Time [s] at which a marker (n, 3) passes `distance` [m] from `held`, between two frames.

    The root of the distance is nearly linear in time after a release from rest: interpolated so.
    """
    root = np.sqrt(np.linalg.norm(position - held, axis=1))
    k = int(np.argmax(root > np.sqrt(distance)))
    if k == 0:
        return float(t[0])
    share = (np.sqrt(distance) - root[k - 1]) / (root[k] - root[k - 1])
    return float(t[k - 1] + share * (t[k] - t[k - 1]))


def damped_sinusoid(place: str, t: np.ndarray, y: np.ndarray) -> Oscillation:
    """Least-squares fit of (1) to samples y [m] (n,) at times t [s]; NaN samples do not count."""
    seen = np.isfinite(y)
    if seen.sum() < LEAST:
        raise InputError(place, "samples", int(seen.sum()), f"at least {LEAST} to fit a swing to")
    time = t - t[seen][0]
    x, values = time[seen], y[seen]

    def columns(rates, at):
        wave = np.exp(-rates[0] * at)
        phase = rates[1] * at
        return np.stack([np.ones_like(at), wave * np.cos(phase), wave * np.sin(phase)], axis=1)

    def left(rates):
        basis = columns(rates, x)
        return basis @ np.linalg.lstsq(basis, values, rcond=None)[0] - values

    span = x[-1]
    slow, fast = 2 * np.pi * 1.5 / span, np.pi / np.median(np.diff(x))
    grid = [
        (d * 10 / span, w) for w in np.arange(slow, 0.9 * fast, 0.5 * np.pi / span) for d in DECAYS
    ]
    start = min(grid, key=lambda rates: np.sum(left(rates) ** 2))
    found = least_squares(left, start, x_scale=(1.0 / span, 1.0 / span), xtol=1e-12, ftol=1e-12)
    basis = columns(found.x, x)
    offset, a, b = np.linalg.lstsq(basis, values, rcond=None)[0]
    return Oscillation(
        float(offset),
        float(abs(found.x[1]) / (2 * np.pi)),
        float(found.x[0]),
        float(np.hypot(a, b)),
        float(np.sqrt(np.mean(found.fun**2))),
        columns(found.x, time) @ (offset, a, b),
    )
