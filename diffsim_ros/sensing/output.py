"""Output logs: load cells, strain gauges, motor torques; columns of numbers over time, in a CSV."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..npz import whole_numbers
from ..tables import number_table
from ..tables import read_table as read_columns
from .columns import TEXTS
from .formats import Format, SensorKind
from .meaning import vectors
from .observation import Observation

TIME, TRIAL = ("t", "t [s]"), "trial"
UNIT = re.compile(r"(?P<name>.+?)\s*\[(?P<unit>[^\[\]]*[^\[\]\d][^\[\]]*|1)\]")
"""force [N]: a column's name and unit. rope.tension[0] has an item, no unit."""
LEAST = 2
"""Samples of a trial."""


def read_table(path: Path) -> list[Observation]:
    """CSV: t [s], columns `name` or `name [unit]` and, optionally, trial; empty: not measured.

    outputs.csv of `diffsim simulate` is one. Signal `value` (n, m, 1), names as in the header.
    """
    header, rows, lines, notes = read_columns(path, "a readable table of outputs")
    if sum(header.count(name) for name in TIME) != 1:
        raise InputError(path, "header", header[:12], "one column t or t [s]")
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise InputError(path, "header", twice, "each column once")
    names = tuple(name for name in header if name not in (*TIME, TRIAL))
    if not names or "" in names:
        raise InputError(path, "header", header[:12], "columns beside t, each with a name")
    table = number_table(path, header, rows, lines)
    column = {name: table[:, i] for i, name in enumerate(header)}
    number = whole_numbers(path, column, TRIAL, (None,)) if TRIAL in column else None
    t = next(column[name] for name in TIME if name in column)
    value = np.stack([column[name] for name in names], axis=1)[..., None]
    return [
        Observation(
            kind="outputs", t=t, names=names, values={"value": value}, source=str(path),
            format="table of outputs", numbers=number, notes=notes,
        )
    ]  # fmt: skip


def read_bag(path: str | Path, topic: str = "") -> list[Observation]:
    """Refused: no standard message of one number has a stamp."""
    remedy = "efforts of joints and wrenches in bags have kinds of their own: joints, wrenches"
    raise InputError(path, "", "a bag", "a CSV with t and a column per output", remedy)


def trials(log: Observation) -> list[Observation]:
    """Its trials, each from t = 0 where there are several; NaN: not measured.

    Raises InputError naming file, trial, sample and value: stamps that do not increase, too few,
    infinite numbers.
    """
    found = []
    for one in log.trials():
        if len(one) < LEAST:
            raise InputError(one.place, "samples", len(one), f"at least {LEAST}")
        bad = np.flatnonzero(~(np.diff(one.t) > 0))
        if len(bad):
            got = f"{one.t[bad[0]]:.9g} s, then {one.t[bad[0] + 1]:.9g} s"
            raise InputError(one.place, f"sample {bad[0] + 1}, t", got, "increasing stamps [s]")
        cells = np.argwhere(np.isinf(one.values["value"][..., 0]))
        if len(cells):
            key = f"sample {cells[0][0]}, {one.names[cells[0][1]]}"
            raise InputError(one.place, key, "inf", "a finite number, or nothing")
        t = one.t if one.trial is None else one.t - one.t[0]
        found.append(replace(one, t=t))
    return found


def unit_of(column: str) -> str:
    """Unit that a column's name ends with, "" where it has none."""
    match = UNIT.fullmatch(column)
    return "" if match is None else match["unit"]


def _holds(names: Collection[str]) -> bool:
    others = [name for name in names if name not in (*TIME, TRIAL)]
    if () in vectors(others):  # px [m] .. qw: a pose whose names have units
        return False
    return any(name in names for name in TIME) and any(unit_of(name) for name in others)


SENSOR = SensorKind(
    kind="outputs",
    accepted="a table with a column t and one for each output, `name [unit]`",
    formats=(Format(TEXTS, _holds, read_table),),
    topics={},
    bag=read_bag,
    trials=trials,
)
