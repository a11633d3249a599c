"""Throws as planned and as executed, from plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from diffsim_ros.viz import style
from diffsim_ros.viz.plots import in_style

COLOURS = (style.WARN, style.SIMULATED, *style.SPARE)


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
