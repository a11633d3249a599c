"""Words and tables of the page of tosses, from a Summary: errors, trials, what limits them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros.viz import style
from diffsim_ros.viz.estimation_page import picked
from diffsim_ros.viz.html import Block, Table
from diffsim_ros.viz.plots import QUANTITIES
from diffsim_ros.viz.report_tables import DASH, card, flat
from diffsim_ros.viz.summary import Comparison, Summary

BOOTSTRAPS = 4000
PLACES = {"best": 0.0, "easy": 0.25, "median": 0.5, "harder": 0.75, "hard": 0.9, "worst": 1.0}
"""Trials worth looking at, by their place in the order of their errors."""
HEADINGS = {
    "scene": "Scene", "simulation": "Simulation", "measurement": "Measurement and metric",
    "fit": "Fit", "uncertainty": "Uncertainty",
}  # fmt: skip


def cards(summary: Summary) -> list[dict[str, str]]:
    """Return the headline figures: label, value, unit, detail, tone ("good" | "bad" | "blue")."""
    found = []
    for quantity, (mean, median) in summary.means.items():
        title, unit, factor = QUANTITIES[quantity]
        rivals = summary.comparisons.get(quantity, ())
        detail = f"median {factor * median:.3g}" if median is not None else ""
        tone = "blue"
        if rivals:
            best = rivals[0]
            detail += f"{'; ' if detail else ''}best published: {factor * best.mean:.3g} "
            detail += f"({style.label_of(best.simulator)})"
            tone = "good" if mean < best.mean else "bad"
        found.append(card(f"Mean {title}", f"{factor * mean:.3g}", unit, detail, tone))
    count = len(summary.judged)
    unseen = "unseen tosses predicted" if "validate" in summary.roles else "training tosses shown"
    found.append(card("Tosses", str(count), "", f"{unseen}; {_trained(summary)}"))
    return found


def _trained(summary: Summary) -> str:
    count = (summary.metrics.get("train") or {}).get("tosses")
    return f"{count} trained on" if count is not None else "trained on others"


def lead(summary: Summary) -> str:
    """Return the verdict in one or two sentences."""
    unseen = "validate" in summary.roles
    if not summary.means:
        return "No toss was predicted; the parameters below are those of the training tosses."
    parts = [
        f"{factor * summary.means[q][0]:.3g} {unit if unit != 'm + rad²' else ''}".strip()
        + f" {title}"
        for q, (title, unit, factor) in QUANTITIES.items()
        if q in summary.means
    ]
    text = f"The fitted model predicts {len(summary.judged)} "
    text += "tosses that it has not seen with " if unseen else "of its training tosses with "
    text += ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1] + " on average."
    first = {q: rivals[0] for q, rivals in summary.comparisons.items() if rivals}
    if first:
        better = [q for q, best in first.items() if summary.means[q][0] < best.mean]
        if not better:
            return f"{text} The best published simulator is better in all {len(first)} measures."
        sure = [q for q in better if first[q].verdict == "better"]
        text += (
            f" It is better than the best published simulator in {len(better)} of {len(first)} "
            f"measures; the paired 95\u00a0% interval excludes equality in {len(sure)} of them."
        )
    return text


def error_table(summary: Summary) -> dict[str, Any] | None:
    """Return the comparison with the published simulators; None if there are no errors at all."""
    used = [q for q in QUANTITIES if q in summary.means]
    if not used:
        return None
    names = list(dict.fromkeys(c.simulator for q in used for c in summary.comparisons.get(q, ())))
    ours = [_cell(QUANTITIES[q][2], *summary.means[q]) for q in used]
    rows = [
        {"name": "diffsim", "detail": "", "ours": True, "cells": ours},
        *_variants(summary, used),
    ]
    for name in names:
        cells = []
        for q in used:
            entry = next((c for c in summary.comparisons[q] if c.simulator == name), None)
            cells.append(_rival_cell(QUANTITIES[q][2], entry))
        rows.append({"name": style.label_of(name), "detail": "", "ours": False, "cells": cells})
    note = (
        "Differences are paired, toss by toss, with 95 % bootstrap intervals below them; negative "
        "means that diffsim is better, colour that the interval excludes equality. "
        + _pairs(summary)
        if names
        else "None of these tosses has published errors of other simulators: no comparison."
    )
    what = "unseen" if "validate" in summary.roles else "training"
    return {
        "lead": f"Open loop over {len(summary.judged)} {what} tosses, nothing fitted per toss; "
        "means over the frames of a toss, then over tosses.",
        "note": note,
        "quantities": [
            {"title": QUANTITIES[q][0].capitalize(), "unit": QUANTITIES[q][1]} for q in used
        ],
        "rows": rows,
    }


def _variants(summary: Summary, used: list[str]) -> list[dict[str, Any]]:
    """Rows of the same model predicted from a start by the other rule, where metrics hold them."""
    names = {
        "with_readme_gravity": "start refitted with 9.81 m/s²",
        "with_own_gravity": "start refitted with the model's own gravity",
    }
    rows = []
    for key, name in names.items():
        group = (summary.metrics.get("validate") or {}).get(key)
        if isinstance(group, Mapping) and all(group.get(q) is not None for q in used):
            cells = [_cell(QUANTITIES[q][2], group[q], group.get(f"{q}_median")) for q in used]
            rows.append({"name": "diffsim", "detail": name, "ours": False, "cells": cells})
    return rows


def _pairs(summary: Summary) -> str:
    counts = {c.simulator: c.trials for rivals in summary.comparisons.values() for c in rivals}
    if not counts or set(counts.values()) == {len(summary.judged)}:
        return "All tosses are paired."
    listed = ", ".join(f"{style.label_of(name)} {count}" for name, count in counts.items())
    return f"Paired tosses of {len(summary.judged)}: {listed}."


def _cell(factor: float, mean: float, median: float | None) -> dict[str, str]:
    return {
        "mean": f"{factor * mean:.3g}",
        "median": DASH if median is None else f"{factor * median:.3g}",
        "difference": "",
        "interval": "",
        "verdict": "",
    }


def _rival_cell(factor: float, entry: Comparison | None) -> dict[str, str]:
    if entry is None:
        return {**_cell(1.0, np.nan, None), "mean": DASH}
    cell = _cell(factor, entry.mean, entry.median)
    if entry.difference is not None:
        cell["difference"] = _signed(factor * entry.difference)
        if entry.interval is not None:
            low, high = (factor * end for end in entry.interval)
            cell["interval"] = f"{_signed(low)} … {_signed(high)}"
    cell["verdict"] = entry.verdict
    return cell


def _signed(number: float) -> str:
    """Return the number with a sign, and a minus that is one."""
    return f"{number:+.3g}".replace("-", "−")


def trial_table(summary: Summary) -> Table | None:
    """Return every judged trial's errors, ours and the others', worst e_q first."""
    if not summary.errors:
        return None
    head, columns = ["toss"], []
    for quantity, simulators in summary.errors.items():
        title, unit, factor = QUANTITIES[quantity]
        for name, values in simulators.items():
            short = title.removesuffix(" error").removeprefix("combined error ")
            head.append(f"{short} {style.label_of(name)} [{unit}]")
            columns.append(factor * values)
    order = np.argsort(-summary.errors["e_q"]["ours"], kind="stable")
    rows = [[str(summary.error_ids[i]), *(f"{column[i]:.3g}" for column in columns)] for i in order]
    return Table(head, rows, fold=f"All {len(rows)} tosses as a table")


def files(summary: Summary) -> Table | None:
    """Return the recordings that the configuration names: file, used for, selection."""
    rows = []
    data = summary.config.get("data") or {}
    for role in ("train", "validate"):
        group = data.get(role) or {}
        for file in group.get("files", ()) if isinstance(group, Mapping) else ():
            rows.append((str(file), role, _selection(group.get("trials", "all"))))
    return Table(("file", "used for", "selection"), rows, 3, named=True) if rows else None


def _selection(trials: Any) -> str:
    if isinstance(trials, Mapping):
        return ", ".join(f"{key} {value}" for key, value in trials.items())
    if isinstance(trials, (list, tuple)):
        listed = ", ".join(map(str, trials[:12]))
        return f"{len(trials)} tosses: {listed}{' …' if len(trials) > 12 else ''}"
    return str(trials)


def model_facts(summary: Summary) -> list[Block]:
    """Return the configuration's sections on the model: time steps, metric, fit, uncertainty."""
    config = dict(summary.config)
    if isinstance(config.get("scene"), str):
        config["scene"] = {"file": config["scene"], "body": config.get("body", "")}
    groups = ((heading, config.get(key)) for key, heading in HEADINGS.items())
    return [
        Block(heading, facts=flat(group))
        for heading, group in groups
        if isinstance(group, Mapping) and group
    ]


