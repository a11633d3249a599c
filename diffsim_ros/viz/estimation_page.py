"""The page of an estimation: the frame that all kinds share, filled with each kind's own sections.

A kind of experiment has a Page in a module of its own and a template that extends estimation.html.
(Tosses have more sections and command line options: report.py, in the same frame.)
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from diffsim_ros.output import yaml_text
from diffsim_ros.viz import PICTURES, curves, fit_plots, html, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.summary import Summary, summarise

KNOWN = tuple(Path(name).stem for name in PICTURES)


@dataclass(frozen=True)
class Page:
    """What a kind's page has of its own.

    template   file of its sections;  prediction, trials  titles of two of them
    figures    (result, summary) -> name -> matplotlib figure; what is not in PICTURES stands in the
               page only, e.g. one per recording
    content    (result) -> what the template reads beyond context_of: `lead` (one sentence), `cards`
               (tables.card), `motions` (player data), `curves` (views of curves.py) and `single`,
               one {title, figure, caption} per recording, where `figure` is a name of `figures`
    """

    template: str
    prediction: str
    trials: str
    figures: Callable[[Any, Summary], Mapping[str, Any]]
    content: Callable[[Any], Mapping[str, Any]]

    def write(
        self,
        result: Any,
        path: str | os.PathLike[str],
        *,
        written: datetime.datetime | None = None,
    ) -> list[Path]:
        """Write the page of an EstimationResult, and its figures as PNG beside it.

        written  time shown in the footer; default: now
        Returns the files written, the page first; files of the same name are replaced.
        """
        summary, content = summarise(replace(result, predictions=())), self.content(result)
        images = images_of({**self.figures(result, summary), **fit_figures(summary)})
        titles = titles_of(self.prediction, self.trials)
        filled = {
            "motion": content["motions"], "prediction": result.predictions,
            "trials": content["single"], "curves": content["curves"],
        }  # fmt: skip
        context = {
            **context_of(summary, images, written),
            **content,
            "scene": [(name, f"{value:.6g}") for name, value in result.scene.items()],
            "predicted": bool(result.predictions),
            "titles": titles,
            "sections": [s for s in sections(titles) if filled.get(s[0], True)],
        }
        beside = {name: png for name, png in images.items() if name in KNOWN}
        return html.write_page(Path(path), html.rendered(self.template, context), beside)


def titles_of(prediction: str, trials: str) -> dict[str, str]:
    """Anchors and titles of the sections on what was predicted, in their order."""
    return {"prediction": prediction, "trials": trials, "curves": "Curves to zoom into"}


def sections(titles: Mapping[str, str]) -> list[tuple[str, str]]:
    """Anchors and titles of the menu; those of `titles_of` are called as the kind says."""
    named = {**titles, "curves": "Curves"}
    return [
        ("summary", "Summary"), ("motion", "Motion"), ("parameters", "Parameters"),
        *named.items(), ("fit", "Fit"), ("reproduce", "Reproduce"),
    ]  # fmt: skip


def context_of(
    summary: Summary, images: Mapping[str, bytes], written: datetime.datetime | None
) -> dict[str, Any]:
    """What the frame reads, of every kind; a figure of PICTURES that there is not is ""."""
    return {
        "title": summary.name.replace("_", " "),
        "kind": "estimation report",
        "status": summary.status.replace("_", " "),
        "status_class": "good" if summary.status == "converged" else "bad",
        "warnings": summary.warnings,
        "notes": summary.notes,
        "parameters": tables.parameter_table(summary),
        "priors": any(row.prior_mean is not None and row.prior_sigma for row in summary.rows),
        "figures": dict.fromkeys(KNOWN, "") | {n: style.data_uri(p) for n, p in images.items()},
        "trace": curves.trace(summary),
        "covariance": tables.covariance_table(summary),
        "message": summary.message,
        "dropped": [(reason, str(count)) for reason, count in summary.dropped.items() if count],
        "provenance": tables.provenance_facts(summary.provenance),
        "config_text": yaml_text(summary.config) if summary.config else "",
        **html.footer(written),
    }


def fit_figures(summary: Summary) -> dict[str, Any]:
    """Figures of parameters and optimiser that a summary has data for, by their names."""
    figures = {}
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
    return figures


def images_of(figures: Mapping[str, Any]) -> dict[str, bytes]:
    """PNG of every figure."""
    return {name: style.png_bytes(figure) for name, figure in figures.items()}


def judged(predictions: Sequence[Any]) -> list[Any]:
    """The predictions that a page sums up: those validated, else all."""
    return [p for p in predictions if p.role == "validate"] or list(predictions)


def trained_on(predictions: Sequence[Any]) -> str:
    """In words, whether judged predictions are of recordings that the fit has seen."""
    return "not trained on" if predictions[0].role == "validate" else "trained on"
