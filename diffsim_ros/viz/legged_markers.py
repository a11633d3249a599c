"""A planned walk of a legged robot as markers: paths of feet, forces, support polygons, pattern."""

from __future__ import annotations

import colorsys
from dataclasses import replace
from typing import Any

import numpy as np

from diffsim_ros.rotation import quat_exp, quat_multiply, quat_rotate
from diffsim_ros.viz.markers import Action, Colour, Marker, MarkerKind
from diffsim_ros.viz.scene_markers import force_arrow

FORCES = 6
"""Samples at which forces are drawn."""
POLYGONS = 40
CELL, GAP = 0.012, 0.004
"""Of the footfall pattern [m]: a sample's width, and between rows."""
BODY: Colour = (0.35, 0.35, 0.4, 0.9)
SUPPORT: Colour = (0.2, 0.6, 0.3, 0.5)


def walk_markers(walk: Any, frame: str, where: np.ndarray | None = None) -> list[Marker]:
    """All markers of a `planning.locomotion.PlannedWalk`, in the place of the last walk's.

    where  (3,) the walk's own axes in `frame`: x, y [m], yaw [rad];  None: at its origin
    """
    drawn = _paths(walk, frame) + _forces(walk, frame) + _supports(walk, frame)
    drawn += _footfalls(walk, frame)
    if where is not None:
        turn, at = quat_exp([0.0, 0.0, where[2]]), np.array([where[0], where[1], 0.0])
        drawn = [
            replace(
                one, position=at + quat_rotate(turn, one.position),
                orientation=quat_multiply(turn, one.orientation),
            )
            for one in drawn
        ]  # fmt: skip
    return [Marker("", 0, action=Action.DELETE_ALL, frame_id=frame), *drawn]


def colours(count: int) -> list[Colour]:
    """One for each end effector."""
    return [(*colorsys.hsv_to_rgb(k / max(count, 1), 0.75, 0.85), 1.0) for k in range(count)]


def _paths(walk: Any, frame: str) -> list[Marker]:
    motion = walk.fine
    looks = {"frame_id": frame, "kind": MarkerKind.LINE_STRIP, "scale": (0.004, 1.0, 1.0)}
    found = [
        Marker("foot_paths", j, points=motion.contacts[walk.first :, j], colour=colour, **looks)
        for j, colour in enumerate(colours(motion.contacts.shape[1]))
    ]
    return [*found, Marker("body_path", 0, points=motion.com[walk.first :], colour=BODY, **looks)]


def _forces(walk: Any, frame: str) -> list[Marker]:
    motion, found = walk.motion, []
    for i in np.unique(np.linspace(0, motion.samples - 1, FORCES).astype(int)):
        for j in np.flatnonzero(motion.contact[i]):
            if np.linalg.norm(motion.forces[i, j]) > 0.0:
                arrow = force_arrow(len(found), motion.contacts[i, j], motion.forces[i, j])
                found.append(Marker(**{**vars(arrow), "frame_id": frame}))
    return found


def _supports(walk: Any, frame: str) -> list[Marker]:
    """Polygons of the feet on the ground, where these change, and at the end."""
    motion, found = walk.motion, []
    changes = np.flatnonzero(np.any(np.diff(motion.contact.astype(int), axis=0), axis=1)) + 1
    for i in [*[0, *changes.tolist()][:POLYGONS], motion.samples - 1]:
        corners = hull(motion.contacts[i][motion.contact[i]])
        if len(corners) > 1:
            closed = np.vstack([corners, corners[:1]])
            look = {"scale": (0.003, 1.0, 1.0), "colour": SUPPORT, "frame_id": frame}
            kind = MarkerKind.LINE_STRIP
            found.append(Marker("support", len(found), kind, points=closed, **look))
    return found


def hull(points: np.ndarray) -> np.ndarray:
    """Corners (k, 3) of the convex hull of points (n, 3) seen from above, in their order."""
    rows = points[np.lexsort(points.T[1::-1])]

    def half(run: np.ndarray) -> list[np.ndarray]:
        out: list[np.ndarray] = []
        for p in run:
            while len(out) > 1:
                a, b = (out[-1] - out[-2])[:2], (p - out[-2])[:2]
                if a[0] * b[1] - a[1] * b[0] > 0.0:
                    break
                out.pop()
            out.append(p)
        return out[:-1]

    if len(rows) < 3:
        return rows
    return np.array(half(rows) + half(rows[::-1]))


def _footfalls(walk: Any, frame: str) -> list[Marker]:
    """The pattern as a board beside the path: a row for each foot, filled in contact."""
    motion = walk.motion
    first = motion.com[0]
    reach = np.abs(motion.contacts[0, :, 1] - first[1]).max()
    found = []
    for j, colour in enumerate(colours(motion.contact.shape[1])):
        on = np.flatnonzero(motion.contact[:, j])
        height = 0.05 + (CELL + GAP) * (motion.contact.shape[1] - j)
        x = first[0] + CELL * np.arange(motion.samples)
        row = np.column_stack([
            x[on], np.full(len(on), first[1] + 2.0 * reach), np.full(len(on), height)
        ])  # fmt: skip
        if len(on):
            look = {"scale": (CELL, CELL, CELL), "colour": colour, "frame_id": frame}
            found.append(Marker("footfalls", j, MarkerKind.SPHERE_LIST, points=row, **look))
        found.append(Marker(
            "footfall_names", j, MarkerKind.TEXT, position=(x[0] - 3 * CELL, row[0, 1] if len(on)
            else first[1], height), scale=(1.0, 1.0, CELL), colour=colour, frame_id=frame,
            text=motion.end_effectors[j],
        ))  # fmt: skip
    return found
