"""A PLAN.yaml, read strictly: scene, controls, goals and how they are searched for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, nearest
from ..inverse.goals import Goal, Smooth
from ..inverse.objectives import PoseTrack
from ..inverse.parameters import Parameter, ParameterMap
from ..scene.fields import Reader
from ..scene.model import SceneModel, load_scene
from ..scene.placing import absolute
from ..scene.schema import ALSO
from ..scene.soft_shapes import SOFT
from ..scene.yaml_file import read_mapping
from . import schema
from .robot_config import Hand, Throw, read_robot
from .robust import Robust, read_robust


@dataclass(frozen=True)
class PlanConfig:
    """A checked plan: the scene's model, controls, objectives of the goals, search options.

    map        controls as free parameters
    goals      objectives of the inverse layer, tolerances as their sigmas
    search     section `search`
    source     the mapping as read (provenance)
    together   objectives that keep the keys of handles near each other, and slow enough for a hand
    robot      the arm that carries it out;  robust  samples over which the plan is to hold
    """

    place: str
    name: str
    scene: SceneModel
    map: ParameterMap
    goals: tuple[Any, ...]
    search: Mapping[str, Any]
    source: Mapping
    together: tuple[Any, ...] = ()
    robot: Throw | Hand | None = None
    robust: Robust | None = None


def load_plan(
    source: str | Path | Mapping,
    *,
    base: str | Path | None = None,
    estimated: str | Path | None = None,
) -> PlanConfig:
    """Read a plan from a file or mapping; InputError naming file, key, value and rule.

    base       folder, or file, from which paths of a mapping count
    estimated  result.yaml of an estimation, in place of the plan's own `estimated`
    """
    raw, place = read_mapping(source, base)
    reader = Reader(place)
    top = reader.section(schema.PLAN, raw)
    if not isinstance(top["scene"], (str, Mapping)):
        raise reader.error("scene", top["scene"], "a path or a mapping")
    beside = Path(place) if not isinstance(source, Mapping) else base
    if estimated is None and top["estimated"] is not None:
        estimated = absolute(reader, top["estimated"])
    scene = load_scene(top["scene"], base=beside, estimated=estimated)
    search = reader.section(schema.SEARCH, top["search"], "search")
    robot = read_robot(reader, top["robot"], scene)
    controls, together = _controls(reader, top["controls"], scene, robot)
    if not top["goals"]:
        raise reader.error("goals", [], "at least one goal")
    goals: list[Any] = []
    for i, value in enumerate(top["goals"]):
        goals += _goals(reader, value, f"goals[{i}]", scene)
    known = {info.name for info in scene.engine.parameters}
    for i, entry in enumerate(search["softened"]):
        if entry not in known:
            rule = "an entry of the scene"
            raise reader.error(f"search.softened[{i}]", entry, rule, nearest(str(entry), known))
    for i, factor in enumerate(search["factors"]):
        if not 0 < factor <= 1:
            raise reader.error(f"search.factors[{i}]", factor, "greater than 0, at most 1")
    robust = read_robust(reader, search["robust"], scene, controls, robot, estimated)
    return PlanConfig(
        place, top["name"], scene, controls, tuple(goals), search, raw, tuple(together), robot, robust
    )


def _controls(reader: Reader, values: Mapping, scene: SceneModel, robot: Throw | Hand | None):
    """The controls as parameters, and objectives that keep a handle's keys together."""
    parameters = [] if robot is None else list(robot.parameters)
    if not values and not parameters:
        raise reader.error("controls", {}, "at least one control")
    together: list[Smooth] = []
    for name, value in values.items():
        key = f"controls.{name}"
        if isinstance(value, Mapping) and "handle" in value:
            found, smooth = _keys(reader, name, value, scene)
            parameters += found
            together += smooth
        else:
            parameters.append(_control(reader, name, value, key, scene))
    groups = [robot.release] if isinstance(robot, Throw) else []
    return ParameterMap(parameters, scene.engine, groups), together


def _control(reader: Reader, name: str, value: object, key: str, scene: SceneModel) -> Parameter:
    """One number, with a weak prior where it has a weight."""
    known = [info.name for info in scene.engine.parameters]
    control = reader.section(schema.CONTROL, value, key)
    sets = {}
    for entry, power in control["sets"].items():
        if entry not in known:
            near = nearest(entry, known)
            raise reader.error(f"{key}.sets.{entry}", power, "an entry of the scene", near)
        given = power if isinstance(power, Mapping) else {"power": power}
        read = reader.section(ALSO, given, f"{key}.sets.{entry}")
        sets[entry] = (read["factor"], read["power"])
    low, high = control["bounds"]
    half, weight = 0.5 * (high - low), control["weight"]
    return Parameter(
        name, control["unit"], control["value"], low, high, sets=sets, typical=half,
        prior_mean=control["value"] if weight else None,
        prior_sigma=half / np.sqrt(weight) if weight else None,
    )  # fmt: skip


