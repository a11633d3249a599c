"""A scene ready to run: `load_scene` reads, resolves, builds and checks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffsim_ros.errors import InputError
from diffsim_ros.parameter import Parameter
from diffsim_ros.scene import build
from diffsim_ros.scene.bodies import BodyInfo
from diffsim_ros.scene.crossing import crossings, report, warn_of_start
from diffsim_ros.scene.joint_start import warn_of_far_welds
from diffsim_ros.scene.mesh_report import MeshReport
from diffsim_ros.scene.parameters import read_parameters
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.resolve import resolve
from diffsim_ros.scene.sdfs import SdfInfo, files_of, sdf_infos
from diffsim_ros.scene.targets import targets
from diffsim_ros.yaml_file import read_mapping

if TYPE_CHECKING:
    from diffsim_ros import _engine


@dataclass(frozen=True)
class SceneModel:
    """A checked scene, its engine scene and how to run it.

    engine        _engine.Scene; `engine.values` are the scene's numbers
    options       _engine.Options, which rollouts of `engine` without options take
    steps         number of steps of the scene's duration
    parts         bodies, surfaces, contacts and links, by kind
    bodies        name -> BodyInfo, in the order of the engine
    sdfs          primitives of all surfaces, transforms applied
    parameters    of the `parameters:` section
    description   the resolved scene, plain data
    path          file it came from, None for a mapping
    meshes        name -> MeshReport of every solid
    shapes        name -> figures of every rigid or kinematic body that is a mesh or compound
    """

    engine: _engine.Scene
    options: _engine.Options
    steps: int
    parts: Parts
    bodies: dict[str, BodyInfo]
    sdfs: list[SdfInfo]
    parameters: list[Parameter]
    description: dict
    path: Path | None = None
    place: str = "scene"
    surfaces: dict[str, Any] = field(default_factory=dict, repr=False)
    meshes: dict[str, MeshReport] = field(default_factory=dict, repr=False)
    shapes: dict[str, dict] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without what only the engine knows, which is built again from the parts."""
        built = ("engine", "options", "surfaces", "sdfs")
        kept = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in built}
        return {**kept, "values": self.engine.values, "files": _files(self.parts)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        values, files = state.pop("values"), state.pop("files")
        for path, content in _files(state["parts"]).items():
            if content != files[path]:
                rule = "the file that the scene was loaded with, under the same path"
                raise InputError(state["place"], "sdfs", path, rule)
        engine, surfaces = build.engine_scene(state["parts"])
        options = engine.options = build.engine_options(state["parts"].world)
        for info, value, own in zip(engine.parameters, values, engine.values, strict=True):
            if value != own:
                engine.set_value(info.name, value)
        sdfs = _pictures(state["parts"])
        self.__dict__.update(state, engine=engine, options=options, surfaces=surfaces, sdfs=sdfs)

    def crossings(self, rollout: _engine.Rollout) -> list[str]:
        """What a motion has inside what, in words (scene/crossing.py).

        InputError for a scene that is `strict`.
        """
        frames = rollout.time, rollout.position, rollout.orientation
        return report(self.parts, crossings(self.parts, self.surfaces, self.engine, *frames))

    def halved(self, times: int) -> SceneModel:
        """The scene with its step halved so often: the same numbers, recorded at the same times."""
        world = dict(self.parts.world)
        world["step"] /= 2**times
        world["record_every"] *= 2**times
        parts = replace(self.parts, world=world)
        options = build.engine_options(world)
        return replace(
            self, parts=parts, options=options, steps=parts.steps, description=parts.description()
        )

    def with_rolling(self) -> SceneModel:
        """The scene with rolling and spinning friction as parameters of contacts that have none, 0,
        where contact spheres can turn; itself where nothing is to be added."""
        bodies = self.parts.bodies
        lacking = [not (c.rolls or bodies[c.points].SOFT) for c in self.parts.contacts]
        if not any(lacking):
            return self
        contacts = [
            replace(contact, c_roll=0.0, c_spin=0.0) if lacks else contact
            for contact, lacks in zip(self.parts.contacts, lacking, strict=True)
        ]
        parts = replace(self.parts, contacts=contacts)
        engine, surfaces = build.engine_scene(parts)
        engine.options = self.options
        description = parts.description()
        return replace(self, engine=engine, parts=parts, surfaces=surfaces, description=description)


def _files(parts: Parts) -> dict[str, str]:
    """Files that the engine's surfaces are made from -> SHA-256 of their content."""
    return files_of([*parts.sdfs.values(), *(contact.against for contact in parts.contacts)])


def _pictures(parts: Parts) -> list[SdfInfo]:
    seen = [c for c in parts.contacts if not (c.spheres and c.carrier) and not c.shaped(parts)]
    return sdf_infos(parts.sdfs, seen)


def load_scene(
    source: str | Path | Mapping,
    *,
    base: str | Path | None = None,
    estimated: str | Path | None = None,
    set: Iterable[str] = (),
) -> SceneModel:
    """Read a scene file (or mapping) and build it.

    base       folder, or file, that paths are relative to; names the place of a mapping
    estimated  result.yaml of an estimation, in place of the scene's own `estimated`
    set        "KEY=VALUE" that replace values of the file, e.g. "world.step=1/500"
    Raises InputError: file, path inside it, value, rule, remedy.
    """
    raw, place = read_mapping(source, base, set)
    if estimated is not None and isinstance(raw, Mapping):
        raw = {**raw, "estimated": str(Path(estimated).resolve())}
    parts = resolve(raw, place)
    engine, surfaces = build.engine_scene(parts)
    engine.options = build.engine_options(parts.world)
    build.check_start(parts, surfaces, engine)
    warn_of_far_welds(parts)
    warn_of_start(parts, surfaces, engine)
    reports = {name: body.mesh.report for name, body in parts.bodies.items() if body.SOFT}
    return SceneModel(
        engine=engine,
        options=engine.options,
        steps=parts.steps,
        parts=parts,
        bodies={name: parts.bodies[name].info() for name in engine.body_names},
        sdfs=_pictures(parts),
        parameters=read_parameters(parts.parameters, targets(parts, engine), place),
        description=parts.description(),
        path=None if isinstance(source, Mapping) else Path(place),
        place=place,
        surfaces=surfaces,
        meshes={name: report for name, report in reports.items() if report is not None},
        shapes={
            name: body.form.figures()
            for name, body in parts.bodies.items()
            if body.form and body.form.kind in ("mesh", "compound")
        },
    )
