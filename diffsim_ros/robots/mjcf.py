"""MJCF files, compiled by MuJoCo's own parser: bodies, joints, motors, spheres as plain data.

A *body* here is an MJCF body that joints move, with every body that is fixed to it (MuJoCo's weld
group); it has the name and the axes of the former. All that this returns is in the frame of the
file's world, at the start that is asked for.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.rotation import quat_matrix, quat_multiply

from .robot import NOTHING, FrameMotion, Inertial
from .xml_file import xml_content, xml_tree

Array = np.ndarray
FREE, BALL, SLIDE, HINGE = 0, 1, 2, 3  # mjtJoint
PLANE, SPHERE, CAPSULE = 0, 2, 3  # mjtGeom
PRIMITIVES = {SPHERE: "sphere", CAPSULE: "capsule", 5: "cylinder", 6: "box"}
SHOWN = 2
"""Last group of geoms that MuJoCo's viewer shows."""
KINDS = {BALL: "ball", SLIDE: "slider", HINGE: "hinge"}
WORLD = "world"
OLDEST = 4
"""First version of MuJoCo whose models have the fields that are read here."""
HUNT_CROSSLEY = 11.5
"""Damping c of a limit [s/rad or s/m] per damping ratio of its solref. A coordinate that comes in
at v = 1 rad/s (m/s) then goes as deep as v / (e omega), as a critically damped oscillator does:
c - log(1 + c v) / v = (c / e)^2 v / 2 of the engine's force k d (1 + c d')."""


@dataclass(frozen=True)
class MjcfJoint:
    """One joint.

    index       of the compiled model
    kind        hinge, slider or ball
    coordinate, velocity  index of its first number in qpos and in qvel
    body        number of the MJCF body that it moves
    damping, friction, armature, stiffness, rest  of hinge and slider: the coordinate's [SI];
                the spring is slack at `rest`; a ball has a damping alone
    lower, upper  infinite where there are none
    limit_stiffness, limit_damping  what solref comes to at the inertia of the start of the file
    """

    name: str
    index: int
    kind: str
    coordinate: int
    velocity: int
    body: int
    damping: float
    friction: float
    armature: float
    stiffness: float
    rest: float
    lower: float
    upper: float
    limit_stiffness: float
    limit_damping: float

    @property
    def turns(self) -> bool:
        """True for angles, False for a displacement."""
        return self.kind != "slider"

    @property
    def unlimited(self) -> bool:
        """Whether it has no limits."""
        return not math.isfinite(min(self.upper, -self.lower))


@dataclass(frozen=True)
class MjcfMotor:
    """An actuator on a joint's coordinate: a force, or stiffness (target - q) - damping q'.

    gear  of the joint's force (N m, N) over the control's, and of the control over the target
    """

    joint: str
    index: int
    position: bool
    stiffness: float
    damping: float
    gear: float


def load_mjcf(path: str | Path) -> Mjcf:
    """Read and compile an MJCF.

    Raises InputError: missing file or library, broken XML, what MuJoCo refuses, no body that moves,
    bodies without mass or inertia, names that two things have.
    """
    path = Path(path)
    root = xml_tree(path, xml_content(path, "an existing MJCF", "*.xml"))
    if root.tag != "mujoco":
        remedy = "give a URDF as `urdf`" if root.tag == "robot" else ""
        raise InputError(path, "", f"<{root.tag}>", "<mujoco> at the top", remedy)
    rule, remedy = "MuJoCo 4 or later, which reads MJCF files", "pip install mujoco (extra mjcf)"
    try:
        import mujoco
    except ImportError as error:
        raise InputError(path, "", "mujoco is not installed", rule, remedy) from error
    if int(mujoco.__version__.split(".")[0]) < OLDEST:
        raise InputError(path, "", f"mujoco {mujoco.__version__}", rule, remedy)
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise InputError(path, "", str(error), "an MJCF that MuJoCo compiles") from error
    return Mjcf(str(path), model)


