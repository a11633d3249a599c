"""A plan as it is seen: the scene's motion, and the arm that executes it from its beginning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.robots.kinematics import joint_poses, link_pose
from diffsim_ros.robots.link_shapes import LinkSurface, link_shapes
from diffsim_ros.rotation import quat_from_matrix, quat_multiply
from diffsim_ros.viz.animation import Additions, Animation, scene_animation
from diffsim_ros.viz.markers import Marker, MarkerKind
from diffsim_ros.viz.player import rigid_mesh_data
from diffsim_ros.viz.scene_markers import PLANE_MARGIN

Array = np.ndarray
NAMESPACE = "robot/"
"""Begins that of an arm's links."""
ROOM = 1.0
"""How far the ground is drawn beyond the bodies, below an arm too [m]."""


@dataclass(frozen=True)
class Played:
    """A motion with what was before it, in place of a rollout: times (F,) [s] from the arm's
    start, and the arrays that pictures need."""

    time: Array
    position: Array
    orientation: Array
    contact_point: Array
    contact_force: Array


@dataclass(frozen=True, eq=False)
class PlanMotion:
    """What is seen of a plan.

    played  the scene's motion after the arm's swing towards its start
    shapes  of the arm's links;  poses  (F, joints + 1, 4, 4) of the base, then of the bodies that
            joints move; none without an arm
    """

    model: Any
    result: Any
    played: Any
    shapes: tuple[LinkSurface, ...] = ()
    poses: Array | None = None

    def animation(self) -> Animation:
        """Of bodies, forces, targets and arm."""
        first = self.robot(0)
        more = Additions(moving=lambda k: self._moved(first, k))
        return scene_animation(
            self.model, self.played, name=self.result.config.name, targets=self.result.targets,
            parts=more, wide=ROOM if self.shapes else PLANE_MARGIN,
        )  # fmt: skip

    def robot(self, frame: int, alpha: float = 1.0) -> list[Marker]:
        """The arm's links at a frame."""
        found = []
        for number, shape in enumerate(self.shapes):
            position, orientation = self._pose(shape, frame)
            colour = (*shape.colour[:3], alpha * shape.colour[3])
            found.append(
                Marker(
                    f"{NAMESPACE}{shape.link}", number, MarkerKind.TRIANGLE_LIST,
                    position=position, orientation=orientation, colour=colour,
                    points=shape.vertices[shape.triangles].reshape(-1, 3),
                )
            )  # fmt: skip
        return found

    def player_bodies(self, frames: Sequence[int]) -> list[dict]:
        """The arm's links as bodies of the report's player."""
        found = []
        for shape in self.shapes:
            poses = [self._pose(shape, int(k)) for k in frames]
            position, orientation = (np.array(part) for part in zip(*poses, strict=True))
            tint = "#" + "".join(f"{round(255 * part):02x}" for part in shape.colour[:3])
            mesh = shape.vertices, shape.triangles
            data = rigid_mesh_data(shape.link, tint, *mesh, position, orientation)
            found.append({**data, "still": True})
        return found

    def _moved(self, first: Sequence[Marker], frame: int) -> list[Marker]:
        pairs = zip(first, self.shapes, strict=True)
        return [marker.moved(*self._pose(shape, frame)) for marker, shape in pairs]

    def _pose(self, shape: LinkSurface, frame: int) -> tuple[Array, Array]:
        assert self.poses is not None
        pose = self.poses[frame, shape.carrier + 1]
        return pose[:3, 3], quat_from_matrix(pose[:3, :3])


def plan_motion(model: Any, result: Any) -> PlanMotion:
    """The best candidate's motion, of a planned scene's model."""
    rollout, carried = result.best.motion, result.carried
    if carried is None:
        return PlanMotion(model, result, rollout)
    arm, starts = result.config.task.arm, float(carried.figures.get("scene_starts", 0.0))
    time = np.asarray(rollout.time)
    before = _times_before(time, starts)
    played = _after_swing(model, result, before, starts)
    motion = carried.motion.ordered(arm.robot.joint_names)
    q = motion.at(np.minimum(played.time, motion.duration))[0]
    base = np.broadcast_to(arm.base, (len(q), 4, 4))
    poses = np.stack([base, *joint_poses(arm.robot, q, arm.base)], axis=1)
    return PlanMotion(model, result, played, link_shapes(arm.robot), poses)


def _times_before(time: Array, starts: float) -> Array:
    """Times (k,) [s] of the swing, as far apart as the motion's frames."""
    apart = float(np.median(np.diff(time))) if len(time) > 1 else 0.01
    return np.arange(0.0, starts - 0.5 * apart, apart)


def _after_swing(model: Any, result: Any, before: Array, starts: float) -> Played:
    """The motion after frames in which nothing moves but what the arm holds, with its tool."""
    rollout, task = result.best.motion, result.config.task
    arrays = {
        name: np.asarray(getattr(rollout, name))
        for name in ("position", "orientation", "contact_point", "contact_force")
    }
    ahead = {name: np.repeat(value[:1], len(before), axis=0) for name, value in arrays.items()}
    ahead["contact_force"] = np.zeros_like(ahead["contact_force"])
    held = getattr(getattr(task, "release", None), "body", None)
    if held is not None and len(before):
        first, count = model.engine.nodes_of(held)
        rows = slice(first, first + count)
        arm, motion = task.arm, result.carried.motion.ordered(task.arm.robot.joint_names)
        q = motion.at(np.array([*before, starts]))[0]
        tool = link_pose(arm.robot, q, arm.tool, arm.base)
        for k in range(len(before)):
            moved = tool[k] @ np.linalg.inv(tool[-1])
            start = arrays["position"][0, rows]
            ahead["position"][k, rows] = start @ moved[:3, :3].T + moved[:3, 3]
            turn = quat_from_matrix(moved[:3, :3])
            ahead["orientation"][k, rows] = quat_multiply(turn, arrays["orientation"][0, rows])
    joined = {name: np.concatenate([ahead[name], value]) for name, value in arrays.items()}
    return Played(np.concatenate([before, starts + np.asarray(rollout.time)]), **joined)
