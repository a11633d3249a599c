"""Particles: masses without orientation."""

from __future__ import annotations

from typing import Any, ClassVar

from diffsim_ros.fields import Reader, join
from diffsim_ros.scene.bodies.lumped import LumpedBody
from diffsim_ros.scene.part import part
from diffsim_ros.scene.parts import Parts


@part
class ParticleBody(LumpedBody):
    """A mass at a point; as a sphere it touches as one."""

    WORD = "particle"
    TURNS: ClassVar[bool] = False

    @classmethod
    def check_own(cls, reader: Reader, values: dict, given: object, key: str) -> None:
        """Refuse an orientation, which would be silently ignored."""
        given = dict(given or {})
        pose = dict(given.get("pose") or {})
        for name in ("orientation", "rotation"):
            if pose.get(name) is not None:
                rule = "no orientation for a particle"
                raise reader.error(f"{key}.pose.{name}", pose[name], rule, "use type: rigid")
        for name in ("inertia", "angular_velocity"):
            if given.get(name) is not None:
                rule = f"no {name} for a particle"
                raise reader.error(join(key, name), given[name], rule, "use type: rigid")
            values[name] = None
        if values["shape"] and "sphere" not in values["shape"]:
            raise reader.error(join(key, "shape"), values["shape"], "a sphere for a particle")
        values["pose"] = {"position": values["pose"]["position"]}

    @classmethod
    def default_contact_spheres(cls, shape: str | None) -> str | None:
        return "sphere" if shape else "point"

    def add(self, scene: Any, parts: Parts) -> None:
        place = self.pose["position"]
        scene.add_particle(
            self.name, mass=self.total_mass(), position=place, velocity=self.velocity
        )
        self.add_contact_spheres(scene)
