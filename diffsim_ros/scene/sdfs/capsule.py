"""A capsule about z."""

from diffsim_ros.fields import REQUIRED
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.sdfs.surface import LENGTH, Named, Sdf


@part
class CapsuleSdf(Sdf):
    WORD, ENGINE = "capsule", "Capsule"
    SIZES = ("length", "radius")
    CONVEX = True
    length: float = key(
        "number", "between the centres of its ends, along z", "m", REQUIRED, **LENGTH
    )
    radius: float = key("number", "about the z axis", "m", REQUIRED, **LENGTH)

    def arguments(self, named: Named) -> tuple:
        return self.length / 2, self.radius
