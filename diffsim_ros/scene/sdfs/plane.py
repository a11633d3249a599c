"""A half-space."""

import numpy as np

from diffsim_ros import rotation
from diffsim_ros.fields import join
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.placing import unit
from diffsim_ros.scene.sdfs.surface import Named, Sdf, picture


@part
class PlaneSdf(Sdf):
    WORD, ENGINE = "plane", "Plane"
    SIZES = ("offset",)
    CONVEX = True
    normal: list[float] = key(
        "vector3", "outward normal, world frame (normalised)", "1", [0.0, 0.0, 1.0]
    )
    offset: float = key("number", "g(x) = normal . x - offset", "m", 0.0)

    @classmethod
    def check(cls, reader, values, key, inner) -> None:
        values["normal"] = unit(reader, values["normal"], join(key, "normal"))

    def arguments(self, named: Named) -> tuple:
        return self.normal, self.offset

    def drawn(self, name, carrier, named, position, turn):
        normal = np.array(self.normal)
        place = position + rotation.quat_matrix(turn) @ (self.offset * normal)
        turn = rotation.quat_multiply(turn, rotation.quat_between([0.0, 0.0, 1.0], normal))
        return [picture(name, "plane", place, turn, np.zeros(3), carrier)]
