"""Logs of a robot's joints: what their page and their playback show (estimation_page.Sections)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from diffsim_ros.viz import curves, fit_plots, player, style
from diffsim_ros.viz.estimation_page import Sections
from diffsim_ros.viz.fit_plots import ParameterRow, Scale
from diffsim_ros.viz.html import Block, Table
from diffsim_ros.viz.markers import Marker, MarkerKind, rgba
from diffsim_ros.viz.playback import RATE, Reel
from diffsim_ros.viz.plots import grid, in_style
from diffsim_ros.viz.report_tables import DASH, card

SIDES = 8  # of the tubes that links are drawn as
RADII = 0.055, 0.03  # of them, at the base and at the flange [m]
AROUND = 1.2  # of the tubes that stand for what was measured
PLAYED = 25.0  # frames per second of the playable motion
WIDTH = (0.02, 0.02, 0.02)  # of the playback's lines [m]
LOOKS = {"measured": style.MEASURED, "simulated": style.SIMULATED, "first guess": style.MUTED}
TITLES = {"position": "position [rad]", "velocity": "velocity [rad/s]", "effort": "effort [N m]"}
COLUMNS = 6  # of the parameters' paths
MEASURES = (
    ("position_rms_rad", "position", "mrad", 1e3),
    ("velocity_rms_rad_s", "velocity", "mrad/s", 1e3),
    ("effort_rms_Nm", "effort", "N m", 1.0),
)


class JointSections(Sections):
    """Recordings are JointPredictions."""

    titles = "Errors", "Signals"
    seen = (
        "The arm through its joints: blue as simulated from the commands, orange edges as "
        "measured, a grey line as simulated at the first guess."
    )
    choice = "Every trial to choose from."
    intro = (
        "Root mean squares over all joints and samples, from the commands alone: nothing is "
        "fitted to a predicted trial."
    )

    def lead(self) -> str:
        """The worst errors in words."""
        if not self.shown:
            return "No trial was predicted."
        parts = [
            f"{factor * max(p.errors[key] for p in self.judged):.3g} {unit} in {title}"
            for key, title, unit, factor in MEASURES
            if all(key in p.errors for p in self.judged)
        ]
        kind = self.trained_on
        return f"Root mean square errors of the worst trial {kind}: {', '.join(parts)}."

    def cards(self) -> list[dict[str, str]]:
        """The worst error of each signal beside the sensor's noise."""
        found = []
        for key, signal, unit, factor in MEASURES:
            if not self.shown or any(key not in p.errors for p in self.judged):
                continue
            worst = max(self.judged, key=lambda p: p.errors[key])
            noise = factor * float(np.sqrt(np.nanmean(worst.sigma[signal] ** 2)))
            value = factor * worst.errors[key]
            detail = f"{worst.name}; the sensor's noise: {noise:.3g} {unit}"
            tone = "good" if value < 1.2 * noise else "blue"
            found.append(card(f"RMS error in {signal}", f"{value:.3g}", unit, detail, tone))
        return found

    def figures(self) -> Mapping[str, Any]:
        """The parameters' paths, and two figures per trial."""
        figures: dict[str, Any] = {}
        for i, prediction in enumerate(self.shown):
            figures[f"curves_{i}"] = grid(self.view(prediction))
            figures[f"residuals_{i}"] = joint_residuals(prediction)
        if len(self.result.history) > 1:
            figures["paths"] = parameter_paths(self.result.history, self.rows)
        return figures

    def motion(self, prediction: Any) -> dict[str, Any] | None:
        """The arm through its joints, thrice."""
        if not prediction.places:
            return None
        t, rows = prediction.t, rows_of(prediction, PLAYED)
        bodies = []
        for who, places in prediction.places.items():
            chain = np.concatenate([np.zeros((len(rows), 1, 3)), places[rows]], axis=1)
            count = chain.shape[1]
            lines = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
            faces = np.zeros((0, 3), int)
            if who == "simulated":
                chain, faces, lines = tubes(chain)
            elif who == "measured":  # around the simulated one, so that both are seen
                chain, _, lines = tubes(chain, AROUND)
            bodies.append(player.mesh_data(who, LOOKS[who], chain, faces, lines))
        both = [prediction.places.get(who) for who in ("measured", "simulated")]
        errors = {}
        if all(places is not None for places in both):
            tip = np.linalg.norm(both[0][rows, -1] - both[1][rows, -1], axis=1)
            errors["flange apart [mm]"] = 1e3 * tip
        name = f"{prediction.name} ({prediction.role})"
        return player.playable(name, t[rows] - t[rows[0]], bodies, errors=errors)

    def view(self, prediction: Any) -> dict[str, Any]:
        """Every joint's readings."""
        sources = {
            "commanded": prediction.command, "measured": prediction.measured,
            "first guess": prediction.before or {}, "simulated": prediction.simulated,
        }  # fmt: skip
        groups = {}
        for row, joint in enumerate(prediction.joints):
            groups[joint] = [
                curves.panel(
                    TITLES[signal],
                    [
                        curves.line(name, prediction.t, table[signal][:, row])
                        for name, table in sources.items()
                        if signal in table
                    ],
                )
                for signal in signals_of(prediction)
            ]
        return curves.view(f"{prediction.name} ({prediction.role})", "time [s]", groups)

    def blocks(self) -> list[Block]:
        """Errors of every trial, and by joint."""
        names = [f"{signal} [{unit}]" for _, signal, unit, _ in MEASURES]
        head = ["trial", "used to", *3 * ("first guess", "estimate")]
        group = [("", 1), ("", 1), *((name, 2) for name in names)]
        rows = [_row(prediction) for prediction in self.shown]
        one = self.shown[0]
        joints = [_joint_row(one, name) for name in one.joints]
        return [
            Block(table=Table(head, rows, 2, group, named=True)),
            Block(f"By joint, in {one.name}", table=Table(["joint", *names], joints, named=True)),
        ]

    def single(self) -> list[Block]:
        """Signals and residuals of every trial."""
        return [
            Block(
                title, figure=f"curves_{i}",
                caption="Orange dots measured, blue simulated, grey simulated at the first guess, "
                "dotted commanded.",
                below=[Block(
                    figure=f"residuals_{i}", alt=f"{title}, residuals",
                    caption="Measured less simulated, in the sensor's sigmas; the band is two of "
                    "them. A trend or a pattern is model error.",
                )],
            )
            for i, title in enumerate(f"{p.name} ({p.role})" for p in self.shown)
        ]  # fmt: skip

    def meaning(self) -> list[Block]:
        """Mass, centre and inertia of payloads."""
        facts = [_derived(parameter) for parameter in self.result.derived]
        return [Block("What the payload's ten numbers mean", facts=facts)] if facts else []

    def fit(self) -> list[Block]:
        """The parameters over the iterations."""
        caption = (
            "Every parameter over the iterations from its first guess on, between its bounds "
            "(logarithmic where they span a factor of 30); dashed: where it ended."
        )
        return [Block(figure="paths", caption=caption, alt="Parameters over the iterations")]

    def play(self, reel: Reel) -> None:
        """The arm as lines through its joints, measured and simulated."""
        for prediction in self.shown:
            rows = rows_of(prediction, RATE)
            t = prediction.t[rows] - prediction.t[rows[0]]
            reel.draw(t, (_drawn(prediction, row) for row in rows))
            reel.end(t[-1])


