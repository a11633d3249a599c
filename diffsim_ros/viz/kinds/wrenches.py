"""Force–torque sensors: what their page and their playback show (estimation_page.Sections)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diffsim_ros.rotation import quat_matrix
from diffsim_ros.viz import curves, player, style
from diffsim_ros.viz.estimation_page import Sections
from diffsim_ros.viz.html import Block, Table
from diffsim_ros.viz.markers import Marker, MarkerKind, force_arrow, rgba
from diffsim_ros.viz.playback import Reel, every
from diffsim_ros.viz.plots import grid
from diffsim_ros.viz.report_tables import DASH, card

MEASURES = (("force_rms_N", "force", "N", 1.0), ("torque_rms_Nm", "torque", "mN m", 1e3))
"""Key of the errors, signal, unit shown and its share of the unit kept."""
BODY = rgba(style.SIMULATED, 0.6)


class WrenchSections(Sections):
    """Recordings are WrenchPredictions."""

    seen = "The body as simulated; the arrow is the simulated force on the sensor."
    choice = "Every trial to choose from."
    intro = "Root mean squares over all samples and axes of the sensor."

    def lead(self) -> str:
        """The worst errors in words."""
        if not self.shown:
            return "No trial was predicted."
        parts = [
            f"{factor * max(p.errors[key] for p in self.judged):.3g} {unit} in {signal}"
            for key, signal, unit, factor in MEASURES
        ]
        return f"Root mean square errors of the worst trial {self.trained_on}: {', '.join(parts)}."

    def cards(self) -> list[dict[str, str]]:
        """The worst error of force and of torque beside the sensor's noise."""
        found = []
        for k, (key, signal, unit, factor) in enumerate(MEASURES if self.shown else ()):
            worst = max(self.judged, key=lambda p: p.errors[key])
            value, noise = factor * worst.errors[key], factor * worst.sigma[k]
            detail = f"{worst.name}; the sensor's noise: {noise:.3g} {unit}"
            tone = "good" if value < 1.2 * noise else "blue"
            found.append(card(f"RMS error in {signal}", f"{value:.3g}", unit, detail, tone))
        return found

    def figures(self) -> Mapping[str, Any]:
        """Force and torque over time, of every trial."""
        return {f"curves_{i}": grid(view) for i, view in enumerate(self.curves())}

    def motion(self, prediction: Any) -> dict[str, Any] | None:
        """The body's surface, with the force on the sensor as an arrow."""
        if prediction.vertices is None:
            return None
        rows = every(prediction.t)
        mesh = prediction.vertices[rows].astype(float), prediction.triangles, np.zeros((0, 2), int)
        body = player.mesh_data("body", style.SIMULATED, *mesh)
        force = _world(prediction)[rows]
        place = np.broadcast_to(prediction.origin, force.shape)
        apart = np.linalg.norm((prediction.simulated - prediction.measured)[rows, :3], axis=1)
        return player.playable(
            f"{prediction.name} ({prediction.role})", prediction.t[rows] - prediction.t[0], [body],
            planes=(), errors={"force apart [N]": apart},
            forces=player.force_data(place[:, None], force[:, None]),
        )  # fmt: skip

    def view(self, prediction: Any) -> dict[str, Any]:
        """Force and torque along the sensor's axes."""
        sources = {
            "measured": prediction.measured, "first guess": prediction.before,
            "simulated": prediction.simulated,
        }  # fmt: skip
        groups = {
            f"{signal} [{unit}]": [
                curves.panel(
                    axis,
                    [
                        curves.line(who, prediction.t, factor * table[:, 3 * k + i])
                        for who, table in sources.items()
                        if table is not None
                    ],
                )
                for i, axis in enumerate(curves.AXES)
            ]
            for k, (_, signal, unit, factor) in enumerate(MEASURES)
        }
        return curves.view(f"{prediction.name} ({prediction.role})", "time [s]", groups)

    def blocks(self) -> list[Block]:
        """Errors of every trial, at the first guess and at the end."""
        head = ["trial", "used to", *len(MEASURES) * ("first guess", "estimate")]
        group = [("", 1), ("", 1), *((f"{s} [{unit}]", 2) for _, s, unit, _ in MEASURES)]
        return [Block(table=Table(head, [_row(p) for p in self.shown], 2, group, named=True))]

    def single(self) -> list[Block]:
        """Curves of every trial."""
        caption = "Orange dots measured, blue simulated, grey simulated at the first guess."
        return [
            Block(f"{p.name} ({p.role})", figure=f"curves_{i}", caption=caption)
            for i, p in enumerate(self.shown)
        ]

    def play(self, reel: Reel) -> None:
        """The body's surface, and the simulated force at the sensor."""
        for prediction in self.shown:
            rows, force = every(prediction.t), _world(prediction)
            t = prediction.t[rows] - prediction.t[0]
            arrows = [force_arrow(0, prediction.origin, force[row]) for row in rows]
            bodies = [_surface(prediction, row) for row in rows]
            reel.draw(t, [[*body, arrow] for body, arrow in zip(bodies, arrows, strict=True)])
            reel.end(t[-1])


def _world(prediction: Any) -> np.ndarray:
    """Simulated force on the sensor in the world's axes (n, 3) [N]."""
    return prediction.simulated[:, :3] @ quat_matrix(prediction.turn).T


def _surface(prediction: Any, row: int) -> list[Marker]:
    """The body at a sample; nothing of a rigid one."""
    if prediction.vertices is None:
        return []
    points = prediction.vertices[row][prediction.triangles].reshape(-1, 3)
    return [Marker("body", 0, MarkerKind.TRIANGLE_LIST, colour=BODY, points=points)]


def _row(prediction: Any) -> list[str]:
    """One line of the table of errors."""
    cells = [prediction.name, prediction.role]
    for k, (key, _, _, factor) in enumerate(MEASURES):
        before = DASH
        if prediction.before is not None:
            apart = (prediction.before - prediction.measured)[:, 3 * k : 3 * k + 3]
            before = f"{factor * np.sqrt(np.mean(apart**2)):.3g}"
        cells += [before, f"{factor * prediction.errors[key]:.3g}"]
    return cells
