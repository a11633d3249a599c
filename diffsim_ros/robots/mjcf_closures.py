"""What an MJCF's equality constraints hold together: `connect` a point, `weld` a pose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.rotation import quat_matrix

from .mjcf import Mjcf, Placed

Array = np.ndarray
CONNECT, WELD = 0, 1  # mjtEq
SITE = 6  # mjtObj
KINDS = {CONNECT: "ball", WELD: "weld"}


@dataclass(frozen=True)
class MjcfClosure:
    """A constraint between two bodies that joints move, or one and the world (0).

    number  of the equality constraint
    kind    ball or weld
    frames  pose (4, 4) in each of the bodies, of what is held together
    """

    name: str
    number: int
    kind: str
    bodies: tuple[int, int]
    frames: tuple[Array, Array]

    def gap(self, start: Placed) -> tuple[float, float]:
        """Distance [m] and angle [rad] between the two frames; a ball has no angle."""
        one, other = (self.pose(start, end) for end in (0, 1))
        distance = float(np.linalg.norm(other[:3, 3] - one[:3, 3]))
        if self.kind == "ball":
            return distance, 0.0
        cosine = (np.trace(one[:3, :3].T @ other[:3, :3]) - 1) / 2
        return distance, float(np.arccos(np.clip(cosine, -1, 1)))

    def pose(self, start: Placed, end: int) -> Array:
        """(4, 4) of a frame in the file's world."""
        motion = start.body(self.bodies[end])
        return pose_of(motion.position, motion.turn) @ self.frames[end]


def closures(mjcf: Mjcf) -> list[MjcfClosure]:
    """The active `connect` and `weld` constraints of bodies that move, in the file's order.

    To be asked for once: names are taken.
    """
    model, found = mjcf.model, []
    for k in range(model.neq):
        kind = int(model.eq_type[k])
        if kind not in KINDS or not model.eq_active0[k] or not mjcf.flags.equality:
            continue
        bodies, frames = _ends(model, k, kind)
        leads = tuple(int(model.body_weldid[b]) for b in bodies)
        if leads[0] == leads[1] or not any(lead in mjcf.inertials for lead in leads):
            continue
        given = mjcf.name_of("equality", k)
        name = mjcf.names.take("equality", given, f"closure{k + 1}", "_closure")
        held = tuple(mjcf.in_lead(b) @ F for b, F in zip(bodies, frames, strict=True))
        turns = kind == WELD and model.eq_data[k][10] != 0  # its torquescale
        word = KINDS[WELD if turns else CONNECT]
        found.append(MjcfClosure(name, k, word, (leads[0], leads[1]), (held[0], held[1])))
    return found


def _ends(model: Any, k: int, kind: int) -> tuple[tuple[int, int], tuple[Array, Array]]:
    """Both MJCF bodies of a constraint, and the frame in each."""
    one, other = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    if model.eq_objtype[k] == SITE:
        frames = [
            pose_of(model.site_pos[i], quat_matrix(model.site_quat[i][[1, 2, 3, 0]]))
            for i in (one, other)
        ]
        return (int(model.site_bodyid[one]), int(model.site_bodyid[other])), (frames[0], frames[1])
    data = model.eq_data[k]
    if kind == CONNECT:  # the point in either body
        return (one, other), (pose_of(data[:3]), pose_of(data[3:6]))
    # A point of the second body; where it is in the first, and that body's orientation there.
    turn = quat_matrix(data[[7, 8, 9, 6]])
    return (one, other), (pose_of(data[3:6], turn), pose_of(data[:3]))


def pose_of(position: Array, turn: Array | None = None) -> Array:
    """(4, 4) of a position and a rotation matrix."""
    pose = np.eye(4)
    pose[:3, 3] = position
    if turn is not None:
        pose[:3, :3] = turn
    return pose
