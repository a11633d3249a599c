"""Animated pictures of legged robots (GIF), from plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diffsim_ros.viz import style
from diffsim_ros.viz.legged_robot import draw_robot
from diffsim_ros.viz.video import gif_bytes

Array = np.ndarray
SIZE, DPI = (3.6, 2.5), 90
"""Of a frame [in], and its resolution."""
SHADES = (0.3, 0.5, 0.75, 1.0)
"""Of every colour beside white, which smooth lines need."""
LINES = 4
"""Lines of the ground's grid over the width that is seen, about."""
FORCE = 1.2
"""Length of an arrow of one weight over half the width that is seen."""
HIGH, ZOOM = 0.6, 1.12
"""Height of what is seen over its width; how much of the frame it fills."""


def animation(frames: Sequence[Mapping[str, Any]], rate: float, title: str) -> bytes:
    """A GIF that repeats itself; the view goes with the robot, over a grid that stands still.

    frames  keywords of `draw_robot` each, and beside them
            contact (m,) flags;  forces (m, 3) of the ground, in weights
            turned  (m,) angles [rad] by which wheels have turned about their axes
    rate    frames a second [Hz]
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    drawn = []
    with style.styled():
        figure = style.new_figure(*SIZE)
        figure.set_layout_engine("none")
        figure.set_dpi(DPI)
        side = SIZE[0] / SIZE[1]  # axes in space are square
        axes = figure.add_axes((0.0, 0.5 - side / 2, 1.0, side), projection="3d")
        figure.text(0.03, 0.92, title, fontsize=8, color=style.MUTED)
        canvas = FigureCanvasAgg(figure)
        half = max(_reach(frame) for frame in frames)
        for frame in frames:
            axes.clear()
            _draw(axes, frame, half)
            canvas.draw()
            drawn.append(np.array(canvas.buffer_rgba())[..., :3])
    return gif_bytes(drawn, rate, _palette())


def _palette() -> Any:
    """A picture whose palette has the colours of what is drawn, in SHADES of them."""
    from matplotlib.colors import to_rgb
    from PIL import Image

    used = (style.INK, style.MUTED, style.SIMULATED, style.MEASURED, style.WARN, style.GREEN,
            style.PINK)  # fmt: skip
    shades = np.array(SHADES)[:, None]
    rows = [1.0 - shades * (1.0 - np.array(to_rgb(colour))) for colour in used]
    table = np.vstack([np.ones((1, 3)), to_rgb(style.GRID), *rows])
    found = Image.new("P", (1, 1))
    found.putpalette(np.rint(255 * table).astype(int).ravel().tolist())
    return found


def _reach(frame: Mapping[str, Any]) -> float:
    """Largest distance of what is drawn from the centre of mass, across the ground [m]."""
    points = np.vstack([np.reshape(frame["segments"], (-1, 3)), frame["points"]])
    away = np.abs(points[:, :2] - frame["centre_of_mass"][:2])
    return float(away.max() + np.max(frame["radii"], initial=0.0))


def _draw(axes: Any, frame: Mapping[str, Any], half: float) -> None:
    com = np.asarray(frame["centre_of_mass"])
    own = ("segments", "centres", "wheel_axes", "radii", "centre_of_mass")
    touching = frame["points"][np.asarray(frame["contact"], bool)]
    draw_robot(axes, points=touching, **{name: frame[name] for name in own})
    wheels = zip(
        frame["centres"], frame["wheel_axes"], frame["radii"], frame["turned"], strict=True
    )
    for centre, axis, radius, angle in wheels:
        if radius > 0.0:
            across = np.cross(axis, [0.0, 0.0, 1.0])
            up = np.cross(across, axis)
            spoke = radius * (np.sin(angle) * across + np.cos(angle) * up)
            axes.plot(*np.stack([centre - spoke, centre + spoke], 1), color=style.MEASURED, lw=1.2)
    for point, force, touches in zip(
        frame["points"], frame["forces"], frame["contact"], strict=True
    ):
        if touches:
            tip = point + FORCE * half * force
            axes.plot(*np.stack([point, tip], axis=1), color=style.WARN, lw=1.4)
    _ground(axes, com, half)
    for k, name in enumerate("xy"):
        getattr(axes, f"set_{name}lim")(com[k] - half, com[k] + half)
    axes.set_zlim(0.0, 2.0 * HIGH * half)
    axes.set_box_aspect((1.0, 1.0, HIGH), zoom=ZOOM)
    axes.set_axis_off()
    axes.view_init(elev=16, azim=-62)


def _ground(axes: Any, com: Array, half: float) -> None:
    """Lines of a grid that stands still, as far as the view goes."""
    apart = 2.0 * half / LINES
    for k in (0, 1):
        first, last = np.ceil((com[k] - half) / apart), np.floor((com[k] + half) / apart)
        for line in apart * np.arange(first, last + 1):
            ends = np.zeros((3, 2))
            ends[k] = line
            ends[1 - k] = com[1 - k] - half, com[1 - k] + half
            axes.plot(*ends, color=style.GRID, lw=0.9, zorder=0)
