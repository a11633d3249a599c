"""Joints of an MJCF that equality constraints tie to others, q = ratio q_lead + shift, and sums of
coordinates: fixed tendons, and constraints of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

JOINT, TENDON = 2, 3  # mjtEq
WRAP_JOINT = 1  # mjtWrap
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
    Constraints of higher order, of one joint or several and what contradicts others are left out.
    """
    used = []
    tied = {i: Coupling(i, 1.0, 0.0) for i in range(len(joints))}
    for k in range(model.neq):
        sums = equality_sum(model, joints, k) if model.eq_active0[k] else None
        if sums is None or len(sums.slopes) != 2:
            continue
        # joint1 of equality/joint follows joint2, in tendons the first one the second
        (i, one), (j, other) = sums.slopes.items()
        if _tie(tied, (i, j), -other / one, -sums.shift / one):
            used.append(k)
    return {i: one for i, one in tied.items() if one.lead != i}, used


@dataclass(frozen=True)
class Sum:
    """sum_i slopes[i] q_i + shift over joints (index in `scalars`)."""

    slopes: Mapping[int, float]
    shift: float

    def plus(self, other: Sum, times: float) -> Sum:
        """This and so many times another; slopes of zero are left out."""
        slopes = dict(self.slopes)
        for i, c in other.slopes.items():
            slopes[i] = slopes.get(i, 0.0) + times * c
        kept = {i: c for i, c in slopes.items() if c}
        return Sum(kept, self.shift + times * other.shift)

    def of_leads(self, followers: Mapping[int, Coupling]) -> Sum:
        """The same by the coordinates that others follow."""
        found = Sum({}, self.shift)
        for i, c in self.slopes.items():
            tie = followers.get(i, Coupling(i, 1.0, 0.0))
            found = found.plus(Sum({tie.lead: tie.ratio}, tie.shift), c)
        return found

    def at(self, q: Sequence[float]) -> float:
        """Its value."""
        return float(sum(c * q[i] for i, c in self.slopes.items())) + self.shift


def fixed_tendon(model: Any, joints: Sequence[Any], t: int) -> Sum | None:
    """Length of a fixed tendon; None for a spatial one."""
    at = {joint.index: i for i, joint in enumerate(joints)}
    first, found = int(model.tendon_adr[t]), Sum({}, 0.0)
    for w in range(first, first + int(model.tendon_num[t])):
        i = at.get(int(model.wrap_objid[w])) if model.wrap_type[w] == WRAP_JOINT else None
        if i is None:
            return None
        found = found.plus(Sum({i: 1.0}, 0.0), float(model.wrap_prm[w]))
    return found


def equality_sum(model: Any, joints: Sequence[Any], k: int) -> Sum | None:
    """What an equality constraint of joints or fixed tendons holds at 0; None where it is none, or
    not linear."""
    kind = int(model.eq_type[k])
    if kind not in (JOINT, TENDON):
        return None
    offset, slope, *higher = map(float, model.eq_data[k][:5])
    ends = [int(model.eq_obj1id[k]), int(model.eq_obj2id[k])]
    found = Sum({}, -offset)
    for end, times in zip(ends, (1.0, -slope), strict=True):
        if end < 0:
            continue
        if kind == JOINT:
            place = next((i for i, joint in enumerate(joints) if joint.index == end), None)
            if place is None:
                return None
            one = Sum({place: 1.0}, -float(model.qpos0[joints[place].coordinate]))
        else:
            length = fixed_tendon(model, joints, end)
            if length is None:
                return None
            one = Sum(length.slopes, -float(model.tendon_length0[end]))
        found = found.plus(one, times)
    return None if ends[1] >= 0 and any(higher) else found


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