def _keys(reader: Reader, name: str, value: Mapping, scene: SceneModel):
    """Parameters of a handle's keys, and how they are kept together."""
    key = f"controls.{name}"
    keys = reader.section(schema.KEYS, value, key)
    entries = {info.name: i for i, info in enumerate(scene.engine.parameters)}
    stem = f"{keys['handle']}.{keys['what']}"
    count = sum(f"{stem}[{k}].x" in entries for k in range(len(entries)))
    if count < 2:
        handles = [n for n, b in scene.description["bodies"].items() if b["type"] == "handle"]
        rule = "a handle with keys or waypoints" + (f": {', '.join(handles)}" if handles else "")
        raise reader.error(f"{key}.handle", keys["handle"], rule)
    for i, axis in enumerate(keys["axes"]):
        if axis not in ("x", "y", "z"):
            raise reader.error(f"{key}.axes[{i}]", axis, "x, y or z")
    last = count - 1 if keys["last"] is None else keys["last"]
    if not keys["first"] <= last < count:
        rule = f"keys 1 to {count - 1}, the first before the last"
        raise reader.error(key, [keys["first"], last], rule)
    at, (low, high) = scene.engine.values, keys["bounds"]
    unit, found = "m" if keys["what"] == "position" else "rad", []
    names = []
    for k in range(keys["first"], last + 1):
        names.append(tuple(f"{name}[{k}].{axis}" for axis in keys["axes"]))
        for axis in keys["axes"]:
            entry = f"{stem}[{k}].{axis}"
            here = float(at[entries[entry]])
            found.append(
                Parameter(f"{name}[{k}].{axis}", unit, here, here + low, here + high,
                          sets={entry: (1.0, 1.0)}, typical=0.5 * (high - low))
            )  # fmt: skip
    before = f"{stem}[{keys['first'] - 1}]"
    fixed = np.array([at[entries[f"{before}.{axis}"]] for axis in keys["axes"]])
    if keys["smooth"] is None:
        return found, []
    return found, [Smooth(keys["handle"], tuple(names), fixed, keys["smooth"], name=name)]


def _goals(reader: Reader, value: object, key: str, scene: SceneModel) -> list[Any]:
    """Objectives of one entry of `goals`."""
    goal = reader.section(schema.GOAL, value, key)
    bodies = scene.description["bodies"]
    if goal["body"] not in bodies:
        near = nearest(goal["body"], bodies)
        raise reader.error(f"{key}.body", goal["body"], "a body of the scene", near)
    kind = bodies[goal["body"]]["type"]
    if kind == "handle":
        raise reader.error(f"{key}.body", goal["body"], "a body that moves freely")
    frames = _frames(reader, goal, key, scene)
    wanted = [k for k in ("position", "velocity", "orientation") if goal[k] is not None]
    if not wanted:
        raise reader.error(key, sorted(goal), "a position, velocity or orientation")
    for k in ("point", "orientation"):
        if goal[k] is not None and kind != "rigid":
            raise reader.error(f"{key}.{k}", goal[k], "of a rigid body only")
    if goal["point"] is not None and goal["position"] is None:
        raise reader.error(f"{key}.point", goal["point"], "given together with `position`")
    if goal["softness"] is not None and wanted != ["position"]:
        raise reader.error(f"{key}.softness", goal["softness"], "of a goal with `position` alone")
    name = goal["name"] or goal["body"]
    weights = None
    if kind in SOFT:
        first, count = scene.engine.nodes_of(goal["body"])
        weights = scene.engine.masses(scene.engine.values)[first : first + count]
    body, sigma, found = goal["body"], goal["tolerance"], []
    if goal["position"] is not None:
        found.append(
            Goal(body, frames, goal["position"], sigma, local=goal["point"], weights=weights,
                 softness=goal["softness"], name=name)
        )  # fmt: skip
    if goal["velocity"] is not None:
        found.append(Goal(body, frames, goal["velocity"], sigma, rate=True, weights=weights,
                          name=f"{name} velocity"))  # fmt: skip
    if goal["orientation"] is not None:
        turned = np.tile(goal["orientation"], (len(frames), 1))
        each = sigma * np.sqrt(len(frames))
        found.append(PoseTrack(body, frames, None, turned, sigma_rotation=each,
                               name=f"{name} orientation"))  # fmt: skip
    return found


def _frames(reader: Reader, goal: Mapping, key: str, scene: SceneModel) -> np.ndarray:
    """Rows of the rollout that a goal is about."""
    if (goal["at"] is None) == (goal["during"] is None):
        raise reader.error(key, goal["at"], "either `at` or `during`", "give exactly one")
    if goal["softness"] is not None and goal["during"] is None:
        raise reader.error(f"{key}.softness", goal["softness"], "given together with `during`")
    span = [goal["at"]] * 2 if goal["during"] is None else goal["during"]
    interval = scene.options.step * scene.options.record_every
    last = scene.steps // scene.options.record_every
    where = "at" if goal["during"] is None else "during"
    rule = f"times from 0 to the scene's duration, {last * interval:g} s"
    if len(span) != 2 or not 0 <= span[0] <= span[1] <= last * interval + 1e-9:
        raise InputError(reader.place, f"{key}.{where}", span, rule)
    first, end = (round(time / interval) for time in span)
    return np.arange(first, end + 1)
