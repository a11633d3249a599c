"""Free flight and rest in a recording: measured gravity, hence axes and units, and the ground.

In free flight the acceleration is always the same; hands, impacts and friction give others each
time.  So the acceleration that most windows of a few samples share is gravity, in recorded units
and axes, wherever the flights are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .observation import PoseTrial

G = 9.81
GRAVITY = (0.0, 0.0, -G)
UNITS = {"m": 1.0, "cm": 100.0, "mm": 1000.0}
SIZE_RANGE = (0.75, 1.33)
"""Accepted ratio of a measured acceleration to gravity."""
MAX_ANGLE = np.radians(20.0)
"""Accepted angle between the measured acceleration and the world's gravity [rad]."""
WINDOW, SPAN = 8, 0.05
"""Fewest samples of a window, and those at the beginning of a toss that are taken for free flight;
least duration [s] of a window."""
LONGEST = 41
"""Most samples of a window; at very high rates it is shorter than SPAN."""
SHARED = 0.1
"""Windows whose accelerations differ by less than this share of it have the same one."""
CENTRES = 200
"""Windows at most whose accelerations are tried as the shared one."""
TILT = np.radians(1.0)
"""Angle between up and an axis that is not distinguished from none."""
REST = 0.003
"""Distance [m] within which a body that rests stays during a window."""


@dataclass(frozen=True)
class Gravity:
    """Acceleration in free flight, (3,), with its standard deviation, in recorded units.

    flights  number of flights;  seconds: their length altogether
    unit     the unit of length in which it is about 9.81 m/s^2, "" if none
    spans    (first, last) sample of each flight
    """

    acceleration: np.ndarray
    sigma: np.ndarray
    flights: int
    seconds: float
    spans: tuple[tuple[int, int], ...]

    @property
    def size(self) -> float:
        """Magnitude."""
        return float(np.linalg.norm(self.acceleration))

    @property
    def unit(self) -> str:
        """Unit of length in which the magnitude is about that of gravity, "" if in none."""
        for unit, factor in UNITS.items():
            if SIZE_RANGE[0] < self.size / (G * factor) < SIZE_RANGE[1]:
                return unit
        return ""

    @property
    def up(self) -> np.ndarray:
        """Unit vector against gravity (3,)."""
        return -self.acceleration / self.size

    @property
    def axis(self) -> str:
        """Axis nearest to up, e.g. "+z"."""
        k = int(np.argmax(np.abs(self.up)))
        return ("+" if self.up[k] > 0 else "-") + "xyz"[k]

    @property
    def tilt(self) -> float:
        """Angle [rad] between up and that axis."""
        return float(np.arccos(np.clip(np.abs(self.up).max(), -1.0, 1.0)))

    @property
    def upright(self) -> np.ndarray:
        """Up (3,): the axis nearest to it, unless it is tilted by more than its noise and TILT."""
        if self.tilt > max(TILT, 3.0 * float(np.linalg.norm(self.sigma)) / self.size):
            return self.up
        k = int(np.argmax(np.abs(self.up)))
        return np.sign(self.up[k]) * np.eye(3)[k]


@dataclass(frozen=True)
class Windows:
    """Parabolas through windows of samples: first sample, acceleration (k, 3), its sigma (k,)."""

    first: np.ndarray
    length: int
    acceleration: np.ndarray
    sigma: np.ndarray
    spread: np.ndarray


def _parabola(s: np.ndarray) -> np.ndarray:
    """Columns (..., 3) of place, velocity and acceleration at times s."""
    return np.stack([np.ones_like(s), s, 0.5 * s * s], axis=-1)


def windows(t: np.ndarray, p: np.ndarray, trial: np.ndarray, dt: float) -> Windows:
    """All windows of a path p (n, 3) that lie in one trial, without missing samples."""
    w = int(np.clip(np.ceil(SPAN / dt) + 1, WINDOW, LONGEST)) if dt > 0 else WINDOW
    if len(t) < w:
        return Windows(np.zeros(0, int), w, *(np.zeros((0, 3)), np.zeros(0), np.zeros(0)))
    view = np.lib.stride_tricks.sliding_window_view
    T, P = view(t, w), view(p, w, axis=0).transpose(0, 2, 1)
    good = (trial[w - 1 :] == trial[: len(trial) - w + 1]) & np.isfinite(P).all(axis=(1, 2))
    good &= (np.diff(T, axis=1) > 0).all(axis=1) & (T[:, -1] - T[:, 0] < 2.0 * w * dt)
    first = np.flatnonzero(good)
    T, P = T[good], P[good]
    s = T - T.mean(axis=1, keepdims=True)
    A = _parabola(s)
    inverse = np.linalg.inv(A.transpose(0, 2, 1) @ A) if len(s) else np.zeros((0, 3, 3))
    solved = inverse @ (A.transpose(0, 2, 1) @ P)
    noise = np.sum((P - A @ solved) ** 2, axis=(1, 2)) / (3 * w - 9)
    spread = np.ptp(P, axis=1).max(axis=1) if len(s) else np.zeros(0)
    return Windows(first, w, solved[:, 2], np.sqrt(noise * inverse[:, 2, 2]), spread)


