"""A control that stands for a kinematic body's keys: its parameters, and limits of the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..fields import Reader
from ..inverse.goals import Smooth
from ..inverse.guides import KeyLimit
from ..parameter import Parameter
from ..scene.model import SceneModel
from . import schema
from .controls import control

AXES = ("x", "y", "z")


def read_keys(
    reader: Reader, name: str, value: Mapping, scene: SceneModel
) -> tuple[list[Parameter], list[Smooth], list[KeyLimit]]:
    """Parameters of a kinematic body's keys, objectives that smooth them, and their limits."""
    key = f"controls.{name}"
    keys = reader.section(schema.KEYS, value, key)
    at = _places(reader, keys, key, scene)
    first, last = _span(reader, keys, key, len(at))
    stem, unit = f"{keys['body']}.{keys['what']}", "m" if keys["what"] == "position" else "rad"
    low, high = keys["bounds"]
    half = 0.5 * (high - low)
    found, names = [], [["", "", ""] for _ in at]
    for k in range(first, last + 1):
        for axis in keys["axes"]:
            here, a = float(at[k, AXES.index(axis)]), AXES.index(axis)
            names[k][a] = f"{name}[{k}].{axis}"
            sets = {f"{stem}[{k}].{axis}": (1.0, 1.0)}
            found.append(control(names[k][a], unit, here, (here + low, here + high), half=half,
                                 weight=keys["weight"], sets=sets))  # fmt: skip
    smooth = _smooth(name, keys, at, names, (first, last))
    return found, smooth, _limits(name, keys, at, names, scene)


def _places(reader: Reader, keys: Mapping, key: str, scene: SceneModel) -> np.ndarray:
    """Values (K, 3) of a kinematic body's keys in the scene."""
    index = {info.name: i for i, info in enumerate(scene.engine.parameters)}
    stem, at = f"{keys['body']}.{keys['what']}", scene.engine.values
    found: list[list[float]] = []
    while f"{stem}[{len(found)}].x" in index:
        found.append([at[index[f"{stem}[{len(found)}].{axis}"]] for axis in AXES])
    if len(found) < 2:
        kinematic = [n for n, b in scene.description["bodies"].items() if b["type"] == "kinematic"]
        rule = "a kinematic body with keys or waypoints" + (
            f": {', '.join(kinematic)}" if kinematic else ""
        )
        raise reader.error(f"{key}.body", keys["body"], rule)
    return np.array(found)


def _span(reader: Reader, keys: Mapping, key: str, count: int) -> tuple[int, int]:
    """First and last key that move."""
    for i, axis in enumerate(keys["axes"]):
        if axis not in AXES:
            raise reader.error(f"{key}.axes[{i}]", axis, "x, y or z")
    last = count - 1 if keys["last"] is None else keys["last"]
    if not keys["first"] <= last < count:
        rule = f"keys 1 to {count - 1}, the first before the last"
        raise reader.error(key, [keys["first"], last], rule)
    return keys["first"], last


def _smooth(
    name: str, keys: Mapping, at: np.ndarray, names: Sequence[Sequence[str]], span: tuple[int, int]
) -> list[Smooth]:
    """Keys near the one before each."""
    if keys["smooth"] is None:
        return []
    first, last = span
    axes = [AXES.index(axis) for axis in keys["axes"]]
    rows = tuple(tuple(names[k][a] for a in axes) for k in range(first, last + 1))
    after = at[last + 1, axes] if last + 1 < len(at) else None
    return [Smooth(keys["body"], rows, at[first - 1, axes], keys["smooth"], after, name=name)]


def _limits(
    name: str, keys: Mapping, at: np.ndarray, names: Sequence[Sequence[str]], scene: SceneModel
) -> list[KeyLimit]:
    """Speed, acceleration and jerk of the keys."""
    body, found = keys["body"], []
    interval = scene.description["bodies"][body]["keys"]["interval"]
    rows = tuple(tuple(row) for row in names)
    for order, limit in ((1, "speed"), (2, "acceleration"), (3, "jerk")):
        if keys[limit] is not None:
            found.append(KeyLimit(body, rows, at, interval, keys[limit], order,
                                  name=f"{name} {limit}"))  # fmt: skip
    return found
