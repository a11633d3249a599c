"""Recorded optical markers: what their page and their playback show (estimation_page.Sections)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.viz import curves, player, style
from diffsim_ros.viz.estimation_page import Sections
from diffsim_ros.viz.html import Block, Table
from diffsim_ros.viz.markers import LOOKS, RESIDUAL, Marker, MarkerKind, label, rgba
from diffsim_ros.viz.playback import MOCAP_TOPICS, RATE, SPHERE, Reel
from diffsim_ros.viz.plots import grid, in_style
from diffsim_ros.viz.report_tables import card

PLAYED = 25.0  # frames per second of the playable motion
BODY = rgba(style.SIMULATED, 0.6)
WINDOW = (-0.1, 2.0)  # [s] around the release that is shown
MEASURES = (
    ("static_deflection", "static deflection", "mm", 1e3),
    ("frequency", "frequency", "Hz", 1.0),
    ("decay", "decay", "1/s", 1.0),
)


class MarkerSections(Sections):
    """Recordings are MarkerPredictions."""

    titles = "Measures", "Recordings"
    seen = (
        "The body and the blue markers are simulated from the release on; the orange markers were "
        "measured."
    )
    intro = (
        "A damped sinusoid about the new rest is fitted to the same coordinate of recordings and "
        "simulations, by the same code; its rest less the mean before the release is the static "
        "deflection."
    )

    def lead(self) -> str:
        """The worst errors in words."""
        if not self.shown:
            return "No recording was predicted."
        worst = [
            f"{100 * max(p.errors[f'{key}_error'] for p in self.judged):.2g} % in {title}"
            for key, title, _, _ in MEASURES
        ]
        distance = 1e3 * max(p.errors["mean_marker_error_m"] for p in self.judged)
        return (
            f"Worst errors over {len(self.judged)} recordings {self.trained_on}: "
            f"{', '.join(worst)}; markers are {distance:.2g} mm off on average over the window."
        )

    def cards(self) -> list[dict[str, str]]:
        """The worst error in each measure."""
        found = []
        for key, title, _, _ in MEASURES if self.shown else ():
            worst = max(self.judged, key=lambda p: p.errors[f"{key}_error"])
            value = f"{100 * worst.errors[f'{key}_error']:.2g}"
            found.append(card(f"Worst error in {title}", value, "%", worst.name))
        return found

    def figures(self) -> Mapping[str, Any]:
        """Figures of all recordings, and one per recording."""
        if not self.shown:
            return {}
        return {
            "swings": swings(self.shown),
            "marker_errors": marker_errors(self.shown),
            **{f"markers_{i}": grid(v, WINDOW, 2.0) for i, v in enumerate(self.curves())},
        }

    def motion(self, prediction: Any) -> dict[str, Any]:
        """Markers as spheres, and the body's surface."""
        frames = rows_of(prediction, PLAYED)
        upright = np.tile([0.0, 0.0, 0.0, 1.0], (len(frames), 1))
        bodies = []
        if prediction.vertices is not None:
            vertices, none = prediction.vertices[frames].astype(float), np.zeros((0, 2), int)
            mesh = vertices, prediction.triangles, none
            bodies.append(player.mesh_data("body", style.SIMULATED, *mesh))
        for who, (colour, _) in LOOKS.items():
            places = getattr(prediction, who)[frames]
            for k, name in enumerate(prediction.markers):
                path = _filled(places[:, k])
                if path is not None:
                    look = f"{name} {who}", "sphere", SPHERE, colour
                    bodies.append(player.body_data(*look, path, upright))
        distance = np.linalg.norm(prediction.simulated - prediction.measured, axis=2)[frames]
        mean = 1e3 * np.nan_to_num(np.nanmean(distance, axis=1))
        name, t = f"{prediction.name} ({prediction.role})", prediction.t[frames]
        return player.playable(name, t - t[0], bodies, planes=(), errors={"distance [mm]": mean})

    def view(self, prediction: Any) -> dict[str, Any]:
        """Every marker's displacement from where it was held [mm]."""
        t, groups = prediction.t, {}
        held = np.nanmean(prediction.measured[t < 0], axis=0)
        for k, name in enumerate(prediction.markers):
            paths = {"measured": prediction.measured[:, k]}
            if prediction.before is not None:
                guess = np.full((len(t), 3), np.nan)  # it is simulated for the window alone
                guess[: len(prediction.before)] = prediction.before[:, k]
                paths["first guess"] = guess
            paths["simulated"] = prediction.simulated[:, k]
            groups[name] = curves.paths(t, {who: 1e3 * (p - held[k]) for who, p in paths.items()})
        name = f"{prediction.name} ({prediction.role})"
        return curves.view(name, "time since the release [s]", groups)

    def blocks(self) -> list[Block]:
        """The measures of every recording, and figures of all."""
        measures = [(f"{title} [{unit}]", 3) for _, title, unit, _ in MEASURES]
        head = ["recording", "used to", *3 * ("measured", "simulated", "error"), "markers [mm]"]
        rows = [_row(prediction) for prediction in self.shown]
        group = [("", 1), ("", 1), *measures, ("", 1)]
        return [
            Block(table=Table(head, rows, 2, group, named=True)),
            Block(
                figure="swings", alt="Measured and simulated swings",
                caption="The measured coordinate over the whole recording: orange dots measured, "
                "blue simulated; dashed: the fitted swings, whose figures stand in the legend.",
            ),
            Block(
                figure="marker_errors", alt="Marker errors over time",
                caption="Distance of measured and simulated markers, mean over all of them.",
            ),
        ]  # fmt: skip

    def single(self) -> list[Block]:
        """Curves of every recording."""
        return [
            Block(p.name, figure=f"markers_{i}", caption=_caption(p))
            for i, p in enumerate(self.shown)
        ]

    def play(self, reel: Reel) -> None:
        """Pictures, and every frame's measured and simulated markers on MOCAP_TOPICS."""
        for prediction in self.shown:
            rows = rows_of(prediction, RATE)
            t = prediction.t - prediction.t[rows[0]]
            drawn = [_drawn(prediction, row) for row in rows]
            drawn[0] = _paths(prediction, rows) + drawn[0]
            reel.draw(t[rows], drawn)
            span = slice(rows[0], rows[-1] + 1)
            for who, topic in MOCAP_TOPICS.items():
                places = getattr(prediction, who)[span]
                reel.mocap(topic, t[span], prediction.markers, places)
            reel.end(t[rows[-1]])


