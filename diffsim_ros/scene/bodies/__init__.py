"""Bodies, one file a kind: its keys, checks, place in the engine, paths and picture.

A new kind is a file with a Body and its name in KINDS.
"""

from __future__ import annotations

from dataclasses import replace

from diffsim_ros.fields import Section, join
from diffsim_ros.scene.bodies.body import Body, BodyInfo
from diffsim_ros.scene.bodies.cloth import ClothBody
from diffsim_ros.scene.bodies.kinematic import KinematicBody
from diffsim_ros.scene.bodies.net import NetBody
from diffsim_ros.scene.bodies.particle import ParticleBody
from diffsim_ros.scene.bodies.rigid import RigidBody
from diffsim_ros.scene.bodies.solid import SolidBody
from diffsim_ros.scene.bodies.string import StringBody
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.placing import NAME, POSE

__all__ = ["KINDS", "TYPE", "Body", "BodyInfo", "read_bodies"]
KINDS: dict[str, type[Body]] = {
    kind.WORD: kind
    for kind in (RigidBody, ParticleBody, SolidBody, ClothBody, StringBody, NetBody, KinematicBody)
}
TYPE = replace(Body.section()["type"], choices=tuple(KINDS))
SECTIONS: dict[str, Section] = {
    word: {**kind.section(), "type": TYPE} for word, kind in KINDS.items()
}


def _tables() -> dict[str, Section]:
    """The table without a type is that of the first kind, and of those with the same keys."""
    (first, *others), found = KINDS, {}
    found["bodies.NAME"] = SECTIONS[first]
    for word in others:
        if SECTIONS[word] != SECTIONS[first]:
            found[f"bodies.NAME (type: {word})"] = SECTIONS[word]
    found["bodies.NAME.pose"] = POSE
    for word, kind in KINDS.items():
        tag = f" ({word})" if kind.SOFT else ""
        found |= {f"bodies.NAME.shape.{s}{tag}": table for s, table in kind.SHAPES.items()}
        found |= {f"bodies.NAME{path}": section for path, section in kind.MORE.items()}
    return found


TABLES = _tables()


def read_bodies(parts: Parts, given: dict) -> None:
    """Put all bodies into `parts`, every default filled in; raises InputError."""
    reader, renamed = parts.reader, dict(TYPE.renamed)
    for name, value in given.items():
        word = reader.mapping(value, f"bodies.{name}").get("type") or TYPE.default
        kind = KINDS.get(renamed.get(word, word)) if isinstance(word, str) else None
        parts.given_bodies[name] = (word, kind)
    for name, value in given.items():
        key = f"bodies.{name}"
        reader.value(NAME, name, key)
        word = reader.value(TYPE, parts.given_bodies[name][0], join(key, "type"))
        values = reader.section(SECTIONS[word], value, key)
        KINDS[word].check(parts, values, value, key)
        parts.bodies[name] = KINDS[word](name=name, **values)
