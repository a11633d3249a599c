"""Tables whose columns have the names of another program: PlotJuggler, pandas, own scripts.

`meaning.py` tells what a column is; each stream needs all of its columns, and the table one of
times. Lines that one stream has and another lacks are how PlotJuggler joins topics: no loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...errors import InputError, listed
from ...tables import Sheet, TextTable, check_finite, number_table, read_table, table_of
from ..columns import METRES, SECONDS, column_of
from ..formats import Export
from ..meaning import is_command, is_pose, is_wrench, meaning_of, vectors
from ..observation import COMMAND, Observation
from .streams import body_stream, marker_stream

NAME = "table of named columns"
FIRST = ("__time", "t", "time", "timestamp")
"""Times that are taken before others."""
RADIANS = {"": 1.0, "rad": 1.0, "deg": np.pi / 180, "rad/s": 1.0, "deg/s": np.pi / 180, "m": 1.0,
           "mm": 1e-3, "m/s": 1.0, "n m": 1.0, "nm": 1.0, "n": 1.0, "a": 1.0}  # fmt: skip


def holds(head: Sheet) -> bool:
    """True of a header with times and all columns of a body, a sensor, a marker or joints."""
    header = table_of(head, "").header
    every = [meaning_of(name) for name in header]
    joints = any(one.kind == "joint" and one.signal == "position" for one in every)
    named = [group for group, at in vectors(header).items() if group or len(at) > 3]
    return any(one.kind == "time" for one in every) and bool(joints or named)


def read(path: Path) -> list[Observation]:
    """Every stream of the table.

    Raises InputError: a unit that is not known, words among the numbers, two topics of joints.
    """
    table = read_table(path, "a readable table")
    wide = next((k for k, row in enumerate(table.rows) if len(row) != len(table.header)), None)
    if wide is not None or not table.rows:
        line = "rows" if wide is None else f"line {table.lines[wide]}"
        got = f"{len(table.rows[wide])} cells" if wide is not None else "none"
        raise InputError(path, line, got, f"{len(table.header)} cells, as the header")
    clock, second, notes = _clock(path, table)
    used, found = {clock}, []
    groups = vectors(table.header)
    bodies = {group: at for group, at in groups.items() if is_pose(at)}
    for group, at in bodies.items():
        used |= set(at.values())
        found.append(_body(path, table, group, at, (clock, second), list(bodies)))
    for group, at in groups.items():
        if is_wrench(at):
            used |= set(at.values())
            found.append(_wrench(path, table, group, at, (clock, second)))
    found += _joints(path, table, (clock, second), used)
    places = {g: at for g, at in groups.items() if g and len(at) == 3}
    if places and not found:
        used |= {k for at in places.values() for k in at.values()}
        found.append(_markers(path, table, places, (clock, second)))
    if not found:
        raise InputError(path, "header", table.header[:40], "all columns of a body or of joints")
    left = [name for k, name in enumerate(table.header) if k not in used]
    if left:
        notes.append(f"not used: {listed(left)}")
    return [_noted(one, notes) for one in found]


def _noted(one: Observation, notes: Sequence[str]) -> Observation:
    return replace(one, notes=(*one.notes, *notes))


def _clock(path: Path, table: TextTable) -> tuple[int, float, list[str]]:
    """Column of times, seconds in its unit, notes."""
    every = [k for k, name in enumerate(table.header) if meaning_of(name).kind == "time"]
    rank = {name: i for i, name in enumerate(FIRST)}
    at = min(every, key=lambda k: rank.get(column_of(table.header[k]).name.lower(), len(rank)))
    unit = column_of(table.header[at]).unit
    if unit and unit not in SECONDS:
        raise InputError(path, f"header, {table.header[at]}", unit, ", ".join(SECONDS))
    note = f"column {table.header[at]} is the time"
    return at, SECONDS.get(unit, 1.0), [*table.notes, note + (f", in {unit}" if unit else "")]


def _rows(
    path: Path, table: TextTable, at: Sequence[int], clock: tuple[int, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] (n,) and numbers (n, k) of the lines in which a stream has a sample.

    A line in which it is empty and others are not is theirs; one in which all is empty is a lost
    sample.
    """
    lines = []
    for k, row in enumerate(table.rows):
        own = any(row[j].strip() for j in at)
        if own or not any(c.strip() for j, c in enumerate(row) if j != clock[0]):
            lines.append(k)
    header = [table.header[j] for j in (clock[0], *at)]
    cells = [[table.rows[k][j] for j in (clock[0], *at)] for k in lines]
    numbers = [table.lines[k] for k in lines]
    value = number_table(path, header, cells, numbers)
    check_finite(path, value, numbers)
    return clock[1] * value[:, 0], value[:, 1:]


def _metre(path: Path, table: TextTable, at: Sequence[int]) -> float:
    """Metres in the unit that the names of places state, 1 where they state none."""
    units = {column_of(table.header[k]).unit for k in at}
    unit = units.pop() if len(units) == 1 else "several"
    if unit and unit not in METRES:
        key = f"unit of {table.header[at[0]]}"
        raise InputError(path, key, unit, "m, cm or mm, the same for x, y and z")
    return METRES.get(unit, 1.0)


