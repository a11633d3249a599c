"""What is received live: samples are checked as they come, and unusable ones are counted.

A stream becomes trials by the stamps that the source wrote, never by the time of arrival: a
recording that is replayed faster than it happened gives the same trials.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..rotation import quat_multiply, quat_rotate
from . import bags
from .bags import RawMessage
from .cdr import NANO
from .lost import lost_rows
from .markers import labelled
from .messages import OfferedQos, types
from .observation import (
    MIN_SAMPLES,
    SIGMA,
    UNIT_TOLERANCE,
    Observation,
    PoseSample,
    PoseTrial,
    pose_values,
)

OVERHEAD = 120
"""Bytes that a buffered message costs beside its own."""
MEGA = 1_000_000
RESET_AFTER = 10
"""Backward stamps in a row after which the source's clock counts as set back."""
RATE_SAMPLES = 200
"""Samples that the present rate is taken from."""
UP_AXES = {"z": (0.0, 0.0, 0.0, 1.0), "y": (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))}
"""Rotation (x, y, z, w) from a recording with that axis up to z up."""
REASONS = (
    "not finite", "not a rotation", "unreadable", "unknown frame", "another frame",
    "duplicate stamp", "backward stamp",
)  # fmt: skip


@dataclass
class Drops:
    """How many samples were dropped for one reason, and which was the first and the last."""

    count: int = 0
    first: str = ""
    last: str = ""

    def add(self, name: str) -> None:
        """Count the sample `name`."""
        self.count += 1
        self.first = self.first or name
        self.last = name


@dataclass
class StreamRecorder:
    """Samples of one source in one frame, split into trials at holes of `trial_gap` seconds.

    source     where the samples come from (a topic), for messages
    frame      accepted frame; "": that of the first sample
    trial_gap  hole between two stamps that ends a trial [s]
    limit      most samples kept; later ones are counted in `overflow`
    Raises InputError if trial_gap is unusable.
    """

    source: str
    frame: str = ""
    trial_gap: float = 0.5
    limit: int = 1_000_000
    received: int = 0
    overflow: int = 0
    resets: int = 0
    drops: dict[str, Drops] = field(default_factory=lambda: {r: Drops() for r in REASONS})

    def __post_init__(self) -> None:
        if not self.trial_gap > 0.0:
            raise InputError(self.source, "trial_gap", self.trial_gap, "a time > 0 [s]")
        self._stamps, self._starts = array("q"), array("q")
        self._seen_frame, self._behind = self.frame, 0

    def __len__(self) -> int:
        return len(self._stamps)

    def clear(self) -> None:
        """Forget all samples and counts."""
        self.received = self.overflow = self.resets = 0
        self.drops = {r: Drops() for r in REASONS}
        self.__post_init__()

    @property
    def trial_count(self) -> int:
        """Trials so far, the present one included."""
        return len(self._starts)

    @property
    def seen_frame(self) -> str:
        """Frame that the kept samples are given in ("" before the first)."""
        return self._seen_frame

    @property
    def dropped(self) -> int:
        """Samples dropped for any reason."""
        return sum(drop.count for drop in self.drops.values())

    def keep(self, stamp: int, frame: str, defect: str = "", *, room: bool = True) -> str:
        """Count a sample and judge it; the caller stores what it holds if the answer is "".

        stamp   [ns];  defect  what is wrong with its values, one of REASONS, "" nothing
        room    False: there is no memory for it
        Returns the reason why it is dropped, "" if it is kept.
        """
        self.received += 1
        reason = defect or self._misplaced(stamp, frame)
        if reason:
            self.drops[reason].add(f"sample {self.received - 1} at {stamp / NANO:.6f} s")
            return reason
        if not room or len(self._stamps) >= self.limit:
            self.overflow += 1
            return "buffer full"
        gap = self.trial_gap * NANO
        if not self._stamps or not 0 <= stamp - self._stamps[-1] <= gap:
            self._starts.append(len(self._stamps))
        self._seen_frame, self._behind = frame, 0
        self._stamps.append(stamp)
        return ""

    def refuse(self, stamp: int, frame: str, reason: str) -> str:
        """Count a sample that is dropped for `reason`, as keep returned it; returns the reason."""
        full = reason not in REASONS
        return self.keep(stamp, frame, "" if full else reason, room=not full)

    def _misplaced(self, stamp: int, frame: str) -> str:
        """The reason why frame or stamp make a sample unusable; "" if they do not."""
        if not abs(stamp) < 2**63:
            return "unreadable"
        if self._seen_frame and frame != self._seen_frame:
            return "unknown frame"
        if not self._stamps or stamp > self._stamps[-1]:
            return ""
        if stamp == self._stamps[-1]:
            return "duplicate stamp"
        self._behind += 1
        if self._behind <= RESET_AFTER:
            return "backward stamp"
        self.resets += 1
        return ""

    def rate(self) -> float:
        """Samples per second of the present trial, by the stamps; nan with fewer than two."""
        start = max(self._starts[-1], len(self) - RATE_SAMPLES) if self._starts else 0
        if len(self) - start < 2:
            return float("nan")
        return (len(self) - start - 1) * NANO / (self._stamps[-1] - self._stamps[start])

    def missing(self) -> int:
        """Frames that are missing inside trials (occluded, or lost on the way)."""
        trials = self.times()
        dt = _spacing(trials)
        return sum(int(np.rint(np.diff(t) / dt).sum()) - len(t) + 1 for t in trials if dt > 0.0)

    def times(self) -> list[np.ndarray]:
        """Stamps since the start of the trial [s] (n,) of every trial."""
        stamps = np.array(self._stamps, dtype=np.int64)
        edges = [*self._starts, len(stamps)]
        return [(stamps[a:b] - stamps[a]) / NANO for a, b in pairwise(edges)]

    def summary(self) -> str:
        """One line: how many samples, trials and drops, each reason with its first sample."""
        parts = [f"{len(self)} of {self.received} samples in {self.trial_count} trials"]
        for reason, drop in self.drops.items():
            if drop.count:
                parts.append(f"{drop.count} dropped: {reason} (first: {drop.first})")
        if self.resets:
            parts.append(f"the source's clock was set back {self.resets} times")
        if self.overflow:
            parts.append(f"{self.overflow} did not fit into the buffer of {self._bound()}")
        return "; ".join(parts)

    def _bound(self) -> str:
        return str(self.limit)


