"""From what a user wrote to the *resolved* scene: same keys, every default evaluated.

The resolved scene is plain data that loads again to the same engine scene; it is written beside
results.  Defaults that depend on others (k_t = k_n * step, the radius of a contact sphere, a rest
          length, a density
taken from a material) are evaluated here, once.
"""

from __future__ import annotations

from diffsim_ros.fields import Field, Reader, present
from diffsim_ros.scene import schema
from diffsim_ros.scene.bodies import resolve_body
from diffsim_ros.scene.connections import resolve_contact
from diffsim_ros.scene.links import resolve_link
from diffsim_ros.scene.placing import absolute
from diffsim_ros.scene.robot_parts import add_robots
from diffsim_ros.scene.surfaces import resolve_sdfs
from diffsim_ros.yaml_file import read_yaml

ENTRY = Field("number", "value in the engine's units: SI, radians")
MOST_STEPS = 10**8
"""Steps of a simulation; what is beyond is a slip of the units."""


def resolve(raw: object, place: object) -> dict:
    """Return the resolved description of a scene mapping; raises InputError (see fields)."""
    reader = Reader(place)
    scene = reader.section(schema.SCENE, raw)
    scene["world"] = _world(reader, scene["world"])
    scene["materials"] = {
        name: present(reader.section(schema.MATERIAL, value, f"materials.{name}"))
        for name, value in scene["materials"].items()
    }
    add_robots(reader, scene)
    if not scene["bodies"]:
        raise reader.error("bodies", scene["bodies"], "at least one body")
    scene["bodies"] = {
        name: resolve_body(reader, scene, name, value) for name, value in scene["bodies"].items()
    }
    scene["sdfs"] = resolve_sdfs(reader, scene["sdfs"])
    scene["contact"] = [
        resolve_contact(reader, scene, value, f"contact[{i}]")
        for i, value in enumerate(scene["contact"])
    ]
    links: list[dict] = []
    for i, value in enumerate(scene["links"]):
        links.append(resolve_link(reader, scene, value, f"links[{i}]", links))
    scene["links"] = links
    _unique_names(reader, scene)
    scene["values"] = _values(reader, scene.pop("estimated"), scene["values"])
    return scene


def steps_of(world: dict) -> int:
    """Number of steps of a resolved world."""
    return round(world["duration"] / world["step"])


def _world(reader: Reader, value: object) -> dict:
    world = reader.section(schema.WORLD, value, "world")
    if not world["duration"] <= MOST_STEPS * world["step"]:
        rule = f"at most {MOST_STEPS} steps of {world['step']:g} s"
        raise reader.error("world.duration", world["duration"], rule)
    steps = steps_of(world)
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
    """Entries of the engine by name: those of an estimation's result, then those given."""
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


def _unique_names(reader: Reader, scene: dict) -> None:
    """Bodies, contacts and links share one name space: the engine's parameters carry the name."""
    seen = {name: f"bodies.{name}" for name in scene["bodies"]}
    for section in ("contact", "links"):
        for i, item in enumerate(scene[section]):
            key = f"{section}[{i}].name"
            if item["name"] in seen:
                raise reader.error(
                    key, item["name"], "a name of its own", f"{seen[item['name']]} has it already"
                )
            seen[item["name"]] = key
