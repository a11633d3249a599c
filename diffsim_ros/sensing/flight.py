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
UNIT_RANGE = (0.85, 1.18)
"""Ratio of whole flights' acceleration to gravity that shows a unit: trackers' metres are no worse.
A swing's windows may have any."""
MAX_ANGLE = np.radians(20.0)
"""Accepted angle between the measured acceleration and the world's gravity [rad]."""
WINDOW, SPAN = 8, 0.05
"""Fewest samples of a window, and those at the beginning of a toss that are taken for free flight;
least duration [s] of a window."""
SPANS = (SPAN, 0.075, 0.1, 0.15, 0.2, 0.3)
"""Durations [s] of windows in which gravity is searched, one after the other."""
PRECISE = 0.08
"""Largest relative standard deviation of an acceleration that counts."""
MISFIT, ROUND = 4.0, 0.05
"""A window is a parabola if its residuals are below MISFIT times the noise, and ROUND of its
sagitta."""
BEND = 1e-3
"""Least sagitta of a window of a flight, as a share of the recording's extent."""
FLIGHT = 0.1
"""Least duration [s] of the longest flight of markers: a swing keeps no acceleration so long."""
SWINGS = -0.8
"""Rank correlation of acceleration and place from which down a body swings about an equilibrium; in
flight its acceleration is the same everywhere."""
FALLS = 0.25
"""A flight ends falling: with so large a share of the speed that gravity gave in it, or more."""
APART, RIVAL = np.cos(np.radians(30.0)), 0.5
"""Accelerations whose directions have a lesser cosine are two; a second one that so large a share
of windows has contradicts the first."""
SHARED = 0.1
"""Windows whose accelerations differ by less than this share of it have the same one."""
CENTRES = 200
"""Windows at most whose accelerations are tried as the shared one."""
TILT = np.radians(1.0)
"""Angle between up and an axis that is not distinguished from none."""
NOISY = 0.3
"""Relative uncertainty of the first samples' acceleration beyond which more samples are taken."""
THIRD = 3.0
"""Standard deviations of a cubic (of three axes together) that a parabola may have by chance."""


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
            if UNIT_RANGE[0] < self.size / (G * factor) < UNIT_RANGE[1]:
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
    """Parabolas through windows of samples: first sample, acceleration (k, 3), its sigma (k,).

    length, stride  of the windows, in samples;  misfit (k,): root mean square of their residuals
    """

    first: np.ndarray
    length: int
    stride: int
    acceleration: np.ndarray
    sigma: np.ndarray
    misfit: np.ndarray
    spread: np.ndarray


def _parabola(s: np.ndarray) -> np.ndarray:
    """Columns (..., 3) of place, velocity and acceleration at times s."""
    return np.stack([np.ones_like(s), s, 0.5 * s * s], axis=-1)


def noise_of(t: np.ndarray, p: np.ndarray, trial: np.ndarray, dt: float) -> float:
    """Standard deviation of the noise of a path p (n, 3), per axis; 0 where it is too short.

    Fourth differences of neighbours, median: smooth motion has next to none.
    """
    if len(t) < 5:
        return 0.0
    even = np.abs(np.diff(t) - dt) < 0.3 * dt
    whole = (trial[4:] == trial[:-4]) & even[:-3] & even[1:-2] & even[2:-1] & even[3:]
    fourth = (p[4:] - 4 * p[3:-1] + 6 * p[2:-2] - 4 * p[1:-3] + p[:-4])[whole]
    fourth = fourth[np.isfinite(fourth).all(axis=1)]
    if not len(fourth):
        return 0.0
    return float(1.4826 * np.median(np.abs(fourth), axis=0).max() / np.sqrt(70.0))


