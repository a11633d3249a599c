"""From a description of legs to links with masses, and to a LeggedRobot."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.robots.robot import NOTHING, Frame, Inertial, Joint, Robot

from .description import DesignParameters, Leg, LegEnd, LegJoint, RobotDescription
from .end_effector import SPINNING, EndEffector
from .legged_robot import LeggedRobot

BASE = "base"
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class LinkShape:
    """A shape for pictures and for simulators, about a centre (3,) in the link's frame.

    kind  box, with edges (3,), cylinder, with radius and length, or ball, with its radius [m]
    axis  unit direction (3,) of the shape's z;  None: the shape is not turned
    """

    kind: str
    size: tuple[float, ...]
    centre: np.ndarray
    axis: np.ndarray | None = None

    @property
    def pose(self) -> np.ndarray:
        """(4, 4) in the link's frame."""
        pose = np.eye(4)
        pose[:3, 3] = self.centre
        if self.axis is not None:
            pose[:3, :3] = _along(self.axis)
        return pose


@dataclass(frozen=True, eq=False)
class BuiltLink:
    """A link with the joint that carries it.

    joint     of the plan; None for the body and for what is fixed to its parent, or spins on it
    spinning  name of a wheel's own joint, "" for none
    at        (3,) [m] in the parent's frame
    """

    link: str
    parent: str
    at: np.ndarray
    inertial: Inertial
    solids: tuple[LinkShape, ...]
    joint: LegJoint | None = None
    name: str = ""
    end: LegEnd | None = None
    spinning: str = ""


def build_robot(description: RobotDescription) -> LeggedRobot:
    """The LeggedRobot of a description.  InputError: a name that two links have."""
    parts, effectors, stance = parts_of(description)
    names = [part.link for part in parts]
    for name in names:
        if names.count(name) > 1:
            rule = "a name of its own for every leg, joint and end effector"
            raise InputError(description.place, "legs", name, rule)
    tree = _tree(description, parts)
    return LeggedRobot(description.name, tree, effectors, np.array(stance, float), description)


def with_values(parameters: DesignParameters, values: np.ndarray) -> LeggedRobot:
    """The robot of other design parameters (n,); its standing pose may stand no longer."""
    return build_robot(parameters.changed(values))


def parts_of(
    description: RobotDescription,
) -> tuple[list[BuiltLink], tuple[EndEffector, ...], list[float]]:
    """Links, parents first, end effectors, and angles of the standing pose [rad]."""
    body, size = description.body, tuple(description.body.size.tolist())
    square = body.size**2
    inertia = np.diag(body.mass / 12.0 * (square.sum() - square))
    box = Inertial(body.mass, body.centre, inertia)
    base = BuiltLink(BASE, "", np.zeros(3), box, (LinkShape("box", size, body.centre),))
    parts, effectors, stance = [base], [], []
    for leg in description.separated().legs:
        made = _leg_parts(leg)
        carried = _motor(leg.joints[0]) if leg.joints else NOTHING
        parts[0] = _heavier(parts[0], carried)
        parts += made
        stance += [joint.stance for joint in leg.joints]
        effectors += _effectors(leg)
    return parts, tuple(effectors), stance


def _end_name(leg: Leg, end: LegEnd) -> str:
    return leg.name if len(leg.end_effectors) == 1 else f"{leg.name}_{end.name}"


def _last_link(leg: Leg) -> str:
    return f"{leg.name}_{leg.joints[-1].name}_link" if leg.joints else BASE


def _effectors(leg: Leg) -> list[EndEffector]:
    found = []
    for end in leg.end_effectors:
        name = _end_name(leg, end)
        joint = f"{name}_spin" if end.kind in SPINNING else ""
        speed = end.speed if end.kind == "actuated" else math.inf
        moment = end.mass * end.radius**2 / 2.0 if joint else 0.0
        found.append(EndEffector(name, end.kind, _last_link(leg), end.at, end.axis, end.radius,
                                 speed, leg.name, joint, moment))  # fmt: skip
    return found


