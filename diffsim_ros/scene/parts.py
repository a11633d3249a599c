"""A scene, read: its parts with every default evaluated, and as the plain data of a file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Reader
from diffsim_ros.scene.part import plain


@dataclass
class Parts:
    """Parts of a scene; while it is read, those before the one being read.

    world          section `world`, duration a whole number of steps
    materials      name -> Material;  bodies  name -> Body;  sdfs  name -> Sdf or another's name
    contacts, links   in the order of the file (Contact, SceneLink)
    strict         whether bodies inside each other are an error
    start          file that the motion starts from, or soft body -> file
    values         parameter of the engine -> value;  parameters  section, as the file has it
    given_bodies   name -> word and kind of every body of the file, None where there is no such kind
    """

    reader: Reader
    name: str = ""
    world: dict = field(default_factory=dict)
    materials: dict[str, Any] = field(default_factory=dict)
    given_bodies: dict[str, tuple[str, Any]] = field(default_factory=dict)
    bodies: dict[str, Any] = field(default_factory=dict)
    sdfs: dict[str, Any] = field(default_factory=dict)
    contacts: list[Any] = field(default_factory=list)
    links: list[Any] = field(default_factory=list)
    strict: bool = False
    start: str | dict[str, str] | None = None
    values: dict[str, float] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """Number of steps of the scene's duration."""
        return round(self.world["duration"] / self.world["step"])

    def body(self, name: str, key: str) -> Any:
        """The body of this name; InputError at `key` names near ones."""
        if name not in self.bodies:
            raise self.reader.error(key, name, "a name of `bodies`", nearest(name, self.bodies))
        return self.bodies[name]

    def description(self) -> dict:
        """The resolved scene as plain data, which loads again to the same numbers."""
        return plain({
            "name": self.name, "world": self.world, "materials": self.materials,
            "bodies": self.bodies, "sdfs": self.sdfs, "contact": self.contacts,
            "links": self.links, **({"start": self.start} if self.start else {}),
            **({"strict": True} if self.strict else {}),
            "values": self.values, "parameters": self.parameters,
        })  # fmt: skip

    def write_chosen(self, engine: Any) -> None:
        """Write what the engine chose by masses and radii into contacts and links."""
        known = {info.name for info in engine.parameters}
        values = engine.values
        for group in (self.contacts, self.links):
            for i, one in enumerate(group):
                names = {word: f"{one.name}.{word}" for word in one.CHOSEN}
                chosen = {
                    word: float(values[engine.index(name)])
                    for word, name in names.items()
                    if getattr(one, word) is None and name in known
                }
                group[i] = replace(one, **chosen)
