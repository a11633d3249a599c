"""A rigid body made soft: the same outline as a coarse solid, with unknown elasticity.

Its stiffness, damping and inertia were those of a contact; now the solid has Young's modulus and
viscosity, first guessed from the contact's, and touches by a contact that is stiff beside it.
Friction stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..scene.model import SceneModel, load_scene

OBSERVED = ("clouds", "sensors")
"""Kinds of recordings that see a surface; poses are those of a rigid body."""
LAYERS = 2
"""Of a ball."""
CELLS = 3
"""Along the longest edge of a box."""
ELEMENT, POISSON = "p1_fbar", 0.35
STIFFER = 200.0
"""k_n of the skin over that of the rigid body's contact."""
CREEP = 0.004
"""k_t over k_n of the skin [s]."""
SPREAD = 30.0
"""Bounds of elasticity and viscosity are this factor off their first guesses."""
STIFF = 1.5
"""Young's modulus over k_n, times the smallest extent: 1 for a cube between two plates."""
LOSS = 0.1
"""Viscosity over Young's modulus, times the frequency of the contact."""
STEPS = 12
"""In which a contact lasts at least."""
KEPT = ("pose", "velocity", "angular_velocity", "colour")
"""Keys of the body."""
FRICTION = ("c_f", "c_s")


def soft_body(source: Mapping, scene: SceneModel) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tracked body as a solid, where it is a rigid ball or box: name, sections that change."""
    name = source["body"]
    if source.get("kind") not in OBSERVED or not isinstance(name, str):
        return
    body = scene.description["bodies"].get(name) or {}
    contacts = [c for c in scene.parts.contacts if c.points == name]
    shape = _shape(body.get("shape") or {})
    if body.get("type") != "rigid" or shape is None or not contacts:
        return
    mass = scene.parts.bodies[name].total_mass()
    extent = float(min(scene.parts.bodies[name].outline()[1]))
    k_n = max(one.k_n for one in contacts)
    young, period = STIFF * k_n / extent, math.sqrt(mass / k_n)
    solid = {
        "type": "solid", "shape": shape, "element": ELEMENT, "density": 1.0, "young": young,
        "poisson": POISSON, "viscosity": LOSS * young * period,
        **{key: body[key] for key in KEPT if key in body},
    }  # fmt: skip
    own = {one.name for one in contacts}
    described = [_skin(one) if one["name"] in own else one for one in scene.description["contact"]]
    changed = {
        **scene.description, "world": _steps(scene, period),
        "bodies": {**scene.description["bodies"], name: solid}, "contact": described,
    }  # fmt: skip
    volume = load_scene(changed).parts.bodies[name].total_mass()  # at density 1
    if "ball" in shape:  # flat faces lie within the sphere: the mesh gets its volume
        true = 4.0 / 3.0 * math.pi * shape["ball"]["radius"] ** 3
        shape["ball"]["radius"] *= (true / volume) ** (1.0 / 3.0)
        volume = true
    solid["density"] = mass / volume
    elasticity = {
        "young": {
            "doc": "Young's modulus of the body, first guessed from k_n", "unit": "Pa",
            "value": young, "sets": {f"{name}.young": 1},
        },
        "viscosity": {
            "unit": "Pa s", "value": solid["viscosity"], "sets": {f"{name}.viscosity": 1},
        },
    }  # fmt: skip
    for entry in elasticity.values():
        entry |= {"bounds": [entry["value"] / SPREAD, entry["value"] * SPREAD], "scale": "log"}
    kept, fit = _kept(source, name, own)
    yield f"soft {name}", {"scene": changed, "parameters": {**kept, **elasticity}, "fit": fit}


def _shape(shape: Mapping) -> dict | None:
    """The outline as a coarse mesh."""
    if "sphere" in shape:
        return {"ball": {"radius": shape["sphere"]["radius"], "layers": LAYERS}}
    if "box" in shape:
        size = np.asarray(shape["box"]["size"], float)
        cells = np.maximum(1, np.rint(CELLS * size / size.max())).astype(int)
        return {"box": {"size": size.tolist(), "cells": cells.tolist()}}
    return None


def _skin(contact: Mapping) -> dict:
    """The contact of the solid's skin: stiff, without damping of its own."""
    dropped = ("k_n", "k_t", "k_d", "d_0", "c_n", "c_roll", "c_spin", "damping")
    kept = {key: value for key, value in contact.items() if key not in dropped}
    k_n = STIFFER * float(contact["k_n"])
    return {**kept, "k_n": k_n, "k_t": CREEP * k_n, "c_n": 0.0}


def _steps(scene: SceneModel, period: float) -> dict:
    """Section `world` with the same rows, and longer steps."""
    own = scene.options
    interval = own.step * own.record_every
    steps = max(1, math.ceil(interval / (math.pi * period / STEPS)))
    return {**scene.description["world"], "step": interval / steps, "record_every": steps}


def _kept(source: Mapping, body: str, contacts: set[str]) -> tuple[dict, dict]:
    """Parameters, and section `fit`, of what is left: friction, and all that is not the body's."""
    kept = {}
    for name, entry in source["parameters"].items():
        sets = entry.get("sets") or {}
        rest = {
            target: power for target, power in sets.items()
            if not _gone(target.split(".")[0], target.rpartition(".")[2], body, contacts)
        }  # fmt: skip
        if rest or (not sets and "." not in name):
            kept[name] = {**entry, "sets": rest} if sets else entry
    fit = dict(source.get("fit") or {})
    if "continuation" in fit:
        fit["continuation"] = {k: v for k, v in fit["continuation"].items() if k in kept}
    return kept, fit


def _gone(owner: str, word: str, body: str, contacts: set[str]) -> bool:
    if owner in contacts:
        return word not in FRICTION
    return owner in (body, f"{body}_contact_spheres")
