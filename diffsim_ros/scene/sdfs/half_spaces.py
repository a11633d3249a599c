"""A convex solid as the intersection of half-spaces."""

import numpy as np

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.placing import unit
from diffsim_ros.scene.sdfs.surface import UNBOUNDED, Named, Sdf


@part
class HalfSpacesSdf(Sdf):
    WORD, ENGINE = "half_spaces", "HalfSpaces"
    CONVEX = True
    normals: list = key("points", "outward normals, at least one (normalised)", "1", REQUIRED)
    offsets: list[float] = key(
        "numbers", "inside is where every normal . x <= offset", "m", REQUIRED
    )

    @classmethod
    def check(cls, reader, values, key, inner) -> None:
        normals, offsets = values["normals"], values["offsets"]
        if len(offsets) != len(normals):
            rule = f"one offset for each of the {len(normals)} normals"
            raise reader.error(join(key, "offsets"), offsets, rule)
        values["normals"] = [unit(reader, n, f"{key}.normals[{i}]") for i, n in enumerate(normals)]

    def arguments(self, named: Named) -> tuple:
        return np.array(self.normals), np.array(self.offsets)

    def bounds(self, named):
        return np.full(3, -UNBOUNDED), np.full(3, UNBOUNDED)
