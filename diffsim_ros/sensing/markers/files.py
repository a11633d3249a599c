"""Reading recordings of labelled markers: CSV (docs/how-to/markers.md), C3D and rosbag2."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...files import require_regular
from ...tables import read_rows
from .. import bags
from ..observation import Observation
from ..timing import clock
from .bag import bag_markers

LEAST_FRAMES = 20
AXES = ("_x", "_y", "_z")
RESIDUAL = "_res"
TRIAL = "trial"
MOST_TRIALS = 10**9
TABLE = "a readable file of markers"
METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
RawMarkers = tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray | None]
"""Names (m,), times (n,), places (n, m, 3), residuals (n, m) where the file has them."""


def read_markers(path: str | Path, sigma: float) -> Observation:
    """Markers of a file of one trial, by its extension; sigma [m]: noise of each coordinate.

    Raises InputError naming file, line or frame, column and rule; for several trials.
    """
    found = read_recordings(path, sigma)
    if len(found) > 1:
        raise InputError(path, "trials", len(found), "one")
    return found[0]


def read_recordings(path: str | Path, sigma: float) -> list[Observation]:
    """Markers of every trial of a file: one, or those that it tells apart.

    A CSV does by a column `trial`, a bag by holes in its stamps (recordings.timing). Each trial's
    clock starts at 0 where there are several.
    Raises InputError as read_markers.
    """
    path = Path(path)
    names, t, position, residual = raw_markers(path)
    return split(path, names, t, trials_of(path, t), position, sigma, residual)


def split(
    path: Path, names: tuple[str, ...], t: np.ndarray, trial: np.ndarray, position: np.ndarray,
    sigma: float, residual: np.ndarray | None = None,
) -> list[Observation]:  # fmt: skip
    """The trials of what raw_markers read; trial (n,): which one each frame is of."""
    if not len(t):
        _check(str(path), t)
    _check_names(path, names, position)
    numbers = list(dict.fromkeys(trial.tolist()))
    found = []
    for number in numbers:
        own = trial == number
        several = len(numbers) > 1
        place = f"{path}: trial {number}" if several else str(path)
        times = t[own] - t[own][0] if several else t[own]
        _check(place, times)
        value = position[own].reshape(len(times), -1)
        found.append(
            Observation(
                times, "markers", "tracker", names, value, np.array([sigma]), str(path),
                None if residual is None else residual[own], number if several else None,
            )
        )  # fmt: skip
    return found


def trials_of(path: Path, t: np.ndarray) -> np.ndarray:
    """Number of the trial of every frame (n,), from 1 where the file has no numbers of its own."""
    if bags.is_bag(path):
        return clock(t, None).trial
    if path.suffix.lower() == ".csv":
        header, rows = read_rows(path, TABLE)
        if TRIAL in header:
            at = header.index(TRIAL)
            cells = [row[at] if at < len(row) else "" for row in rows]
            return np.array([_whole(path, k, cell) for k, cell in enumerate(cells, start=2)])
    return np.ones(len(t), int)


def _whole(path: Path, line: int, cell: str) -> int:
    try:
        number = int(cell)
    except ValueError:
        number = MOST_TRIALS + 1
    if abs(number) > MOST_TRIALS:
        raise InputError(path, f"line {line}, {TRIAL}", cell, "a whole number below 1e9")
    return number


def raw_markers(path: str | Path) -> RawMarkers:
    """Names, times [s] (n,), places [m] (n, m, 3) and residuals of a file, as they stand in it.

    Raises InputError for what cannot be read; clocks and occlusions are not judged.
    """
    path = Path(path)
    if bags.is_bag(path):
        _, names, t, position, _ = bag_markers(path)
        return names, t, position, None
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        rule = "a file that ends in " + " or ".join((*READERS, *bags.SUFFIXES))
        raise InputError(path, "", path.suffix, rule)
    require_regular(path, TABLE)
    try:
        return reader(path)
    except OSError as error:
        raise InputError(path, "", str(error), TABLE) from None


def _check(place: str, t: np.ndarray) -> None:
    """Refuse clocks that stand still, and short recordings."""
    if len(t) < LEAST_FRAMES:
        raise InputError(place, "frames", len(t), f"at least {LEAST_FRAMES}")
    bad = np.flatnonzero(~np.isfinite(t))
    if len(bad):
        raise InputError(place, f"frame {bad[0]}, t", float(t[bad[0]]), "a finite time [s]")
    back = np.flatnonzero(np.diff(t) <= 0)
    if len(back):
        i = back[0] + 1
        got = f"{t[i]:.9g} after {t[i - 1]:.9g}"
        raise InputError(place, f"frame {i}, t", got, "increasing times [s]")


def _check_names(path: Path, names: tuple[str, ...], position: np.ndarray) -> None:
    """Refuse markers that are never seen."""
    visible = np.isfinite(position).all(axis=2)
    for name, column in zip(names, visible.T, strict=True):
        if len(column) and not column.any():
            raise InputError(path, name, "never seen", "a marker that is seen in some frame")


def _csv(path: Path) -> RawMarkers:
    """Columns t, and NAME_x, NAME_y, NAME_z [m], NAME_res [m] per marker; empty: not seen."""
    header, rows = read_rows(path, TABLE)
    names = tuple(name[:-2] for name in header if name.endswith(AXES[0]))
    expected = [name + axis for name in names for axis in AXES]
    known = set(header)
    missing = [column for column in ["t", *expected] if column not in known]
    twice = [column for column, count in Counter(header).items() if count > 1]
    if missing or twice or not names:
        rule = "t and, per marker, NAME_x, NAME_y, NAME_z (and NAME_res), each once"
        what = f"lacks {missing[0]}" if missing else f"{twice[0]} twice" if twice else header
        raise InputError(path, "header", what, rule)
    table = np.array([_numbers(path, k, row, header) for k, row in enumerate(rows, start=2)])
    table = table.reshape(-1, len(header))
    column = {name: i for i, name in enumerate(header)}
    position = table[:, [column[c] for c in expected]].reshape(len(table), len(names), 3)
    residuals = [column[name + RESIDUAL] for name in names if name + RESIDUAL in column]
    residual = table[:, residuals] if len(residuals) == len(names) else None
    return names, table[:, column["t"]], position, residual


def _numbers(path: Path, line: int, row: list[str], header: list[str]) -> list[float]:
    """Numbers of one line; empty cells and nan are NaN."""
    if len(row) != len(header):
        raise InputError(path, f"line {line}", f"{len(row)} cells", f"{len(header)}, as the header")
    numbers = []
    for name, cell in zip(header, row, strict=True):
        try:
            numbers.append(float(cell) if cell.strip() else np.nan)
        except ValueError:
            raise InputError(path, f"line {line}, {name}", cell, "a number, or nothing") from None
        if np.isinf(numbers[-1]):
            raise InputError(path, f"line {line}, {name}", cell, "a finite number, or nothing")
    return numbers


def _c3d(path: Path) -> RawMarkers:
    """Points of a C3D file, in metres; names in small letters and digits only ("Tip - 1": tip1)."""
    try:
        import c3d
    except ImportError:
        remedy = "pip install c3d, or export the recording as CSV"
        raise InputError(path, "", "C3D", "the package c3d", remedy) from None
    try:
        with path.open("rb") as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of files without analog channels
            reader = c3d.Reader(stream)
            names = tuple(re.sub("[^a-z0-9]", "", str(n).lower()) for n in reader.point_labels)
            unit = reader.get("POINT:UNITS")
            unit = "mm" if unit is None else unit.string_value.strip().lower()
            frames = [(k, points.copy()) for k, points, _ in reader.read_frames()]
            rate, declared = float(reader.point_rate), int(reader.frame_count)
    except OSError:
        raise
    except Exception as error:  # the library has no error of its own
        raise InputError(path, "", f"{type(error).__name__}: {error}", "a whole C3D file") from None
    if len(frames) != declared:
        raise InputError(path, "frames", len(frames), f"the {declared} of its header", "cut?")
    if unit not in METRES:
        raise InputError(path, "POINT:UNITS", unit, " or ".join(METRES))
    if not frames or rate <= 0 or len(names) != frames[0][1].shape[0] or len(set(names)) < 1:
        raise InputError(path, "points", f"{len(frames)} frames at {rate:g} Hz", "labelled points")
    points = np.array([p for _, p in frames], dtype=float)
    hidden = points[:, :, 3] < 0
    position = np.where(hidden[..., None], np.nan, METRES[unit] * points[:, :, :3])
    residual = np.where(hidden, np.nan, METRES[unit] * points[:, :, 3])
    t = np.array([k for k, _ in frames], dtype=float)
    return names, (t - t[0]) / rate, position, residual


READERS: dict[str, Callable[[Path], RawMarkers]] = {".csv": _csv, ".c3d": _c3d}
