"""Joints of a bag: which of its topics and joints are the robot's, and what they were commanded.

On one topic several may publish: the arm, and a gripper in the same messages or in turn. Joints
that always come together are a stream of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, listed, nearest
from . import bags, cdr
from .clock import clock
from .messages import JOINTS
from .observation import COMMAND, Observation

SIGNALS = ("position", "velocity", "effort")
PLURAL = {"position": "positions", "velocity": "velocities", "effort": "efforts"}
STATE = "control_msgs/msg/JointTrajectoryControllerState"
REFERENCES = ("reference", "desired")
"""Fields of a controller's state that hold its reference, now and in its former type."""
COMMANDS = "command"
"""A topic of JointState with this word in its name holds commands."""
NONE = "none"
"""Name of a topic of commands that means none of them."""
APART = 0.05
"""Positions [rad or m] this far from 0 do not come from 0 in one sample."""
ALIKE = 0.8
"""Share of letters from which on two names may be one, misspelt."""
SHORT = 4
"""Letters of a name from which on it is part of another by no chance."""
Columns = dict[str, np.ndarray]
"""Signal -> values of every joint (n, m)."""


@dataclass(frozen=True)
class Stream:
    """Joints of one topic that always come together.

    ns      times [ns] (n,);  names  of the m joints;  columns  those that are there
    """

    topic: str
    ns: np.ndarray
    names: tuple[str, ...]
    columns: Columns
    notes: tuple[str, ...] = ()

    def of(self, joints: Sequence[str]) -> Columns:
        """The columns of these joints, in their order."""
        order = [self.names.index(name) for name in joints]
        return {key: table[:, order] for key, table in self.columns.items()}


class Row:
    """Names and columns of a message as a JointState has them."""

    def __init__(self, name: Sequence[str], **columns: Sequence[float]) -> None:
        self.name = list(name)
        self.position, self.velocity, self.effort = (columns.get(key, ()) for key in SIGNALS)


# ---------------------------------------------------------------------------- observations


def read_topic(path: Path, topic: str) -> list[Observation]:
    """Readings of one topic of JointState, an observation for joints that always come together."""
    found = streams(path, topic, JOINTS)
    several = ""
    if len(found) > 1:
        parts = "; ".join(f"{listed(one.names)} ({len(one.ns)} messages)" for one in found)
        several = f"joints that always come together: {parts}"
    return [
        Observation(
            kind="joints", t=(one.ns - one.ns[0]) * 1e-9, names=one.names, values=one.columns,
            source=str(path), format="JointState", epoch=int(one.ns[0]),
            sensor=f"{topic} ({one.names[0]})" if several else topic,
            notes=(*one.notes, several) if several else one.notes,
        )
        for one in found
    ]  # fmt: skip


def read_bag(
    path: Path, topic: str = "", *, joints: Collection[str] = (), commands: str = ""
) -> list[Observation]:
    """Measured joints, and their commands.

    topic     of measured JointState; "": the one that is not of commands and, of several, has most
              of `joints`
    joints    of the robot: others are left out; empty: all that always come together
    commands  topic of commands; "": topics of JointState whose name has `command` in it, and
              states of controllers (their reference), which together have these joints; "none"
    A command holds until the next; samples before the first are left out. Holes in the stamps tell
    trials apart. Raises InputError naming topics, or topic and sample.
    """
    known = {name: kind for name, (kind, count) in bags.topics(path).items() if count}
    measured = _chosen(path, _measured(path, known, topic), joints)
    if "position" not in measured.columns:
        raise InputError(f"{path}: {measured.topic}", "position", "none", "one per joint")
    refuse_misnamed(str(path), measured.names, joints)
    names = tuple(name for name in measured.names if not joints or name in joints)
    notes = list(measured.notes)
    if len(names) < len(measured.names):
        others = [name for name in measured.names if name not in names]
        notes.append(f"{listed(others)} of {measured.topic}: left out, no joint of the robot")
    values, noted = _there(measured.of(names), names)
    notes += noted
    kept, command, told = _commands(path, known, measured, names, commands)
    ns = measured.ns
    t = (ns[kept] - ns[0]) * 1e-9
    values = {key: table[kept] for key, table in values.items()} | command
    return [
        Observation(
            kind="joints", t=t, names=names, values=values, source=str(path),
            format="joints of a bag", numbers=clock(t, None).trial,
            notes=tuple(dict.fromkeys((*notes, *told))),
        )
    ]  # fmt: skip


