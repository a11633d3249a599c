"""The `parameters:` section of a scene: paths into it, and the engine's parameters for them.

A path stands for the value at that place of the file and all that depends on it: `bodies.cube.mass`
also scales an inertia that is `uniform`, `bodies.cube.density` sets mass and inertia.  Every path
is a `Parameter` that sets p_j = factor_j * value ** power.
"""

from __future__ import annotations

import math
from dataclasses import replace

from diffsim_ros.errors import nearest
from diffsim_ros.fields import Reader, Section
from diffsim_ros.parameter import FACTOR_POWER, Parameter
from diffsim_ros.scene import schema
from diffsim_ros.scene.targets import Target


def read_parameters(given: dict, known: dict[str, Target], place: object) -> list[Parameter]:
    """Read the `parameters:` section of a scene whose paths are `known`; raises InputError."""
    reader = Reader(place)
    found, names = [], {}
    owners: dict[str, str] = {}  # of the engine's parameters: the path whose value they are
    for path, value in given.items():
        parameter = _parameter(reader, known, path, value)
        if parameter.name in names:
            raise reader.error(
                f"parameters.{path}.name",
                parameter.name,
                "a name of its own",
                f"{names[parameter.name]} has it already; use `also` to share one parameter",
            )
        names[parameter.name] = path
        for name, factor in known[path].sets.items():
            if parameter.sets[name] != (factor, 1):
                continue  # a factor or power says what it is beside others
            if name in owners:
                rule = "a path of its own value"
                remedy = f"parameters.{owners[name]} sets {name} too, and it would be their product"
                raise reader.error(f"parameters.{path}", path, rule, remedy)
            owners[name] = path
        found.append(parameter)
    return found


def _parameter(reader: Reader, known: dict[str, Target], path: str, value: object) -> Parameter:
    key = f"parameters.{path}"
    target = _target(reader, known, path, key)
    given = reader.mapping(value, key)
    shares = {word: given[word] for word in FACTOR_POWER if word in given}
    plain = reader.section(FACTOR_POWER, shares, key) == {"factor": 1, "power": 1}
    unit = target.unit if plain else ""
    entry = reader.section(_with_unit(schema.PARAMETER, ("value", "bounds"), unit), given, key)
    if plain and entry["unit"] not in (None, target.unit):
        raise reader.error(f"{key}.unit", entry["unit"], f"the unit of the path, {target.unit}")
    if entry["support"] not in (None, target.support):
        raise reader.error(f"{key}.support", entry["support"], f"the path has {target.support!r}")
    start = _start(reader, entry, target, key)
    low, high = _bounds(reader, entry, target, plain, key)
    if not low <= start <= high:
        raise reader.error(f"{key}.bounds", [low, high], f"bounds around the value {start:g}")
    if entry["scale"] == "log" and (start <= 0 or low < 0):
        raise reader.error(f"{key}.scale", "log", "linear for a parameter that may be negative")
    sets = _sets(target, entry)
    for other, shared in entry["also"].items():
        also_key = f"{key}.also.{other}"
        again = reader.section(FACTOR_POWER, shared, also_key)
        for name, pair in _sets(_target(reader, known, other, also_key), again).items():
            if name in sets:
                raise reader.error(also_key, other, "a path that is not set already")
            sets[name] = pair
    section = _with_unit(schema.PRIOR, ("mean", "sigma"), unit)
    prior = reader.section(section, entry["prior"], f"{key}.prior") if entry["prior"] else {}
    return Parameter(
        name=entry["name"] or path,
        unit=entry["unit"] or (target.unit if plain else ""),
        value=start,
        lower=low,
        upper=high,
        scale=entry["scale"],
        prior_mean=prior.get("mean"),
        prior_sigma=prior.get("sigma"),
        sets=sets,
    )


def _with_unit(section: Section, names: tuple[str, ...], unit: str) -> Section:
    """The section with these numbers in the unit of the path."""
    return {**section, **{name: replace(section[name], unit=unit) for name in names}}


def _target(reader: Reader, known: dict[str, Target], path: str, key: str) -> Target:
    if path not in known:
        accepted = "a path of this scene that can be a parameter"
        raise reader.error(key, path, accepted, nearest(path, known))
    return known[path]


def _sets(target: Target, entry: dict) -> dict[str, tuple[float, float]]:
    pairs = target.sets.items()
    return {name: (factor * entry["factor"], entry["power"]) for name, factor in pairs}


def _start(reader: Reader, entry: dict, target: Target, key: str) -> float:
    """Given value, or the one that the scene has: (scene value / factor) ** (1 / power)."""
    if entry["factor"] == 0 or entry["power"] == 0:
        word = "factor" if entry["factor"] == 0 else "power"
        raise reader.error(f"{key}.{word}", 0, "a number that is not zero")
    if entry["value"] is not None:
        return entry["value"]
    ratio = target.value / entry["factor"]
    if entry["power"] == 1:
        return ratio
    if ratio <= 0:
        raise reader.error(f"{key}.value", None, "a start value, because of factor and power")
    return ratio ** (1 / entry["power"])


def _bounds(
    reader: Reader, entry: dict, target: Target, plain: bool, key: str
) -> tuple[float, float]:
    """Given bounds, which must be physical ones, or the physical ones themselves."""
    if entry["bounds"] is None:
        return (target.lower, target.upper) if plain else (-math.inf, math.inf)
    low, high = entry["bounds"]
    if plain and (low < target.lower or high > target.upper):
        accepted = f"bounds within {target.lower:g} to {target.upper:g} [{target.unit}]"
        raise reader.error(f"{key}.bounds", [low, high], accepted)
    return low, high
