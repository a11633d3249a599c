"""A URDF's robot at its start in a scene: joint values, light bodies, limits, what is not used.

Limits press as MuJoCo's with their default solref do: k is the coordinate's effective inertia over
RESPONSE squared, at least so much that the weight of all that the joint carries sinks in by SINK of
the range; the damping is what critical damping comes to, as `robots.mjcf` has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.fields import Reader, join
from diffsim_ros.robots.kinematics import joint_motion
from diffsim_ros.robots.mjcf_ignored import count
from diffsim_ros.robots.robot import Inertial, Robot
from diffsim_ros.robots.soft_constraint import HUNT_CROSSLEY
from diffsim_ros.robots.tree import model_of
from diffsim_ros.robots.urdf import warn_of
from diffsim_ros.scene import robot_pieces as pieces

Array = np.ndarray
LIGHT = 1e-9
"""Mass of a link without any over that of all it carries; its moments likewise."""
LEAST = 1e-12
"""Mass [kg] that the engine takes."""
RESPONSE = 0.02
"""[s] of a limit: MuJoCo's default."""
SINK = 0.01
"""Of the range, and [rad or m] at most: how deep a weight at rest presses into a limit."""
EARTH = 9.81
"""[m/s^2], where the scene has none, or less."""


@dataclass(frozen=True)
class UrdfStart:
    """A robot at its start.

    q, rates   (n,) [rad or m, rad/s or m/s], followers as their leaders
    armature   (n,) [kg m^2 or kg]
    inertials  of the bodies, light ones where the file has none
    light      names of links with less mass or inertia than the engine takes
    notes      sentences on the start
    """

    robot: Robot
    options: dict
    key: str
    q: Array
    rates: Array
    armature: Array
    inertials: list[Inertial]
    carried: list[Inertial]
    light: list[str]
    notes: list[str]

    def check_coordinates(self, reader: Reader, coordinates: str) -> None:
        """InputError for what joints in maximal coordinates cannot be."""
        if coordinates == "reduced":
            return
        why = ""
        if self.light:
            why = f"link {self.light[0]} has no inertia"
        elif self.robot.followers:
            why = f"joint {self.robot.followers[0]} follows another"
        if why:
            key = "joint_stiffness" if self.options["coordinates"] is None else "coordinates"
            raise reader.error(join(self.key, key), self.options[key], f"reduced, as {why}")

    def limits(self, reader: Reader, gravity: object) -> dict[int, dict]:
        """Joint's index -> the `limits` of its link, of joints that have some."""
        if not pieces.limits_act(reader, self.options, self.key):
            return {}
        ends = [(joint.lower, joint.upper) for joint in self.robot.joints]
        limited = [i for i, (lower, upper) in enumerate(ends)
                   if math.isfinite(lower) or math.isfinite(upper)]  # fmt: skip
        stiffness = self._stiffness(gravity) if limited else np.ones(len(ends))
        defaults = {"stiffness": stiffness, "damping": np.full(len(ends), HUNT_CROSSLEY)}
        laws = pieces.limit_laws(reader, self.robot.joints, self.options, self.key, defaults)
        found = {}
        for i in limited:
            turns = self.robot.joints[i].turns
            own = {word: pieces.coordinate_value(end, turns)
                   for word, end in zip(("lower", "upper"), ends[i], strict=True)
                   if math.isfinite(end)}  # fmt: skip
            found[i] = own | laws[i]
        return found

    def _stiffness(self, gravity: object) -> Array:
        """[N m/rad or N/m] of limits (n,), see the module; of followers those of their leaders."""
        robot = self.robot
        whole, coupling = model_of(robot, armature=self.armature), robot.coupling()
        mass = coupling.T @ np.asarray(whole.mass_matrix(self.q)) @ coupling
        effective = 1 / np.diag(np.linalg.inv(mass))
        free = [i for i, joint in enumerate(robot.joints) if joint.mimic is None]
        inertia = np.ones(len(robot.joints))
        inertia[free] = effective
        pull = max(EARTH, float(np.linalg.norm(np.asarray(gravity, float))))
        found = np.zeros(len(robot.joints))
        for i, joint in enumerate(robot.joints):
            size = joint.upper - joint.lower
            sunk = SINK * min(1.0, size if math.isfinite(size) else 1.0)
            own = self.carried[i]
            arm = own.centre - (own.centre @ joint.axis) * joint.axis
            weight = own.mass * pull * (float(np.linalg.norm(arm)) if joint.turns else 1.0)
            found[i] = max(float(inertia[i]) / RESPONSE**2, weight / sunk)
        return found