def _measured(path: Path, known: Mapping[str, str], topic: str) -> list[Stream]:
    """Streams of the topic, or of every topic of JointState that is not one of commands."""
    every = [name for name, kind in known.items() if kind == JOINTS]
    if topic and topic not in every:
        rule = "a topic of JointState with messages"
        raise InputError(path, "topic", topic, rule, nearest(topic, every))
    names = [topic] if topic else [name for name in every if COMMANDS not in name]
    if not names:
        got = ", ".join(known) or "none"
        raise InputError(path, "topics", got, "one of measured JointState")
    found, errors = [], []
    for name in names:
        try:
            found += streams(path, name, JOINTS)
        except InputError as error:  # of another robot, perhaps
            errors.append(error)
    if not found:
        raise errors[0]
    return found


def _chosen(path: Path, found: Sequence[Stream], joints: Collection[str]) -> Stream:
    """The stream with most of these joints; of any, where none are given, the only one."""
    share = {k: len(set(one.names) & set(joints)) for k, one in enumerate(found)}
    most = max(share.values())
    best = [one for k, one in enumerate(found) if share[k] == most]
    if joints and not most:
        got = "; ".join(f"{listed(one.names)} on {one.topic}" for one in found)
        rule = f"joints of the robot: {listed(list(joints))}"
        raise InputError(path, "joints", got, rule, "is it the URDF of this robot?")
    if len(best) == 1:
        return best[0]
    got = "; ".join(f"{listed(one.names)} on {one.topic} ({len(one.ns)})" for one in best)
    rule = "one stream of measured joints"
    raise InputError(path, "topics", got, rule, "name the topic (data.topic, `init --topic`)")


def refuse_misnamed(place: str, names: Sequence[str], joints: Collection[str]) -> None:
    """Refuse a log with a joint whose name is nearly that of a joint of the robot which it lacks:
    of others that the robot lacks it is known whose they are not."""
    lacking = [name for name in joints if name not in names]
    for name in names if joints else ():
        near = [] if name in joints else [one for one in lacking if _alike(name, one)]
        if near:
            rule = "names of joints of the robot that are not fixed"
            raise InputError(place, "joints", name, rule, f"did you mean {near[0]!r}?")


def _alike(one: str, other: str) -> bool:
    """Whether one name is part of the other, or nearly the same."""
    short, long = sorted((one.lower(), other.lower()), key=len)
    within = len(short) >= SHORT and short in long
    return within or SequenceMatcher(None, short, long).ratio() >= ALIKE


def _there(columns: Columns, names: Sequence[str]) -> tuple[Columns, list[str]]:
    """Columns with a number in them, and a note of those that have none, or lack some joints'."""
    found, notes = {}, []
    for key, table in columns.items():
        has = np.atleast_1d(np.isfinite(table).any(axis=0)).tolist()
        lacks = [name for name, there in zip(names, has, strict=True) if not there]
        if len(lacks) < len(names):
            found[key] = table
        if lacks:
            whose = "" if len(lacks) == len(names) else f" of {listed(lacks)}"
            notes.append(f"no {PLURAL[key]}{whose}: no message has a number there")
    return found, notes


# ---------------------------------------------------------------------------- topics


def streams(path: Path, topic: str, kind: str) -> list[Stream]:
    """Streams of a topic, the largest first; of a controller's state those of its reference.

    Raises InputError naming topic and sample for columns of another length than the names, and for
    zeros in between, which another publisher sends.
    """
    if kind == STATE:
        clocks, rows, notes = _references(path, topic)
    else:
        _, samples = bags.read_messages(path, kind, topic)
        clocks = [(bags.nanoseconds(message.header.stamp), heard) for heard, message in samples]
        rows, notes = [message for _, message in samples], samples.notes
    groups: dict[tuple[str, ...], list[int]] = {}
    for k, row in enumerate(rows):
        groups.setdefault(tuple(row.name), []).append(k)
    present: dict[str, set[int]] = {}
    for number, names in enumerate(groups):
        for name in names:
            present.setdefault(name, set()).add(number)
    together: dict[frozenset[int], list[str]] = {}
    for name, numbers in present.items():
        together.setdefault(frozenset(numbers), []).append(name)
    lists = list(groups.values())
    place = f"{path}: {topic}"
    found = []
    for where, joints in together.items():
        own = sorted(k for number in where for k in lists[number])
        columns, told = _table_of(place, tuple(joints), [(k, rows[k]) for k in own])
        _refuse_zeros(place, topic, joints, columns)
        ns, timed = bags.times(*zip(*(clocks[k] for k in own), strict=True))
        found.append(Stream(topic, ns, tuple(joints), columns, (*notes, *timed, *told)))
    if not found:
        raise InputError(place, "name", "no joint in any message", "names of joints")
    return sorted(found, key=lambda one: (-len(one.names), -len(one.ns)))


