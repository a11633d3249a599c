"""A sphere about the origin."""

from diffsim_ros.fields import REQUIRED
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.sdfs.surface import LENGTH, Named, Sdf, picture


@part
class SphereSdf(Sdf):
    WORD, ENGINE = "sphere", "Sphere"
    SIZES = ("radius",)
    CONVEX = True
    radius: float = key("number", "centred at the origin", "m", REQUIRED, **LENGTH)

    def arguments(self, named: Named) -> tuple:
        return (self.radius,)

    def drawn(self, name, carrier, named, position, turn):
        return [picture(name, "sphere", position, turn, [2 * self.radius] * 3, carrier)]
