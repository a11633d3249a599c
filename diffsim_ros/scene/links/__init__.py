"""Links between bodies and what acts on them, one file a kind: keys, checks, engine, paths.

A new kind is a file with a SceneLink and its name in KINDS.
"""

from __future__ import annotations

from dataclasses import replace

from diffsim_ros.fields import Section, join
from diffsim_ros.scene.links.bundle import BundleLink
from diffsim_ros.scene.links.cable import CableLink
from diffsim_ros.scene.links.drag import DragLink
from diffsim_ros.scene.links.force import ForceLink
from diffsim_ros.scene.links.joint import JointLink
from diffsim_ros.scene.links.link import SceneLink
from diffsim_ros.scene.links.motor import MotorLink
from diffsim_ros.scene.links.payload import PayloadLink
from diffsim_ros.scene.links.spring import SpringLink
from diffsim_ros.scene.links.torque import TorqueLink
from diffsim_ros.scene.links.torsion import TorsionLink
from diffsim_ros.scene.parts import Parts

KINDS: dict[str, type[SceneLink]] = {
    kind.WORD: kind
    for kind in (
        SpringLink, JointLink, MotorLink, PayloadLink, CableLink, BundleLink, ForceLink, TorqueLink,
        DragLink, TorsionLink,
    )
}  # fmt: skip
TYPE = replace(SceneLink.section()["type"], choices=tuple(KINDS))
SECTIONS: dict[str, Section] = {
    word: {**kind.section(), "type": TYPE} for word, kind in KINDS.items()
}


def _tables() -> dict[str, Section]:
    found = {}
    for word, kind in KINDS.items():
        default = word == TYPE.default
        found["links[i]" if default else f"links[i] (type: {word})"] = SECTIONS[word]
        found |= {f"links[i]{path}": section for path, section in kind.MORE.items()}
    return found


TABLES = _tables()


def read_link(parts: Parts, value: object, key: str) -> SceneLink:
    """A link with every default filled in; raises InputError."""
    reader = parts.reader
    given = reader.mapping(value, key)
    word = reader.value(TYPE, given.get("type") or TYPE.default, join(key, "type"))
    section = {**KINDS[word].section_for(parts, given), "type": TYPE}
    values = reader.section(section, value, key)
    KINDS[word].check(parts, values, key)
    return KINDS[word](**values)
