"""Actuators and springs of an MJCF that are linear in a joint's coordinate.

A force f = b u + a - k l - d l' of a control u, along a length l (a joint's coordinate or a fixed
tendon, times the gear), is one of the coordinate alone where a single coordinate makes the length.
It is cut off at the actuator's forcerange, and at the actuatorfrcrange of a joint that no other
actuator drives.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .mjcf_couplings import Sum, fixed_tendon

if TYPE_CHECKING:
    from .mjcf import Mjcf

Array = np.ndarray
TRANSMISSIONS = {2: "slider-crank", 3: "tendon", 4: "site", 5: "body", 6: "SO3"}  # mjtTrn
JOINTS, TENDON = (0, 1), 3
DYNAMICS = {0: "", 1: "integrator", 2: "filter", 3: "filter"}  # mjtDyn of those that are read
NO_LINES: Mapping[int, int] = {}
NO_RANGE = (-math.inf, math.inf)
LINEAR = (0, 1)  # mjtGain and mjtBias: fixed or none, affine


class LinearForce(NamedTuple):
    """b, a, k and d of the module, and between which forces it is cut off [N m or N]."""

    by_control: float
    constant: float
    stiffness: float
    damping: float
    lower: float = -math.inf
    upper: float = math.inf

    def along(self, c: float, shift: float = 0.0) -> LinearForce:
        """On a coordinate q of a length c q + shift."""
        k, ends = self.stiffness, (c * self.lower, c * self.upper)
        constant = c * (self.constant - k * shift)
        square = c * c
        return LinearForce(c * self.by_control, constant, square * k, square * self.damping,
                           min(ends), max(ends))  # fmt: skip

    @property
    def limited(self) -> bool:
        """Whether it has limits."""
        return math.isfinite(self.lower) or math.isfinite(self.upper)

    @property
    def split(self) -> bool:
        """Whether it is a load and a damper, which limits of their sum are not on."""
        return not self.stiffness and self.damping > 0 and bool(self.by_control or self.constant)


@dataclass(frozen=True)
class MjcfMotor:
    """A force on a joint's coordinate q: by_control u + constant - stiffness q - damping q'.

    joint   index in `scalars`, or place of a tendon's own coordinate after them
    index   of the actuator, or of the tendon whose spring it is
    name    of what it is in the file; "" for none
    control u at the start of a motion
    """

    joint: int
    index: int
    name: str
    force: LinearForce
    control: float = 0.0

    @property
    def load(self) -> float:
        """The force where the coordinate is 0 and at rest."""
        return self.force.by_control * self.control + self.force.constant


@dataclass(frozen=True)
class Motors:
    """What is read of a model's actuators.

    unread  why others are not -> their number
    lagging those of `found` whose filter or integrator is not
    free    those of `found` whose limits of force are not
    """

    found: list[MjcfMotor]
    unread: Counter[str]
    lagging: Counter[str]
    free: Counter[str]

    @property
    def used(self) -> list[int]:
        """Numbers of the actuators that are read."""
        return sorted({motor.index for motor in self.found})


def motors(mjcf: Mjcf, control: Array, state: Array, lines: Mapping[int, int] = NO_LINES) -> Motors:
    """The actuators that are linear, at the controls and the activations of a start.

    lines  tendon -> place, counted on from those of the joints, of its own coordinate
    """
    model, read = mjcf.model, Motors([], Counter(), Counter(), Counter())
    for a in range(model.nactuator):
        if not mjcf.flags.actuates(int(model.actuator_group[a])):
            continue
        length, why = _transmission(mjcf, a)
        why = why or _unread(model, a)
        if why or length is None:
            read.unread[why] += 1
            continue
        u, lag = _input(mjcf, a, control, state)
        bias = model.actuator_biasprm[a] * (model.actuator_biastype[a] == 1)
        slope = model.actuator_gainprm[a] * np.array([1, *[model.actuator_gaintype[a] == 1] * 9])
        # an affine gain is one of the length: at the control of the start
        within = model.actuator_forcerange[a] if model.actuator_forcelimited[a] else NO_RANGE
        gains = (-(bias[i] + slope[i] * u) for i in (1, 2))
        law = LinearForce(float(slope[0]), float(bias[0]), *gains, *map(float, within))
        line = _line(model, a, lines)
        found = _on_joints(mjcf, length, law, line)
        if isinstance(found, str):
            read.unread[found] += 1
            continue
        name = mjcf.name_of("actuator", a)
        read.found.extend(MjcfMotor(j, a, name, own, u) for j, own in found)
        if lag:
            read.lagging[lag] += 1
        if model.actuator_gaintype[a] == 1 and np.any(slope[1:3]):
            read.lagging["a gain that changes with length or velocity"] += 1
    return _limited(mjcf, read)


def _limited(mjcf: Mjcf, read: Motors) -> Motors:
    """With the limits of joints; without those that no single motor of a scene can have."""
    driven = Counter(motor.joint for motor in read.found)
    for k, motor in enumerate(read.found):
        force = motor.force
        joint = mjcf.scalars[motor.joint] if motor.joint < len(mjcf.scalars) else None
        if joint is not None and math.isfinite(max(joint.effort_upper, -joint.effort_lower)):
            lower = max(force.lower, joint.effort_lower)
            upper = min(force.upper, joint.effort_upper)
            if driven[motor.joint] == 1 and lower < upper:
                force = force._replace(lower=lower, upper=upper)
            else:
                why = "(several drive it, or their forcerange is apart from it)"
                read.free[f"the actuatorfrcrange of a joint {why}"] += 1
        if force.limited and force.split:
            read.free["the force limits (a constant force and a damper)"] += 1
            force = force._replace(lower=-math.inf, upper=math.inf)
        read.found[k] = replace(motor, force=force)
    return read


def tendon_springs(
    mjcf: Mjcf, lines: Mapping[int, int] = NO_LINES
) -> tuple[list[MjcfMotor], list[int]]:
    """Springs and dampers of fixed tendons, and the tendons of which nothing is left."""
    model, found, used = mjcf.model, [], []
    for t in range(model.ntendon):
        length = fixed_tendon(model, mjcf.scalars, t)
        low, high = model.tendon_lengthspring[t]
        k = float(model.tendon_stiffness[t]) if mjcf.flags.spring else 0.0
        d = float(model.tendon_damping[t]) if mjcf.flags.damper else 0.0
        if length is not None and not length.of_leads(mjcf.followers).slopes:
            used.append(t)  # constraints keep its length
            continue
        limited = model.tendon_limited[t] and mjcf.flags.limit
        if length is None or (k and low != high and (limited or t not in lines)):
            continue
        k *= low == high  # what is slack between two lengths is a limit of the tendon's
        line = (lines[t], 1.0) if t in lines else None
        parts = _on_joints(mjcf, length, LinearForce(0.0, k * float(low), k, d), line)
        if isinstance(parts, str):
            continue
        if k or d:
            name = mjcf.name_of("tendon", t) or f"tendon{t + 1}"
            found += [MjcfMotor(j, t, name, own) for j, own in parts]
        words = ["margin", "actfrclimited", "dampingpoly", "stiffnesspoly", "springyield"]
        if t not in lines:
            words += ["limited", "frictionloss", "armature"]
        if not any(np.any(getattr(model, f"tendon_{word}")[t]) for word in words):
            used.append(t)
    return found, used


def _transmission(mjcf: Mjcf, a: int) -> tuple[Sum | None, str]:
    """Length of an actuator over its gear; or why it is none."""
    model, kind = mjcf.model, int(mjcf.model.actuator_trntype[a])
    target = int(model.actuator_trnid[a, 0])
    gear = float(model.actuator_gear[a, 0])
    if kind in JOINTS:
        for i, joint in enumerate(mjcf.scalars):
            if joint.index == target:
                return Sum({}, 0.0).plus(Sum({i: 1.0}, 0.0), gear), ""
        return None, "on a ball or free joint"
    if kind == TENDON:
        length = fixed_tendon(model, mjcf.scalars, target)
        if length is None:
            return None, "on a spatial tendon"
        return Sum({}, 0.0).plus(length, gear), ""
    return None, f"on a {TRANSMISSIONS.get(kind, 'transmission unknown here')}"


def _unread(model: Any, a: int) -> str:
    """Why an actuator's law is not read; "" where it is."""
    if model.actuator_plugin[a] >= 0:
        return "of a plugin"
    if int(model.actuator_dyntype[a]) not in DYNAMICS or model.actuator_ctrlnum[a] != 1:
        return "with dynamics of a muscle, a motor or a controller of its own"
    if not {int(model.actuator_gaintype[a]), int(model.actuator_biastype[a])} <= {*LINEAR}:
        return "with a gain or bias that is not affine"
    if model.actuator_delay[a]:
        return "with a delay"
    return ""


