"""Force–torque sensors: forces and torques in the sensor's frame, in a CSV or a bag."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..npz import whole_numbers
from ..tables import number_table
from . import bags
from .clock import clock
from .columns import TEXTS, read_timed
from .formats import Format, SensorKind
from .messages import WRENCH
from .observation import Observation

COLUMNS = ("fx", "fy", "fz", "tx", "ty", "tz")
TABLE = "a readable table of forces and torques"
LEAST = 2
"""Samples of a trial."""


def read_table(path: Path) -> list[Observation]:
    """CSV: t [s], fx, fy, fz [N], tx, ty, tz [N m] and, optionally, trial; empty: not measured."""
    header, rows, lines, notes = read_timed(path, TABLE)
    missing = [name for name in ("t", *COLUMNS) if header.count(name) != 1]
    if missing:
        rule = f"t {' '.join(COLUMNS)}, each once"
        raise InputError(path, "header", f"{missing[0]} {header.count(missing[0])} times", rule)
    table = number_table(path, header, rows, lines)
    column = {name: table[:, i] for i, name in enumerate(header)}
    number = whole_numbers(path, column, "trial", (None,)) if "trial" in column else None
    value = np.stack([column[name] for name in COLUMNS], axis=1)
    return [_wrenches(path, "table of wrenches", column["t"], value, numbers=number,
                      notes=notes)]  # fmt: skip


def read_bag(path: str | Path, topic: str = "") -> list[Observation]:
    """Wrenches of one topic, "" the only one; InputError as bags.read_messages, and naming the
    sample for a frame that changes."""
    path = Path(path)
    topic, samples = bags.read_messages(path, WRENCH, topic)
    ns, notes = bags.times_of(samples)
    frame = samples[0][1].header.frame_id
    rows = []
    for k, (_, message) in enumerate(samples):
        if message.header.frame_id != frame:
            place, got = f"{path}: {topic}: sample {k}", message.header.frame_id
            raise InputError(place, "frame_id", got, f"the same frame throughout, {frame!r}")
        force, torque = message.wrench.force, message.wrench.torque
        rows.append((force.x, force.y, force.z, torque.x, torque.y, torque.z))
    t = (ns - ns[0]) * 1e-9
    rest = {"sensor": topic, "frame": frame, "notes": notes, "epoch": int(ns[0])}
    return [_wrenches(path, "WrenchStamped", t, np.array(rows), **rest)]


def _wrenches(path: Path, what: str, t: np.ndarray, value: np.ndarray, **rest: Any) -> Observation:
    values = {"force": value[:, None, :3], "torque": value[:, None, 3:]}
    return Observation(
        kind="wrench", t=t, names=("sensor",), values=values, source=str(path), format=what, **rest
    )


def trials(
    wrenches: Observation, sigma_force: float = 0.1, sigma_torque: float = 0.01
) -> list[Observation]:
    """Its trials, each from t = 0 where there are several; holes in the stamps of a bag tell them
    apart. sigma [N], [N m]: noise of each component.

    Raises InputError naming file, trial, sample and value: stamps that do not increase, too few,
    numbers that are not finite.
    """
    if bags.is_bag(wrenches.source):
        wrenches = replace(wrenches, numbers=clock(wrenches.t, None).trial)
    found = []
    for one in wrenches.trials():
        if len(one) < LEAST:
            raise InputError(one.place, "samples", len(one), f"at least {LEAST}")
        bad = np.flatnonzero(~(np.diff(one.t) > 0))
        if len(bad):
            got = f"{one.t[bad[0]]:.9g} s, then {one.t[bad[0] + 1]:.9g} s"
            raise InputError(one.place, f"sample {bad[0] + 1}, t", got, "increasing stamps [s]")
        for signal, table in one.values.items():
            bad = np.flatnonzero(~np.isfinite(table).all(axis=(1, 2)))
            if len(bad):
                got = table[bad[0], 0].tolist()
                raise InputError(one.place, f"sample {bad[0]}, {signal}", got, "finite numbers")
        t = one.t if one.trial is None else one.t - one.t[0]
        found.append(replace(one, t=t, sigma=np.array([sigma_force, sigma_torque])))
    return found


def check_message(message: Any, place: str) -> None:
    """InputError naming force or torque whose numbers are not finite."""
    for signal in ("force", "torque"):
        vector = getattr(message.wrench, signal)
        row = [vector.x, vector.y, vector.z]
        if not np.isfinite(row).all():
            raise InputError(place, signal, row, "three finite numbers")


def _holds(names: Collection[str]) -> bool:
    return set(COLUMNS) <= set(names)


SENSOR = SensorKind(
    kind="wrench",
    accepted="a rosbag2, or a table with the columns t fx fy fz tx ty tz",
    formats=(Format(TEXTS, _holds, read_table),),
    topics={WRENCH: read_bag},
    bag=read_bag,
    trials=trials,
    sound=check_message,
)