def _said(table: TextTable, what: str, at: dict[str, int], metre: float = 1.0) -> str:
    renamed = [f"{table.header[k]} as {name}" for name, k in at.items() if table.header[k] != name]
    pairs = ", ".join(renamed[:3]) + (" ..." if len(renamed) > 3 else "") or "by the usual names"
    return f"{what}: {pairs}" + (f", {metre:g} m a unit" if metre != 1.0 else "")


def _body(
    path: Path, table: TextTable, group: tuple[str, ...], at: dict[str, int],
    clock: tuple[int, float], groups: list[tuple[str, ...]],
) -> Observation:  # fmt: skip
    columns = list(at.values())
    metre = _metre(path, table, columns[:3])
    t, value = _rows(path, table, columns, clock)
    name = _name(group, groups)
    said = [_said(table, f"pose of {name}", at, metre)]
    return body_stream(path, NAME, name, t, metre * value[:, :3], value[:, 3:], said,
                       several=len(groups) > 1)  # fmt: skip


def _name(group: tuple[str, ...], groups: Sequence[tuple[str, ...]]) -> str:
    """Of a body: the last level of its group, all of them where that is not one body's alone."""
    ends = [one[-1:] for one in groups]
    return ("/".join(group) if ends.count(group[-1:]) > 1 else "".join(group[-1:])) or "body"


def _wrench(
    path: Path, table: TextTable, group: tuple[str, ...], at: dict[str, int],
    clock: tuple[int, float]
) -> Observation:  # fmt: skip
    t, value = _rows(path, table, list(at.values()), clock)
    values = {"force": value[:, None, :3], "torque": value[:, None, 3:]}
    return Observation(kind="wrench", t=t, names=("sensor",), values=values, source=str(path),
                       format=NAME, sensor="/".join(group),
                       notes=(_said(table, "wrench", at),))  # fmt: skip


def _joints(
    path: Path, table: TextTable, clock: tuple[int, float], used: set[int]
) -> list[Observation]:
    """The joints of the one topic that measures them, with those of one that commands."""
    topics: dict[tuple[str, ...], dict[tuple[str, str], int]] = {}
    for k, name in enumerate(table.header):
        one = meaning_of(name)
        if one.kind == "joint":
            topics.setdefault(one.group, {}).setdefault((one.signal, one.component), k)
    measured = {g: at for g, at in topics.items() if not is_command(g)}
    if not measured:
        return []
    if len(measured) > 1:
        got = ", ".join("/".join(group) for group in measured)
        raise InputError(path, "header", got, "one topic of measured joints", "export one alone")
    (group, columns), = measured.items()  # fmt: skip
    names = tuple(dict.fromkeys(joint for signal, joint in columns if signal == "position"))
    signals = [s for s in ("position", "velocity", "effort") if any(s == x for x, _ in columns)]
    at = [columns.get((signal, joint)) for signal in signals for joint in names]
    lacking = next((k for k, column in enumerate(at) if column is None), None)
    if lacking is not None:
        signal, joint = signals[lacking // len(names)], names[lacking % len(names)]
        raise InputError(path, "header", f"no {signal} of {joint}", "it for every joint")
    whole = [k for k in at if k is not None]
    t, value = _rows(path, table, whole, clock)
    value = value * [_angle(path, table.header[k]) for k in whole]
    used |= set(whole)
    values = {s: value[:, k * len(names) : (k + 1) * len(names)] for k, s in enumerate(signals)}
    values |= _commands(path, table, topics, names, clock, t, used)
    said = f"joints of {'/'.join(group)}: {', '.join(signals)} by their names"
    return [Observation(kind="joints", t=t, names=names, values=values, source=str(path),
                        format=NAME, notes=(said,))]  # fmt: skip


def _commands(
    path: Path, table: TextTable, topics: dict, names: Sequence[str], clock: tuple[int, float],
    t: np.ndarray, used: set[int],
) -> dict[str, np.ndarray]:  # fmt: skip
    """Commanded positions of every joint: the last before each sample."""
    every = [at for group, at in topics.items() if is_command(group)]
    whole = [at for at in every if all(("position", joint) in at for joint in names)]
    if len(whole) != 1:
        return {}
    at = [whole[0]["position", joint] for joint in names]
    stamps, value = _rows(path, table, at, clock)
    last = np.searchsorted(stamps, t, side="right") - 1
    if not len(stamps) or last.min(initial=0) < 0:
        return {}
    used |= set(at)
    value = value * [_angle(path, table.header[k]) for k in at]
    return {f"{COMMAND}position": value[last]}


def _angle(path: Path, header: str) -> float:
    unit = column_of(header).unit
    if unit not in RADIANS:
        raise InputError(path, f"unit of {header}", unit, ", ".join(filter(None, RADIANS)))
    return RADIANS[unit]


def _markers(
    path: Path, table: TextTable, places: dict[tuple[str, ...], dict[str, int]],
    clock: tuple[int, float]
) -> Observation:  # fmt: skip
    columns = [k for at in places.values() for k in at.values()]
    metre = _metre(path, table, columns)
    t, value = _rows(path, table, columns, clock)
    value = metre * value.reshape(len(t), -1, 3)
    labels = {"_".join(group): value[:, k] for k, group in enumerate(places)}
    said = f"taken as markers, {metre:g} m a unit" if metre != 1.0 else "taken as markers"
    return marker_stream(path, NAME, labels, t, [said])


EXPORT = Export(
    NAME, ("poses", "joints", "wrench", "markers"), (".csv", ".tsv", ".txt"), holds, read,
    guessed=True,
)  # fmt: skip
