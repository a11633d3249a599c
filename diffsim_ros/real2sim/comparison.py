"""Errors of predicted tosses, and those of published simulators on the same ones, paired by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..rotation import quat_angle
from ..tables import read_rows
from .scenarios.height import MetricOptions

PUBLISHED_NAME = "anchor_errors_per_toss.csv"
"""Name of the table that is looked for beside a file of tosses."""
SUFFIXES = {
    "position": "_mean_pos_err_cubewidths",
    "rotation": "_mean_rot_err_deg",
    "e_q": "_e_q",
}
QUANTITIES = {"position": "position_error_widths", "rotation": "rotation_error_deg", "e_q": "e_q"}
"""Field of TossErrors -> its name in metrics.json."""
SAMPLES = 10_000
LEVEL = 0.95


@dataclass(frozen=True)
class TossErrors:
    """Errors of one predicted toss, means over its frames from the start on.

    position  |dp| in widths;  rotation  angle of R_sim R_meas^T [deg]
    e_q       |dp|^2 / half + angle^2  [m + rad^2], the training loss of the data's authors
    """

    position: float
    rotation: float
    e_q: float


def toss_errors(
    position: np.ndarray,
    orientation: np.ndarray,
    measured_position: np.ndarray,
    measured_orientation: np.ndarray,
    options: MetricOptions,
) -> TossErrors:
    """Errors of simulated poses (n, 3), (n, 4) against measured ones at the same frames."""
    dp = np.linalg.norm(position - measured_position, axis=-1)
    turn = quat_angle(measured_orientation, orientation)
    return TossErrors(
        float(dp.mean() / options.width),
        float(np.degrees(turn.mean())),
        float((dp**2 / options.half + turn**2).mean()),
    )


@dataclass(frozen=True)
class Published:
    """Errors of other simulators: name -> toss id -> TossErrors, and the file they come from."""

    source: str
    errors: Mapping[str, Mapping[int, TossErrors]]


def read_published(path: str | Path) -> Published:
    """Table with toss_id and, per simulator, <name>_mean_pos_err_cubewidths, ... (SUFFIXES)."""
    path = Path(path)
    columns, cells = read_rows(path, "a readable CSV table")
    rows = [dict(zip(columns, row, strict=False)) for row in cells if row]
    names = [c.removesuffix(SUFFIXES["e_q"]) for c in columns if c.endswith(SUFFIXES["e_q"])]
    complete = all(n + suffix in columns for n in names for suffix in SUFFIXES.values())
    if "toss_id" not in columns or not names or not complete:
        rule = "toss_id and <simulator>" + ", <simulator>".join(SUFFIXES.values())
        raise InputError(path, "header", columns, rule)
    errors: dict[str, dict[int, TossErrors]] = {name: {} for name in names}
    for line, row in enumerate(rows, start=2):
        for name in names:
            toss, value = _row(path, line, row, name)
            errors[name][toss] = value
    return Published(str(path), errors)


def _row(path: Path, line: int, row: Mapping[str, str], name: str) -> tuple[int, TossErrors]:
    """One simulator's errors in one line of the table."""
    try:
        toss = int(row["toss_id"])
        value = TossErrors(**{key: float(row[name + s]) for key, s in SUFFIXES.items()})
    except (KeyError, ValueError):
        raise InputError(path, f"line {line}, {name}", dict(row), "an id and numbers") from None
    if not np.isfinite([value.position, value.rotation, value.e_q]).all():
        raise InputError(path, f"line {line}, {name}", value, "finite numbers")
    return toss, value


def beside(files: Sequence[str | Path]) -> list[Path]:
    """Published tables that lie beside files of tosses, each once, in the order of the files."""
    tables = [Path(file).resolve().parent / PUBLISHED_NAME for file in files]
    return [table for table in dict.fromkeys(tables) if table.is_file()]


def bootstrap_means(values: np.ndarray, seed: int, samples: int = SAMPLES) -> np.ndarray:
    """Means over resampled rows of values (n, k): (samples, k), the same rows in all columns."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(values), (samples, len(values)))
    counts = np.zeros((samples, len(values)))
    np.add.at(counts, (np.arange(samples)[:, None], rows), 1.0)
    return counts @ values / len(values)


def interval(values: np.ndarray, seed: int) -> list[list[float]]:
    """95 % bootstrap interval of the mean of every column of values (n, k): k pairs."""
    means = bootstrap_means(values, seed)
    tail = 0.5 * (1.0 - LEVEL)
    return np.quantile(means, [tail, 1.0 - tail], axis=0).T.tolist()


def as_rows(errors: Sequence[TossErrors]) -> np.ndarray:
    """Errors as (n, 3): position [widths], rotation [deg], e_q."""
    return np.array([[e.position, e.rotation, e.e_q] for e in errors]).reshape(-1, 3)


def compare(
    ours: Sequence[TossErrors], theirs: Sequence[Mapping[str, TossErrors]], seed: int = 0
) -> dict:
    """Nested figures: per simulator its means, and ours minus theirs with paired 95 % intervals.

    ours    errors of the validated tosses;  theirs  per toss: simulator -> published errors
    Only tosses that a simulator has errors for are paired; `tosses` says how many. Empty when
    nothing is published for any of the tosses.
    """
    names = dict.fromkeys(name for row in theirs for name in row)
    result: dict = {}
    for name in names:
        common = [k for k, row in enumerate(theirs) if name in row]
        a, b = as_rows([ours[k] for k in common]), as_rows([theirs[k][name] for k in common])
        ranges = interval(a - b, seed)
        entry: dict = {"tosses": len(common)}
        for k, label in enumerate(QUANTITIES.values()):
            entry[label] = float(b[:, k].mean())
            entry[f"{label}_median"] = float(np.median(b[:, k]))
            entry[f"{label}_difference"] = float((a - b)[:, k].mean())
            entry[f"{label}_difference_interval"] = ranges[k]
        result[name] = entry
    return result


def best_of(comparison: Mapping) -> dict:
    """Per quantity the best simulator: its name, mean, our difference and whether it excludes 0."""
    result = {}
    for label in QUANTITIES.values():
        if not comparison:
            continue
        name = min(comparison, key=lambda n: comparison[n][label])
        entry = comparison[name]
        low, high = entry[f"{label}_difference_interval"]
        result[label] = {
            "simulator": name,
            "mean": entry[label],
            "difference": entry[f"{label}_difference"],
            "interval": [low, high],
            "excludes_equality": bool(high < 0.0 or low > 0.0),
        }
    return result
