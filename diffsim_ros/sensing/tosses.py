"""Tosses: poses as trials that `estimate` takes, z up, metres, on one time grid, with every check.

Poses of a bag, or of a table as the observer saves it (.csv), are taken as the npz file
(toss_file.py) that the observer would have made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..errors import InputError, nearest
from ..rotation import quat_multiply, quat_rotate
from .bags import is_bag
from .cdr import NANO
from .clock import TRIAL_GAP
from .columns import TEXTS
from .flight import Gravity
from .lost import lost_rows
from .observation import (
    MIN_SAMPLES,
    SIGMA,
    UNIT_TOLERANCE,
    Observation,
    PoseSample,
    PoseTrial,
    pose_values,
)
from .poses import chosen_bodies, together
from .read import read
from .record import PoseRecorder
from .toss_file import COLUMNS, TOSSES, arrays_of, read_arrays, toss_index

MAX_SPEED = 100.0
"""Speed between two frames [m/s] beyond which positions are not in metres."""
MAX_JITTER = 0.4
"""Accepted distance of a stamp from the time grid, in frames."""
SAME_HEIGHT = 1e-6
"""Largest difference of heights [m] between a toss and its copy."""


def read_tosses(
    path: str | Path,
    trials: Iterable[int] | None = None,
    *,
    body: str | Sequence[str] = "cube",
    sigma: Sequence[float] = SIGMA,
    least: int = MIN_SAMPLES,
) -> list[PoseTrial]:
    """Tosses of a file in the order of the file, or those with the ids `trials`, sorted by id.

    body   name for the one body of the file, or those wanted of several
    least  fewest frames that a toss may have
    Raises InputError naming the file, the toss and the sample of the first defect: missing or
    misshapen arrays, rows out of range, NaN, quaternions that are not unit, stamps that repeat or
    go back, too few frames, positions that cannot be metres.
    """
    path = Path(path)
    bodies = (body,) if isinstance(body, str) else tuple(body)
    arrays = _load(path, bodies)
    form = TOSSES if path.suffix.lower() == ".npz" else ""
    return _tosses(path, arrays, bodies, form, trials, sigma, least)


def tosses_in(poses: Observation, least: int = MIN_SAMPLES) -> list[PoseTrial]:
    """The tosses that `estimate` reads of a stream; InputError as read_tosses of its file."""
    if poses.format == TOSSES:
        return read_tosses(poses.path, body=poses.names, least=least)
    arrays = arrays_of(strictly(recorded(poses), poses))
    return _tosses(poses.path, arrays, ("body",), "", None, SIGMA, least)


def _tosses(
    path: Path, arrays: dict[str, np.ndarray], bodies: tuple[str, ...], form: str,
    trials: Iterable[int] | None, sigma: Sequence[float], least: int,
) -> list[PoseTrial]:  # fmt: skip
    """See read_tosses."""
    ids, start, length, dt = toss_index(path, arrays)
    wanted = range(len(ids)) if trials is None else _select(path, ids, trials)
    state = _of_bodies(path, arrays, bodies)
    result = []
    for k in wanted:
        rows = slice(int(start[k]), int(start[k]) + int(length[k]))
        stamps = arrays["t"][rows] if "t" in arrays else None
        place = f"{path}: toss {ids[k]}"
        if length[k] < least:
            raise InputError(place, "length", int(length[k]), f"at least {least} frames")
        frames, t = _grid(place, int(length[k]), stamps, dt)
        # a bag's and a table's were left out when they were read
        kept = _measured(state[rows]) if form else np.ones(length[k], bool)
        if kept.sum() < least:
            got = f"{int(kept.sum())}, and {int((~kept).sum())} lost samples"
            raise InputError(place, "length", got, f"at least {least} frames")
        frames, t = frames[kept] - frames[kept][0], t[kept]
        parts = [_poses(place, state[rows][kept][:, b], frames, dt) for b in range(len(bodies))]
        value = np.concatenate([value for value, _ in parts], axis=1)
        velocity = None
        if state.shape[2] == 13:
            velocity = np.concatenate([velocity for _, velocity in parts], axis=1)
        poses = Observation(
            kind="poses", t=t, names=bodies, values=pose_values(value), source=str(path),
            frame="world", sigma=np.asarray(sigma, float), format=form,
        )  # fmt: skip
        result.append(PoseTrial(int(ids[k]), poses, dt, frames, velocity))
    return result


def _measured(state: np.ndarray) -> np.ndarray:
    """Which rows (n, bodies, 7 | 13) of a toss are measurements of every body (n,)."""
    kept, trial = np.ones(len(state), bool), np.zeros(len(state), int)
    for b in range(state.shape[1]):
        own = state[:, b].astype(float)
        for mask in lost_rows(own[:, :3], own[:, [4, 5, 6, 3]], trial).values():
            kept &= ~mask
    return kept


def _of_bodies(path: Path, arrays: dict[str, np.ndarray], wanted: Sequence[str]) -> np.ndarray:
    """Rows of the wanted bodies (rows, bodies, 7 | 13)."""
    state = arrays["state"]
    if state.ndim == 2:
        if len(wanted) > 1:
            rule = f"a file of several bodies: {', '.join(wanted)}"
            raise InputError(path, "state", f"shape {state.shape}, of one body", rule)
        return state[:, None]
    names = [str(name) for name in arrays["bodies"]]
    for name in wanted:
        if name not in names:
            rule = "the bodies of this file: " + ", ".join(names)
            raise InputError(path, "bodies", name, rule, nearest(name, names))
    return state[:, [names.index(name) for name in wanted]]


def toss_ids(path: str | Path, bodies: Sequence[str] = ()) -> list[int]:
    """Ids of the tosses in a file, sorted; `bodies` of a bag with several."""
    path = Path(path)
    return sorted(int(i) for i in toss_index(path, _load(path, bodies))[0])


def repeated(path: str | Path, bodies: Sequence[str] = ()) -> dict[int, int]:
    """Tosses that repeat another one of the file, turned about the vertical: id -> first such id.

    Heights do not change under such a turn, so equal lengths and equal heights mean a copy.
    """
    path = Path(path)
    arrays = _load(path, bodies)
    ids, start, length, _ = toss_index(path, arrays)
    order = np.argsort(ids, kind="stable")
    first: dict[int, int] = {}
    for samples in np.unique(length):
        same = order[length[order] == samples]
        rows = start[same][:, None] + np.arange(samples)
        height = arrays["state"][rows][..., 2].reshape(len(same), -1)
        single = np.ones(len(same), bool)
        for k in range(1, len(same)):
            before = np.flatnonzero(single[:k])
            off = np.abs(height[before] - height[k]).max(axis=1, initial=0.0)
            copied = before[off < SAME_HEIGHT]
            if len(copied):
                first[int(ids[same[k]])] = int(ids[same[copied[0]]])
                single[k] = False
    return first


def _load(path: Path, bodies: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Arrays of the npz file, or those that poses of a bag or a table make."""
    if is_bag(path) or path.suffix.lower() in TEXTS:
        return arrays_of(recorded_poses(path, bodies))
    return read_arrays(path)


