"""Figures of a planned joint motion, and of distances over samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.viz import style
from diffsim_ros.viz.plots import in_style

POINTS = 400
ROWS = (("position [rad]", None), ("velocity / limit", "velocity"),
        ("acceleration / limit", "acceleration"))  # fmt: skip


@in_style
def joint_motion(trajectory: Any, limits: Any) -> Figure:
    """Positions, and rates as shares of their limits; the release is a dashed line.

    trajectory  as robots.trajectory.JointTrajectory;  limits  as robots.arm.Limits
    """
    times = np.linspace(trajectory.times[0], trajectory.times[-1], POINTS)
    curves = trajectory.at(times)
    figure = style.new_figure(8.0, 6.4)
    axes = figure.subplots(3, 1, sharex=True)
    colours = (style.SIMULATED, style.MEASURED, *style.OTHERS.values(), *style.SPARE)
    for axis, (label, limit), values in zip(axes, ROWS, curves, strict=True):
        most = 1.0 if limit is None else getattr(limits, limit)
        for i, row in enumerate((values / most).T):
            name = trajectory.names[i].removesuffix("_joint").replace("_", " ")
            axis.plot(times, row, color=colours[i % len(colours)], lw=1.4, label=name)
        if limit is not None:
            for edge in (-1.0, 1.0):
                axis.axhline(edge, color=style.WARN, lw=0.8)
        if trajectory.release is not None:
            axis.axvline(trajectory.release, color=style.INK, lw=0.9, ls="--")
        axis.set_ylabel(label)
    axes[-1].set_xlabel("time [s]" + ("" if trajectory.release is None else ", dashed: release"))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=6,
                  fontsize=8)  # fmt: skip
    return figure


@in_style
def distances_over_samples(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray],
                           tolerances: Mapping[str, float]) -> Figure:  # fmt: skip
    """Share of samples that end within a distance of each goal, before and after."""
    figure = style.new_figure(4.2 * len(before) + 0.8, 3.4)
    for axis, name in zip(figure.subplots(1, len(before), squeeze=False)[0], before, strict=True):
        for values, colour, label in ((before[name], style.MUTED, "nominal plan"),
                                      (after[name], style.SIMULATED, "robust plan")):  # fmt: skip
            share = np.arange(1, len(values) + 1) / len(values)
            axis.step(np.sort(values), share, where="post", color=colour, label=label)
        axis.axvline(tolerances[name], color=style.WARN, lw=0.9, label="tolerance")
        axis.set_xlabel(f"distance from {name}")
        axis.set_ylim(0, 1.02)
        axis.legend(fontsize=8, loc="lower right")
    axis.figure.axes[0].set_ylabel("share of samples")
    return figure
