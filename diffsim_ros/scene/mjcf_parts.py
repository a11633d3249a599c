"""A robot of an MJCF as the bodies, joints, motors and surfaces of a scene.

What several joints move is carried by light bodies between them (LIGHT), because a joint of a scene
moves one body. A body whose contact spheres have several radii is cut into as many parts of equal
mass, inertia and centre that welds hold: together they are the body, exactly.
"""

from __future__ import annotations

import math
import warnings
from itertools import pairwise
from typing import Any

import numpy as np

from diffsim_ros.fields import Reader, join, present
from diffsim_ros.robots.mjcf import Mjcf, MjcfJoint, Placed, load_mjcf
from diffsim_ros.robots.mjcf_closures import closures
from diffsim_ros.robots.mjcf_ignored import ignored
from diffsim_ros.robots.robot import Inertial
from diffsim_ros.scene import robot_pieces as pieces
from diffsim_ros.scene import schema_robots
from diffsim_ros.scene.placing import absolute
from diffsim_ros.scene.robot_pieces import RobotParts
from diffsim_ros.units import MOST_TURNED

Array = np.ndarray
LIGHT = 1e-9
"""Mass of a body between two joints over that of all they move, and its moments over the mean one
of the body that they move."""
LEAST = 1e-12
"""Mass [kg] that the engine takes."""
CLOSED = 1e-6
"""[m, rad] by which what an equality constraint holds may be open at the start."""


def mjcf_parts(reader: Reader, options: dict, key: str, gravity: object) -> RobotParts:
    """The parts; a UserWarning names what the MJCF has and the scene does not.

    gravity  of the scene (3,) [m/s^2].  Raises InputError.
    """
    if options["base"] is not None:
        rule = "none: free joints of the MJCF say which bodies are free"
        raise reader.error(join(key, "base"), options["base"], rule, "remove it")
    mjcf = load_mjcf(absolute(reader, options["mjcf"]))
    robot = _Robot(reader, mjcf, options, key)
    drives = options["drive"] is not None
    beyond = pieces.check_start(reader, mjcf.scalars, options, key, robot.q)
    if left := ignored(mjcf, gravity=gravity, drives=drives) + beyond:
        text = f"{reader.place}: {key}.mjcf: not used of the file: {'; '.join(left)}"
        warnings.warn(text, UserWarning, stacklevel=2)
    return RobotParts(robot.bodies(), robot.links(), robot.planes())


