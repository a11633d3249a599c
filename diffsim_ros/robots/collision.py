"""Distance of a motion from obstacles: the arm itself, its surroundings, what it holds.

Solids are exact (collision_solids.py), obstacles signed distance functions in the world; the whole
motion is checked, between its points too (collision_sweep.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from .arm import Arm
from .collision_distance import above, distances, half_space
from .collision_solids import Solid, gripper_of, solids_of
from .collision_sweep import Pair, Sweep
from .kinematics import joint_poses
from .obstacles import joints_between
from .robot import Robot
from .trajectory import JointTrajectory

OWN = 0.5
"""Share of the margin between links: no measured place of a thing is between them."""


class Cancelled(InputError):
    """A check that was cancelled; an unknown result counts as a refusal."""

    def __init__(self) -> None:
        super().__init__("trajectory", "collision check", "cancelled", "a check that was finished")


@dataclass(frozen=True)
class Around:
    """Obstacles of a motion, in the world.

    obstacles   name -> signed distance function, `evaluate(points (n, 3))[0]` -> (n,) [m]
    held        solids that the arm carries
    allowed     whether two names may touch
    """

    obstacles: Mapping[str, Any] = field(default_factory=dict)
    held: Sequence[Solid] = ()
    allowed: Callable[[str, str], bool] = lambda one, other: False


class CollisionCheck:
    """Checks motions of an arm that keep this margin [m] from things, and OWN of it from itself.

    Pairs of solids that one joint moves (neighbours) are left out, and those nearer than the margin
    at home; so are the base, and what the first joint moves against obstacles that it is near to at
    home: it stands on them.
    unchecked  sentences about what is not checked
    """

    def __init__(
        self, arm: Arm, margin: float = 0.01, packages: Mapping[str, Any] | None = None
    ) -> None:
        if arm.base is None:
            raise InputError("robot", "base", None, "an arm whose place in the world is known")
        if not 0.0 <= margin < 1.0:
            raise InputError("collision", "margin", margin, "0 to 1 m")
        self.arm, self.margin = arm, float(margin)
        solids, self.unchecked = solids_of(arm.robot, packages)
        self.solids = [*solids, *gripper_of(arm)]
        self._home = self.world(arm.home[None])
        pairs = [
            self._self_pair(one, other, OWN * self.margin)
            for i, one in enumerate(self.solids)
            for other in self.solids[:i]
            if len(joints_between(arm.robot, one.carrier, other.carrier)) >= 2
        ]
        self._pairs = [pair for pair in pairs if self._apart_at_home(pair)]
        for pair in pairs:
            if pair not in self._pairs:
                names = " and ".join(pair.names)
                why = f"they are nearer than {pair.margin:g} m at home"
                self.unchecked.append(f"{names} are not held against each other: {why}")

    # --- what is asked --------------------------------------------------------------------------

    def check(
        self,
        trajectory: JointTrajectory,
        around: Around | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> list[str]:
        """Sentences about what was not checked, where nothing comes within the margin.

        Raises InputError naming both objects, time, distance and margin; Cancelled soon after
        `cancelled()` is true.  A pair that begins nearer than the margin may only move apart until
        it is kept.
        """
        self._check_numbers(trajectory)

        def ask() -> None:
            if cancelled():
                raise Cancelled

        ask()
        pairs = self._all_pairs(around or Around())
        return [*self.unchecked, *Sweep(self, trajectory, pairs, ask).sentences()]

    def distances(
        self, q: np.ndarray, around: Around | None = None
    ) -> tuple[np.ndarray, list[tuple[str, str]]]:
        """Distances (m, pairs) [m] at joint values (m, n), and the names of the pairs."""
        pairs = self._all_pairs(around or Around())
        world, enough = self.world(np.asarray(q, float)), np.full(len(q), np.inf)
        found = [self.exact(pair, world, enough) for pair in pairs]
        return np.array(found).reshape(len(pairs), len(q)).T, [pair.names for pair in pairs]

    def _check_numbers(self, trajectory: JointTrajectory) -> None:
        names = self.arm.robot.joint_names
        if trajectory.names != names:
            raise InputError("trajectory", "joints", list(trajectory.names), ", ".join(names))
        for key in ("times", "positions", "velocities", "accelerations"):
            value = getattr(trajectory, key)
            if value is not None and not np.all(np.isfinite(value)):
                raise InputError("trajectory", key, "NaN or infinite", "finite numbers")

    # --- pairs ----------------------------------------------------------------------------------

    def _self_pair(self, one: Solid, other: Solid, margin: float) -> Pair:
        """Cells are made of the smaller one, and of a mesh only where both are: it is slower."""
        joints = joints_between(self.arm.robot, one.carrier, other.carrier)
        small, large = sorted(
            (one, other), key=lambda s: (s.kind == "mesh", np.prod(s.half + 0.01))
        )
        return Pair(small, large, large.name, large.field, None, frozenset(joints), margin)

    def _all_pairs(self, around: Around) -> list[Pair]:
        """Pairs of links, of what is held, and of obstacles, that may not touch."""
        robot, found = self.arm.robot, [*self._pairs]
        for held in around.held:
            for solid in self.solids:
                if len(joints_between(robot, held.carrier, solid.carrier)) >= 2:
                    found.append(self._self_pair(held, solid, self.margin))
        for name, sdf in around.obstacles.items():
            plane = half_space(sdf)
            for solid in (*self.solids, *around.held):
                joints = joints_between(robot, solid.carrier, -1)
                pair = Pair(solid, None, name, sdf, plane, frozenset(joints), self.margin)
                first = solid.carrier >= 0 and robot.joints[solid.carrier].parent < 0
                if joints and not (first and not self._apart_at_home(pair)):
                    found.append(pair)
        return [pair for pair in found if not around.allowed(*pair.names)]

    def _apart_at_home(self, pair: Pair) -> bool:
        at_home = self.exact(pair, self._home, np.array([2 * self.margin + 0.01]))
        return bool(at_home[0] >= pair.margin)

    # --- geometry -------------------------------------------------------------------------------

    def world(self, q: np.ndarray) -> np.ndarray:
        """Poses (m, bodies + 1, 4, 4) in the world of what joints move; the last is the base."""
        poses = joint_poses(self.arm.robot, q)
        still = np.broadcast_to(np.eye(4), (len(q), 4, 4))
        return self.arm.base @ np.stack([*poses, still], axis=1)

    def exact(self, pair: Pair, world: np.ndarray, enough: np.ndarray, ask=lambda: None):
        """Distances (m,) of a pair, exact up to `enough` (m,) [m]."""
        poses = world[:, pair.solid.carrier] @ pair.solid.pose
        if pair.plane is not None:
            return above(pair.solid, poses, *pair.plane)
        if pair.other is not None:
            poses = _inverse(world[:, pair.other.carrier] @ pair.other.pose) @ poses
        return distances(pair.solid, poses, pair.sdf, enough, ask)

    def levers(self, pair: Pair, travel: np.ndarray) -> np.ndarray:
        """How far [m per rad or m] each joint (n,) moves a pair relative to each other, at most.

        travel  (n,) farthest [m] that sliders go out, 0 of others
        """
        robot, out = self.arm.robot, np.zeros(len(self.arm.home))
        for solid in (pair.solid, pair.other):
            if solid is not None:
                reach = _reach(robot, solid, travel)
                out = np.maximum(out, reach)
        return np.where(np.isin(np.arange(len(out)), list(pair.joints)), out, 0.0)


def _reach(robot: Robot, solid: Solid, travel: np.ndarray) -> np.ndarray:
    """How far (n,) [m per rad, or 1] a joint moves a point of a solid at most."""
    made, out, k = solid.capsule(), np.zeros(len(robot.joints)), solid.carrier
    reach = float(np.linalg.norm(made.ends, axis=1).max()) + made.radius
    while k >= 0:
        joint = robot.joints[k]
        out[k] = 1.0
        if joint.turns:
            out[k] = reach
            if k == solid.carrier:  # about its own axis
                across = np.linalg.norm(np.cross(made.ends, joint.axis), axis=1)
                out[k] = float(across.max()) + made.radius
        reach += float(np.linalg.norm(joint.origin[:3, 3])) + travel[k]
        k = joint.parent
    return out


def _inverse(poses: np.ndarray) -> np.ndarray:
    """Inverses of rigid poses (m, 4, 4)."""
    out = np.zeros_like(poses)
    turn = np.swapaxes(poses[:, :3, :3], 1, 2)
    out[:, :3, :3] = turn
    out[:, :3, 3] = -np.einsum("mij,mj->mi", turn, poses[:, :3, 3])
    out[:, 3, 3] = 1.0
    return out
