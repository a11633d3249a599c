"""Tosses in one npz file: its arrays, checked as a whole, and writing of own recordings.

Arrays (data/cube_toss/README.md):
toss_id, start, length (N) integers: toss k is rows start[k] : start[k] + length[k]
state (rows, 13): px py pz [m, world, z up]  qw qx qy qz [scalar FIRST, body to world]
                  vx vy vz [m/s, world]  wx wy wz [rad/s, BODY frame]
   or (rows, 7): the poses alone
   or (rows, bodies, 13 | 7) with their names in `bodies`
dt    seconds between frames
t     (rows) stamps [s], optional: frames may then be missing
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..npz import read_npz
from ..rotation import quat_conjugate, quat_rotate
from .observation import PoseTrial

COLUMNS = "px py pz qw qx qy qz vx vy vz wx wy wz".split()
REQUIRED = ("toss_id", "start", "length", "state", "dt")
OPTIONAL = ("t", "bodies")
TOSSES = "npz of tosses"
"""Format of an observation whose quaternions are read scalar first."""


def toss_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Arrays of a file, of shapes that agree; their numbers are not checked.

    Raises InputError for what concerns the file as a whole.
    """
    arrays = read_arrays(Path(path))
    toss_index(Path(path), arrays)
    return arrays


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of the npz file (never pickled objects)."""
    remedy = "write it with numpy.savez (no pickled objects)"
    arrays = read_npz(path, "a readable .npz file of tosses", (*REQUIRED, *OPTIONAL), remedy)
    for name in REQUIRED:
        if name not in arrays:
            found = sorted(arrays)
            rule, remedy = f"an array named {name!r}", "the array is missing"
            shape = arrays["state"].shape if "state" in arrays else ()
            if name in ("start", "length") and len(shape) == 3:
                count, rows = shape[:2]
                remedy = (
                    f"of {count} tosses of {rows} rows: state as ({count * rows}, {shape[2]}), "
                    f"start = {rows} * arange({count}), length = full({count}, {rows})"
                )
            raise InputError(path, name, found, rule, remedy)
    return arrays


def toss_index(
    path: Path, arrays: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Checked ids, starts, lengths (N,) and dt of a file."""
    state, dt = arrays["state"], arrays["dt"]
    fits = state.ndim in (2, 3) and state.shape[-1] in (7, 13) and state.dtype.kind in "fiu"
    if not fits:
        rule = "numbers of shape (rows, 13), or (rows, 7) for poses alone"
        raise InputError(path, "state", f"{state.dtype} of shape {state.shape}", rule)
    names = arrays.get("bodies", np.zeros(0, str))
    if state.ndim == 3 and (names.shape != state.shape[1:2] or names.dtype.kind != "U"):
        rule = f"the names of {state.shape[1]} bodies"
        raise InputError(path, "bodies", f"{names.dtype} of shape {names.shape}", rule)
    if state.ndim == 2 and names.size > 1:
        rule = f"state (rows, {names.size}, 7 | 13), a column for each of its {names.size} bodies"
        got = f"{', '.join(map(str, names.flat[:5]))}, and state of shape {state.shape}"
        raise InputError(path, "bodies", got, rule)
    good = dt.size == 1 and dt.dtype.kind in "fiu"
    if not good or not np.isfinite(dt.item()) or not 1e-5 <= dt.item() <= 1.0:
        raise InputError(path, "dt", dt.tolist(), "one number of seconds from 1e-5 to 1")
    ids, start, length = (arrays[name] for name in ("toss_id", "start", "length"))
    for name, array in (("toss_id", ids), ("start", start), ("length", length)):
        if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) != len(ids):
            got = f"{array.dtype} of shape {array.shape}"
            raise InputError(path, name, got, f"integers of shape ({len(np.atleast_1d(ids))},)")
    if len(ids) == 0 or len(state) == 0:
        raise InputError(path, "toss_id", "no tosses", "at least one toss", "the file is empty")
    repeated = np.flatnonzero(np.bincount(np.unique(ids, return_inverse=True)[1]) > 1)
    if len(repeated):
        raise InputError(path, "toss_id", int(np.unique(ids)[repeated[0]]), "each id once")
    for k in range(len(ids)):
        if start[k] < 0 or length[k] < 1 or int(start[k]) + int(length[k]) > len(state):
            got = f"start {start[k]}, length {length[k]}"
            rule = f"rows inside the {len(state)} rows of state"
            raise InputError(f"{path}: toss {ids[k]}", "start/length", got, rule)
    if "t" in arrays and (
        arrays["t"].shape != (len(state),) or arrays["t"].dtype.kind not in "fiu"
    ):
        raise InputError(path, "t", arrays["t"].shape, f"stamps of shape ({len(state)},)")
    return ids, start, length, float(dt.item())


def write_tosses(path: str | Path, trials: Sequence[PoseTrial]) -> None:
    """Write trials as an npz file that read_tosses accepts (with stamps; poses or full state).

    The caller chooses the path and makes the write atomic (diffsim_ros.output).
    """
    if not trials:
        raise InputError(path, "trials", [], "at least one toss to write")
    arrays: dict[str, Any] = arrays_of(trials)
    columns = np.array(COLUMNS[: arrays["state"].shape[-1]])
    np.savez_compressed(path, **arrays, columns=columns)


def arrays_of(trials: Sequence[PoseTrial]) -> dict[str, np.ndarray]:
    """The arrays of a file of these trials."""
    full = all(trial.velocity is not None for trial in trials)
    bodies = trials[0].bodies
    rows = [np.stack([_row(trial.of(b), full) for b in bodies], axis=1) for trial in trials]
    state, several = np.concatenate(rows), {"bodies": np.array(bodies)}
    if len(bodies) == 1:
        state, several = state[:, 0], {}
    length = np.array([len(trial) for trial in trials])
    return {
        "toss_id": np.array([trial.id for trial in trials]),
        "start": np.concatenate([[0], np.cumsum(length)[:-1]]),
        "length": length,
        "state": state,
        "t": np.concatenate([trial.poses.t for trial in trials]),
        "dt": np.array(trials[0].dt, np.float64),
        **several,
    }


def _row(trial: PoseTrial, full: bool) -> np.ndarray:
    """Columns of one body's samples (n, 7 | 13)."""
    q = trial.orientation
    columns = [trial.position, q[:, [3, 0, 1, 2]]]
    if full and trial.velocity is not None:
        omega = quat_rotate(quat_conjugate(q), trial.velocity[:, 3:])
        columns += [trial.velocity[:, :3], omega]
    return np.concatenate(columns, axis=1)
