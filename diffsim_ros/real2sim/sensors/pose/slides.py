"""Slides and rolls: recordings without a flight that begin in motion and end at rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....sensing.check import Examined
from ....sensing.resting import rests

BRAKES = 0.9
"""What slides is fastest at first: its later speeds stay below the first over this."""
SPAN = 0.1
"""A speed [m/s] is taken over so long [s]."""
SLOW = 0.1
"""And is that of a slide from here on [m/s]."""
LEVEL = 0.02
"""Heights of a slide differ by at most this [m]."""


def all_slide(examined: Sequence[Examined]) -> bool:
    """Whether every trial slides or rolls on level ground until it rests, touched by nothing else.

    Lengths are taken for metres and z for up, as no flight shows them.
    """
    return all(_slides(one) for one in examined)


def _slides(one: Examined) -> bool:
    if one.gravity is not None or one.refusal is not None or not np.isfinite(one.clock.dt):
        return False
    stream, trial = one.stream, one.clock.trial
    path = stream.position[:, 0]
    begins, _ = rests(stream.t, path, trial, one.clock.dt, 1.0)
    if len(begins) < len(one.clock.trials):
        return False
    for number in one.clock.trials:
        own = (trial == number) & np.isfinite(path).all(axis=1)
        t, p = stream.t[own], path[own]
        if np.ptp(p[:, 2]) > LEVEL:
            return False
        edges = np.arange(t[0], t[-1], SPAN)
        at = np.searchsorted(t, edges)
        if len(at) < 3:
            return False
        speed = np.linalg.norm(np.diff(p[at], axis=0), axis=1) / np.diff(t[at])
        if speed[0] < SLOW or speed[1:].max() > speed[0] / BRAKES:
            return False
    return True
