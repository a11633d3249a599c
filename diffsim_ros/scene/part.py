"""Parts of a scene: frozen dataclasses whose fields are the keys of a section of the file.

    @part
    class Torque(Link):
        WORD = "torque"
        body: str = key("name", "a rigid body", default=REQUIRED)

`Torque.section()` is the table of its keys, `Torque(**values)` the part that was read, with None
for what is absent, and `torque.plain()` what a resolved file has.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, ClassVar

from diffsim_ros.fields import Field, Section

part = dataclasses.dataclass(frozen=True, kw_only=True, eq=False)


def key(kind: str, doc: str, unit: str = "", default: object = None, **rules: Any) -> Any:
    """A field of a part that is a key of the file; arguments as of fields.Field."""
    return shared(Field(kind, doc, unit, default, **rules))


def shared(field: Field) -> Any:
    """The same of a Field that several parts have."""
    return dataclasses.field(metadata={"key": field})


@part
class Part:
    """Something that a file describes; WORD is what the file calls its kind."""

    WORD: ClassVar[str] = ""

    @classmethod
    def section(cls) -> Section:
        """Keys of the file: name and type, this kind's own ones, then what some kinds share."""
        names = [n for c in cls.__mro__ for n in inspect.get_annotations(c)]
        names = sorted(dict.fromkeys(names), key=lambda n: n not in ("name", "type"))
        known = {f.name: f.metadata["key"] for f in dataclasses.fields(cls) if f.metadata}
        return {name: known[name] for name in names if name in known}

    def plain(self) -> dict:
        """Its keys and values, without absent keys."""
        values = {name: getattr(self, name) for name in self.section()}
        return {name: plain(value) for name, value in values.items() if value is not None}


def plain(value: Any) -> Any:
    """Parts, and lists and mappings of them, as plain data."""
    if isinstance(value, Part):
        return value.plain()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value
