"""One self-contained HTML page about an estimation from markers; opens offline."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.output import write_bytes, write_text, yaml_text
from diffsim_ros.viz import fit_plots, marker_plots, player, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.report import environment, footer
from diffsim_ros.viz.summary import Summary, summarise

PLAYED = 25.0  # frames per second of the playable motion
SPHERE = 0.005  # diameter of a marker in it [m]
MEASURES = (
    ("static_deflection", "static deflection", "mm", 1e3),
    ("frequency", "frequency", "Hz", 1.0),
    ("decay", "decay", "1/s", 1.0),
)
SECTIONS = (
    ("summary", "Summary"),
    ("motion", "Motion"),
    ("parameters", "Parameters"),
    ("prediction", "Measures"),
    ("trials", "Recordings"),
    ("fit", "Fit"),
    ("reproduce", "Reproduce"),
)


def write_marker_report(
    result: Any,
    path: str | os.PathLike[str],
    *,
    written: datetime.datetime | None = None,
) -> list[Path]:
    """Write the page of an EstimationResult of markers, and its figures as PNG beside it.

    Returns the files written, the page first; files of the same name are replaced.
    """
    path, summary = Path(path), summarise(replace(result, predictions=()))
    images = _figures(summary, result.predictions)
    uris = {name: style.data_uri(png) for name, png in images.items()}
    shown = list(result.predictions)
    sections = [s for s in SECTIONS if shown or s[0] not in ("motion", "prediction", "trials")]
    context = {
        "title": summary.name.replace("_", " "),
        "kind": "estimation report",
        "status": summary.status.replace("_", " "),
        "status_class": "good" if summary.status == "converged" else "bad",
        "lead": _lead(shown),
        "cards": _cards(shown),
        "warnings": summary.warnings,
        "notes": summary.notes,
        "motions": [motion_data(prediction) for prediction in shown],
        "parameters": tables.parameter_table(summary),
        "measures": [_row(prediction) for prediction in shown],
        "figures": uris,
        "single": [
            {"title": p.name, "caption": _caption(p), "uri": uris[f"markers_{i}"]}
            for i, p in enumerate(shown)
            if f"markers_{i}" in uris
        ],
        "message": summary.message,
        "dropped": [(reason, str(count)) for reason, count in summary.dropped.items() if count],
        "scene": [(name, f"{value:.6g}") for name, value in result.scene.items()],
        "provenance": tables.provenance_facts(summary.provenance),
        "config_text": yaml_text(summary.config) if summary.config else "",
        "sections": sections,
        **footer(written),
    }
    page = environment().get_template("marker_report.html").render(context)
    write_text(path, page, overwrite=True)
    files = [path]
    for name, png in images.items():
        if not name.startswith("markers_"):  # one per recording: in the page only
            files.append(path.with_name(f"{name}.png"))
            write_bytes(files[-1], png, overwrite=True)
    return files


def motion_data(prediction: Any) -> dict[str, Any]:
    """Return the playable motion of one recording: markers as spheres, the body's surface."""
    wanted = np.arange(max(prediction.t[0], -0.1), min(prediction.t[-1], 2.0), 1.0 / PLAYED)
    frames = np.unique(np.clip(np.searchsorted(prediction.t, wanted), 0, len(prediction.t) - 1))
    upright = np.tile([0.0, 0.0, 0.0, 1.0], (len(frames), 1))
    bodies = []
    if prediction.vertices is not None:
        none = np.zeros((0, 2), int)
        vertices = prediction.vertices[frames].astype(float)
        bodies.append(
            player.mesh_data("body", style.SIMULATED, vertices, prediction.triangles, none)
        )
    for who, colour in (("measured", style.MEASURED), ("simulated", style.SIMULATED)):
        places = getattr(prediction, who)[frames]
        for k, name in enumerate(prediction.markers):
            path = _filled(places[:, k])
            if path is not None:
                size = [SPHERE] * 3
                bodies.append(
                    player.body_data(f"{name} {who}", "sphere", size, colour, path, upright)
                )
    distance = np.linalg.norm(prediction.simulated - prediction.measured, axis=2)[frames]
    mean = 1e3 * np.nan_to_num(np.nanmean(distance, axis=1))
    return {
        "name": f"{prediction.name} ({prediction.role})",
        "t": player.rounded(prediction.t[frames] - prediction.t[frames[0]], 4),
        "bodies": bodies,
        "planes": [],
        "errors": [{"label": "distance [mm]", "value": player.rounded(mean, 2)}],
        "forces": [],
    }