def start_of(reader: Reader, robot: Robot, options: dict, key: str) -> UrdfStart:
    """Read `angles`, `rates` and `armature`; InputError for what cannot move, or starts beyond."""
    armature = pieces.values(reader, robot.joints, options, key, "armature")
    acts, zero = pieces.limits_act(reader, options, key), np.zeros(len(robot.joints))
    for i, joint in enumerate(robot.joints):
        if acts and joint.mimic is None:
            zero[i] = min(max(0.0, joint.lower), joint.upper)
    given = pieces.values(reader, robot.joints, options, key, "angles", zero)
    q = robot.followed(given)
    named = options["angles"]
    for joint, value, own in zip(robot.joints, given.tolist(), q.tolist(), strict=True):
        listed = (isinstance(named, Mapping) and joint.name in named) or isinstance(named, list)
        if joint.mimic is not None and listed and abs(value - own) > 1e-6:
            leader = robot.joints[joint.mimic.leader].name
            rule = f"{own:g}, as it follows {leader}"
            raise reader.error(join(join(key, "angles"), joint.name), value, rule)
    free = [i for i, joint in enumerate(robot.joints) if joint.mimic is None]
    pieces.check_start(reader, [robot.joints[i] for i in free], options, key, q[free])
    asked = named if isinstance(named, Mapping) else robot.joint_names if named is not None else ()
    moved = [f"{joint.name} at {q[i]:g}" for i, joint in enumerate(robot.joints)
             if joint.mimic is None and q[i] != 0.0 and joint.name not in asked]  # fmt: skip
    notes = [f"0 is beyond limits: {', '.join(moved)}, the nearest, at the start"] if moved else []
    rates = pieces.values(reader, robot.joints, options, key, "rates")
    for i, joint in enumerate(robot.joints):
        if joint.mimic is not None:
            rates[i] = joint.mimic.ratio * rates[joint.mimic.leader]
    try:
        if robot.joints:
            model_of(robot, armature=armature)
    except InputError as error:
        rule = "links with mass along every coordinate that moves"
        remedy = "give what it carries an <inertial>, the joint an `armature`, or hold it: `held`"
        raise reader.error(join(key, "urdf"), error.value, rule, remedy) from error
    carried = _carried(robot, q)
    inertials, light = _inertials(robot, carried)
    return UrdfStart(robot, options, key, q, rates, armature, inertials, carried, light, notes)


def _carried(robot: Robot, q: Array) -> list[Inertial]:
    """Of every body with all that its joint carries, in the body's frame."""
    found = [joint.inertial for joint in robot.joints]
    for i in reversed(range(len(found))):
        joint = robot.joints[i]
        if joint.parent >= 0:
            pose = joint.origin @ joint_motion(joint.axis, joint.turns, np.array(q[i]))
            found[joint.parent] = found[joint.parent].plus(found[i].moved(pose))
    return found


def _inertials(robot: Robot, carried: list[Inertial]) -> tuple[list[Inertial], list[str]]:
    """Bodies' inertials with so much mass and inertia as the engine takes; which are light."""
    found, light = [], []
    for joint, whole in zip(robot.joints, carried, strict=True):
        own, arm = joint.inertial, whole.centre
        mean = (float(np.trace(whole.inertia)) + 2 * whole.mass * float(arm @ arm)) / 3
        least = max(LIGHT * mean, LEAST * LIGHT)
        if own.mass > 0 and np.linalg.eigvalsh(own.inertia)[0] > least:
            found.append(own)
            continue
        mass = max(own.mass, LIGHT * whole.mass, LEAST)
        found.append(Inertial(mass, own.centre, own.inertia + least * np.eye(3)))
        light.append(joint.body)
    return found, light


def warn(reader: Reader, start: UrdfStart, options: dict, key: str, lacking: Sequence[str]) -> None:
    """One UserWarning that names what is read otherwise, and what the scene does not use.

    lacking  collisions that do not touch, where the file's contact acts
    """
    robot = start.robot
    notes = [*robot.notes, *start.notes]
    if start.light:
        notes.append(f"{', '.join(start.light)} without inertia as light bodies")
    unused = [*robot.unused, *lacking]
    if robot.collisions and not options["contact"]:
        text = count(robot.collisions, "collision shape")
        unused.append(f"contact of {text} (`contact: from the file`, or the scene's `contact`)")
    speeds = sum(math.isfinite(joint.velocity) for joint in robot.joints)
    if speeds:
        unused.append(f"velocity limits of {count(speeds, 'joint')}")
    follow = sum(math.isfinite(min(joint.upper, -joint.lower)) for joint in robot.joints
                 if joint.mimic is not None)  # fmt: skip
    if follow:
        unused.append(f"limits of {count(follow, 'joint')} that follow others (the leaders' hold)")
    unused += [f"the name {kind} {old!r} (here {new})"
               for (kind, old), new in robot.renamed.items()]  # fmt: skip
    warn_of(f"{reader.place}: {join(key, 'urdf')}", notes, unused)
