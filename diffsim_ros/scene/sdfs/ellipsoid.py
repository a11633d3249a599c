"""An ellipsoid about its origin."""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.sdfs.surface import LENGTH, Named, Sdf


@part
class EllipsoidSdf(Sdf):
    WORD, ENGINE = "ellipsoid", "Ellipsoid"
    CONVEX = True
    half_axes: list[float] = key(
        "vector3", "half of its extents along x, y, z", "m", REQUIRED, **LENGTH
    )

    def arguments(self, named: Named) -> tuple:
        return (self.half_axes,)