class Mjcf:
    """A compiled model and the names that its parts have in a scene.

    joints  hinges, sliders and balls, parents first; `scalars` are those of one coordinate
    bodies  numbers of the MJCF bodies that joints move, parents first
    renamed (kind, name in the file, name here) of what another name is needed for
    """

    def __init__(self, place: str, model: Any) -> None:
        self.place, self.model = place, model
        self.renamed: list[tuple[str, str, str]] = []
        self.body_names, names = self._names()
        self.joints = [
            _joint(model, j, names[j]) for j in range(model.njnt) if model.jnt_type[j] != FREE
        ]
        self.scalars = [joint for joint in self.joints if joint.kind != "ball"]
        weld = model.body_weldid
        self.bodies = [b for b in range(1, model.nbody) if weld[b] == b]
        if not self.bodies:
            raise InputError(place, "worldbody", "no joint", "at least one body with a joint")
        still = self._at(model.qpos0)
        self._from_lead = [self._relative(still, b) for b in range(model.nbody)]
        self.inertials = {b: self._inertial(b) for b in self.bodies}

    def name_of(self, kind: str, index: int) -> str:
        """What the file calls a body, joint, geom, ...; "" for nothing."""
        return str(getattr(self.model, kind)(index).name)

    def _names(self) -> tuple[list[str], dict[int, str]]:
        """Of all bodies, and of the joints that are not free."""
        model = self.model
        bodies = [WORLD] + [self._plain("body", b) for b in range(1, model.nbody)]
        for b in range(1, model.nbody):
            if not bodies[b]:
                j = model.body_jntadr[b]
                joint = self._plain("joint", j) if j >= 0 else ""
                bodies[b] = f"{joint}_body" if joint else f"body{b}"
        joints: dict[int, str] = {}
        for j in range(model.njnt):
            if model.jnt_type[j] != FREE:
                of = model.jnt_bodyid[j]
                count = j - model.body_jntadr[of] + 1
                own = self._plain("joint", j)
                name = own or f"{bodies[of]}_joint{count if count > 1 else ''}"
                if name in bodies:
                    name = f"{name}_joint"
                    self.renamed.append(("joint", own, name))
                joints[j] = name
        seen: set[str] = set()
        for kind, name in [("body", n) for n in bodies] + [("joint", n) for n in joints.values()]:
            if name in seen:
                rule = "names of bodies and joints that differ in letters, digits, _ and -"
                raise InputError(self.place, kind, name, rule)
            seen.add(name)
        return bodies, joints

    def _plain(self, kind: str, index: int) -> str:
        """A name of letters, digits, _ and -."""
        given = self.name_of(kind, index)
        name = re.sub(r"[^A-Za-z0-9_-]", "_", given)
        if name != given:
            self.renamed.append((kind, given, name))
        return name

    def _at(self, qpos: Array) -> Any:
        """MuJoCo's data with the poses of a configuration."""
        import mujoco

        data = mujoco.MjData(self.model)
        data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, data)
        return data

    def _relative(self, data: Any, body: int) -> Array:
        """Pose (4, 4) of an MJCF body in the frame of the one that joints move."""
        lead, pose = self.model.body_weldid[body], np.eye(4)
        turn = data.xmat[lead].reshape(3, 3).T
        pose[:3, :3] = turn @ data.xmat[body].reshape(3, 3)
        pose[:3, 3] = turn @ (data.xpos[body] - data.xpos[lead])
        return pose

    def in_lead(self, body: int) -> Array:
        """Pose (4, 4) of an MJCF body in the frame of the one that joints move."""
        return self._from_lead[body]

    def _inertial(self, lead: int) -> Inertial:
        """Of a body with all that is fixed to it, in its frame."""
        model, found = self.model, NOTHING
        for b in np.flatnonzero(model.body_weldid == lead):
            turn = quat_matrix(model.body_iquat[b][[1, 2, 3, 0]])
            inertia = turn @ np.diag(model.body_inertia[b]) @ turn.T
            own = Inertial(float(model.body_mass[b]), model.body_ipos[b].copy(), inertia)
            found = found.plus(own.moved(self._from_lead[b]))
        if found.mass <= 0.0 or np.linalg.eigvalsh(found.inertia)[0] <= 0.0:
            rule = "a mass and three principal moments > 0 of what a joint moves"
            raise InputError(self.place, f"body {self.body_names[lead]}", found.mass, rule)
        return found

    def parent(self, body: int) -> int:
        """Number of the body that carries one, 0 for the world."""
        return int(self.model.body_weldid[self.model.body_parentid[body]])

    def joints_of(self, body: int) -> list[MjcfJoint]:
        """In the order in which they move it; none for one that is free."""
        return [joint for joint in self.joints if joint.body == body]

    def free(self, body: int) -> bool:
        """Whether a body has six degrees of freedom."""
        j = self.model.body_jntadr[body]
        return bool(j >= 0 and self.model.jnt_type[j] == FREE)

    def link(self, name: str, place: object, key: str) -> tuple[int, Array]:
        """Number of the body that an MJCF body is fixed in, 0 for the world, and its pose there.

        `name` as in the file or here.  InputError names `place` and key.
        """
        for b, known in enumerate(self.body_names):
            if name in (known, self.name_of("body", b)):
                return int(self.model.body_weldid[b]), self._from_lead[b]
        rule = "a body of the MJCF"
        raise InputError(place, key, name, rule, nearest(name, self.body_names[1:]))

    def keyframe(self, name: str | None, place: object, key: str) -> tuple[Array, Array, Array]:
        """qpos, qvel and ctrl of a keyframe; None: the file's reference configuration, no ctrl."""
        model = self.model
        if name is None:
            return model.qpos0.copy(), np.zeros(model.nv), np.zeros(0)
        names = [self.name_of("key", k) for k in range(model.nkey)]
        if name not in names:
            raise InputError(place, key, name, "a keyframe of the MJCF", nearest(name, names))
        k = names.index(name)
        return model.key_qpos[k].copy(), model.key_qvel[k].copy(), model.key_ctrl[k].copy()

    def placed(self, qpos: Array, qvel: Array) -> Placed:
        """Where everything is and how it moves."""
        return Placed(self, self._at(qpos), qpos, qvel)

    def spheres(self) -> dict[int, list[tuple[float, Array]]]:
        """MJCF body -> (radius, centres (n, 3) in the frame of what it is fixed in) of its spheres
        and capsules that touch: along a capsule at most a radius apart."""
        model, found = self.model, {}
        for g in range(model.ngeom):
            b, kind = int(model.geom_bodyid[g]), model.geom_type[g]
            if not touches(model, g) or kind not in (SPHERE, CAPSULE) or not model.body_weldid[b]:
                continue
            radius, half = model.geom_size[g][:2]
            turn = quat_matrix(model.geom_quat[g][[1, 2, 3, 0]])
            at = model.geom_pos[g][None]
            if kind == CAPSULE:
                count = max(2, math.ceil(2 * half / radius - 1e-9) + 1)
                at = at + np.outer(np.linspace(-half, half, count), turn[:, 2])
            pose = self._from_lead[b]
            found.setdefault(b, []).append((float(radius), at @ pose[:3, :3].T + pose[:3, 3]))
        return found

    def drawn(self) -> dict[int, list[tuple[str, dict[str, Any], Array]]]:
        """Body -> kind, keys as of a scene's shape and pose (4, 4) in its frame of what a viewer
        shows of it: primitives of the groups 0 to 2, where there are none all of its primitives."""
        model, found = self.model, {}
        for most in (SHOWN, model.geom_group.max(initial=0)):
            for b in set(self.bodies) - set(found):
                geoms = [g for g in range(model.ngeom)
                         if model.body_weldid[model.geom_bodyid[g]] == b
                         and int(model.geom_type[g]) in PRIMITIVES and model.geom_group[g] <= most
                         and model.geom_rgba[g][3] > 0]  # fmt: skip
                if geoms:
                    found[b] = [self._primitive(g) for g in geoms]
        return found

    def _primitive(self, geom: int) -> tuple[str, dict[str, Any], Array]:
        model, pose = self.model, np.eye(4)
        pose[:3, :3] = quat_matrix(model.geom_quat[geom][[1, 2, 3, 0]])
        pose[:3, 3] = model.geom_pos[geom]
        kind, size = PRIMITIVES[int(model.geom_type[geom])], 2 * model.geom_size[geom]
        values: dict[str, Any] = {"radius": float(size[0] / 2)}
        if kind == "box":
            values = {"size": size.tolist()}
        elif kind != "sphere":
            values["length" if kind == "capsule" else "height"] = float(size[1])
        return kind, values, self._from_lead[int(model.geom_bodyid[geom])] @ pose

    def planes(self) -> dict[str, tuple[Array, float]]:
        """Name -> normal and offset of the planes of the world that touch."""
        model, data, found = self.model, self._at(self.model.qpos0), {}
        for g in range(model.ngeom):
            fixed = not model.body_weldid[model.geom_bodyid[g]]
            if touches(model, g) and model.geom_type[g] == PLANE and fixed:
                normal = data.geom_xmat[g].reshape(3, 3)[:, 2]
                found[self._plain("geom", g) or f"plane{g}"] = (normal, normal @ data.geom_xpos[g])
        return found

    def motors(self) -> list[MjcfMotor]:
        """The actuators that are motors or position servos of a hinge or slider, one a joint."""
        model, found = self.model, {}
        for a in range(model.nactuator):
            joint = next((j for j in self.scalars if j.index == model.actuator_trnid[a, 0]), None)
            if model.actuator_trntype[a] > 1 or joint is None or joint.name in found:
                continue
            gain, bias = model.actuator_gainprm[a], model.actuator_biasprm[a]
            if model.actuator_dyntype[a] or model.actuator_gaintype[a] or model.actuator_delay[a]:
                continue
            gear = float(model.actuator_gear[a, 0])
            if model.actuator_biastype[a] == 0:
                found[joint.name] = MjcfMotor(joint.name, a, False, 0.0, 0.0, gear * gain[0])
            elif model.actuator_biastype[a] == 1 and not bias[0] and gain[0] == -bias[1] > 0:
                square = gear * gear
                stiffness, damping = square * gain[0], -square * bias[2]
                if gear and damping >= 0:
                    found[joint.name] = MjcfMotor(joint.name, a, True, stiffness, damping, gear)
        return list(found.values())


