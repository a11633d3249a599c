"""A ring about z."""

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.sdfs.surface import LENGTH, Named, Sdf


@part
class TorusSdf(Sdf):
    WORD, ENGINE = "torus", "Torus"
    SIZES = ("ring_radius", "tube_radius")
    ring_radius: float = key("number", "of the tube's centre line about z", "m", REQUIRED, **LENGTH)
    tube_radius: float = key("number", "of the tube", "m", REQUIRED, **LENGTH)

    @classmethod
    def check(cls, reader, values, key, inner) -> None:
        if values["tube_radius"] >= values["ring_radius"]:
            rule = f"a tube thinner than the ring's radius, {values['ring_radius']:g} m"
            raise reader.error(join(key, "tube_radius"), values["tube_radius"], rule)

    def arguments(self, named: Named) -> tuple:
        return self.ring_radius, self.tube_radius