def _table_of(
    place: str, names: tuple[str, ...], rows: Sequence[tuple[int, Any]]
) -> tuple[Columns, list[str]]:
    """Column -> values (n, m) of numbered rows that have these joints, in any order, among others;
    columns without any number are not there."""
    columns, order = {}, dict[tuple[str, ...], list[int]]()
    for key in SIGNALS:
        table = np.full((len(rows), len(names)), np.nan)
        for i, (k, row) in enumerate(rows):
            values, own = getattr(row, key), tuple(row.name)
            if len(values) not in (0, len(own)):
                got = f"{len(values)} numbers for {len(own)} names"
                raise InputError(f"{place}: sample {k}", key, got, f"one per joint {own}")
            if not len(values):
                continue
            if own not in order:
                if len(set(own)) < len(own):
                    raise InputError(f"{place}: sample {k}", "name", list(own), "each joint once")
                order[own] = [own.index(name) for name in names]
            table[i] = np.asarray(values, float)[order[own]]
        columns[key] = table
    every = {k: v for k, v in columns.items() if any(len(getattr(row, k)) for _, row in rows)}
    return _there(every, names)


def _refuse_zeros(place: str, topic: str, names: Sequence[str], columns: Columns) -> None:
    """Refuse messages whose positions are all 0 between others that are far from it."""
    q = columns.get("position")
    if q is None or len(q) < 3:
        return
    zero = (q == 0.0).all(axis=1)
    far = np.abs(np.nan_to_num(q)).max(axis=1) > APART
    edges = np.flatnonzero(np.diff(zero.astype(int)))
    jumps = [k for k in edges if far[k] or far[k + 1]]
    if zero.all() or len(jumps) < 2:
        return
    lacking = [key for key in SIGNALS[1:] if key in columns
               and not np.isfinite(columns[key][zero]).any()]  # fmt: skip
    without = "".join(f", no {PLURAL[key]}" for key in lacking)
    got = (
        f"two publishers on {topic}: {np.count_nonzero(zero)} of {len(zero)} messages have "
        f"positions of 0{without}"
    )
    rule = f"one publisher of {listed(names)}"
    remedy = "`ros2 topic info -v` names them: stop the other, or rename its topic"
    raise InputError(place, "position", got, rule, remedy)


def _references(path: Path, topic: str) -> tuple[list[tuple[int, int]], list[Row], tuple[str, ...]]:
    """Stamps and times of arrival [ns], references and notes of a controller's state, whichever of
    its types it has."""
    rows, clocks, notes = [], [], tuple[str, ...]()
    try:
        _, samples = bags.read_messages(path, STATE, topic)
    except InputError as error:
        if error.key != STATE:  # no definition: all types begin alike
            raise
        for k, raw in enumerate(bags.read_raw(path, topic)):
            place = f"{path}: {topic}: sample {k}"
            clocks.append((cdr.header(raw.data, place)[0], raw.stamp))
            names, (position, velocity, _, effort) = cdr.reference(raw.data, place)
            rows.append(Row(names, position=position, velocity=velocity, effort=effort))
    else:
        for arrival, message in samples:
            key = next((key for key in REFERENCES if hasattr(message, key)), None)
            if key is None:
                rule = " or ".join(REFERENCES)
                raise InputError(f"{path}: {topic}", "definition", "neither", rule) from None
            point = getattr(message, key)
            clocks.append((bags.nanoseconds(message.header.stamp), arrival))
            rows.append(Row(message.joint_names, position=point.positions,
                            velocity=point.velocities, effort=point.effort))  # fmt: skip
        notes = samples.notes
    return clocks, rows, notes


