"""The <collision> geometry of a URDF as geoms, with the numbers of contact that a URDF lacks."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from diffsim_ros.errors import InputError

from .collision_solids import read_mesh
from .geoms import Law, TouchingGeom, hull, law_of
from .link_shapes import LinkPart, link_parts
from .robot import Robot

DIMENSIONS, FRICTION = 3, (1.0, 0.0, 0.0)
"""A URDF has no friction: Coulomb's coefficient is 1, as Gazebo's and MuJoCo's."""
EXTENTS = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"),
           "capsule": ("radius", "length")}  # fmt: skip
"""Kind -> the lengths that it has."""


class CollisionContact:
    """Geoms of a robot by number, and which of them touch.

    geoms    number -> TouchingGeom: body is the name of what a joint moves, None of a fixed base
    lacking  collisions that have no counterpart here, in words
    """

    def __init__(self, robot: Robot, *, free: bool) -> None:
        """free: whether the base moves"""
        self.robot, self.lacking = robot, []
        moved = [joint.inertial.mass for joint in robot.joints]
        total = sum(moved) + (robot.base_inertial.mass if free else 0.0)
        self.mobility = 1 / total if total > 0 else 0.0
        self.geoms: dict[int, TouchingGeom] = {}
        self.carriers: dict[int, int] = {}
        for part in link_parts(robot, of=("collision",)):
            read = _values(part)
            if isinstance(read, str):
                self.lacking.append(f"a collision of link {part.link} ({read})")
                continue
            g, still = len(self.geoms), part.carrier < 0 and not free
            body = robot.base if part.carrier < 0 else robot.joints[part.carrier].body
            self.carriers[g] = part.carrier
            self.geoms[g] = TouchingGeom(
                f"{part.link}_{g}", None if still else body, part.pose, *read,
                friction=FRICTION, dimensions=DIMENSIONS, mobility=0.0 if still else self.mobility,
            )  # fmt: skip

    def pairs(self) -> list[tuple[int, int, Law]]:
        """Geoms of two bodies that no joint connects."""
        above = {i: joint.parent for i, joint in enumerate(self.robot.joints)}
        found = []
        for g, h in combinations(self.geoms, 2):
            one, other = self.carriers[g], self.carriers[h]
            if one == other or above.get(one, -2) == other or above.get(other, -2) == one:
                continue
            own = law_of(self.geoms[g], self.geoms[h])
            if own:
                found.append((g, h, own))
        return found


def _values(part: LinkPart) -> tuple[str, dict] | str:
    """Kind and values of a geom, or why there is none."""
    values = part.values
    numbers = [np.asarray(values[key], float) for key in EXTENTS.get(part.kind, ())]
    if not all(np.isfinite(n).all() and (n > 0).all() for n in numbers):
        return f"a {part.kind} without extent"
    if part.kind == "box":
        return "box", {"size": np.asarray(values["size"])}
    if part.kind == "sphere":
        return "sphere", {"radius": values["radius"]}
    if part.kind == "cylinder":
        return "cylinder", {"radius": values["radius"], "height": values["length"]}
    if part.kind == "capsule":
        return "capsule", {"radius": values["radius"], "length": values["length"]}
    if part.kind != "mesh":
        return part.kind
    try:
        vertices, _ = read_mesh(values["file"], f"link {part.link}: mesh")
    except InputError as error:
        return f"mesh: {error.value}"
    return "mesh", hull(vertices * values["scale"])
