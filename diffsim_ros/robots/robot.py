"""A robot as plain data: links and joints of a tree on a base, which stands still or moves.

A frame pose is a (4, 4) matrix [R t; 0 1] that takes coordinates of the inner frame to the outer
one.  Joints stand in the order of the tree, every parent before its children; all arrays of joint
values follow that order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from diffsim_ros.errors import InputError, nearest

from .joint_values import joint_values

KINDS = ("revolute", "continuous", "prismatic")
"""Joints that move, in URDF's words."""


@dataclass(frozen=True)
class Inertial:
    """Mass [kg], centre (3,) [m] and inertia about it (3, 3) [kg m^2], in a link's frame."""

    mass: float
    centre: np.ndarray
    inertia: np.ndarray

    def moved(self, pose: np.ndarray) -> Inertial:
        """The same mass in the outer frame of a pose (4, 4)."""
        turn = pose[:3, :3]
        centre = turn @ self.centre + pose[:3, 3]
        return Inertial(self.mass, centre, turn @ self.inertia @ turn.T)

    def plus(self, other: Inertial) -> Inertial:
        """Both together, about their common centre."""
        mass = self.mass + other.mass
        if mass == 0.0:
            return self
        centre = (self.mass * self.centre + other.mass * other.centre) / mass
        inertia = sum(
            one.inertia + one.mass * _squared(one.centre - centre) for one in (self, other)
        )
        return Inertial(mass, centre, inertia)


NOTHING = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


def _squared(arm: np.ndarray) -> np.ndarray:
    """Inertia of a unit mass at an arm (3,)."""
    return arm @ arm * np.eye(3) - np.outer(arm, arm)


@dataclass(frozen=True)
class FrameMotion:
    """Of a frame: rotation (3, 3), position (3,), omega (3,) and velocity (3,) in the outer one."""

    turn: np.ndarray
    position: np.ndarray
    omega: np.ndarray
    velocity: np.ndarray

    def seen(self, turn: np.ndarray, at: np.ndarray) -> FrameMotion:
        """In a frame in which the outer one stands still, turned and at a position."""
        return FrameMotion(
            turn @ self.turn, at + turn @ self.position, turn @ self.omega, turn @ self.velocity
        )


@dataclass(frozen=True)
class Mimic:
    """What a joint's position follows: ratio · that of joint `leader` (an index) + shift."""

    leader: int
    ratio: float
    shift: float


@dataclass(frozen=True)
class Joint:
    """One moving joint.

    kind      revolute, continuous or prismatic
    parent    index of the joint that carries it, -1: the base
    body      name of the link that it moves
    origin    pose (4, 4) of the joint in the frame of the parent's body (the base's if -1)
    axis      unit direction (3,), joint frame
    lower, upper  position limits [rad or m], infinite where there are none
    velocity, effort  limits [rad/s or m/s], [N m or N], infinite where there are none
    damping, friction viscous [N m s/rad or N s/m] and Coulomb [N m or N]
    inertial  of the body with all that is fixed to it, in the body's (joint's) frame
    size      edges (3,) [m] of a box about its centre that stands for it in pictures, or None
    mimic     what it follows, which follows nothing itself; None: it moves by itself
    """

    name: str
    kind: str
    parent: int
    body: str
    origin: np.ndarray
    axis: np.ndarray
    lower: float
    upper: float
    velocity: float
    effort: float
    damping: float
    friction: float
    inertial: Inertial
    size: tuple[float, ...] | None = None
    mimic: Mimic | None = None

    @property
    def turns(self) -> bool:
        """True for an angle, False for a displacement."""
        return self.kind != "prismatic"

    @property
    def effort_lower(self) -> float:
        """The least torque or force of its motor."""
        return -self.effort

    @property
    def effort_upper(self) -> float:
        """The most."""
        return self.effort


