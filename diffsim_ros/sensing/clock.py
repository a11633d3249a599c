"""The clock of a stream: trials, rate, jitter, missing frames, stamps that repeat or go back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TRIAL_GAP = 0.5
"""A gap in the stamps [s] that ends a trial, where the file does not separate trials."""
SLOW = 5.0
"""Such a hole is also as many usual spacings long: of slow streams not every spacing is one."""


@dataclass(frozen=True)
class Timing:
    """See the module; indices are of samples, in the order recorded.

    trial        number of the trial of each sample                     (n,)
    dt           median spacing [s], nan without two samples
    jitter       rms distance of a spacing from whole frames, in frames
    missing      frames that lack inside trials;  longest: the longest hole [s], and `hole`, the
                 sample after it
    duplicates, backward   samples whose stamp repeats, or goes back    (k,)
    undefined    samples whose stamp is no number                       (k,)
    """

    trial: np.ndarray
    dt: float
    jitter: float
    missing: int
    longest: float
    hole: int
    duplicates: np.ndarray
    backward: np.ndarray
    undefined: np.ndarray

    @property
    def trials(self) -> np.ndarray:
        """Numbers of the trials, in the order recorded."""
        return np.unique(self.trial)

    @property
    def rate(self) -> float:
        """Frames per second."""
        return 1.0 / self.dt

    def plain(self) -> dict:
        """Figures for metrics.json."""
        counts = np.unique(self.trial, return_counts=True)[1]
        return {
            "trials": len(counts),
            "samples": len(self.trial),
            "shortest_trial": int(counts.min()) if len(counts) else 0,
            "longest_trial": int(counts.max()) if len(counts) else 0,
            "rate_hz": self.rate,
            "jitter_frames": self.jitter,
            "missing_frames": self.missing,
            "missing_share": self.missing / max(self.missing + len(self.trial), 1),
            "longest_gap_s": self.longest,
            "duplicate_stamps": len(self.duplicates),
            "backward_stamps": len(self.backward),
            "undefined_stamps": len(self.undefined),
        }


def clock(t: np.ndarray, trial: np.ndarray | None) -> Timing:
    """Figures of stamps t (n,) [s]; trial (n,): which trial each is of, None: split at gaps."""
    undefined = np.flatnonzero(~np.isfinite(t))
    step = np.diff(t) if len(t) > 1 else np.zeros(0)
    if trial is None:
        usual = float(np.median(step[step > 0])) if (step > 0).any() else 0.0
        apart = step > max(TRIAL_GAP, SLOW * usual)
        trial = np.concatenate([[0], np.cumsum(apart)]).astype(int)[: len(t)] + 1
    inside = (trial[1:] == trial[:-1]) & np.isfinite(step)
    forward = inside & (step > 0)
    dt = float(np.median(step[forward])) if forward.any() else float("nan")
    frames = np.rint(step[forward] / dt)
    off = step[forward] / dt - frames
    holes = np.where(forward, step, 0.0)
    hole = int(np.argmax(holes)) + 1 if forward.any() else 0
    gap = float(holes.max(initial=0.0))
    return Timing(
        trial,
        dt,
        float(np.sqrt(np.mean(off**2))) if len(off) else 0.0,
        int(np.sum(np.maximum(frames, 1.0) - 1.0)),
        gap if gap > 1.5 * dt else 0.0,
        hole,
        np.flatnonzero(inside & (step == 0)) + 1,
        np.flatnonzero(inside & (step < 0)) + 1,
        undefined,
    )
