"""One self-contained HTML page about an estimation from poses of several bodies; opens offline."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.output import write_bytes, write_text, yaml_text
from diffsim_ros.viz import fit_plots, player, plots, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.motion import Motion
from diffsim_ros.viz.report import environment, footer
from diffsim_ros.viz.summary import Summary, summarise

QUANTITIES = {
    "position_error_m": ("position error", "mm", 1e3),
    "rotation_error_deg": ("rotation error", "°", 1.0),
    "velocity_error_m_s": ("velocity error", "m/s", 1.0),
    "spin_error_rad_s": ("spin error", "rad/s", 1.0),
}
"""Name in metrics.json -> title, unit and factor of the shown number."""
SECTIONS = (
    ("summary", "Summary"),
    ("motion", "Motion"),
    ("parameters", "Parameters"),
    ("prediction", "Errors"),
    ("trials", "Recordings"),
    ("fit", "Fit"),
    ("reproduce", "Reproduce"),
)
FIGURES = ("error_over_time", "parameters", "correlation", "convergence")
"""Those that a page may lack: two frames have no course, one parameter no correlation."""
PICKS = {"best": 0.0, "median": 0.5, "hard": 0.9, "worst": 1.0}
"""Recordings with figures of their own, by their place in the order of their first error."""


def write_pose_report(
    result: Any,
    path: str | os.PathLike[str],
    *,
    written: datetime.datetime | None = None,
) -> list[Path]:
    """Write the page of an EstimationResult of poses, and its figures as PNG beside it.

    Returns the files written, the page first; files of the same name are replaced.
    """
    path, summary = Path(path), summarise(replace(result, predictions=()))
    shown = result.predictions
    picks = chosen(shown)
    images = _figures(summary, shown, picks)
    uris = {name: style.data_uri(png) for name, png in images.items()}
    empty = () if picks else ("motion", "trials") if shown else ("motion", "trials", "prediction")
    context = {
        "title": summary.name.replace("_", " "),
        "kind": "estimation report",
        "status": summary.status.replace("_", " "),
        "status_class": "good" if summary.status == "converged" else "bad",
        "lead": _lead(result.metrics, shown),
        "cards": _cards(result.metrics, shown),
        "warnings": summary.warnings,
        "notes": summary.notes,
        "motions": [motion_data(shown[i], word) for word, i in picks.items()],
        "parameters": tables.parameter_table(summary),
        "head": [f"{title} [{unit}]" for _, title, unit, _ in _used(shown)],
        "rows": [_row(prediction, _used(shown)) for prediction in shown],
        "figures": dict.fromkeys(FIGURES, "") | uris,
        "single": [
            {
                "title": f"{body}, {shown[i].name}: {word}",
                "uri": uris[f"motion_{word}_{body}"],
            }
            for word, i in picks.items()
            for body in shown[i].bodies
        ],
        "message": summary.message,
        "dropped": [(reason, str(count)) for reason, count in summary.dropped.items() if count],
        "scene": [(name, f"{value:.6g}") for name, value in result.scene.items()],
        "provenance": tables.provenance_facts(summary.provenance),
        "config_text": yaml_text(summary.config) if summary.config else "",
        "sections": [s for s in SECTIONS if s[0] not in empty],
        **footer(written),
    }
    page = environment().get_template("pose_report.html").render(context)
    write_text(path, page, overwrite=True)
    files = [path]
    for name, png in images.items():
        if not name.startswith("motion_"):  # one per recording and body: in the page only
            files.append(path.with_name(f"{name}.png"))
            write_bytes(files[-1], png, overwrite=True)
    return files


def chosen(predictions: Sequence[Any]) -> dict[str, int]:
    """Word -> number of a recording worth looking at, the median first; none of velocities."""
    first = "position_error_m"
    if not predictions or first not in predictions[0].errors:
        return {}
    order = sorted(range(len(predictions)), key=lambda i: predictions[i].errors[first])
    picks: dict[int, str] = {}
    for word, share in sorted(PICKS.items(), key=lambda item: item[0] != "median"):
        picks.setdefault(order[round(share * (len(order) - 1))], word)
    return {word: i for i, word in picks.items()}


def motions_of(prediction: Any) -> list[Motion]:
    """One Motion per body."""
    return [
        Motion(
            f"{name}, {prediction.name}",
            prediction.t,
            prediction.measured[:, k, :3],
            prediction.measured[:, k, 3:],
            prediction.simulated[:, k, :3],
            prediction.simulated[:, k, 3:],
            size,
            errors=prediction.errors,
        )
        for k, (name, size) in enumerate(zip(prediction.bodies, prediction.sizes, strict=True))
    ]


def motion_data(prediction: Any, word: str) -> dict[str, Any]:
    """Return the playable motion: all bodies simulated, and measured as ghosts."""
    motions, bodies = motions_of(prediction), []
    for motion, kind, name in zip(motions, prediction.kinds, prediction.bodies, strict=True):
        for who, colour in (("simulated", style.SIMULATED), ("measured", style.MEASURED)):
            pose = getattr(motion, f"{who}_position"), getattr(motion, f"{who}_orientation")
            ghost = who == "measured"
            bodies.append(
                player.body_data(f"{name} {who}", kind, motion.size, colour, *pose, ghost)
            )
    distance = np.mean([motion.position_error() for motion in motions], axis=0)
    return {
        "name": f"{prediction.name} ({prediction.role}): {word}",
        "t": player.rounded(prediction.t - prediction.t[0], 4),
        "bodies": bodies,
        "planes": [{"p": [0, 0, 0], "q": [0, 0, 0, 1]}],
        "errors": [{"label": "distance [mm]", "value": player.rounded(1e3 * distance, 2)}],
        "forces": [],
    }


def _used(predictions: Sequence[Any]) -> list[tuple[str, str, str, float]]:
    """(name, title, unit, factor) of the errors that there are."""
    names = predictions[0].errors if predictions else ()
    return [(name, *QUANTITIES[name]) for name in QUANTITIES if name in names]


def _group(metrics: Mapping) -> Mapping:
    return metrics.get("validate") or metrics.get("train") or {}


def _lead(metrics: Mapping, predictions: Sequence[Any]) -> str:
    used = _used(predictions)
    if not used:
        return "No recording was predicted."
    unseen = predictions[0].role == "validate"
    kind = "recordings not trained on" if unseen else "trained recordings"
    texts = [f"{f * _group(metrics)[n]:.3g} {unit} {title}" for n, title, unit, f in used]
    return f"Over {len(predictions)} {kind}: {' and '.join(texts)} on average, open loop."


def _cards(metrics: Mapping, predictions: Sequence[Any]) -> list[dict[str, str]]:
    group = _group(metrics)
    found = []
    for name, title, unit, factor in _used(predictions):
        low, high = group[f"{name}_interval"]
        detail = (
            f"median {factor * group[f'{name}_median']:.3g}; 95 % interval of the mean "
            f"{factor * low:.3g} … {factor * high:.3g}"
        )
        found.append(
            {
                "label": f"Mean {title}",
                "value": f"{factor * group[name]:.3g}",
                "unit": unit,
                "detail": detail,
                "tone": "blue",
            }
        )
    return found


def _row(prediction: Any, used: Sequence[tuple]) -> list[str]:
    errors = [f"{factor * prediction.errors[name]:.3g}" for name, _, _, factor in used]
    return [str(prediction.id), prediction.role, *errors]


def _figures(
    summary: Summary, predictions: Sequence[Any], picks: Mapping[str, int]
) -> Mapping[str, bytes]:
    """PNG of every figure by the name of its file (viz.PICTURES), and some per recording."""
    figures: dict[str, Any] = {}
    every = [motion for p in predictions for motion in motions_of(p)]
    if len(every) > 1 and every[0].frames > 2:
        figures["error_over_time"] = plots.error_over_time(every)
    for word, i in picks.items():
        for body, motion in zip(predictions[i].bodies, motions_of(predictions[i]), strict=True):
            figures[f"motion_{word}_{body}"] = plots.motion_plot(motion)
    if summary.rows:
        figures["parameters"] = fit_plots.parameter_intervals(summary.rows)
    if len(summary.correlated) > 1:
        figures["correlation"] = fit_plots.correlation_map(summary.correlated, summary.correlation)
    if len(summary.history) > 1:
        figures["convergence"] = fit_plots.convergence(summary.history)
    return {name: style.png_bytes(figure) for name, figure in figures.items()}