def gravity_of(
    t: np.ndarray, p: np.ndarray, trial: np.ndarray, dt: float, *, strict: bool = False
) -> Gravity | None:
    """Acceleration that flights share, None if there is none.

    strict  only one that is about 9.81 m/s^2 in m, cm or mm counts (a soft body's swing has
            windows of one acceleration too); else three flights that agree suffice
    """
    found = windows(t, p, trial, dt)
    size = np.linalg.norm(found.acceleration, axis=1)
    moving = np.flatnonzero(size > 6.0 * found.sigma)
    if not len(moving):
        return None
    a = found.acceleration[moving]
    centres = a[:: max(1, len(a) // CENTRES)]
    if strict:
        centres = centres[_like_gravity(np.linalg.norm(centres, axis=1))]
    if not len(centres):
        return None
    groups = (np.linalg.norm(a - c, axis=1) < SHARED * np.linalg.norm(c) for c in centres)
    centre = np.median(a[max(groups, key=np.count_nonzero)], axis=0)
    members = np.linalg.norm(found.acceleration - centre, axis=1) < SHARED * np.linalg.norm(centre)
    result = _flights(t, p, trial, found, members)
    if result is None or (not result.unit and (strict or result.flights < 3)):
        return None
    return result


def _like_gravity(size: np.ndarray) -> np.ndarray:
    ratios = size[:, None] / (G * np.array(list(UNITS.values())))
    return np.any((ratios > SIZE_RANGE[0]) & (ratios < SIZE_RANGE[1]), axis=1)


def _flights(
    t: np.ndarray, p: np.ndarray, trial: np.ndarray, found: Windows, members: np.ndarray
) -> Gravity | None:
    """Runs of windows of the same acceleration, fitted again as a whole."""
    index = found.first[members]
    if not len(index):
        return None
    cuts = np.flatnonzero((np.diff(index) > 1) | (trial[index[1:]] != trial[index[:-1]])) + 1
    spans, fits, weights = [], [], []
    for run in np.split(index, cuts):
        if len(run) < found.length // 2:
            continue
        rows = slice(int(run[0]), int(run[-1]) + found.length)
        s = t[rows] - t[rows].mean()
        A = _parabola(s)
        solved, *_ = np.linalg.lstsq(A, p[rows], rcond=None)
        noise = np.sum((p[rows] - A @ solved) ** 2, axis=0) / (len(s) - 3)
        spans.append((rows.start, rows.stop - 1))
        fits.append(solved[2])
        weights.append(noise * np.linalg.inv(A.T @ A)[2, 2])
    if not fits:
        return None
    fitted, variance = np.array(fits), np.array(weights)
    middle = np.median(fitted, axis=0)
    if len(fitted) > 2:
        deviation = 1.4826 * np.median(np.abs(fitted - middle), axis=0)
        sigma = 1.2533 * deviation / np.sqrt(len(fits))
    else:
        sigma = np.sqrt(variance.mean(axis=0) / len(fits))
    seconds = sum(float(t[b] - t[a]) for a, b in spans)
    return Gravity(middle, sigma, len(fits), seconds, tuple(spans))


def resting(
    t: np.ndarray, p: np.ndarray, trial: np.ndarray, dt: float, up: np.ndarray, metre: float
) -> tuple[np.ndarray, np.ndarray]:
    """Height along `up` at the last rest of every trial that has one, and the trials' numbers.

    p (n, 3) and the heights in recorded units; metre: how many of them are a metre.
    """
    found = windows(t, p, trial, dt)
    still = found.first[found.spread < REST * metre]
    heights, numbers = [], []
    for number in np.unique(trial[still]):
        last = still[trial[still] == number][-1]
        rows = p[last : last + found.length]
        heights.append(float(np.median(rows @ up)))
        numbers.append(int(number))
    return np.array(heights), np.array(numbers, int)


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
        rows.append(np.linalg.lstsq(_parabola(t), trial.position[:WINDOW], rcond=None)[0][2])
    per_trial = np.array(rows)
    median = np.median(per_trial, axis=0)
    # robust standard error of the median: tosses that start in contact do not count
    deviation = 1.4826 * np.median(np.abs(per_trial - median), axis=0)
    return Flight(per_trial, median, 1.2533 * deviation / np.sqrt(len(per_trial)))


def check_gravity(trials: Sequence[PoseTrial], gravity: Sequence[float] | np.ndarray) -> Flight:
    """Refuse recordings whose free flight contradicts the world's gravity [m/s^2] (3,).

    Raises InputError naming the source and a toss: another axis is up, millimetres, g's, or a
    recording without free flight. Single tosses are not checked (some begin in contact).
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