def rows_of(prediction: Any, rate: float) -> np.ndarray:
    """Frames that are drawn, `rate` [Hz] of them, within WINDOW."""
    t = prediction.t
    wanted = np.arange(max(t[0], WINDOW[0]), min(t[-1], WINDOW[1]), 1.0 / rate)
    return np.unique(np.clip(np.searchsorted(t, wanted), 0, len(t) - 1))


def _filled(path: np.ndarray) -> np.ndarray | None:
    """A marker's path (n, 3) with the last seen place where it is hidden; None: never seen."""
    visible = np.flatnonzero(np.isfinite(path).all(axis=1))
    if not len(visible):
        return None
    last = np.maximum(np.searchsorted(visible, np.arange(len(path)), side="right") - 1, 0)
    return path[visible[last]]


def _row(prediction: Any) -> list[str]:
    """One line of the table of measures."""
    cells = [prediction.name, prediction.role]
    for key, _, _, factor in MEASURES:
        values = [factor * prediction.swings[who].figures[key] for who in LOOKS]
        error = prediction.errors[f"{key}_error"]
        cells += [*(f"{value:.4g}" for value in values), f"{100 * error:.2g} %"]
    return [*cells, f"{1e3 * prediction.errors['mean_marker_error_m']:.3g}"]


def _caption(prediction: Any) -> str:
    per_marker = ", ".join(
        f"{name} {1e3 * prediction.errors[f'mean_error_m.{name}']:.2g} mm"
        for name in prediction.markers
    )
    return f"Displacements in the world's axes. Mean distances: {per_marker}."


# --- playback -----------------------------------------------------------------------------------


def _paths(prediction: Any, rows: np.ndarray) -> list[Marker]:
    """The path of every marker, measured and simulated, as lines that stay."""
    found = []
    for who, (colour, _) in LOOKS.items():
        places = getattr(prediction, who)[rows]
        ends = np.stack([places[:-1], places[1:]], axis=2).reshape(-1, 2, 3)
        found += _lines(f"path/{who}", ends, 0.0008, rgba(colour, 0.7))
    return found


