"""Figures of prediction errors and of motions, from plain arrays; figures of the fit: fit_plots.

Every function returns a matplotlib Figure that no display needs; `style.png_bytes` saves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import wraps

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from diffsim_ros.viz import style
from diffsim_ros.viz.motion import Motion

STROKES = {
    "dots": {"ls": "", "marker": "o", "ms": 1.8, "mew": 0}, "line": {"lw": 1.2},
    "dash": {"lw": 0.9, "ls": ":"},
}  # fmt: skip
"""Of the kinds of lines of curves.line."""


def in_style(plot):
    """Draw inside the package's look and leave matplotlib's global state alone."""

    @wraps(plot)
    def drawn(*args, **kwargs) -> Figure:
        with style.styled():
            return plot(*args, **kwargs)

    return drawn


def plain_log(direction) -> None:
    """Label a logarithmic axis with plain numbers at decades, and at 2 and 5 where they fit."""
    low, high = sorted(direction.get_view_interval())
    subs = (1.0, 2.0, 5.0) if high < 300 * max(low, 1e-300) else (1.0,)
    direction.set_major_locator(LogLocator(subs=subs, numticks=12))
    direction.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    direction.set_minor_formatter(NullFormatter())


@in_style
def motion_plot(motion: Motion) -> Figure:
    """Return x, y, z over time, measured (dots) against simulated (line), and both errors."""
    figure = style.new_figure(10.5, 4.3)
    top, bottom = figure.subfigures(2, 1, height_ratios=(1.15, 1.0))
    panels = top.subplots(1, 3)
    for i, (axis, name) in enumerate(zip(panels, "xyz", strict=True)):
        measured, simulated = motion.measured_position[:, i], motion.simulated_position[:, i]
        look = {"ms": 3.2, "mew": 0, "color": style.MEASURED, "label": "measured"}
        axis.plot(motion.t, measured, "o", **look)
        axis.plot(motion.t, simulated, color=style.SIMULATED, label="simulated")
        axis.set_title(f"{name} [m]")
        axis.xaxis.set_major_locator(MaxNLocator(5))
        _widen(axis, 0.02)
    panels[-1].legend(loc="upper right")
    lower = bottom.subplots(1, 2)
    for axis, title, values in (
        (lower[0], "distance of centres [mm]", 1e3 * motion.position_error()),
        (lower[1], "angle between orientations [deg]", np.degrees(motion.rotation_error())),
    ):
        axis.fill_between(motion.t, values, color=style.SIMULATED, alpha=0.15, lw=0)
        axis.plot(motion.t, values, color=style.SIMULATED, lw=1.6)
        axis.set_ylim(0, max(1.15 * float(values.max()), 1e-3))
        axis.set(title=title, xlabel="time [s]")
    return figure


def _widen(axis, least: float) -> None:
    """Keep a nearly constant coordinate from being magnified into noise."""
    low, high = axis.get_ylim()
    if high - low < least:
        centre = 0.5 * (low + high)
        axis.set_ylim(centre - least / 2, centre + least / 2)


@in_style
def error_over_time(motions: Sequence[Motion]) -> Figure:
    """Return median, quartiles and 10-90 % band of both errors over time, all motions together.

    Times with fewer than a quarter of the motions (or three) are left out.
    """
    figure = style.new_figure(10.5, 2.9)
    axes = figure.subplots(1, 2)
    rate = float(np.median([np.median(np.diff(m.t)) for m in motions if m.frames > 1]))
    for axis, title, read in (
        (axes[0], "distance of centres [mm]", lambda m: 1e3 * m.position_error()),
        (axes[1], "angle between orientations [deg]", lambda m: np.degrees(m.rotation_error())),
    ):
        bins: dict[int, list[float]] = {}
        for motion in motions:
            for time, value in zip(motion.t - motion.t[0], read(motion), strict=True):
                bins.setdefault(round(time / rate), []).append(float(value))
        least = min(len(motions), max(3, len(motions) // 4))
        keep = sorted(k for k, values in bins.items() if len(values) >= least)
        t = np.array(keep) * rate
        levels = np.array([np.quantile(bins[k], [0.1, 0.25, 0.5, 0.75, 0.9]) for k in keep])
        axis.fill_between(
            t, levels[:, 0], levels[:, 4], color=style.SIMULATED, alpha=0.12, lw=0, label="10–90 %"
        )
        axis.fill_between(
            t,
            levels[:, 1],
            levels[:, 3],
            color=style.SIMULATED,
            alpha=0.24,
            lw=0,
            label="quartiles",
        )
        axis.plot(t, levels[:, 2], color=style.SIMULATED, label="median")
        axis.set(title=title, ylim=(0, None))
        axis.set_xlabel("time since the start [s]")
    axes[0].legend(loc="upper left")
    return figure


@in_style
def path_plot(t: np.ndarray, position: np.ndarray, velocity: np.ndarray) -> Figure:
    """Return position [m] (n, 3) and velocity [m/s] (n, 3) of one body over time [s] (n,)."""
    figure = style.new_figure(10.5, 2.9)
    axes = figure.subplots(1, 2)
    colours = (style.SIMULATED, style.MEASURED, style.GREEN)
    for axis, title, values in (
        (axes[0], "position [m]", position),
        (axes[1], "velocity [m/s]", velocity),
    ):
        for i, name in enumerate("xyz"):
            axis.plot(t, values[:, i], color=colours[i], label=name)
        axis.set(title=title, xlabel="time [s]")
        _widen(axis, 0.02)
    axes[1].legend(ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    return figure


@in_style
def grid(
    view: Mapping, span: tuple[float, float] = (-np.inf, np.inf), least: float = 0.0
) -> Figure:
    """Return the curves of a view (curves.view), its groups as rows and their panels as columns.

    span  of the axis along, that is shown;  least  range of each quantity that is shown
    """
    groups = view["groups"]
    figure = style.new_figure(10.5, 0.6 + 1.3 * len(groups))
    axes = figure.subplots(len(groups), len(groups[0]["panels"]), sharex=True, squeeze=False)
    for row, group in zip(axes, groups, strict=True):
        for axis, panel in zip(row, group["panels"], strict=True):
            for line in panel["lines"]:
                x, y = (np.array(line[key], dtype=float) for key in "xy")
                shown = (x >= span[0]) & (x <= span[1])
                look = {"color": line["colour"], "label": line["name"], **STROKES[line["kind"]]}
                axis.plot(x[shown], y[shown], **look)
            _widen(axis, least)
        row[0].set_ylabel(group["name"].removesuffix("_joint"), fontsize=8)
    for axis, panel in zip(axes[0], groups[0]["panels"], strict=True):
        axis.set_title(panel["title"])
    for axis in axes[-1]:
        axis.set_xlabel(view["across"])
    named = axes[0, 0].get_legend_handles_labels()
    figure.legend(*named, loc="outside lower right", ncols=4, fontsize=8)
    return figure