# ---------------------------------------------------------------------------- commands


def _commands(
    path: Path, known: Mapping[str, str], measured: Stream, joints: tuple[str, ...], wanted: str
) -> tuple[np.ndarray, Columns, list[str]]:
    """Samples that have a command before them, what each joint is commanded, and notes."""
    every = np.arange(len(measured.ns))
    kinds = {name: kind for name, kind in known.items() if kind in (JOINTS, STATE)}
    if wanted and wanted != NONE and wanted not in kinds:
        rule = "a topic of commands: JointState, or a controller's state"
        raise InputError(path, "commands", wanted, rule, nearest(wanted, kinds))
    named = [name for name, kind in kinds.items() if kind == STATE or COMMANDS in name]
    names = [] if wanted == NONE else [wanted] if wanted else named
    notes, found = list[str](), list[Stream]()
    for name in names:
        if name == measured.topic:
            continue
        try:
            found += list(_sources(streams(path, name, kinds[name]), joints))
        except InputError as error:
            if wanted:
                raise
            notes.append(f"commands on {name} are not used: {error}")
    if not found and (not wanted or wanted == NONE):
        return every, {}, notes
    parts = _each_once(path, found, joints)
    missing = [name for name in joints if not any(name in one.names for one in parts)]
    if missing:
        topics = ", ".join(one.topic for one in parts)
        if wanted:
            rule = f"a command of every joint: {listed(joints)}"
            raise InputError(f"{path}: {wanted}", "joints", f"none of {listed(missing)}", rule)
        return every, {}, [*notes, f"commands on {topics} lack {listed(missing)}: not used"]
    kept, command = _held(parts, measured.ns, joints)
    notes += [note for one in parts for note in one.notes]
    if len(kept) < len(every):
        notes.append(f"{len(every) - len(kept)} samples before the first command are left out")
    return kept, command, notes


def _sources(found: Sequence[Stream], joints: Sequence[str]) -> Iterator[Stream]:
    """Streams that command positions or efforts of some of these joints."""
    for one in found:
        if set(one.names) & set(joints) and {"position", "effort"} & set(one.columns):
            yield one


def _each_once(path: Path, found: Sequence[Stream], joints: Sequence[str]) -> list[Stream]:
    """Streams that command each joint once.

    The one with most of the joints comes first; of a controller that publishes its state under the
    former name too, the present one counts.
    """
    count = [len(set(one.names) & set(joints)) for one in found]
    order = sorted(range(len(found)), key=lambda k: (-count[k], not _present(found[k].topic)))
    taken: list[Stream] = []
    for k in order:
        one = found[k]
        same = [other for other in taken if set(other.names) & set(one.names) & set(joints)]
        if not same:
            taken.append(one)
        elif not all(_twin(one.topic, other.topic) or len(one.names) < len(other.names)
                     for other in same):  # fmt: skip
            got = ", ".join(other.topic for other in (*same, one))
            remedy = "name one (data.commands, `init --commands`), or `none`"
            raise InputError(path, "topics", got, "one of commands for each joint", remedy)
    return taken


def _present(topic: str) -> bool:
    """Whether a controller's state has its present name."""
    return topic.endswith("/controller_state")


def _twin(one: str, other: str) -> bool:
    """Whether two topics are the present and the former name of one controller's state."""
    former, present = sorted((one, other), key=_present)
    return _present(present) and former == present.removesuffix("controller_state") + "state"


def _held(
    parts: Sequence[Stream], ns: np.ndarray, joints: Sequence[str]
) -> tuple[np.ndarray, Columns]:
    """Samples with a command of every joint before them, and the last of these."""
    last = [np.searchsorted(one.ns, ns, side="right") - 1 for one in parts]
    kept = np.flatnonzero(np.all([own >= 0 for own in last], axis=0))
    command: Columns = {}
    for key in ("position", "effort"):
        if not all(key in one.columns for one in parts):
            continue
        table = np.full((len(kept), len(joints)), np.nan)
        for one, own in zip(parts, last, strict=True):
            for name in set(one.names) & set(joints):
                column = one.columns[key][own[kept], one.names.index(name)]
                table[:, list(joints).index(name)] = column
        command[f"{COMMAND}{key}"] = table
    return kept, command
