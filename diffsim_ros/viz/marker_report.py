"""What the page of an estimation from markers has of its own (estimation_page)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diffsim_ros.viz import curves, marker_plots, player, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.estimation_page import Page, judged
from diffsim_ros.viz.summary import Summary

PLAYED = 25.0  # frames per second of the playable motion
SPHERE = 0.005  # diameter of a marker in it [m]
MEASURES = (
    ("static_deflection", "static deflection", "mm", 1e3),
    ("frequency", "frequency", "Hz", 1.0),
    ("decay", "decay", "1/s", 1.0),
)


def _content(result: Any) -> dict[str, Any]:
    shown = result.predictions
    return {
        "lead": _lead(judged(shown)),
        "cards": _cards(judged(shown)),
        "motions": [motion_data(prediction) for prediction in shown],
        "curves": [curves_of(prediction) for prediction in shown],
        "measures": [_row(prediction) for prediction in shown],
        "single": [
            {"title": p.name, "figure": f"markers_{i}", "caption": _caption(p)}
            for i, p in enumerate(shown)
        ],
    }


def rows_of(prediction: Any, rate: float) -> np.ndarray:
    """Frames that are drawn, `rate` [Hz] of them: from 0.1 s before the release to 2 s after it."""
    wanted = np.arange(max(prediction.t[0], -0.1), min(prediction.t[-1], 2.0), 1.0 / rate)
    return np.unique(np.clip(np.searchsorted(prediction.t, wanted), 0, len(prediction.t) - 1))


def motion_data(prediction: Any) -> dict[str, Any]:
    """Return the playable motion of one recording: markers as spheres, the body's surface."""
    frames = rows_of(prediction, PLAYED)
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


def curves_of(prediction: Any) -> dict[str, Any]:
    """Return the view of a recording: every marker's displacement from where it was held [mm]."""
    t, groups = prediction.t, {}
    held = np.nanmean(prediction.measured[t < 0], axis=0)
    for k, name in enumerate(prediction.markers):
        paths = {who: getattr(prediction, who)[:, k] for who in ("measured", "simulated")}
        if prediction.before is not None:
            guess = np.full((len(t), 3), np.nan)  # it is simulated for the window alone
            guess[: len(prediction.before)] = prediction.before[:, k]
            paths["first guess"] = guess
        groups[name] = curves.paths(t, {who: 1e3 * (p - held[k]) for who, p in paths.items()})
    name = f"{prediction.name} ({prediction.role})"
    return curves.view(name, "time since the release [s]", groups)


def _filled(path: np.ndarray) -> np.ndarray | None:
    """A marker's path (n, 3) with the last seen place where it is hidden; None: never seen."""
    visible = np.flatnonzero(np.isfinite(path).all(axis=1))
    if not len(visible):
        return None
    last = np.maximum(np.searchsorted(visible, np.arange(len(path)), side="right") - 1, 0)
    return path[visible[last]]


def _lead(predictions: Sequence[Any]) -> str:
    if not predictions:
        return "No recording was predicted."
    worst = [
        f"{100 * max(p.errors[f'{key}_error'] for p in predictions):.2g} % in {title}"
        for key, title, _, _ in MEASURES
    ]
    unseen = predictions[0].role == "validate"
    kind = "recordings not trained on" if unseen else "trained recordings"
    distance = 1e3 * max(p.errors["mean_marker_error_m"] for p in predictions)
    return (
        f"Worst errors over {len(predictions)} {kind}: {', '.join(worst)}; markers are "
        f"{distance:.2g} mm off on average over the window."
    )


def _cards(predictions: Sequence[Any]) -> list[dict[str, str]]:
    found = []
    for key, title, _, _ in MEASURES if predictions else ():
        worst = max(predictions, key=lambda p: p.errors[f"{key}_error"])
        value = f"{100 * worst.errors[f'{key}_error']:.2g}"
        found.append(tables.card(f"Worst error in {title}", value, "%", worst.name))
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


def _figures(result: Any, summary: Summary) -> Mapping[str, Any]:
    """Figures of all recordings, and one per recording."""
    shown = result.predictions
    if not shown:
        return {}
    return {
        "swings": marker_plots.swings(shown),
        "marker_errors": marker_plots.marker_errors(shown),
        **{f"markers_{i}": marker_plots.marker_curves(p) for i, p in enumerate(shown)},
    }


PAGE = Page("marker_report.html", "Measures", "Recordings", _figures, _content)
