"""What the page of an estimation from joint logs has of its own (estimation_page)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diffsim_ros.viz import curves, fit_plots, joint_plots, player, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.estimation_page import Page, judged, trained_on
from diffsim_ros.viz.summary import Summary

SIDES = 8  # of the tubes that links are drawn as
RADII = 0.055, 0.03  # of them, at the base and at the flange [m]
AROUND = 1.2  # of the tubes that stand for what was measured
PLAYED = 25.0  # frames per second of the playable motion
LOOKS = {"measured": style.MEASURED, "simulated": style.SIMULATED, "first guess": style.MUTED}
MEASURES = (
    ("position_rms_rad", "position", "mrad", 1e3),
    ("velocity_rms_rad_s", "velocity", "mrad/s", 1e3),
    ("effort_rms_Nm", "effort", "N m", 1.0),
)


def _content(result: Any) -> dict[str, Any]:
    shown = result.predictions
    return {
        "lead": _lead(judged(shown)),
        "cards": _cards(judged(shown)),
        "motions": [motion_data(p) for p in shown if p.places],
        "curves": [curves_of(prediction) for prediction in shown],
        "derived": [_derived(p) for p in result.derived],
        "measures": [_row(prediction) for prediction in shown],
        "joints": [_joint_row(p, name) for p in shown[:1] for name in p.joints],
        "single": [
            {"title": f"{p.name} ({p.role})", "figure": f"curves_{i}",
             "residuals": f"residuals_{i}",
             "caption": "Orange dots measured, blue simulated, grey simulated at the first guess, "
                        "dotted commanded."}
            for i, p in enumerate(shown)
        ],
    }  # fmt: skip


def rows_of(prediction: Any, rate: float) -> np.ndarray:
    """Samples that are drawn, `rate` [Hz] of them."""
    t = prediction.t
    return np.searchsorted(t, np.arange(t[0], t[-1], 1.0 / rate)).clip(0, len(t) - 1)


def motion_data(prediction: Any) -> dict[str, Any]:
    """Return the playable motion of one trial: the arm through its joints, thrice."""
    t, rows = prediction.t, rows_of(prediction, PLAYED)
    bodies = []
    for who, places in prediction.places.items():
        chain = np.concatenate([np.zeros((len(rows), 1, 3)), places[rows]], axis=1)
        count = chain.shape[1]
        lines = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
        faces = np.zeros((0, 3), int)
        if who == "simulated":
            chain, faces, lines = tubes(chain)
        elif who == "measured":  # around the simulated one, so that both are seen
            chain, _, lines = tubes(chain, AROUND)
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


def curves_of(prediction: Any) -> dict[str, Any]:
    """Return the view of one trial: every joint's readings."""
    sources = {
        "commanded": prediction.command, "measured": prediction.measured,
        "first guess": prediction.before or {}, "simulated": prediction.simulated,
    }  # fmt: skip
    groups = {}
    for row, joint in enumerate(prediction.joints):
        groups[joint] = [
            curves.panel(
                joint_plots.TITLES[signal],
                [
                    curves.line(name, prediction.t, table[signal][:, row])
                    for name, table in sources.items()
                    if signal in table
                ],
            )
            for signal in joint_plots.signals_of(prediction)
        ]
    return curves.view(f"{prediction.name} ({prediction.role})", "time [s]", groups)


def tubes(chain: np.ndarray, wider: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Links as tubes between joints: vertices (n, m, 3), faces (k, 3), lines of their edges (l, 2).

    chain  places (n, joints, 3) [m]; the tubes thin out towards the last one
    wider  factor on their width
    """
    first, last = chain[:, :-1], chain[:, 1:]
    count = first.shape[1]
    along = last - first
    axis = np.eye(3)[np.argmin(np.abs(along), axis=-1)]  # the one that a link is squarest to
    side = np.cross(along, axis)
    length = np.linalg.norm(side, axis=-1, keepdims=True)
    side = np.divide(side, length, out=np.zeros_like(side), where=length > 1e-9)
    up = np.cross(along, side)
    length = np.linalg.norm(up, axis=-1, keepdims=True)
    up = np.divide(up, length, out=np.zeros_like(up), where=length > 1e-9)
    radius = wider * np.linspace(*RADII, count + 1)
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    ring = np.cos(angles)[:, None] * side[..., None, :] + np.sin(angles)[:, None] * up[..., None, :]
    ends = [
        place[..., None, :] + width[:, None, None] * ring
        for place, width in ((first, radius[:-1]), (last, radius[1:]))
    ]
    vertices = np.concatenate(ends, axis=2)  # (n, links, 2 SIDES, 3)
    k, after = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    wall = np.concatenate([
        np.stack([k, after, after + SIDES], axis=1), np.stack([k, after + SIDES, k + SIDES], axis=1)
    ])  # fmt: skip
    ring = np.stack([k, after], axis=1)
    edges = np.concatenate([ring, ring + SIDES, np.stack([k, k + SIDES], axis=1)[::2]])
    shift = 2 * SIDES * np.arange(count)[:, None, None]
    return (
        vertices.reshape(len(chain), -1, 3), (shift + wall).reshape(-1, 3),
        (shift + edges).reshape(-1, 2),
    )  # fmt: skip


def _lead(predictions: Sequence[Any]) -> str:
    if not predictions:
        return "No trial was predicted."
    parts = [
        f"{factor * max(p.errors[key] for p in predictions):.3g} {unit} in {title}"
        for key, title, unit, factor in MEASURES
        if all(key in p.errors for p in predictions)
    ]
    kind = trained_on(predictions)
    return f"Root mean square errors of the worst trial {kind}: {', '.join(parts)}."


def _cards(predictions: Sequence[Any]) -> list[dict[str, str]]:
    found = []
    for key, signal, unit, factor in MEASURES:
        if not predictions or any(key not in p.errors for p in predictions):
            continue
        worst = max(predictions, key=lambda p: p.errors[key])
        noise = factor * float(np.sqrt(np.nanmean(worst.sigma[signal] ** 2)))
        value = factor * worst.errors[key]
        detail = f"{worst.name}; the sensor's noise: {noise:.3g} {unit}"
        tone = "good" if value < 1.2 * noise else "blue"
        found.append(tables.card(f"RMS error in {signal}", f"{value:.3g}", unit, detail, tone))
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


def _figures(result: Any, summary: Summary) -> Mapping[str, Any]:
    """The parameters' paths, and two figures per trial."""
    figures: dict[str, Any] = {}
    for i, prediction in enumerate(result.predictions):
        figures[f"curves_{i}"] = joint_plots.joint_curves(prediction)
        figures[f"residuals_{i}"] = joint_plots.joint_residuals(prediction)
    if len(summary.history) > 1:
        figures["paths"] = joint_plots.parameter_paths(result.history, summary.rows)
    return figures


PAGE = Page("joint_report.html", "Errors", "Signals", _figures, _content)
