"""What rigid bodies and particles share: a shape, a mass or density, contact spheres."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from diffsim_ros.fields import Reader, join
from diffsim_ros.scene.bodies.body import (
    COLOUR,
    MATERIAL_NAME,
    SPIN,
    START,
    VELOCITY,
    Body,
    material_and_pose,
    per_amount,
)
from diffsim_ros.scene.bodies.shape_keys import (
    CONTACT_SPHERES,
    DEFAULTS,
    TABLES,
    WORDS,
    read_contact_spheres,
    read_shape,
)
from diffsim_ros.scene.bodies.touching import Touching
from diffsim_ros.scene.materials import DENSITY
from diffsim_ros.scene.part import key, part, shared
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.rigid_shape import RigidShape, rigid_shape
from diffsim_ros.scene.targets import Entries, Target


@part
class LumpedBody(Touching, Body):
    """A mass with a shape."""

    MORE: ClassVar = {
        **TABLES,
        **{f".contact_spheres.{kind}": section for kind, section in CONTACT_SPHERES.items()},
    }
    shape: dict | list | None = key("any", WORDS)
    mass: float | None = key("number", "mass; or give a density", "kg", minimum=0, strict=True)
    density: float | None = shared(DENSITY)
    inertia: Any = key(
        "inertia",
        "about the centre of mass, body frame: `uniform` (of the shape), one number, "
        "[xx, yy, zz] or [xx, yy, zz, xy, xz, yz]",
        "kg m^2",
    )
    material: str | None = shared(MATERIAL_NAME)
    pose: dict = shared(START)
    velocity: list[float] = shared(VELOCITY)
    angular_velocity: list[float] | None = shared(SPIN)
    contact_spheres: dict | None = key(
        "any",
        "contact points: " + ", ".join(f"`{kind}`" for kind in CONTACT_SPHERES),
        formerly="proxies",
    )
    colour: list[float] = shared(COLOUR)

    @classmethod
    def check(cls, parts: Parts, values: dict, given: object, key: str) -> None:
        reader = parts.reader
        material = material_and_pose(parts, values, key)
        values["shape"] = read_shape(reader, values["shape"], join(key, "shape"))
        cls.check_own(reader, values, given, key)
        _member_densities(reader, values, key)
        _mass(reader, values, material.density, key)
        cls.check_inertia(reader, values, join(key, "inertia"))
        place = join(key, "contact_spheres")
        values["contact_spheres"] = cls.read_contact_spheres(reader, values, place)

    @classmethod
    def check_own(cls, reader: Reader, values: dict, given: object, key: str) -> None:
        """What a kind refuses or drops."""

    @classmethod
    def check_inertia(cls, reader: Reader, values: dict, key: str) -> None:
        """InputError for an inertia that no matter has."""

    @classmethod
    def read_contact_spheres(cls, reader: Reader, values: dict, key: str) -> dict | None:
        """The contact spheres given, or the default ones of the shape, with their radius."""
        form = rigid_shape(values["shape"], about_mass=True)
        given = values["contact_spheres"] or cls.default_contact_spheres(form.kind if form else "")
        return given and read_contact_spheres(reader, given, values["shape"], key)

    @classmethod
    def default_contact_spheres(cls, shape: str) -> str | None:
        """Those of a body of this shape."""
        return DEFAULTS.get(shape)

    @cached_property
    def form(self) -> RigidShape | None:
        """Its shape, about the centre of mass."""
        return rigid_shape(self.shape, about_mass=True)

    def samples(self):
        if self.form is not None:
            return self.form.samples()
        return self.contact_spheres_at_start().centres() if self.touches else super().samples()

    def total_mass(self) -> float:
        return self.mass if self.mass is not None else self.density * self.form.volume

    def mass_targets(self, entries: Entries, more: dict[str, float]) -> dict[str, Target]:
        """`mass` or `density`; more: what grows with the mass, per mass."""
        mass = entries.target(f"{self.name}.mass")
        sets = mass.sets | more
        if self.density is not None:
            volume = mass.value / self.density
            return {"density": per_amount(self.density, "kg/m^3", sets, volume)}
        return {"mass": Target(mass.value, mass.unit, sets, mass.lower, mass.upper)}

    def targets(self, entries: Entries) -> dict[str, Target]:
        found = self.mass_targets(entries, {}) | self.start_targets(entries)
        return found | self.contact_sphere_targets(entries)


def _member_densities(reader: Reader, values: dict, key: str) -> None:
    """The mass that a compound has by its members' densities, where none is given."""
    form = rigid_shape(values["shape"], about_mass=True)
    if form is None or form.mass is None:
        return
    if values["density"] is not None:
        rule = "the members' densities alone"
        raise reader.error(join(key, "density"), values["density"], rule, "remove one of them")
    if values["mass"] is None:
        values["mass"] = form.mass


def _mass(reader: Reader, values: dict, density: float | None, key: str) -> None:
    """Exactly one of mass and density remains; a density needs a shape."""
    if values["mass"] is not None and values["density"] is not None:
        rule = "either mass or density"
        raise reader.error(join(key, "density"), values["density"], rule, "remove one")
    if values["mass"] is None and values["density"] is None:
        values["density"] = density
        if density is None:
            rule = LumpedBody.section()["mass"].rule()
            remedy = "give mass, density, or a material with a density"
            raise reader.error(join(key, "mass"), None, rule, remedy)
    if values["mass"] is None and values["shape"] is None:
        raise reader.error(join(key, "shape"), None, "a shape, because a density is given")