class _Robot:
    """One entry of `robots` at its start."""

    def __init__(self, reader: Reader, mjcf: Mjcf, options: dict, key: str) -> None:
        self.reader, self.mjcf, self.options, self.key = reader, mjcf, options, key
        self.prefix, self.names = options["prefix"], mjcf.body_names
        self.turn, self.at = pieces.placed(reader, options, key)
        place = (reader.place, join(key, "keyframe"))
        qpos, qvel, self.ctrl = mjcf.keyframe(options["keyframe"], *place)
        of, rate = ([getattr(j, w) for j in mjcf.scalars] for w in ("coordinate", "velocity"))
        self.q = pieces.values(reader, mjcf.scalars, options, key, "angles", qpos[of])
        qpos[of] = self.q
        qvel[rate] = pieces.values(reader, mjcf.scalars, options, key, "rates", qvel[rate])
        self._set_base(qvel, mjcf.placed(qpos, qvel))
        self.start: Placed = mjcf.placed(qpos, qvel)
        self.limits = self._limit_laws()
        self.groups = self._groups()

    def _set_base(self, qvel: Array, start: Placed) -> None:
        """Velocities of the free base into qvel (linear in the world, angular in its own axes)."""
        free = [b for b in self.mjcf.bodies if self.mjcf.free(b)]
        for name in ("velocity", "angular_velocity"):
            given = np.array(self.options[name])
            if not given.any():
                continue
            if len(free) != 1:
                rule = f"zero, as {len(free)} bodies of the MJCF have a free joint, not one"
                raise self.reader.error(join(self.key, name), given.tolist(), rule)
            first = self.mjcf.model.body_dofadr[free[0]]
            own = self.turn.T @ given
            if name == "velocity":
                qvel[first : first + 3] = own
            else:
                qvel[first + 3 : first + 6] = start.body(free[0]).turn.T @ own

    def _groups(self) -> dict[int, list[tuple[float, list]]]:
        """Body -> (radius, centres of its contact spheres from its centre of mass) by radius."""
        spheres = self.mjcf.spheres()
        for link, value in self.options["contact_spheres"].items():
            place = join(join(self.key, "contact_spheres"), link)
            read = self.reader.section(schema_robots.SPHERES, value, place)
            lead, pose = self._link(link, place)
            numbered = [b for b in range(len(self.names)) if self._calls(b, link)]
            centres = np.array(read["positions"]) @ pose[:3, :3].T + pose[:3, 3]
            spheres[numbered[0]] = [(read["radius"], centres)]
        found: dict[int, dict[float, list]] = {lead: {} for lead in self.mjcf.bodies}
        for b in sorted(spheres):
            lead = int(self.mjcf.model.body_weldid[b])
            for radius, centres in spheres[b]:
                own = centres - self.mjcf.inertials[lead].centre
                found[lead].setdefault(radius, []).extend(own.tolist())
        return {lead: list(groups.items()) for lead, groups in found.items()}

    def _calls(self, body: int, link: str) -> bool:
        return link in (self.names[body], self.mjcf.name_of("body", body))

    def _link(self, link: str, place: str) -> tuple[int, Array]:
        """The body that an MJCF body is fixed in, and its pose (4, 4) there."""
        lead, pose = self.mjcf.link(link, self.reader.place, place)
        if not lead:
            raise self.reader.error(place, link, "a body that a joint moves")
        return lead, pose

    def between(self, joint: MjcfJoint) -> str:
        """Name of the light body behind a joint that is not its body's last."""
        return f"{self.prefix}{joint.name}_link"

    def pieces_of(self, body: int) -> list[str]:
        """Names of the body and of its other parts, one a radius."""
        name = self.prefix + self.names[body]
        return [name] + [f"{name}_spheres{k + 2}" for k in range(len(self.groups[body]) - 1)]

    def bodies(self) -> dict[str, dict]:
        """Entries of `bodies`, those that carry others first."""
        found: dict[str, dict] = {}
        drawn = self.mjcf.drawn()
        for b in self.mjcf.bodies:
            own, joints = self.mjcf.inertials[b], self.mjcf.joints_of(b)
            mean = float(np.trace(own.inertia)) / 3
            for joint, following in pairwise(joints):
                mass = float(self.mjcf.model.body_subtreemass[b])
                light = Inertial(max(LIGHT * mass, LEAST), np.zeros(3), LIGHT * mean * np.eye(3))
                at = self.start.joint(following)[0]
                motion = self.start.after(joint, at).seen(self.turn, self.at)
                part = pieces.body_part(light, motion, self.options) | {"picture": []}
                self._add(found, self.between(joint), part)
            names, motion = self.pieces_of(b), self.start.body(b).seen(self.turn, self.at)
            share = Inertial(own.mass / len(names), own.centre, own.inertia / len(names))
            for k, name in enumerate(names):
                part = pieces.body_part(share, motion, self.options)
                if k:
                    part["picture"] = []  # the first one has it
                elif b in drawn:
                    part["picture"] = [
                        pieces.placed_member(kind, shape, pose, own.centre)
                        for kind, shape, pose in drawn[b]
                    ]
                if self.groups[b]:
                    radius, centres = self.groups[b][k]
                    part["contact_spheres"] = {"points": {"radius": radius, "positions": centres}}
                self._add(found, name, part)
        return found

    def _add(self, found: dict, name: str, part: dict) -> None:
        if name in found:
            raise self.reader.error(join(self.key, "mjcf"), name, "bodies of different names")
        found[name] = part

    def links(self) -> list[dict]:
        """Entries of `links`: joints, welds of parts, springs, motors, the payload."""
        how = pieces.coordinates(self.reader, self.options, self.key)
        common: dict[str, Any] = {"type": "joint", "coordinates": how}
        if self.options["joint_stiffness"] is not None:
            common["stiffness"] = self.options["joint_stiffness"]
        numbers, found = self._numbers(), []
        for b in self.mjcf.bodies:
            joints, parent = self.mjcf.joints_of(b), self.mjcf.parent(b)
            before = self.prefix + self.names[parent] if parent else None
            if len(joints) > 1 and how == "maximal":
                names = " and ".join(joint.name for joint in joints)
                rule = f"reduced, as {names} move one body and what is between them is light"
                raise self.reader.error(join(self.key, "coordinates"), how, rule)
            for joint in joints:
                last = joint is joints[-1]
                after = self.prefix + self.names[b] if last else self.between(joint)
                found.append(common | self._joint(joint, before, after, numbers))
                before = after
            name, *others = self.pieces_of(b)
            centre = self.mjcf.inertials[b].centre
            motion = self.start.body(b).seen(self.turn, self.at)
            point = (motion.position + motion.turn @ centre).tolist()
            for other in others:
                found.append(common | {"name": f"{other}_weld", "kind": "weld", "body_a": name,
                                       "body_b": other, "position": point})  # fmt: skip
        return found + self._closures(common) + self._springs() + self._drives() + self._payload()

    def _closures(self, common: dict[str, Any]) -> list[dict]:
        """What connect and weld hold: constrained joints, stiff ones in maximal coordinates."""
        how = "constrained" if common["coordinates"] == "reduced" else "maximal"
        found = []
        for closure in closures(self.mjcf):
            name = self.prefix + closure.name
            distance, angle = closure.gap(self.start)
            if max(distance, angle) > CLOSED:
                got = f"{closure.name} open by {distance:.3g} m and {angle:.3g} rad"
                rule = f"equality constraints closed to {CLOSED:g} m and rad at the start"
                raise self.reader.error(
                    join(self.key, "keyframe"),
                    got,
                    rule,
                    "take a keyframe, or angles, that close it",
                )
            ends = [self.prefix + self.names[b] if b else None for b in closure.bodies]
            point = self.at + self.turn @ closure.pose(self.start, 1)[:3, 3]
            if ends[1] is None:  # a scene's joint has its second body always
                ends.reverse()
            link = {"name": name, "kind": closure.kind, "body_a": ends[0], "body_b": ends[1],
                    "position": point.tolist(), "coordinates": how}  # fmt: skip
            found.append(common | present(link))
        return found

    def _numbers(self) -> dict[str, dict[str, float]]:
        """Key of a joint -> joint -> number: the scene's, else the file's."""
        joints, found = self.mjcf.scalars, {}
        for word, name in (("friction_damping", "damping"), ("coulomb_friction", "friction"),
                           ("armature", "armature")):  # fmt: skip
            own = {joint.name: getattr(joint, name) for joint in self.mjcf.joints}
            if self.options[name] is not None:
                given = pieces.values(self.reader, joints, self.options, self.key, name)
                own |= dict(zip((j.name for j in joints), given.tolist(), strict=True))
            found[word] = own
        return found

    def _joint(
        self, joint: MjcfJoint, before: str | None, after: str, numbers: dict
    ) -> dict[str, Any]:
        anchor, axis = self.start.joint(joint)
        link = {
            "name": self.prefix + joint.name,
            "kind": joint.kind,
            "body_a": before,
            "body_b": after,
            "position": (self.at + self.turn @ anchor).tolist(),
        }
        if joint.kind != "ball":
            q = float(self.q[self.mjcf.scalars.index(joint)])
            link["axis"] = (self.turn @ axis).tolist()
            link["coordinate"] = _number(q, joint)
            if limits := self._limits(joint):
                link["limits"] = limits
        link |= {word: own[joint.name] for word, own in numbers.items() if own[joint.name] > 0}
        if "coulomb_friction" in link:
            link["slip_rate"] = self.options["slip_rate"]
        return present(link)

    def _limits(self, joint: MjcfJoint) -> dict[str, Any]:
        ends = {"lower": joint.lower, "upper": joint.upper}
        if joint.unlimited or self.options["limits"] == "none":
            return {}
        found = {word: _number(q, joint) for word, q in ends.items() if math.isfinite(q)}
        return (found | self.limits[joint.name]) if found else {}

    def _limit_laws(self) -> dict[str, dict[str, float]]:
        """Joint -> stiffness and damping of its limits: the scene's, else by its solref."""
        joints = self.mjcf.scalars
        own = {name: np.array([getattr(joint, f"limit_{name}") for joint in joints])
               for name in schema_robots.LIMIT_UNITS}  # fmt: skip
        laws = pieces.limit_laws(self.reader, joints, self.options, self.key, own)
        return {joint.name: law for joint, law in zip(joints, laws, strict=True)}

    def _springs(self) -> list[dict]:
        """Springs of joints: position motors that nobody moves."""
        return [
            self._motor(joint, "spring", _number(joint.rest, joint), joint.stiffness, 0.0)
            for joint in self.mjcf.scalars
            if joint.stiffness > 0
        ]

    def _motor(
        self, joint: MjcfJoint, word: str, key: float | str, stiffness: float, damping: float
    ) -> dict[str, Any]:
        name = self.prefix + joint.name
        return {
            "name": f"{name}_{word}", "type": "motor", "joint": name, "kind": "position",
            "keys": [key], "stiffness": stiffness, "damping": damping,
        }  # fmt: skip

    def _drives(self) -> list[dict]:
        """Motors of `drive`, else those of the file."""
        joints = self.mjcf.scalars
        if self.options["drive"] is not None:
            key = join(self.key, "drive")
            return pieces.motors(self.reader, joints, self.options, self.q, key)
        found = []
        for motor in self.mjcf.motors():
            joint = next(j for j in joints if j.name == motor.joint)
            at = int(self.mjcf.model.actuator_ctrladr[motor.index])
            control = float(self.ctrl[at]) if self.ctrl.size else None
            name = self.prefix + joint.name
            if motor.position:
                q = float(self.q[joints.index(joint)])
                target = _number(q if control is None else control / motor.gear, joint)
                part = self._motor(joint, "drive", target, motor.stiffness, motor.damping)
                found.append(part | {"name": pieces.motor_name(name)})
            else:
                found.append({
                    "name": pieces.motor_name(name), "type": "motor", "joint": name,
                    "kind": "torque" if joint.turns else "force",
                    "keys": [(control or 0.0) * motor.gear],
                })  # fmt: skip
        return found

    def _payload(self) -> list[dict]:
        if self.options["payload"] is None:
            return []

        def carrier(link: str, place: str) -> tuple[str, Array]:
            lead, own = self._link(link, place)
            pose = own.copy()
            pose[:3, 3] -= self.mjcf.inertials[lead].centre
            return self.names[lead], pose

        key = join(self.key, "payload")
        return [pieces.payload(self.reader, self.options, key, carrier)]

    def planes(self) -> dict[str, dict]:
        """Entries of `sdfs`: planes of the file's world."""
        found = {}
        for name, (normal, offset) in self.mjcf.planes().items():
            turned = self.turn @ normal
            shifted = float(offset + turned @ self.at)
            found[self.prefix + name] = {"plane": {"normal": turned.tolist(), "offset": shifted}}
        return found


def _number(q: float, joint: MjcfJoint) -> float | str:
    """A coordinate as a file has it: an angle beyond a turn names its unit."""
    q = float(q)
    return f"{q!r} rad" if joint.turns and abs(q) > MOST_TURNED else q
