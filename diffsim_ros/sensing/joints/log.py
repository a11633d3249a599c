"""Joint logs: one NPZ or CSV of commands and readings, of one or several trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...errors import InputError, nearest
from ...files import exists
from ...npz import numbers, read_npz, whole_numbers
from ...tables import read_rows
from ..bags import is_bag
from .bag import Columns, Tables, bag_tables

SIGNALS = ("position", "velocity", "effort")
COMMANDS = ("position", "effort")
ARRAYS = {"q": "position", "qd": "velocity", "effort": "effort"}
COMMAND_ARRAYS = {"q_command": "position", "effort_command": "effort"}
LEAST = 8  # samples of a trial
FASTEST = 50.0  # [rad/s or m/s]; beyond it a log is in degrees, or jumps


@dataclass(frozen=True)
class JointLog:
    """One trial of a log.

    t         stamps since its first sample [s], increasing (n,)
    joints    names, in the order of the columns
    measured  signal -> readings [rad, rad/s, N m; of sliders m, m/s, N] (n, m), NaN: not read
    command   "position" and/or "effort" -> (n, m)
    """

    id: int
    source: str
    t: np.ndarray
    joints: tuple[str, ...]
    measured: Mapping[str, np.ndarray]
    command: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """File and trial, for messages."""
        return f"{self.source}: trial {self.id}"

    @property
    def interval(self) -> float:
        """Usual time between samples [s]."""
        return float(np.median(np.diff(self.t)))

    def column(self, table: np.ndarray, joint: str) -> np.ndarray:
        """One joint's column of a table (n, m); InputError names near joints."""
        if joint not in self.joints:
            rule, near = "a joint of the log", nearest(joint, self.joints)
            raise InputError(self.place, "joints", joint, rule, near)
        return table[:, self.joints.index(joint)]


def read_logs(path: str | Path, wanted: tuple[int, ...] | None = None) -> list[JointLog]:
    """Trials of a file, all or those of these numbers.

    NPZ: t (n,) [s], joints (m,) names, q (n, m), optionally qd, effort, q_command, effort_command
    (n, m) and trial (n,) numbers.  CSV: the columns t, optionally trial, and JOINT.position,
    JOINT.velocity, JOINT.effort, JOINT.command_position, JOINT.command_effort.
    A bag: see bag.bag_tables.
    Raises InputError: missing or misshapen columns, stamps that repeat or go back, commands that
    are not finite, speeds of no joint.
    """
    path = Path(path)
    if not exists(path):
        raise InputError(path, "", "no such file", "an existing .npz or .csv joint log, or a bag")
    read = bag_tables if is_bag(path) else _csv if path.suffix.lower() == ".csv" else _npz
    tables = read(path)
    t, trial, joints, measured, command = tables
    known = np.unique(trial).tolist()
    for number in wanted or ():
        if number not in known:
            raise InputError(path, "trials", number, f"one of {known}")
    logs = []
    if not len(t):
        raise InputError(path, "samples", 0, f"at least {LEAST}")
    for number in wanted or known:
        rows = np.flatnonzero(trial == number)
        log = JointLog(
            int(number), str(path), t[rows] - t[rows[0]], joints,
            {k: v[rows] for k, v in measured.items()}, {k: v[rows] for k, v in command.items()},
        )  # fmt: skip
        _check(log)
        logs.append(log)
    return logs


def _npz(path: Path) -> Tables:
    arrays = read_npz(path, "a complete .npz file")
    missing = [key for key in ("t", "q", "joints") if key not in arrays]
    if missing:
        raise InputError(path, "arrays", sorted(arrays), f"{', '.join(missing)} too")
    t = numbers(path, arrays, "t", (None,))
    names = arrays["joints"]
    if names.ndim != 1 or names.dtype.kind != "U" or not names.size:
        got = f"{names.dtype} of shape {names.shape}"
        raise InputError(path, "joints", got, "the names of the joints (m,)")
    joints = tuple(str(name) for name in names)
    shape = (len(t), len(joints))
    found: tuple[Columns, Columns] = ({}, {})
    for signals, into in zip((ARRAYS, COMMAND_ARRAYS), found, strict=True):
        for key, signal in signals.items():
            if key in arrays:
                into[signal] = numbers(path, arrays, key, shape)
    trial = np.zeros(len(t), int)
    if "trial" in arrays:
        trial = whole_numbers(path, arrays, "trial", t.shape)
    return t, trial, joints, *found


