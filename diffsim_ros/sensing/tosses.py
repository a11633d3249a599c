"""Tosses in one npz file: reading with every check, and writing of own recordings.

A bag with poses, or a table as the observer saves it (.csv), is read as the npz file that the
observer would have made of it (recordings.trials).

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

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ..errors import InputError, nearest
from ..npz import read_npz
from ..rotation import quat_conjugate, quat_rotate
from .bags import is_bag
from .observation import Observation, Trial

COLUMNS = "px py pz qw qx qy qz vx vy vz wx wy wz".split()
REQUIRED = ("toss_id", "start", "length", "state", "dt")
OPTIONAL = ("t", "bodies")
MIN_SAMPLES = 8
"""Fewest samples of a usable toss: a start, an impact and something after it."""
UNIT_TOLERANCE = 1e-3
"""Accepted deviation of a quaternion's norm from 1."""
MAX_SPEED = 100.0
"""Speed between two frames [m/s] beyond which positions are not in metres."""
MAX_JITTER = 0.4
"""Accepted distance of a stamp from the time grid, in frames."""
SAME_HEIGHT = 1e-6
"""Largest difference of heights [m] between a toss and its copy."""
SIGMA = (1e-3, np.radians(0.5))
"""Default standard deviations of a pose: position [m], rotation [rad]."""


def read_tosses(
    path: str | Path,
    trials: Iterable[int] | None = None,
    *,
    body: str | Sequence[str] = "cube",
    sigma: Sequence[float] = SIGMA,
    least: int = MIN_SAMPLES,
) -> list[Trial]:
    """Tosses of a file in the order of the file, or those with the ids `trials`, sorted by id.

    body   what the one body of the file is called, or which ones of several are wanted
    least  fewest frames that a toss may have
    Raises InputError naming the file, the toss and the sample of the first defect: missing or
    misshapen arrays, rows out of range, NaN, quaternions that are not unit, stamps that repeat or
    go back, too few frames, positions that cannot be metres.
    """
    path = Path(path)
    bodies = (body,) if isinstance(body, str) else tuple(body)
    arrays = _load(path, bodies)
    ids, start, length, dt = _index(path, arrays)
    wanted = range(len(ids)) if trials is None else _select(path, ids, trials)
    state = _of_bodies(path, arrays, bodies)
    result = []
    for k in wanted:
        rows = slice(int(start[k]), int(start[k]) + int(length[k]))
        stamps = arrays["t"][rows] if "t" in arrays else None
        place = f"{path}: toss {ids[k]}"
        if length[k] < least:
            raise InputError(place, "length", int(length[k]), f"at least {least} frames")
        frames, t = _grid(place, int(length[k]), stamps, dt)
        parts = [_poses(place, state[rows, b], frames, dt) for b in range(len(bodies))]
        value = np.concatenate([value for value, _ in parts], axis=1)
        velocity = None
        if state.shape[2] == 13:
            velocity = np.concatenate([velocity for _, velocity in parts], axis=1)
        noise = np.asarray(sigma, float)
        poses = Observation(t, "pose", "world", bodies, value, noise, str(path))
        result.append(Trial(int(ids[k]), poses, dt, frames, velocity))
    return result


def _of_bodies(path: Path, arrays: dict[str, np.ndarray], wanted: Sequence[str]) -> np.ndarray:
    """Rows of the wanted bodies (rows, bodies, 7 | 13)."""
    state = arrays["state"]
    if state.ndim == 2:
        if len(wanted) > 1:
            rule = f"a file of several bodies: {', '.join(wanted)}"
            raise InputError(path, "state", f"shape {state.shape}, of one body", rule)
        return state[:, None]
    names = [str(name) for name in arrays["bodies"]]
    for name in wanted:
        if name not in names:
            rule = "the bodies of this file: " + ", ".join(names)
            raise InputError(path, "bodies", name, rule, nearest(name, names))
    return state[:, [names.index(name) for name in wanted]]


def toss_ids(path: str | Path, bodies: Sequence[str] = ()) -> list[int]:
    """Ids of the tosses in a file, sorted; `bodies` of a bag with several."""
    path = Path(path)
    return sorted(int(i) for i in _index(path, _load(path, bodies))[0])


def repeated(path: str | Path, bodies: Sequence[str] = ()) -> dict[int, int]:
    """Tosses that repeat another one of the file, turned about the vertical: id -> first such id.

    Heights do not change under such a turn, so equal lengths and equal heights tell a copy.
    """
    path = Path(path)
    arrays = _load(path, bodies)
    ids, start, length, _ = _index(path, arrays)
    order = np.argsort(ids, kind="stable")
    first: dict[int, int] = {}
    for samples in np.unique(length):
        same = order[length[order] == samples]
        rows = start[same][:, None] + np.arange(samples)
        height = arrays["state"][rows][..., 2].reshape(len(same), -1)
        single = np.ones(len(same), bool)
        for k in range(1, len(same)):
            before = np.flatnonzero(single[:k])
            off = np.abs(height[before] - height[k]).max(axis=1, initial=0.0)
            copied = before[off < SAME_HEIGHT]
            if len(copied):
                first[int(ids[same[k]])] = int(ids[same[copied[0]]])
                single[k] = False
    return first


