"""Figures of recordings of markers: curves measured against simulated, swings, errors over time.

They read real2sim.sensors.marker.experiment.MarkerPrediction by its attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.viz import style
from diffsim_ros.viz.plots import in_style

WINDOW = (-0.1, 2.0)  # [s] around the release that curves show
AXES = ("along x", "along y", "along z")


@in_style
def marker_curves(prediction: Any) -> Figure:
    """Return the displacement of every marker over time [mm], world axes: dots and lines."""
    names = prediction.markers
    figure = style.new_figure(10.5, 0.6 + 1.25 * len(names))
    axes = figure.subplots(len(names), 3, sharex=True, squeeze=False)
    shown = (prediction.t >= WINDOW[0]) & (prediction.t <= WINDOW[1])
    t, rest = prediction.t[shown], prediction.t < 0
    held = np.nanmean(prediction.measured[rest], axis=0)
    for row, (line, name) in enumerate(zip(axes, names, strict=True)):
        for column, axis in enumerate(line):
            measured = 1e3 * (prediction.measured[shown, row, column] - held[row, column])
            simulated = 1e3 * (prediction.simulated[shown, row, column] - held[row, column])
            axis.plot(t, measured, "o", ms=2, mew=0, color=style.MEASURED, label="measured")
            if prediction.before is not None:
                early = prediction.t <= prediction.t[: len(prediction.before)][-1]
                guess = 1e3 * (prediction.before[:, row, column] - held[row, column])
                after = prediction.t[early] >= WINDOW[0]
                axis.plot(
                    prediction.t[early][after], guess[after], color=style.MUTED, lw=0.7, alpha=0.7,
                    label="first guess",
                )  # fmt: skip
            axis.plot(t, simulated, color=style.SIMULATED, lw=1.3, label="simulated")
            low, high = axis.get_ylim()
            if high - low < 2.0:
                axis.set_ylim((low + high) / 2 - 1.0, (low + high) / 2 + 1.0)
        line[0].set_ylabel(name)
    for axis, title in zip(axes[0], AXES, strict=True):
        axis.set_title(f"{title} [mm]")
    for axis in axes[-1]:
        axis.set_xlabel("time since the release [s]")
    axes[0, -1].legend(loc="upper right", fontsize=7.5)
    return figure


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
    colours = (style.SIMULATED, style.MEASURED, *style.OTHERS.values(), *style.SPARE)
    for k, prediction in enumerate(predictions):
        shown = (prediction.t >= WINDOW[0]) & (prediction.t <= WINDOW[1])
        distance = np.linalg.norm(prediction.simulated - prediction.measured, axis=2)[shown]
        axis.plot(
            prediction.t[shown], 1e3 * np.nanmean(distance, axis=1),
            color=colours[k % len(colours)], lw=1.3, label=prediction.name,
        )  # fmt: skip
    axis.set(title="Mean distance of all markers [mm]", xlabel="time since the release [s]")
    axis.set_ylim(0, None)
    axis.legend(loc="upper right", ncols=2)
    return figure
