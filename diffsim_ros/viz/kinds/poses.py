"""Recorded poses of bodies: what their page and their playback show (estimation_page.Sections)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.viz import curves, player, plots, render, style
from diffsim_ros.viz.estimation_page import Sections, picked
from diffsim_ros.viz.html import Block, Table
from diffsim_ros.viz.markers import (
    LOOKS,
    Marker,
    force_arrow,
    label,
    rgba,
    static_markers,
    strobe_markers,
)
from diffsim_ros.viz.motion import Motion
from diffsim_ros.viz.playback import Reel, every
from diffsim_ros.viz.report_tables import card
from diffsim_ros.viz.scene_markers import solid

QUANTITIES = {
    "position_error_m": ("position error", "mm", 1e3),
    "rotation_error_deg": ("rotation error", "°", 1.0),
    "velocity_error_m_s": ("velocity error", "m/s", 1.0),
    "spin_error_rad_s": ("spin error", "rad/s", 1.0),
}
"""Name in metrics.json -> title, unit and factor of the shown number."""
PICKS = {"median": 0.5, "best": 0.0, "hard": 0.9, "worst": 1.0}
"""Recordings with figures of their own, by their place in the order of their first error."""
DRAWN = 12
"""Recordings whose playback has pictures."""
POINT = (0.02, 0.02, 0.02)  # diameter at which a point mass is drawn [m]


class PoseSections(Sections):
    """Recordings are PosePredictions."""

    seen = (
        "Solid bodies are simulated, open loop, from the start that the frames before contact "
        "give; outlined ones were measured."
    )
    choice = "Best, typical and worst predictions to choose from."
    intro = "Means over the bodies and over the frames after the start."

    def __init__(self, result: Any) -> None:
        super().__init__(result)
        known = self.shown[0].errors if self.shown else ()
        self.used = [(name, *QUANTITIES[name]) for name in QUANTITIES if name in known]
        self.group = result.metrics.get("validate") or result.metrics.get("train") or {}
        self.picks = {word: self.shown[i] for word, i in chosen(self.shown).items()}

    def lead(self) -> str:
        """Mean errors in words."""
        if not self.used:
            return "No recording was predicted."
        texts = [f"{f * self.group[n]:.3g} {unit} {title}" for n, title, unit, f in self.used]
        return (
            f"Over {len(self.shown)} recordings {self.trained_on}: {' and '.join(texts)} on "
            "average, open loop."
        )

    def cards(self) -> list[dict[str, str]]:
        """Mean errors with their intervals."""
        found = []
        for name, title, unit, factor in self.used:
            low, high = self.group[f"{name}_interval"]
            detail = (
                f"median {factor * self.group[f'{name}_median']:.3g}; 95 % interval of the mean "
                f"{factor * low:.3g} … {factor * high:.3g}"
            )
            found.append(card(f"Mean {title}", f"{factor * self.group[name]:.3g}", unit, detail))
        return found

    def figures(self) -> Mapping[str, Any]:
        """Errors over time, and one figure per body of the recordings that are chosen."""
        every = [motion for p in self.shown for motion in motions_of(p)]
        figures: dict[str, Any] = {}
        if len(every) > 1 and every[0].frames > 2:
            figures["error_over_time"] = plots.error_over_time(every)
        for word, prediction in self.picks.items():
            for body, motion in zip(prediction.bodies, motions_of(prediction), strict=True):
                figures[_figure(prediction, word, body)] = plots.motion_plot(motion)
        return figures

    def pictures(self) -> Mapping[str, bytes]:
        """The median recording of one box at some instants, measured against simulated."""
        median = self.picks.get("median")
        motion = median and box_of(median)
        if motion is None:
            return {}
        markers = static_markers(motion) + strobe_markers(motion)
        legend = (("measured", style.MEASURED), ("simulated", style.SIMULATED))
        title = median.name[:1].upper() + median.name[1:]
        return {"cubes": render.render_png(markers, title=title, legend=legend)}

    def motions(self) -> list[dict[str, Any]]:
        """All bodies simulated, and measured as ghosts; contact forces."""
        return [_motion(prediction, word) for word, prediction in self.picks.items()]

    def curves(self) -> list[dict[str, Any]]:
        """Every body's poses."""
        views = []
        for word, prediction in self.picks.items():
            pairs = zip(prediction.bodies, motions_of(prediction), strict=True)
            groups = {body: curves.poses(motion) for body, motion in pairs}
            name = f"{prediction.name} ({prediction.role}): {word}"
            views.append(curves.view(name, "time since the start [s]", groups))
        return views

    def blocks(self) -> list[Block]:
        """Residuals over time, and all recordings as a table."""
        head = ["recording", "used to", *(f"{title} [{unit}]" for _, title, unit, _ in self.used)]
        several = len({p.source for p in self.shown}) > 1  # whose ids may be the same
        rows = [
            [f"{Path(p.source).name}: {p.id}" if several else str(p.id), p.role,
             *(f"{f * p.errors[name]:.3g}" for name, _, _, f in self.used)]
            for p in self.shown
        ]  # fmt: skip
        caption = "How the residual of every body grows with time, over all recordings shown."
        return [
            Block(figure="error_over_time", caption=caption, alt="Residuals over time"),
            Block(table=Table(head, rows, 2, fold=f"All {len(rows)} recordings as a table")),
        ]

    def single(self) -> list[Block]:
        """A figure per body of the recordings that are chosen."""
        return [
            Block(
                f"{body}, {prediction.name}: {word}", figure=_figure(prediction, word, body),
                caption="Orange dots measured, blue simulated.",
            )
            for word, prediction in self.picks.items()
            for body in prediction.bodies
        ]  # fmt: skip

    def play(self, reel: Reel) -> None:
        """Each body on topics of its own; the first recordings with pictures."""
        for number, prediction in enumerate(self.shown):
            t = prediction.t - prediction.t[0]
            for k, body in enumerate(prediction.bodies):
                for who in LOOKS:
                    poses = getattr(prediction, who)[:, k]
                    reel.poses(f"/{body}/{who}", t, poses[:, :3], poses[:, 3:])
            if number < DRAWN:
                rows = every(t)
                reel.draw(t[rows], (drawn(prediction, row) for row in rows))
            reel.end(t[-1])


