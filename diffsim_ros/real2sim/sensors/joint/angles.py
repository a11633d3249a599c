"""Joint logs in degrees, told by the joints' limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....errors import InputError
from ....robots.robot import Robot
from ....sensing.observation import Observation

DEGREES, BEYOND = 180.0 / np.pi, 2.0
"""A joint so many times beyond its limits is logged in degrees, if it is within them then."""


def check_angles(robot: Robot, logs: Sequence[Observation]) -> None:
    """Refuse logs in degrees: angles far beyond a joint's limits, and within them as degrees."""
    for joint, name in zip(robot.joints, robot.joint_names, strict=True):
        low, high = (float(x) if x is not None else np.inf for x in (joint.lower, joint.upper))
        limit = max(abs(low), abs(high))
        for log in logs:
            most = float(np.nanmax(np.abs(log.column(log.measured["position"], name))))
            if np.isfinite(limit) and DEGREES * limit > most > BEYOND * limit:
                got, rule = f"{name} at {most:.4g}", f"within its limits, {limit:.4g} rad"
                raise InputError(log.place, "position", got, rule, "is the log in degrees?")
