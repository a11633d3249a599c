"""Paths into a scene that can be parameters, and the engine's parameters that each stands for.

A path means the value at that place of the file, with all that follows from it: `bodies.cube.mass`
also scales an inertia that is `uniform`, `bodies.cube.density` sets mass and inertia.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from diffsim_ros.scene import build, schema
from diffsim_ros.scene.build_links import (
    armature_name,
    forced_vertices,
    friction_name,
    limit_name,
)
from diffsim_ros.scene.build_soft import SPRINGS, springs_name
from diffsim_ros.scene.soft_shapes import SOFT

INERTIA = ("xx", "yy", "zz", "xy", "xz", "yz")
AXES = ("x", "y", "z")
LINK_VALUES = (
    "stiffness", "damping", "rest_length", "rest_scale", "rotational_stiffness",
    "rotational_damping", "friction_damping", "c_linear", "c_quadratic",
)  # fmt: skip


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
        if body["type"] == "kinematic":
            found |= _kinematic_targets(name, body, single)
        elif body["type"] in SOFT:
            found |= _soft_targets(name, body, info, single)
        else:
            found |= _body_targets(name, body, single)
    for i, contact in enumerate(description["contact"]):
        for key in schema.CONTACT_VALUES:
            if f"{contact['name']}.{key}" in info:
                target = single(f"{contact['name']}.{key}")
                found[f"contact.{contact['name']}.{key}"] = target
                found[f"contact[{i}].{key}"] = target
    for i, link in enumerate(description["links"]):
        for path, target in _link_targets(link, description["bodies"], info, single).items():
            found[f"links.{link['name']}.{path}"] = target
            found[f"links[{i}].{path}"] = target
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
    found |= _start_targets(name, single, turns=body["type"] == "rigid")
    if "contact_spheres" in body:
        ((kind, values),) = body["contact_spheres"].items()
        for word in ("radius", "scale"):
            if word in values:
                found[f"{key}.contact_spheres.{kind}.{word}"] = single(
                    f"{build.contact_spheres_name(name)}.{word}"
                )
    return found


def _start_targets(name: str, single: Any, *, turns: bool) -> dict[str, Target]:
    """Pose and velocities at the start."""
    moving = {"pose.position": "position", "velocity": "velocity"}
    if turns:
        moving |= {"pose.rotation": "rotation", "angular_velocity": "angular_velocity"}
    return {
        f"bodies.{name}.{path}.{axis}": single(f"{name}.{word}.{axis}")
        for path, word in moving.items()
        for axis in AXES
    }


def _soft_targets(name: str, body: dict, info: dict, single: Any) -> dict[str, Target]:
    """Material, springs, start and contact radius of a solid, cloth or string."""
    key, found = f"bodies.{name}", {}
    if body["type"] == "solid":
        for word in ("density", "young", "poisson", "viscosity"):
            found[f"{key}.{word}"] = single(f"{name}.{word}")
    elif "mass" in body:
        found[f"{key}.mass"] = single(f"{name}.mass")
    else:
        mass = single(f"{name}.mass")
        area = mass.value / body["mass_per_area"]
        sets = {f"{name}.mass": area}
        found[f"{key}.mass_per_area"] = Target(body["mass_per_area"], "kg/m^2", sets, 0.0)
    scales = {}
    for kind in SPRINGS:
        springs = springs_name(name, kind)
        if kind in body and f"{springs}.stiffness" in info:
            for word in ("stiffness", "damping"):
                found[f"{key}.{kind}.{word}"] = single(f"{springs}.{word}")
            scales[f"{springs}.rest_scale"] = 1.0 / body["rest_scale"]
    if scales:  # rest lengths were built with the scene's scale: there the engine's scale is 1
        found[f"{key}.rest_scale"] = Target(body["rest_scale"], "1", scales, 0.0)
    found |= _start_targets(name, single, turns=True)
    if "surface" in body["contact_spheres"]:
        found[f"{key}.contact_spheres.surface.radius"] = single(
            f"{build.contact_spheres_name(name)}.radius"
        )
    return found


def _kinematic_targets(name: str, body: dict, single: Any) -> dict[str, Target]:
    """Every key: bodies.NAME.keys.positions[k].x, .rotations[k].x."""
    return {
        f"bodies.{name}.keys.{word}s[{k}].{axis}": single(f"{name}.{word}[{k}].{axis}")
        for word in ("position", "rotation")
        for k in range(len(body["keys"]["positions"]))
        for axis in AXES
    }


def _link_targets(link: dict, bodies: dict, info: dict, single: Any) -> dict[str, Target]:
    """Numbers of a link, by the path behind its name."""
    name, found = link["name"], {}
    for word in LINK_VALUES:
        if f"{name}.{word}" in info:
            found[word] = single(f"{name}.{word}")
    for axis in AXES if link["type"] == "drag" else ():
        found[f"wind.{axis}"] = single(f"{name}.wind.{axis}")
    for word in link.get("limits", {}):
        found[f"limits.{word}"] = single(f"{limit_name(name)}.{word}")
    if "coulomb_friction" in link:
        found["coulomb_friction"] = single(f"{friction_name(name)}.coulomb")
        found["slip_rate"] = single(f"{friction_name(name)}.slip_rate")
    if "armature" in link:
        found["armature"] = single(f"{armature_name(name)}.inertia")
    if link["type"] == "payload":  # about the body's centre of mass, see the inverse layer's groups
        words = ["mass", *(f"moment.{a}" for a in AXES), *(f"inertia.{k}" for k in INERTIA)]
        found |= {word: single(f"{name}.{word}") for word in words}
    if link["type"] == "motor":
        word = "target" if link["kind"] == "position" else link["kind"]
        for k in range(len(link["keys"])):
            found[f"keys[{k}]"] = single(f"{name}.{word}[{k}]")
    if link["type"] in ("force", "torque"):
        word, share = link["type"], 1.0
        if word == "force" and bodies[link["body"]]["type"] in SOFT:
            share = 1.0 / len(forced_vertices(link, bodies[link["body"]]))
        for k in range(len(link[word])):
            for axis in AXES:
                one = single(f"{name}.{word}[{k}].{axis}")
                sets = {f"{name}.{word}[{k}].{axis}": share}
                found[f"{word}[{k}].{axis}"] = Target(one.value / share, one.unit, sets)
    return found
