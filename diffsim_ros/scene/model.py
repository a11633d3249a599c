"""A scene ready to run: `load_scene` reads, resolves, builds and checks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.scene import build, rotation
from diffsim_ros.scene.parameters import ParameterSpec, read_parameters
from diffsim_ros.scene.resolve import resolve, steps_of
from diffsim_ros.scene.yaml_file import read_mapping

if TYPE_CHECKING:
    from diffsim_ros import _engine

Array = np.ndarray


@dataclass(frozen=True)
class BodyInfo:
    """What a picture needs to know of a body.

    kind     box, sphere or point
    size     edges of the box, diameters of the sphere, zero for a point; body frame [m]  (3,)
    colour   red, green, blue, opacity [0..1]  (4,)
    """

    name: str
    kind: str
    size: tuple[float, float, float]
    colour: tuple[float, float, float, float]


@dataclass(frozen=True)
class SdfInfo:
    """One primitive of the surroundings for pictures.

    kind          plane, box or sphere
    position      a point of the plane, or the centre; world frame [m]  (3,)
    orientation   x, y, z, w; for a plane its local z axis is the outward normal  (4,)
    size          edges, diameters; zero for a plane [m]  (3,)
    """

    name: str
    kind: str
    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]
    size: tuple[float, float, float]


@dataclass(frozen=True)
class SceneModel:
    """A checked scene, its engine scene and how to run it.

    engine        _engine.Scene; `engine.values` are the scene's numbers
    options       _engine.Options
    steps         number of steps of the scene's duration
    bodies        name -> BodyInfo, in the order of the engine
    sdfs          primitives of all surfaces, transforms applied
    parameters    what the `parameters:` section asks for
    description   the resolved scene, plain data
    path          file it came from, None for a mapping
    """

    engine: _engine.Scene
    options: _engine.Options
    steps: int
    bodies: dict[str, BodyInfo]
    sdfs: list[SdfInfo]
    parameters: list[ParameterSpec]
    description: dict
    path: Path | None = None
    place: str = "scene"
    surfaces: dict[str, Any] = field(default_factory=dict, repr=False)


def load_scene(source: str | Path | Mapping, *, base: str | Path | None = None) -> SceneModel:
    """Read a scene file (or mapping) and build it.

    base   folder, or file, from which a relative path counts; names the place of a mapping
    Raises InputError: file, path inside it, value, rule, remedy.
    """
    raw, place = read_mapping(source, base)
    description = resolve(raw, place)
    engine, surfaces = build.engine_scene(description, place)
    build.check_start(description, surfaces, place)
    return SceneModel(
        engine=engine,
        options=build.engine_options(description["world"]),
        steps=steps_of(description["world"]),
        bodies={name: _body_info(name, body) for name, body in description["bodies"].items()},
        sdfs=_sdf_infos(description),
        parameters=read_parameters(description, engine, place),
        description=description,
        path=None if isinstance(source, Mapping) else Path(place),
        place=place,
        surfaces=surfaces,
    )


def _body_info(name: str, body: dict) -> BodyInfo:
    kind, size = build.shape_of(body)
    return BodyInfo(name, kind or "point", tuple(size.tolist()), tuple(body["colour"]))


def _sdf_infos(description: dict) -> list[SdfInfo]:
    """Primitives of every surface that a contact uses, or that is named."""
    named = description["sdfs"]
    used = dict(named)
    for contact in description["contact"]:
        if not isinstance(contact["against"], str):
            used[contact["name"]] = contact["against"]
    inner = _referred(named.values())
    identity = (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    infos = []
    for name, value in used.items():
        if name not in inner:
            infos += _flatten(name, value, named, *identity)
    return infos


def _referred(surfaces: object) -> set[str]:
    """Names that surfaces are made of (their bare form is not part of the world)."""
    found = set()
    for value in surfaces:
        if isinstance(value, str):
            found.add(value)
            continue
        ((_, values),) = value.items()
        parts = values.get("of", [])
        found |= _referred([parts] if isinstance(parts, (str, dict)) else parts)
    return found


def _flatten(name: str, value: object, named: dict, position: Array, turn: Array) -> list[SdfInfo]:
    """Primitives of a surface that stands at a pose (position (3,), quaternion (4,))."""
    if isinstance(value, str):
        return _flatten(name, named[value], named, position, turn)
    ((kind, values),) = value.items()
    if kind == "union":
        return [
            info for part in values["of"] for info in _flatten(name, part, named, position, turn)
        ]
    matrix = rotation.matrix_from_quaternion(turn)
    if kind == "transform":
        position = position + matrix @ np.array(values["position"])
        turn = rotation.multiply(turn, values["orientation"])
        return _flatten(name, values["of"], named, position, turn)
    size = np.zeros(3)
    if kind == "plane":
        normal = np.array(values["normal"])
        position = position + matrix @ (values["offset"] * normal)
        turn = rotation.multiply(turn, rotation.quaternion_between([0.0, 0.0, 1.0], normal))
    elif kind == "box":
        size = np.array(values["size"])
    else:
        size = np.full(3, 2 * values["radius"])
    return [SdfInfo(name, kind, *(tuple(a.tolist()) for a in (position, turn, size)))]
