"""Fixed tendons of an MJCF, and equality constraints of several joints: coordinates of their own.

What acts on a sum of coordinates, L = sum_i c_i q_i, is not a force on one joint. A scene has such
a sum as the place of a last light body on sliders one behind the other, each of which follows one
joint (scene/mjcf_lines.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .mjcf import Mjcf, Placed, limit_law
from .mjcf_couplings import Sum, equality_sum, fixed_tendon

SUM = "sum"


@dataclass(frozen=True)
class MjcfLine:
    """A sum of coordinates on which forces act, or that is held at 0.

    number     of the tendon, or of the equality constraint
    length     over coordinates that follow no others
    lower, upper  infinite where there are none; friction, armature  of the sum [SI]
    """

    name: str
    number: int
    kind: str
    length: Sum
    lower: float = -math.inf
    upper: float = math.inf
    limit_stiffness: float = 0.0
    limit_damping: float = 0.0
    limit_damping_depth: float | None = None
    friction: float = 0.0
    armature: float = 0.0
    turns: bool = False

    def gap(self, start: Placed) -> tuple[float, float]:
        """How far a sum that is held is from 0, and 0."""
        return abs(self.length.at(start.coordinates)), 0.0


def tendon_lines(mjcf: Mjcf) -> list[MjcfLine]:
    """The fixed tendons that forces on single joints do not stand for."""
    model, flags, found = mjcf.model, mjcf.flags, []
    for t in range(model.ntendon):
        length = fixed_tendon(model, mjcf.scalars, t)
        if length is None:
            continue
        length = length.of_leads(mjcf.followers)
        low, high = map(float, model.tendon_lengthspring[t])
        spring = flags.spring * float(model.tendon_stiffness[t])
        friction = flags.frictionloss * float(model.tendon_frictionloss[t])
        armature = float(model.tendon_armature[t])
        limits: tuple[Any, ...] = (-math.inf, math.inf, 0.0, 0.0, None)
        if model.tendon_limited[t] and flags.limit:
            soft = model.tendon_solref_lim[t], model.tendon_solimp_lim[t]
            law = limit_law(model, flags, *soft, model.tendon_invweight0[t], 0.0)
            limits = (*map(float, model.tendon_range[t]), *law)
        elif spring > 0 and low < high:  # slack between both lengths
            limits = (low, high, spring, 0.0, None)
        alone = len(length.slopes) == 1
        pulled = not alone and (
            spring > 0 or flags.damper * model.tendon_damping[t] > 0 or _pulled(mjcf, t)
        )
        if length.slopes and (limits[2] > 0 or friction > 0 or armature > 0 or pulled):
            name = mjcf.names.take("tendon", mjcf.name_of("tendon", t), f"tendon{t + 1}", "_tendon")
            found.append(MjcfLine(name, t, "tendon", length, *limits, friction, armature))
    return found


def equality_lines(mjcf: Mjcf) -> list[MjcfLine]:
    """The active equality constraints of joints and fixed tendons that tie no two joints."""
    model, found = mjcf.model, []
    for k in range(model.neq if mjcf.flags.equality else 0):
        length = equality_sum(model, mjcf.scalars, k) if model.eq_active0[k] else None
        if length is None or k in mjcf.tied:
            continue
        length = length.of_leads(mjcf.followers)
        if length.slopes:
            given = mjcf.name_of("equality", k)
            name = mjcf.names.take("equality", given, f"closure{k + 1}", "_closure")
            found.append(MjcfLine(name, k, SUM, length))
    return found


def _pulled(mjcf: Mjcf, t: int) -> bool:
    """Whether an actuator's force on a tendon changes with its length or rate."""
    model: Any = mjcf.model
    return any(
        model.actuator_trntype[a] == 3
        and model.actuator_trnid[a, 0] == t
        and mjcf.flags.actuates(int(model.actuator_group[a]))
        and (model.actuator_gaintype[a] == 1 or model.actuator_biastype[a] == 1)
        for a in range(model.nactuator)
    )
