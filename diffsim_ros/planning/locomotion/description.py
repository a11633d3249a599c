"""A legged robot as a short description: a body, legs that are written once, and their copies.

In the zero position all links have axes parallel to the body's, x forward, y left, z up, so that
places of joints and end effectors are plain offsets in their parents' frames [G 2.5.2].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from diffsim_ros.errors import InputError


@dataclass(frozen=True, eq=False)
class BodyBox:
    """The body: a box of uniform density with edges `size` (3,) [m] about `centre` (3,) [m]."""

    size: np.ndarray
    mass: float
    centre: np.ndarray = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True, eq=False)
class LegJoint:
    """A hinge with a motor, and the link that it moves, up to the next joint.

    at           (3,) [m] in the frame of the link, or body, that carries it
    axis         (3,) unit direction in that frame
    stance       angle of the standing pose [rad]
    lower, upper, speed, effort  limits [rad], [rad/s], [N m]
    motor_mass, motor_size  of the motor [kg], a cube of this edge [m], carried by the parent
    mass         of the link [kg]; None: of density [kg/m^3] and thickness [m]
    thickness    of the link [m], a box with a square section, as much longer than the distance
    tip          (3,) [m] where the link ends in its frame; None: at the next joint, or amid the end
                 effectors
    """

    name: str
    at: np.ndarray
    axis: np.ndarray
    stance: float = 0.0
    lower: float = -math.pi
    upper: float = math.pi
    speed: float = 7.0
    effort: float = 4.0
    motor_mass: float = 0.06
    motor_size: float = 0.03
    mass: float | None = None
    density: float = 1100.0
    thickness: float = 0.02
    tip: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class LegEnd:
    """An end effector of a leg: `end_effector.EndEffector`, with what it weighs.

    at     (3,) [m] of the point or the wheel's centre, in the frame of the last link
    width  of a wheel or blade [m]
    mass   [kg]: of a point foot at the point, of a wheel a disc, of a skate at its lowest point
    """

    name: str
    kind: str
    at: np.ndarray
    axis: np.ndarray | None = None
    radius: float = 0.0
    width: float = 0.01
    mass: float = 0.02
    speed: float = math.inf


@dataclass(frozen=True, eq=False)
class LegCopy:
    """A leg of the robot: mirrored first, then turned about the body's z, then shifted.

    mirror  axes of the body along which places change their sign: "", "x", "y" or "xy"
    turn    [rad];  shift  (3,) [m]
    stance  joint -> angle [rad] in place of the template's
    """

    name: str
    mirror: str = ""
    turn: float = 0.0
    shift: np.ndarray = field(default_factory=lambda: np.zeros(3))
    stance: dict[str, float] = field(default_factory=dict)

    @property
    def matrix(self) -> np.ndarray:
        """(3, 3) of the mirroring and the turn."""
        signs = [-1.0 if axis in self.mirror else 1.0 for axis in "xy"]
        sine, cosine = math.sin(self.turn), math.cos(self.turn)
        turn = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
        return turn @ np.diag([*signs, 1.0])


@dataclass(frozen=True, eq=False)
class Leg:
    """A chain of joints from the body to end effectors, and the legs of the robot that it makes.

    Without end effectors it is a limb that does not walk: a neck, a tail.
    """

    name: str
    joints: tuple[LegJoint, ...]
    end_effectors: tuple[LegEnd, ...]
    copies: tuple[LegCopy, ...]

    def copied(self, copy: LegCopy) -> Leg:
        """The leg that a copy is, written out: its one copy changes nothing.

        The axis of a hinge is mirrored so that one angle moves both legs as mirror images; that of
        a wheel so that one speed rolls both the same way.
        """
        matrix, shift = copy.matrix, copy.shift
        handed = round(np.linalg.det(matrix)) * matrix
        joints = tuple(
            replace(
                joint, at=matrix @ joint.at + (shift if k == 0 else 0.0), axis=handed @ joint.axis,
                stance=copy.stance.get(joint.name, joint.stance),
                tip=None if joint.tip is None else matrix @ joint.tip,
            )
            for k, joint in enumerate(self.joints)
        )  # fmt: skip
        free = 0.0 if joints else shift
        ends = tuple(
            replace(end, at=matrix @ end.at + free, axis=_rolling(end.axis, matrix, copy.turn))
            for end in self.end_effectors
        )
        return Leg(copy.name, joints, ends, (LegCopy(copy.name),))


def _rolling(axis: np.ndarray | None, matrix: np.ndarray, turn: float) -> np.ndarray | None:
    """A mirrored wheel's axis, of the two directions that which is nearer to the unmirrored one."""
    if axis is None:
        return None
    moved, plain = matrix @ axis, LegCopy("", turn=turn).matrix @ axis
    return moved if moved @ plain >= 0.0 else -moved


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """A whole robot; `build.build_robot` makes a LeggedRobot of it.

    place  file it came from, for messages
    """

    place: str
    name: str
    body: BodyBox
    legs: tuple[Leg, ...]

    def separated(self) -> RobotDescription:
        """The same robot with every copy of a leg written out as a leg of its own."""
        legs = tuple(leg.copied(copy) for leg in self.legs for copy in leg.copies)
        return replace(self, legs=legs)


