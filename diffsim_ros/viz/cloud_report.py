"""One self-contained HTML page about an estimation from point clouds; opens offline."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros.output import write_bytes, write_text, yaml_text
from diffsim_ros.viz import cloud_plots, fit_plots, player, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.report import environment, footer
from diffsim_ros.viz.summary import Summary, summarise

PLAYED = 60.0  # simulated frames per second of the playable motion
JUMP = 1e-3  # [s] within which the cloud of one frame of the camera gives way to the next
DASH = np.array([0.0, 0.0, 2e-3])  # a point is drawn as a dash [m]
SECTIONS = (
    ("summary", "Summary"),
    ("motion", "Motion"),
    ("parameters", "Parameters"),
    ("prediction", "Distances"),
    ("trials", "Recordings"),
    ("fit", "Fit"),
    ("reproduce", "Reproduce"),
)
OF_RECORDINGS = ("motion", "prediction", "trials")
STARTS = (
    ("position", "place", "mm", 1e3),
    ("velocity", "velocity", "m/s", 1.0),
    ("angular_velocity", "spin", "rad/s", 1.0),
)


def write_cloud_report(
    result: Any,
    path: str | os.PathLike[str],
    *,
    written: datetime.datetime | None = None,
) -> list[Path]:
    """Write the page of an EstimationResult of clouds, and its figures as PNG beside it.

    Returns the files written, the page first; files of the same name are replaced.
    """
    path, summary = Path(path), summarise(replace(result, predictions=()))
    shown = list(result.predictions)
    images = _figures(summary, shown)
    uris = {name: style.data_uri(png) for name, png in images.items()}
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
        "distances": [_row(prediction) for prediction in shown],
        "figures": uris,
        "single": [_single(p, uris[f"overlay_{i}"]) for i, p in enumerate(shown)],
        "message": summary.message,
        "dropped": [(reason, str(count)) for reason, count in summary.dropped.items() if count],
        "scene": [(name, f"{value:.6g}") for name, value in result.scene.items()],
        "provenance": tables.provenance_facts(summary.provenance),
        "config_text": yaml_text(summary.config) if summary.config else "",
        "sections": [s for s in SECTIONS if shown or s[0] not in OF_RECORDINGS],
        **footer(written),
    }
    write_text(
        path, environment().get_template("cloud_report.html").render(context), overwrite=True
    )
    files = [path]
    for name, png in images.items():
        if not name.startswith("overlay_"):  # one per recording: in the page only
            files.append(path.with_name(f"{name}.png"))
            write_bytes(files[-1], png, overwrite=True)
    return files


def motion_data(prediction: Any) -> dict[str, Any]:
    """Return the playable motion of a recording: the simulated surface and the camera's points."""
    clock = np.arange(0.0, prediction.t[-1], 1.0 / PLAYED)
    times = np.unique(np.concatenate([clock, prediction.t, prediction.t[1:] - JUMP]))
    k = np.searchsorted(prediction.t, times + 1e-9, side="right") - 1
    most = max(map(len, prediction.points))
    cloud = np.array([_padded(prediction.points[i], most) for i in k])
    dashes = np.concatenate([cloud, cloud + DASH], axis=1)
    lines = np.stack([np.arange(most), np.arange(most) + most], axis=1)
    none = np.zeros((0, 3), int)
    body = _at(prediction.clock, prediction.vertices.astype(float), times)
    bodies = [
        player.mesh_data("simulated", style.SIMULATED, body, prediction.triangles, none[:, :2]),
        player.mesh_data("measured points", style.MEASURED, dashes, none, lines),
    ]
    return {
        "name": f"{prediction.name} ({prediction.role})",
        "t": player.rounded(times, 4),
        "bodies": bodies,
        "planes": [] if prediction.floor is None else [_plane(*prediction.floor)],
        "errors": [
            {"label": "rms distance [mm]", "value": player.rounded(1e3 * prediction.rms[k], 2)},
            {
                "label": "shift [mm]",
                "value": player.rounded(1e3 * np.linalg.norm(prediction.shift, axis=1)[k], 2),
            },
        ],
        "forces": [],
    }


def _padded(points: np.ndarray, count: int) -> np.ndarray:
    """So many points, the last one repeated."""
    return points[np.minimum(np.arange(count), len(points) - 1)]


