"""A scene ready to run: `load_scene` reads, resolves, builds and checks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diffsim_ros.parameter import Parameter
from diffsim_ros.scene import build
from diffsim_ros.scene.mesh_report import MeshReport
from diffsim_ros.scene.parameters import read_parameters
from diffsim_ros.scene.resolve import resolve, steps_of
from diffsim_ros.scene.sdf_infos import SdfInfo, sdf_infos
from diffsim_ros.scene.soft_shapes import soft_shape
from diffsim_ros.yaml_file import read_mapping

if TYPE_CHECKING:
    from diffsim_ros import _engine

Array = np.ndarray


@dataclass(frozen=True)
class BodyInfo:
    """What a picture needs to know of a body.

    kind       box, sphere, point, frame (a kinematic body without shape), or soft: drawn by its
               vertices
    size       edges of the box, diameters of the sphere, extent of a soft body, zero for a point;
               body frame [m]  (3,)
    colour     red, green, blue, opacity [0..1]  (4,)
    triangles  of a soft body's vertices (k, 3); both sides are seen if `sheet`
    lines      of a string's (s, 2)
    """

    name: str
    kind: str
    size: tuple[float, float, float]
    colour: tuple[float, float, float, float]
    triangles: Array = field(default_factory=lambda: np.zeros((0, 3), int), repr=False)
    lines: Array = field(default_factory=lambda: np.zeros((0, 2), int), repr=False)
    sheet: bool = False


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
    meshes        name -> MeshReport of every solid
    """

    engine: _engine.Scene
    options: _engine.Options
    steps: int
    bodies: dict[str, BodyInfo]
    sdfs: list[SdfInfo]
    parameters: list[Parameter]
    description: dict
    path: Path | None = None
    place: str = "scene"
    surfaces: dict[str, Any] = field(default_factory=dict, repr=False)
    meshes: dict[str, MeshReport] = field(default_factory=dict, repr=False)


def load_scene(
    source: str | Path | Mapping,
    *,
    base: str | Path | None = None,
    estimated: str | Path | None = None,
) -> SceneModel:
    """Read a scene file (or mapping) and build it.

    base       folder, or file, from which a relative path counts; names the place of a mapping
    estimated  result.yaml of an estimation, in place of the scene's own `estimated`
    Raises InputError: file, path inside it, value, rule, remedy.
    """
    raw, place = read_mapping(source, base)
    if estimated is not None and isinstance(raw, Mapping):
        raw = {**raw, "estimated": str(Path(estimated).resolve())}
    description = resolve(raw, place)
    engine, surfaces = build.engine_scene(description, place)
    build.check_start(description, surfaces, place)
    bodies = description["bodies"]
    return SceneModel(
        engine=engine,
        options=build.engine_options(description["world"]),
        steps=steps_of(description["world"]),
        bodies={name: _body_info(name, bodies[name]) for name in engine.body_names},
        sdfs=sdf_infos(description),
        parameters=read_parameters(description, engine, place),
        description=description,
        path=None if isinstance(source, Mapping) else Path(place),
        place=place,
        surfaces=surfaces,
        meshes={n: soft_shape(b).report for n, b in bodies.items() if b["type"] == "solid"},
    )


def _body_info(name: str, body: dict) -> BodyInfo:
    kind, size = build.shape_of(body)
    colour = tuple(body["colour"])
    if kind != "soft":
        other = "frame" if body["type"] == "kinematic" else "point"
        return BodyInfo(name, kind or other, tuple(size.tolist()), colour)
    shape = soft_shape(body)
    lines = shape.web.pairs["stretch"] if body["type"] == "string" else np.zeros((0, 2), int)
    return BodyInfo(
        name, kind, tuple(size.tolist()), colour, shape.triangles, lines, body["type"] == "cloth"
    )
