"""What the columns of a table mean, by the names that programs give them.

PlotJuggler, pandas, own scripts: `/box/pose/pose/position/x`, `pos_x`, `box.qw`, `x`. A column
belongs to a group (a body, topic or marker) and has a signal and a component.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .columns import HeaderName, column_of, is_time

WORD, LEVELS = re.compile(r"[^/._ :\[\]-]+"), re.compile(r"[/.\[\]]+")
WORDS = {
    "position": "p", "translation": "p", "pos": "p", "p": "p", "location": "p", "orientation": "q",
    "rotation": "q", "quaternion": "q", "quat": "q", "q": "q", "force": "f", "torque": "t",
}  # fmt: skip
"""Word before a component -> signal of poses (p, q) and wrenches (f, t)."""
JOINED = re.compile(r"(p|pos|q|quat|t|f)([xyzw])")
"""px, qw, tx: a signal and its component in one word; t is a translation beside q, or a torque."""
PLACE = ("px", "py", "pz")
WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")
AROUND = ("pose", "transform", "wrench", "msg", "message", "data")
"""Last words of a topic that name no body."""
NO_PLACES = (
    "linear", "angular", "velocity", "vel", "twist", "acceleration", "accel", "acc", "gyro",
    "gyroscope", "omega", "euler", "rpy", "gravity", "magnetic", "mag", "covariance",
    "orientation", "rotation", "quat", "quaternion", "force", "torque", "current",
)  # fmt: skip
"""Words before x, y, z of what is no place."""
JOINTS = {"position": "position", "velocity": "velocity", "effort": "effort"}
COMMANDED = ("command", "commands", "reference", "desired", "target")


class Meaning(NamedTuple):
    """Group, signal (p q f t of poses, wrenches; of joints their own), component of a column.

    group   levels before them, in the order of the name;  unit  that the name states, "" none
    """

    kind: str
    group: tuple[str, ...]
    signal: str
    component: str
    unit: str


NOTHING = Meaning("", (), "", "", "")


def meaning_of(header: str) -> Meaning:
    """The meaning of a column; kind "time", "joint", "vector" or "" (says nothing)."""
    column = column_of(header)
    if is_time(header):
        return Meaning("time", (), "", "", column.unit)
    joint = _joint(column)
    if joint is not None:
        return joint
    every = list(WORD.finditer(column.name))
    words = [match[0] for match in every]
    if not words:
        return NOTHING
    last = words[-1].lower()
    if last in ("x", "y", "z", "w"):
        before = words[-2].lower() if len(words) > 1 else ""
        if before in WORDS:
            return Meaning(
                "vector", _group(column.name, every[:-2]), WORDS[before], last, column.unit
            )
        if len(words) > 2 and words[0] in ("p", "q"):  # p_RS_R_x, of EuRoC
            return Meaning("vector", (), words[0], last, column.unit)
        if last != "w" and before not in NO_PLACES:
            return Meaning("vector", _group(column.name, every[:-1]), "p", last, column.unit)
        return NOTHING
    match = JOINED.fullmatch(last)
    if match is not None:
        signal = {"pos": "p", "quat": "q"}.get(match[1], match[1])
        return Meaning("vector", _group(column.name, every[:-1]), signal, match[2], column.unit)
    return NOTHING


def vectors(header: Sequence[str]) -> dict[tuple[str, ...], dict[str, int]]:
    """Group -> name of the usual table (px .. qw, fx .. tz, or x y z of places) -> column.

    Translations `tx ty tz` beside a quaternion are places; a column of a name that occurs twice
    keeps its first place. Complete sets alone: poses, wrenches, and places without orientation.
    """
    groups: dict[tuple[str, ...], dict[str, int]] = {}
    for k, name in enumerate(header):
        one = meaning_of(name)
        if one.kind == "vector":
            groups.setdefault(one.group, {}).setdefault(one.signal + one.component, k)
    found = {}
    for group, at in groups.items():
        q = [f"q{axis}" for axis in "xyzw"]
        if all(name in at for name in q) and "px" not in at and "tx" in at and "fx" not in at:
            at = {name.replace("t", "p", 1): k for name, k in at.items()}
        for wanted in ((*PLACE, *q), WRENCH, PLACE):
            if all(name in at for name in wanted):
                found[group] = {name: at[name] for name in wanted}
                break
    return found


def is_pose(columns: dict[str, int]) -> bool:
    """True of a group of `vectors` that is a pose."""
    return "qw" in columns


def is_wrench(columns: dict[str, int]) -> bool:
    """True of a group of `vectors` that is a wrench."""
    return "fx" in columns


def _joint(column: HeaderName) -> Meaning | None:
    """/joint_states/position/NAME and /joint_states/NAME/position; component: the joint."""
    parts = [part for part in LEVELS.split(column.name) if part]
    for k in (len(parts) - 2, len(parts) - 1):
        if k < 1 or parts[k].lower().rstrip("s") not in JOINTS:
            continue
        other = parts[k + 1] if k == len(parts) - 2 else parts[k - 1]
        topic = parts[:k] if k == len(parts) - 2 else parts[: k - 1]
        if other.lower() in ("x", "y", "z", "w") or other.isdigit() or not topic:
            continue
        signal = JOINTS[parts[k].lower().rstrip("s")]
        return Meaning("joint", tuple(topic), signal, other, column.unit)
    return None


def is_command(group: Sequence[str]) -> bool:
    """True of a topic of commanded joints."""
    return any(word in part.lower() for part in group for word in COMMANDED)


def _group(name: str, words: Sequence[re.Match[str]]) -> tuple[str, ...]:
    """The levels of a name up to the last of some words, without those that name no body."""
    levels = [level for level in LEVELS.split(name[: words[-1].end()]) if level] if words else []
    while levels and levels[-1].lower() in AROUND:
        levels.pop()
    return tuple(levels)