def _lines(ns: str, ends: np.ndarray, width: float, colour) -> list[Marker]:
    """Lines between pairs of places (n, 2, 3) that are both seen; none where there are none."""
    points = ends[np.isfinite(ends).all(axis=(1, 2))].reshape(-1, 3)
    look = {"scale": (width, 0.0, 0.0), "colour": colour, "points": points}
    return [Marker(ns, 0, MarkerKind.LINE_LIST, **look)] if len(points) else []


def _drawn(prediction: Any, row: int) -> list[Marker]:
    """One frame: two lists of spheres, lines between them, the surface, and a label."""
    found = []
    for who, (colour, _) in LOOKS.items():
        places = getattr(prediction, who)[row]
        places = places[np.isfinite(places).all(axis=1)]
        if len(places):
            look = {"scale": SPHERE, "colour": rgba(colour), "points": places}
            found.append(Marker(who, 0, MarkerKind.SPHERE_LIST, **look))
    ends = np.stack([prediction.measured[row], prediction.simulated[row]], axis=1)
    ends = ends[np.isfinite(ends).all(axis=(1, 2))]
    if len(ends):
        found += _lines("residual", ends, 0.0015, RESIDUAL)
        found.append(_label(prediction, row, ends))
    if prediction.vertices is not None:
        points = prediction.vertices[row][prediction.triangles].reshape(-1, 3)
        look = {"colour": BODY, "points": points}
        found.append(Marker("body", 0, MarkerKind.TRIANGLE_LIST, **look))
    return found


def _label(prediction: Any, row: int, ends: np.ndarray) -> Marker:
    """Name, time since the release and mean distance of the markers, above them."""
    apart = 1e3 * float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())
    above = (*ends[:, 0, :2].mean(axis=0), ends[:, 0, 2].max() + 0.02)
    text = f"{prediction.name}  t = {prediction.t[row]:.2f} s\n{apart:.2f} mm apart"
    return label(text, above, 0.01)


# --- figures ------------------------------------------------------------------------------------


@in_style
def swings(predictions: Sequence[Any]) -> Figure:
    """Return, per recording, the measured coordinate, recorded and simulated, with the swings."""
    figure = style.new_figure(10.5, 2.5 * len(predictions) + 0.2)
    axes = figure.subplots(len(predictions), 1, squeeze=False)[:, 0]
    looks = {"measured": style.MEASURED, "simulated": style.SIMULATED}
    for axis, prediction in zip(axes, predictions, strict=True):
        for who, colour in looks.items():
            swing = prediction.swings[who]
            y = 1e3 * (swing.y - swing.held)
            dots = {"marker": "o", "ms": 2.5, "mew": 0, "ls": "", "zorder": 3}
            look = dots if who == "measured" else {"lw": 1.2}
            axis.plot(swing.t, y, color=colour, alpha=0.7, **look)
            fitted = 1e3 * (swing.fit.curve - swing.held)
            axis.plot(swing.t[swing.span], fitted, color=colour, lw=1.0, ls=(0, (4, 2)))
            f = swing.figures
            axis.plot(
                [], [], color=colour,
                label=f"{who}: {1e3 * f['static_deflection']:.2f} mm, {f['frequency']:.3f} Hz, "
                f"{f['decay']:.2f} /s",
            )  # fmt: skip
        axis.set_title(f"{prediction.name} ({prediction.role})")
        axis.set_ylabel("[mm]")
        axis.set_xlim(WINDOW[0], float(prediction.t[-1]))
        axis.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
    axes[-1].set_xlabel("time since the release [s]")
    return figure


@in_style
def marker_errors(predictions: Sequence[Any]) -> Figure:
    """Return the mean distance of measured and simulated markers over time, all recordings."""
    figure = style.new_figure(10.5, 3.0)
    axis = figure.subplots()
    for k, prediction in enumerate(predictions):
        shown = (prediction.t >= WINDOW[0]) & (prediction.t <= WINDOW[1])
        distance = np.linalg.norm(prediction.simulated - prediction.measured, axis=2)[shown]
        axis.plot(
            prediction.t[shown], 1e3 * np.nanmean(distance, axis=1),
            color=style.SERIES[k % len(style.SERIES)], lw=1.3, label=prediction.name,
        )  # fmt: skip
    axis.set(title="Mean distance of all markers [mm]", xlabel="time since the release [s]")
    axis.set_ylim(0, None)
    axis.legend(loc="upper right", ncols=2)
    return figure