@dataclass(frozen=True, eq=False)
class DesignParameters:
    """Places of joints and end effectors of a description as one vector [G 2.5.2].

    names   LEG.JOINT.x, .y, .z and LEG.END.x, .y, .z [m], in the frames of their parents;
            LEG.END.tilt and .steer [rad], about the body's x and z, of axes
    values  (n,) of the description
    """

    description: RobotDescription
    names: tuple[str, ...]
    values: np.ndarray

    def changed(self, values: np.ndarray) -> RobotDescription:
        """The description with other values (n,)."""
        values = np.asarray(values, float)
        if values.shape != self.values.shape or not np.isfinite(values).all():
            raise _wrong_values(self, values)
        by_name = dict(zip(self.names, values.tolist(), strict=True))
        legs = tuple(_moved(leg, by_name) for leg in self.description.legs)
        return replace(self.description, legs=legs)


def design_parameters(
    description: RobotDescription, *, shared: bool = True, axes: bool = False
) -> DesignParameters:
    """Design parameters of a description.

    shared  copies of a leg share its parameters, else each has its own
    axes    directions of wheels' axes too: turns by `tilt` about the body's x, then by `steer`
            about its z, 0 as described
    """
    taken = description if shared else description.separated()
    names: list[str] = []
    values: list[float] = []
    for leg in taken.legs:
        parts: tuple[LegJoint | LegEnd, ...] = (*leg.joints, *leg.end_effectors)
        for part in parts:
            names += [f"{leg.name}.{part.name}.{axis}" for axis in "xyz"]
            values += part.at.tolist()
        for end in leg.end_effectors:
            if axes and end.axis is not None:
                names += [f"{leg.name}.{end.name}.tilt", f"{leg.name}.{end.name}.steer"]
                values += [0.0, 0.0]
    return DesignParameters(taken, tuple(names), np.array(values))


def _wrong_values(parameters: DesignParameters, values: np.ndarray) -> Exception:
    rule = f"{len(parameters.names)} finite numbers"
    return InputError(parameters.description.place, "design parameters", values, rule)


def _moved(leg: Leg, values: dict[str, float]) -> Leg:
    def at(part: LegJoint | LegEnd) -> np.ndarray:
        return np.array([values[f"{leg.name}.{part.name}.{axis}"] for axis in "xyz"])

    def axis(end: LegEnd) -> np.ndarray | None:
        tilt = values.get(f"{leg.name}.{end.name}.tilt", 0.0)
        steer = values.get(f"{leg.name}.{end.name}.steer", 0.0)
        if end.axis is None:
            return None
        sine, cosine = math.sin(tilt), math.cos(tilt)
        about_x = np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
        return LegCopy("", turn=steer).matrix @ about_x @ end.axis

    joints = tuple(replace(joint, at=at(joint)) for joint in leg.joints)
    ends = tuple(replace(end, at=at(end), axis=axis(end)) for end in leg.end_effectors)
    return replace(leg, joints=joints, end_effectors=ends)
