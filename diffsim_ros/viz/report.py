"""One self-contained HTML page about an estimation; opens offline. (Simulations: scene_report.)"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from diffsim_ros.output import write_bytes, write_text, yaml_text
from diffsim_ros.viz import fit_plots, player, plots, render, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.insight import chosen, limits, mean_intervals, recording
from diffsim_ros.viz.markers import static_markers, strobe_markers
from diffsim_ros.viz.summary import Summary, summarise

TEMPLATES = Path(__file__).with_name("templates")
CAPTIONS = {
    "best": "the best prediction",
    "easy": "better than three quarters",
    "median": "the median prediction",
    "harder": "worse than three quarters",
    "hard": "worse than nine tenths",
    "worst": "the worst prediction",
}
SINGLE = ("best", "median", "hard", "worst")  # trials with a figure of their own
SECTIONS = (
    ("summary", "Summary"),
    ("motion", "Motion"),
    ("parameters", "Parameters"),
    ("prediction", "Prediction error"),
    ("trials", "Single tosses"),
    ("fit", "Fit"),
    ("measured", "Measured"),
    ("simulated", "Simulated"),
    ("limits", "Limits"),
    ("reproduce", "Reproduce"),
)


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
    write_text(path, page, overwrite=True)
    files = [path]
    for name, png in images.items() if pictures else ():
        target = path.with_name(f"{name}.png")
        write_bytes(target, png, overwrite=True)
        files.append(target)
    return files


@cache
def environment() -> Environment:
    """Return the templates' environment: an undefined name is an error, never an empty page."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_of(
    summary: Summary,
    images: Mapping[str, bytes],
    command: str,
    written: datetime.datetime | None,
) -> str:
    """Return the page of a summary with the figures that there are (name -> PNG)."""
    uris = {name: style.data_uri(png) for name, png in images.items()}
    picks = chosen(summary)
    shown = sorted(picks, key=lambda pick: pick[0] != "median")
    context = {
        "title": summary.name.replace("_", " "),
        "kind": "estimation report",
        "status": summary.status.replace("_", " "),
        "status_class": "good" if summary.status == "converged" else "bad",
        "lead": tables.lead(summary),
        "cards": tables.cards(summary),
        "warnings": summary.warnings,
        "notes": summary.notes,
        "motions": [
            player.motion_data(summary.motions[i], _title(summary, i, w)) for w, i in shown
        ],
        "parameters": tables.parameter_table(summary),
        "errors": tables.error_table(summary),
        "trials": tables.trial_table(summary),
        "figures": {name: uris.get(name, "") for name in _known_figures()},
        "single": _single(summary, picks, uris),
        "message": summary.message,
        "recording": recording(summary),
        "files": tables.file_rows(summary),
        "dropped": [(reason, str(count)) for reason, count in summary.dropped.items() if count],
        "model": tables.model_facts(summary),
        "limits": limits(summary),
        "command": command or str(summary.provenance.get("command", "")),
        "provenance": tables.provenance_facts(summary.provenance),
        "config_text": yaml_text(summary.config) if summary.config else "",
        **footer(written),
    }
    empty = {
        "motion": not picks,
        "limits": not context["limits"],
        "trials": not context["single"],
        "prediction": not context["errors"],
    }
    context["sections"] = [(a, label) for a, label in SECTIONS if not empty.get(a)]
    return environment().get_template("report.html").render(context)


def _known_figures() -> tuple[str, ...]:
    return (
        "parameters",
        "profiles",
        "bands",
        "errors",
        "error_distribution",
        "paired_errors",
        "error_by_trial",
        "error_over_time",
        "convergence",
        "correlation",
    )


def _title(summary: Summary, index: int, word: str) -> str:
    motion = summary.motions[index]
    return f"{motion.name} – {CAPTIONS[word]}" if word else motion.name


def _single(summary: Summary, picks: Sequence[tuple[str, int]], uris: Mapping[str, str]):
    items = []
    for word, index in picks:
        if f"motion_{word}" not in uris:
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
                "uri": uris[f"motion_{word}"],
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
    for word, index in chosen(summary):
        if word in SINGLE:
            figures[f"motion_{word}"] = plots.motion_plot(summary.motions[index])
    images = {name: style.png_bytes(figure) for name, figure in figures.items()}
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


def footer(written: datetime.datetime | None) -> dict[str, str]:
    """Return what base.html's last line says: time (default: now) and version."""
    from diffsim_ros import __version__

    moment = written or datetime.datetime.now().astimezone()
    return {"written": moment.strftime("%Y-%m-%d %H:%M"), "version": __version__}
