"""Lost samples: what a source sends in place of a measurement, found by evidence in the data.

A tracker that loses its target sends zeros, an identity, one fixed pose, NaN, or its last pose
again under new stamps; a tag's solution jumps to its mirrored one; a bridge sends messages twice.
Evidence is exact repetition while the body moves, and a jump that no motion makes: what merely
rests, or lies at the origin, repeats without a jump and is kept.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import InputError
from ..rotation import quat_angle, quat_conjugate, quat_multiply
from .clock import clock
from .observation import Lost, Observation

JUMP = 10.0
"""A jump is so many usual steps of a body (their 90 % quantile) or more."""
REPEATED = 3
"""So often an exact pose occurs that stands for a lost body."""
VALUES = 4
"""Fixed poses that are tried, the most frequent first."""
QUANTA = 20.0
"""A body moves if it steps by more than so many of the file's smallest differences."""
DIGITS = 1e-9
"""Relative difference of numbers that are the same decimal."""
HALTS, LEAPS = 0.3, 3.0
"""A freeze begins without braking: with this share of the step before; or ends by a step of so many
of the next."""
FLIP = np.radians(25.0)
"""Least angle of an orientation off its neighbours that is a flip."""
FLIP_SIGMAS, ROUNDS = 8.0, 6
"""And so many robust sigmas; flips that follow one another are found in so many rounds."""
TURN = np.radians(3.0)
"""Least angle by which an exact identity is off its neighbours."""
ZERO, IDENTITY, FIXED = "exactly zero", "exactly the identity", "one exact value, repeated"
FROZEN, FLIPPED = "the last value again under new stamps", "an orientation off its neighbours"
TWICE, BLANK, NEVER = "an exact copy of another sample", "no number", "never measured"


def without_lost(stream: Observation) -> Observation:
    """The stream with lost samples as missing (NaN) or left out, each kind counted in `lost`.

    Poses and markers keep their frames, at NaN. Readings of joints and of wrenches that are lost
    are left out, and so are exact copies of any sample and names that were never measured.
    Raises InputError for samples of one stamp that contradict each other in a log of joints.
    """
    stream = _once(stream)
    if len(stream) < 2:
        return stream
    if stream.kind in ("poses", "markers"):
        return _placed(_seen(stream))
    if stream.kind == "joints":
        _refuse_two_sources(stream)
        return _joints(stream)
    return _wrench(stream) if stream.kind == "wrench" else stream


def lost_rows(
    position: np.ndarray, orientation: np.ndarray | None, trial: np.ndarray
) -> dict[str, np.ndarray]:
    """Reason -> mask (n,) of the lost samples of one body or marker; no sample has two.

    position (n, 3), orientation (n, 4) or None, trial (n,): number of the trial of each sample
    """
    found: dict[str, np.ndarray] = {}
    good = np.isfinite(position).all(axis=1)
    if orientation is not None:
        good &= np.isfinite(orientation).all(axis=1)

    def take(reason: str, mask: np.ndarray) -> None:
        nonlocal good
        mask = mask & good
        if mask.any():
            found[reason] = found.get(reason, np.zeros(len(mask), bool)) | mask
            good &= ~mask

    rows = position if orientation is None else np.concatenate([position, orientation], axis=1)
    at_zero = (position == 0.0).all(axis=1)
    if orientation is not None:
        none = (orientation == 0.0).all(axis=1)
        if not none[good].all():
            take(ZERO, none)
        turned = (np.abs(orientation[:, 3]) == 1.0) & (orientation[:, :3] == 0.0).all(axis=1)
        take(IDENTITY, at_zero & turned & _jumps(position, at_zero & turned, good, trial))
        take(IDENTITY, turned & _turns(orientation, turned, good, trial))
    take(ZERO, at_zero & _jumps(position, at_zero, good, trial))
    often = [good & (rows == value).all(axis=1) for value in _frequent(rows, good)]
    others = good & ~np.logical_or.reduce([np.zeros(len(rows), bool), *often])
    for own in often:  # beside what moves: one of them may be a rest
        take(FIXED, own & _jumps(position, own, others, trial))
    take(FROZEN, _frozen(rows, position, good, trial, 3 if orientation is None else 1))
    if orientation is not None:
        take(FLIPPED, _flipped(orientation, good, trial))
    return found


