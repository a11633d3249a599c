"""The page of an estimation from tosses, in the frame of estimation_page; opens offline."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diffsim_ros.viz import curves, html, player, plots, render, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.estimation_page import (
    context_of,
    fit_figures,
    images_of,
    sections,
    titles_of,
)
from diffsim_ros.viz.insight import chosen, limits, mean_intervals, recording
from diffsim_ros.viz.markers import static_markers, strobe_markers
from diffsim_ros.viz.summary import Summary, summarise

CAPTIONS = {
    "best": "the best prediction",
    "easy": "better than three quarters",
    "median": "the median prediction",
    "harder": "worse than three quarters",
    "hard": "worse than nine tenths",
    "worst": "the worst prediction",
}
SINGLE = ("best", "median", "hard", "worst")  # trials with a figure of their own
TITLES = titles_of("Prediction error", "Single tosses")
FURTHER = [("measured", "Measured"), ("simulated", "Simulated"), ("limits", "Limits")]


def write_report(
    result: Any,
    path: str | os.PathLike[str],
    *,
    command: str = "",
    pictures: bool = True,
    written: datetime.datetime | None = None,
) -> list[Path]:
    """Write the page of an EstimationResult (see summary.py for what is read), and its figures.

    command   the line that reproduces the result, shown as is
    pictures  write the figures as PNG files (viz.PICTURES) beside the page too
    written   time shown in the footer; default: now
    The folder must exist; files of the same name are replaced, each at once. Returns the files
    written, the page first.
    """
    path = Path(path)
    summary = summarise(result)
    images = _figures(summary)
    page = page_of(summary, images, command, written)
    return html.write_page(path, page, images if pictures else {})


def page_of(
    summary: Summary,
    images: Mapping[str, bytes],
    command: str,
    written: datetime.datetime | None,
) -> str:
    """Return the page of a summary with the figures that there are (name -> PNG)."""
    picks = chosen(summary)
    shown = sorted(picks, key=lambda pick: pick[0] != "median")
    views = [
        curves.view(
            _title(summary, i, word), "time [s]", {"cube": curves.poses(summary.motions[i])}
        )
        for word, i in shown
    ]
    context = {
        **context_of(summary, images, written),
        "curves": views,
        "titles": TITLES,
        "lead": tables.lead(summary),
        "cards": tables.cards(summary),
        "motions": [
            player.motion_data(summary.motions[i], _title(summary, i, w)) for w, i in shown
        ],
        "errors": tables.error_table(summary),
        "trials": tables.trial_table(summary),
        "single": _single(summary, picks, images),
        "recording": recording(summary),
        "files": tables.file_rows(summary),
        "model": tables.model_facts(summary),
        "limits": limits(summary),
        "command": command or str(summary.provenance.get("command", "")),
    }
    empty = {
        "motion": not picks,
        "limits": not context["limits"],
        "trials": not context["single"],
        "prediction": not context["errors"],
        "curves": not views,
    }
    *menu, last = sections(TITLES)
    context["sections"] = [s for s in (*menu, *FURTHER, last) if not empty.get(s[0])]
    return html.rendered("report.html", context)


def _title(summary: Summary, index: int, word: str) -> str:
    motion = summary.motions[index]
    return f"{motion.name} – {CAPTIONS[word]}" if word else motion.name


def _single(summary: Summary, picks: Sequence[tuple[str, int]], images: Mapping[str, bytes]):
    items = []
    for word, index in picks:
        if f"motion_{word}" not in images:
            continue
        motion = summary.motions[index]
        figures = [
            f"{title} {factor * motion.errors[q]:.3g} {unit}"
            for q, (title, unit, factor) in plots.QUANTITIES.items()
            if q in motion.errors
        ]
        items.append(
            {
                "title": _title(summary, index, word),
                "caption": "; ".join(figures),
                "figure": f"motion_{word}",
            }
        )
    return items


def _figures(summary: Summary) -> dict[str, bytes]:
    """Return the PNG of every figure that the summary has data for, by the name of its file."""
    figures: dict[str, Any] = {}
    if summary.errors:
        figures["errors"] = plots.mean_errors(mean_intervals(summary))
        figures["error_distribution"] = plots.error_distribution(summary.errors)
        if any(len(simulators) > 1 for simulators in summary.errors.values()):
            figures["paired_errors"] = plots.paired_errors(summary.errors)
        figures["error_by_trial"] = plots.error_by_trial(summary.errors, summary.error_ids)
    paired = [summary.motions[i] for i in summary.judged if summary.motions[i].paired]
    if len(paired) > 1:
        figures["error_over_time"] = plots.error_over_time(paired)
    figures |= fit_figures(summary)
    for word, index in chosen(summary):
        if word in SINGLE:
            figures[f"motion_{word}"] = plots.motion_plot(summary.motions[index])
    images = images_of(figures)
    if len(paired) == len(summary.judged) > 0:
        images["cubes"] = cube_picture(summary)
    return images


def cube_picture(summary: Summary) -> bytes:
    """Return a PNG of the median toss at some instants, measured against simulated."""
    picks = dict(chosen(summary))
    motion = summary.motions[picks.get("median", picks["best"])]
    markers = static_markers(motion) + strobe_markers(motion)
    return render.render_png(
        markers,
        title=motion.name.capitalize(),
        legend=(("measured", style.MEASURED), ("simulated", style.SIMULATED)),
    )