def toss_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Arrays of a file as they stand, of shapes that agree; their numbers are not judged.

    Raises InputError as read_tosses, for what concerns the file as a whole.
    """
    path = Path(path)
    arrays = _load(path)
    _index(path, arrays)
    return arrays


def _load(path: Path, bodies: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """All arrays of the npz file (never pickled objects), or those that poses of a bag make."""
    if is_bag(path) or path.suffix.lower() == ".csv":
        from .trials import recorded_poses  # which reads npz files with this module

        return _arrays(recorded_poses(path, bodies))
    remedy = "write it with numpy.savez (no pickled objects)"
    arrays = read_npz(path, "a readable .npz file of tosses", (*REQUIRED, *OPTIONAL), remedy)
    for name in REQUIRED:
        if name not in arrays:
            found = sorted(arrays)
            raise InputError(path, name, found, f"an array named {name!r}", "the array is missing")
    return arrays


def _index(path: Path, arrays: dict[str, np.ndarray]):
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


def _select(path: Path, ids: np.ndarray, trials: Iterable[int]) -> list[int]:
    """Rows of the index that hold the wanted ids, sorted by id."""
    row = {int(i): k for k, i in enumerate(ids)}
    wanted = sorted({int(i) for i in trials})
    for i in wanted:
        if i not in row:
            raise InputError(path, "toss_id", i, "a toss of this file", nearest(i, sorted(row)))
    if not wanted:
        raise InputError(path, "trials", [], "at least one toss of this file")
    return [row[i] for i in wanted]


def _poses(place: str, state: np.ndarray, frames: np.ndarray, dt: float):
    """Checked poses (n, 7) and velocities (n, 6) or None of one body's rows (n, 7 | 13)."""
    state = state.astype(np.float64)
    bad = np.argwhere(~np.isfinite(state))
    if len(bad):
        sample, column = bad[0]
        value = float(state[sample, column])
        raise InputError(place, f"sample {sample}, {COLUMNS[column]}", value, "a finite number")
    norm = np.linalg.norm(state[:, 3:7], axis=1)
    bad = np.flatnonzero(np.abs(norm - 1.0) > UNIT_TOLERANCE)
    if len(bad):
        got = f"norm {norm[bad[0]]:.6g}"
        rule = f"a unit quaternion (within {UNIT_TOLERANCE:g}), scalar first"
        raise InputError(place, f"sample {bad[0]}, qw qx qy qz", got, rule)
    _check_speed(place, state[:, :3], frames, dt)
    orientation = (state[:, 3:7] / norm[:, None])[:, [1, 2, 3, 0]]
    value = np.concatenate([state[:, :3], orientation], axis=1)
    if state.shape[1] == 7:
        return value, None
    omega = quat_rotate(orientation, state[:, 10:13])
    return value, np.concatenate([state[:, 7:10], omega], axis=1)


def _grid(place: str, n: int, stamps: np.ndarray | None, dt: float):
    """Grid index (n,) and stamp [s] (n,) of every sample."""
    if stamps is None:
        frames = np.arange(n)
        return frames, frames * dt
    stamps = stamps.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(stamps))
    if len(bad):
        raise InputError(place, f"sample {bad[0]}, t", stamps[bad[0]], "a finite stamp [s]")
    back = np.flatnonzero(np.diff(stamps) <= 0.0)
    if len(back):
        i = back[0] + 1
        kind = "duplicate" if stamps[i] == stamps[i - 1] else "backward"
        got = f"{stamps[i]:.9g} after {stamps[i - 1]:.9g}"
        raise InputError(place, f"sample {i}, t", got, "increasing stamps", f"{kind} stamp")
    raw = (stamps - stamps[0]) / dt
    frames = np.rint(raw).astype(np.int64)
    off = np.abs(raw - frames)
    bad = np.flatnonzero((off > MAX_JITTER) | np.concatenate([[False], np.diff(frames) == 0]))
    if len(bad):
        got = f"{raw[bad[0]]:.3f} frames of dt = {dt:.6g} s after the first sample"
        rule = f"stamps within {MAX_JITTER:g} frames of a grid of dt, one per frame"
        raise InputError(place, f"sample {bad[0]}, t", got, rule, "check dt")
    return frames, stamps


def _check_speed(place: str, position: np.ndarray, frames: np.ndarray, dt: float) -> None:
    """Refuse a jump that no toss makes: millimetres, or a tracker that lost its target."""
    step = np.linalg.norm(np.diff(position, axis=0), axis=1) / (np.diff(frames) * dt)
    fast = np.flatnonzero(step > MAX_SPEED)
    if len(fast):
        i = int(fast[0]) + 1
        rule = f"positions in metres, moving slower than {MAX_SPEED:g} m/s"
        remedy = "are they in millimetres, or did the tracker jump?"
        raise InputError(place, f"sample {i}, position", f"{step[i - 1]:.4g} m/s", rule, remedy)


def write_tosses(path: str | Path, trials: Sequence[Trial]) -> None:
    """Write trials as an npz file that read_tosses accepts (with stamps; poses or full state).

    The caller chooses the path and makes the write atomic (diffsim_ros.output).
    """
    if not trials:
        raise InputError(path, "trials", [], "at least one toss to write")
    arrays = _arrays(trials)
    columns = np.array(COLUMNS[: arrays["state"].shape[-1]])
    np.savez_compressed(path, **arrays, columns=columns)


def _arrays(trials: Sequence[Trial]) -> dict[str, np.ndarray]:
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


def _row(trial: Trial, full: bool) -> np.ndarray:
    """Columns of one body's samples (n, 7 | 13)."""
    q = trial.orientation
    columns = [trial.position, q[:, [3, 0, 1, 2]]]
    if full:
        omega = quat_rotate(quat_conjugate(q), trial.velocity[:, 3:])
        columns += [trial.velocity[:, :3], omega]
    return np.concatenate(columns, axis=1)
