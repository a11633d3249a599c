"""What rigid bodies and particles share: a shape, a mass or density, contact spheres."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join
from diffsim_ros.scene import shapes
from diffsim_ros.scene.bodies.body import (
    COLOUR,
    MATERIAL_NAME,
    SPIN,
    START,
    VELOCITY,
    Body,
    contact_spheres_name,
    material_and_pose,
    per_amount,
)
from diffsim_ros.scene.materials import DENSITY
from diffsim_ros.scene.part import key, part, shared
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.placing import box_size
from diffsim_ros.scene.targets import Entries, Target

CORNER_SHARE = 0.05  # default corner radius as a share of the smallest half edge
SIZE = Field("vector3", "edge lengths along body x, y, z", "m", minimum=0, strict=True)
HALF = Field("vector3", "instead of size: half of it", "m", minimum=0, strict=True)
RADIUS = Field("number", "radius", "m", REQUIRED, minimum=0, strict=True)
HEIGHT = Field("number", "along body z, about its origin", "m", REQUIRED, minimum=0, strict=True)
LENGTH = Field("number", "between the centres of its ends, along body z", "m", REQUIRED,
               minimum=0, strict=True)  # fmt: skip
SCALE = Field("number", "factor on the nominal shape", "1", 1.0, minimum=0, strict=True)
SHAPES: dict[str, Section] = {
    "box": {"size": SIZE, "half_extents": HALF},
    "sphere": {"radius": RADIUS},
    "cylinder": {"height": HEIGHT, "radius": RADIUS},
    "capsule": {"length": LENGTH, "radius": RADIUS},
}
CONTACT_SPHERES: dict[str, Section] = {
    "corners": {
        "radius": Field(
            "number",
            "radius of the 8 inset spheres; absent: 5 % of the smallest half edge",
            "m",
            minimum=0,
        ),
        "scale": SCALE,
    },
    "face_grid": {
        "per_edge": Field("integer", "points along each edge", default=5, minimum=2),
        "radius": Field("number", "radius of the inset spheres", "m", 0.0, minimum=0),
        "scale": SCALE,
    },
    "sphere": {"radius": Field("number", "absent: the shape's radius", "m", minimum=0)},
    "rims": {
        "count": Field("integer", "spheres along either rim of a cylinder", default=32, minimum=3),
        "radius": Field(
            "number", "of the inset spheres; absent: 5 % of the smaller half extent", "m", minimum=0
        ),
        "scale": SCALE,
    },
    "axis": {
        "count": Field("integer", "spheres along the axis of a capsule", default=2, minimum=2),
        "radius": Field("number", "absent: the shape's radius", "m", minimum=0),
        "scale": SCALE,
    },
    "points": {
        "positions": Field("points", "points in the body frame", "m", REQUIRED),
        "radius": Field("number", "radius of a sphere around each", "m", 0.0, minimum=0),
        "scale": SCALE,
    },
    "point": {},
}


OF_SHAPE = {"corners": "box", "face_grid": "box", "rims": "cylinder", "axis": "capsule"}
"""Contact spheres that a shape alone has."""


@part
class LumpedBody(Body):
    """A mass with a shape."""

    SHAPES = SHAPES
    MORE: ClassVar = {
        **{f".contact_spheres.{kind}": section for kind, section in CONTACT_SPHERES.items()},
    }
    shape: dict | None = key("any", "one of `box`, `sphere`, `cylinder`, `capsule`")
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
        "contact points: `corners`, `face_grid`, `sphere`, `rims`, `axis`, `points`, `point`",
        formerly="proxies",
    )
    colour: list[float] = shared(COLOUR)

    @classmethod
    def check(cls, parts: Parts, values: dict, given: object, key: str) -> None:
        reader = parts.reader
        material = material_and_pose(parts, values, key)
        values["shape"] = read_shape(reader, values["shape"], join(key, "shape"))
        cls.check_own(reader, values, given, key)
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
        shape = next(iter(values["shape"].items())) if values["shape"] else (None, None)
        given = values["contact_spheres"] or cls.default_contact_spheres(shape[0])
        if given is None:
            return None
        kind, found = reader.variant(CONTACT_SPHERES, given, key)
        key = join(key, kind)
        if kind in OF_SHAPE and shape[0] != OF_SHAPE[kind]:
            rule = f"a {OF_SHAPE[kind]} as shape"
            raise reader.error(key, shape[0] or "no shape", rule)
        half = float(min(outline_of(values["shape"])[1])) / 2
        if kind in ("sphere", "axis") and found["radius"] is None:
            if kind == "sphere" and shape[0] != "sphere":
                rule = CONTACT_SPHERES[kind]["radius"].rule()
                raise reader.error(join(key, "radius"), None, rule)
            found["radius"] = shape[1]["radius"]
        if kind in ("corners", "rims") and found["radius"] is None:
            found["radius"] = CORNER_SHARE * half
        if kind in OF_SHAPE:
            limit = found["scale"] * half
            if found["radius"] > limit:
                rule = f"at most the smallest half {'edge' if shape[0] == 'box' else 'extent'}"
                rule += f", {limit:g} m"
                raise reader.error(join(key, "radius"), found["radius"], rule)
        return {kind: found}

    @classmethod
    def default_contact_spheres(cls, shape: str | None) -> str | None:
        """Those of a body of this shape."""
        return {"box": "corners", "sphere": "sphere", "cylinder": "rims", "capsule": "axis"}.get(
            shape or ""
        )

    @property
    def touches(self) -> bool:
        return self.contact_spheres is not None

    def outline(self):
        return outline_of(self.shape)

    def samples(self):
        if self.shape is None and self.touches:
            return self.contact_spheres_at_start().centres()
        return shapes.samples(*self.outline())

    def total_mass(self) -> float:
        return self.mass if self.mass is not None else self.density * shapes.volume(*self.outline())

    def contact_spheres_at_start(self) -> shapes.ContactSpheres:
        ((kind, values),) = self.contact_spheres.items()
        return shapes.contact_spheres(kind, values, self.outline()[1])

    def add_contact_spheres(self, scene: Any) -> None:
        """Add them to the engine's scene."""
        if self.touches:
            points = self.contact_spheres_at_start()
            scene.add_points(
                contact_spheres_name(self.name),
                bodies=[self.name] * len(points.local),
                local=points.local,
                inset=points.inset,
                radius=points.radius,
                scale=points.scale,
            )

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


def read_shape(reader: Reader, value: object, key: str) -> dict | None:
    """{kind: values} of a shape, if there is one."""
    if value is None:
        return None
    kind, shape = reader.variant(SHAPES, value, key)
    return {kind: box_size(reader, shape, join(key, kind)) if kind == "box" else shape}


def outline_of(shape: dict | None) -> tuple[str | None, np.ndarray]:
    """Kind and bounding edges [m] (3,) of a shape that was read."""
    if not shape:
        return None, np.zeros(3)
    ((kind, values),) = shape.items()
    if kind == "box":
        return kind, np.array(values["size"])
    across = 2 * values["radius"]
    along = {"cylinder": values.get("height"), "capsule": values.get("length", 0.0) + across}
    return kind, np.array([across, across, along.get(kind, across)])


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
