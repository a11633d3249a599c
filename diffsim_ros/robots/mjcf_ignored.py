"""What an MJCF has and a scene's robot does not, in words: nothing is left out silently."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .mjcf import BALL, CAPSULE, FREE, PLANE, SPHERE, Mjcf, touches
from .mjcf_actuators import Motors
from .mjcf_fields import NAMED, named_fields
from .mjcf_start import Held

COUNTS = {
    "nsensor": "sensor", "nsite": "site",
    "ncam": "camera", "nlight": "light", "nexclude": "contact exclusion", "npair": "contact pair",
    "nflex": "flex", "nskin": "skin", "nplugin": "plugin",
    "nnumeric": "custom number", "ntext": "custom text", "ntuple": "custom tuple",
}  # fmt: skip
OF_CONTACT = ("nexclude", "npair")
GEOMS = {0: "plane", 1: "height field", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder",
         6: "box", 7: "mesh", 8: "signed distance field"}  # fmt: skip
PLURALS = {"body": "bodies", "box": "boxes", "mesh": "meshes", "flex": "flexes", "key": "keys"}


@dataclass
class Used:
    """What a scene takes of a model besides bodies and joints.

    motors      of its actuators; None where the scene has motors of its own instead
    tendons     numbers of tendons of which nothing is left
    closures    equality constraints that hold bodies together; `tied`: numbers of those of joints
    damped      whether free joints have their damping and armature
    touching    whether its geoms touch as the file has it
    left        name of an equality constraint -> why it is not used
    """

    motors: Motors | None = None
    tendons: list[int] = field(default_factory=list)
    closures: list[Held] = field(default_factory=list)
    damped: bool = True
    touching: bool = False
    left: dict[str, str] = field(default_factory=dict)


def ignored(mjcf: Mjcf, used: Used, gravity: object) -> list[str]:
    """Every kind of thing that is not used, with its number.

    gravity  of the scene (3,) [m/s^2], which holds instead of the file's
    """
    model = mjcf.model
    found = [
        count(number, word)
        for name, word in COUNTS.items()
        if (number := getattr(model, name)) and not (used.touching and name in OF_CONTACT)
    ]
    if left := model.ntendon - len(used.tendons):
        found.append(count(left, "tendon"))
    found += _equalities(mjcf, used)
    if not used.damped:
        free = model.jnt_dofadr[model.jnt_type == FREE]
        for word, values in (("damping", mjcf.flags.damper * model.dof_damping),
                             ("armature", model.dof_armature)):  # fmt: skip
            if np.any(values[free] > 0):
                found.append(f"{word} of free joints (by the velocity stepper)")
    found += _joints(mjcf) + _actuators(mjcf, used.motors) + _geoms(mjcf, used.touching)
    if not np.allclose(mjcf.gravity, gravity, rtol=0, atol=1e-9):
        why = "" if mjcf.flags.gravity else ", as a flag disables it"
        found.append(f"gravity {mjcf.gravity.tolist()}{why} (that of world.gravity acts)")
    left = () if used.touching else mjcf.flags.of_contact
    found += named_fields(model) + [f"the flag {word}" for word in (*left, *mjcf.flags.left)]
    found += [f"the name {kind} {old!r} (here {new})" for kind, old, new in mjcf.renamed]
    return found


def _equalities(mjcf: Mjcf, used: Used) -> list[str]:
    model = mjcf.model
    acting = int(np.count_nonzero(model.eq_active0)) if mjcf.flags.equality else 0
    found = [f"equality constraint {name} ({why})" for name, why in used.left.items()]
    held = len(used.closures) + len(mjcf.tied)
    if others := acting - held - len(used.left):
        found.append(count(others, "equality constraint"))
    if held:
        found.append(f"solref and solimp of {count(held, 'equality constraint')}")
    if mjcf.flags.equality and (off := model.neq - acting):
        found.append(f"{count(off, 'equality constraint')} that {'is' if off == 1 else 'are'} "
                     "inactive at the start")  # fmt: skip
    return found


def count(number: int, word: str) -> str:
    """`1 site`, `2 sites`."""
    if number == 1:
        return f"1 {word}"
    first, *rest = word.split()
    plural = " ".join([PLURALS[first], *rest]) if first in PLURALS else f"{word}s"
    return f"{number} {plural}"


def _joints(mjcf: Mjcf) -> list[str]:
    """Numbers of joints that no link of a scene has."""
    model, flags, found = mjcf.model, mjcf.flags, []
    ball, free = model.jnt_type == BALL, model.jnt_type == FREE
    first = model.jnt_dofadr
    for word, at in (("ball", ball), ("free", free)):
        numbers = {
            "frictionloss": flags.frictionloss * model.dof_frictionloss[first[at]],
            "stiffness": flags.spring * model.jnt_stiffness[at],
        }
        if word == "ball":
            numbers["armature"] = model.dof_armature[first[at]]
            numbers["range"] = flags.limit * model.jnt_limited[at]
        found += [f"{n} of {word} joints" for n, values in numbers.items() if np.any(values)]
    for word, values in (("armature", model.dof_armature),
                         ("damping", flags.damper * model.dof_damping),
                         ("stiffness", flags.spring * model.jnt_stiffness)):  # fmt: skip
        if number := len(np.unique(np.flatnonzero(values < 0))):
            found.append(f"negative {word} of {count(number, 'coordinate')}")
    soft = flags.limit * model.jnt_limited * (model.jnt_solref[:, 0] >= 0)
    if number := int(np.count_nonzero(soft * (model.jnt_solref.min(axis=1, initial=1) <= 0))):
        found.append(f"solref of the limits of {count(number, 'joint')}, which has a zero")
    if mjcf.heavier:
        names = ", ".join(mjcf.heavier)
        found.append(f"a mass or moments below what the engine takes, of {names}, which got more")
    return found


def _actuators(mjcf: Mjcf, motors: Motors | None) -> list[str]:
    model, found = mjcf.model, []
    acting = [a for a in range(model.nactuator)
              if mjcf.flags.actuates(int(model.actuator_group[a]))]  # fmt: skip
    if motors is None:
        return [f"{count(len(acting), 'actuator')} (the scene's drive holds)"] if acting else []
    found += [f"{count(n, 'actuator')} {why}" for why, n in motors.unread.items()]
    for kinds in (motors.lagging, motors.free):
        found += [f"{what} of {count(n, 'actuator')}" for what, n in kinds.items()]
    for name, word in NAMED.items():
        if name.startswith("actuator_"):
            values = np.asarray(getattr(model, name, np.zeros(model.nactuator)))[motors.used]
            if number := sum(bool(np.any(row)) for row in values):
                found.append(f"{word.removesuffix(' of actuators')} of {count(number, 'actuator')}")
    return found


def _geoms(mjcf: Mjcf, touching: bool) -> list[str]:
    """Geoms that touch in MuJoCo and not here, and those that are pictures alone."""
    model = mjcf.model
    still, pictures, law = Counter(), 0, False
    for g in range(model.ngeom):
        kind, lead = int(model.geom_type[g]), int(model.body_weldid[model.geom_bodyid[g]])
        of = "the world" if not lead else "bodies" if lead in mjcf.inertials else "mocap bodies"
        read = {"the world": (PLANE,), "bodies": (SPHERE, CAPSULE)}.get(of, ())
        if not touches(model, g):
            pictures += 1
        elif touching:
            continue
        elif kind not in read:
            still[(GEOMS.get(kind, "geom"), of)] += 1
        else:
            law = True
    found = [f"contact of {count(n, word)} of {of}" for (word, of), n in still.items()]
    if pictures:
        found.append(f"{count(pictures, 'geom')} that nothing touches")
    if law:
        how = "(the scene's `contact` says, or the robot's `contact: from the file`)"
        found.append(f"which geoms touch, and how {how}")
    return found
