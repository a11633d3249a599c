"""Pictures of a scene at rest and of its vibrations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffsim_ros.viz import style
from diffsim_ros.viz.markers import Marker
from diffsim_ros.viz.render import camera_for, render, render_png
from diffsim_ros.viz.scene_markers import body_markers, link_markers, surroundings

Array = np.ndarray
BACK = 1.2  # how much farther away than camera_for the camera stands
GHOST = 0.25  # opacity of what is left
COLUMNS, PANEL = 3, (640, 440)  # of the picture of shapes, pixels


@dataclass(frozen=True)
class Still:
    """Poses of all nodes that are not a motion, in place of a rollout.

    position (F, nodes, 3) [m], orientation (F, nodes, 4), world; at rest.
    """

    position: Array
    orientation: Array

    @property
    def time(self) -> Array:
        """(F,): the poses' numbers."""
        return np.arange(len(self.position), dtype=float)

    @property
    def velocity(self) -> Array:
        """(F, nodes, 3): zero."""
        return np.zeros_like(self.position)

    angular_velocity = velocity

    @property
    def contact_force(self) -> Array:
        """(F, 0, 3): none is shown."""
        return np.zeros((len(self.position), 0, 3))

    contact_point = contact_force


def markers(model: Any, still: Still) -> list[Marker]:
    """Bodies at the last pose, as ghosts at those before; links and surroundings at the last.

    Planes that a body carries, which may hide all, are left out.
    """
    found = link_markers(model, still)
    for marker in surroundings(model, still):
        sdf = model.sdfs[marker.id]
        if sdf.kind != "plane" or sdf.carrier is None:
            found.append(marker)
    last = len(still.position) - 1
    for name in model.bodies:
        if last:
            found += body_markers(model, still, name, np.arange(last), alpha=GHOST)
        found += body_markers(model, still, name, [last])
    return found


def camera_of(drawn: Sequence[Marker]) -> Any:
    """A camera that sees the bodies, tall ones too."""
    near = camera_for([m for m in drawn if m.ns.startswith("body/")], elevation=14.0)
    eye = np.array(near.target) + BACK * (np.array(near.eye) - np.array(near.target))
    return replace(near, eye=tuple(eye))


def still_png(model: Any, still: Still, title: str) -> bytes:
    """PNG of the last pose, those before as ghosts."""
    drawn = markers(model, still)
    return render_png(drawn, camera=camera_of(drawn), title=title)


def shapes_png(model: Any, stills: Sequence[Still], titles: Sequence[str]) -> bytes:
    """PNG of several stills side by side, seen from one place."""
    drawn = [markers(model, still) for still in stills]
    camera = camera_of([m for one in drawn for m in one])
    columns = min(COLUMNS, len(stills))
    rows = -(-len(stills) // columns)
    with style.styled():
        figure = style.new_figure(4.6 * columns, 3.5 * rows)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis in axes:
            axis.set_axis_off()
        for axis, one, title in zip(axes, drawn, titles, strict=False):
            axis.imshow(render(one, camera, PANEL))
            axis.set_title(title)
        return style.png_bytes(figure, dpi=100)