def chosen(predictions: Sequence[Any]) -> dict[str, int]:
    """Word -> number of a recording worth looking at, the median first; none of velocities."""
    first = "position_error_m"
    if not predictions or first not in predictions[0].errors:
        return {}
    order = sorted(range(len(predictions)), key=lambda i: predictions[i].errors[first])
    return {word: i for i, word in picked(order, PICKS).items()}


def _figure(prediction: Any, word: str, body: str) -> str:
    """Name of a body's figure; one of PICTURES where there is no other body."""
    return f"motion_{word}" if len(prediction.bodies) == 1 else f"motion_{word}_{body}"


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
        )
        for k, (name, size) in enumerate(zip(prediction.bodies, prediction.sizes, strict=True))
    ]


def drawn_surface(prediction: Any, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3), body frame, and triangles (k, 3) by which a body is drawn; or none."""
    if not prediction.surfaces:
        return np.zeros((0, 3)), np.zeros((0, 3), int)
    return prediction.surfaces[number]


def box_of(prediction: Any) -> Motion | None:
    """The Motion of a recording of one box; None of other bodies."""
    return motions_of(prediction)[0] if prediction.kinds == ("box",) else None


def _motion(prediction: Any, word: str) -> dict[str, Any]:
    motions, bodies = motions_of(prediction), []
    for k, (motion, name) in enumerate(zip(motions, prediction.bodies, strict=True)):
        vertices, triangles = drawn_surface(prediction, k)
        for who, colour in (("simulated", style.SIMULATED), ("measured", style.MEASURED)):
            pose = getattr(motion, f"{who}_position"), getattr(motion, f"{who}_orientation")
            title, ghost = f"{name} {who}", who == "measured"
            if len(triangles):
                mesh = vertices, triangles
                bodies.append(player.rigid_mesh_data(title, colour, *mesh, *pose, ghost))
                continue
            look = title, prediction.kinds[k], motion.size, colour
            bodies.append(player.body_data(*look, *pose, ghost))
    distance = np.mean([motion.position_error() for motion in motions], axis=0)
    errors = {"distance [mm]": 1e3 * distance}
    if "rotation_error_deg" in prediction.errors:
        turn = np.mean([motion.rotation_error() for motion in motions], axis=0)
        errors["angle [°]"] = np.degrees(turn)
    forces = player.force_data(prediction.contact_point, prediction.contact_force)
    name = f"{prediction.name} ({prediction.role}): {word}"
    t = prediction.t - prediction.t[0]
    return player.playable(name, t, bodies, errors=errors, forces=forces)


def drawn(prediction: Any, row: int) -> list[Marker]:
    """A frame: every body, measured as a ghost and simulated, contact forces and a label.

    With the first one what stays below a box: table and paths.  Contacts without force are sent as
    DELETE, so that no arrow of an earlier frame stays.
    """
    box = None if row else box_of(prediction)
    found = [] if box is None else static_markers(box)
    contacts = zip(prediction.contact_point[row], prediction.contact_force[row], strict=True)
    found += [force_arrow(k, *contact) for k, contact in enumerate(contacts)]
    for who, (colour, alpha) in LOOKS.items():
        poses = getattr(prediction, who)[row]
        for k, (body, kind) in enumerate(zip(prediction.bodies, prediction.kinds, strict=True)):
            size = prediction.sizes[k] if kind != "point" else POINT
            found.append(
                Marker(
                    f"{who}/{body}", 0, position=poses[k, :3], orientation=poses[k, 3:],
                    colour=rgba(colour, alpha), **solid(kind, size, *drawn_surface(prediction, k)),
                )
            )  # fmt: skip
    places = prediction.measured[row, :, :3]
    where = (*places[:, :2].mean(axis=0), places[:, 2].max() + 0.1)
    text = f"{prediction.name}  t = {prediction.t[row]:.2f} s"
    return [*found, label(text, where, 0.03)]
