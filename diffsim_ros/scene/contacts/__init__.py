"""Contacts: which points touch which surface, and by what law."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, Field, Section, join
from diffsim_ros.scene.bodies.body import contact_spheres_name
from diffsim_ros.scene.materials import NO_MATERIAL, ContactValues
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.sdfs import Sdf, resolve_surface, sizes_of
from diffsim_ros.scene.shapes import ContactSpheres, spheres_at
from diffsim_ros.scene.targets import Entries, Target

DAMPING_VALUES = {"continuous": {"c_n": 1.0}, "ramped": {"k_d": 0.0, "d_0": 5e-4},
                  "thesis": {"k_d": 0.0}}  # fmt: skip
"""Values that each damping law takes, and what they are when given nowhere."""


@part
class Contact(ContactValues):
    """Contact spheres of a body against a surface."""

    CHOSEN: ClassVar[tuple[str, ...]] = ("k_roll",)
    name: str = key("name", "absent: BODY_SURFACE")
    points: str = key("name", "body whose contact spheres touch", default=REQUIRED)
    against: Sdf | str = key("any", "surface: a name of `sdfs` or an inline one", default=REQUIRED)
    spheres: dict | None = key(
        "mapping",
        "contact spheres that touch, instead of the body's: {radius, positions}, in its frame",
    )
    carrier: str | None = key(
        "name", "rigid body or kinematic body in whose frame the surface stands"
    )
    friction: str = key(
        "choice",
        "friction law; `hybrid` holds sticking points exactly",
        default="linear",
        choices=("linear", "tanh", "hybrid"),
    )
    damping: str = key(
        "choice",
        "normal damping: `continuous` uses c_n; `ramped` k_d and d_0; `thesis` k_d (discontinuous "
        "at touchdown)",
        default="continuous",
        choices=("continuous", "ramped", "thesis"),
    )
    onset: str = key(
        "choice",
        "normal force in a step in which contact begins or ends: `integrated` over the step; "
        "`sampled` at its end, whose derivatives scatter with the instant of touchdown",
        default="integrated",
        choices=("integrated", "sampled"),
    )
    weights: list[float] | None = key(
        "numbers",
        "share of each contact sphere in k_n and k_t, sum 1; absent: equal, of soft bodies by "
        "their areas",
        "1",
        minimum=0,
        strict=True,
    )

    def add(self, scene: Any, parts: Parts, sdf: Any) -> None:
        """Add it to the engine's scene."""
        weights, points = self.weights, contact_spheres_name(self.points)
        if self.spheres is not None:
            own = self.spheres_at_start(parts)
            points = contact_spheres_name(self.name)
            carriers = [self.points] * len(own.local)
            scene.add_points(points, bodies=carriers, local=own.local, radius=own.radius)
        elif weights is None:
            weights = parts.bodies[self.points].contact_weights()
        keys = (*LAW, "friction", "damping", "onset", "carrier")
        law = {name: getattr(self, name) for name in keys if getattr(self, name) is not None}
        scene.add_contact(self.name, points=points, sdf=sdf, weights=weights, **law)

    def spheres_at_start(self, parts: Parts) -> ContactSpheres:
        """What touches, in the body's frame at the start."""
        if self.spheres is None:
            return parts.bodies[self.points].contact_spheres_at_start()
        return spheres_at(self.spheres["positions"], self.spheres["radius"])

    def targets(self, entries: Entries, parts: Parts) -> dict[str, Target]:
        """Paths behind its name that can be parameters."""
        found = entries.all_of(self.name, (*LAW, *SIZE))
        sizes = self.sizes(entries, parts)
        return found | {path: sizes[path] for path in sizes if path.startswith("against.")}

    def sizes(self, entries: Entries, parts: Parts) -> dict[str, Target]:
        """Paths of single sizes of its surface: in `sdfs`, or behind its name (`against...`)."""
        found: dict[str, Target] = {}
        for path, size in sizes_of(self.against, "against", parts.sdfs):
            target = entries.target(f"{self.name}.surface.{size}")
            found[path] = target.joined(found.get(path))
        return found

    @property
    def rolls(self) -> bool:
        """Whether rolling and spinning friction are parameters of it, 0 or not."""
        return self.c_roll is not None or self.c_spin is not None

    def shaped(self, parts: Parts) -> bool:
        """Whether its surface is that of the shape of the body that carries it, as of `pairs`."""
        shape = parts.bodies[self.carrier].surface() if self.carrier else None
        if shape is None or isinstance(self.against, str):
            return False
        own = resolve_surface(parts.reader, {}, shape, f"bodies.{self.carrier}.shape")
        return own.plain() == self.against.plain()

    def stands(self, parts: Parts) -> tuple[np.ndarray, np.ndarray] | None:
        """Position (3,) and rotation (3, 3) of a surface that stands, as in the world or on a
        kinematic body at its start; None of one that a free body carries."""
        if self.carrier is None:
            return np.zeros(3), np.eye(3)
        carrier = parts.bodies[self.carrier]
        return None if carrier.MOVES else carrier.start_pose()