def _input(mjcf: Mjcf, a: int, control: Array, state: Array) -> tuple[float, str]:
    """What drives an actuator from the start on, and in words what of its dynamics is left out."""
    model = mjcf.model
    at = int(model.actuator_ctrladr[a])
    u = float(control[at]) if control.size else 0.0
    if mjcf.flags.clampctrl and model.actuator_ctrllimited[a]:
        u = float(np.clip(u, *model.actuator_ctrlrange[at]))
    kind = DYNAMICS[int(model.actuator_dyntype[a])]
    if not kind:
        return u, ""
    first = int(model.actuator_actadr[a])
    act = float(state[first]) if state.size else 0.0
    if model.actuator_actlimited[a]:
        act = float(np.clip(act, *model.actuator_actrange[a]))
    if kind == "integrator":
        return act, "the integrator" if not u else "the integrator, and its control,"
    return u, "the filter"


def _line(model: Any, a: int, lines: Mapping[int, int]) -> tuple[int, float] | None:
    """Place of the coordinate that an actuator's tendon is, and the gear; None where it is none."""
    target = int(model.actuator_trnid[a, 0])
    if model.actuator_trntype[a] != TENDON or target not in lines:
        return None
    return lines[target], float(model.actuator_gear[a, 0])


def _on_joints(
    mjcf: Mjcf,
    length: Sum,
    law: LinearForce,
    line: tuple[int, float] | None = None,
) -> list[tuple[int, LinearForce]] | str:
    """The force along a length on joints, one law each; or why it is none.

    line  place of a coordinate that is the length but for a factor, and that factor
    """
    if not law.stiffness and not law.damping:
        return [(i, law.along(c)) for i, c in length.slopes.items()]
    if law.stiffness < 0 or law.damping < 0:
        return "with a negative stiffness or damping"
    if line is not None:
        at, c = line
        return [(at, law.along(c))]
    if len(length.slopes) > 1:
        length = length.of_leads(mjcf.followers)
    if len(length.slopes) > 1:
        return "on a tendon of joints that are not tied to each other"
    return [(i, law.along(c, length.shift)) for i, c in length.slopes.items()]
