"""Surroundings of an arm: surfaces of its YAML and of a scene, as distances in the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.fields import Reader
from diffsim_ros.robots.arm import Arm
from diffsim_ros.robots.collision_solids import Convex
from diffsim_ros.scene.model import SceneModel
from diffsim_ros.scene.sdfs import Sdf, resolve_sdfs, surface_of


def together(
    first: Mapping[str, Any],
    others: Mapping[str, Any],
    source: str,
    names: dict[str, str] | None = None,
) -> dict[str, Any]:
    """All obstacles; of two with the same name the later one is named after its source.

    names  gets the new name of each of `others` -> its own name
    """
    found = dict(first)
    for name, sdf in others.items():
        title = f"{name} ({source})" if name in found else name
        found[title] = sdf
        if names is not None:
            names[title] = name
    return found


def own_surroundings(arm: Arm) -> dict[str, Any]:
    """Name -> signed distance function in the world of the surroundings in an arm's YAML.

    Raises InputError naming file, key, value and rule.
    """
    reader = Reader(arm.place)
    try:
        given = reader.mapping(arm.surroundings, "surroundings")
        named = resolve_sdfs(reader, given)
    except InputError as error:
        key = error.key.replace("sdfs", "surroundings", 1)
        raise InputError(error.place, key, error.value, error.accepted, error.remedy) from error
    if arm.base is None:
        return {}
    from scipy.spatial.transform import Rotation  # scenes without an arm are read sooner

    turn = Rotation.from_matrix(arm.base[:3, :3]).as_quat()
    found = {}
    for name in named:
        surface = surface_of(name, named)
        sdf = _engine.Transformed(surface.engine(named), arm.base[:3, 3], turn)
        found[name] = Convex(sdf) if surface.convex(named) else sdf
    return found


def still_surfaces(scene: SceneModel) -> dict[str, Any]:
    """Name -> signed distance function in the world of a scene's surfaces that no body carries."""
    named, found = scene.parts.sdfs, {}
    for contact in scene.parts.contacts:
        if contact.carrier is None:
            inline = isinstance(contact.against, Sdf)
            surface = surface_of(contact.against, named)
            sdf = surface.engine(named)
            name = contact.name if inline else contact.against
            found[name] = Convex(sdf) if surface.convex(named) else sdf
    return found
