"""Distance of an arm from obstacles and from itself.

Links are capsules (robot.py), obstacles signed distance functions of the engine in the world, so
the surfaces of a scene serve as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from diffsim_ros.errors import InputError

from .arm import Arm
from .kinematics import joint_poses
from .robot import Capsule, Robot

DENSE = 0.5
"""Distance of the spheres that stand for a capsule against a surface, in its radii."""
NEIGHBOURS = 0.02
"""Distance at home [m] below which two links are not held against each other."""


class Clearance:
    """Distances of an arm to surfaces and to itself: the argument `clearance` of `follow`.

    surfaces  name -> _engine Sdf, world frame (e.g. `SceneModel.surfaces`)
    held      more capsules, as of a gripper or what it holds
    Links on the base or the first joint are not checked against surfaces (the arm stands on one),
    nor links less than two joints apart against each other, nor pairs within 2 cm at home: capsules
    are wider than links.  Links whose <collision> is a mesh are left out.
    """

    def __init__(
        self, arm: Arm, surfaces: Mapping[str, object], held: Sequence[Capsule] = ()
    ) -> None:
        if arm.base is None:
            raise InputError("robot", "base", None, "an arm whose place in the world is known")
        self.arm, self.surfaces = arm, dict(surfaces)
        self.shapes = (*arm.robot.shapes, *held)
        firsts = [i for i, joint in enumerate(arm.robot.joints) if joint.parent < 0]
        self.free = [i for i, s in enumerate(self.shapes) if s.carrier not in (-1, *firsts)]
        self.pairs = np.zeros((0, 2), int)
        count = len(self.shapes)
        carriers = [shape.carrier for shape in self.shapes]
        apart = [
            (i, j)
            for i in range(count)
            for j in range(i)
            if len(joints_between(arm.robot, carriers[i], carriers[j])) >= 2
        ]
        if apart:
            self.pairs = np.array(apart)
            self.pairs = self.pairs[self._between(self._ends(arm.home[None]))[0] > NEIGHBOURS]

    def __call__(self, q: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """q (m, n) of all joints -> smallest distance (m,) [m], < 0 within, and between what."""
        ends = self._ends(np.asarray(q, float))
        distances, names = [np.full((len(ends), 1), np.inf)], ["nothing"]
        for name, sdf in self.surfaces.items():
            for i in self.free:
                distances.append(self._to_surface(ends[:, i], self.shapes[i].radius, sdf)[:, None])
                names.append(f"{self.shapes[i].link} and {name}")
        distances.append(self._between(ends))
        names += [f"{self.shapes[i].link} and {self.shapes[j].link}" for i, j in self.pairs]
        rows = np.concatenate(distances, axis=1)
        near = np.argmin(rows, axis=1)
        return rows[np.arange(len(rows)), near], [names[k] for k in near]

    def _ends(self, q: np.ndarray) -> np.ndarray:
        """Ends of all capsules in the world (m, capsules, 2, 3)."""
        poses = joint_poses(self.arm.robot, q, self.arm.base)
        still = np.broadcast_to(self.arm.base, (len(q), 4, 4))
        rows = []
        for shape in self.shapes:
            pose = poses[shape.carrier] if shape.carrier >= 0 else still
            rows.append(shape.ends @ np.swapaxes(pose[:, :3, :3], 1, 2) + pose[:, None, :3, 3])
        return np.stack(rows, axis=1) if rows else np.zeros((len(q), 0, 2, 3))

    @staticmethod
    def _to_surface(ends: np.ndarray, radius: float, sdf) -> np.ndarray:
        """Distances (m,) of capsules with these ends (m, 2, 3), by spheres along them."""
        length = np.linalg.norm(ends[0, 1] - ends[0, 0])
        share = np.linspace(0, 1, int(np.ceil(length / (DENSE * radius))) + 1)[:, None]
        points = ends[:, :1] + share * (ends[:, 1:] - ends[:, :1])
        gaps = sdf.evaluate(points.reshape(-1, 3))[0]
        return gaps.reshape(len(ends), -1).min(axis=1) - radius

    def _between(self, ends: np.ndarray) -> np.ndarray:
        """Distances (m, pairs) of pairs of capsules."""
        one, other = ends[:, self.pairs[:, 0]], ends[:, self.pairs[:, 1]]
        radii = np.array([shape.radius for shape in self.shapes])[self.pairs].sum(axis=1)
        return segment_distances(one, other) - radii


def joints_between(robot: Robot, one: int, other: int) -> set[int]:
    """Joints that move the bodies of two carriers (-1: the base) relative to each other."""
    return set(robot.branch(one)) ^ set(robot.branch(other))


def segment_distances(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distances (...,) [m] of segments by their ends (..., 2, 3)."""
    return _segments(one[..., 0, :], one[..., 1, :], other[..., 0, :], other[..., 1, :])


def _segments(a, b, c, d) -> np.ndarray:
    """Distances of segments a-b and c-d, points (..., 3) [Ericson, Real-time collision, 5.1.9]."""
    u, v, w = b - a, d - c, a - c
    uu, vv, uv = (u * u).sum(-1), (v * v).sum(-1), (u * v).sum(-1)
    uw, vw = (u * w).sum(-1), (v * w).sum(-1)
    tiny = 1e-12
    s = np.clip((uv * vw - vv * uw) / np.maximum(uu * vv - uv * uv, tiny), 0, 1)
    t = np.clip((uv * s + vw) / np.maximum(vv, tiny), 0, 1)
    s = np.clip((uv * t - uw) / np.maximum(uu, tiny), 0, 1)
    return np.linalg.norm(w + s[..., None] * u - t[..., None] * v, axis=-1)
