"""Joint logs of a rosbag2 recording, as the observer saves them; read without a distribution."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from .. import bags
from ..messages import JOINTS
from ..timing import clock

STATE = "control_msgs/msg/JointTrajectoryControllerState"
COMMANDS = "command"
"""A topic of JointState with this word in its name holds commands."""
Columns = dict[str, np.ndarray]
"""Signal -> values of every joint (n, m)."""
Tables = tuple[np.ndarray, np.ndarray, tuple[str, ...], Columns, Columns]
"""Times (n,), trials (n,), joints (m,), measured and commanded columns."""


def bag_tables(path: Path) -> Tables:
    """Times [s] (n,), trials (n,), joints, measured and command columns (n, m), by signal.

    Measured is the only topic of JointState that is not one of commands. Commands are a topic of
    JointState whose name has `command` in it, or a controller's state (`reference`), if there is
    one: the last before each sample; samples before the first are left out. Holes in the stamps
    (recordings.timing) tell trials apart. Raises InputError naming topics, or topic and sample.
    """
    known = {name: kind for name, (kind, count) in bags.topics(path).items() if count}
    states = [name for name, kind in known.items() if kind == JOINTS and COMMANDS not in name]
    if len(states) != 1:
        got = ", ".join(states) or ", ".join(known) or "none"
        raise InputError(path, "topics", got, "exactly one of measured JointState")
    ns, joints, measured = _columns(path, states[0], JOINTS)
    if "position" not in measured:
        raise InputError(f"{path}: {states[0]}", "position", "none", "one per joint")
    sources = [
        n for n, kind in known.items() if kind == STATE or (kind == JOINTS and n not in states)
    ]
    if len(sources) > 1:
        raise InputError(path, "topics", ", ".join(sources), "one of commands at most")
    command: Columns = {}
    kept = np.arange(len(ns))
    for source in sources:
        kept, command = _held(path, source, known[source], ns, joints)
    t = (ns[kept] - ns[0]) * 1e-9
    return t, clock(t, None).trial, joints, {k: v[kept] for k, v in measured.items()}, command


def _columns(path: Path, topic: str, kind: str) -> tuple[np.ndarray, tuple[str, ...], Columns]:
    """Stamps [ns] (n,), names and columns of a topic; of a controller those of its reference."""
    _, samples = bags.read_messages(path, kind, topic)
    ns = np.array([bags.nanoseconds(m.header.stamp) or arrival for arrival, m in samples])
    if kind == STATE:
        samples = [(stamp, _Reference(message)) for stamp, message in samples]
    return ns, *joint_columns(path, topic, samples)


class _Reference:
    """A controller's reference with the attributes of a JointState."""

    def __init__(self, message: Any) -> None:
        self.name, point = message.joint_names, message.reference
        self.position, self.velocity, self.effort = point.positions, point.velocities, point.effort


def _held(
    path: Path, topic: str, kind: str, ns: np.ndarray, joints: tuple[str, ...]
) -> tuple[np.ndarray, Columns]:
    """Samples that have a command before them, and its position and effort for each joint."""
    stamps, names, columns = _columns(path, topic, kind)
    missing = [joint for joint in joints if joint not in names]
    if missing:
        rule = f"a command of every joint: {', '.join(joints)}"
        raise InputError(
            f"{path}: {topic}", "joints", ", ".join(names), rule, f"lacks {missing[0]}"
        )
    order = [names.index(joint) for joint in joints]
    last = np.searchsorted(stamps, ns, side="right") - 1
    kept = np.flatnonzero(last >= 0)
    found = {k: v[last[kept]][:, order] for k, v in columns.items() if k in ("position", "effort")}
    return kept, found


def joint_columns(
    path: Path, topic: str, samples: Sequence[tuple[int, Any]]
) -> tuple[tuple[str, ...], Columns]:
    """Names of JointState messages and column -> values (n, m), those that are there.

    Raises InputError naming file, topic and sample for joints that come and go.
    """
    names = tuple(samples[0][1].name)
    columns = {}
    for key in ("position", "velocity", "effort"):
        rows = [np.asarray(getattr(message, key), float) for _, message in samples]
        if any(len(row) for row in rows):
            columns[key] = _table(path, topic, names, key, samples, rows)
    return names, columns


def _table(
    path: Path, topic: str, names: tuple[str, ...], key: str, samples: Sequence[tuple[int, Any]],
    rows: Sequence[np.ndarray],
) -> np.ndarray:  # fmt: skip
    """(n, m) of rows that may name the joints in another order."""
    table = np.full((len(rows), len(names)), np.nan)
    for k, ((_, message), row) in enumerate(zip(samples, rows, strict=True)):
        if sorted(message.name) != sorted(names) or len(row) not in (0, len(names)):
            got = f"{len(row)} numbers for {list(message.name)}"
            raise InputError(f"{path}: {topic}: sample {k}", key, got, f"one per joint {names}")
        if len(row):
            table[k] = row[[list(message.name).index(name) for name in names]]
    return table