def rows_of(prediction: Any, rate: float) -> np.ndarray:
    """Samples that are drawn, `rate` [Hz] of them."""
    t = prediction.t
    return np.searchsorted(t, np.arange(t[0], t[-1], 1.0 / rate)).clip(0, len(t) - 1)


def signals_of(prediction: Any) -> list[str]:
    """Signals that were read, in order."""
    return [s for s in TITLES if s in prediction.sigma]


def tubes(chain: np.ndarray, wider: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Links as tubes between joints: vertices (n, m, 3), faces (k, 3), lines of their edges (l, 2).

    chain  places (n, joints, 3) [m]; the tubes thin out towards the last one
    wider  factor on their width
    """
    first, last = chain[:, :-1], chain[:, 1:]
    count = first.shape[1]
    along = last - first
    axis = np.eye(3)[np.argmin(np.abs(along), axis=-1)]  # the one that a link is squarest to
    side = np.cross(along, axis)
    length = np.linalg.norm(side, axis=-1, keepdims=True)
    side = np.divide(side, length, out=np.zeros_like(side), where=length > 1e-9)
    up = np.cross(along, side)
    length = np.linalg.norm(up, axis=-1, keepdims=True)
    up = np.divide(up, length, out=np.zeros_like(up), where=length > 1e-9)
    radius = wider * np.linspace(*RADII, count + 1)
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    ring = np.cos(angles)[:, None] * side[..., None, :] + np.sin(angles)[:, None] * up[..., None, :]
    ends = [
        place[..., None, :] + width[:, None, None] * ring
        for place, width in ((first, radius[:-1]), (last, radius[1:]))
    ]
    vertices = np.concatenate(ends, axis=2)  # (n, links, 2 SIDES, 3)
    k, after = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    wall = np.concatenate([
        np.stack([k, after, after + SIDES], axis=1), np.stack([k, after + SIDES, k + SIDES], axis=1)
    ])  # fmt: skip
    ring = np.stack([k, after], axis=1)
    edges = np.concatenate([ring, ring + SIDES, np.stack([k, k + SIDES], axis=1)[::2]])
    shift = 2 * SIDES * np.arange(count)[:, None, None]
    return (
        vertices.reshape(len(chain), -1, 3), (shift + wall).reshape(-1, 3),
        (shift + edges).reshape(-1, 2),
    )  # fmt: skip


def _row(prediction: Any) -> list[str]:
    """One line of the table of errors: at the first guess, and at the end."""
    cells = [prediction.name, prediction.role]
    for key, signal, _, factor in MEASURES:
        value = prediction.errors.get(key)
        before = DASH
        if prediction.before is not None and value is not None:
            apart = prediction.before[signal] - prediction.measured[signal]
            before = f"{factor * np.sqrt(np.nanmean(apart**2)):.3g}"
        cells += [before, DASH if value is None else f"{factor * value:.3g}"]
    return cells


def _joint_row(prediction: Any, name: str) -> list[str]:
    """One joint's errors in a trial."""
    found = [(prediction.errors.get(f"{key}.{name}"), factor) for key, _, _, factor in MEASURES]
    return [name, *(DASH if value is None else f"{f * value:.3g}" for value, f in found)]


def _derived(parameter: Any) -> tuple[str, str]:
    if parameter.std_dev is None:
        return parameter.name, f"{parameter.value:.5g} {parameter.unit}"
    text = fit_plots.with_sigma(parameter.value, parameter.std_dev)
    return parameter.name, f"{text} {parameter.unit}"


def _drawn(prediction: Any, row: int) -> list[Marker]:
    """The arm at a sample."""
    return [
        Marker(
            who, 0, MarkerKind.LINE_STRIP, scale=WIDTH, colour=rgba(LOOKS[who]),
            points=np.concatenate([np.zeros((1, 3)), places[row]]),
        )
        for who, places in prediction.places.items()
    ]  # fmt: skip


# --- figures ------------------------------------------------------------------------------------


@in_style
def joint_residuals(prediction: Any) -> Figure:
    """Return (measured - simulated)/sigma of every joint and signal; the band is two sigmas."""
    signals = signals_of(prediction)
    figure = style.new_figure(10.5, 0.6 + 1.0 * len(prediction.joints))
    axes = figure.subplots(len(prediction.joints), len(signals), sharex=True, squeeze=False)
    for row, (line, name) in enumerate(zip(axes, prediction.joints, strict=True)):
        for axis, signal in zip(line, signals, strict=True):
            apart = prediction.measured[signal][:, row] - prediction.simulated[signal][:, row]
            apart = apart / prediction.sigma[signal][row]
            axis.axhspan(-2, 2, color="#EEF2F6", lw=0)
            axis.plot(prediction.t, apart, ".", ms=2, mew=0, color=style.SIMULATED)
            finite = apart[np.isfinite(apart)]
            worst = max(4.0, 1.1 * float(np.abs(finite).max(initial=0.0)))
            axis.set_ylim(-worst, worst)
            rms = float(np.sqrt(np.mean(finite**2))) if len(finite) else np.nan
            axis.text(0.99, 0.93, f"rms {rms:.2f}", transform=axis.transAxes, ha="right", va="top",
                      fontsize=7, color=style.MUTED)  # fmt: skip
        line[0].set_ylabel(name.removesuffix("_joint"), fontsize=8)
    for axis, signal in zip(axes[0], signals, strict=True):
        axis.set_title(f"{signal}: residual / sigma")
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    return figure


@in_style
def parameter_paths(history: Sequence[Any], rows: Sequence[ParameterRow]) -> Figure:
    """Return every parameter from its first guess on between its bounds; dashed: where it ended.

    history: steps with `parameters`, name -> value.
    """
    lines = -(-len(rows) // COLUMNS)
    figure = style.new_figure(10.5, 0.5 + 1.15 * lines)
    axes = figure.subplots(lines, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    for axis in axes[len(rows) :]:
        axis.set_visible(False)
    for axis, row in zip(axes, rows, strict=False):
        scale = Scale(row)
        values = [step.parameters[row.name] for step in history]
        path = [scale(v) for v in ([] if row.start is None else [row.start]) + values]
        axis.plot(path, "-", color=style.WARN if row.at_bound else style.SIMULATED, lw=1.3)
        axis.axhline(scale(row.value), color=style.MUTED, lw=0.7, ls="--")
        axis.set_title(row.name, fontsize=7.5, pad=3)
        axis.set(ylim=(-0.03, 1.03), yticks=[0, 1])
        axis.set_yticklabels(["low", "high"], fontsize=7)
        axis.tick_params(labelsize=7)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    return figure