def _csv(path: Path) -> Tables:
    head, rows = read_rows(path, "a readable CSV file")
    if "t" not in head:
        raise InputError(path, "line 1", head, "a column t [s]")
    twice = [name for name, count in Counter(head).items() if count > 1]
    if twice:
        raise InputError(path, "line 1", twice[0], "each column once")
    table = np.empty((len(rows), len(head)))
    for i, row in enumerate(rows):
        try:
            table[i] = [float(word) if word.strip() else np.nan for word in row]
        except ValueError:
            rule = f"{len(head)} numbers"
            raise InputError(path, f"line {i + 2}", ",".join(row)[:60], rule) from None
    joints = tuple(dict.fromkeys(w.rpartition(".")[0] for w in head if w not in ("t", "trial")))
    if not joints or "" in joints:
        rule = "columns JOINT.position, .velocity, .effort, .command_position, .command_effort"
        raise InputError(path, "line 1", head, rule)
    found: tuple[Columns, Columns] = ({}, {})
    for into, prefix, signals in zip(found, ("", "command_"), (SIGNALS, COMMANDS), strict=True):
        for signal in signals:
            names = [f"{joint}.{prefix}{signal}" for joint in joints]
            if any(name in head for name in names):
                missing = next((name for name in names if name not in head), None)
                if missing:
                    raise InputError(path, "line 1", "no such column", missing)
                into[signal] = table[:, [head.index(name) for name in names]]
    if "position" not in found[0]:
        raise InputError(path, "line 1", head, "a column JOINT.position for every joint")
    trial = np.zeros(len(table), int)
    if "trial" in head:
        trial = whole_numbers(path, {"trial": table[:, head.index("trial")]}, "trial", (None,))
    return table[:, head.index("t")], trial, joints, *found


def _check(log: JointLog) -> None:
    """Refuse what no robot logs."""
    if len(log.t) < LEAST:
        raise InputError(log.place, "samples", len(log.t), f"at least {LEAST}")
    bad = np.flatnonzero(~(np.diff(log.t) > 0))
    if len(bad):
        got = f"{log.t[bad[0]]:g} s, then {log.t[bad[0] + 1]:g} s"
        raise InputError(log.place, f"t of sample {bad[0] + 1}", got, "increasing stamps [s]")
    for signal, table in log.command.items():
        cells = np.argwhere(~np.isfinite(table))
        if len(cells):
            key = f"command of {log.joints[cells[0][1]]}, sample {cells[0][0]}"
            raise InputError(log.place, key, "not a number", f"finite {signal} commands")
    for signal, table in log.measured.items():
        cells = np.argwhere(np.isinf(table))
        if len(cells):
            key = f"{signal} of {log.joints[cells[0][1]]}, sample {cells[0][0]}"
            raise InputError(log.place, key, "inf", "a finite number, or nothing")
    rate = np.abs(np.diff(log.measured["position"], axis=0)) / np.diff(log.t)[:, None]
    rate = np.nan_to_num(rate)
    if rate.max(initial=0.0) > FASTEST:
        i, j = np.unravel_index(np.argmax(rate), rate.shape)
        key = f"position of {log.joints[j]}, sample {i + 1}"
        remedy = "are the positions in degrees, or is a sample wrong?"
        raise InputError(log.place, key, f"{rate[i, j]:.3g} 1/s", f"at most {FASTEST:g}", remedy)
