"""What URDF and SDF share: bodies with their joints in trees, and what both lack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros.scene.export.numbers import Exported
from diffsim_ros.scene.export.tree import Hanging, tree_of
from diffsim_ros.scene.links.joint import FRICTION, LIMIT, JointLink
from diffsim_ros.scene.links.payload import PayloadLink

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Hung:
    """A joint of a tree as its child sees it.

    anchor  its point in the child's frame [m] (3,);  axis  in the child's frame (3,), so turned
    that coordinates keep their sign;  lower, upper  None where there is none [rad or m]
    """

    joint: JointLink
    anchor: Array
    axis: Array
    lower: float | None
    upper: float | None
    damping: float
    friction: float


class Chain:
    """The scene's bodies as links.

    poses  body -> position (3,) and rotation (3, 3) in the world: roots where the scene starts,
    joints as its poses have them;  notes  what is lacking
    """

    def __init__(self, data: Exported) -> None:
        self.data, self.tree = data, tree_of(data.parts)
        self.notes: list[str] = []
        self.poses = {name: self._pose(name) for name in self.tree.held}
        for joint in self.tree.loops:
            self.notes.append(f"joint {joint.name}, which closes a loop")
        for name, body in data.parts.bodies.items():
            if body.SOFT:
                self.notes.append(f"{body.WORD} {name}")
        for link in data.parts.links:
            if not isinstance(link, JointLink | PayloadLink):
                self.notes.append(f"{link.WORD} {link.name}")
        if data.parts.contacts:
            self.notes.append("surfaces of contacts; every link has the law of its first contact")

    def held(self, name: str) -> Hanging:
        """How a body hangs."""
        return self.tree.held[name]

    def _pose(self, name: str) -> tuple[Array, Array]:
        if self.tree.held[name].joint is None:
            state = self.data.states[name]
            return state.position, state.turn
        return self.data.file_pose(name)

    def hung(self, name: str) -> Hung:
        """The joint that carries a body."""
        held, data = self.tree.held[name], self.data
        joint, own = held.joint, data.parts.bodies[name].start_pose()[1].T
        axis = own @ data.axis(joint) * (-1.0 if held.turned else 1.0)
        return Hung(
            joint, data.anchor(joint, "a" if held.turned else "b"), axis,
            data.entries.get(f"{joint.part_name(LIMIT)}.lower"),
            data.entries.get(f"{joint.part_name(LIMIT)}.upper"),
            data.entries.get(f"{joint.name}.friction_damping", 0.0),
            data.entries.get(f"{joint.part_name(FRICTION)}.coulomb", 0.0),
        )  # fmt: skip
