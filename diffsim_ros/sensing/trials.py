"""A stream of poses as trials that `estimate` takes: z up, metres, on one time grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..rotation import quat_multiply, quat_rotate
from .flights import Gravity
from .observation import PoseTrial
from .recorder import NANO, PoseRecorder, PoseSample
from .streams import TRANSFORMS, Stream, read_streams
from .timing import TRIAL_GAP


def turned(stream: Stream, turn: np.ndarray, metre: float, shift: Sequence[float]) -> Stream:
    """The poses x -> turn (x / metre) + shift; turn is a quaternion (x, y, z, w)."""
    position = quat_rotate(turn, stream.position[:, 0] / metre) + np.asarray(shift, float)
    orientation = quat_multiply(turn, stream.orientation)
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


def listed(stream: Stream) -> list[PoseTrial]:
    """Trials of a stream of poses; InputError if none is usable."""
    ids = [] if stream.trial is None else list(dict.fromkeys(stream.trial.tolist()))
    return recorded(stream).trials(ids)


def recorded_poses(path: str | Path, bodies: Sequence[str] = ()) -> list[PoseTrial]:
    """Trials of the poses in a bag or a table, as the observer would have saved them.

    bodies   which are wanted, where the bag has several; of a single one the name does not matter
    Poses that are not finite are occlusions: frames that are missing. Of several bodies the frames
    count in which all were seen.
    Raises InputError: as read_streams; a body that is missing, or several; any other sample that
    the observer would have dropped.
    """
    chosen = chosen_bodies(path, read_streams(path), bodies)
    if len(chosen) > 1:
        chosen = _together(path, chosen)
    numbers, every = chosen[0].trial, []
    for stream in chosen:
        recorder = recorded(stream)
        for reason, drop in recorder.drops.items():
            if drop.count and reason != "not finite":
                place = f"{stream.place}: {drop.first}"
                raise InputError(place, "", reason, "samples of which none has to be dropped")
        every.append(
            recorder.trials([] if numbers is None else list(dict.fromkeys(numbers.tolist())))
        )
    names = tuple(bodies) if len(chosen) > 1 else every[0][0].bodies
    return [
        replace(parts[0], poses=replace(
            parts[0].poses, names=names,
            value=np.concatenate([trial.poses.value for trial in parts], axis=1),
        ))
        for parts in zip(*every, strict=True)
    ]  # fmt: skip


def chosen_bodies(
    path: str | Path, streams: Sequence[Stream], bodies: Sequence[str] = ()
) -> list[Stream]:
    """The streams of poses of the wanted bodies, one each; of one body the only one, whatever name.

    A frame of /tf counts where it is named, or where nothing else holds poses.
    Raises InputError naming what there is.
    """
    poses = [stream for stream in streams if stream.kind == "poses"]
    sent = [stream for stream in poses if stream.what != TRANSFORMS]
    found = []
    for body in bodies:
        named = [stream for stream in sent if body in stream.names]
        named = named or [stream for stream in poses if body in stream.names]
        found += named if len(named) == 1 else []
    if found and len(found) == len(bodies):
        return found
    if len(bodies) < 2 and len(sent or poses) == 1:
        return sent or poses
    names = ", ".join(f"{stream.names[0]} on {stream.name}" for stream in poses) or "none"
    rule = f"one each of {', '.join(bodies)}" if bodies else "exactly one body with poses"
    raise InputError(path, "poses", names, rule, "name the body as it is called here")


def _together(path: str | Path, streams: Sequence[Stream]) -> list[Stream]:
    """The streams at the stamps at which every body was seen."""
    visible = [
        np.isfinite(one.position[:, 0]).all(axis=1) & np.isfinite(one.orientation).all(axis=1)
        for one in streams
    ]
    stamps = [one.begin + np.rint(one.t * NANO).astype(np.int64) for one in streams]
    common = stamps[0][visible[0]]
    for own, mask in zip(stamps, visible, strict=True):
        common = np.intersect1d(common, own[mask])
    if not len(common):
        names = ", ".join(one.names[0] for one in streams)
        raise InputError(path, "poses", names, "bodies that were seen at the same stamps")
    t = (common - common[0]) / NANO
    rows = [
        np.flatnonzero(mask)[np.searchsorted(own[mask], common)]
        for own, mask in zip(stamps, visible, strict=True)
    ]
    return [
        replace(one, t=t, position=one.position[own], orientation=one.orientation[own])
        for one, own in zip(streams, rows, strict=True)
    ]
