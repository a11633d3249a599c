"""Other models of the same recordings: what a verdict advises, and other laws of the scene.

    freed      a parameter that was held, which a verdict names
    damping    `ramped` (k_d) for `continuous` (c_n), and the reverse;  friction  `hybrid` or not
    rolling    rolling friction, where a contact has none
    viscosity  of solids: `linear` or `invariant`;  element  `p2_p0` in place of linear tets
    soft       a solid in place of a rigid ball or box, in recordings that see its surface

A new law is a function in LAWS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..scene.contacts import Contact
from ..scene.model import SceneModel, load_scene
from .config import load_estimation
from .experiment import experiment_of, simulated
from .options import EstimationConfig
from .results import Verdict
from .soft_body import soft_body

REACH = 10.0
"""Bounds of a freed parameter: so many times as far from its value as the score test leads."""
SMALLEST = 0.01
"""Its lower bound, where it must be above 0, over its value."""
DAMPING: dict[str, Any] = {"value": 0.3, "bounds": [0.01, 10.0]}
"""c_n [s/m], or k_d over 2 sqrt(k_n m)."""
ROLLING: dict[str, Any] = {"value": 0.002, "bounds": [0.0, 0.1]}
"""c_roll over the body's smallest extent."""
LINEAR_TETS = ("p1", "p1_fbar")

Change = tuple[str, dict[str, Any]]


def alternatives(
    config: EstimationConfig, verdict: Verdict | None = None
) -> tuple[dict[str, EstimationConfig], tuple[str, ...]]:
    """Estimations of the same recordings by other models: name -> estimation, and what was left
    out, a sentence each.

    verdict  on a fit of `config`, whose advice is tried too
    """
    if not simulated(config):
        return {}, ("the laws of friction were compared already, joint by joint",)
    scene = load_scene(config.scene, base=config.base)
    others = (c for law in LAWS.values() for c in law(config.source, scene))
    found, left_out = _built(config, scene, [*_freed(config, verdict), *others])
    read = {key: _absolute(config.source[key], config.base)
            for key in ("data", "statics") if key in config.source}  # fmt: skip
    return {
        name: replace(one, source={**one.source, **read}) for name, one in found.items()
    }, left_out


def by_law(
    config: EstimationConfig, law: str
) -> tuple[dict[str, EstimationConfig], tuple[str, ...]]:
    """Estimations by the other laws of one kind, a name of LAWS, and what was left out."""
    scene = load_scene(config.scene, base=config.base)
    return _built(config, scene, LAWS[law](config.source, scene))


def _built(
    config: EstimationConfig, scene: SceneModel, changes: Iterable[Change]
) -> tuple[dict[str, EstimationConfig], tuple[str, ...]]:
    """Estimations with these sections in place of the own, and the scene in them."""
    found, left_out = {}, []
    for name, changed in changes:
        source = {**config.source, "scene": scene.description, **changed}
        try:
            one = replace(load_estimation(source, base=config.base), place=config.place)
            experiment_of(one)
        except InputError as error:
            left_out.append(f"{name} cannot be tried: {error}")
        else:
            found[name] = one
    return found, tuple(left_out)


def _absolute(value: Any, base: Path) -> Any:
    """Plain data whose texts that name files from `base` name them from anywhere."""
    if isinstance(value, Mapping):
        return {key: _absolute(item, base) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_absolute(item, base) for item in value]
    file = isinstance(value, str) and (base / value).exists()
    return str((base / value).resolve()) if file else value


def _freed(config: EstimationConfig, verdict: Verdict | None) -> Iterator[Change]:
    """Each parameter that the verdict names, free."""
    named = (verdict.figures.get("free") or {}) if verdict is not None else {}
    engine = experiment_of(config).model.scene.engine
    infos = {info.name: info for info in engine.parameters}
    for name, towards in named.items():
        own = config.source["parameters"].get(name)
        info = infos.get(name)
        if (own is None and info is None) or towards is None:
            continue
        value = float(own["value"]) if own else float(engine.values[engine.index(name)])
        low, high = (-math.inf, math.inf) if info is None else (info.lower, info.upper)
        entry = {"unit": "" if info is None else info.unit, "sets": {name: 1}, **(own or {})}
        entry |= {"fixed": False, "value": value, "bounds": _bounds(value, towards, low, high)}
        yield (
            f"{name} free",
            {"parameters": {**config.source["parameters"], name: entry}},
        )


def _bounds(value: float, towards: float, low: float, high: float) -> list[float]:
    """About a value and where the data lead it, within what the scene accepts."""
    reach = REACH * abs(towards - value)
    lower, upper = min(value, towards) - reach, max(value, towards) + reach
    if lower <= low:
        lower = low if value <= low else low + SMALLEST * (value - low)
    return [lower, min(upper, high)]


