"""A box about the origin."""

from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.placing import box_size
from diffsim_ros.scene.sdfs.surface import LENGTH, Named, Sdf, picture


@part
class BoxSdf(Sdf):
    WORD, ENGINE = "box", "Box"
    SIZES = ("size.x", "size.y", "size.z")
    CONVEX = True
    size: list[float] = key("vector3", "edge lengths, centred at the origin", "m", **LENGTH)
    half_extents: None = key("vector3", "instead of size: half of it", "m", **LENGTH)

    @classmethod
    def check(cls, reader, values, key, inner) -> None:
        values |= {**box_size(reader, values, key), "half_extents": None}

    def arguments(self, named: Named) -> tuple:
        return ([edge / 2 for edge in self.size],)

    def drawn(self, name, carrier, named, position, turn):
        return [picture(name, "box", position, turn, self.size, carrier)]
