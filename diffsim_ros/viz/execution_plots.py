"""A plan's body as planned and as it moved, and how the joints followed, from plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.viz import style
from diffsim_ros.viz.plots import in_style

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class BodyPath:
    """A body's centre: times (n,) [s] from the start of the plan's scene and places (n, 3) [m]."""

    times: np.ndarray
    places: np.ndarray


@in_style
def execution_figure(
    title: str,
    planned: BodyPath,
    executed: BodyPath,
    targets: Mapping[str, tuple[float, np.ndarray, float]],
    joints: tuple[np.ndarray, np.ndarray],
) -> Figure:
    """The centre's coordinates over time, planned and executed; then the joints' differences.

    targets  goal of a place -> time [s], place (3,) [m], tolerance [m]
    joints   times (m,) [s] on the same clock; executed less sent (m, joints) [rad]
    """
    figure = Figure(figsize=(6.4, 7.2), layout="constrained")
    axes = figure.subplots(4, 1, sharex=True)
    for k, (axis, name) in enumerate(zip(axes, AXES, strict=False)):
        axis.plot(executed.times, executed.places[:, k], color=style.SIMULATED, label="executed")
        axis.plot(planned.times, planned.places[:, k], "--", color=style.INK, linewidth=1.2,
                  label="planned")  # fmt: skip
        for label, (time, place, tolerance) in targets.items():
            axis.errorbar([time], [place[k]], yerr=tolerance, fmt="+", color=style.WARN,
                          capsize=4, markersize=9, label=f"{label}, tolerance")  # fmt: skip
        axis.set_ylabel(f"{name} [m]")
    axes[0].legend(loc="best")
    axes[0].set_title(title)
    times, away = joints
    axes[3].plot(times, away, linewidth=1.0)
    axes[3].axvline(0.0, color=style.MUTED, linewidth=1)
    axes[3].set_ylabel("joints: executed\nless sent [rad]")
    axes[3].set_xlabel("time from the start of the plan's scene [s]")
    return figure
