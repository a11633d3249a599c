"""What an MJCF has and a scene's robot does not, in words: nothing is left out silently."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from .mjcf import BALL, CAPSULE, FREE, PLANE, SPHERE, Mjcf, touches
from .mjcf_closures import closures

COUNTS = {
    "ntendon": "tendon", "nsensor": "sensor", "nsite": "site",
    "ncam": "camera", "nlight": "light", "nexclude": "contact exclusion", "npair": "contact pair",
    "nflex": "flex", "nskin": "skin", "nplugin": "plugin", "nmocap": "mocap body",
    "nnumeric": "custom number", "ntext": "custom text", "ntuple": "custom tuple",
    "ngravcomp": "body with gravity compensation",
}  # fmt: skip
OF_CONTACT = ("nexclude", "npair")
GEOMS = {0: "plane", 1: "height field", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder",
         6: "box", 7: "mesh", 8: "signed distance field"}  # fmt: skip
PLURALS = {"body": "bodies", "box": "boxes", "mesh": "meshes", "flex": "flexes", "key": "keys"}


def ignored(mjcf: Mjcf, *, gravity: object, drives: bool, touching: bool = False) -> list[str]:
    """Every kind of thing that is not used, with its number.

    gravity  of the scene (3,) [m/s^2], which holds instead of the file's
    drives   whether the scene has motors of its own instead of the file's
    touching whether its geoms touch as the file has it
    """
    model = mjcf.model
    found = [
        count(number, word)
        for name, word in COUNTS.items()
        if (number := getattr(model, name)) and not (touching and name in OF_CONTACT)
    ]
    held = closures(mjcf)
    if others := model.neq - len(held):
        found.append(count(others, "equality constraint"))
    if held:
        found.append(f"solref and solimp of {count(len(held), 'equality constraint')}")
    found += _joints(model) + _actuators(mjcf, drives) + _geoms(model, touching)
    if not np.allclose(model.opt.gravity, gravity, rtol=0, atol=1e-9):
        found.append(f"gravity {model.opt.gravity.tolist()}")
    for name in ("density", "viscosity"):
        if getattr(model.opt, name):
            found.append(f"{name} of the medium")
    found += [f"the name {kind} {old!r} (here {new})" for kind, old, new in mjcf.renamed]
    return found


def count(number: int, word: str) -> str:
    """`1 site`, `2 sites`."""
    if number == 1:
        return f"1 {word}"
    first, *rest = word.split()
    plural = " ".join([PLURALS[first], *rest]) if first in PLURALS else f"{word}s"
    return f"{number} {plural}"


def _joints(model: Any) -> list[str]:
    """Numbers of joints that no link of a scene has."""
    found, kind = [], model.jnt_type
    ball, free = kind == BALL, kind == FREE
    first = model.jnt_dofadr
    for word, at in (("ball", ball), ("free", free)):
        many = f"of {word} joints"
        numbers = {
            "armature": model.dof_armature[first[at]],
            "frictionloss": model.dof_frictionloss[first[at]],
            "stiffness": model.jnt_stiffness[at],
        }
        if word == "ball":
            numbers["range"] = model.jnt_limited[at]
        else:
            numbers["damping"] = model.dof_damping[first[at]]
        found += [f"{name} {many}" for name, values in numbers.items() if np.any(values)]
    for name, values in {
        "polynomial damping": model.dof_dampingpoly,
        "polynomial stiffness": model.jnt_stiffnesspoly,
        "springyield": model.jnt_springyield,
        "actuatorfrcrange": model.jnt_actfrclimited,
        "margin of limits": model.jnt_margin[model.jnt_limited.astype(bool)],
    }.items():
        if np.any(values):
            found.append(f"{name} of joints")
    return found


def _actuators(mjcf: Mjcf, drives: bool) -> list[str]:
    model, found = mjcf.model, []
    used = [] if drives else [motor.index for motor in mjcf.motors()]
    if left := model.nactuator - len(used):
        why = " (the scene's drive holds)" if drives else " (beyond one motor or servo a joint)"
        found.append(count(left, "actuator") + why)
    for name, word in {
        "actuator_ctrllimited": "ctrlrange", "actuator_forcelimited": "forcerange",
        "actuator_armature": "armature", "actuator_damping": "damping",
    }.items():  # fmt: skip
        if number := int(np.count_nonzero(getattr(model, name)[used])):
            found.append(f"{word} of {count(number, 'actuator')}")
    return found


def _geoms(model: Any, touching: bool) -> list[str]:
    """Geoms that touch in MuJoCo and not here, and those that are pictures alone."""
    still, pictures, law = Counter(), 0, False
    for g in range(model.ngeom):
        kind, fixed = int(model.geom_type[g]), not model.body_weldid[model.geom_bodyid[g]]
        if not touches(model, g):
            pictures += 1
        elif touching:
            continue
        elif kind not in ((PLANE,) if fixed else (SPHERE, CAPSULE)):
            still[f"{GEOMS[kind]} of {'the world' if fixed else 'bodies'}"] += 1
        else:
            law = True
    found = [f"contact of {count(n, word.split(' of ')[0])} of {word.split(' of ')[1]}"
             for word, n in still.items()]  # fmt: skip
    if pictures:
        found.append(f"{count(pictures, 'geom')} that nothing touches")
    if law:
        found.append("which geoms touch, and how (the scene's `contact` says)")
    return found
