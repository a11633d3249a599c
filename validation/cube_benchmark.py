"""The cube benchmark: errors in widths, beside published simulators' on the same tosses.

data/cube_toss/README.md defines the metric and the table of published errors, which are paired with
ours by the id of the toss.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.bootstrap import interval
from diffsim_ros.real2sim.options import EstimationConfig
from diffsim_ros.real2sim.sensors.pose.experiment import PoseExperiment, PosePrediction
from diffsim_ros.rotation import quat_angle
from diffsim_ros.tables import read_rows
from diffsim_ros.viz import style

from .common import ROOT

PUBLISHED = ROOT / "data" / "cube_toss" / "anchor_errors_per_toss.csv"
HALF = 0.0524
"""Half edge of the cube, recorded lengths [m]."""
SUFFIXES = {
    "position": "_mean_pos_err_cubewidths",
    "rotation": "_mean_rot_err_deg",
    "e_q": "_e_q",
}
"""Field of TossErrors -> end of its columns in the published table."""
LABELS = ("position_error_widths", "rotation_error_deg", "e_q")
"""Names of the figures, in the order of TossErrors."""
TITLES = (
    ("Position error", "% of width", 100.0), ("Rotation error", "degrees", 1.0),
    ("Combined error e_q", "m + rad²", 1.0),
)  # fmt: skip
SIMULATORS = {
    "diffsim": ("diffsim", style.SIMULATED), "mujoco": ("MuJoCo", style.PINK),
    "drake": ("Drake", style.GREEN), "bullet": ("Bullet", style.WARN),
}  # fmt: skip


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
) -> TossErrors:
    """Errors of simulated poses (n, 3), (n, 4) against measured ones at the same frames."""
    dp = np.linalg.norm(position - measured_position, axis=-1)
    turn = quat_angle(measured_orientation, orientation)
    return TossErrors(
        float(dp.mean() / (2.0 * HALF)),
        float(np.degrees(turn.mean())),
        float((dp**2 / HALF + turn**2).mean()),
    )


def evaluate(
    config: EstimationConfig,
    values: Mapping[str, float],
    role: str = "validate",
    *,
    own_gravity: bool | None = None,
) -> tuple[dict[int, TossErrors], list[str]]:
    """Toss id -> errors of its open-loop prediction, and sentences about tosses without one.

    values       parameters by name;  role  "train" or "validate": whose tosses
    own_gravity  in place of the configuration's
    """
    if own_gravity is not None:
        measurement = replace(config.measurement, own_gravity=own_gravity)
        config = replace(config, measurement=measurement)
    experiment, notes = PoseExperiment(config), []
    trials = experiment.role(None, getattr(config, role), notes)
    z = experiment.model.map.scaled({name: values[name] for name in experiment.model.map.names})
    found, failures = experiment.predicted(trials, z, role)
    return errors_of(found), failures


def errors_of(predictions: Iterable[PosePrediction]) -> dict[int, TossErrors]:
    """Toss id -> errors of predictions that there are."""
    errors = {}
    for p in predictions:
        measured, simulated = p.measured[:, 0], p.simulated[:, 0]
        poses = simulated[:, :3], simulated[:, 3:], measured[:, :3], measured[:, 3:]
        errors[p.id] = toss_errors(*poses)
    return errors


def as_rows(errors: Iterable[TossErrors]) -> np.ndarray:
    """Errors as (n, 3): position [widths], rotation [deg], e_q."""
    return np.array([astuple(e) for e in errors]).reshape(-1, 3)


def means(errors: Iterable[TossErrors]) -> dict:
    """Mean and median of every figure."""
    rows = as_rows(errors)
    found = dict(zip(LABELS, rows.mean(axis=0).tolist(), strict=True))
    medians = np.median(rows, axis=0).tolist()
    return found | {f"{k}_median": v for k, v in zip(LABELS, medians, strict=True)}


def intervals(rows: np.ndarray) -> dict:
    """95 % bootstrap intervals of the means of rows (n, 3)."""
    return {f"{k}_interval": r for k, r in zip(LABELS, interval(rows, 0), strict=True)}


def read_published(path: str | Path) -> dict[str, dict[int, TossErrors]]:
    """Simulator -> toss id -> errors.

    Columns are toss_id and, per simulator, <name>_mean_pos_err_cubewidths, ... (SUFFIXES).
    """
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
    return errors


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


def compare(
    ours: Mapping[int, TossErrors], published: Mapping[str, Mapping[int, TossErrors]]
) -> dict:
    """Per simulator its means, and ours minus theirs with paired 95 % intervals.

    Only tosses that a simulator has errors for are paired; `tosses` says how many.
    """
    result: dict = {}
    for name, theirs in published.items():
        common = [toss for toss in ours if toss in theirs]
        if not common:
            continue
        a, b = (as_rows([errors[toss] for toss in common]) for errors in (ours, theirs))
        ranges = interval(a - b, 0)
        entry: dict = {"tosses": len(common)}
        for k, label in enumerate(LABELS):
            entry[label] = float(b[:, k].mean())
            entry[f"{label}_median"] = float(np.median(b[:, k]))
            entry[f"{label}_difference"] = float((a - b)[:, k].mean())
            entry[f"{label}_difference_interval"] = ranges[k]
        result[name] = entry
    return result


def best_of(comparison: Mapping) -> dict:
    """Per quantity the best simulator: its name, mean, our difference and whether it excludes 0."""
    result = {}
    for label in LABELS:
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


def picture(
    ours: Mapping[int, TossErrors], published: Mapping[str, Mapping[int, TossErrors]], path: Path
) -> None:
    """Write a PNG of every simulator's means with their 95 % intervals, over tosses that all have.

    A file of that name is replaced.
    """
    found = {"diffsim": ours, **published}
    common = [toss for toss in ours if all(toss in errors for errors in found.values())]
    names = [name for name in SIMULATORS if name in found]
    table = {name: as_rows([found[name][toss] for toss in common]) for name in names}
    with style.styled():
        figure = style.new_figure(10.5, 1.05 + 0.36 * len(names))
        for k, axis in enumerate(figure.subplots(1, len(TITLES), sharey=True)):
            title, unit, factor = TITLES[k]
            for row, name in enumerate(names):
                values, colour = factor * table[name], SIMULATORS[name][1]
                (low, high), mean = interval(values, 0)[k], values[:, k].mean()
                axis.plot([low, high], [row, row], color=colour, lw=5, alpha=0.30)
                axis.plot(mean, row, "o", color=colour, ms=8 if not row else 6.5)
                look = {"va": "center", "color": colour, "fontsize": 9.5}
                weight = "normal" if row else "semibold"
                axis.annotate(
                    f"{mean:.3g}", (high, row), (7, 0), textcoords="offset points",
                    fontweight=weight, **look,
                )  # fmt: skip
            axis.set_yticks(range(len(names)), [SIMULATORS[name][0] for name in names])
            axis.set(title=title, xlabel=unit, ylim=(len(names) - 0.5, -0.5))
            axis.set_xlim(0, 1.15 * axis.get_xlim()[1])
            axis.grid(axis="y", visible=False)
            axis.tick_params(axis="y", length=0)
    path.write_bytes(style.png_bytes(figure))