def _leg_parts(leg: Leg) -> list[BuiltLink]:
    parts, parent = [], BASE
    for k, joint in enumerate(leg.joints):
        name = f"{leg.name}_{joint.name}"
        last = k + 1 == len(leg.joints)
        ends = [end.at for end in leg.end_effectors] or [np.zeros(3)]
        offset = np.mean(ends, axis=0) if last else leg.joints[k + 1].at
        offset = offset if joint.tip is None else joint.tip
        inertial, solid = _link(joint, offset)
        if not last:
            inertial = inertial.plus(_motor(leg.joints[k + 1]))
        parts.append(BuiltLink(f"{name}_link", parent, joint.at, inertial, (solid,), joint, name))
        parent = parts[-1].link
    for end, effector in zip(leg.end_effectors, _effectors(leg), strict=True):
        inertial, solid = _end_solid(end)
        parts.append(BuiltLink(f"{effector.name}_end", parent, end.at, inertial, (solid,), None,
                          f"{effector.name}_mount", end, effector.joint))  # fmt: skip
    return parts


def _heavier(part: BuiltLink, more: Inertial) -> BuiltLink:
    return BuiltLink(**{**vars(part), "inertial": part.inertial.plus(more)})


def _motor(joint: LegJoint) -> Inertial:
    """Of a joint's motor, in the frame of its parent."""
    moment = joint.motor_mass * joint.motor_size**2 / 6.0
    return Inertial(joint.motor_mass, joint.at, moment * np.eye(3))


def _link(joint: LegJoint, offset: np.ndarray) -> tuple[Inertial, LinkShape]:
    """A link from its joint to where it carries the next one, offset (3,) [m]."""
    length, thick = math.sqrt(float(offset @ offset)), joint.thickness
    size = (thick, thick, length + thick)
    mass = joint.density * math.prod(size) if joint.mass is None else joint.mass
    axis = offset / length if length > 0.0 else UP
    across = mass / 12.0 * (size[1] ** 2 + size[2] ** 2)
    inertia = _about(axis, across, mass / 12.0 * 2.0 * thick**2)
    return Inertial(mass, offset / 2.0, inertia), LinkShape("box", size, offset / 2.0, axis)


def _end_solid(end: LegEnd) -> tuple[Inertial, LinkShape]:
    """An end effector in the frame of its point or centre."""
    m, r, w = end.mass, end.radius, end.width
    if end.axis is None:
        moment = 0.4 * m * (w / 2.0) ** 2
        ball = LinkShape("ball", (w / 2.0,), np.zeros(3))
        return Inertial(m, np.zeros(3), moment * np.eye(3)), ball
    disc = LinkShape("cylinder", (r, w), np.zeros(3), end.axis)
    if end.kind == "skate":  # a short piece of the blade about its lowest point
        down = end.axis * end.axis[2] - UP
        at = r * down / np.linalg.norm(down)
        moment = m * (3.0 * w) ** 2 / 6.0
        return Inertial(m, at, moment * np.eye(3)), disc
    across = m * (3.0 * r * r + w * w) / 12.0
    return Inertial(m, np.zeros(3), _about(end.axis, across, m * r * r / 2.0)), disc


def _about(axis: np.ndarray, across: float, along: float) -> np.ndarray:
    """Inertia (3, 3) of a body that is symmetric about a unit axis, of its two moments."""
    return across * np.eye(3) + (along - across) * np.outer(axis, axis)


def _along(axis: np.ndarray) -> np.ndarray:
    """A rotation (3, 3) that takes z to a unit axis (3,)."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(other, axis)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=1)


def _tree(description: RobotDescription, parts: list[BuiltLink]) -> Robot:
    frames = {BASE: Frame(-1, np.eye(4))}
    joints: list[Joint] = []
    inertials: list[Inertial] = [parts[0].inertial]  # of the base, then of joints' bodies
    for part in parts[1:]:
        above = frames[part.parent]
        at = np.eye(4)
        at[:3, 3] = part.at
        if part.joint is None:
            pose = above.pose @ at
            frames[part.link] = Frame(above.carrier, pose, part.parent)
            inertials[above.carrier + 1] = inertials[above.carrier + 1].plus(
                part.inertial.moved(pose)
            )
            continue
        frames[part.link] = Frame(len(joints), np.eye(4), part.parent)
        given = part.joint
        joints.append(Joint(part.name, "revolute", above.carrier, part.link, above.pose @ at,
                            given.axis, given.lower, given.upper, given.speed, given.effort,
                            0.0, 0.0, NOTHING))  # fmt: skip
        inertials.append(part.inertial)
    whole = tuple(
        Joint(**{**vars(joint), "inertial": inertial})
        for joint, inertial in zip(joints, inertials[1:], strict=True)
    )
    return Robot(description.place, description.name, BASE, whole, frames, (), inertials[0])
