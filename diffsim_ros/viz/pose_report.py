"""What the page of an estimation from poses has of its own (estimation_page)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diffsim_ros.viz import curves, player, plots, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.estimation_page import Page
from diffsim_ros.viz.motion import Motion
from diffsim_ros.viz.summary import Summary

QUANTITIES = {
    "position_error_m": ("position error", "mm", 1e3),
    "rotation_error_deg": ("rotation error", "°", 1.0),
    "velocity_error_m_s": ("velocity error", "m/s", 1.0),
    "spin_error_rad_s": ("spin error", "rad/s", 1.0),
}
"""Name in metrics.json -> title, unit and factor of the shown number."""
PICKS = {"best": 0.0, "median": 0.5, "hard": 0.9, "worst": 1.0}
"""Recordings with figures of their own, by their place in the order of their first error."""


def _content(result: Any) -> dict[str, Any]:
    shown, picks = result.predictions, chosen(result.predictions)
    return {
        "lead": _lead(result.metrics, shown),
        "cards": _cards(result.metrics, shown),
        "motions": [motion_data(shown[i], word) for word, i in picks.items()],
        "curves": [curves_of(shown[i], word) for word, i in picks.items()],
        "head": [f"{title} [{unit}]" for _, title, unit, _ in _used(shown)],
        "rows": [_row(prediction, _used(shown)) for prediction in shown],
        "single": [
            {
                "title": f"{body}, {shown[i].name}: {word}",
                "figure": f"motion_{word}_{body}",
                "caption": "Orange dots measured, blue simulated.",
            }
            for word, i in picks.items()
            for body in shown[i].bodies
        ],
    }


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


def curves_of(prediction: Any, word: str) -> dict[str, Any]:
    """Return the view of a recording: every body's poses."""
    pairs = zip(prediction.bodies, motions_of(prediction), strict=True)
    groups = {body: curves.poses(motion) for body, motion in pairs}
    name = f"{prediction.name} ({prediction.role}): {word}"
    return curves.view(name, "time since the start [s]", groups)


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
        value = f"{factor * group[name]:.3g}"
        found.append(tables.card(f"Mean {title}", value, unit, detail))
    return found


def _row(prediction: Any, used: Sequence[tuple]) -> list[str]:
    errors = [f"{factor * prediction.errors[name]:.3g}" for name, _, _, factor in used]
    return [str(prediction.id), prediction.role, *errors]


def _figures(result: Any, summary: Summary) -> Mapping[str, Any]:
    """Errors over time, and one figure per body of the recordings that are chosen."""
    figures: dict[str, Any] = {}
    shown = result.predictions
    every = [motion for p in shown for motion in motions_of(p)]
    if len(every) > 1 and every[0].frames > 2:
        figures["error_over_time"] = plots.error_over_time(every)
    for word, i in chosen(shown).items():
        for body, motion in zip(shown[i].bodies, motions_of(shown[i]), strict=True):
            figures[f"motion_{word}_{body}"] = plots.motion_plot(motion)
    return figures


PAGE = Page("pose_report.html", "Errors", "Recordings", _figures, _content)
