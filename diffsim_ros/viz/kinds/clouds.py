"""Point clouds of deforming bodies, beside other sensors: what their page and playback show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation
from scipy.stats import chi, norm

from diffsim_ros.viz import curves, fit_plots, player, style
from diffsim_ros.viz.estimation_page import Sections
from diffsim_ros.viz.html import Block, Table
from diffsim_ros.viz.markers import Marker, MarkerKind, label, rgba
from diffsim_ros.viz.playback import Points, Reel
from diffsim_ros.viz.plots import in_style, plain_log
from diffsim_ros.viz.report_tables import DASH, card

PLAYED = 60.0  # simulated frames per second of the playable motion
JUMP = 1e-3  # [s] within which the cloud of one frame of the camera gives way to the next
LINE = np.array([0.0, 0.0, 2e-3])  # a point is drawn as a dash [m]
BODY = rgba(style.SIMULATED, 0.6)
FLOOR = (0.93, 0.93, 0.92, 1.0)
MARGIN = 0.25  # of the floor drawn, around the motion [m]
INSTANTS = 8  # frames that an overlay shows, evenly spread
REACH = 3.0  # sigmas at which the colours of residuals end
COLOURS = "RdBu_r"  # blue: behind the simulated surface, red: before it
CAPTION = {
    True: "As the camera sees it: the simulated surface in grey, the measured points by their "
          "distance to it (red: before the surface, blue: behind it).",
    False: "From the side: the simulated body in grey, what was measured by its distance to where "
           "it is on that body.",
}  # fmt: skip
STARTS = (
    ("position", "place", "mm", 1e3),
    ("velocity", "velocity", "m/s", 1.0),
    ("angular_velocity", "spin", "rad/s", 1.0),
)
NUMBERS = {"rms_distance_m": 1e3, "rms_over_sigma": 1.0, "mean_shift_m": 1e3}
"""Figures of all frames, and with _later of those after the free flight -> factor shown."""
CARDS = (
    ("rms_over_sigma", "Worst rms distance", "σ", 1.0),
    ("rms_distance_m", "Worst rms distance", "mm", 1e3),
    ("mean_shift_m_later", "Worst mean shift after the flight", "mm", 1e3),
)


class CloudSections(Sections):
    """Recordings are CloudPredictions."""

    titles = "Distances", "Recordings"
    seen = (
        "The blue body is simulated from its start; the orange dashes are the points that the "
        "first sensor saw of it, each frame until the next one."
    )

    @property
    def intro(self) -> str:
        """What the distances are of."""
        what = f"Of what the first sensor, {self.shown[0].sensor if self.shown else ''}, measured "
        what += "to where that is on the simulated body."
        if all(prediction.camera for prediction in self.shown):
            what = (
                "Of the camera's points to the nearest visible point of the simulated, deformed "
                "surface."
            )
        return (
            f"{what} The shift is the one that brings the simulated body onto a frame's points; a "
            "validated recording starts as its free flight says, and the rest is predicted."
        )

    def lead(self) -> str:
        """Distances and shifts in words."""
        if not self.shown:
            return "No recording was predicted."
        rms = 1e3 * np.mean([p.errors["rms_distance_m"] for p in self.judged])
        share = np.mean([p.errors["rms_over_sigma"] for p in self.judged])
        later = max(p.errors.get("mean_shift_m_later", p.errors["mean_shift_m"])
                    for p in self.judged)  # fmt: skip
        return (
            f"Over {len(self.judged)} recording(s) {self.trained_on}, points lie "
            f"{rms:.2g} mm rms off the simulated body ({share:.2f} of the sensor's sigma); after "
            f"the free flight the simulated body is {1e3 * later:.2g} mm off on average, at worst."
        )

    def cards(self) -> list[dict[str, str]]:
        """The worst figures."""
        found = []
        for key, title, unit, factor in CARDS:
            having = [p for p in self.judged if key in p.errors]
            if having:
                worst = max(having, key=lambda p: p.errors[key])
                found.append(card(title, f"{factor * worst.errors[key]:.3g}", unit, worst.name))
        return found

    def figures(self) -> Mapping[str, Any]:
        """The distances, and one figure per recording."""
        figures = {_overlay(i): overlay(p) for i, p in enumerate(self.shown)}
        if self.shown:
            figures["cloud_residuals"] = cloud_residuals(self.shown)
        return figures

    def motion(self, prediction: Any) -> dict[str, Any]:
        """The simulated surface and the camera's points."""
        clock = np.arange(0.0, prediction.t[-1], 1.0 / PLAYED)
        times = np.unique(np.concatenate([clock, prediction.t, prediction.t[1:] - JUMP]))
        k = np.searchsorted(prediction.t, times + 1e-9, side="right") - 1
        most = max(map(len, prediction.points))
        cloud = np.array([_padded(prediction.points[i], most) for i in k])
        dashes = np.concatenate([cloud, cloud + LINE], axis=1)
        lines = np.stack([np.arange(most), np.arange(most) + most], axis=1)
        none = np.zeros((0, 3), int)
        body = _at(prediction.clock, prediction.vertices.astype(float), times)
        bodies = [
            player.mesh_data("simulated", style.SIMULATED, body, prediction.triangles, none[:, :2]),
            player.mesh_data("measured points", style.MEASURED, dashes, none, lines),
        ]
        return player.playable(
            f"{prediction.name} ({prediction.role})",
            times,
            bodies,
            planes=[] if prediction.floor is None else [_plane(*prediction.floor)],
            errors={
                "rms distance [mm]": 1e3 * prediction.rms[k],
                "shift [mm]": 1e3 * np.linalg.norm(prediction.shift, axis=1)[k],
            },
        )

    def view(self, prediction: Any) -> dict[str, Any]:
        """Where the body is, how far its points are off, what other sensors showed."""
        clock, t = prediction.clock, prediction.t
        middle = prediction.vertices.astype(float).mean(axis=1)
        measured = _at(clock, middle[:, None], t)[:, 0] + prediction.shift
        rms = {"simulated": prediction.rms}
        if prediction.before is not None:
            rms["first guess"] = prediction.before
        sigma = np.array([np.sqrt(np.mean(r**2)) for r in prediction.residual])
        lines = [curves.line(name, t, 1e3 * value) for name, value in rms.items()]
        groups = {
            "middle of the body": [
                curves.panel(f"{axis} [mm]", [
                    curves.line("measured", t, 1e3 * measured[:, k]),
                    curves.line("simulated", clock, 1e3 * middle[:, k]),
                ])
                for k, axis in enumerate(curves.AXES)
            ],
            "distances of points": [
                curves.panel("rms distance to the surface [mm]", lines),
                curves.panel("rms distance [σ]", [curves.line("simulated", t, sigma)]),
            ],
        }  # fmt: skip
        for sensor in prediction.sensors:
            for k, marker in enumerate(sensor.names):
                both = {"measured": sensor.measured[:, k], "simulated": sensor.simulated[:, k]}
                panels = curves.paths(sensor.t, {who: 1e3 * x for who, x in both.items()})
                if sensor.angle is not None:
                    look = style.INK, "line"
                    line = curves.line("apart", sensor.t, sensor.angle, look)
                    panels.append(curves.panel("angle between them [°]", [line]))
                groups[f"{sensor.name}, {marker}"] = panels
        name = f"{prediction.name} ({prediction.role})"
        return curves.view(name, "time since the start [s]", groups)

    def blocks(self) -> list[Block]:
        """Distances of every recording, what other sensors show, and both over time."""
        head = ["recording", "used to", "frames", "points a frame",
                *2 * ("rms [mm]", "rms [σ]", "shift [mm]")]  # fmt: skip
        rows = [_row(prediction) for prediction in self.shown]
        group = [*4 * [("", 1)], ("all frames", 3), ("after the free flight", 3)]
        found = [Block(table=Table(head, rows, 3, group, named=True))]
        others = [_other(p, sensor) for p in self.shown for sensor in p.sensors]
        if others:
            head = ["recording", "used to", "sensor", "samples", "distance [mm]", "rms [σ]",
                    "angle [°]"]  # fmt: skip
            text = (
                "What they measured beside what they would show of the simulated body, by their "
                "clocks and places as estimated."
            )
            found.append(Block("Other sensors", text, table=Table(head, others, 3)))
        caption = (
            "Left and middle: every frame (dotted line: end of the free flight; dashed: at the "
            "first guess). Right: all residuals beside the stated noise of the sensor."
        )
        alt = "Distances over time and residuals"
        return [*found, Block(figure="cloud_residuals", caption=caption, alt=alt)]

    def single(self) -> list[Block]:
        """Every recording: overlay, start as found, and the pipeline's stages."""
        return [
            Block(
                f"{p.name} ({p.role})", figure=_overlay(i), caption=CAPTION[p.camera],
                below=[Block(facts=_start(p.start)), Block(table=_stages(p.stages))],
            )
            for i, p in enumerate(self.shown)
        ]  # fmt: skip

    def play(self, reel: Reel) -> None:
        """Surfaces at their own rate; points as the camera saw them, coloured by residual, with
        fields `distance` [m] and `residual` [sigma]."""
        for prediction in self.shown:
            count = range(len(prediction.clock))
            reel.draw(prediction.clock, (_drawn(prediction, i) for i in count))
            for k, t in enumerate(prediction.t):
                colour = residual_colours(prediction.residual[k])[:, :3]
                fields = {name: getattr(prediction, name)[k] for name in ("distance", "residual")}
                reel.cloud(t, Points(prediction.points[k], colour), **fields)
            reel.end(max(prediction.clock[-1], prediction.t[-1]))


