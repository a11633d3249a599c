"""A solid cylinder about z with sharp rims."""

from diffsim_ros.fields import REQUIRED
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.sdfs.surface import LENGTH, Named, Sdf


@part
class CylinderSdf(Sdf):
    WORD, ENGINE = "cylinder", "Cylinder"
    SIZES = ("height", "radius")
    CONVEX = True
    height: float = key("number", "along z, centred at the origin", "m", REQUIRED, **LENGTH)
    radius: float = key("number", "about the z axis", "m", REQUIRED, **LENGTH)

    def arguments(self, named: Named) -> tuple:
        return self.height / 2, self.radius