def windows(
    t: np.ndarray,
    p: np.ndarray,
    trial: np.ndarray,
    dt: float,
    span: float = SPAN,
    noise: float = 0.0,
) -> Windows:
    """Windows of a path p (n, 3) that lie in one trial, without missing samples.

    span [s], long windows begin at every sixteenth of one;  noise: at least that of a place
    """
    w = max(int(np.ceil(span / dt - 1e-9)) + 1, WINDOW) if dt > 0 else WINDOW
    stride = max(1, w // 16)
    if len(t) < w:
        empty = np.zeros(0)
        return Windows(np.zeros(0, int), w, stride, np.zeros((0, 3)), empty, empty, empty)
    view = np.lib.stride_tricks.sliding_window_view
    T = view(t, w)[::stride]
    P = view(p, w, axis=0)[::stride].transpose(0, 2, 1)
    good = (trial[w - 1 :] == trial[: len(trial) - w + 1])[::stride]
    good &= np.isfinite(P).all(axis=(1, 2))
    good &= (np.diff(T, axis=1) > 0).all(axis=1) & (T[:, -1] - T[:, 0] < 2.0 * w * dt)
    first = stride * np.flatnonzero(good)
    T, P = T[good], P[good]
    s = T - T.mean(axis=1, keepdims=True)
    A = _parabola(s)
    inverse = np.linalg.inv(A.transpose(0, 2, 1) @ A) if len(s) else np.zeros((0, 3, 3))
    solved = inverse @ (A.transpose(0, 2, 1) @ P)
    square = np.sum((P - A @ solved) ** 2, axis=(1, 2)) / (3 * w - 9)
    spread = np.ptp(P, axis=1).max(axis=1) if len(s) else np.zeros(0)
    misfit = np.sqrt(square)
    return Windows(
        first, w, stride, solved[:, 2],
        np.maximum(misfit, noise) * np.sqrt(inverse[:, 2, 2]), misfit, spread,
    )  # fmt: skip


def gravity_of(
    t: np.ndarray, p: np.ndarray, trial: np.ndarray, dt: float, *, strict: bool = False
) -> Gravity | None:
    """Acceleration that flights share, None if there is none.

    Windows are as long as the noise of the data needs (SPANS): the shortest that show gravity.

    strict  only one that is about 9.81 m/s^2 in m, cm or mm counts (a soft body's swing has
            windows of one acceleration too); else three flights that agree suffice
    """
    noise = noise_of(t, p, trial, dt)
    known = np.isfinite(p).all(axis=1)
    extent = float(np.linalg.norm(np.ptp(p[known], axis=0))) if known.any() else 0.0
    best = other = None
    for span in SPANS:
        found = windows(t, p, trial, dt, span, noise)
        size = np.linalg.norm(found.acceleration, axis=1)
        bend = size * ((found.length - 1) * dt) ** 2 / 8.0
        # precise, a parabola, and no creep of what is at rest
        fits = (found.sigma < PRECISE * size) & (bend > BEND * extent)
        fits &= found.misfit < MISFIT * noise + ROUND * bend
        if not fits.any():
            continue
        like = fits & _like_gravity(size)
        result = _shared(t, p, trial, found, like)
        if result is not None and result.unit:
            longest = max(float(t[b] - t[a]) for a, b in result.spans)
            if not strict or (longest > FLIGHT and not _swings(p, found, result.up)):
                if best is None or result.seconds > best.seconds:
                    best = result
                # where windows are hardly precise, only those that exceed gravity by chance count:
                # longer ones may show more flights
                if np.median(found.sigma[like]) < 0.5 * PRECISE * result.size:
                    return best
        if best is None and other is None and not strict:
            precise = found.sigma < 0.5 * PRECISE * size  # noise alone makes some of any size
            other = _shared(t, p, trial, found, fits & precise)
    if best is not None:
        return best
    return None if other is None or other.flights < 3 else other


def _shared(
    t: np.ndarray, p: np.ndarray, trial: np.ndarray, found: Windows, fits: np.ndarray
) -> Gravity | None:
    """Flights of the acceleration that most windows share, of those that `fits` selects (k,)."""
    a, sigma = found.acceleration[fits], found.sigma[fits]
    if not len(a):
        return None
    centres = a[:: max(1, len(a) // CENTRES)]

    def near(c: np.ndarray, every: np.ndarray, sigmas: np.ndarray) -> np.ndarray:
        reach = np.hypot(SHARED * np.linalg.norm(c), 2.0 * sigmas)
        return np.linalg.norm(every - c, axis=1) < reach

    groups = [near(c, a, sigma) for c in centres]
    most = max(groups, key=np.count_nonzero)
    centre = np.median(a[most], axis=0)
    # a swing turns back on either side: two directions of one size
    cosine = centres @ centre / (np.linalg.norm(centres, axis=1) * np.linalg.norm(centre))
    rivals = [np.count_nonzero(g) for g, c in zip(groups, cosine, strict=True) if c < APART]
    if max(rivals, default=0) > RIVAL * np.count_nonzero(most):
        return None
    members = near(centre, found.acceleration, found.sigma) & (
        found.sigma < PRECISE * np.linalg.norm(centre)
    )
    return _flights(t, p, trial, found, members)


def _swings(p: np.ndarray, found: Windows, up: np.ndarray) -> bool:
    """Whether windows accelerate along `up` the more, the lower they are."""
    fits = found.sigma < NOISY * np.linalg.norm(found.acceleration, axis=1)
    rows = found.first[fits] + found.length // 2
    pairs = (found.acceleration[fits] @ up, p[rows] @ up)
    ranks = [np.argsort(np.argsort(along)) for along in pairs]
    return bool(fits.sum() > 2 and np.asarray(np.corrcoef(ranks))[0, 1] < SWINGS)


def _like_gravity(size: np.ndarray) -> np.ndarray:
    ratios = size[:, None] / (G * np.array(list(UNITS.values())))
    return np.any((ratios > UNIT_RANGE[0]) & (ratios < UNIT_RANGE[1]), axis=1)


def _flights(
    t: np.ndarray, p: np.ndarray, trial: np.ndarray, found: Windows, members: np.ndarray
) -> Gravity | None:
    """Runs of windows of the same acceleration, fitted again as a whole."""
    index = found.first[members]
    if not len(index):
        return None
    cuts = np.flatnonzero((np.diff(index) > found.stride) | (trial[index[1:]] != trial[index[:-1]]))
    spans, fits, weights, falls = [], [], [], []
    for run in np.split(index, cuts + 1):
        if run[-1] - run[0] < found.length // 4:
            continue
        # windows at its ends may reach a little beyond it
        cut = min(found.length // 8, int(run[-1] - run[0]) // 2)
        rows = slice(int(run[0]) + cut, int(run[-1]) + found.length - cut)
        s = t[rows] - t[rows].mean()
        A = _parabola(s)
        solved, *_ = np.linalg.lstsq(A, p[rows], rcond=None)
        noise = np.sum((p[rows] - A @ solved) ** 2, axis=0) / (len(s) - 3)
        spans.append((rows.start, rows.stop - 1))
        gained = np.ptp(s) * (solved[2] @ solved[2])
        falls.append((solved[1] + s[-1] * solved[2]) @ solved[2] > FALLS * gained)
        fits.append(solved[2])
        weights.append(noise * np.linalg.inv(A.T @ A)[2, 2])
    if not fits or np.mean(falls) < 0.5:  # what slides ends at rest, what flies falls
        return None
    fitted, variance = np.array(fits), np.array(weights)
    middle = np.median(fitted, axis=0)
    reach = np.hypot(SHARED * np.linalg.norm(middle), 3.0 * np.sqrt(variance.sum(axis=1)))
    near = np.linalg.norm(fitted - middle, axis=1) < reach
    if near.any():
        fitted, variance = fitted[near], variance[near]
        spans = [span for span, good in zip(spans, near, strict=True) if good]
    if len(fitted) > 2:
        deviation = 1.4826 * np.median(np.abs(fitted - middle), axis=0)
        sigma = 1.2533 * deviation / np.sqrt(len(fitted))
    else:
        sigma = np.sqrt(variance.mean(axis=0) / len(fitted))
    seconds = sum(float(t[b] - t[a]) for a, b in spans)
    return Gravity(middle, sigma, len(fitted), seconds, tuple(spans))


@dataclass(frozen=True)
class Flight:
    """Acceleration [m/s^2] in the first samples of every toss, (n, 3), and their median (3,).

    spread  standard deviation of the median (3,);  samples: of the longest beginning
    """

    per_trial: np.ndarray
    median: np.ndarray
    spread: np.ndarray
    samples: int = WINDOW


def free_flight(trials: Sequence[PoseTrial], enough: float = np.inf) -> Flight:
    """Least-squares accelerations over the first samples of each toss, in recorded units.

    WINDOW samples of each, and more while the median's uncertainty is above `enough`, as far as
    the toss is one parabola within its noise.
    """
    joined = _joined(trials)
    noise = noise_of(*joined)
    counts = [min(WINDOW, len(trial)) for trial in trials]
    begun = [_begun(trial, n) for trial, n in zip(trials, counts, strict=True)]
    flight = _median(begun, noise, max(counts))
    growing = [k for k, one in enumerate(begun) if _one_parabola(one, noise)]
    while growing and noise > 0.0 and _reach(flight) > enough:
        grown = []
        for k in growing:
            n = counts[k] + max(1, counts[k] // 8)
            if n > len(trials[k]):
                continue
            longer = _begun(trials[k], n)
            if _one_parabola(longer, noise):
                counts[k], begun[k] = n, longer
                grown.append(k)
        growing = grown
        flight = _median(begun, noise, max(counts))
    return flight


@dataclass(frozen=True)
class _Begun:
    """A parabola through the first samples of a toss: acceleration (3,), its standard deviation
    over that of a place, root mean square of the residuals, how much of them a cubic takes away
    (3,), sagitta and degrees of freedom."""

    acceleration: np.ndarray
    gain: float
    misfit: float
    cubic: np.ndarray
    bend: float
    freedom: int


def _begun(trial: PoseTrial, n: int) -> _Begun:
    t, p = trial.frames[:n] * trial.dt, trial.position[:n]
    A = _parabola(t - t.mean())
    solved = np.linalg.lstsq(A, p, rcond=None)[0]
    freedom, left = max(3 * (n - 3), 1), p - A @ solved
    misfit = np.sqrt(np.sum(left**2) / freedom)
    gain = np.sqrt(np.linalg.pinv(A.T @ A)[2, 2])
    third = np.linalg.qr(np.column_stack([A, A[:, 1] ** 3]))[0][:, 3] if n > 3 else 0.0 * t
    bend = np.linalg.norm(solved[2]) * np.ptp(t) ** 2 / 8.0
    return _Begun(solved[2], float(gain), float(misfit), third @ left, float(bend), freedom)


def _one_parabola(begun: _Begun, noise: float) -> bool:
    """Whether noise explains the residuals: a toss that has hit something has others."""
    chance = 1.0 + 3.0 / np.sqrt(2.0 * begun.freedom)
    room = ROUND * begun.bend
    bent = np.linalg.norm(begun.cubic) > THIRD * noise + room * np.sqrt(begun.freedom / 3.0)
    return begun.misfit < chance * noise + room and not bent


def _median(begun: Sequence[_Begun], noise: float, samples: int) -> Flight:
    """Median of the tosses, less those whose beginning shows much less than most do."""
    per_trial = np.array([one.acceleration for one in begun])
    gains = np.array([one.gain for one in begun])
    rows = gains <= 2.0 * np.median(gains)
    median = np.median(per_trial[rows], axis=0)
    # robust standard error of the median: tosses that start in contact do not count
    deviation = 1.4826 * np.median(np.abs(per_trial[rows] - median), axis=0)
    deviation = np.maximum(deviation, noise * np.sqrt(np.mean(gains[rows] ** 2)))
    return Flight(per_trial, median, 1.2533 * deviation / np.sqrt(rows.sum()), samples)


def _reach(flight: Flight) -> float:
    """Distance within which the acceleration lies, four standard deviations."""
    return 4.0 * float(np.linalg.norm(flight.spread))


def _joined(trials: Sequence[PoseTrial]) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Times, places, number of the trial of every sample, and the time between samples."""
    return (
        np.concatenate([trial.frames * trial.dt for trial in trials]),
        np.concatenate([trial.position for trial in trials]),
        np.repeat(np.arange(len(trials)), [len(trial) for trial in trials]),
        trials[0].dt,
    )


def check_gravity(trials: Sequence[PoseTrial], gravity: Sequence[float] | np.ndarray) -> Flight:
    """Refuse recordings whose free flight contradicts the world's gravity [m/s^2] (3,).

    Raises InputError naming the source and a toss: another axis is up, millimetres, g's, or a
    recording without free flight. Single tosses are not checked (some begin in contact).
    """
    gravity = np.asarray(gravity, dtype=float)
    g = float(np.linalg.norm(gravity))
    flight = free_flight(trials, NOISY * g)
    if g == 0.0:
        return flight
    size, slack = float(np.linalg.norm(flight.median)), _reach(flight)
    if slack > NOISY * g:
        # Whole flights say more, and where a hand comes first.  Of metres, they may be bounces:
        # then the tosses begin otherwise.
        found = gravity_of(*_joined(trials), strict=True)
        if found is not None and (
            found.unit != "m" or np.linalg.norm(found.acceleration - flight.median) < slack
        ):
            flight = Flight(flight.per_trial, found.acceleration, found.sigma, flight.samples)
            size, slack = found.size, _reach(flight)
    worst = int(np.argmin(np.linalg.norm(flight.per_trial - flight.median, axis=1)))
    place = trials[worst].place
    key = f"sample 0 to {flight.samples - 1}, acceleration in free flight"
    key += f" (median of {len(trials)} tosses)"
    got = "({:.3g}, {:.3g}, {:.3g}) m/s^2".format(*flight.median)
    world = "({:.4g}, {:.4g}, {:.4g}) m/s^2".format(*gravity)
    if not SIZE_RANGE[0] * g - slack <= size <= SIZE_RANGE[1] * g + slack:
        ratio = size / g
        begun = _late(trials, gravity)
        remedy = begun or "the tosses do not begin in free flight"
        if ratio > 2.0 and not begun:
            unit = "millimetres" if ratio > 200.0 else "centimetres" if ratio > 20.0 else "metres"
            remedy = f"it is {ratio:.3g} times too large: are positions in {unit}, and dt in s?"
        raise InputError(place, key, got, f"about the world's gravity {world}", remedy)
    angle = np.arccos(np.clip(flight.median @ gravity / (g * max(size, 1e-12)), -1.0, 1.0))
    if angle > MAX_ANGLE + slack / g:
        axis = int(np.argmax(np.abs(flight.median)))
        up = ("-" if flight.median[axis] > 0 else "") + "XYZ"[axis]
        begun = _late(trials, gravity)
        remedy = begun or f"the recording is {up}-up: turn it, or set the world's gravity"
        if len(trials) == 1 and not begun:
            remedy += "; or it does not begin in free flight"
        raise InputError(place, key, got, f"parallel to the world's gravity {world}", remedy)
    return flight


def _late(trials: Sequence[PoseTrial], gravity: np.ndarray) -> str:
    """The cause where later flights, one a toss at least, fall as the world's gravity says; ""
    where they do not: a single window of many tosses may be bounces."""
    found = gravity_of(*_joined(trials), strict=True)
    if found is None or found.unit != "m" or found.flights < len(trials):
        return ""
    angle = np.arccos(np.clip(-found.up @ gravity / np.linalg.norm(gravity), -1.0, 1.0))
    if angle > MAX_ANGLE:
        return ""
    return (
        "they begin before the flight, in a hand say: gravity is as it should be in later "
        f"flights, the first from sample {found.spans[0][0]} on; `diffsim init` cuts them there"
    )


def by_source(trials: Sequence[PoseTrial]) -> list[list[PoseTrial]]:
    """Tosses whose free flight is judged together: those of a source, and those of all sources
    that have one alone, as a single toss may begin in contact."""
    sources: dict[str, list[PoseTrial]] = {}
    for trial in trials:
        sources.setdefault(trial.source, []).append(trial)
    single = [own[0] for own in sources.values() if len(own) == 1]
    several = [own for own in sources.values() if len(own) > 1]
    return several + ([single] if single else [])