def _filled(path: np.ndarray) -> np.ndarray | None:
    """A marker's path (n, 3) with the last seen place where it is hidden; None: never seen."""
    seen = np.flatnonzero(np.isfinite(path).all(axis=1))
    if not len(seen):
        return None
    last = np.maximum(np.searchsorted(seen, np.arange(len(path)), side="right") - 1, 0)
    return path[seen[last]]


def _lead(predictions: Sequence[Any]) -> str:
    judged = [p for p in predictions if p.role == "validate"] or list(predictions)
    if not judged:
        return "No recording was predicted."
    worst = [
        f"{100 * max(p.errors[f'{key}_error'] for p in judged):.2g} % in {title}"
        for key, title, _, _ in MEASURES
    ]
    kind = "recordings not trained on" if judged[0].role == "validate" else "trained recordings"
    distance = 1e3 * max(p.errors["mean_marker_error_m"] for p in judged)
    return (
        f"Worst errors over {len(judged)} {kind}: {', '.join(worst)}; markers are "
        f"{distance:.2g} mm off on average over the window."
    )


def _cards(predictions: Sequence[Any]) -> list[dict[str, str]]:
    judged = [p for p in predictions if p.role == "validate"] or list(predictions)
    found = []
    for key, title, _, _ in MEASURES if judged else ():
        worst = max(judged, key=lambda p: p.errors[f"{key}_error"])
        found.append(
            {
                "label": f"Worst error in {title}",
                "value": f"{100 * worst.errors[f'{key}_error']:.2g}",
                "unit": "%",
                "detail": worst.name,
                "tone": "blue",
            }
        )
    return found


def _row(prediction: Any) -> dict[str, Any]:
    """One line of the table of measures: cells (measured, simulated, error)."""
    cells = []
    for key, _, _, factor in MEASURES:
        values = [factor * prediction.swings[w].figures[key] for w in ("measured", "simulated")]
        error = prediction.errors[f"{key}_error"]
        cells.append([*(f"{value:.4g}" for value in values), f"{100 * error:.2g} %"])
    return {
        "name": prediction.name,
        "role": prediction.role,
        "cells": cells,
        "distance": f"{1e3 * prediction.errors['mean_marker_error_m']:.3g}",
    }


def _caption(prediction: Any) -> str:
    per_marker = ", ".join(
        f"{name} {1e3 * prediction.errors[f'mean_error_m.{name}']:.2g} mm"
        for name in prediction.markers
    )
    return f"Displacements in the world's axes. Mean distances: {per_marker}."


def _figures(summary: Summary, predictions: Sequence[Any]) -> Mapping[str, bytes]:
    """PNG of every figure by the name of its file (viz.PICTURES), and one per recording."""
    figures: dict[str, Any] = {}
    if predictions:
        figures["swings"] = marker_plots.swings(predictions)
        figures["marker_errors"] = marker_plots.marker_errors(predictions)
    for i, prediction in enumerate(predictions):
        figures[f"markers_{i}"] = marker_plots.marker_curves(prediction)
    if summary.rows:
        figures["parameters"] = fit_plots.parameter_intervals(summary.rows)
    if summary.profiles:
        figures["profiles"] = fit_plots.profiles(summary.profiles)
    if summary.bands:
        figures["bands"] = fit_plots.bands(summary.bands)
    if len(summary.correlated) > 1:
        figures["correlation"] = fit_plots.correlation_map(summary.correlated, summary.correlation)
    if len(summary.history) > 1:
        figures["convergence"] = fit_plots.convergence(summary.history)
    return {name: style.png_bytes(figure) for name, figure in figures.items()}
