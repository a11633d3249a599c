"""Sums of coordinates of an MJCF (fixed tendons) in a scene: light bodies on sliders.

Each slider follows one joint, by its coefficient, and stands on the one before; the last body is
where the sum is. On it acts a slider to the world that holds nothing: its coordinate is the sum,
and motors, limits, friction and armature of it are the tendon's. What an equality constraint holds
is welded to the world where the sum is 0.
"""

from __future__ import annotations

import math

import numpy as np

from diffsim_ros.robots.mjcf import LEAST_INERTIA, LEAST_MASS, Mjcf
from diffsim_ros.robots.mjcf_lines import SUM, MjcfLine
from diffsim_ros.robots.robot import FrameMotion, Inertial
from diffsim_ros.scene import robot_pieces as pieces

Array = np.ndarray
SAID = 1e-7
"""Share of a joint's inertia that light bodies may add and nothing says so."""
NEGLIGIBLE = 1e-10
"""Mass of a light body over what the joint that it follows feels it as."""


class LineParts:
    """Of one sum, at the start of a motion.

    at     (3,) where the sum is 0;  axis  (3,) along which it is drawn;  q, rates  of all joints
    """

    def __init__(
        self, mjcf: Mjcf, line: MjcfLine, options: dict, at: Array, q: Array, rates: Array
    ) -> None:
        self.mjcf, self.line, self.options = mjcf, line, options
        self.at, self.axis = at, np.array([1.0, 0.0, 0.0])
        self.q, self.rates = q, rates
        self.names = [
            mjcf.names.take("", "", f"{line.name}_{mjcf.scalars[i].name}")
            for i in line.length.slopes
        ]

    @property
    def coordinate(self) -> float:
        """The sum at the start."""
        return self.line.length.at(self.q)

    @property
    def _felt(self) -> float:
        """Inertia of its joints as the sum feels it, of the lightest one."""
        inertias = self.mjcf.model.dof_M0
        return min(
            float(inertias[self.mjcf.scalars[i].velocity]) / c**2
            for i, c in self.line.length.slopes.items()
        )

    @property
    def added(self) -> float:
        """Share of the inertia of a joint that the light bodies add."""
        return len(self.names) * max(LEAST_MASS, NEGLIGIBLE * self._felt) / self._felt

    def bodies(self) -> dict[str, dict]:
        """Entries of `bodies`."""
        found, place, rate = {}, self.line.length.shift, 0.0
        mass = max(LEAST_MASS, NEGLIGIBLE * self._felt)
        light = Inertial(mass, np.zeros(3), max(LEAST_INERTIA, 1e-2 * mass) * np.eye(3))
        for name, (i, c) in zip(self.names, self.line.length.slopes.items(), strict=True):
            place, rate = place + c * self.q[i], rate + c * self.rates[i]
            motion = FrameMotion(
                np.eye(3), self.at + place * self.axis, np.zeros(3), rate * self.axis
            )
            part = pieces.body_part(light, motion, self.options) | {"picture": []}
            found[self.options["prefix"] + name] = part
        return found

    def links(self) -> list[dict]:
        """Entries of `links`."""
        prefix, found, before = self.options["prefix"], [], None
        place, slopes = self.line.length.shift, self.line.length.slopes
        for name, (i, c) in zip(self.names, slopes.items(), strict=True):
            joint = self.mjcf.scalars[i]
            link = {
                "name": prefix + self.mjcf.names.take("", "", f"{name}_slide"), "type": "joint",
                "kind": "slider", "coordinates": "reduced", "body_b": prefix + name,
                "position": (self.at + place * self.axis).tolist(), "axis": self.axis.tolist(),
                "coordinate": float(c * self.q[i]), "mimic": prefix + joint.name, "ratio": c,
            }  # fmt: skip
            found.append(link | ({"body_a": before} if before else {}))
            place, before = place + c * self.q[i], prefix + name
        end = {"name": prefix + self.line.name, "type": "joint", "body_b": before}
        if self.line.kind == SUM:
            spot = (self.at + place * self.axis).tolist()
            held = {"kind": "weld", "coordinates": "constrained", "position": spot}
            return [*found, end | held]
        return [*found, end | self._free()]

    def _free(self) -> dict:
        """The slider whose coordinate is the sum."""
        line = self.line
        free: dict = {
            "kind": "slider", "coordinates": "maximal", "position": self.at.tolist(),
            "axis": self.axis.tolist(), "coordinate": self.coordinate,
            "stiffness": 0.0, "damping": 0.0, "rotational_stiffness": 0.0,
            "rotational_damping": 0.0,
        }  # fmt: skip
        ends = {"lower": line.lower, "upper": line.upper}
        if line.limit_stiffness > 0:
            law = {"stiffness": line.limit_stiffness, "damping": line.limit_damping}
            if line.limit_damping_depth is not None:
                law["damping_depth"] = line.limit_damping_depth
            free["limits"] = {word: q for word, q in ends.items() if math.isfinite(q)} | law
        if line.friction > 0:
            free |= {"coulomb_friction": line.friction, "slip_rate": self.options["slip_rate"]}
        if line.armature > 0:
            free["armature"] = line.armature
        return free
