"""Joints of an MJCF that `equality/joint` ties to others: q = ratio q_lead + shift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

JOINT = 2  # mjtEq
SAME = 1e-9
"""How far, relatively, two constraints that say the same may differ."""


@dataclass(frozen=True)
class Coupling:
    """A coordinate as a linear function of another joint's, whose index in `scalars` is `lead`."""

    lead: int
    ratio: float
    shift: float


def couplings(model: Any, joints: Sequence[Any]) -> tuple[dict[int, Coupling], list[int]]:
    """Index of a joint that follows another before it -> Coupling; and the numbers of the equality
    constraints that this is all of.

    joints  those of one coordinate, with their `index` in the model
    Constraints of higher order, of one joint alone and those that contradict others are left out.
    """
    used = []
    tied = {i: Coupling(i, 1.0, 0.0) for i in range(len(joints))}
    at = {joint.index: i for i, joint in enumerate(joints)}
    for k in range(model.neq):
        if model.eq_type[k] != JOINT or not model.eq_active0[k]:
            continue
        ends = [at.get(int(model.eq_obj1id[k])), at.get(int(model.eq_obj2id[k]))]
        linear = _linear(model, k)
        if None in ends or linear is None:
            continue
        if _tie(tied, (ends[0], ends[1]), *linear):  # type: ignore[arg-type]
            used.append(k)
    return {i: one for i, one in tied.items() if one.lead != i}, used


def _linear(model: Any, k: int) -> tuple[float, float] | None:
    """Ratio and shift of q1 = ratio q2 + shift; None where it is no such constraint."""
    first, slope, *higher = model.eq_data[k][:5]
    if any(higher) or not slope:
        return None
    zero = [
        model.qpos0[model.jnt_qposadr[j]]
        for j in (int(model.eq_obj1id[k]), int(model.eq_obj2id[k]))
    ]
    return float(slope), float(zero[0] + first - slope * zero[1])


def _tie(tied: dict[int, Coupling], ends: tuple[int, int], ratio: float, shift: float) -> bool:
    """Write q1 = ratio q2 + shift into what all joints follow; False where it contradicts that."""
    one, other = tied[ends[0]], tied[ends[1]]
    # one.ratio x + one.shift = ratio (other.ratio y + other.shift) + shift of leads x and y
    slope, rest = ratio * other.ratio, ratio * other.shift + shift - one.shift
    if one.lead == other.lead:
        near = SAME * max(1.0, abs(one.ratio), abs(one.shift))
        return abs(slope - one.ratio) <= near and abs(rest) <= near
    x, y = one.lead, other.lead
    by, at = slope / one.ratio, rest / one.ratio  # x = by y + at
    if x < y:  # the one before leads
        x, y, by, at = y, x, 1 / by, -at / by
    for i, coupling in tied.items():
        if coupling.lead == x:
            tied[i] = Coupling(y, coupling.ratio * by, coupling.ratio * at + coupling.shift)
    return True
