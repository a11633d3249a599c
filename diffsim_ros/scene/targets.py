"""Paths into a scene that can be parameters, and the engine's parameters for each.

A path stands for the value at that place of the file and all that depends on it: `bodies.cube.mass`
also scales an inertia that is `uniform`, `bodies.cube.density` sets mass and inertia.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffsim_ros.scene.parts import Parts

INERTIA = ("xx", "yy", "zz", "xy", "xz", "yz")
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Target:
    """What a path stands for: its value, unit and bounds, support, and engine parameters.

    sets   engine parameter -> factor, linear in the value of the path
    """

    value: float
    unit: str
    sets: dict[str, float]
    lower: float = -math.inf
    upper: float = math.inf
    support: str = "always"

    def joined(self, other: Target | None) -> Target:
        """Also what another target of the same value sets."""
        return self if other is None else replace(self, sets={**other.sets, **self.sets})


class Entries:
    """The engine's parameters, by name."""

    def __init__(self, engine: Any) -> None:
        self._info = {info.name: info for info in engine.parameters}
        self._values = dict(zip(self._info, engine.values.tolist(), strict=True))

    def __contains__(self, name: str) -> bool:
        return name in self._info

    def target(self, name: str) -> Target:
        """The path that stands for one parameter of the engine."""
        info = self._info[name]
        support = "start" if info.initial else "always"
        bounds = (info.lower, info.upper)
        return Target(self._values[name], info.unit, {name: 1.0}, *bounds, support)

    def all_of(self, owner: str, words: tuple[str, ...]) -> dict[str, Target]:
        """word -> the parameter OWNER.word, of the words that the engine has."""
        names = {word: f"{owner}.{word}" for word in words}
        return {word: self.target(name) for word, name in names.items() if name in self}


def targets(parts: Parts, engine: Any) -> dict[str, Target]:
    """Every path of a scene that can be a parameter."""
    entries = Entries(engine)
    found = {f"world.gravity.{axis}": entries.target(f"gravity.{axis}") for axis in AXES}
    found |= _gravity(parts.world["gravity"])
    for name, body in parts.bodies.items():
        for path, target in body.targets(entries).items():
            found[f"bodies.{name}.{path}"] = target
    for contact in parts.contacts:
        for path, target in contact.sizes(entries, parts).items():
            if path.startswith("sdfs."):
                found[path] = target.joined(found.get(path))
    for family, group in (("contact", parts.contacts), ("links", parts.links)):
        for i, one in enumerate(group):
            for path, target in one.targets(entries, parts).items():
                found[f"{family}.{one.name}.{path}"] = target
                found[f"{family}[{i}].{path}"] = target
    return found


def _gravity(gravity: list[float]) -> dict[str, Target]:
    """`world.gravity`: the magnitude, in the direction that the scene has."""
    size = math.hypot(*gravity)
    if size == 0:
        return {}
    sets = {f"gravity.{axis}": g / size for axis, g in zip(AXES, gravity, strict=True) if g}
    return {"world.gravity": Target(size, "m/s^2", sets, 0.0)}