LAW = tuple(ContactValues.section())
UNUSED_STIFFNESS = 1e4
"""k_n [N/m] of a scene whose contacts are hard and have none; k_t is that times the step."""
SIZE = ("surface_offset", "surface_scale")
"""Parameters of the surface's size, 0 and 1 in the engine: no keys of a file."""
SPHERES: Section = {
    "radius": Field("number", "of all of them", "m", 0.0, minimum=0),
    "positions": Field("points", "their centres, frame of the body", "m", REQUIRED),
}
TABLES: dict[str, Section] = {"contact[i]": Contact.section(), "contact[i].spheres": SPHERES}


def read_contact(parts: Parts, value: object, key: str) -> Contact:
    """A contact with its defaults; raises InputError."""
    reader = parts.reader
    contact = reader.section(Contact.section(), value, key)
    body = parts.body(contact["points"], join(key, "points"))
    if contact["spheres"] is not None:
        contact["spheres"] = _own_spheres(parts, contact["spheres"], body, join(key, "spheres"))
    elif not body.touches:
        raise reader.error(
            join(key, "points"),
            contact["points"],
            "a body with contact spheres",
            "give it a shape or contact_spheres",
        )
    contact["against"] = resolve_surface(
        reader, parts.sdfs, contact["against"], join(key, "against")
    )
    if contact["name"] is None:
        surface = contact["against"] if isinstance(contact["against"], str) else "surface"
        contact["name"] = f"{contact['points']}_{surface}"
    _check_carrier(parts, contact, join(key, "carrier"))
    if not (body.MOVES or (contact["carrier"] and parts.bodies[contact["carrier"]].MOVES)):
        rule = "a body that moves, or one with a carrier that does"
        raise reader.error(join(key, "points"), contact["points"], rule, "neither can give way")
    _law(parts, contact, body, key)
    _check_weights(parts, contact, body, join(key, "weights"))
    return Contact(**contact)


def _own_spheres(parts: Parts, given: dict, body: Any, key: str) -> dict:
    """The section `spheres` of a contact; InputError on a body without a frame."""
    if not body.CARRIES:
        raise parts.reader.error(key, body.name, "none: of rigid and kinematic bodies alone")
    return parts.reader.section(SPHERES, given, key)


def _check_carrier(parts: Parts, contact: dict, key: str) -> None:
    """The body that carries the surface has a frame, and is not the one that touches it."""
    name = contact["carrier"]
    if name is None:
        return
    carrier = parts.body(name, key)
    if carrier.SOFT:
        raise parts.reader.error(
            key,
            f"{name} of type {carrier.type}",
            "a rigid body or kinematic body",
            "contact of soft bodies with each other is not there yet: one of the two must be rigid",
        )
    if not carrier.CARRIES or name == contact["points"]:
        raise parts.reader.error(key, name, "another rigid body, or a kinematic body")


def _law(parts: Parts, contact: dict, body: Any, key: str) -> None:
    """The law's numbers: given, else the material's, else their defaults; k_n and k_t that are
    given nowhere follow when all bodies, contacts and joints are known (defaults.py)."""
    named = getattr(body, "material", None)
    reader, material = parts.reader, parts.materials.get(named, NO_MATERIAL)
    if contact["friction"] == "hybrid" and parts.world["scheme"] == "generalized_alpha":
        rule = "linear or tanh with world.scheme: generalized_alpha"
        raise reader.error(join(key, "friction"), "hybrid", rule, "or take scheme: bdf2")
    takes = DAMPING_VALUES[contact["damping"]]
    unused = {"c_n", "k_d", "d_0"} - set(takes)
    for other in sorted(unused):
        if contact[other] is not None:
            raise reader.error(
                join(key, other),
                contact[other],
                f"{' and '.join(takes)} with damping: {contact['damping']}",
                "choose another damping, or remove the key",
            )
    for name in LAW:
        if contact[name] is None and name not in unused:
            contact[name] = getattr(material, name)
    section = Contact.section()
    if (contact["c_s"] is None) != (contact["f_0"] is None):
        given, lacking = ("c_s", "f_0") if contact["f_0"] is None else ("f_0", "c_s")
        rule = section[lacking].rule()
        raise reader.error(join(key, lacking), None, rule, f"{given} needs it; give both")
    if contact["k_n"] is None and parts.world["stepper"] == "velocity":
        contact["k_n"] = UNUSED_STIFFNESS
    if contact["k_t"] is None and parts.world["stepper"] == "velocity":
        contact["k_t"] = contact["k_n"] * parts.world["step"]
    contact["c_f"] = contact["c_f"] or 0.0
    for name, default in takes.items():
        contact[name] = default if contact[name] is None else contact[name]


def _check_weights(parts: Parts, contact: dict, body: Any, key: str) -> None:
    weights = contact["weights"]
    if weights is None:
        return
    given = contact["spheres"]
    count = len(given["positions"] if given else body.contact_spheres_at_start().local)
    if len(weights) != count:
        rule = f"one weight for each of the {count} contact_spheres"
        raise parts.reader.error(key, len(weights), rule)
    if abs(sum(weights) - 1) > 1e-9:
        remedy = f"their sum is {sum(weights):.12g}"
        raise parts.reader.error(key, weights, "weights whose sum is 1", remedy)