def _at(clock: np.ndarray, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Values (G, ...) at clock (G,) interpolated to times (T,)."""
    i = np.clip(np.searchsorted(clock, times, side="right") - 1, 0, max(len(clock) - 2, 0))
    j = np.minimum(i + 1, len(clock) - 1)
    span = np.where(j > i, clock[j] - clock[i], 1.0)
    share = np.clip((times - clock[i]) / span, 0.0, 1.0)[:, None, None]
    return values[i] + share * (values[j] - values[i])


def _plane(normal: np.ndarray, offset: float) -> dict[str, list[float]]:
    turn, _ = Rotation.align_vectors([normal], [[0.0, 0.0, 1.0]])
    return {"p": (offset * normal).tolist(), "q": turn.as_quat().tolist()}


def _judged(predictions: Sequence[Any]) -> list[Any]:
    return [p for p in predictions if p.role == "validate"] or list(predictions)


def _lead(predictions: Sequence[Any]) -> str:
    judged = _judged(predictions)
    if not judged:
        return "No recording was predicted."
    kind = "not trained on" if judged[0].role == "validate" else "trained on"
    worst = max(judged, key=_later)
    return (
        f"Over {len(judged)} recording(s) {kind}, points lie "
        f"{1e3 * np.mean([p.errors['rms_distance_m'] for p in judged]):.2g} mm rms off the "
        f"simulated surface ({np.mean([p.errors['rms_over_sigma'] for p in judged]):.2f} of the "
        f"sensor's sigma); after the free flight the simulated body is {1e3 * _later(worst):.2g} "
        "mm off on average, at worst."
    )


def _later(prediction: Any) -> float:
    """Mean shift after the free flight, or of it where there is nothing later [m]."""
    return prediction.errors.get("mean_shift_m_later", prediction.errors["mean_shift_m"])


def _cards(predictions: Sequence[Any]) -> list[dict[str, str]]:
    judged = _judged(predictions)
    if not judged:
        return []
    found = []
    for key, label, unit, factor in (
        ("rms_over_sigma", "Worst rms distance", "σ", 1.0),
        ("rms_distance_m", "Worst rms distance", "mm", 1e3),
        ("mean_shift_m_later", "Worst mean shift after the flight", "mm", 1e3),
    ):
        having = [p for p in judged if key in p.errors]
        if not having:
            continue
        worst = max(having, key=lambda p: p.errors[key])
        text = f"{factor * worst.errors[key]:.3g}"
        found.append(
            {"label": label, "value": text, "unit": unit, "detail": worst.name, "tone": "blue"}
        )
    return found


def _row(prediction: Any) -> dict[str, Any]:
    """One line of the table of distances."""
    e = prediction.errors
    numbers = [
        f"{factor * e[key]:.3g}" if key in e else "–"
        for key, factor in (
            ("rms_distance_m", 1e3), ("rms_over_sigma", 1.0), ("mean_shift_m", 1e3),
            ("rms_distance_m_later", 1e3), ("rms_over_sigma_later", 1.0),
            ("mean_shift_m_later", 1e3),
        )
    ]  # fmt: skip
    frames = f"{len(prediction.t)} ({prediction.flight} in free flight)"
    points = f"{np.mean([len(p) for p in prediction.points]):.0f}"
    return {
        "name": prediction.name, "role": prediction.role, "frames": frames, "points": points,
        "numbers": numbers,
    }  # fmt: skip


def _single(prediction: Any, uri: str) -> dict[str, Any]:
    """One recording: overlay, start as found, and the pipeline's stages."""
    start, rows = prediction.start, []
    for kind, label, unit, factor in STARTS:
        if kind in start.sigma:
            value, sigma = factor * getattr(start.state, kind), factor * start.sigma[kind]
            text = ", ".join(fit_plots.with_sigma(v, s) for v, s in zip(value, sigma, strict=True))
            rows.append((f"{label} at the start [{unit}]", text))
    stages = [
        {
            "stage": row["stage"],
            "numbers": [
                f"{row['points_in']:.0f}", f"{row['points_out']:.0f}", f"{row['median_ms']:.2f}",
                f"{row['longest_ms']:.2f}",
            ],
        }
        for row in prediction.stages
    ]  # fmt: skip
    return {
        "title": f"{prediction.name} ({prediction.role})", "uri": uri, "start": rows,
        "stages": stages,
    }  # fmt: skip


def _figures(summary: Summary, predictions: Sequence[Any]) -> Mapping[str, bytes]:
    """PNG of every figure by the name of its file (viz.PICTURES), and one per recording."""
    figures: dict[str, Any] = {}
    if predictions:
        figures["cloud_residuals"] = cloud_plots.cloud_residuals(predictions)
    for i, prediction in enumerate(predictions):
        figures[f"overlay_{i}"] = cloud_plots.overlay(prediction)
    if summary.rows:
        figures["parameters"] = fit_plots.parameter_intervals(summary.rows)
    if len(summary.correlated) > 1:
        figures["correlation"] = fit_plots.correlation_map(summary.correlated, summary.correlation)
    if summary.profiles:
        figures["profiles"] = fit_plots.profiles(summary.profiles)
    if len(summary.history) > 1:
        figures["convergence"] = fit_plots.convergence(summary.history)
    images = {name: style.png_bytes(figure) for name, figure in figures.items()}
    if "overlay_0" in images:
        images["clouds"] = images["overlay_0"]
    return images