def _select(path: Path, ids: np.ndarray, trials: Iterable[int]) -> list[int]:
    """Rows of the index that hold the wanted ids, sorted by id."""
    row = {int(i): k for k, i in enumerate(ids)}
    wanted = sorted({int(i) for i in trials})
    for i in wanted:
        if i not in row:
            raise InputError(path, "toss_id", i, "a toss of this file", nearest(i, sorted(row)))
    if not wanted:
        raise InputError(path, "trials", [], "at least one toss of this file")
    return [row[i] for i in wanted]


def _poses(
    place: str, state: np.ndarray, frames: np.ndarray, dt: float
) -> tuple[np.ndarray, np.ndarray | None]:
    """Checked poses (n, 7) and velocities (n, 6) or None of one body's rows (n, 7 | 13)."""
    state = state.astype(np.float64)
    bad = np.argwhere(~np.isfinite(state))
    if len(bad):
        sample, column = bad[0]
        got = float(state[sample, column])
        raise InputError(place, f"sample {sample}, {COLUMNS[column]}", got, "a finite number")
    norm = np.linalg.norm(state[:, 3:7], axis=1)
    long = np.flatnonzero(np.abs(norm - 1.0) > UNIT_TOLERANCE)
    if len(long):
        found = f"norm {norm[long[0]]:.6g}"
        rule = f"a unit quaternion (within {UNIT_TOLERANCE:g}), scalar first"
        raise InputError(place, f"sample {long[0]}, qw qx qy qz", found, rule)
    _check_speed(place, state[:, :3], frames, dt)
    orientation = (state[:, 3:7] / norm[:, None])[:, [1, 2, 3, 0]]
    value = np.concatenate([state[:, :3], orientation], axis=1)
    if state.shape[1] == 7:
        return value, None
    omega = quat_rotate(orientation, state[:, 10:13])
    return value, np.concatenate([state[:, 7:10], omega], axis=1)


