"""The page of an estimation: one frame, into which each kind of recording puts its sections.

A kind is one module of kinds/: a subclass of Sections, which also draws the recordings' playback.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffsim_ros.output import yaml_text
from diffsim_ros.viz import PICTURES, curves, fit_plots, html, style
from diffsim_ros.viz import report_tables as tables
from diffsim_ros.viz.html import Block

if TYPE_CHECKING:
    from diffsim_ros.viz.playback import Reel

KNOWN = tuple(Path(name).stem for name in PICTURES)


class Sections:
    """What the page and the playback show of one kind of recording, beyond what all have.

    result   the EstimationResult;  shown  its predictions;  judged  those that the page sums up
    rest     blocks on what was measured at rest, and their figures (kinds/statics.py)
    rows     fit_plots.ParameterRow of the estimated parameters;  held  of the others
    titles   of the sections on what was predicted, and on single recordings
    plays    whether there is something to play back
    seen, choice  sentences above and below the playable motion;  intro  about the errors
    """

    titles = "Errors", "Recordings"
    plays = True
    seen = intro = ""
    choice = "Every recording to choose from."

    def __init__(self, result: Any) -> None:
        self.result, self.shown = result, tuple(result.predictions)
        self.judged = [p for p in self.shown if p.role == "validate"] or list(self.shown)
        self.rows, self.held = tables.parameter_rows(result)
        self.rest: tuple[list[Block], Mapping[str, Any]] = [], {}

    @property
    def trained_on(self) -> str:
        """In words, whether the judged predictions are of recordings that the fit has seen."""
        return "not trained on" if self.shown[0].role == "validate" else "trained on"

    def lead(self) -> str:
        """One sentence on how well the recordings are predicted."""
        raise NotImplementedError

    def cards(self) -> list[dict[str, str]]:
        """Headline figures (report_tables.card)."""
        return []

    def figures(self) -> Mapping[str, Any]:
        """Name -> matplotlib figure; what is not in PICTURES stands in the page only."""
        return {}

    def pictures(self) -> Mapping[str, bytes]:
        """Name in PICTURES -> PNG of what stands beside the page only."""
        return {}

    def motion(self, prediction: Any) -> dict[str, Any] | None:
        """The playable motion of a recording (player.playable), None where there is none."""
        raise NotImplementedError

    def view(self, prediction: Any) -> dict[str, Any]:
        """The curves of a recording (curves.view)."""
        raise NotImplementedError

    def motions(self) -> list[dict[str, Any]]:
        """Playable motions: of every recording, unless a kind picks some."""
        return [motion for p in self.shown if (motion := self.motion(p))]

    def curves(self) -> list[dict[str, Any]]:
        """Views of curves, likewise."""
        return [self.view(prediction) for prediction in self.shown]

    def blocks(self) -> list[Block]:
        """The section on what was predicted."""
        return []

    def single(self) -> list[Block]:
        """One figure per recording, with what belongs below it."""
        return []

    def meaning(self) -> list[Block]:
        """What the parameters mean, below their table."""
        return []

    def fit(self) -> list[Block]:
        """More on the fit."""
        return []

    def play(self, reel: Reel) -> None:
        """Draw the recordings one after the other."""
        raise NotImplementedError


def write_page(
    sections: Sections,
    path: str | os.PathLike[str],
    *,
    written: datetime.datetime | None = None,
) -> list[Path]:
    """Write the page, and those of its figures that PICTURES names as PNG beside it.

    written  time shown in the footer; default: now
    Returns the files written, the page first; files of the same name are replaced, each at once.
    """
    figures = {**sections.figures(), **sections.rest[1], **fit_figures(sections)}
    images = {name: style.png_bytes(figure) for name, figure in figures.items()}
    beside = {name: png for name, png in images.items() if name in KNOWN}
    beside |= sections.pictures()
    return html.write_page(Path(path), rendered(sections, images, written), beside)


def rendered(
    sections: Sections, images: Mapping[str, bytes], written: datetime.datetime | None
) -> str:
    """The page with the figures that there are (name -> PNG)."""
    result, history = sections.result, sections.result.history
    shown = {
        "motion": sections.motions(),
        "prediction": [*(sections.blocks() if sections.shown else []), *sections.rest[0]],
        "trials": sections.single(),
        "curves": sections.curves(),
    }
    menu = [
        ("summary", "Summary"), ("motion", "Motion"), ("parameters", "Parameters"),
        ("prediction", sections.titles[0]), ("trials", sections.titles[1]), ("curves", "Curves"),
        ("fit", "Fit"), ("reproduce", "Reproduce"),
    ]  # fmt: skip
    context = {
        "title": result.name.replace("_", " "),
        "kind": "estimation report",
        "status": result.status.replace("_", " "),
        "status_class": "good" if result.status == "converged" else "bad",
        "lead": sections.lead(),
        "verdict": result.verdict,
        "page": sections,
        "warnings": tables.warnings(result, sections.rows),
        "notes": result.notes,
        "cards": sections.cards(),
        "motions": shown["motion"],
        "shown": shown,
        "parameters": tables.parameter_table(sections.rows, sections.held),
        "priors": any(r.prior_mean is not None and r.prior_sigma for r in sections.rows),
        "scene": [(name, f"{value:.6g}") for name, value in result.scene.items()],
        "figures": dict.fromkeys(KNOWN, "") | {n: style.data_uri(p) for n, p in images.items()},
        "trace": curves.trace(history, sections.rows),
        "covariance": tables.covariance_table(result, sections.rows),
        "message": result.message,
        "dropped": [(reason, str(count)) for reason, count in result.dropped.items() if count],
        "provenance": tables.provenance_facts(result.provenance),
        "config_text": yaml_text(result.config) if result.config else "",
        "sections": [s for s in menu if shown.get(s[0], True)],
        **html.footer(written),
    }
    return html.rendered("estimation.html", context)


def fit_figures(sections: Sections) -> dict[str, Any]:
    """Figures of parameters and optimiser that a result has data for, by their names."""
    result, figures = sections.result, {}
    if sections.rows:
        figures["parameters"] = fit_plots.parameter_intervals(sections.rows)
    if result.profiles:
        figures["profiles"] = fit_plots.profiles(result.profiles)
    if result.bands:
        figures["bands"] = fit_plots.bands(result.bands)
    if len(result.correlated) > 1:
        figures["correlation"] = fit_plots.correlation_map(result.correlated, result.correlation)
    if len(result.history) > 1:
        figures["convergence"] = fit_plots.convergence(result.history)
    return figures


def picked(order: Sequence[int], places: Mapping[str, float]) -> dict[int, str]:
    """Of numbers, the best first, those at these places (0: best, 1: worst) -> their words."""
    picks: dict[int, str] = {}
    for word, share in places.items() if order else ():
        picks.setdefault(order[round(share * (len(order) - 1))], word)
    return picks