def mean_intervals(summary: Summary) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return quantity -> simulator -> (mean, low, high): 95 % bootstrap over trials, seeded."""
    rng = np.random.default_rng(0)
    count = len(summary.error_ids)
    rows = rng.integers(0, count, (BOOTSTRAPS, count)) if count else np.zeros((0, 0), dtype=int)
    table: dict[str, dict[str, tuple[float, float, float]]] = {}
    for quantity, simulators in summary.errors.items():
        table[quantity] = {}
        for name, values in simulators.items():
            low, high = np.quantile(values[rows].mean(axis=1), [0.025, 0.975])
            table[quantity][name] = (float(values.mean()), float(low), float(high))
    return table


def chosen(summary: Summary) -> list[tuple[str, int]]:
    """Return (word of PLACES, index) of judged trials worth looking at, the best first.

    By e_q, else by the mean distance of the centres.
    """

    def badness(i: int) -> float:
        motion = summary.motions[i]
        return float(motion.errors.get("e_q", motion.position_error().mean()))

    order = sorted(summary.judged, key=badness)
    return [(word, i) for i, word in picked(order, PLACES).items()]


def limits(summary: Summary) -> list[str]:
    """Return sentences on what limits the prediction, from the predicted trials themselves."""
    motions = [summary.motions[i] for i in summary.judged]
    if not motions:
        return []
    found = []
    e_q = np.array([m.errors.get("e_q", np.nan) for m in motions])
    if np.isfinite(e_q).all() and len(e_q) >= 10 and e_q.sum() > 0:
        worst = np.sort(e_q)[-max(1, len(e_q) // 10) :]
        found.append(
            f"The worst tenth of the tosses ({len(worst)} of {len(e_q)}) carries "
            f"{100 * worst.sum() / e_q.sum():.0f} % of the summed e_q; the median is "
            f"{np.median(e_q):.3g}, the mean {e_q.mean():.3g}."
        )
    other = sum(
        _face_up(m.measured_orientation[-1]) != _face_up(m.simulated_orientation[-1])
        for m in motions
    )
    found.append(
        f"{other} of {len(motions)} predicted cubes end on another face than the measured one. "
        "Near an edge a small error before an impact decides which way a cube falls; such tosses "
        "dominate the rotation error and e_q."
    )
    quarter = [m.position_error()[len(m.t) // 4] for m in motions]
    last = [m.position_error()[-1] for m in motions]
    found.append(
        f"The median distance of the centres grows from {1e3 * np.median(quarter):.1f} mm after a "
        f"quarter of the motion to {1e3 * np.median(last):.1f} mm at its end."
    )
    return found


def _face_up(orientation: np.ndarray) -> tuple[int, bool]:
    """Body axis that points most upwards or downwards, and whether upwards."""
    up = Rotation.from_quat(orientation).as_matrix()[2]
    axis = int(np.argmax(np.abs(up)))
    return axis, bool(up[axis] > 0)


def recording(summary: Summary) -> list[tuple[str, str]]:
    """Return (label, text) lines on the measured trials: counts, rate, gaps, duration."""
    motions = [m for m in summary.motions if m.frames > 1]
    if not motions:
        return []
    steps = np.concatenate([np.diff(m.t) for m in motions])
    usual = float(np.median(steps))
    gaps = int((steps > 1.5 * usual).sum())
    length = [m.t[-1] - m.t[0] for m in motions]
    shown = ", ".join(f"{summary.roles.count(r)} {r}" for r in dict.fromkeys(summary.roles))
    edges = " × ".join(f"{1e3 * edge:.1f}" for edge in motions[0].size)
    return [
        ("Tosses shown here", shown),
        ("Frames", f"{sum(m.frames for m in motions)} poses at {1 / usual:.1f} Hz"),
        ("Gaps", "none" if not gaps else f"{gaps}, the longest {1e3 * steps.max():.0f} ms"),
        ("Duration of a toss", f"{min(length):.2f} … {max(length):.2f} s"),
        ("Size of the body", f"{edges} mm (recorded lengths)"),
    ]
