"""Footfalls as they happen: a motion's pattern, changed by what is measured.

A foot that meets the ground early stands.  Footholds to come move with the capture point, and a
foot lands before the capture point is out of its reach (T5).
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
    rolls_back  [s] in which wheels on the ground are to lose what they are beside the motion's path
    """

    reach: float = 0.8
    early: float = 0.25
    near: float = 0.002
    touch: float = 0.01
    down: float = 0.4
    soon: float = 0.04
    rolls_back: float = 0.3


class Footfalls:
    """Of one robot with m feet along one motion.

    swing  (m,) numbers of the swings that the motion has now, -1: none
    down   (m,) feet that stand although the motion has them in the air
    lands  (m,) when these swings end [s]
    """

    def __init__(
        self, robot: LeggedRobot, motion: ComposedMotion, options: FootfallOptions
    ) -> None:
        self.motion, self.options = motion, options
        self.height = robot.centre_of_mass(robot.stance, robot.standing_base())[2]
        self.rate = math.sqrt(GRAVITY / self.height)
        self.swings = motion.swings()
        self.wheel = [effector.axis is not None for effector in robot.end_effectors]
        m = len(self.swings)
        self.down = np.zeros(m, bool)
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

    def hastened(self) -> list[int]:
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
        """The motion at `times` (N,), the second one now, with contacts and footholds to come.

        of  the motion there;  points (m, 3) feet [m], com (3,) [m], velocity (3,) [m/s] as measured
        Footholds to come are off the motion's by what the capture point is, x + v / w with
        w^2 = g / H, beside the body at most `reach`; a foot in the air lands before e^(w t) times
        the capture point's distance from the feet that stand is as far.
        """
        o, off = self.options, com[:2] - of.com[1, :2]
        capture = off + (velocity - of.com_velocity[1])[:2] / self.rate
        places = points[:, :2] - of.points[1, :, :2]
        meant = self.swing < 0
        support = places[meant].mean(axis=0) if meant.any() else off
        reach = o.reach * self.height
        away = max(float(np.linalg.norm(capture - support)), 1e-9)
        self._hasten(time + math.log(max(reach / away, 1e-9)) / self.rate, time)
        beside = capture - off
        moved = off + beside * min(1.0, reach / max(float(np.linalg.norm(beside)), 1e-9))
        contact = self._contact(time, times, of.contact, points)
        wanted = of.points.copy()
        fade = np.exp(-np.maximum(times - time, 0.0) / o.rolls_back)
        for j in range(len(self.swings)):
            if self._flies(j):
                left = max(self.lands[j] - time, 1e-6)
                part = np.clip((times - time) / left, 0.0, 1.0)[:, None]
                wanted[:, j, :2] += (1 - part) * places[j] + part * moved
            else:  # until it lifts it stays; a wheel rolls back to the motion's path
                ahead = contact[1:, j]
                first = len(times) if ahead.all() else int(np.argmin(ahead)) + 1
                wanted[first:, j, :2] += moved
                if self.wheel[j]:
                    wanted[:first, j, :2] += fade[:first, None] * places[j]
                else:
                    wanted[:first, j, :2] = points[j, :2]
            wanted[contact[:, j], j, 2] = 0.0
        return replace(of, contact=contact, points=wanted, forces=_shared(of, contact))

    def _flies(self, j: int) -> bool:
        return bool(self.swing[j] >= 0 and not self.down[j])

    def _hasten(self, latest: float, time: float) -> None:
        for j in range(len(self.swings)):
            if self._flies(j):
                self.lands[j] = min(self.lands[j], max(latest, time + self.options.soon))

    def _contact(
        self, time: float, times: np.ndarray, of: np.ndarray, points: np.ndarray
    ) -> np.ndarray:
        """(N, m) flags: the motion's, but for the swings of now and feet that are late."""
        o, contact, ahead = self.options, of.copy(), times >= time - 1e-9
        for j, swings in enumerate(self.swings):
            k = self.swing[j]
            if k >= 0:
                stands = ahead if self.down[j] else times >= self.lands[j] - 1e-9
                contact[stands & (times < swings[k, 1]), j] = True
            elif points[j, 2] > o.touch:
                contact[ahead & (times < time + points[j, 2] / o.down), j] = False
        return contact


def _shared(of: ReferenceStates, contact: np.ndarray) -> np.ndarray:
    """The motion's forces (N, m, 3); where other feet stand, its load in even shares."""
    changed = (contact != of.contact).any(axis=1)
    if not changed.any():
        return of.forces
    load = of.forces[..., 2].sum(axis=1) / np.maximum(contact.sum(axis=1), 1)
    even = np.zeros_like(of.forces)
    even[..., 2] = np.where(contact, load[:, None], 0.0)
    return np.where(changed[:, None, None], even, of.forces)
