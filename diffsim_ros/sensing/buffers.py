"""Messages as they came, kept as bytes within a bound of memory, and judged as their kind needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from ..errors import InputError
from . import bags
from .bags import RawMessage
from .markers import labelled
from .messages import OfferedQos, types
from .observation import Observation
from .recorder import StreamRecorder

OVERHEAD = 120
"""Bytes that a buffered message costs beside its own."""
MEGA = 1_000_000


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
        """Everything kept, for bags.write_raw, at the stamps of the headers."""
        pairs = zip(self._stamps, self._data, strict=True)
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

    def warning(self) -> str:
        """What units and axes the places, and free flight if there is one, contradict."""
        from .check import examine

        try:
            whole = self.recording()
        except InputError as error:
            return str(error)
        found = [
            f"{finding.text}; {finding.advice}"
            for finding in examine(whole, assess=False).found
            if finding.level == "warning" and finding.about in ("units", "axis", "gravity")
        ]
        return f"{self.source}: {'; '.join(found)}" if found else ""


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
