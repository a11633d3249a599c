"""Rests: where the body of a recording comes to lie at the end of a trial."""

from __future__ import annotations

import numpy as np

from .flight import SPAN, noise_of, windows

REST = 0.003
"""Distance [m] within which a body that rests stays during a window."""


def rests(
    t: np.ndarray, p: np.ndarray, trial: np.ndarray, dt: float, metre: float
) -> tuple[np.ndarray, int]:
    """First samples of the last rest of every trial that has one, and how many samples it has.

    p (n, 3) in recorded units; metre: how many of them are a metre.
    """
    noise = noise_of(t, p, trial, dt)
    found = windows(t, p, trial, dt, SPAN if 5.0 * noise < REST * metre else 3.0 * SPAN)
    still = found.first[found.spread < REST * metre + 5.0 * noise]
    last = [still[trial[still] == number][-1] for number in np.unique(trial[still])]
    return np.array(last, int), found.length


def resting(
    t: np.ndarray, p: np.ndarray, trial: np.ndarray, dt: float, up: np.ndarray, metre: float
) -> tuple[np.ndarray, np.ndarray]:
    """Height along `up` at the last rest of every trial that has one, and the trials' numbers.

    p (n, 3) and the heights in recorded units; metre: how many of them are a metre.
    """
    begins, length = rests(t, p, trial, dt, metre)
    heights = [float(np.median(p[begin : begin + length] @ up)) for begin in begins]
    return np.array(heights), trial[begins].astype(int)
