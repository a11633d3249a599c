"""Footfalls as they happen: a motion's pattern, changed by what is measured.

A foot that meets the ground early stands.  Footholds to come move with the capture point, beside
the one of the motion [Pratt 2006]; a foot lands before the capture point is out of its reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..legged_robot import LeggedRobot
from .reference import ComposedMotion, ReferenceStates

GRAVITY = 9.81


@dataclass(frozen=True)
class FootfallOptions:
    """reach   of footholds beside the body's deviation, in heights of the centre of mass
    early   share of a swing after which a foot within `near` [m] of the ground has landed
    touch   height [m] above which a foot that should stand is in the air; it is sent down at `down`
            [m/s]
    soon    [s] in which a foot can land at the earliest
    """

    reach: float = 0.5
    early: float = 0.25
    near: float = 0.002
    touch: float = 0.01
    down: float = 0.4
    soon: float = 0.04


class Footfalls:
    """Of one robot along one motion."""

    def __init__(
        self, robot: LeggedRobot, motion: ComposedMotion, options: FootfallOptions
    ) -> None:
        self.motion, self.options = motion, options
        self.height = robot.centre_of_mass(robot.stance, robot.standing_base())[2]
        self.rate = math.sqrt(GRAVITY / self.height)
        self.swings = motion.swings()
        m = len(self.swings)
        self.down = np.zeros(m, bool)  # stands although the motion has it in the air
        self.swing = np.full(m, -1)
        self.lands = np.zeros(m)

    def observe(self, time: float, points: np.ndarray) -> bool:
        """Looks at feet (m, 3) [m]; whether one has landed that was not expected to."""
        o, changed = self.options, False
        for j, swings in enumerate(self.swings):
            k = int(np.searchsorted(swings[:, 0], time, side="right")) - 1
            if k >= 0 and time >= swings[k, 1]:
                k = -1
            if k != self.swing[j]:
                self.swing[j], self.down[j] = k, False
                if k >= 0:
                    self.lands[j] = swings[k, 1]
            if k < 0 or self.down[j]:
                continue
            lift, land = swings[k]
            begun = (time - lift) / (land - lift)
            if begun > o.early and points[j, 2] < o.near:
                self.down[j] = changed = True
        return changed

    def hastened(self, time: float) -> list[int]:
        """Feet in the air that land before the motion has them land."""
        return [
            j
            for j, k in enumerate(self.swing)
            if k >= 0 and not self.down[j] and self.lands[j] < self.swings[j][k, 1] - 1e-3
        ]

    def stands(self, time: float, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m,) feet that stand, and those that should but are in the air."""
        meant = (self.swing < 0) | self.down
        high = meant & (points[:, 2] > self.options.touch)
        return meant & ~high, high

    def adapt(
        self, time: float, times: np.ndarray, of: ReferenceStates, points: np.ndarray,
        com: np.ndarray, velocity: np.ndarray,
    ) -> ReferenceStates:  # fmt: skip
        """The motion at `times`, the second one now, with contacts and footholds as they will be."""
        o, w = self.options, self.rate
        m = len(self.swings)
        off = com[:2] - of.com[1, :2]
        capture = off + (velocity - of.com_velocity[1])[:2] / w
        places = points[:, :2] - of.points[1, :, :2]
        pattern = self.swing < 0
        support = places[pattern].mean(axis=0) if pattern.any() else off
        away = capture - support
        size = max(float(np.linalg.norm(away)), 1e-9)
        reach = o.reach * self.height
        most = math.log(max(reach / size, 1e-9)) / w  # [s] until the capture point is out of reach
        contact = of.contact.copy()
        wanted = of.points.copy()
        for j in range(m):
            swings, k = self.swings[j], int(self.swing[j])
            if k >= 0 and not self.down[j]:
                land = min(self.lands[j], time + max(o.soon, most))
                self.lands[j] = land
                contact[(times >= land - 1e-9) & (times < swings[k, 1]), j] = True
            elif k >= 0:
                contact[(times >= time - 1e-9) & (times < swings[k, 1]), j] = True
            if k < 0 and points[j, 2] > o.touch:
                contact[(times >= time - 1e-9) & (times < time + points[j, 2] / o.down), j] = False
            # Footholds: those of now are where feet stand, those to come move.
            left = max(self.lands[j] - time, 0.0) if k >= 0 and not self.down[j] else 0.0
            moved = capture.copy()
            beside = moved - off
            far = float(np.linalg.norm(beside))
            if far > reach:
                moved = off + beside * reach / far
            first = int(np.argmin(contact[1:, j])) + 1 if not contact[1:, j].all() else len(times)
            if k >= 0 and not self.down[j]:
                part = np.clip((times - time) / max(left, 1e-6), 0.0, 1.0)[:, None]
                wanted[:, j, :2] += (1 - part) * places[j] + part * moved
            else:
                wanted[first:, j, :2] += moved
                wanted[:first, j, :2] = points[j, :2]
            wanted[contact[:, j], j, 2] = 0.0
        forces = of.forces
        changed = (contact != of.contact).any(axis=1)
        if changed.any():
            forces = forces.copy()
            count = np.maximum(contact.sum(axis=1), 1)
            total = of.forces[..., 2].sum(axis=1)
            even = np.zeros_like(forces)
            even[..., 2] = np.where(contact, (total / count)[:, None], 0.0)
            forces[changed] = even[changed]
        return replace(of, contact=contact, points=wanted, forces=forces)
