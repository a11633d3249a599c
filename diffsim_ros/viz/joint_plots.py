"""Figures of joint logs: readings, commands and simulation by joint, and what is left over.

They read real2sim.sensors.joint.experiment.JointPrediction by its attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from diffsim_ros.viz import style
from diffsim_ros.viz.fit_plots import ParameterRow, Scale
from diffsim_ros.viz.plots import in_style

TITLES = {"position": "position [rad]", "velocity": "velocity [rad/s]", "effort": "effort [N m]"}
COLUMNS = 6  # of the parameters' paths


def signals_of(prediction: Any) -> list[str]:
    """Signals that were read, in order."""
    return [s for s in TITLES if s in prediction.sigma]


@in_style
def joint_curves(prediction: Any) -> Figure:
    """Return every joint's signals: orange measured, blue simulated, grey at the first guess."""
    signals = signals_of(prediction)
    figure = style.new_figure(10.5, 0.6 + 1.35 * len(prediction.joints))
    axes = figure.subplots(len(prediction.joints), len(signals), sharex=True, squeeze=False)
    for row, (line, name) in enumerate(zip(axes, prediction.joints, strict=True)):
        for axis, signal in zip(line, signals, strict=True):
            if signal in prediction.command:
                sent = prediction.command[signal][:, row]
                axis.plot(prediction.t, sent, color=style.INK, lw=0.9, ls=":", label="commanded")
            measured = prediction.measured[signal][:, row]
            axis.plot(prediction.t, measured, "o", ms=1.6, mew=0, color=style.MEASURED,
                      label="measured")  # fmt: skip
            if prediction.before is not None:
                axis.plot(prediction.t, prediction.before[signal][:, row], color=style.MUTED,
                          lw=0.8, alpha=0.8, label="first guess")  # fmt: skip
            axis.plot(prediction.t, prediction.simulated[signal][:, row], color=style.SIMULATED,
                      lw=1.2, label="simulated")  # fmt: skip
        line[0].set_ylabel(name.removesuffix("_joint"), fontsize=8)
    for axis, signal in zip(axes[0], signals, strict=True):
        axis.set_title(TITLES[signal])
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    named = axes[0, 0].get_legend_handles_labels()
    figure.legend(*named, loc="outside lower right", ncols=4, fontsize=8)
    return figure


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
