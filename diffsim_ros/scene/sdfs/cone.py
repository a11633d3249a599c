"""A cone, whole or cut off, about z."""

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.sdfs.surface import LENGTH, Named, Sdf


@part
class ConeSdf(Sdf):
    WORD, ENGINE = "cone", "Cone"
    SIZES = ("height", "bottom_radius", "top_radius")
    CONVEX = True
    height: float = key("number", "along z, centred at the origin", "m", REQUIRED, **LENGTH)
    bottom_radius: float = key("number", "at the lower end", "m", REQUIRED, minimum=0)
    top_radius: float = key("number", "at the upper end; 0: an apex", "m", 0.0, minimum=0)

    @classmethod
    def check(cls, reader, values, key, inner) -> None:
        if not values["bottom_radius"] + values["top_radius"] > 0:
            rule = "a radius above 0 at one end"
            raise reader.error(join(key, "bottom_radius"), values["bottom_radius"], rule)

    def arguments(self, named: Named) -> tuple:
        return self.height / 2, self.bottom_radius, self.top_radius