@dataclass
class PoseRecorder(StreamRecorder):
    """Poses of one body.

    up_axis    "z" or "y": the axis of the samples that points up; trials are z up
    Raises InputError if up_axis or trial_gap are unusable.
    """

    up_axis: str = "z"

    def __post_init__(self) -> None:
        if self.up_axis not in UP_AXES:
            raise InputError(self.source, "up_axis", self.up_axis, " or ".join(UP_AXES))
        super().__post_init__()
        self._poses = array("d")

    def add(self, sample: PoseSample) -> str:
        """Keep a sample, or drop and count it; return the reason of the drop, "" if it is kept."""
        reason = self.keep(sample.stamp, sample.frame, self._defect(sample))
        if not reason:
            self._poses.extend((*sample.position, *sample.orientation))
        return reason

    def extend(self, stamps: np.ndarray, frame: str, poses: np.ndarray) -> bool:
        """Keep samples (n,) [ns], (n, 7) all at once, if nothing is wrong with any of them and none
        came before; False, and nothing kept, else: `add` them one by one."""
        norm = np.linalg.norm(poses[:, 3:], axis=1)
        sound = np.isfinite(poses).all() and (np.abs(norm - 1.0) <= UNIT_TOLERANCE).all()
        fits = not self.received and len(stamps) <= self.limit
        fits = fits and self._seen_frame in ("", frame) and bool((np.diff(stamps) > 0).all())
        if not (sound and fits and len(stamps)):
            return False
        holes = np.flatnonzero(np.diff(stamps) > self.trial_gap * NANO) + 1
        self._starts.extend([0, *holes.tolist()])
        self._stamps.extend(stamps.tolist())
        self._poses.frombytes(np.ascontiguousarray(poses, float).tobytes())
        self._seen_frame, self.received = frame, len(stamps)
        return True

    def _defect(self, sample: PoseSample) -> str:
        """What is wrong with the numbers of a sample."""
        if not np.isfinite((*sample.position, *sample.orientation)).all():
            return "not finite"
        if abs(np.linalg.norm(sample.orientation) - 1.0) > UNIT_TOLERANCE:
            return "not a rotation"
        return ""

    def trials(self, ids: Sequence[int] = ()) -> list[PoseTrial]:
        """The trials so far, z up, t from 0, on one time grid; those of < 8 samples are left out.

        ids  numbers of the trials in the order recorded; 1, 2, 3 ... beyond the end of the list
        Raises InputError if nothing usable was recorded.
        """
        rows = self._rows()
        if not any(len(t) >= MIN_SAMPLES for t, _ in rows):
            rule = f"at least one trial of {MIN_SAMPLES} samples"
            raise InputError(self.source, "samples", self.summary(), rule)
        dt = _spacing([t for t, _ in rows if len(t) >= MIN_SAMPLES])
        numbers = list(ids) + [i for i in range(1, len(rows) + 1 + len(ids)) if i not in set(ids)]
        return [
            self._trial(numbers[k], self._stamps[self._starts[k]], t, poses, dt)
            for k, (t, poses) in enumerate(rows)
            if len(t) >= MIN_SAMPLES
        ]

    def _rows(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Stamps since the start of the trial [s] (n,) and poses (n, 7) of every trial, without
        lost samples (lost.py)."""
        poses = np.array(self._poses, dtype=float).reshape(-1, 7)
        edges = [*self._starts, len(poses)]
        trial = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        measured = ~np.logical_or.reduce(
            [np.zeros(len(poses), bool), *lost_rows(poses[:, :3], poses[:, 3:], trial).values()]
        )
        found = []
        for t, (a, b) in zip(self.times(), pairwise(edges), strict=True):
            own = measured[a:b]
            found.append((t[own] - t[own][:1], poses[a:b][own]))
        return found

    def _trial(
        self, number: int, first: int, t: np.ndarray, poses: np.ndarray, dt: float
    ) -> PoseTrial:
        position, orientation = poses[:, :3], poses[:, 3:]
        if self.up_axis != "z":
            turn = np.array(UP_AXES[self.up_axis])
            position = quat_rotate(turn, position)
            orientation = quat_multiply(turn, orientation)
        value = np.concatenate([position, orientation], axis=1)
        frames = np.rint(t / dt).astype(np.int64)
        observed = Observation(
            kind="poses", t=t, names=("body",), values=pose_values(value), source=self.source,
            frame=self._seen_frame, sigma=np.array(SIGMA), epoch=first,
        )  # fmt: skip
        return PoseTrial(number, observed, dt, frames)


@dataclass
class Budget:
    """Bytes that several recorders share."""

    limit: int
    used: int = 0

    def take(self, size: int) -> bool:
        """True, and counted, if there is room for so many more."""
        if self.used + size > self.limit:
            return False
        self.used += size
        return True


@dataclass
class MessageRecorder(StreamRecorder):
    """Serialised messages of one topic; what does not fit into the budget is counted.

    msgtype   "sensor_msgs/msg/PointCloud2", say
    """

    msgtype: str = ""
    budget: Budget = field(default_factory=lambda: Budget(256 * MEGA))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._data: list[bytes] = []

    def add(self, stamp: int, frame: str, data: bytes) -> str:
        """Keep a message, or drop and count it; return the reason of the drop, "" if it is kept."""
        room = self.budget.take(len(data) + OVERHEAD)
        reason = self.keep(stamp, frame, room=room)
        if not reason:
            self._data.append(data)
        elif room:
            self.budget.used -= len(data) + OVERHEAD
        return reason

    def clear(self) -> None:
        """Forget all messages and counts."""
        self.budget.used -= sum(len(data) + OVERHEAD for data in self._data)
        super().clear()

    def messages(self, topic: str) -> list[RawMessage]:
        """Everything kept, for bags.write_raw, at the stamps of the headers.

        A bag is sorted by time: where a clock that was set back repeats times of an earlier trial,
        which sorting would mix with the later one, messages follow each other by a nanosecond.
        """
        stamps = np.array(self._stamps, dtype=np.int64)
        edges = pairwise([*self._starts, len(stamps)])
        spans = sorted((stamps[a], stamps[b - 1]) for a, b in edges)
        if any(later[0] <= earlier[1] for earlier, later in pairwise(spans)):
            order = np.arange(len(stamps))
            stamps = np.maximum.accumulate(stamps - order) + order
        pairs = zip(stamps.tolist(), self._data, strict=True)
        return [RawMessage(stamp, topic, self.msgtype, data) for stamp, data in pairs]

    def _bound(self) -> str:
        return f"{self.budget.limit // MEGA} MB"


@dataclass
class MarkerRecorder(MessageRecorder):
    """Markers or RigidBodies of mocap4r2_msgs, whose units and axes free flight tells."""

    def recording(self) -> Observation:
        """Everything kept; InputError as markers.labelled."""
        samples = [
            (stamp, types().deserialize_cdr(data, self.msgtype))
            for stamp, data in zip(self._stamps, self._data, strict=True)
        ]
        return labelled(samples, self.source)

    def trials(self) -> list[Observation]:
        """Every trial, its clock from 0, as markers.trials gives those of a file."""
        whole = self.recording()
        edges = [*self._starts, len(whole)]
        return [
            replace(own, t=own.t - own.t[0], trial=k)
            for k, own in enumerate((whole.kept(slice(*ab)) for ab in pairwise(edges)), start=1)
        ]


def write_recording(
    path: str | Path,
    messages: Sequence[RawMessage],
    offered: Mapping[str, Sequence[OfferedQos]] | None = None,
) -> Path:
    """Write what was heard as an .mcap, all or nothing; InputError if `path` exists.

    offered  see messages.write_bag
    """
    path = Path(path)
    if not messages:
        raise InputError(path, "messages", 0, "at least one")
    try:
        return bags.write_raw(path, messages, offered)
    except FileExistsError:
        got, rule = "a file that exists already", "recordings are never overwritten"
        raise InputError(path, "", got, rule) from None


def _spacing(stamps: Sequence[np.ndarray]) -> float:
    """Spacing of the time grid [s] that all trials share; 0.0 without two samples.

    The median difference numbers the frames, so missing frames do not count; the slope of stamp
    against number over whole trials averages the jitter and the rounding to nanoseconds.
    """
    differences = [np.diff(t) for t in stamps if len(t) > 1]
    if not differences:
        return 0.0
    rough = float(np.median(np.concatenate(differences)))
    span = sum(float(d.sum()) for d in differences)
    return span / max(sum(float(np.rint(d / rough).sum()) for d in differences), 1.0)
