"""How an arm's joints follow their controller: keys of twins and of plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..fields import Field, Reader, Section
from ..robots.arm import Arm
from ..robots.controller import Settings
from ..robots.tracking import Dynamics
from .driven_arm import DRIVEN, GAINS, read_driven_arm

PER_JOINT = "one for all, a list in the order of the joints, or {joint: number}"
FOLLOWING: Section = {
    "rate": Field("number", "of its commands", "Hz", 125.0, minimum=0, strict=True),
    "bandwidth": Field("any", f"of the joints' closed loops [rad/s]: {PER_JOINT}", default=60.0),
    "damping": Field("any", f"damping ratio of them: {PER_JOINT}", default=1.0),
    "delay": Field("number", "until a command has an effect", "s", 0.008, minimum=0),
    "feedforward": Field("number", "share of the velocity that is fed forward", "1", 1.0,
                         minimum=0),
    "arm": Field("mapping", "the arm as a chain of bodies with drives; instead of bandwidth, "
                 "damping and feedforward"),
}  # fmt: skip
ARM_TABLES = {"arm": DRIVEN, "arm.drive": GAINS}
"""Sections below one with FOLLOWING's keys."""
RATES = (1.0, 1000.0)
"""Of a controller [Hz]."""


def read_following(
    reader: Reader, given: Mapping[str, Any], arm: Arm, key: str, **rest: Any
) -> Settings:
    """The controller of a section that has these keys; InputError naming key, value and rule.

    rest  further settings
    """
    if not RATES[0] <= given["rate"] <= RATES[1]:
        raise reader.error(f"{key}.rate", given["rate"], "from {:g} to {:g} Hz".format(*RATES))
    if given["arm"] is not None:
        for name in ("bandwidth", "damping", "feedforward"):
            if given[name] != FOLLOWING[name].default:
                raise reader.error(f"{key}.{name}", given[name], "none beside `arm`")
        driven = read_driven_arm(reader, given["arm"], arm, given["delay"], f"{key}.arm")
        return Settings(rate=given["rate"], dynamics=driven, **rest)
    loops = {}
    for name in ("bandwidth", "damping"):
        loops[name] = arm.robot.values(given[name], f"{key}.{name}", place=reader.place)
        if np.any(loops[name] <= 0):
            raise reader.error(f"{key}.{name}", given[name], "greater than 0")
    dynamics = Dynamics(**loops, delay=given["delay"], feedforward=given["feedforward"])
    return Settings(rate=given["rate"], dynamics=dynamics, **rest)
