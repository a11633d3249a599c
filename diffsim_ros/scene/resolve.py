"""From what a user wrote to the parts of a scene, every default evaluated.

As plain data the parts are the *resolved* scene: the same keys, which load to the same engine
scene; it is written with results.  Defaults that depend on others (k_n and k_t by loads, the radius
of a contact sphere, a rest length, a density taken from a material) are evaluated here, once.
"""

from __future__ import annotations

from diffsim_ros.fields import Field, Reader
from diffsim_ros.scene import schema
from diffsim_ros.scene.bodies import read_bodies
from diffsim_ros.scene.contacts import read_contact
from diffsim_ros.scene.contacts.defaults import complete
from diffsim_ros.scene.contacts.pairs import expanded
from diffsim_ros.scene.lifting import lift
from diffsim_ros.scene.links import read_link
from diffsim_ros.scene.materials import Material
from diffsim_ros.scene.model_contact import model_contacts
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.placing import absolute
from diffsim_ros.scene.robot_parts import add_robots
from diffsim_ros.scene.sdfs import resolve_sdfs
from diffsim_ros.scene.start import read_start
from diffsim_ros.yaml_file import read_yaml

ENTRY = Field("number", "value in the engine's units: SI, radians")
MOST_STEPS = 10**8
"""Steps of a simulation; what is beyond is a slip of the units."""
MOST_HALVINGS = 16
"""Of a step: the engine's own bound."""
SPECTRAL_RADIUS = 0.8
"""Of `generalized_alpha` where the scene gives none."""


def resolve(raw: object, place: object) -> Parts:
    """Return the parts of a scene mapping; raises InputError (see fields)."""
    reader = Reader(place)
    scene = reader.section(schema.SCENE, raw)
    parts = Parts(reader, name=scene["name"], parameters=scene["parameters"])
    parts.world = _world(reader, scene["world"])
    for name, value in scene["materials"].items():
        section = reader.section(Material.section(), value, f"materials.{name}")
        parts.materials[name] = Material(**section)
    robots = add_robots(reader, scene, parts.world)
    if not scene["bodies"]:
        raise reader.error("bodies", scene["bodies"], "at least one body")
    read_bodies(parts, scene["bodies"])
    parts.sdfs = resolve_sdfs(reader, scene["sdfs"])
    for i, value in enumerate(scene["contact"]):
        for one in expanded(parts, value, f"contact[{i}]", scene["links"]):
            parts.contacts.append(read_contact(parts, one, f"contact[{i}]"))
    for one in model_contacts(parts, robots, scene["contact"]):
        parts.contacts.append(read_contact(parts, one, f"contact.{one['name']}"))
    lift(parts, robots, scene["links"])
    for i, value in enumerate(scene["links"]):
        parts.links.append(read_link(parts, value, f"links[{i}]"))
    complete(parts)
    _unique_names(parts)
    parts.strict = scene["strict"]
    parts.start = read_start(reader, scene["start"])
    parts.values = _values(reader, scene["estimated"], scene["values"])
    return parts


def _world(reader: Reader, value: object) -> dict:
    world = reader.section(schema.WORLD, value, "world")
    radius = world["spectral_radius"]
    if world["scheme"] == "generalized_alpha":
        world["spectral_radius"] = radius = SPECTRAL_RADIUS if radius is None else radius
        if not radius <= 1:
            raise reader.error("world.spectral_radius", radius, "a number between 0 and 1")
    elif radius is not None:
        rule = "scheme: generalized_alpha"
        raise reader.error("world.spectral_radius", radius, rule, "change the scheme or remove it")
    if world["stepper"] == "velocity" and radius is not None:
        rule = "stepper: implicit"
        raise reader.error("world.scheme", world["scheme"], rule, "remove one of the two")
    if world["stepper"] == "implicit" and world["friction_cone"] != "cone":
        rule = "stepper: velocity"
        raise reader.error("world.friction_cone", world["friction_cone"], rule)
    if not world["tolerance"] <= 1:
        raise reader.error("world.tolerance", world["tolerance"], "a number > 0, at most 1")
    if world["max_halvings"] > MOST_HALVINGS:
        rule = f"a whole number from 0 to {MOST_HALVINGS}"
        raise reader.error("world.max_halvings", world["max_halvings"], rule)
    if not world["duration"] <= MOST_STEPS * world["step"]:
        rule = f"at most {MOST_STEPS} steps of {world['step']:g} s"
        raise reader.error("world.duration", world["duration"], rule)
    steps = round(world["duration"] / world["step"])
    if steps < 1:
        raise reader.error(
            "world.duration", world["duration"], f"at least one step of {world['step']:g} s"
        )
    world["duration"] = steps * world["step"]
    if world["record_every"] > steps:
        raise reader.error(
            "world.record_every", world["record_every"], f"at most the {steps} steps there are"
        )
    return world


def _values(reader: Reader, file: str | None, given: dict) -> dict:
    """Values of the engine's parameters: those of an estimation's result, then those given."""
    values = {}
    if file is not None:
        path = absolute(reader, file)
        content = read_yaml(path)
        entries = content.get("scene") if isinstance(content, dict) else None
        if not isinstance(entries, dict):
            raise reader.error("estimated", file, "a result.yaml of diffsim estimate")
        for name, value in Reader(path).present_names(entries, "scene").items():
            values[name] = reader.value(ENTRY, value, f"estimated ({path}).scene.{name}")
    for name, value in given.items():
        values[name] = reader.value(ENTRY, value, f"values.{name}")
    return values


def _unique_names(parts: Parts) -> None:
    """Bodies, contacts and links share one name space: the engine's parameters carry the name."""
    seen = {name: f"bodies.{name}" for name in parts.bodies}
    for section, group in (("contact", parts.contacts), ("links", parts.links)):
        for i, one in enumerate(group):
            key = f"{section}[{i}].name"
            if one.name in seen:
                remedy = f"{seen[one.name]} has it already"
                raise parts.reader.error(key, one.name, "a name of its own", remedy)
            seen[one.name] = key
