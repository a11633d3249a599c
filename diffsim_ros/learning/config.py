"""An ENVIRONMENT.yaml, read strictly: scene, action, observation, reward, reset."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Reader, join
from diffsim_ros.learning import schema
from diffsim_ros.learning.terms import MotionTerm, MotionTerms
from diffsim_ros.parameter import follows_of
from diffsim_ros.scene.model import SceneModel, load_scene
from diffsim_ros.scene.placing import absolute
from diffsim_ros.yaml_file import read_mapping

NUMBER = re.compile(r"(?P<name>[^\[\]]+?)(\[(?P<item>\d+)\])?(?P<part>\.\w+)?")


@dataclass(frozen=True)
class PolicyAction:
    """One number that the policy commands: value = middle + half * a, a from -1 to 1.

    sets  index of a parameter of the engine -> factor
    """

    name: str
    low: float
    high: float
    sets: Mapping[int, float]


@dataclass(frozen=True)
class StartRange:
    """Start of a joint's coordinate and rate, or of a parameter: value and half the range."""

    value: tuple[float, ...]
    spread: tuple[float, ...]


@dataclass(frozen=True)
class TerminalLimit:
    """What terminates an episode: the number of this column outside its limits."""

    name: str
    column: int
    below: float
    above: float


@dataclass(frozen=True)
class EnvironmentConfig:
    """A checked environment.

    outputs      names that the engine is asked for, whose numbers stand one after the other
    numbers      how many these are; behind them stand the values of the actions
    observation  terms that the policy sees;  reward  terms whose sum it is
    joints       name -> start of a joint in reduced coordinates;  parameters  index -> start
    alive_reward  added for every action that does not terminate the episode
    """

    place: str
    name: str
    scene: SceneModel
    steps: int
    horizon: int
    actions: tuple[PolicyAction, ...]
    outputs: tuple[str, ...]
    numbers: int
    observation: MotionTerms
    reward: MotionTerms
    joints: Mapping[str, StartRange]
    parameters: Mapping[int, StartRange]
    ends: tuple[TerminalLimit, ...]
    failure_reward: float
    alive_reward: float = 0.0

    @property
    def period(self) -> float:
        """Of an action [s]."""
        return self.steps * float(self.scene.options.step)

    def interface(self) -> dict[str, Any]:
        """What a policy must fit: observations, actions and their period, plain data."""
        return {
            "observation": [
                [t.name, t.target, t.scale] for t in self.observation.terms
            ],
            "action": [[a.name, a.low, a.high] for a in self.actions],
            "period": self.period,
        }  # fmt: skip

    def digest(self) -> str:
        """Of the whole environment: the scene's parameters and all of the file but its name."""
        engine = self.scene.engine
        values = dict(zip((i.name for i in engine.parameters), engine.values.tolist(), strict=True))
        whole = [
            self.interface(), values, self.horizon, [vars(t) for t in self.reward.terms],
            {k: vars(v) for k, v in self.joints.items()},
            {k: vars(v) for k, v in self.parameters.items()},
            [vars(e) for e in self.ends], self.failure_reward, self.alive_reward,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def load_environment(
    source: str | Path | Mapping, *, base: str | Path | None = None, set: Iterable[str] = ()
) -> EnvironmentConfig:
    """Read an environment from a file or mapping; InputError naming file, key, value and rule.

    base  folder, or file, that paths of a mapping are relative to
    set   "KEY=VALUE" that replace values of the file
    """
    content, place = read_mapping(source, base, set)
    reader = Reader(place)
    top = reader.section(schema.ENVIRONMENT, reader.mapping(content, ""))
    if not isinstance(top["scene"], (str, Mapping)):
        raise reader.error("scene", top["scene"], "a path or a mapping")
    folder = Path(place) if not isinstance(source, Mapping) else base
    estimated = None if top["estimated"] is None else absolute(reader, top["estimated"])
    scene = load_scene(top["scene"], base=folder, estimated=estimated)
    actions = _actions(reader, top["action"], scene)
    numbers = _Numbers(reader, scene, [action.name for action in actions])
    observation = [
        term
        for i, entry in enumerate(top["observation"])
        for term in numbers.terms(entry, f"observation[{i}]", schema.TERM)
    ]
    reward = [
        term
        for name, entry in top["reward"].items()
        for term in numbers.terms(entry, f"reward.{name}", schema.REWARD)
    ]
    for key, found in (("observation", observation), ("reward", reward)):
        if not found:
            raise reader.error(key, top[key], "at least one term")
    ends = tuple(numbers.end(entry, f"ends[{i}]") for i, entry in enumerate(top["ends"]))
    joints, parameters = _reset(reader, top["reset"], scene, actions)
    shift = numbers.count - numbers.FIRST_ACTION  # actions stand behind all outputs
    return EnvironmentConfig(
        place, top["name"], scene, top["steps"], top["horizon"], tuple(actions),
        tuple(numbers.outputs), numbers.count,
        MotionTerms([_moved(t, numbers, shift) for t in observation]),
        MotionTerms([_moved(t, numbers, shift) for t in reward]),
        joints, parameters, ends, top["failure_reward"], top["alive_reward"],
    )  # fmt: skip


def _moved(term: MotionTerm, numbers: _Numbers, shift: int) -> MotionTerm:
    if term.column < numbers.FIRST_ACTION:
        return term
    return MotionTerm(**{**vars(term), "column": term.column + shift})


class _Numbers:
    """Numbers of the outputs asked for so far, by name."""

    FIRST_ACTION = 10**9
    """Column of the first action until it is known how many outputs stand before it."""

    def __init__(self, reader: Reader, scene: SceneModel, actions: list[str]) -> None:
        engine = scene.engine
        self.reader, self.actions = reader, actions
        self.known = {o.name: o for o in (*engine.motion_outputs, *engine.outputs)}
        self.outputs: dict[str, int] = {}  # name -> first column
        self.count = 0

    def columns(self, text: str, key: str) -> list[tuple[str, int]]:
        """(name, column) of every number that `text` names."""
        if text.startswith("action."):
            name = text.partition(".")[2]
            if name not in self.actions:
                rule = "an action of this environment"
                raise self.reader.error(key, text, rule, nearest(name, self.actions))
            return [(text, self.FIRST_ACTION + self.actions.index(name))]
        match = None if text in self.known else NUMBER.fullmatch(text)
        name, item, part = text, None, ""
        if match is not None:
            name, item, part = match["name"], match["item"], (match["part"] or "")[1:]
        if name not in self.known:
            rule = "an output, a pose or a joint's coordinate of the scene"
            raise self.reader.error(key, text, rule, nearest(text, self.known))
        output = self.known[name]
        parts = list(output.parts)
        if part and part not in parts:
            rule = f"a part of {name}: {', '.join(parts) or 'it has none'}"
            raise self.reader.error(key, text, rule)
        if item is not None and int(item) >= output.items:
            rule = f"an item from 0 to {output.items - 1}" if output.items else f"{name}, no item"
            raise self.reader.error(key, text, rule)
        width = max(len(parts), 1)
        if name not in self.outputs:
            self.outputs[name] = self.count
            self.count += width * max(output.items, 1)
        items = range(max(output.items, 1)) if item is None else [int(item)]
        found = []
        for i in items:
            at = f"{name}[{i}]" if output.items else name
            for k in range(width):
                if part and parts[k] != part:
                    continue
                label = f"{at}.{parts[k]}" if parts else at
                found.append((label, self.outputs[name] + width * i + k))
        return found

    def terms(self, entry: Any, key: str, section: Any) -> list[MotionTerm]:
        """Terms of one entry: a name alone, or a mapping."""
        if section is schema.TERM and isinstance(entry, str):
            entry = {"of": entry}
        read = self.reader.section(section, entry, key)
        shapes = ["sin", "cos"] if read["as"] == "sin_cos" else [read["as"]]
        if len(shapes) == 2 and section is schema.REWARD:
            raise self.reader.error(join(key, "as"), read["as"], "sin or cos in a reward")
        more = (read["target"], read["scale"], read.get("weight", 1.0))
        return [
            MotionTerm(label if shape == "value" else f"{shape} {label}", column, shape, *more)
            for label, column in self.columns(read["of"], join(key, "of"))
            for shape in shapes
        ]

    def end(self, entry: Any, key: str) -> TerminalLimit:
        """One entry of `ends`."""
        read = self.reader.section(schema.END, entry, key)
        if read["below"] is None and read["above"] is None:
            raise self.reader.error(key, entry, "`below`, `above` or both")
        found = self.columns(read["of"], join(key, "of"))
        if len(found) != 1 or found[0][1] >= self.FIRST_ACTION:
            raise self.reader.error(join(key, "of"), read["of"], "one number of the motion")
        below = -np.inf if read["below"] is None else read["below"]
        above = np.inf if read["above"] is None else read["above"]
        return TerminalLimit(*found[0], below, above)


def _actions(reader: Reader, given: Mapping, scene: SceneModel) -> list[PolicyAction]:
    if not given:
        raise reader.error("action", {}, "at least one action")
    infos = list(scene.engine.parameters)
    known = {info.name: i for i, info in enumerate(infos)}
    found: list[PolicyAction] = []
    taken: dict[int, str] = {}
    for name, entry in given.items():
        key = f"action.{name}"
        read = reader.section(schema.ACTION, entry, key)
        low, high = read["bounds"]
        if not np.isfinite([low, high]).all():
            raise reader.error(join(key, "bounds"), [low, high], "two finite numbers")
        if (read["motor"] is None) == (read["sets"] is None):
            raise reader.error(key, entry, "either `motor` or `sets`", "give exactly one")
        sets: dict[int, float] = {}
        if read["motor"] is not None:
            sets = _motor_keys(reader, read["motor"], scene, known, join(key, "motor"))
        for parameter, factor in (read["sets"] or {}).items():
            at = f"{key}.sets.{parameter}"
            if parameter not in known:
                rule = "a parameter of the scene"
                raise reader.error(at, factor, rule, nearest(parameter, known))
            info = infos[known[parameter]]
            if info.initial:
                raise reader.error(at, factor, "a parameter that acts after the start too")
            number: Any = reader.value(schema.TERM["target"], factor, at)
            ends = sorted((number * low, number * high))
            if not info.lower <= ends[0] <= ends[1] <= info.upper:
                rule = f"values within {info.lower:g} to {info.upper:g} [{info.unit}]"
                raise reader.error(join(key, "bounds"), [low, high], rule)
            sets[known[parameter]] = float(number)
        for leader, others in follows_of(scene.engine).items():
            if known[leader] in sets:
                for other, factor in others.items():
                    sets.setdefault(known[other], factor * sets[known[leader]])
        for index in sets:
            if index in taken:
                rule = f"a parameter that action {taken[index]!r} does not set"
                raise reader.error(key, infos[index].name, rule)
            taken[index] = name
        found.append(PolicyAction(name, low, high, sets))
    return found


def _motor_keys(
    reader: Reader, motor: str, scene: SceneModel, known: Mapping[str, int], key: str
) -> dict[int, float]:
    """Parameters of all keys of a motor, each with factor 1."""
    keys = re.compile(re.escape(motor) + r"\.(target|torque|force)\[\d+\]")
    motors = {link.name for link in scene.parts.links if type(link).WORD == "motor"}
    found = {i: 1.0 for name, i in known.items() if keys.fullmatch(name)}
    if motor not in motors or not found:
        raise reader.error(key, motor, "a motor of the scene", nearest(motor, motors))
    return found


def start_joints(scene: SceneModel) -> list[str]:
    """Joints whose coordinate and rate an episode may begin with: those in reduced
    coordinates that have one, and follow no other."""
    return sorted(
        link.name for link in scene.parts.links
        if type(link).WORD == "joint" and link.reduced and link.mimic is None
        and link.kind in ("hinge", "slider", "planar")
    )  # fmt: skip


def _reset(
    reader: Reader, given: Mapping, scene: SceneModel, actions: list[PolicyAction]
) -> tuple[dict[str, StartRange], dict[int, StartRange]]:
    read = reader.section(schema.RESET, given, "reset")
    engine = scene.engine
    infos = list(engine.parameters)
    known = {info.name: i for i, info in enumerate(infos)}
    reduced = start_joints(scene)
    joints = {}
    for name, entry in read["joints"].items():
        key = f"reset.joints.{name}"
        if name not in reduced:
            rule = "a hinge or slider in reduced coordinates that follows no other"
            raise reader.error(key, entry, rule, nearest(name, reduced))
        one = reader.section(schema.JOINT, entry, key)
        names = [f"{name}.coordinate", f"{name}.rate"]
        own = engine.outputs_at(engine.snapshot(), engine.values, names)
        value = tuple(
            float(own[k] if one[word] is None else one[word])
            for k, word in enumerate(("coordinate", "rate"))
        )
        joints[name] = StartRange(value, (one["spread"], one["rate_spread"]))
    parameters = {}
    set_by = {index: action.name for action in actions for index in action.sets}
    for name, entry in read["parameters"].items():
        key = f"reset.parameters.{name}"
        if name not in known:
            raise reader.error(key, entry, "a parameter of the scene", nearest(name, known))
        index = known[name]
        if index in set_by:
            rule = f"a parameter that action {set_by[index]!r} does not set"
            raise reader.error(key, entry, rule)
        one = reader.section(schema.PARAMETER, entry, key)
        mean, spread = one["value"], one["spread"]
        mean = float(engine.values[index]) if mean is None else mean
        info = infos[index]
        if not info.lower <= mean - spread <= mean + spread <= info.upper:
            rule = f"a range within {info.lower:g} to {info.upper:g} [{info.unit}]"
            raise reader.error(key, [mean - spread, mean + spread], rule)
        parameters[index] = StartRange((mean,), (spread,))
    return joints, parameters
