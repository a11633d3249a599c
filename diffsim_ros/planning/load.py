"""A PLAN.yaml, read strictly: scene, controls, goals and the search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import nearest
from ..fields import Reader
from ..inverse.guides import KeyLimit
from ..inverse.parameters import ParameterMap
from ..parameter import Parameter
from ..scene.model import SceneModel, load_scene
from ..scene.placing import absolute
from ..yaml_file import read_mapping
from . import schema
from .config import PlanConfig, Task
from .controls import read_control
from .goals import read_goals
from .kinematic_keys import read_keys
from .robust import read_robust
from .tasks import read_task


def load_plan(
    source: str | Path | Mapping,
    *,
    base: str | Path | None = None,
    estimated: str | Path | None = None,
    set: Iterable[str] = (),
) -> PlanConfig:
    """Read a plan from a file or mapping; InputError naming file, key, value and rule.

    base       folder, or file, that paths of a mapping are relative to
    estimated  result.yaml of an estimation, in place of the plan's own `estimated`
    set        "KEY=VALUE" that replace values of the file, e.g. "search.starts=3"
    """
    content, place = read_mapping(source, base, set)
    reader = Reader(place)
    raw = reader.mapping(content, "")
    if "excitation" in raw:
        rule, remedy = "`scene`, `controls` and `goals`", "this is a plan of an excitation"
        raise reader.error("excitation", raw["excitation"], rule, remedy)
    top = reader.section(schema.PLAN, raw)
    if not isinstance(top["scene"], (str, Mapping)):
        raise reader.error("scene", top["scene"], "a path or a mapping")
    folder = Path(place) if not isinstance(source, Mapping) else base
    if estimated is None and top["estimated"] is not None:
        estimated = absolute(reader, top["estimated"])
    scene = load_scene(top["scene"], base=folder, estimated=estimated)
    search = reader.section(schema.SEARCH, top["search"], "search")
    task = read_task(reader, top["robot"], scene)
    parameters, together, limits = _controls(reader, top["controls"], scene, task)
    groups: list[Any] = []
    if task is not None:
        scene, parameters, groups = task.bound(reader, scene, parameters)
    controls = ParameterMap(parameters, scene.engine, groups)
    if not controls.free:
        at = "controls" if task is None else task.controls_key
        remedy = "name joints in `chosen` or `swung`, or add controls"
        raise reader.error(at, "nothing that the plan may choose", "at least one control", remedy)
    if not top["goals"]:
        raise reader.error("goals", [], "at least one goal")
    goals, guides, notes = read_goals(reader, top["goals"], scene)
    known = {info.name for info in scene.engine.parameters}
    for i, name in enumerate(search["continuation"]):
        if name not in known:
            rule = "a parameter of the scene"
            raise reader.error(f"search.continuation[{i}]", name, rule, nearest(str(name), known))
    for i, factor in enumerate(search["factors"]):
        if not factor > 0:
            raise reader.error(f"search.factors[{i}]", factor, "greater than 0")
    robust = read_robust(reader, search["robust"], scene, controls, task, estimated)
    return PlanConfig(
        place, top["name"], scene, controls, tuple(goals), search, raw, tuple(together),
        tuple(limits), frozenset(guides), task, robust, tuple(notes),
    )  # fmt: skip


def _controls(
    reader: Reader, values: Mapping, scene: SceneModel, task: Task | None
) -> tuple[list[Parameter], list[Any], list[KeyLimit]]:
    """The controls as parameters, objectives that smooth keys of kinematic bodies, and their
    limits."""
    parameters = [] if task is None else list(task.parameters)
    if not values and not parameters:
        raise reader.error("controls", {}, "at least one control")
    together: list[Any] = []
    limits: list[KeyLimit] = []
    known = [info.name for info in scene.engine.parameters]
    for name, value in values.items():
        if isinstance(value, Mapping) and value.keys() & {"body", "handle"}:
            found, kept, limited = read_keys(reader, name, value, scene)
            parameters += found
            together += kept
            limits += limited
        else:
            parameters.append(read_control(reader, name, value, known))
    return parameters, together, limits
