"""A stream of poses as trials that `estimate` takes: z up, metres, on one time grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from ...errors import InputError
from .. import rotations
from ..observation import Trial
from ..recorder import NANO, PoseRecorder, PoseSample
from .flights import Gravity
from .streams import Stream, read_streams
from .timing import TRIAL_GAP


def turned(stream: Stream, turn: np.ndarray, metre: float, shift: Sequence[float]) -> Stream:
    """The poses x -> turn (x / metre) + shift; turn is a quaternion (x, y, z, w)."""
    position = rotations.rotate(turn, stream.position[:, 0] / metre) + np.asarray(shift, float)
    orientation = rotations.multiply(turn, stream.orientation)
    return replace(stream, position=position[:, None], orientation=orientation)


def recorded(stream: Stream) -> PoseRecorder:
    """What the observer would have kept of a stream of poses, sample by sample."""
    recorder = PoseRecorder(stream.place, trial_gap=TRIAL_GAP)
    t = _one_clock(stream)
    rows = zip(t, stream.position[:, 0].tolist(), stream.orientation.tolist(), strict=True)
    for seconds, position, orientation in rows:
        if not np.isfinite(seconds):
            recorder.received += 1
            recorder.drops["not finite"].add(f"sample {recorder.received - 1}")
            continue
        recorder.add(
            PoseSample(round(seconds * NANO), stream.frame, "body", tuple(position),
                       tuple(orientation))
        )  # fmt: skip
    return recorder


def _one_clock(stream: Stream) -> np.ndarray:
    """Stamps that go on from trial to trial, with a hole between, where each has its own clock."""
    if stream.trial is None:
        return stream.t
    t = stream.t.copy()
    starts = np.flatnonzero(np.diff(stream.trial, prepend=stream.trial[:1] - 1))
    for a, b in pairwise([*starts[1:], len(t)]):
        t[a:b] += np.nanmax(t[:a]) + 2.0 * TRIAL_GAP - np.nanmin(t[a:b])
    return t


def from_flights(stream: Stream, gravity: Gravity) -> Stream:
    """The stream with every trial begun at its first free flight; trials without one are left out.

    For recordings in which a hand holds the body at first.
    """
    number = stream.trial
    if number is None:
        number = np.concatenate([[0], np.cumsum(np.diff(stream.t) > TRIAL_GAP)]).astype(int)
    keep = np.zeros(len(stream), bool)
    for k in np.unique(number):
        own = np.flatnonzero(number == k)
        begins = [a for a, _ in gravity.spans if own[0] <= a <= own[-1]]
        if begins:
            keep[begins[0] : own[-1] + 1] = True
    fields = ("t", "position", "orientation")
    kept = {name: getattr(stream, name)[keep] for name in fields}
    return replace(stream, trial=number[keep], **kept)


def listed(stream: Stream) -> list[Trial]:
    """Trials of a stream of poses; InputError if none is usable."""
    ids = [] if stream.trial is None else list(dict.fromkeys(stream.trial.tolist()))
    return recorded(stream).trials(ids)


def recorded_poses(path: str | Path) -> list[Trial]:
    """Trials of the poses in a bag or a table, as the observer would have saved them.

    Poses that are not finite are occlusions: frames that are missing.
    Raises InputError: as read_streams; none or several streams of poses; any other sample that
    the observer would have dropped.
    """
    streams = [stream for stream in read_streams(path) if stream.kind == "poses"]
    if len(streams) != 1:
        names = ", ".join(stream.name for stream in streams) or "none"
        raise InputError(path, "poses", names, "exactly one topic of PoseStamped")
    recorder, numbers = recorded(streams[0]), streams[0].trial
    for reason, drop in recorder.drops.items():
        if drop.count and reason != "not finite":
            place = f"{streams[0].place}: {drop.first}"
            raise InputError(place, "", reason, "samples of which none has to be dropped")
    return recorder.trials([] if numbers is None else list(dict.fromkeys(numbers.tolist())))
