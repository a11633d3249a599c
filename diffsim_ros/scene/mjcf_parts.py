"""A robot of an MJCF as the bodies, joints, motors and surfaces of a scene.

What several joints move is carried by light bodies between them (LIGHT), because a joint of a scene
moves one body. A body whose contact spheres have several radii is cut into as many parts of equal
mass, inertia and centre that welds hold: together they are the body, exactly.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from diffsim_ros.fields import Reader, join, present
from diffsim_ros.robots.mjcf import Mjcf, MjcfJoint, MjcfState, Placed
from diffsim_ros.robots.mjcf_actuators import motors, tendon_springs
from diffsim_ros.robots.mjcf_closures import closures
from diffsim_ros.robots.mjcf_geoms import MjcfContact
from diffsim_ros.robots.mjcf_ignored import Used, count, ignored
from diffsim_ros.robots.mjcf_lines import SUM, MjcfLine, equality_lines, tendon_lines
from diffsim_ros.robots.mjcf_start import CLOSED, Closing, close
from diffsim_ros.robots.robot import Inertial
from diffsim_ros.rotation import quat_from_matrix
from diffsim_ros.scene import robot_pieces as pieces
from diffsim_ros.scene import schema_robots
from diffsim_ros.scene.mjcf_forces import MjcfForces, number
from diffsim_ros.scene.mjcf_lines import SAID, LineParts
from diffsim_ros.scene.mjcf_mocap import prescribed, started
from diffsim_ros.scene.robot_pieces import ModelTouching, RobotParts

Array = np.ndarray
LIGHT = 1e-9
"""Mass of a body between two joints over that of all they move, and its moments over the mean one
of the body that they move."""
LEAST = 1e-12
"""Mass [kg] that the engine takes."""


def mjcf_parts(
    reader: Reader, mjcf: Mjcf, options: dict, key: str, world: Mapping, changed: str = ""
) -> RobotParts:
    """The parts; a UserWarning names what the MJCF has and the scene does not.

    world    of the scene, resolved: its gravity and its stepper
    changed  a sentence on what the file changes of the world, for the warning
    Raises InputError.
    """
    if options["base"] is not None:
        rule = "none: free joints of the MJCF say which bodies are free"
        raise reader.error(join(key, "base"), options["base"], rule, "remove it")
    robot = _Robot(reader, mjcf, options, key, world)
    touching = robot.touching() if options["contact"] else None
    parts = RobotParts(robot.bodies(), robot.links(), robot.planes(), touching)
    if not parts.bodies and not parts.sdfs:
        rule = "an MJCF with a body, or a plane that touches"
        remedy = "give the file that includes it, if it is a part of one"
        raise reader.error(join(key, "mjcf"), options["mjcf"], rule, remedy)
    robot.used.touching = touching is not None
    said = [changed] if changed else []
    if left := ignored(mjcf, robot.used, world["gravity"]) + robot.lacking:
        said.append(f"not used of the file: {'; '.join(left)}")
    said += robot.changed + pieces.check_start(reader, mjcf.scalars, options, key, robot.q)
    if said:
        text = f"{reader.place}: {key}.mjcf: {'. '.join(said)}"
        warnings.warn(text, UserWarning, stacklevel=2)
    return parts


class _Robot:
    """One entry of `robots` at its start.

    used     what is taken of the file;  changed  sentences on what the start is not as asked
    """

    def __init__(self, reader: Reader, mjcf: Mjcf, options: dict, key: str, world: Mapping) -> None:
        self.reader, self.mjcf, self.options, self.key = reader, mjcf, options, key
        self.prefix, self.names = options["prefix"], mjcf.body_names
        self.turn, self.at = pieces.placed(reader, options, key)
        self.gravity = np.array(world["gravity"], float)
        self.how = pieces.coordinates(reader, options, key)
        if self.how == "maximal":
            mjcf.untie()
        which, place = options["keyframe"], join(key, "keyframe")
        if isinstance(which, bool) or not isinstance(which, (str, int, type(None))):
            raise reader.error(place, which, "the name of a keyframe, or its number")
        state = mjcf.keyframe(which, reader.place, place)
        place = join(key, "mocap")
        self.mocap = prescribed(reader, mjcf, options["mocap"], place)
        state = started(reader, mjcf, state, self.mocap, place, self.turn, self.at)
        self.held = self._put(state)
        self._set_base(state.velocity, mjcf.placed(state))
        self.used, self.changed = Used(damped=world["stepper"] != "velocity"), []
        sums = self.how == "reduced" and self.used.damped
        state = self._closed(state, equality_lines(mjcf) if sums else [])
        of = [joint.coordinate for joint in mjcf.scalars]
        self.q = state.position[of]
        self.start: Placed = mjcf.placed(state)
        self.limits = self._limit_laws()
        self.groups = self._groups()
        self.lacking: list[str] = []
        tendons = tendon_lines(mjcf) if sums else []
        places = {line.number: len(mjcf.scalars) + k for k, line in enumerate(tendons)}
        self.acted = [*mjcf.scalars, *tendons]
        self.tendon_springs, self.used.tendons = tendon_springs(mjcf, places)
        if options["drive"] is None:
            self.used.motors = motors(mjcf, state.control, state.activation, places)
        rates = state.velocity[[joint.velocity for joint in mjcf.scalars]]
        self.lines = [
            LineParts(mjcf, line, options, self.at, self.q, rates)
            for line in [*tendons, *self.used.closures]
            if isinstance(line, MjcfLine)
        ]
        self.changed += [
            f"the light bodies of {one.line.name} add {one.added:.1g} of the inertia of its joints"
            for one in self.lines
            if one.added > SAID
        ]

    def _put(self, state: MjcfState) -> list[int]:
        """Angles and rates of the scene into a state; degrees of freedom that it gives by name."""
        mjcf, given = self.mjcf, self.options["angles"]
        of, rate = ([getattr(j, w) for j in mjcf.scalars] for w in ("coordinate", "velocity"))
        for rows, at, name in ((state.position, of, "angles"), (state.velocity, rate, "rates")):
            rows[at] = pieces.values(
                self.reader, mjcf.scalars, self.options, self.key, name, rows[at]
            )
        named = [i for i, j in enumerate(mjcf.scalars)
                 if isinstance(given, dict) and j.name in given]  # fmt: skip
        leads = {i: mjcf.followers[i].lead for i in named if i in mjcf.followers}
        for i, lead in leads.items():
            tie, joint = mjcf.followers[i], mjcf.scalars[lead]
            q = (state.position[of[i]] - tie.shift) / tie.ratio
            if lead in named and abs(q - state.position[of[lead]]) > CLOSED:
                rule = f"{tie.ratio:g} times {joint.name} plus {tie.shift:g}, as the MJCF ties them"
                place = join(join(self.key, "angles"), mjcf.scalars[i].name)
                raise self.reader.error(place, float(state.position[of[i]]), rule)
            state.position[of[lead]] = q
        held = {leads.get(i, i) for i in named}
        return sorted(mjcf.scalars[i].velocity for i in held)

    def _closed(self, state: MjcfState, sums: list[MjcfLine]) -> MjcfState:
        """The start with equality constraints closed; InputError where that is not to be done."""
        found = [*closures(self.mjcf), *sums]
        closing = close(self.mjcf, state, self.held, found)
        before = self.mjcf.placed(state)
        open_by = {one.name: one.gap(before) for one in found}
        if max(closing.moved) > CLOSED or closing.left:
            if not self.options["close"]:
                self._refuse_open(open_by, closing)
            if max(closing.moved) > CLOSED:
                most = [max((gap[k] for gap in open_by.values()), default=0.0) for k in (0, 1)]
                closed = count(len(closing.kept) + len(self.mjcf.tied), "equality constraint")
                self.changed.append(
                    f"closed at the start: {closed}, open by up to {most[0]:.3g} m and "
                    f"{most[1]:.3g} rad; coordinates moved by up to {closing.moved[0]:.3g} rad or "
                    f"m, rates by {closing.moved[1]:.3g} (`close: false` refuses that)"
                )
        self.used.closures, self.used.left = closing.kept, closing.left
        return closing.state

    def _refuse_open(self, open_by: dict[str, tuple[float, float]], closing: Closing) -> None:
        worst = max(open_by, key=lambda name: max(open_by[name]), default="")
        got = (
            f"coordinates {closing.moved[0]:.3g} rad or m away from where equality/joint ties them"
        )
        if worst and max(open_by[worst]) > CLOSED:
            got = f"{worst} open by {open_by[worst][0]:.3g} m and {open_by[worst][1]:.3g} rad"
        elif closing.moved[0] <= CLOSED:
            got = f"rates that open what is held, by up to {closing.moved[1]:.3g} rad/s or m/s"
        rule = f"equality constraints closed to {CLOSED:g} m and rad at the start"
        remedy = "take a keyframe, or angles, that close it, or `close: true`"
        raise self.reader.error(join(self.key, "keyframe"), got, rule, remedy)

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
        spheres = {} if self.options["contact"] else self.mjcf.spheres()
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
        if lead not in self.mjcf.inertials:
            raise self.reader.error(place, link, "a body that a joint moves")
        return lead, pose

    def between(self, joint: MjcfJoint) -> str:
        """Name of the light body behind a joint that is not its body's last."""
        return self.prefix + self.mjcf.names.made(f"{joint.name}_link")

    def pieces_of(self, body: int) -> list[str]:
        """Names of the body and of its other parts, one a radius."""
        name, made = self.names[body], self.mjcf.names.made
        others = [made(f"{name}_spheres{k + 2}") for k in range(len(self.groups[body]) - 1)]
        return [self.prefix + own for own in (name, *others)]

    def bodies(self) -> dict[str, dict]:
        """Entries of `bodies`, those that carry others first."""
        found: dict[str, dict] = {}
        for b in self.mjcf.standing:
            motion = self.start.body(b).seen(self.turn, self.at)
            pose = {"position": motion.position.tolist(),
                    "orientation": quat_from_matrix(motion.turn).tolist()}  # fmt: skip
            own = self.mocap.get(b, {"type": "kinematic", "pose": pose})
            found[self.prefix + self.names[b]] = own
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
                found[self.between(joint)] = part
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
                found[name] = part
        for line in self.lines:
            found |= line.bodies()
        return found

    def links(self) -> list[dict]:
        """Entries of `links`: joints, welds of parts, springs, motors, the payload."""
        how = self.how
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
        for line in self.lines:
            found += line.links()
        return found + self._closures(common) + self._forces() + self._payload()

    def _closures(self, common: dict[str, Any]) -> list[dict]:
        """What connect and weld hold: constrained joints, stiff ones in maximal coordinates."""
        how = "constrained" if common["coordinates"] == "reduced" else "maximal"
        found = []
        for closure in self.used.closures:
            if closure.kind == SUM:
                continue
            name = self.prefix + closure.name
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
            link["coordinate"] = number(q, joint)
            tie = self.mjcf.followers.get(self.mjcf.scalars.index(joint))
            if tie is not None:
                lead = self.prefix + self.mjcf.scalars[tie.lead].name
                link |= {"mimic": lead, "ratio": tie.ratio, "shift": tie.shift}
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
        found = {word: number(q, joint) for word, q in ends.items() if math.isfinite(q)}
        return (found | self.limits[joint.name]) if found else {}

    def _limit_laws(self) -> dict[str, dict[str, float]]:
        """Joint -> stiffness and damping of its limits: the scene's, else by its solref."""
        joints = self.mjcf.scalars
        own = {name: np.array([getattr(joint, f"limit_{name}") for joint in joints])
               for name in schema_robots.LIMIT_UNITS}  # fmt: skip
        laws = pieces.limit_laws(self.reader, joints, self.options, self.key, own)
        return {joint.name: law for joint, law in zip(joints, laws, strict=True)}

    def _forces(self) -> list[dict]:
        """Springs and motors: those of `drive`, else of the file; what acts on bodies."""
        own = [line.coordinate for line in self.lines if line.line.kind != SUM]
        at = np.append(self.q, own)
        forces = MjcfForces(self.mjcf, self.start, self.prefix, self.acted, at)
        found = forces.springs() + forces.motors(self.tendon_springs, "spring")
        if self.used.motors is None:
            key = join(self.key, "drive")
            found += pieces.motors(self.reader, self.mjcf.scalars, self.options, self.q, key)
        else:
            found += forces.motors(self.used.motors.found)
        found += forces.compensation(self.gravity)
        return found + forces.free_joints(self.gravity, self.turn, self.at, damped=self.used.damped)

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

    def touching(self) -> ModelTouching:
        """The file's geoms on the bodies of the scene."""
        found = MjcfContact(self.mjcf)
        self.lacking = found.lacking
        world = np.eye(4)
        world[:3, :3], world[:3, 3] = self.turn, self.at
        centres, geoms = {self.names[b]: own.centre for b, own in self.mjcf.inertials.items()}, {}
        for g, geom in found.geoms.items():
            pose = world
            if geom.body is not None:
                pose = np.eye(4)
                pose[:3, 3] -= centres.get(geom.body, np.zeros(3))  # a mocap body has none
            body = None if geom.body is None else self.prefix + geom.body
            geoms[g] = geom.carried(body, pose, self.prefix)
        return ModelTouching(geoms, found.pairs())

    def planes(self) -> dict[str, dict]:
        """Entries of `sdfs`: planes of the file's world."""
        found = {}
        for name, (normal, offset) in self.mjcf.planes().items():
            turned = self.turn @ normal
            shifted = float(offset + turned @ self.at)
            found[self.prefix + name] = {"plane": {"normal": turned.tolist(), "offset": shifted}}
        return found