def _other(prediction: Any, sensor: Any) -> list[str]:
    """One line of the table of other sensors."""
    e = sensor.errors
    angle = f"{e['rotation_error_deg']:.3g}" if "rotation_error_deg" in e else DASH
    numbers = [f"{1e3 * e['position_error_m']:.3g}", f"{e['rms_over_sigma']:.3g}", angle]
    return [prediction.name, prediction.role, sensor.name, str(e["samples"]), *numbers]


def _padded(points: np.ndarray, count: int) -> np.ndarray:
    """So many points, the last one repeated."""
    return points[np.minimum(np.arange(count), len(points) - 1)]


def _at(clock: np.ndarray, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Values (G, ...) at clock (G,) interpolated to times (T,)."""
    i = np.clip(np.searchsorted(clock, times, side="right") - 1, 0, max(len(clock) - 2, 0))
    j = np.minimum(i + 1, len(clock) - 1)
    span = np.where(j > i, clock[j] - clock[i], 1.0)
    share = np.clip((times - clock[i]) / span, 0.0, 1.0)[:, None, None]
    return values[i] + share * (values[j] - values[i])


def _plane(normal: np.ndarray, offset: float) -> dict[str, list[float]]:
    turn, _ = Rotation.align_vectors([normal], [[0.0, 0.0, 1.0]])
    return {"p": (offset * normal).tolist(), "q": turn.as_quat().tolist()}


def _row(prediction: Any) -> list[str]:
    """One line of the table of distances."""
    e = prediction.errors
    numbers = [
        f"{factor * e[name + later]:.3g}" if name + later in e else DASH
        for later in ("", "_later")
        for name, factor in NUMBERS.items()
    ]
    frames = f"{len(prediction.t)} ({prediction.flight} in free flight)"
    points = f"{np.mean([len(p) for p in prediction.points]):.0f}"
    return [prediction.name, prediction.role, frames, points, *numbers]


def _start(start: Any) -> list[tuple[str, str]]:
    """The start as found, with its standard deviations."""
    rows = []
    for kind, title, unit, factor in STARTS:
        if kind in start.sigma:
            value, sigma = factor * getattr(start.state, kind), factor * start.sigma[kind]
            text = ", ".join(fit_plots.with_sigma(v, s) for v, s in zip(value, sigma, strict=True))
            rows.append((f"{title} at the start [{unit}]", text))
    return rows


def _stages(stages: Sequence[Mapping]) -> Table | None:
    """What each stage of the pipeline left, and how long it took."""
    head = ["stage of the pipeline", "points in", "points out", "median [ms]", "longest [ms]"]
    rows = [
        [row["stage"], f"{row['points_in']:.0f}", f"{row['points_out']:.0f}",
         f"{row['median_ms']:.2f}", f"{row['longest_ms']:.2f}"]
        for row in stages
    ]  # fmt: skip
    return Table(head, rows) if rows else None


def _overlay(number: int) -> str:
    """Name of a recording's figure; the first one stands beside the page too."""
    return f"overlay_{number}" if number else "clouds"


# --- playback -----------------------------------------------------------------------------------


def residual_colours(residual: np.ndarray) -> np.ndarray:
    """Colours (n, 4) of residuals (n,) [sigma]: blue behind the surface, red before it."""
    share = 0.5 + np.asarray(residual) / (2.0 * REACH)
    return mpl.colormaps[COLOURS](np.clip(share, 0.0, 1.0))


def _drawn(prediction: Any, i: int) -> list[Marker]:
    """The simulated surface at an instant and a label; with the first, what stays."""
    corners = prediction.vertices[i][prediction.triangles].reshape(-1, 3)
    above = (*corners[:, :2].mean(axis=0), corners[:, 2].max() + 0.03)
    off = 1e3 * float(np.sqrt(np.mean(prediction.rms**2)))
    words = f"{prediction.name}  t = {prediction.clock[i]:.2f} s\n{off:.1f} mm rms"
    text = label(words, above, 0.025)
    body = Marker("body", 0, MarkerKind.TRIANGLE_LIST, colour=BODY, points=corners)
    if i:
        return [body, text]
    still = [] if prediction.floor is None else [_floor(prediction)]
    return [*still, body, text]


def _floor(prediction: Any) -> Marker:
    """A square of the scene's floor below the motion, facing up."""
    normal, offset = prediction.floor
    places = prediction.vertices[..., :2].reshape(-1, 2)
    low, high = places.min(axis=0) - MARGIN, places.max(axis=0) + MARGIN
    share = np.array([(0, 0), (1, 0), (1, 1), (0, 0), (1, 1), (0, 1)])
    square = low + share * (high - low)
    height = (offset - square @ normal[:2]) / normal[2]
    points = np.column_stack([square, height])
    return Marker("table", 0, MarkerKind.TRIANGLE_LIST, colour=FLOOR, points=points)


# --- figures ------------------------------------------------------------------------------------


@in_style
def overlay(prediction: Any) -> Figure:
    """Return the camera's view at some instants: points by residual over the simulated surface."""
    picks = np.unique(np.linspace(0, len(prediction.t) - 1, INSTANTS).round().astype(int))
    figure = style.new_figure(10.5, 2.9 * -(-len(picks) // 4) + 0.3)
    axes = figure.subplots(-(-len(picks) // 4), min(4, len(picks)), squeeze=False).ravel()
    views = [_view(prediction, k) for k in picks]
    half = 0.55 * max(np.ptp(pixels, axis=0).max() for pixels, *_ in views)
    shown = None
    for axis, k, (pixels, faces, shade, points) in zip(axes, picks, views, strict=False):
        grey = np.repeat(shade[:, None], 3, axis=1)
        axis.add_collection(PolyCollection(pixels[faces], facecolors=grey, edgecolors="none"))
        shown = axis.scatter(
            *points.T, c=prediction.residual[k], cmap=COLOURS, vmin=-REACH, vmax=REACH, s=9,
            edgecolors=style.INK, linewidths=0.25,
        )  # fmt: skip
        middle = 0.5 * (pixels.max(axis=0) + pixels.min(axis=0))
        axis.set(xlim=middle[0] + half * np.array([-1, 1]), aspect="equal")
        axis.set(ylim=middle[1] + half * np.array([-1, 1]), xticks=[], yticks=[])
        axis.grid(False)
        axis.spines[:].set_visible(False)
        flying = "free flight" if k < prediction.flight else "predicted"
        flying = flying if prediction.role == "validate" else "fitted"
        axis.set_title(f"{prediction.t[k]:.3f} s, {flying}", fontsize=9)
    for axis in axes[len(picks) :]:
        axis.set_axis_off()
    figure.colorbar(shown, ax=axes, shrink=0.7, label="distance to the surface [σ]")
    return figure


def _view(prediction: Any, k: int):
    """Pixels (n, 2) of the surface at frame k, its visible faces back to front with their shades,
    and pixels of the points, all in metres at the body's distance."""
    at = int(np.argmin(np.abs(prediction.clock - prediction.t[k])))
    x, eye = prediction.vertices[at].astype(float), prediction.eye
    forward = x.mean(axis=0) - eye
    far = np.linalg.norm(forward)
    forward = forward / far
    up = np.array([0.0, 0.0, 1.0]) if abs(forward[2]) < 0.99 else np.array([0.0, 1.0, 0.0])
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(right, forward), forward])

    def pixels(places):
        in_camera = (places - eye) @ axes.T
        return far * in_camera[:, :2] / in_camera[:, 2:]

    corners = x[prediction.triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    middle = corners.mean(axis=1) - eye
    facing = np.einsum("ni,ni->n", normal, -middle) / np.linalg.norm(middle, axis=1)
    front = np.flatnonzero(facing > 0)
    front = front[np.argsort(-np.linalg.norm(middle[front], axis=1))]
    shade = 0.62 + 0.33 * facing[front]
    return pixels(x), prediction.triangles[front], shade, pixels(prediction.points[k])


@in_style
def cloud_residuals(predictions: Sequence[Any]) -> Figure:
    """Return distances over time, before and after, shifts over time, and residuals' histogram."""
    figure = style.new_figure(10.5, 3.1)
    rms, shift, spread = figure.subplots(1, 3)
    for k, prediction in enumerate(predictions):
        look = {"color": style.SERIES[k % len(style.SERIES)], "lw": 1.3, "marker": "o", "ms": 3}
        if prediction.before is not None:
            rms.plot(prediction.t, 1e3 * prediction.before, color=style.MUTED, lw=0.8, ls="--",
                     label="first guess" if k == 0 else None)  # fmt: skip
        rms.plot(prediction.t, 1e3 * prediction.rms, label=prediction.name, **look)
        shift.plot(prediction.t, 1e3 * np.linalg.norm(prediction.shift, axis=1), **look)
        for axis in (rms, shift):
            axis.axvline(prediction.t[prediction.flight - 1], color=look["color"], lw=0.7, ls=":")
        bins = np.linspace(-4, 4, 33)
        spread.hist(np.concatenate(prediction.residual), bins, density=True, histtype="step",
                    color=look["color"], lw=1.3)  # fmt: skip
    x = np.linspace(-4, 4, 200)
    expected = norm.pdf(x)
    if predictions and not predictions[0].camera:  # a distance of three equal errors
        expected = np.sqrt(3.0) * chi.pdf(np.sqrt(3.0) * x, 3)
    spread.plot(x, expected, color=style.MUTED, lw=1.0, ls="--", label="the sensor's noise")
    rms.set(title="Rms distance [mm]", xlabel="time [s]", yscale="log")
    plain_log(rms.yaxis)
    shift.set(title="Shift that fits best [mm]", xlabel="time [s]")
    shift.set_ylim(0, None)
    spread.set(title="Residuals [σ]", xlabel="distance / σ")
    rms.legend(fontsize=7.5)
    spread.legend(fontsize=7.5)
    return figure