def _grid(
    place: str, n: int, stamps: np.ndarray | None, dt: float
) -> tuple[np.ndarray, np.ndarray]:
    """Grid index (n,) and stamp [s] (n,) of every sample."""
    if stamps is None:
        frames = np.arange(n)
        return frames, frames * dt
    stamps = stamps.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(stamps))
    if len(bad):
        raise InputError(place, f"sample {bad[0]}, t", stamps[bad[0]], "a finite stamp [s]")
    back = np.flatnonzero(np.diff(stamps) <= 0.0)
    if len(back):
        i = back[0] + 1
        kind = "duplicate" if stamps[i] == stamps[i - 1] else "backward"
        got = f"{stamps[i]:.9g} after {stamps[i - 1]:.9g}"
        raise InputError(place, f"sample {i}, t", got, "increasing stamps", f"{kind} stamp")
    raw = (stamps - stamps[0]) / dt
    frames = np.rint(raw).astype(np.int64)
    off = np.abs(raw - frames)
    bad = np.flatnonzero((off > MAX_JITTER) | np.concatenate([[False], np.diff(frames) == 0]))
    if len(bad):
        got = f"{raw[bad[0]]:.3f} frames of dt = {dt:.6g} s after the first sample"
        rule = f"stamps within {MAX_JITTER:g} frames of a grid of dt, one per frame"
        raise InputError(place, f"sample {bad[0]}, t", got, rule, "check dt")
    return frames, stamps


def _check_speed(place: str, position: np.ndarray, frames: np.ndarray, dt: float) -> None:
    """Refuse a jump that no toss makes: millimetres, or a tracker that lost its target."""
    step = np.linalg.norm(np.diff(position, axis=0), axis=1) / (np.diff(frames) * dt)
    fast = np.flatnonzero(step > MAX_SPEED)
    if len(fast):
        i = int(fast[0]) + 1
        rule = f"positions in metres, moving slower than {MAX_SPEED:g} m/s"
        remedy = "are they in millimetres, or did the tracker jump?"
        raise InputError(place, f"sample {i}, position", f"{step[i - 1]:.4g} m/s", rule, remedy)


def turned(
    poses: Observation, turn: np.ndarray, metre: float, shift: Sequence[float]
) -> Observation:
    """The poses x -> turn (x / metre) + shift; turn is a quaternion (x, y, z, w)."""
    position = quat_rotate(turn, poses.position[:, 0] / metre) + np.asarray(shift, float)
    orientation = quat_multiply(turn, poses.orientation)
    values = {"position": position[:, None], "orientation": orientation[:, None]}
    return replace(poses, values=values)


