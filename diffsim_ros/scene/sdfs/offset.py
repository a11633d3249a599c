"""A surface grown outwards."""

from __future__ import annotations

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.sdfs.surface import Named, Sdf, surface_of


@part
class OffsetSdf(Sdf):
    WORD, ENGINE = "offset", "Offset"
    SIZES = ("distance",)
    of: Sdf | str = key("any", "surface: a name or an inline one", default=REQUIRED)
    distance: float = key("number", "by which it grows outwards", "m", REQUIRED)

    @classmethod
    def check(cls, reader, values, key, inner) -> None:
        values["of"] = inner(values["of"], join(key, "of"))

    def arguments(self, named: Named) -> tuple:
        return surface_of(self.of, named).engine(named), self.distance

    def members(self):
        return [self.of]

    def bounds(self, named):
        low, high = surface_of(self.of, named).bounds(named)
        return low - self.distance, high + self.distance
