"""Files of what an observer received: tosses and tables that `diffsim estimate` reads, or a bag."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..output import OutputFolder
from .cdr import NANO
from .observation import Observation, PoseTrial
from .poses import COLUMNS, STAMP
from .toss_file import write_tosses


def save_trials(
    path: str | Path, trials: Sequence[PoseTrial], markers: Sequence[Observation] = ()
) -> list[Path]:
    """Write trials as tosses (.npz, poses alone with stamps) and as a table (.csv), all or none.

    Trials of markers, if any, go to a table beside them (_markers.csv), or to the table itself
    where there are no poses. Returns the paths, that to estimate from first. Raises InputError if
    one of the files exists already, OSError on a full disk.
    """
    path = Path(path)
    tables = {path.with_suffix(".csv").name: _pose_rows(trials)} if trials else {}
    if markers:
        tables[f"{path.stem}{'_markers' if trials else ''}.csv"] = _marker_rows(markers)
    names = [path.with_suffix(".npz").name] * bool(trials) + list(tables)
    folder = OutputFolder(path.parent, names)
    with folder.staging() as stage:
        if trials:
            write_tosses(stage / names[0], trials)
        for name, rows in tables.items():
            with (stage / name).open("w", encoding="utf-8", newline="") as stream:
                csv.writer(stream, lineterminator="\n").writerows(rows)
    return [folder / name for name in names]


def _pose_rows(trials: Sequence[PoseTrial]) -> Iterator[list]:
    """The table of poses.read_table, with the source's stamps where they are known."""
    stamped = all(trial.poses.epoch > 0 for trial in trials)
    yield ["toss_id", "t", *COLUMNS, *[STAMP] * stamped]
    for trial in trials:
        for t, row in zip(trial.poses.t, trial.poses.value, strict=True):
            seconds, rest = divmod(trial.poses.epoch + round(t * NANO), NANO)
            stamp = [f"{seconds}.{rest:09d}"] * stamped
            yield [trial.id, f"{t:.9f}", *(f"{v:.9g}" for v in row), *stamp]


def _marker_rows(markers: Sequence[Observation]) -> Iterator[list]:
    """The table of markers.read_table: a column `trial`, t, and three columns per marker."""
    names = list(dict.fromkeys(name for one in markers for name in one.names))
    yield ["trial", "t", *(f"{name}_{axis}" for name in names for axis in "xyz")]
    for k, one in enumerate(markers, start=1):
        table = np.full((len(one.t), len(names), 3), np.nan)
        columns = [names.index(name) for name in one.names]
        table[:, columns] = one.value.reshape(len(one.t), -1, 3)
        for t, row in zip(one.t, table.reshape(len(one.t), -1), strict=True):
            cells = ("" if np.isnan(v) else f"{v:.9g}" for v in row)
            yield [k if one.trial is None else one.trial, f"{t:.9f}", *cells]