def touches(model: Any, geom: int) -> bool:
    """Whether a geom can touch anything."""
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def _joint(model: Any, j: int, name: str) -> MjcfJoint:
    v, q, kind = int(model.jnt_dofadr[j]), int(model.jnt_qposadr[j]), KINDS[int(model.jnt_type[j])]
    ball = kind == "ball"
    lower, upper = model.jnt_range[j] if model.jnt_limited[j] else (-math.inf, math.inf)
    stiffness, damping = _limit_law(model, j, v)
    return MjcfJoint(
        name, j, kind, q, v, int(model.jnt_bodyid[j]),
        damping=float(model.dof_damping[v]),
        friction=0.0 if ball else float(model.dof_frictionloss[v]),
        armature=0.0 if ball else float(model.dof_armature[v]),
        stiffness=0.0 if ball else float(model.jnt_stiffness[j]),
        rest=0.0 if ball else float(model.qpos_spring[q]),
        lower=-math.inf if ball else float(lower), upper=math.inf if ball else float(upper),
        limit_stiffness=stiffness, limit_damping=damping,
    )  # fmt: skip


def _limit_law(model: Any, j: int, dof: int) -> tuple[float, float]:
    """Stiffness [N m/rad or N/m] and damping [s/rad or s/m] of a joint's limit.

    MuJoCo's soft limit is an oscillator of the coordinate, x'' = -b x' - k x, scaled by the
    effective inertia; k and b follow from solref and solimp (MuJoCo's docs, Solver parameters).
    """
    first, second = map(float, model.jnt_solref[j])
    if first > 0:
        rate, ratio = 1 / (max(first, 2 * model.opt.timestep) * second), second
    else:
        rate = math.sqrt(-first)
        ratio = -second / (2 * rate) if rate else 0.0
    return rate * rate / float(model.dof_invweight0[dof]), HUNT_CROSSLEY * ratio


