"""A simulated scene as markers: bodies at an instant, their paths, and what surrounds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diffsim_ros.rotation import quat_matrix, quat_multiply
from diffsim_ros.scene.links.link import End
from diffsim_ros.scene.vertices import centre_of, vertex_positions
from diffsim_ros.viz import style
from diffsim_ros.viz.field_colours import FieldColours
from diffsim_ros.viz.iso import zero_set
from diffsim_ros.viz.markers import Marker, MarkerKind, force_arrow, rgba

GHOSTS = 8  # poses of each body in the picture
SOFT_GHOSTS = 5  # and of soft ones, whose pictures hide more
ARROWS = 200  # most contact forces in the picture
LEAST = 1e-3  # of the strongest, that is drawn
POINT_SIZE = 0.02  # diameter at which a point mass is drawn [m]
LINE_WIDTH = 0.004  # of strings [m]
LINK_WIDTH = 0.002  # of springs and cables [m]
LINK_COLOUR = (0.35, 0.37, 0.42, 1.0)
PLANE_MARGIN = 0.5  # how far a plane is drawn beyond the motion [m]
TARGET_SIZE = 0.02  # diameter of the ball at a target [m]
GREY = (0.90, 0.91, 0.93, 1.0)


def solid(
    kind: str, size: Sequence[float], vertices: np.ndarray, triangles: np.ndarray
) -> dict[str, Any]:
    """Kind, scale and points of a Marker of a rigid body: its triangles (k, 3) if it has some, else
    a box or a ball with bounding edges `size`."""
    if len(triangles):
        points = vertices[triangles].reshape(-1, 3)
        return {"kind": MarkerKind.TRIANGLE_LIST, "scale": (1.0, 1.0, 1.0), "points": points}
    kinds = {"box": MarkerKind.CUBE}
    return {"kind": kinds.get(kind, MarkerKind.SPHERE), "scale": tuple(size)}


def body_markers(
    scene: Any, rollout: Any, name: str, frames: Any, *, ids: Any = None, alpha: float = 1.0,
    field: FieldColours | None = None,
) -> list[Marker]:  # fmt: skip
    """Markers of one body at recorded frames, one each; `ids` default to the frames.

    field  by which solids are coloured; None: their own colour
    Rigid shapes by their pose, solids and cloth as TRIANGLE_LIST (cloth with both sides),
    strings as LINE_LIST.
    """
    info, frames = scene.bodies[name], np.atleast_1d(frames)
    ids = frames if ids is None else ids
    colour = (*info.colour[:3], info.colour[3] * alpha)
    if info.kind == "soft":
        vertices = vertex_positions(scene, rollout, name, frames)
        tints: list[Any] = [None] * len(frames)
        if field is not None and name in field.values:
            tints = [field.at(name, int(k), colour[3]) for k in frames]
        return [
            _soft(name, info, int(i), x, colour, tint)
            for i, x, tint in zip(ids, vertices, tints, strict=True)
        ]
    if info.kind == "frame":
        return []
    row = scene.engine.nodes_of(name)[0]
    size = info.size if info.kind != "point" else (POINT_SIZE,) * 3
    look = solid(info.kind, size, info.vertices, info.triangles)
    return [
        Marker(
            f"body/{name}",
            int(i),
            position=rollout.position[k, row],
            orientation=rollout.orientation[k, row],
            colour=colour,
            **look,
        )
        for i, k in zip(ids, frames, strict=True)
    ]


def _soft(
    name: str, info: Any, number: int, vertices: np.ndarray, colour: Any, tint: np.ndarray | None
) -> Marker:
    """tint: colours (n, 4) of the vertices, or None."""
    if len(info.triangles):
        faces = info.triangles
        if info.sheet:
            faces = np.concatenate([faces, faces[:, ::-1]])
        points = vertices[faces].reshape(-1, 3)
        return Marker(
            f"body/{name}", number, MarkerKind.TRIANGLE_LIST, colour=colour, points=points,
            colours=() if tint is None else tint[faces].reshape(-1, 4),
        )  # fmt: skip
    points = vertices[info.lines].reshape(-1, 3)
    scale = (LINE_WIDTH, 0.0, 0.0)
    return Marker(
        f"body/{name}", number, MarkerKind.LINE_LIST, scale=scale, colour=colour, points=points
    )


def picture_markers(scene: Any, rollout: Any, field: FieldColours | None = None) -> list[Marker]:
    """Bodies at some instants (the last one solid), their paths, links and the surroundings."""
    found = surroundings(scene, rollout) + link_markers(scene, rollout)
    last = len(rollout.time) - 1
    for name, info in scene.bodies.items():
        ghosts = SOFT_GHOSTS if info.kind == "soft" else GHOSTS
        frames = instants(rollout, ghosts)
        found += body_markers(scene, rollout, name, frames[:-1], alpha=0.25, field=field)
        found += body_markers(scene, rollout, name, frames[-1:], field=field)
        if last > 0 and info.kind != "frame":
            path = centre_of(scene, rollout, name)["position"]
            found.append(
                Marker(
                    f"path/{name}",
                    0,
                    MarkerKind.LINE_STRIP,
                    scale=(0.003, 0.0, 0.0),
                    colour=(*info.colour[:3], 0.8),
                    points=path,
                )
            )
    return found


def force_markers(rollout: Any) -> list[Marker]:
    """Contact forces at the bodies' instants and where each touch presses hardest, as arrows.

    At most ARROWS, the strongest.
    """
    point, force = np.asarray(rollout.contact_point), np.asarray(rollout.contact_force)
    if not force.size:
        return []
    total = np.linalg.norm(force, axis=2).sum(axis=1)
    touching = np.flatnonzero(total > 0.0)
    touches = np.split(touching, np.flatnonzero(np.diff(touching) > 1) + 1)
    peaks = [touch[total[touch].argmax()] for touch in touches if len(touch)]
    frames = np.union1d(instants(rollout, GHOSTS), np.array(peaks, int))
    places, forces = (x[frames].reshape(-1, 3) for x in (point, force))
    size = np.linalg.norm(forces, axis=1)
    strongest = [i for i in np.argsort(-size)[:ARROWS] if size[i] > LEAST * size.max()]
    return [force_arrow(k, places[i], forces[i]) for k, i in enumerate(strongest)]


def instants(rollout: Any, count: int) -> np.ndarray:
    """Numbers of `count` recorded frames from the first to the last, evenly in time."""
    return np.unique(np.linspace(0, len(rollout.time) - 1, count).round().astype(int))


def target_markers(targets: Mapping[str, Any]) -> list[Marker]:
    """A ball of TARGET_SIZE at every target: name -> place [m, world]."""
    return [
        Marker(
            "target",
            i,
            MarkerKind.SPHERE,
            position=place,
            scale=(TARGET_SIZE,) * 3,
            colour=rgba(style.MEASURED),
        )
        for i, place in enumerate(targets.values())
    ]


def surroundings(
    scene: Any, rollout: Any, frame: int = -1, margin: float = PLANE_MARGIN
) -> list[Marker]:
    """Surfaces; a plane is a thin box around the motion, a level one a table with shadows.

    What a body carries is drawn where it is at `frame`; `margin` [m] of planes beyond the motion.
    """
    places = rollout.position.reshape(-1, 3)
    found = []
    for i, sdf in enumerate(scene.sdfs):
        position, orientation = pose_at(scene, rollout, sdf, frame)
        kind, size, ns, points = MarkerKind.CUBE, sdf.size, f"sdf/{sdf.name}", ()
        turn = quat_matrix(orientation)
        if sdf.kind == "sphere":
            kind = MarkerKind.SPHERE
        elif sdf.kind == "plane":
            if sdf.carrier is None and turn[2, 2] > 1 - 1e-9:
                ns = "table"
            local = (places - position) @ turn
            low, high = local.min(axis=0)[:2] - margin, local.max(axis=0)[:2] + margin
            size = (*(high - low), 0.01)
            position = position + turn @ np.array([*(low + high) / 2, -0.005])
        elif sdf.kind == "implicit":
            kind, size = MarkerKind.TRIANGLE_LIST, (1.0, 1.0, 1.0)
            points = zero_set(sdf.sdf.evaluate, sdf.size).reshape(-1, 3)
        found.append(
            Marker(
                ns,
                i,
                kind,
                position=position,
                orientation=orientation,
                scale=tuple(map(float, size)),
                colour=GREY,
                points=points,
            )
        )
    return found


def pose_at(scene: Any, rollout: Any, sdf: Any, frame: int) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) and quaternion (4,) of a surface's part at a recorded frame, world."""
    position, orientation = np.array(sdf.position), np.array(sdf.orientation)
    if sdf.carrier is None:
        return position, orientation
    row = scene.engine.nodes_of(sdf.carrier)[0]
    turn = rollout.orientation[frame, row]
    moved = rollout.position[frame, row] + quat_matrix(turn) @ position
    return moved, quat_multiply(turn, orientation)


def link_markers(scene: Any, rollout: Any, frame: int = -1) -> list[Marker]:
    """One LINE_LIST for every link that has lines (springs, cables), at a recorded frame."""
    found = []
    for i, link in enumerate(scene.parts.links):
        ends = [end for pair in link.lines() for end in pair]
        if not ends:
            continue
        points = np.array([place_at(scene, rollout, end, frame) for end in ends])
        look = {"scale": (LINK_WIDTH, 0.0, 0.0), "colour": LINK_COLOUR, "points": points}
        found.append(Marker(f"link/{link.name}", i, MarkerKind.LINE_LIST, **look))
    return found


def place_at(scene: Any, rollout: Any, end: End, frame: int = -1) -> np.ndarray:
    """Place (3,) of a link's end at a recorded frame, world frame [m]."""
    if end.world is not None:
        return np.array(end.world)
    if end.vertex is not None:
        row = np.array([frame % len(rollout.time)])
        return vertex_positions(scene, rollout, end.body, row)[0, end.vertex]
    row = scene.engine.nodes_of(end.body)[0]
    turn = quat_matrix(np.asarray(rollout.orientation)[frame, row])
    return np.asarray(rollout.position)[frame, row] + turn @ np.array(end.point)