@dataclass(frozen=True)
class Frame:
    """A link's frame: fixed in the body that joint `carrier` moves (-1: the base), at `pose`.

    parent  its parent link in the file, "" for the root
    """

    carrier: int
    pose: np.ndarray
    parent: str = ""


@dataclass(frozen=True)
class Capsule:
    """What a link takes up: all within `radius` [m] of the line between two points.

    ends  (2, 3) [m] in the frame of the body that joint `carrier` moves (-1: the base)
    """

    link: str
    carrier: int
    ends: np.ndarray
    radius: float


@dataclass(frozen=True)
class Robot:
    """A tree of joints on a base.

    place   file it came from, for messages
    base    name of the root link
    joints  those that move, parents first
    frames  every link, merged ones too: name -> Frame
    shapes  capsules about the primitives of <collision>; meshes have none
    base_inertial  of the base with all that is fixed to it, in its frame
    unused  what its file has and nobody reads: phrases, `2 gazebo`
    notes   what is taken in another way than the file has it: sentences
    odd_limits  names of joints with lower >= upper in the file: read otherwise, as notes have it
    floating  True where its file has the base on a floating joint
    collisions  how many shapes its file has for contact
    renamed  ("link" or "joint", name in the file) -> name here, where they differ
    """

    place: str
    name: str
    base: str
    joints: tuple[Joint, ...]
    frames: Mapping[str, Frame]
    shapes: tuple[Capsule, ...] = ()
    base_inertial: Inertial = NOTHING
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    odd_limits: tuple[str, ...] = ()
    floating: bool = False
    collisions: int = 0
    renamed: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that move, in the order of arrays of joint values."""
        return tuple(joint.name for joint in self.joints)

    @property
    def limits(self) -> dict[str, np.ndarray]:
        """Arrays (n,) of lower, upper, velocity and effort limits."""
        names = ("lower", "upper", "velocity", "effort")
        return {name: np.array([getattr(joint, name) for joint in self.joints]) for name in names}

    def frame(self, link: str) -> Frame:
        """Frame of a link; InputError names near ones."""
        if link not in self.frames:
            remedy = nearest(link, self.frames)
            raise InputError(self.place, "link", link, "a link of the robot", remedy)
        return self.frames[link]

    def branch(self, carrier: int) -> tuple[int, ...]:
        """Joints from the base to the body that joint `carrier` moves, itself included."""
        found: list[int] = []
        while carrier >= 0:
            found.append(carrier)
            carrier = self.joints[carrier].parent
        return tuple(reversed(found))

    @property
    def followers(self) -> tuple[str, ...]:
        """Names of the joints that follow others."""
        return tuple(joint.name for joint in self.joints if joint.mimic is not None)

    def followed(self, q: np.ndarray) -> np.ndarray:
        """Positions (..., n) with those of followers as their leaders' are."""
        found = np.array(q, float)
        for i, joint in enumerate(self.joints):
            if joint.mimic is not None:
                found[..., i] = joint.mimic.ratio * found[..., joint.mimic.leader]
                found[..., i] += joint.mimic.shift
        return found

    def coupling(self) -> np.ndarray:
        """G (n, m) with q' = G z', z the m joints that follow none: efforts of those are Gᵀ tau,
        their mass matrix is Gᵀ M G."""
        free = [i for i, joint in enumerate(self.joints) if joint.mimic is None]
        found = np.zeros((len(self.joints), len(free)))
        for i, joint in enumerate(self.joints):
            leader, ratio = (i, 1.0) if joint.mimic is None else (
                joint.mimic.leader, joint.mimic.ratio
            )  # fmt: skip
            found[i, free.index(leader)] = ratio
        return found

    def values(
        self, given: object, key: str, default: float = 0.0, place: object = "", unit: str = ""
    ) -> np.ndarray:
        """One number per joint (n,); see `joint_values`. By default errors name the URDF."""
        return joint_values(self.joints, given, key, default, place or self.place, unit)
