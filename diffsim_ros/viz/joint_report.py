"""One self-contained HTML page about an estimation from joint logs; opens offline."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.output import write_bytes, write_text, yaml_text
from diffsim_ros.viz import fit_plots, joint_plots, player, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.report import environment, footer
from diffsim_ros.viz.summary import Summary, summarise

PLAYED = 25.0  # frames per second of the playable motion
LOOKS = {"measured": style.MEASURED, "simulated": style.SIMULATED, "first guess": style.MUTED}
MEASURES = (
    ("position_rms_rad", "position", "mrad", 1e3),
    ("velocity_rms_rad_s", "velocity", "mrad/s", 1e3),
    ("effort_rms_Nm", "effort", "N m", 1.0),
)
SECTIONS = (
    ("summary", "Summary"),
    ("motion", "Motion"),
    ("parameters", "Parameters"),
    ("prediction", "Errors"),
    ("trials", "Signals"),
    ("fit", "Fit"),
    ("reproduce", "Reproduce"),
)


def write_joint_report(
    result: Any,
    path: str | os.PathLike[str],
    *,
    written: datetime.datetime | None = None,
) -> list[Path]:
    """Write the page of an EstimationResult of joint logs, and its figures as PNG beside it.

    Returns the files written, the page first; files of the same name are replaced.
    """
    path, summary = Path(path), summarise(replace(result, predictions=()))
    shown = list(result.predictions)
    images = _figures(summary, result)
    uris = {name: style.data_uri(png) for name, png in images.items()}
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
        "motions": [motion_data(p) for p in shown if p.places],
        "parameters": tables.parameter_table(summary),
        "derived": [_derived(p) for p in result.derived],
        "measures": [_row(prediction) for prediction in shown],
        "joints": [_joint_row(p, name) for p in shown[:1] for name in p.joints],
        "figures": uris,
        "single": [
            {"title": f"{p.name} ({p.role})", "curves": uris[f"curves_{i}"],
             "residuals": uris[f"residuals_{i}"]}
            for i, p in enumerate(shown)
        ],
        "message": summary.message,
        "dropped": [(reason, str(count)) for reason, count in summary.dropped.items() if count],
        "scene": [(name, f"{value:.6g}") for name, value in result.scene.items()],
        "provenance": tables.provenance_facts(summary.provenance),
        "config_text": yaml_text(summary.config) if summary.config else "",
        "sections": sections,
        **footer(written),
    }  # fmt: skip
    page = environment().get_template("joint_report.html").render(context)
    write_text(path, page, overwrite=True)
    files = [path]
    for name, png in images.items():
        if "_" not in name:  # those of single trials stand in the page only
            files.append(path.with_name(f"{name}.png"))
            write_bytes(files[-1], png, overwrite=True)
    return files


def motion_data(prediction: Any) -> dict[str, Any]:
    """Return the playable motion of one trial: the arm as a line through its joints, thrice."""
    t = prediction.t
    rows = np.searchsorted(t, np.arange(t[0], t[-1], 1.0 / PLAYED)).clip(0, len(t) - 1)
    bodies = []
    for who, places in prediction.places.items():
        chain = np.concatenate([np.zeros((len(rows), 1, 3)), places[rows]], axis=1)
        count = chain.shape[1]
        lines = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
        faces = np.zeros((0, 3), int)
        bodies.append(player.mesh_data(who, LOOKS[who], chain, faces, lines))
    both = [prediction.places.get(who) for who in ("measured", "simulated")]
    errors = []
    if all(places is not None for places in both):
        tip = 1e3 * np.linalg.norm(both[0][rows, -1] - both[1][rows, -1], axis=1)
        errors = [{"label": "flange apart [mm]", "value": player.rounded(tip, 2)}]
    return {
        "name": f"{prediction.name} ({prediction.role})",
        "t": player.rounded(t[rows] - t[rows[0]], 4),
        "bodies": bodies,
        "planes": [{"p": [0, 0, 0], "q": [0, 0, 0, 1]}],
        "errors": errors,
        "forces": [],
    }


def _judged(predictions: Sequence[Any]) -> list[Any]:
    return [p for p in predictions if p.role == "validate"] or list(predictions)


def _lead(predictions: Sequence[Any]) -> str:
    judged = _judged(predictions)
    if not judged:
        return "No trial was predicted."
    kind = "not trained on" if judged[0].role == "validate" else "trained on"
    parts = [
        f"{factor * max(p.errors[key] for p in judged):.3g} {unit} in {title}"
        for key, title, unit, factor in MEASURES
        if all(key in p.errors for p in judged)
    ]
    return f"Root mean square errors of the worst trial {kind}: {', '.join(parts)}."


def _cards(predictions: Sequence[Any]) -> list[dict[str, str]]:
    judged, found = _judged(predictions), []
    for key, title, unit, factor in MEASURES:
        if not judged or any(key not in p.errors for p in judged):
            continue
        worst = max(judged, key=lambda p: p.errors[key])
        signal = title
        noise = factor * float(np.sqrt(np.nanmean(worst.sigma[signal] ** 2)))
        found.append(
            {
                "label": f"RMS error in {title}",
                "value": f"{factor * worst.errors[key]:.3g}",
                "unit": unit,
                "detail": f"{worst.name}; the sensor's noise: {noise:.3g} {unit}",
                "tone": "good" if factor * worst.errors[key] < 1.2 * noise else "blue",
            }
        )
    return found


def _row(prediction: Any) -> dict[str, Any]:
    """One line of the table of errors: at the end, and at the first guess."""
    cells = []
    for key, signal, _, factor in MEASURES:
        value = prediction.errors.get(key)
        before = "–"
        if prediction.before is not None and value is not None:
            apart = prediction.before[signal] - prediction.measured[signal]
            before = f"{factor * np.sqrt(np.nanmean(apart**2)):.3g}"
        cells.append([before, "–" if value is None else f"{factor * value:.3g}"])
    return {"name": prediction.name, "role": prediction.role, "cells": cells}


def _joint_row(prediction: Any, name: str) -> dict[str, Any]:
    """One joint's errors in a trial."""
    cells = [
        f"{factor * prediction.errors[f'{key}.{name}']:.3g}"
        if f"{key}.{name}" in prediction.errors
        else "–"
        for key, _, _, factor in MEASURES
    ]
    return {"name": name, "cells": cells}


def _derived(parameter: Any) -> tuple[str, str]:
    if parameter.std_dev is None:
        return parameter.name, f"{parameter.value:.5g} {parameter.unit}"
    text = fit_plots.with_sigma(parameter.value, parameter.std_dev)
    return parameter.name, f"{text} {parameter.unit}"


def _figures(summary: Summary, result: Any) -> Mapping[str, bytes]:
    """PNG of every figure by the name of its file (viz.PICTURES), and two per trial."""
    figures: dict[str, Any] = {}
    for i, prediction in enumerate(result.predictions):
        figures[f"curves_{i}"] = joint_plots.joint_curves(prediction)
        figures[f"residuals_{i}"] = joint_plots.joint_residuals(prediction)
    if summary.rows:
        figures["parameters"] = fit_plots.parameter_intervals(summary.rows)
    if len(summary.correlated) > 1:
        figures["correlation"] = fit_plots.correlation_map(summary.correlated, summary.correlation)
    if len(summary.history) > 1:
        figures["convergence"] = fit_plots.convergence(summary.history)
        figures["paths"] = joint_plots.parameter_paths(result.history, summary.rows)
    return {name: style.png_bytes(figure) for name, figure in figures.items()}