def recorded(poses: Observation) -> PoseRecorder:
    """What the observer would have kept of the poses of a body, sample by sample."""
    recorder = PoseRecorder(poses.place, trial_gap=TRIAL_GAP)
    t = _one_clock(poses)
    if np.isfinite(t).all():
        pose = np.concatenate([poses.position[:, 0], poses.orientation], axis=1)
        if recorder.extend(np.rint(t * NANO).astype(np.int64), poses.frame, pose):
            return recorder
    rows = zip(t, poses.position[:, 0].tolist(), poses.orientation.tolist(), strict=True)
    for seconds, position, orientation in rows:
        if not np.isfinite(seconds):
            recorder.received += 1
            recorder.drops["not finite"].add(f"sample {recorder.received - 1}")
            continue
        recorder.add(
            PoseSample(round(seconds * NANO), poses.frame, "body", tuple(position),
                       tuple(orientation))
        )  # fmt: skip
    return recorder


def _one_clock(poses: Observation) -> np.ndarray:
    """Stamps that continue from trial to trial, with a gap between, for trials with own clocks."""
    if poses.numbers is None:
        return poses.t
    t = poses.t.copy()
    starts = np.flatnonzero(np.diff(poses.numbers, prepend=poses.numbers[:1] - 1))
    for a, b in pairwise([*starts[1:], len(t)]):
        t[a:b] += np.nanmax(t[:a]) + 2.0 * TRIAL_GAP - np.nanmin(t[a:b])
    return t


def from_flights(poses: Observation, gravity: Gravity) -> Observation:
    """The poses with every trial begun at its first free flight; trials without one are left out.

    For recordings in which a hand holds the body at first.
    """
    number = poses.numbers
    if number is None:
        number = np.concatenate([[0], np.cumsum(np.diff(poses.t) > TRIAL_GAP)]).astype(int)
    keep = np.zeros(len(poses), bool)
    for k in np.unique(number):
        own = np.flatnonzero(number == k)
        flights = [(a, b) for a, b in gravity.spans if own[0] <= a <= own[-1]]
        # a moment of it in the hand is none: not that of half the longest
        longest = max((b - a for a, b in flights), default=0)
        begins = [a for a, b in flights if b - a >= 0.5 * longest]
        if begins:
            keep[begins[0] : own[-1] + 1] = True
    return replace(poses, numbers=number).kept(keep)


def listed(poses: Observation) -> list[PoseTrial]:
    """Trials of the poses of a body; InputError if none is usable, or as `estimate` refuses."""
    return strictly(recorded(poses), poses)


def strictly(recorder: PoseRecorder, poses: Observation) -> list[PoseTrial]:
    """Trials of what was kept of `poses`, if nothing but missing samples was dropped.

    Raises InputError for any other sample that the observer would have dropped.
    """
    for reason, drop in recorder.drops.items():
        if drop.count and reason != "not finite":
            place = f"{poses.place}: {drop.first}"
            raise InputError(place, "", reason, "samples of which none has to be dropped")
    return recorder.trials(_ids(poses))


def _ids(poses: Observation) -> list[int]:
    return [] if poses.numbers is None else list(dict.fromkeys(poses.numbers.tolist()))


def recorded_poses(path: str | Path, bodies: Sequence[str] = ()) -> list[PoseTrial]:
    """Trials of the poses in a bag or a table, as the observer would have saved them.

    bodies   which are wanted, where the bag has several; of a single one the name does not matter
    Poses that are not finite are occlusions: frames that are missing. Of several bodies the frames
    count in which none is missing.
    Raises InputError: as read; a body that is missing, or several; any other sample that the
    observer would have dropped.
    """
    chosen = chosen_bodies(path, read(path), bodies)
    if len(chosen) > 1:
        chosen = together(path, chosen)
    every = [strictly(recorded(poses), poses) for poses in chosen]
    names = tuple(bodies) if len(chosen) > 1 else every[0][0].bodies
    return [
        replace(parts[0], poses=replace(
            parts[0].poses, names=names,
            values=pose_values(np.concatenate([trial.poses.value for trial in parts], axis=1)),
        ))
        for parts in zip(*every, strict=True)
    ]  # fmt: skip
