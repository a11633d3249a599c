"""Figures of motions of arms and bodies, planned and executed, from plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from diffsim_ros.viz import style
from diffsim_ros.viz.plots import in_style

COLOURS = (style.WARN, style.SIMULATED, *style.SPARE)
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
    for axis, (label, limit), values in zip(axes, ROWS, curves, strict=True):
        most = 1.0 if limit is None else getattr(limits, limit)
        for i, row in enumerate((values / most).T):
            name = trajectory.names[i].removesuffix("_joint").replace("_", " ")
            axis.plot(times, row, color=style.SERIES[i % len(style.SERIES)], lw=1.4, label=name)
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
    for k, (axis, name) in enumerate(zip(axes, "xyz", strict=False)):
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


@dataclass(frozen=True)
class ThrowPath:
    """label; planned and executed places (n, 3) [m]; at: where it was executed to at the goal's
    time (3,), `error` [m] from the target."""

    label: str
    planned: np.ndarray
    executed: np.ndarray
    at: np.ndarray
    error: float


@in_style
def throws_figure(
    throws: Sequence[ThrowPath], target: np.ndarray, tolerance: float, radius: float
) -> Figure:
    """Side view along the throw: planned paths dashed, executed ones whole, the target's circle.

    radius  of the body [m], whose outline shows where it was at the goal's time
    """
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    axis = figure.add_subplot()
    start = throws[0].planned[0]
    along = (target - start) * (1, 1, 0)
    along = along / max(np.linalg.norm(along), 1e-9)

    def side(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (places - start) @ along, places[..., 2]

    for throw, colour in zip(throws, COLOURS, strict=False):
        axis.plot(*side(throw.planned), "--", color=colour, linewidth=1.2)
        axis.plot(*side(throw.executed), color=colour,
                  label=f"{throw.label}: {100 * throw.error:.1f} cm off")  # fmt: skip
        axis.add_patch(Circle(side(throw.at), radius, color=colour, alpha=0.25, linewidth=0))
        axis.plot(*side(throw.at), "o", color=colour, markersize=4)
    axis.add_patch(Circle(side(target), tolerance, fill=False, color=style.INK, linewidth=1.4))
    axis.plot(*side(target), "+", color=style.INK, markersize=9, label="target and tolerance")
    axis.axhline(0.0, color=style.MUTED, linewidth=2)
    axis.set_aspect("equal")
    axis.set_xlabel("along the throw [m]")
    axis.set_ylabel("height [m]")
    axis.set_title("One task, before and after estimation (dashed: planned)")
    axis.legend(loc="upper right")
    return figure
