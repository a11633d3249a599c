"""Reading recordings of labelled markers: CSV (docs/real2sim.md) and C3D."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...errors import InputError
from ..observation import Observation

LEAST_FRAMES = 20
AXES = ("_x", "_y", "_z")
RESIDUAL = "_res"
METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}


def read_markers(path: str | Path, sigma: float) -> Observation:
    """Markers of a file, by its extension; sigma [m] is the noise of each coordinate.

    Raises InputError naming file, line or frame, column and rule.
    """
    path = Path(path)
    names, t, position, residual = raw_markers(path)
    _check(path, names, t, position)
    value = position.reshape(len(t), -1)
    return Observation(
        t, "markers", "tracker", names, value, np.array([sigma]), str(path), residual
    )


def raw_markers(path: str | Path):
    """Names, times [s] (n,), places [m] (n, m, 3) and residuals of a file, as they stand in it.

    Raises InputError for what cannot be read; clocks and occlusions are not judged.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(path, "", path.suffix, "a file that ends in " + " or ".join(READERS))
    try:
        return reader(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(path, "", str(error), "a readable file of markers") from None


def _check(path: Path, names: tuple[str, ...], t: np.ndarray, position: np.ndarray) -> None:
    """Refuse clocks that stand still, short recordings and markers that are never seen."""
    if len(t) < LEAST_FRAMES:
        raise InputError(path, "frames", len(t), f"at least {LEAST_FRAMES}")
    bad = np.flatnonzero(~np.isfinite(t))
    if len(bad):
        raise InputError(path, f"frame {bad[0]}, t", float(t[bad[0]]), "a finite time [s]")
    back = np.flatnonzero(np.diff(t) <= 0)
    if len(back):
        i = back[0] + 1
        got = f"{t[i]:.9g} after {t[i - 1]:.9g}"
        raise InputError(path, f"frame {i}, t", got, "increasing times [s]")
    seen = np.isfinite(position).all(axis=2)
    for name, column in zip(names, seen.T, strict=True):
        if not column.any():
            raise InputError(path, name, "never seen", "a marker that is seen in some frame")


def _csv(path: Path):
    """Columns t, and NAME_x, NAME_y, NAME_z [m], NAME_res [m] per marker; empty: not seen."""
    with path.open(newline="", encoding="utf-8-sig") as stream:
        rows = list(csv.reader(stream))
    header = [name.strip() for name in rows[0]] if rows else []
    names = tuple(name[:-2] for name in header if name.endswith(AXES[0]))
    expected = [name + axis for name in names for axis in AXES]
    missing = [column for column in ["t", *expected] if column not in header]
    twice = [column for column in header if header.count(column) > 1]
    if missing or twice or not names:
        rule = "t and, per marker, NAME_x, NAME_y, NAME_z (and NAME_res), each once"
        what = f"lacks {missing[0]}" if missing else f"{twice[0]} twice" if twice else header
        raise InputError(path, "header", what, rule)
    table = np.array([_numbers(path, k, row, header) for k, row in enumerate(rows[1:], start=2)])
    table = table.reshape(-1, len(header))
    column = {name: i for i, name in enumerate(header)}
    position = table[:, [column[c] for c in expected]].reshape(len(table), len(names), 3)
    residuals = [column.get(name + RESIDUAL) for name in names]
    residual = None if None in residuals else table[:, residuals]
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


def _c3d(path: Path):
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
            rate = float(reader.point_rate)
    except OSError:
        raise
    except Exception as error:  # the library has no error of its own
        raise InputError(path, "", f"{type(error).__name__}: {error}", "a whole C3D file") from None
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


READERS: dict[str, Callable] = {".csv": _csv, ".c3d": _c3d}