class Placed:
    """The bodies and joints of a model at one state."""

    def __init__(self, mjcf: Mjcf, data: Any, qpos: Array, qvel: Array) -> None:
        self.mjcf, self._data, self._qpos, self._qvel = mjcf, data, qpos, qvel
        self._twists: dict[int, tuple[Array, Array]] = {0: (np.zeros(3), np.zeros(3))}
        self._after: dict[int, tuple[Array, Array]] = {}
        for b in range(1, mjcf.model.nbody):
            self._twists[b] = self._twist(b)

    def joint(self, joint: MjcfJoint) -> tuple[Array, Array]:
        """Anchor and axis (3,), as the joint turns or slides."""
        return self._data.xanchor[joint.index].copy(), self._data.xaxis[joint.index].copy()

    def body(self, body: int) -> FrameMotion:
        """FrameMotion of a body's frame."""
        at = self._data.xpos[body].copy()
        omega, velocity = self._twists[body]
        turn = self._data.xmat[body].reshape(3, 3).copy()
        return FrameMotion(turn, at, omega, velocity + np.cross(omega, at))

    def after(self, joint: MjcfJoint, at: Array) -> FrameMotion:
        """Of what lies between a joint and the next one on the same body, at a point (3,)."""
        omega, velocity = self._after[joint.index]
        return FrameMotion(np.eye(3), at, omega, velocity + np.cross(omega, at))

    def _twist(self, b: int) -> tuple[Array, Array]:
        """omega, and the velocity of the point of the body that is at the world's origin."""
        model, data, qvel = self.mjcf.model, self._data, self._qvel
        omega, velocity = self._twists[int(model.body_parentid[b])]
        turn = quat_multiply(
            data.xquat[model.body_parentid[b]][[1, 2, 3, 0]], model.body_quat[b][[1, 2, 3, 0]]
        )
        first = model.body_jntadr[b]
        for j in range(first, first + model.body_jntnum[b]):
            kind, v, q = model.jnt_type[j], model.jnt_dofadr[j], model.jnt_qposadr[j]
            axis, anchor = data.xaxis[j], data.xanchor[j]
            if kind == FREE:
                omega = data.xmat[b].reshape(3, 3) @ qvel[v + 3 : v + 6]
                velocity = qvel[v : v + 3] - np.cross(omega, data.xpos[b])
            elif kind == SLIDE:
                velocity = velocity + axis * qvel[v]
            else:
                if kind == HINGE:
                    angle = (self._qpos[q] - model.qpos0[q]) / 2
                    own = np.append(math.sin(angle) * model.jnt_axis[j], math.cos(angle))
                    spin = axis * qvel[v]
                else:
                    own = self._qpos[q : q + 4][[1, 2, 3, 0]]
                turn = quat_multiply(turn, own / np.linalg.norm(own))
                if kind == BALL:
                    spin = quat_matrix(turn) @ qvel[v : v + 3]
                omega, velocity = omega + spin, velocity - np.cross(spin, anchor)
            self._after[j] = (omega, velocity)
        return omega, velocity
