"""Scenes at rest: what an estimation's page shows of loads, alone or beside recordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.viz import style
from diffsim_ros.viz.estimation_page import Sections
from diffsim_ros.viz.html import Block, Table
from diffsim_ros.viz.plots import in_style
from diffsim_ros.viz.report_tables import DASH, card

AXES = "xyz"
FIGURE = "at_rest"
Row = tuple[Any, str, str, float, float, float, float]
"""(prediction, what, unit, measured, at the first guess, simulated, sigma)."""


class StaticsSections(Sections):
    """Nothing but loads was measured."""

    def lead(self) -> str:
        """How far off the worst load is."""
        loads = self.result.at_rest
        if not loads:
            return "No load was predicted."
        judged = [p for p in loads if p.role == "validate"] or list(loads)
        word = "not fitted" if judged[0].role == "validate" else "fitted"
        worst = max(judged, key=lambda p: p.errors["rms_sigmas"])
        return (
            f"The worst load {word}, {worst.name}, is {worst.errors['rms_sigmas']:.3g} sigma "
            "from its measurements (root mean square)."
        )

    def cards(self) -> list[dict[str, str]]:
        """The largest difference of places and of frequencies, in sigmas."""
        found = []
        rows = list(rows_of(self.result.at_rest))
        for unit, title in (("mm", "Farthest place"), ("Hz", "Farthest frequency")):
            some = [row for row in rows if row[2] == unit]
            if some:
                worst = max(some, key=lambda r: abs(r[5] - r[3]) / r[6])
                off = abs(worst[5] - worst[3])
                tone = "good" if off <= 2 * worst[6] else "blue"
                detail = f"{worst[0].name}, {worst[1]}; sigma: {worst[6]:.3g} {unit}"
                found.append(card(title, f"{off:.3g}", unit, detail, tone))
        return found


def figures(predictions: Sequence[Any]) -> Mapping[str, Figure]:
    """Figures of predicted loads, for any kind's page."""
    return {FIGURE: _differences(list(rows_of(predictions)))} if predictions else {}


def blocks(predictions: Sequence[Any]) -> list[Block]:
    """What was measured at rest beside what is simulated, for any kind's page."""
    if not predictions:
        return []
    head = ["load", "used to", "what", "measured", "sigma", "first guess", "estimate"]
    rows = [
        [p.name, p.role, f"{what} [{unit}]", f"{value:.5g}", f"{sigma:.2g}",
         f"{before:.5g}" if np.isfinite(before) else DASH, f"{ours:.5g}"]
        for p, what, unit, value, before, ours, sigma in rows_of(predictions)
    ]  # fmt: skip
    caption = "Estimate (blue) and first guess (grey) less what was measured, in sigmas."
    return [Block("At rest", figure=FIGURE, caption=caption, table=Table(head, rows, 3))]


def rows_of(predictions: Sequence[Any]) -> Iterator[Row]:
    """Every coordinate [mm] and frequency [Hz] that was measured."""
    for p in predictions:
        for i, name in enumerate(p.points):
            for k in np.flatnonzero(np.isfinite(p.position[i])):
                before = np.nan if p.before is None else p.before[i, k]
                values = p.position[i, k], before, p.simulated[i, k], p.sigma[i, 0]
                yield (p, f"{name} {AXES[k]}", "mm", *(1e3 * float(v) for v in values))
        for i, number in enumerate(p.modes):
            guess = p.frequency_before
            values = (p.frequency[i], np.nan if guess is None else guess[i],
                      p.frequency_simulated[i], p.sigma_frequency[i])  # fmt: skip
            yield (p, f"mode {number}", "Hz", *map(float, values))


@in_style
def _differences(rows: Sequence[Row]) -> Figure:
    """Differences in sigmas, a line each; the band is two sigmas wide to both sides."""
    figure = style.new_figure(10.5, 0.9 + 0.26 * len(rows))
    axis = figure.subplots()
    axis.axvspan(-2, 2, color="#EEF2F6", lw=0)
    for y, (_, _, _, measured, before, ours, sigma) in enumerate(rows):
        if np.isfinite(before):
            axis.plot((before - measured) / sigma, y, "|", color=style.MUTED, ms=11, mew=1.5)
        axis.plot((ours - measured) / sigma, y, "o", color=style.SIMULATED, ms=7, mec="white")
    axis.set_yticks(range(len(rows)), [f"{p.name}: {what}" for p, what, *_ in rows])
    axis.set(xlabel="simulated − measured [sigma]", ylim=(len(rows) - 0.4, -0.6))
    axis.set_xscale("symlog", linthresh=4)
    return figure