def _damping(source: Mapping, scene: SceneModel) -> Iterator[Change]:
    contacts = scene.parts.contacts
    if not contacts:
        return
    law, old, new, unit = "continuous", "k_d", "c_n", "s/m"
    factors = [1.0] * len(contacts)
    if contacts[0].damping == law:
        law, old, new, unit = "ramped", "c_n", "k_d", "1"
        factors = [2.0 * math.sqrt(one.k_n * _mass(scene, one)) for one in contacts]
    one = {
        "doc": new if law == "continuous" else "k_d over 2 sqrt(k_n m)",
        "unit": unit,
        "scale": "log",
        **DAMPING,
    }
    changes = [{"damping": law, new: DAMPING["value"] * factor} for factor in factors]
    changed = _contacts(scene, changes, without=(old, "d_0"))
    kept = _without(source, {f"{contact.name}.{old}" for contact in contacts})
    added = {"damping": {**one, "sets": _shares(contacts, new, factors)}}
    yield f"{law} damping", {**changed, **kept, "parameters": {**kept["parameters"], **added}}


def _friction(_: Mapping, scene: SceneModel) -> Iterator[Change]:
    contacts = scene.parts.contacts
    if contacts:
        law = "linear" if contacts[0].friction == "hybrid" else "hybrid"
        yield f"{law} friction", _contacts(scene, [{"friction": law}] * len(contacts))


def _rolling(source: Mapping, scene: SceneModel) -> Iterator[Change]:
    contacts = scene.parts.contacts
    bodies = [scene.parts.bodies[contact.points] for contact in contacts]
    if not contacts or any(b.SOFT or c.c_roll for b, c in zip(bodies, contacts, strict=True)):
        return
    extents = [float(min(body.outline()[1])) for body in bodies]
    changes = [{"c_roll": ROLLING["value"] * extent} for extent in extents]
    one = {"doc": "c_roll over the smallest extent", **ROLLING}
    added = {"rolling": {**one, "sets": _shares(contacts, "c_roll", extents)}}
    parameters = {**source["parameters"], **added}
    yield "rolling friction", {**_contacts(scene, changes), "parameters": parameters}


def _viscosity(source: Mapping, scene: SceneModel) -> Iterator[Change]:
    for name, body in scene.description["bodies"].items():
        if body.get("viscosity") and "viscosity_model" in body:
            law = "linear" if body["viscosity_model"] == "invariant" else "invariant"
            yield f"{law} viscosity of {name}", _body(scene, name, {"viscosity_model": law})


def _element(source: Mapping, scene: SceneModel) -> Iterator[Change]:
    for name, body in scene.description["bodies"].items():
        if body.get("element") in LINEAR_TETS:
            yield f"quadratic elements of {name}", _body(scene, name, {"element": "p2_p0"})


LAWS: Mapping[str, Callable[[Mapping, SceneModel], Iterator[Change]]] = {
    "damping": _damping, "friction": _friction, "rolling": _rolling,
    "viscosity": _viscosity, "element": _element, "soft": soft_body,
}  # fmt: skip


def _mass(scene: SceneModel, contact: Contact) -> float:
    """Of the lighter body that moves [kg]."""
    bodies = [scene.parts.bodies[name] for name in (contact.points, contact.carrier) if name]
    return float(np.min([body.total_mass() for body in bodies if body.MOVES]))


def _shares(contacts: Sequence[Contact], word: str, factors: Sequence[float]) -> dict:
    """`sets` of one parameter for all contacts."""
    pairs = zip(contacts, factors, strict=True)
    return {f"{contact.name}.{word}": {"factor": factor, "power": 1} for contact, factor in pairs}


def _contacts(scene: SceneModel, changes: Sequence[Mapping], without: Sequence[str] = ()) -> dict:
    """The scene with these changes, one mapping a contact."""
    pairs = zip(scene.description["contact"], changes, strict=True)
    contacts = [{**{k: v for k, v in one.items() if k not in without}, **change}
                for one, change in pairs]  # fmt: skip
    return {"scene": {**scene.description, "contact": contacts}}


def _body(scene: SceneModel, name: str, changes: Mapping) -> dict:
    bodies = scene.description["bodies"]
    return {"scene": {**scene.description, "bodies": {**bodies, name: {**bodies[name], **changes}}}}


def _without(source: Mapping, targets: set[str]) -> dict:
    """Sections `parameters` and `fit` in which no parameter sets `targets`."""
    kept = {}
    for name, entry in source["parameters"].items():
        sets = entry.get("sets") or {}
        rest = {target: power for target, power in sets.items() if target not in targets}
        if rest or (not sets and name not in targets):
            kept[name] = {**entry, "sets": rest} if sets else entry
    fit = dict(source.get("fit") or {})
    if "continuation" in fit:
        fit["continuation"] = {k: v for k, v in fit["continuation"].items() if k in kept}
    return {"parameters": kept, "fit": fit}
