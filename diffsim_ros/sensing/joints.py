"""Joint logs: commands and readings of one or several trials, in an NPZ, a CSV or a bag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..npz import numbers, read_npz, whole_numbers
from ..tables import number_table
from . import bags
from .columns import TEXTS, read_timed
from .formats import Format, SensorKind
from .joint_topics import SIGNALS, read_bag, read_topic, refuse_misnamed
from .messages import JOINTS
from .observation import COMMAND, Observation

COLUMNS = (*SIGNALS, f"{COMMAND}position", f"{COMMAND}effort")
ARRAYS = dict(zip(COLUMNS, ("q", "qd", "effort", "q_command", "effort_command"), strict=True))
LEAST = 8  # samples of a trial
NAMELESS = "the joints have no names: an array `joints` gives them"
FASTEST = 50.0  # [rad/s or m/s]; beyond it a log is in degrees, or jumps
Columns = dict[str, np.ndarray]
"""Signal -> values of every joint (n, m)."""


def read_arrays(path: Path) -> list[Observation]:
    """NPZ: t (n,) [s], joints (m,) names, q (n, m), optionally qd, effort, q_command,
    effort_command (n, m) and trial (n,) numbers."""
    arrays = read_npz(path, "a complete .npz file")
    missing = [key for key in ("t", "q") if key not in arrays]
    if missing:
        raise InputError(path, "arrays", sorted(arrays), f"{', '.join(missing)} too")
    t = numbers(path, arrays, "t", (None,))
    notes: tuple[str, ...] = ()
    if "joints" not in arrays:
        count = numbers(path, arrays, "q", (len(t), None)).shape[1]
        arrays["joints"] = np.array([f"joint {i}" for i in range(count)], str)
        notes = (NAMELESS,)
    names = arrays["joints"]
    if names.ndim != 1 or names.dtype.kind != "U" or not names.size:
        got = f"{names.dtype} of shape {names.shape}"
        raise InputError(path, "joints", got, "the names of the joints (m,)")
    joints, shape = tuple(str(name) for name in names), (len(t), len(names))
    values = {
        signal: numbers(path, arrays, key, shape) for signal, key in ARRAYS.items() if key in arrays
    }
    trial = whole_numbers(path, arrays, "trial", t.shape) if "trial" in arrays else None
    return [_log(path, "npz of joints", t, joints, values, numbers=trial, notes=notes)]


def read_table(path: Path) -> list[Observation]:
    """CSV: t, optionally trial, and JOINT.position, JOINT.velocity, JOINT.effort,
    JOINT.command_position, JOINT.command_effort."""
    head, rows, lines, notes = read_timed(path, "a readable CSV file")
    if "t" not in head:
        raise InputError(path, "line 1", head, "a column t [s]")
    twice = [name for name, count in Counter(head).items() if count > 1]
    if twice:
        raise InputError(path, "line 1", twice[0], "each column once")
    table = number_table(path, head, rows, lines)
    joints = tuple(dict.fromkeys(w.rpartition(".")[0] for w in head if w not in ("t", "trial")))
    if not joints or "" in joints:
        rule = "columns JOINT.position, .velocity, .effort, .command_position, .command_effort"
        raise InputError(path, "line 1", head, rule)
    values = {}
    for signal in COLUMNS:
        names = [f"{joint}.{signal}" for joint in joints]
        if any(name in head for name in names):
            missing = next((name for name in names if name not in head), None)
            if missing:
                raise InputError(path, "line 1", "no such column", missing)
            values[signal] = table[:, [head.index(name) for name in names]]
    if "position" not in values:
        raise InputError(path, "line 1", head, "a column JOINT.position for every joint")
    trial = np.zeros(len(table), int)
    if "trial" in head:
        trial = whole_numbers(path, {"trial": table[:, head.index("trial")]}, "trial", (None,))
    t = table[:, head.index("t")]
    return [_log(path, "table of joints", t, joints, values, numbers=trial, notes=notes)]


def _log(
    path: Path, what: str, t: np.ndarray, joints: tuple[str, ...], values: Columns, **rest: Any
) -> Observation:
    return Observation(
        kind="joints", t=t, names=joints, values=values, source=str(path), format=what, **rest
    )


# ---------------------------------------------------------------------------- trials


def of_robot(log: Observation, joints: Collection[str]) -> Observation:
    """The log with the joints of a robot alone; all where these are empty, or it has none.

    Raises InputError as joint_topics.refuse_misnamed.
    """
    refuse_misnamed(log.place, log.names, joints)
    names = [name for name in log.names if name in joints]
    if not names or len(names) == len(log.names):
        return log
    order = [log.names.index(name) for name in names]
    others = ", ".join(name for name in log.names if name not in names)
    note = f"{others}: left out, no joint of the robot"
    values = {key: table[:, order] for key, table in log.values.items()}
    return replace(log, names=tuple(names), values=values, notes=(*log.notes, note))


def trials(
    log: Observation, wanted: Sequence[int] | None = None, joints: Collection[str] = ()
) -> list[Observation]:
    """Trials of a log, all or those of these numbers, each from t = 0 on.

    joints  of the robot: others are left out; empty: all

    Raises InputError: no such trial, stamps that repeat or go back, commands that are not finite,
    speeds of no joint.
    """
    if NAMELESS in log.notes:
        raise InputError(log.source, "arrays", "no names", "joints too")
    log = of_robot(log, joints)
    number = np.zeros(len(log), int) if log.numbers is None else log.numbers
    known = np.unique(number).tolist()
    for one in wanted or ():
        if one not in known:
            raise InputError(log.source, "trials", one, f"one of {known}")
    if not len(log):
        raise InputError(log.source, "samples", 0, f"at least {LEAST}")
    found = []
    for one in wanted or known:
        own = log.kept(number == one)
        own = replace(own, t=own.t - own.t[0], trial=int(one), numbers=None, sensor="")
        _check(own)
        found.append(own)
    return found


def _check(log: Observation) -> None:
    """Refuse what no robot logs."""
    if len(log) < LEAST:
        raise InputError(log.place, "samples", len(log), f"at least {LEAST}")
    bad = np.flatnonzero(~(np.diff(log.t) > 0))
    if len(bad):
        got = f"{log.t[bad[0]]:g} s, then {log.t[bad[0] + 1]:g} s"
        remedy = "two publishers of one name on the topic?" if bags.is_bag(log.source) else ""
        key = f"t of sample {bad[0] + 1}"
        raise InputError(log.place, key, got, "increasing stamps [s]", remedy)
    for signal, table in log.command.items():
        cells = np.argwhere(~np.isfinite(table))
        if len(cells):
            key = f"command of {log.names[cells[0][1]]}, sample {cells[0][0]}"
            raise InputError(log.place, key, "not a number", f"finite {signal} commands")
    for signal, table in log.measured.items():
        cells = np.argwhere(np.isinf(table))
        if len(cells):
            key = f"{signal} of {log.names[cells[0][1]]}, sample {cells[0][0]}"
            raise InputError(log.place, key, "inf", "a finite number, or nothing")
    rate = np.abs(np.diff(log.values["position"], axis=0)) / np.diff(log.t)[:, None]
    rate = np.nan_to_num(rate)
    if rate.max(initial=0.0) > FASTEST:
        i, j = np.unravel_index(np.argmax(rate), rate.shape)
        key = f"position of {log.names[j]}, sample {i + 1}"
        remedy = "are the positions in degrees, or is a sample wrong?"
        raise InputError(log.place, key, f"{rate[i, j]:.3g} 1/s", f"at most {FASTEST:g}", remedy)


def check_message(message: Any, place: str) -> None:
    """InputError for columns of another length than the names, and for numbers not finite."""
    for key in SIGNALS:
        row = np.asarray(getattr(message, key), float)
        if len(row) not in (0, len(message.name)):
            raise InputError(place, key, f"{len(row)} numbers", f"{len(message.name)}, as names")
        if not np.isfinite(row).all():
            raise InputError(place, key, row.tolist(), "finite numbers")


def _in_arrays(names: Collection[str]) -> bool:
    return {"t", "q"} <= set(names) and "toss_id" not in names


def _in_table(names: Collection[str]) -> bool:
    return any(word.endswith(".position") for word in names)


SENSOR = SensorKind(
    kind="joints",
    accepted="an existing .npz or .csv joint log, or a bag",
    formats=(
        Format(TEXTS, _in_table, read_table),
        Format((".npz",), _in_arrays, read_arrays),
    ),
    topics={JOINTS: read_topic},
    bag=read_bag,
    trials=trials,
    sound=check_message,
    framed=False,
)
