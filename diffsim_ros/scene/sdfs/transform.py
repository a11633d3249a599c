"""A surface placed at a pose."""

from __future__ import annotations

from itertools import product

import numpy as np

from diffsim_ros import rotation
from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.placing import orientation
from diffsim_ros.scene.sdfs.surface import Named, Sdf, surface_of


@part
class TransformSdf(Sdf):
    WORD, ENGINE = "transform", "Transformed"
    of: Sdf | str = key("any", "surface: a name or an inline one", default=REQUIRED)
    position: list[float] = key(
        "vector3", "where its origin lies, world frame", "m", [0.0, 0.0, 0.0]
    )
    orientation: list[float] = key("quaternion", "x, y, z, w; absent: identity", "1")
    rotation: None = key("vector3", "instead of orientation: rotation vector", "rad")

    @classmethod
    def check(cls, reader, values, key, inner) -> None:
        values["of"] = inner(values["of"], join(key, "of"))
        values |= {"orientation": orientation(reader, values, key), "rotation": None}

    def arguments(self, named: Named) -> tuple:
        inner = surface_of(self.of, named).engine(named)
        return inner, self.position, self.orientation

    def members(self):
        return [self.of]

    def convex(self, named):
        return surface_of(self.of, named).convex(named)

    def bounds(self, named):
        boxed = surface_of(self.of, named).bounds(named)
        corners = np.array(list(product(*zip(*boxed, strict=True))))
        turned = corners @ rotation.quat_matrix(self.orientation).T + np.array(self.position)
        return turned.min(axis=0), turned.max(axis=0)

    def drawn(self, name, carrier, named, position, turn):
        position = position + rotation.quat_matrix(turn) @ np.array(self.position)
        turn = rotation.quat_multiply(turn, self.orientation)
        return surface_of(self.of, named).drawn(name, carrier, named, position, turn)