# ---------------------------------------------------------------------------- evidence


def _beside(own: np.ndarray, good: np.ndarray, trial: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of the last good sample before each one and of the first after it that are not of
    `own`; -1: none in its trial."""
    n = len(own)
    other = good & ~own
    before = np.maximum.accumulate(np.where(other, np.arange(n), -1))
    after = np.minimum.accumulate(np.where(other, np.arange(n), n)[::-1])[::-1]
    after = np.where(after < n, after, -1)
    before = np.where((before >= 0) & (trial[before] == trial), before, -1)
    return before, np.where((after >= 0) & (trial[after] == trial), after, -1)


def _usual(step: np.ndarray, other: np.ndarray, trial: np.ndarray) -> float:
    """90 % quantile of the steps (n - 1,) between good neighbours."""
    step = step[other[1:] & other[:-1] & (trial[1:] == trial[:-1])]
    return float(np.quantile(step, 0.9)) if len(step) else np.inf


def _jumps(p: np.ndarray, own: np.ndarray, good: np.ndarray, trial: np.ndarray) -> np.ndarray:
    """Whether each sample of `own` is far from the good ones on either side of it (n,)."""
    if not own.any():
        return own
    step = np.linalg.norm(np.diff(p, axis=0), axis=1)
    usual = _usual(step, good & ~own, trial)
    distance = np.full(len(p), np.inf)
    for near in _beside(own, good, trial):
        away = np.linalg.norm(p - p[near], axis=1)
        distance = np.where(near >= 0, np.minimum(distance, away), distance)
    return own & np.isfinite(distance) & (distance > JUMP * usual)


def _turns(q: np.ndarray, own: np.ndarray, good: np.ndarray, trial: np.ndarray) -> np.ndarray:
    """The same of orientations (n, 4), of those that occur REPEATED times or more."""
    if np.count_nonzero(own & good) < REPEATED:
        return np.zeros(len(q), bool)
    usual = _usual(quat_angle(q[:-1], q[1:]), good & ~own, trial)
    angle = np.full(len(q), np.inf)
    for near in _beside(own, good, trial):
        angle = np.where(near >= 0, np.minimum(angle, quat_angle(q, q[near])), angle)
    return own & np.isfinite(angle) & (angle > max(JUMP * usual, TURN))


def _frequent(rows: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Values (k, d) that occur REPEATED times or more, the most frequent first."""
    values, counts = np.unique(rows[good], axis=0, return_counts=True)
    often = np.argsort(-counts, kind="stable")[:VALUES]
    return values[often[counts[often] >= REPEATED]]


def _frozen(
    rows: np.ndarray, p: np.ndarray, good: np.ndarray, trial: np.ndarray, least: int = 1
) -> np.ndarray:
    """Exact repetitions of the sample before, in runs that begin or end while the body moves.

    least  repetitions in a run: three coordinates of few digits repeat by chance
    """
    index = np.flatnonzero(good)
    if len(index) < 4:
        return np.zeros(len(rows), bool)
    rows, p, trial = rows[index], p[index], trial[index]
    joined = (trial[1:] == trial[:-1]) & (np.diff(index) == 1)  # no evidence over lost samples
    again = np.concatenate([[False], (rows[1:] == rows[:-1]).all(axis=1) & joined])
    if not again.any():
        return np.zeros(len(good), bool)
    change = np.abs(np.diff(p, axis=0))
    seen = change[change > DIGITS * np.abs(p).max()]  # less is rounding of one decimal number
    quantum = float(seen.min()) if len(seen) else np.inf
    step = np.concatenate([[np.nan], np.where(joined, np.linalg.norm(change, axis=1), np.nan)])
    step = np.concatenate([step, [np.nan, np.nan]])
    first = np.flatnonzero(again & ~np.concatenate([[False], again[:-1]])) - 1
    last = np.flatnonzero(again & ~np.concatenate([again[1:], [False]]))
    moves = QUANTA * quantum
    before = step[np.maximum(first - 1, 0)]
    halts = (step[first] > moves) & (before > moves) & (step[first] > HALTS * before)
    leaps = (step[last + 1] > moves) & (step[last + 1] > LEAPS * step[last + 2])
    lost = np.zeros(len(rows), bool)
    runs = (halts | leaps) & (last - first >= least)
    for a, b in zip(first[runs], last[runs], strict=True):
        lost[a + 1 : b + 1] = True
    found = np.zeros(len(good), bool)
    found[index[lost]] = True
    return found


def _led(near: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Where the turn from `far` to `near` leads next (n, 4)."""
    return quat_multiply(quat_multiply(near, quat_conjugate(far)), near)


def _flipped(q: np.ndarray, good: np.ndarray, trial: np.ndarray) -> np.ndarray:
    """Orientations far from where both neighbours' turns lead, though these agree.

    An impact changes the turn, but the sample before it follows from those before, and the sample
    after it from those after.
    """
    found = np.zeros(len(q), bool)
    for _ in range(ROUNDS):
        index = np.flatnonzero(good & ~found)
        if len(index) < 5:
            break
        own = q[index] / np.linalg.norm(q[index], axis=1, keepdims=True).clip(1e-12)
        own, one = np.pad(own, ((2, 2), (0, 0))), np.pad(trial[index], 2, constant_values=-1)
        middle, before, after = own[2:-2], own[1:-3], own[3:-1]
        there = [one[2:-2] == one[k : len(one) - 4 + k] for k in (0, 1, 3, 4)]
        lines = _led(before, own[:-4]), _led(after, own[4:])
        off = np.fmin(
            *(
                np.where(seen, quat_angle(middle, line), np.nan)
                for seen, line in zip((there[0], there[3]), lines, strict=True)
            )
        )
        near = np.fmin(
            np.where(there[1], quat_angle(middle, before), np.nan),
            np.where(there[2], quat_angle(middle, after), np.nan),
        )
        usual = 1.4826 * float(np.nanmedian(off)) if np.isfinite(off).any() else 0.0
        far = np.fmin(off, near) > max(FLIP, FLIP_SIGMAS * usual)
        across = np.where(there[1] & there[2], quat_angle(before, after), 0.0)
        far &= near > 0.5 * across + FLIP
        far &= there[0] & there[3]  # at an end one line alone leads to it: an impact has that too
        if not far.any():
            break
        found[index[far]] = True
    return found


# ---------------------------------------------------------------------------- streams


def _counted(stream: Observation, reason: str, mask: np.ndarray, name: str = "") -> Lost:
    """The count of a mask (n,) of samples."""
    rows = np.flatnonzero(mask)
    first, last = int(rows[0]), int(rows[-1])
    t = stream.t
    return Lost(reason, len(rows), len(t), first, float(t[first]), float(t[last]), name)


def _once(stream: Observation) -> Observation:
    """The stream without exact copies of a sample: the same stamp, trial and values."""
    if stream.kind == "clouds" or not (np.diff(np.sort(stream.t)) == 0.0).any():
        return stream
    number = np.zeros(len(stream)) if stream.numbers is None else stream.numbers
    columns = [table.reshape(len(stream), -1) for table in stream.values.values()]
    table = np.column_stack([number, stream.t, *columns]).astype(float) + 0.0
    table[np.isnan(table)] = np.nan  # one NaN, so that bits compare
    bits = np.ascontiguousarray(table).view(np.int64)
    first = np.unique(bits, axis=0, return_index=True)[1]
    copy = np.ones(len(stream), bool)
    copy[first] = False
    if not copy.any():
        return stream
    lost = (*stream.lost, _counted(stream, TWICE, copy))
    return replace(stream.kept(~copy), lost=lost)


def _seen(stream: Observation) -> Observation:
    """Markers without those that no frame has; all, where none is ever seen."""
    if stream.kind != "markers":
        return stream
    seen = np.isfinite(stream.position).all(axis=2).any(axis=0)
    if seen.all() or not seen.any():
        return stream
    whole = np.ones(len(stream), bool)
    lost = [
        _counted(stream, NEVER, whole, name)
        for name, one in zip(stream.names, seen, strict=True) if not one
    ]  # fmt: skip
    names = tuple(name for name, one in zip(stream.names, seen, strict=True) if one)
    values = {signal: table[:, seen] for signal, table in stream.values.items()}
    return replace(stream, names=names, values=values, lost=(*stream.lost, *lost))


def _placed(stream: Observation) -> Observation:
    """Poses and markers with NaN in place of lost samples."""
    trial = clock(stream.t, stream.numbers).trial
    values = {signal: np.array(table, float) for signal, table in stream.values.items()}
    lost = list(stream.lost)
    turned = stream.values.get("orientation")
    for m, name in enumerate(stream.names):
        q = None if turned is None else turned[:, m]
        for reason, mask in lost_rows(stream.position[:, m], q, trial).items():
            for signal, table in values.items():
                if reason != FLIPPED or signal == "orientation":  # its place is a measurement
                    table[mask, m] = np.nan
            lost.append(_counted(stream, reason, mask, name if len(stream.names) > 1 else ""))
    if len(lost) == len(stream.lost):
        return stream
    return replace(stream, values=values, lost=tuple(lost))


def _left_out(stream: Observation, masks: dict[str, np.ndarray]) -> Observation:
    """The stream without the samples of masks (n,), counted by reason."""
    masks = {reason: mask for reason, mask in masks.items() if mask.any()}
    if not masks:
        return stream
    lost = (*stream.lost, *(_counted(stream, reason, mask) for reason, mask in masks.items()))
    gone = np.logical_or.reduce(list(masks.values()))
    return stream if gone.all() else replace(stream.kept(~gone), lost=lost)


def _wrench(stream: Observation) -> Observation:
    """Readings of a force–torque sensor that were made: no NaN, no zeros or repeats between others.

    Exact repetition is a freeze where force and torque, noise and all, repeat; zeros are readings
    where they are no jump.
    """
    rows = np.concatenate([stream.values[k][:, 0] for k in ("force", "torque")], axis=1)
    blank = ~np.isfinite(rows).all(axis=1)
    trial = clock(stream.t, stream.numbers).trial
    zero = (rows == 0.0).all(axis=1)
    step = np.abs(np.diff(rows[~blank & ~zero], axis=0)).max(axis=1, initial=0.0)
    # a sensor with noise is never exactly zero in six numbers; one without is, unloaded
    lost = zero & _jumps(rows[:, :3], zero, ~blank, trial)
    if len(step) and np.mean(step > 0.0) > 0.9:
        lost = zero
    good = ~blank & ~lost
    frozen = _frozen(rows, rows[:, :3], good, trial)
    return _left_out(stream, {BLANK: blank, ZERO: lost, FROZEN: frozen})


def _joints(stream: Observation) -> Observation:
    """A log without signals and places that were never measured, and without rows of zeros that no
    motion leads to."""
    lost = list(stream.lost)
    values = dict(stream.values)
    for signal in ("velocity", "effort"):
        if signal in values and np.isnan(values[signal]).all():
            lost.append(_counted(stream, NEVER, np.ones(len(stream), bool), signal))
            del values[signal]
    stream = replace(stream, values=values, lost=tuple(lost))
    position = values.get("position")
    if position is None or position.shape[1] < 2:
        return stream
    trial = clock(stream.t, stream.numbers).trial
    good = np.isfinite(position).all(axis=1)
    zero = good & (position == 0.0).all(axis=1)
    return _left_out(stream, {ZERO: zero & _jumps(position, zero, good, trial)})


def _refuse_two_sources(stream: Observation) -> None:
    """Refuse samples of one stamp where some lack what others have: two publishers on one topic."""
    if "position" not in stream.values:
        return
    number = np.zeros(len(stream)) if stream.numbers is None else stream.numbers
    again = np.flatnonzero((np.diff(stream.t) == 0.0) & (np.diff(number) == 0.0)) + 1
    if not len(again):
        return
    position = stream.values["position"]
    words = []
    zero = int(np.sum((position == 0.0).all(axis=1)))
    if 0 < zero < len(stream):
        words.append("positions of 0")
    for signal in ("velocity", "effort"):
        table = stream.values.get(signal)
        if table is not None and 0 < np.isnan(table).all(axis=1).sum() < len(stream):
            words.append(f"no {'efforts' if signal == 'effort' else 'velocities'}")
    if not words:
        return
    what = f": some messages have {' and '.join(words)}"
    place = stream.sensor or "one log"
    k = int(again[0])
    got = f"{len(again)} samples with the stamp of another and other values, the first {k}"
    rule = "one source of joints"
    remedy = f"two publishers on {place}{what}: record one, or stop the other"
    raise InputError(stream.place, f"sample {k}, t", got, rule, remedy)
