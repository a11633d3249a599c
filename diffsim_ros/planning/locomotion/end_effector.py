"""What a legged robot touches the ground with: point feet, wheels and skates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

KINDS = ("point", "welded", "passive", "actuated", "skate")
"""Point foot; wheel that does not turn on its link; wheel that turns freely; wheel with a motor;
blade, curved as a large wheel, that glides along itself as a wheel that turns freely does."""
SPINNING = ("passive", "actuated")
"""Kinds that have a joint of their own on a robot."""


@dataclass(frozen=True, eq=False)
class EndEffector:
    """One end effector [G 2.4.1].

    kind      one of KINDS
    link      link that carries it: the base, or one that a joint of the plan moves
    position  (3,) [m] of the foot's point, or of the wheel's centre, in that link's frame
    axis      (3,) unit rotation axis in that frame; None for a point foot
    radius    [m], 0 for a point foot
    speed     largest speed of an actuated wheel [rad/s]; infinite where none is known
    leg       name of its leg; end effectors of one leg move together, and are not kept apart
    joint     name of the wheel's own joint on the robot, "" where it has none
    moment    of inertia about its axis of a wheel that spins [kg m^2]; 0: not known
    """

    name: str
    kind: str
    link: str
    position: np.ndarray
    axis: np.ndarray | None = None
    radius: float = 0.0
    speed: float = math.inf
    leg: str = ""
    joint: str = ""
    moment: float = 0.0

    @property
    def spins(self) -> bool:
        """Whether it turns on its link."""
        return self.kind in SPINNING

    @property
    def spin_name(self) -> str:
        """Of the joint that it spins on: `joint`, or its own name where a file has none."""
        return self.joint or self.name
