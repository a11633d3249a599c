"""The `parameters:` section: paths into the scene, and the engine parameters they stand for.

A path means the value at that place of the file, with all that follows from it: `bodies.cube.mass`
also scales an inertia that is `uniform`, `bodies.cube.density` sets mass and inertia.  Every path
is a set of engine parameters p_j = factor_j * value ** power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from diffsim_ros.errors import nearest
from diffsim_ros.scene import build, schema
from diffsim_ros.scene.fields import Reader

if TYPE_CHECKING:
    from diffsim_ros.inverse.parameters import Parameter

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


@dataclass(frozen=True)
class ParameterSpec:
    """One entry of `parameters:`; `sets` maps engine parameters to (factor, power)."""

    path: str
    name: str
    unit: str
    value: float
    lower: float
    upper: float
    scale: str
    prior_mean: float | None
    prior_sigma: float | None
    support: str
    sets: dict[str, tuple[float, float]] = field(default_factory=dict)

    def parameter(self) -> Parameter:
        """Return it as a Parameter of the inverse layer (imported only here)."""
        from diffsim_ros.inverse.parameters import Parameter

        return Parameter(
            name=self.name,
            unit=self.unit,
            value=self.value,
            lower=self.lower,
            upper=self.upper,
            scale=self.scale,
            prior_mean=self.prior_mean,
            prior_sigma=self.prior_sigma,
            sets=self.sets,
        )


def targets(description: dict, engine: Any) -> dict[str, Target]:
    """Every path of a resolved scene that can be a parameter."""
    info = {entry.name: entry for entry in engine.parameters}
    values = dict(zip(info, engine.values.tolist(), strict=True))

    def single(name: str) -> Target:
        entry = info[name]
        support = "start" if entry.initial else "always"
        bounds = (entry.lower, entry.upper)
        return Target(values[name], entry.unit, {name: 1.0}, *bounds, support)

    found = {f"world.gravity.{axis}": single(f"gravity.{axis}") for axis in AXES}
    found |= _gravity(description["world"]["gravity"])
    for name, body in description["bodies"].items():
        found |= _body_targets(name, body, single)
    for i, contact in enumerate(description["contact"]):
        for key in schema.CONTACT_VALUES:
            if key in contact:
                target = single(f"{contact['name']}.{key}")
                found[f"contact.{contact['name']}.{key}"] = target
                found[f"contact[{i}].{key}"] = target
    for i, link in enumerate(description["links"]):
        for key in ("stiffness", "damping", "rest_length"):
            target = single(f"{link['name']}.{key}")
            found[f"links.{link['name']}.{key}"] = target
            found[f"links[{i}].{key}"] = target
    return found


def _gravity(gravity: list[float]) -> dict[str, Target]:
    """`world.gravity`: the magnitude, in the direction that the scene has."""
    size = math.hypot(*gravity)
    if size == 0:
        return {}
    sets = {f"gravity.{axis}": g / size for axis, g in zip(AXES, gravity, strict=True) if g}
    return {"world.gravity": Target(size, "m/s^2", sets, 0.0)}


def _body_targets(name: str, body: dict, single: Any) -> dict[str, Target]:
    key, found = f"bodies.{name}", {}
    mass = single(f"{name}.mass")
    sets = {f"{name}.mass": 1.0}
    if body["type"] == "rigid":
        inertia = dict(zip(INERTIA, build.inertia_of(body).tolist(), strict=True))
        if body["inertia"] == "uniform":
            sets |= {f"{name}.inertia.{k}": v / mass.value for k, v in inertia.items() if v}
        else:
            found |= {f"{key}.inertia.{k}": single(f"{name}.inertia.{k}") for k in INERTIA}
        if isinstance(body["inertia"], float):
            ones = {f"{name}.inertia.{k}": 1.0 for k in INERTIA[:3]}
            found[f"{key}.inertia"] = Target(body["inertia"], "kg m^2", ones, 0.0)
    if "density" in body:
        volume = mass.value / body["density"]
        scaled = {k: factor * volume for k, factor in sets.items()}
        found[f"{key}.density"] = Target(body["density"], "kg/m^3", scaled, 0.0)
    else:
        found[f"{key}.mass"] = Target(mass.value, mass.unit, sets, mass.lower, mass.upper)
    moving = {"pose.position": "position", "velocity": "velocity"}
    if body["type"] == "rigid":
        moving |= {"pose.rotation": "rotation", "angular_velocity": "angular_velocity"}
    for path, word in moving.items():
        found |= {f"{key}.{path}.{axis}": single(f"{name}.{word}.{axis}") for axis in AXES}
    if "proxies" in body:
        ((kind, values),) = body["proxies"].items()
        for word in ("radius", "scale"):
            if word in values:
                found[f"{key}.proxies.{kind}.{word}"] = single(f"{build.proxies_name(name)}.{word}")
    return found


def read_parameters(description: dict, engine: Any, place: object) -> list[ParameterSpec]:
    """Read the `parameters:` section of a resolved scene; raises InputError."""
    reader, known = Reader(place), targets(description, engine)
    specs, names = [], {}
    for path, value in description["parameters"].items():
        spec = _spec(reader, known, path, value)
        if spec.name in names:
            raise reader.error(
                f"parameters.{path}.name",
                spec.name,
                "a name of its own",
                f"{names[spec.name]} has it already; use `also` to share one parameter",
            )
        names[spec.name] = path
        specs.append(spec)
    return specs


def _spec(reader: Reader, known: dict[str, Target], path: str, value: object) -> ParameterSpec:
    key = f"parameters.{path}"
    target = _target(reader, known, path, key)
    entry = reader.section(schema.PARAMETER, value, key)
    plain = entry["factor"] == 1 and entry["power"] == 1
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
        again = reader.section(schema.ALSO, shared, also_key)
        for name, pair in _sets(_target(reader, known, other, also_key), again).items():
            if name in sets:
                raise reader.error(also_key, other, "a path that is not set already")
            sets[name] = pair
    prior = reader.section(schema.PRIOR, entry["prior"], f"{key}.prior") if entry["prior"] else {}
    return ParameterSpec(
        path=path,
        name=entry["name"] or path,
        unit=entry["unit"] or (target.unit if plain else ""),
        value=start,
        lower=low,
        upper=high,
        scale=entry["scale"],
        prior_mean=prior.get("mean"),
        prior_sigma=prior.get("sigma"),
        support=target.support,
        sets=sets,
    )


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


def scene_parameters(specs: list[ParameterSpec]) -> list[Parameter]:
    """Parameters of the inverse layer of a scene's specs, in order."""
    return [spec.parameter() for spec in specs]
