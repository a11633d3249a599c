"""Surfaces that bodies touch, one file a kind: its keys, checks, engine and pictures.

A new kind is a file with an Sdf and its name in KINDS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Reader, Section, join
from diffsim_ros.scene.placing import NAME
from diffsim_ros.scene.sdfs.booleans import (
    ComplementSdf,
    DifferenceSdf,
    IntersectionSdf,
    UnionSdf,
)
from diffsim_ros.scene.sdfs.box import BoxSdf
from diffsim_ros.scene.sdfs.capsule import CapsuleSdf
from diffsim_ros.scene.sdfs.cone import ConeSdf
from diffsim_ros.scene.sdfs.cylinder import CylinderSdf
from diffsim_ros.scene.sdfs.ellipsoid import EllipsoidSdf
from diffsim_ros.scene.sdfs.half_spaces import HalfSpacesSdf
from diffsim_ros.scene.sdfs.height_field import HeightFieldSdf
from diffsim_ros.scene.sdfs.mesh import MeshSdf
from diffsim_ros.scene.sdfs.offset import OffsetSdf
from diffsim_ros.scene.sdfs.plane import PlaneSdf
from diffsim_ros.scene.sdfs.sphere import SphereSdf
from diffsim_ros.scene.sdfs.surface import (
    Named,
    Sdf,
    SdfInfo,
    files_of,
    sizes_of,
    surface_of,
)
from diffsim_ros.scene.sdfs.torus import TorusSdf
from diffsim_ros.scene.sdfs.transform import TransformSdf
from diffsim_ros.scene.sdfs.vdb import VdbSdf

__all__ = ["KINDS", "Named", "Sdf", "SdfInfo", "files_of", "sizes_of", "surface_of"]
KINDS: dict[str, type[Sdf]] = {
    kind.WORD: kind
    for kind in (
        PlaneSdf, BoxSdf, SphereSdf, CapsuleSdf, CylinderSdf, ConeSdf, TorusSdf, EllipsoidSdf,
        HalfSpacesSdf, HeightFieldSdf, MeshSdf, VdbSdf, TransformSdf, OffsetSdf, UnionSdf,
        IntersectionSdf, DifferenceSdf, ComplementSdf,
    )
}  # fmt: skip
SECTIONS: dict[str, Section] = {word: kind.section() for word, kind in KINDS.items()}
TABLES: dict[str, Section] = {f"sdfs.NAME.{word}": table for word, table in SECTIONS.items()}


def resolve_sdfs(reader: Reader, given: dict) -> dict[str, Sdf | str]:
    """Resolve named surfaces; a name may be used before it is defined, but not in a circle."""
    resolved = {}
    for name, value in given.items():
        reader.value(NAME, name, f"sdfs.{name}")
        resolved[name] = resolve_surface(reader, given, value, f"sdfs.{name}", (name,))
    return resolved


def resolve_surface(
    reader: Reader, named: Mapping[str, Any], value: object, key: str, above: tuple = ()
) -> Sdf | str:
    """A surface with its defaults; a name of `named` (read or not) stays one."""
    if isinstance(value, Sdf):
        return value
    if isinstance(value, str):
        if value not in named:
            raise reader.error(
                key, value, "a name of `sdfs` or an inline surface", nearest(value, named)
            )
        if value in above:
            raise reader.error(key, value, "surfaces that do not refer to themselves")
        resolve_surface(reader, named, named[value], f"sdfs.{value}", (*above, value))
        return value
    word, values = reader.variant(SECTIONS, value, key)

    def inner(member: object, place: str) -> Sdf | str:
        return resolve_surface(reader, named, member, place, above)

    KINDS[word].check(reader, values, join(key, word), inner)
    return KINDS[word](**values)


def sdf_infos(named: Named, contacts: list) -> list[SdfInfo]:
    """Pictures of every surface that a contact uses, or that is named and no part of another."""
    used, carried = dict(named), {}
    for contact in contacts:
        inline = not isinstance(contact.against, str)
        name = contact.name if inline else contact.against
        used[name] = contact.against if inline else named[name]
        carried.setdefault(name, []).append(contact.carrier)
    inner = {name for value in named.values() for name in _referred(value)}
    identity = (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    infos = []
    for name, value in used.items():
        if name not in inner or name in carried:
            for carrier in dict.fromkeys(carried.get(name, [None])):
                infos += surface_of(value, named).drawn(name, carrier, named, *identity)
    return infos


def _referred(value: Sdf | str) -> set[str]:
    """Names in a surface (their bare form is not part of the world)."""
    if isinstance(value, str):
        return {value}
    return {name for member in value.members() for name in _referred(member)}
