"""Logs of outputs: what their page and their playback show (estimation_page.Sections)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diffsim_ros.viz import curves, player, style
from diffsim_ros.viz.estimation_page import Sections
from diffsim_ros.viz.html import Block, Table
from diffsim_ros.viz.markers import Marker, MarkerKind, rgba
from diffsim_ros.viz.playback import Reel, every
from diffsim_ros.viz.plots import grid
from diffsim_ros.viz.report_tables import DASH, card

BODY = rgba(style.SIMULATED, 0.6)


class OutputSections(Sections):
    """Recordings are OutputPredictions."""

    seen = "The body as simulated."
    choice = "Every trial to choose from."
    intro = "Root mean squares over all samples."

    def _worst(self) -> list[tuple[str, str, float, float, str]]:
        """(column, unit, worst rms, its noise, trial) of every column."""
        found = []
        for k, name in enumerate(self.shown[0].columns):
            worst = self.judged[int(np.argmax([p.rms[k] for p in self.judged]))]
            found.append((name, worst.units[k], worst.rms[k], worst.sigma[k], worst.name))
        return found

    def lead(self) -> str:
        """The worst errors in words."""
        if not self.shown:
            return "No trial was predicted."
        parts = [f"{rms:.3g} {unit} in {name}" for name, unit, rms, *_ in self._worst()]
        return f"Root mean square errors of the worst trial {self.trained_on}: {', '.join(parts)}."

    def cards(self) -> list[dict[str, str]]:
        """The worst error of every column beside its noise."""
        found = []
        for name, unit, rms, noise, trial in self._worst() if self.shown else ():
            detail = f"{trial}; the sensor's noise: {noise:.3g} {unit}"
            tone = "good" if rms < 1.2 * noise else "blue"
            found.append(card(f"RMS error in {name}", f"{rms:.3g}", unit, detail, tone))
        return found

    def figures(self) -> Mapping[str, Any]:
        """Columns over time, of every trial."""
        return {f"curves_{i}": grid(view) for i, view in enumerate(self.curves())}

    def motion(self, prediction: Any) -> dict[str, Any] | None:
        """The body's surface, if it is soft."""
        if prediction.vertices is None:
            return None
        rows = every(prediction.t)
        mesh = prediction.vertices[rows].astype(float), prediction.triangles, np.zeros((0, 2), int)
        body = player.mesh_data("body", style.SIMULATED, *mesh)
        return player.playable(
            f"{prediction.name} ({prediction.role})", prediction.t[rows] - prediction.t[0], [body],
            planes=(),
        )  # fmt: skip

    def view(self, prediction: Any) -> dict[str, Any]:
        """Every column, measured and simulated."""
        sources = {
            "measured": prediction.measured, "first guess": prediction.before,
            "simulated": prediction.simulated,
        }  # fmt: skip
        panels = [
            curves.panel(
                f"{name} [{unit}]" if unit else name,
                [
                    curves.line(who, prediction.t, table[:, k])
                    for who, table in sources.items()
                    if table is not None
                ],
            )
            for k, (name, unit) in enumerate(zip(prediction.columns, prediction.units, strict=True))
        ]
        title = f"{prediction.name} ({prediction.role})"
        return curves.view(title, "time [s]", {"outputs": panels})

    def blocks(self) -> list[Block]:
        """Errors of every trial, at the first guess and at the end."""
        if not self.shown:
            return []
        first = self.shown[0]
        head = ["trial", "used to", *len(first.columns) * ("first guess", "estimate")]
        labels = [f"{n} [{u}]" if u else n for n, u in zip(first.columns, first.units, strict=True)]
        group = [("", 1), ("", 1), *((label, 2) for label in labels)]
        return [Block(table=Table(head, [_row(p) for p in self.shown], 2, group, named=True))]

    def single(self) -> list[Block]:
        """Curves of every trial."""
        caption = "Orange dots measured, blue simulated, grey simulated at the first guess."
        return [
            Block(f"{p.name} ({p.role})", figure=f"curves_{i}", caption=caption)
            for i, p in enumerate(self.shown)
        ]

    def play(self, reel: Reel) -> None:
        """The body's surface."""
        for prediction in self.shown:
            rows = every(prediction.t)
            t = prediction.t[rows] - prediction.t[0]
            reel.draw(t, [_surface(prediction, row) for row in rows])
            reel.end(t[-1])


def _surface(prediction: Any, row: int) -> list[Marker]:
    """The body at a sample; nothing of a rigid one."""
    if prediction.vertices is None:
        return []
    points = prediction.vertices[row][prediction.triangles].reshape(-1, 3)
    return [Marker("body", 0, MarkerKind.TRIANGLE_LIST, colour=BODY, points=points)]


def _row(prediction: Any) -> list[str]:
    """One line of the table of errors."""
    cells = [prediction.name, prediction.role]
    for k, rms in enumerate(prediction.rms):
        before = DASH
        if prediction.before is not None:
            away = prediction.before[:, k] - prediction.measured[:, k]
            before = f"{np.sqrt(np.nanmean(away**2)):.3g}"
        cells += [before, f"{rms:.3g}"]
    return cells
