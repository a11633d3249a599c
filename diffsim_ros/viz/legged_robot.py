"""Line drawings of legged robots and their footfall patterns, from plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from diffsim_ros.viz import style
from diffsim_ros.viz.plots import in_style

Array = np.ndarray
AROUND = np.linspace(0.0, 2.0 * np.pi, 33)
MARGIN = 1.1  # of what is seen over the largest extent


def draw_robot(
    axes: Any, segments: Array, centres: Array, wheel_axes: Array, radii: Array, points: Array,
    centre_of_mass: Array, names: Sequence[str] = (),
) -> None:  # fmt: skip
    """Draw one pose into 3D axes of Matplotlib [m, world].

    segments  (k, 2, 3) of links;  centres, wheel_axes, radii  of end effectors (m, 3), (m, 3), (m,)
    points    (m, 3) at which they touch the ground: their hull is the support polygon
    """
    for start, end in segments:
        axes.plot(*np.stack([start, end], axis=1), color=style.INK, lw=1.8)
    joints = segments[:, 0]
    axes.scatter(*joints.T, s=10, color=style.SIMULATED, depthshade=False)
    for centre, axis, radius in zip(centres, wheel_axes, radii, strict=True):
        if radius > 0.0:
            axes.plot(*_circle(centre, axis, radius).T, color=style.MEASURED, lw=1.4)
            ends = centre + 0.6 * radius * np.array([[-1.0], [1.0]]) * axis
            axes.plot(*ends.T, color=style.WARN, lw=1.4)
        else:
            axes.scatter(*centre[:, None], s=22, color=style.MEASURED, depthshade=False)
    hull = _hull(points[:, :2])
    closed = np.vstack([hull, hull[:1]])
    ground = np.column_stack([closed, np.zeros(len(closed))])
    axes.plot(*ground.T, color=style.GREEN, lw=1.2)
    x, y, z = centre_of_mass
    axes.plot([x, x], [y, y], [0.0, z], color=style.PINK, lw=1.0, ls="--")
    axes.scatter([x], [y], [z], s=24, color=style.PINK, depthshade=False)
    for name, point in zip(names, points, strict=False):
        axes.text(*point, name, fontsize=7, color=style.MUTED)
    _frame(axes, np.vstack([segments.reshape(-1, 3), ground]))


@in_style
def standing_picture(title: str, **drawn: Any) -> Figure:
    """Four views of one pose; keywords as arguments of `draw_robot`."""
    figure = style.new_figure(9.0, 8.0)
    views = ((22, -55, "from the front right", ""), (0, -90, "from the right", "y"),
             (0, 0, "from ahead", "x"), (90, -90, "from above", "z"))  # fmt: skip
    for k, (elevation, azimuth, name, along) in enumerate(views):
        axes = figure.add_subplot(2, 2, k + 1, projection="3d")
        if k:
            axes.set_proj_type("ortho")
        axes.view_init(elevation, azimuth)
        draw_robot(axes, **drawn)
        if along:  # seen end on
            getattr(axes, f"set_{along}ticks")([])
            getattr(axes, f"set_{along}label")("")
        axes.set_title(name, fontsize=9)
    figure.suptitle(title)
    return figure


@in_style
def footfall_picture(names: Sequence[str], contact: Array, title: str = "") -> Figure:
    """Bars where end effectors touch the ground; contact (samples, m) of one period."""
    figure = style.new_figure(6.0, 0.7 + 0.3 * len(names))
    axes = figure.subplots()
    samples = len(contact)
    for j, name in enumerate(names):
        for k in np.flatnonzero(contact[:, j]):
            axes.barh(j, 1.0 / samples, left=k / samples, height=0.7, color=style.SIMULATED)
        axes.text(-0.01, j, name, ha="right", va="center", fontsize=9)
    axes.set_yticks([])
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("share of the period; bars: contact")
    axes.set_title(title)
    return figure


def _circle(centre: Array, axis: Array, radius: float) -> Array:
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    u = np.cross(axis, other)
    u /= np.linalg.norm(u)
    v = np.cross(axis, u)
    return centre + radius * (np.outer(np.cos(AROUND), u) + np.outer(np.sin(AROUND), v))


def _hull(points: Array) -> Array:
    """Corners (p, 2) of the convex hull of points (m, 2), or the points if they are on a line."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return points


def _frame(axes: Any, points: Array) -> None:
    """Equal scales about all points."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = (low + high) / 2.0, MARGIN * float((high - low).max()) / 2.0
    for k, name in enumerate("xyz"):
        getattr(axes, f"set_{name}lim")(middle[k] - half, middle[k] + half)
        getattr(axes, f"set_{name}label")(f"{name} [m]", fontsize=7)
    axes.set_box_aspect((1, 1, 1))
    axes.tick_params(labelsize=6)
