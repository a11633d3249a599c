"""Positions and efforts of a joint log on an even clock, low-passed alike, with derivatives.

A zero-phase Butterworth filter of 4th order, run forward and backward, takes the same band out of
positions, efforts and friction's columns, so that a law between them is not bent by the filter
(Gautier, Proc. ICRA 1997); velocity and acceleration are central differences of what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.signal import butter, sosfiltfilt

from ...errors import InputError
from ...sensing.observation import Observation

ORDER = 4
SHARE = 0.999
"""Of the power of the positions, about their means, that lies within the band of a motion."""
WIDER = 5.0
"""The filter's bandwidth over that band."""
HIGHEST = 0.2
"""Largest bandwidth over the sampling rate."""
LATE = 2.0
"""Samples by which logged velocities may lag the positions without a note."""


@dataclass(frozen=True)
class FilteredMotion:
    """One trial, filtered.

    name       for reports;  t  since its first sample, even [s] (n,)
    bandwidth  of the filter [Hz] (-6 dB, both passes)
    q, qd, qdd, effort  (n, m) in the order of the robot's joints
    inside     samples that the ends of the filter do not touch (n,)
    """

    name: str
    t: np.ndarray
    bandwidth: float
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    effort: np.ndarray
    inside: np.ndarray

    def filtered(self, columns: np.ndarray) -> np.ndarray:
        """Columns (n, k) without what lies beyond the bandwidth."""
        return low_passed(columns, self.bandwidth, 1.0 / (self.t[1] - self.t[0]))


def low_passed(columns: np.ndarray, bandwidth: float, rate: float) -> np.ndarray:
    """Columns (n, k), sampled at `rate` [Hz], without what lies beyond the bandwidth [Hz]."""
    sections = _sections(bandwidth, rate)
    reach = min(len(columns) - 1, int(3 * rate / bandwidth))
    return sosfiltfilt(sections, columns, axis=0, padlen=reach)


@lru_cache(maxsize=64)
def _sections(bandwidth: float, rate: float) -> np.ndarray:
    """The filter's second-order sections; a fit asks for them at every law of every joint."""
    return butter(ORDER, bandwidth, fs=rate, output="sos")


def band_of(logs: Sequence[Observation], joints: Sequence[str]) -> float:
    """Bandwidth [Hz] that a filter of these logs has by default: WIDER times the frequency below
    which SHARE of the power of every joint's motion lies, HIGHEST times the rate at most."""
    highest, rate = 0.0, np.inf
    for log in logs:
        t, q = _even(log, "position", joints)
        rate = min(rate, 1.0 / (t[1] - t[0]))
        power = np.abs(np.fft.rfft((q - q.mean(axis=0)) * np.hanning(len(t))[:, None], axis=0))
        total = np.cumsum(power**2, axis=0)
        frequency = np.fft.rfftfreq(len(t), t[1] - t[0])
        moving = total[-1] > 1e-6 * total[-1].max()
        index = [int(np.searchsorted(c, SHARE * c[-1])) for c in total.T[moving]]
        highest = max(highest, *(frequency[i] for i in index))
    return float(min(WIDER * highest, HIGHEST * rate))


def motion_of(log: Observation, joints: Sequence[str], bandwidth: float) -> FilteredMotion:
    """A trial's motion; InputError: no efforts, too few samples, a bandwidth beyond the rate."""
    if "effort" not in log.measured:
        remedy = "an array `effort`, or columns JOINT.effort: torques or motor currents"
        raise InputError(log.place, "efforts", "none", "measured efforts", remedy)
    t, q = _even(log, "position", joints)
    _, effort = _even(log, "effort", joints)
    rate = 1.0 / (t[1] - t[0])
    if not 0.0 < bandwidth <= HIGHEST * rate * (1 + 1e-9):
        rule = f"a number > 0, at most {HIGHEST:g} of the sampling rate: {HIGHEST * rate:.4g} Hz"
        raise InputError(log.place, "bandwidth", bandwidth, rule)
    edge = 0.5 / bandwidth
    inside = (t >= edge) & (t <= t[-1] - edge)
    if inside.sum() < 8:
        rule = f"trials longer than {1 / bandwidth + 8 / rate:.3g} s at this bandwidth"
        raise InputError(log.place, "duration", f"{t[-1]:.3g} s", rule)
    q, effort = (low_passed(table, bandwidth, rate) for table in (q, effort))
    qd = np.gradient(q, t, axis=0)
    qdd = np.gradient(qd, t, axis=0)
    return FilteredMotion(log.name, t, bandwidth, q, qd, qdd, effort, inside)


def velocity_lag(log: Observation, joints: Sequence[str], bandwidth: float) -> float | None:
    """Time [s] by which the logged velocities come after those of the positions; None: none are
    logged.  It is the delay at which both differ least."""
    if "velocity" not in log.measured:
        return None
    velocity = log.measured["velocity"]
    if any(np.isfinite(log.column(velocity, name)).mean() < 0.5 for name in joints):
        return None
    t, q = _even(log, "position", joints)
    _, qd = _even(log, "velocity", joints)
    step = t[1] - t[0]
    rate = np.gradient(low_passed(q, bandwidth, 1.0 / step), t, axis=0)
    rate /= rate.std(axis=0) + 1e-12
    qd = qd / (qd.std(axis=0) + 1e-12)
    most = min(len(t) // 4, int(0.5 / step))
    # compared over the same samples, whatever the delay
    here = rate[most:-most]
    apart = [
        float(np.mean((here - qd[most + k : len(qd) - most + k]) ** 2))
        for k in range(-most, most + 1)
    ]
    return float((int(np.argmin(apart)) - most) * step)


def _even(log: Observation, signal: str, joints: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Even times (n,) and a signal (n, m) at them, linear between the samples that were read."""
    step = log.interval
    t = np.arange(int(np.floor((log.t[-1] - log.t[0]) / step * (1 + 1e-9))) + 1) * step
    columns = []
    for name in joints:
        values = log.column(log.measured[signal], name)
        read = np.isfinite(values)
        if read.sum() < max(8, len(values) // 2):
            rule = "readings of at least half of the samples"
            raise InputError(log.place, f"{signal} of {name}", f"{read.sum()} readings", rule)
        columns.append(np.interp(t, log.t[read] - log.t[0], values[read]))
    return t, np.stack(columns, axis=1)
