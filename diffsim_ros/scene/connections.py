"""Resolving `contact`: which points touch which surface, and by what law."""

from __future__ import annotations

from diffsim_ros.fields import Reader, join, present
from diffsim_ros.scene import schema
from diffsim_ros.scene.placing import body_named
from diffsim_ros.scene.soft_shapes import SOFT, soft_shape
from diffsim_ros.scene.surfaces import resolve_surface

DAMPING_VALUES = {"continuous": {"c_n": 0.0}, "ramped": {"k_d": 0.0, "d_0": 5e-4},
                  "thesis": {"k_d": 0.0}}  # fmt: skip
"""Values that each damping law takes, and what they are when given nowhere."""


def resolve_contact(reader: Reader, scene: dict, value: object, key: str) -> dict:
    contact = reader.section(schema.CONTACT, value, key)
    body = body_named(reader, scene, contact["points"], join(key, "points"))
    if "contact_spheres" not in body or "none" in body["contact_spheres"]:
        raise reader.error(
            join(key, "points"),
            contact["points"],
            "a body with contact spheres",
            "give it a shape or contact_spheres",
        )
    contact["against"] = resolve_surface(
        reader, scene["sdfs"], contact["against"], join(key, "against")
    )
    if contact["name"] is None:
        surface = contact["against"] if isinstance(contact["against"], str) else "surface"
        contact["name"] = f"{contact['points']}_{surface}"
    _carrier(reader, scene, contact, key)
    _contact_values(reader, scene, contact, body, key)
    _check_weights(reader, contact, body, key)
    return present(contact)


def _carrier(reader: Reader, scene: dict, contact: dict, key: str) -> None:
    """The body that carries the surface: rigid, or a kinematic body, and not the one that touches
    it."""
    name = contact["carrier"]
    if name is None:
        return
    place = join(key, "carrier")
    kind = body_named(reader, scene, name, place)["type"]
    if kind in SOFT:
        raise reader.error(
            place,
            f"{name} of type {kind}",
            "a rigid body or kinematic body",
            "contact of soft bodies with each other is not there yet: one of the two must be rigid",
        )
    if kind == "particle" or name == contact["points"]:
        raise reader.error(place, name, "another rigid body, or a kinematic body")


def _contact_values(reader: Reader, scene: dict, contact: dict, body: dict, key: str) -> None:
    material = scene["materials"].get(body.get("material"), {})
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
    for name in schema.CONTACT_VALUES:
        if contact[name] is None and name not in unused:
            contact[name] = material.get(name)
    if (contact["c_s"] is None) != (contact["f_0"] is None):
        given, lacking = ("c_s", "f_0") if contact["f_0"] is None else ("f_0", "c_s")
        raise reader.error(
            join(key, lacking), None, schema.CONTACT[lacking].rule(), f"{given} needs it; give both"
        )
    if contact["k_n"] is None:
        raise reader.error(
            join(key, "k_n"),
            None,
            schema.CONTACT["k_n"].rule(),
            "give k_n here or in the body's material",
        )
    if contact["k_t"] is None:
        contact["k_t"] = contact["k_n"] * scene["world"]["step"]
    contact["c_f"] = contact["c_f"] or 0.0
    for name, default in takes.items():
        contact[name] = default if contact[name] is None else contact[name]


def _check_weights(reader: Reader, contact: dict, body: dict, key: str) -> None:
    weights = contact["weights"]
    if weights is None:
        return
    ((kind, values),) = body["contact_spheres"].items()
    if kind == "surface":
        count = len(soft_shape(body).contact)
    elif kind == "face_grid":
        count = values["per_edge"] ** 3 - (values["per_edge"] - 2) ** 3
    else:
        count = {"corners": 8, "points": len(values.get("positions", ()))}.get(kind, 1)
    key = join(key, "weights")
    if len(weights) != count:
        raise reader.error(key, len(weights), f"one weight for each of the {count} contact_spheres")
    if abs(sum(weights) - 1) > 1e-9:
        raise reader.error(
            key, weights, "weights whose sum is 1", f"their sum is {sum(weights):.12g}"
        )
