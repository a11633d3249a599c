"""MJCF files, compiled by MuJoCo's own parser: bodies, joints, motors, spheres as plain data.

A *body* here is an MJCF body that joints move, with every body that is fixed to it (MuJoCo's weld
group); it has the name and the axes of the former. All that this returns is in the frame of the
file's world, at the start that is asked for. What its flags disable is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.rotation import quat_matrix, quat_multiply

from .mjcf_couplings import Coupling, couplings
from .mjcf_flags import Flags, flags_of
from .plain_names import Names, plain
from .robot import NOTHING, FrameMotion, Inertial
from .soft_constraint import GRAVITY, limit_of
from .xml_file import xml_content, xml_tree

Array = np.ndarray
FREE, BALL, SLIDE, HINGE = 0, 1, 2, 3  # mjtJoint
PLANE, SPHERE, CAPSULE = 0, 2, 3  # mjtGeom
PRIMITIVES = {SPHERE: "sphere", CAPSULE: "capsule", 5: "cylinder", 6: "box"}
SHOWN = 2
"""Last group of geoms that MuJoCo's viewer shows."""
KINDS = {BALL: "ball", SLIDE: "slider", HINGE: "hinge"}
WORLD = "world"
FINITE = "finite numbers in a keyframe of the MJCF"
OLDEST = 4
"""First version of MuJoCo whose models have the fields that are read here."""
LEAST_MASS, LEAST_INERTIA = 1e-12, 1e-15
"""[kg] and [kg m^2] of a body that the engine takes."""
NEGLIGIBLE = 1e-9
"""Mass of a body that is too light, over that of all it carries; of its moments likewise."""


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
    effort_lower, effort_upper  [N m or N] of all its actuators together, likewise
    limit_stiffness, limit_damping, limit_damping_depth  what solref and solimp come to at the
                inertia of the start of the file, under the weight that the joint bears
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
    effort_lower: float
    effort_upper: float
    limit_stiffness: float
    limit_damping: float
    limit_damping_depth: float

    @property
    def turns(self) -> bool:
        """True for angles, False for a displacement."""
        return self.kind != "slider"

    @property
    def unlimited(self) -> bool:
        """Whether it has no limits."""
        return not math.isfinite(min(self.upper, -self.lower))


@dataclass(frozen=True)
class MjcfState:
    """A state that a file has: of its reference configuration, or of a keyframe.

    control, activation  empty for all zero
    mocap                positions (n, 3) and orientations (n, 4), scalar first, of mocap bodies
    drift                their velocities and angular velocities (n, 3); None: they stand
    """

    position: Array
    velocity: Array
    control: Array
    activation: Array
    mocap: tuple[Array, Array]
    drift: tuple[Array, Array] | None = None


def load_mjcf(path: str | Path) -> Mjcf:
    """Read and compile an MJCF.

    Raises InputError: missing file or library, broken XML, what MuJoCo refuses.
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
    standing  numbers of those that stand where they are put: mocap bodies; where nothing moves,
            what the world carries
    flags   what acts of it;  gravity  (3,) [m/s^2], of the file
    followers  index in `scalars` -> Coupling, of joints that others lead; `tied` are the numbers
            of the equality constraints that say so
    heavier names of bodies that were too light for the engine, or without inertia
    """

    def __init__(self, place: str, model: Any) -> None:
        self.place, self.model = place, model
        self.flags: Flags = flags_of(model)
        self.gravity = np.array(model.opt.gravity) * self.flags.gravity + 0.0  # no -0
        self.names = Names()
        self.body_names, names = self._names()
        still = self.data_at(self.keyframe(None, "", ""))
        self.joints = [
            _joint(model, still, self.flags, j, names[j])
            for j in range(model.njnt)
            if model.jnt_type[j] != FREE
        ]
        self.scalars = [joint for joint in self.joints if joint.kind != "ball"]
        weld, mocap = model.body_weldid, model.body_mocapid
        self.bodies = [b for b in range(1, model.nbody) if weld[b] == b and mocap[b] < 0]
        self.standing = [b for b in range(1, model.nbody) if mocap[b] >= 0]
        if not self.bodies and not self.standing:
            self.standing = [b for b in range(1, model.nbody) if model.body_parentid[b] == 0]
        self.untie()
        if self.flags.equality:
            self.followers, self.tied = couplings(model, self.scalars)
        self._from_lead = [self._relative(still, b) for b in range(model.nbody)]
        self.heavier: list[str] = []
        self.inertials = {b: self._inertial(b) for b in self.bodies}

    def untie(self) -> None:
        """Let every joint move by itself: for coordinates that cannot follow others."""
        self.followers: dict[int, Coupling] = {}
        self.tied: list[int] = []

    @property
    def renamed(self) -> list[tuple[str, str, str]]:
        """(kind, name in the file, name here) of what another name is needed for."""
        return self.names.renamed

    def name_of(self, kind: str, index: int) -> str:
        """What the file calls a body, joint, geom, ...; "" for nothing."""
        return str(getattr(self.model, kind)(index).name)

    def _names(self) -> tuple[list[str], dict[int, str]]:
        """Of all bodies, and of the joints that are not free."""
        model, names = self.model, self.names
        bodies = [names.take("body", "", WORLD)]
        for b in range(1, model.nbody):
            j = model.body_jntadr[b]
            joint = self.name_of("joint", j) if j >= 0 else ""
            given = self.name_of("body", b)
            bodies.append(
                names.take("body", given, plain(f"{joint}_body") if joint else f"body{b}")
            )
        joints: dict[int, str] = {}
        for j in range(model.njnt):
            if model.jnt_type[j] != FREE:
                of = model.jnt_bodyid[j]
                count = j - model.body_jntadr[of] + 1
                otherwise = f"{bodies[of]}_joint{count if count > 1 else ''}"
                joints[j] = names.take("joint", self.name_of("joint", j), otherwise, "_joint")
        return bodies, joints

    def data_at(self, state: MjcfState) -> Any:
        """MuJoCo's data with the poses of a configuration."""
        import mujoco

        data = mujoco.MjData(self.model)
        data.qpos[:] = state.position
        data.mocap_pos[:], data.mocap_quat[:] = state.mocap
        mujoco.mj_kinematics(self.model, data)
        mujoco.mj_comPos(self.model, data)
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
        carried = float(model.body_subtreemass[lead])
        least = max(LEAST_MASS, NEGLIGIBLE * carried)
        turning = max(LEAST_INERTIA, NEGLIGIBLE * float(np.trace(found.inertia)))
        lacks = max(0.0, turning - float(np.linalg.eigvalsh(found.inertia)[0]))
        if found.mass < LEAST_MASS or lacks:
            self.heavier.append(self.body_names[lead])
            inertia = found.inertia + 2 * lacks * np.eye(3)
            found = Inertial(max(found.mass, least), found.centre, inertia)
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

    def keyframe(self, which: str | int | None, place: object, key: str) -> MjcfState:
        """State of a keyframe by name or number; None: the file's reference configuration."""
        model = self.model
        moved = model.body_mocapid >= 0
        order = np.argsort(model.body_mocapid[moved])
        mocap = model.body_pos[moved][order], model.body_quat[moved][order]
        if which is None:
            none = np.zeros(0)
            return MjcfState(model.qpos0.copy(), np.zeros(model.nv), none, none, mocap)
        names = [self.name_of("key", k) for k in range(model.nkey)]
        if isinstance(which, str) and which not in names and which.isdecimal():
            which = int(which)
        if isinstance(which, str):
            if which not in names:
                remedy = nearest(which, [name for name in names if name])
                raise InputError(place, key, which, _keyframes(names), remedy)
            which = names.index(which)
        if not 0 <= which < len(names):
            raise InputError(place, key, which, _keyframes(names))
        k = int(which)
        mocap = model.key_mpos[k].reshape(-1, 3), model.key_mquat[k].reshape(-1, 4)
        of = (model.key_qpos, model.key_qvel, model.key_ctrl, model.key_act)
        state = MjcfState(*(rows[k].copy() for rows in of), mocap)
        for word, rows in vars(state).items():
            if rows is not None and not all(np.isfinite(row).all() for row in rows):
                raise InputError(place, key, f"{which}: {word} that is not finite", FINITE)
        return state

    def placed(self, state: MjcfState) -> Placed:
        """Where everything is and how it moves."""
        return Placed(self, self.data_at(state), state.position, state.velocity)

    def spheres(self) -> dict[int, list[tuple[float, Array]]]:
        """MJCF body -> (radius, centres (n, 3) in the frame of what it is fixed in) of its spheres
        and capsules that touch: along a capsule at most a radius apart."""
        model, found = self.model, {}
        for g in range(model.ngeom):
            b, kind = int(model.geom_bodyid[g]), model.geom_type[g]
            moved = int(model.body_weldid[b]) in self.inertials
            if not touches(model, g) or kind not in (SPHERE, CAPSULE) or not moved:
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
        model, found = self.model, {}
        data = self.data_at(self.keyframe(None, "", ""))
        names = Names()
        for g in range(model.ngeom):
            fixed = not model.body_weldid[model.geom_bodyid[g]]
            if touches(model, g) and model.geom_type[g] == PLANE and fixed:
                normal = data.geom_xmat[g].reshape(3, 3)[:, 2]
                name = names.take("geom", self.name_of("geom", g), f"plane{g}")
                found[name] = (normal, normal @ data.geom_xpos[g])
        return found


def _keyframes(names: list[str]) -> str:
    """What a keyframe may be, in words."""
    if not names:
        return "none: the MJCF has no keyframes"
    named = [name for name in names if name]
    numbers = f"a number from 0 to {len(names) - 1}"
    return f"a keyframe of the MJCF: {', '.join(named)}, or {numbers}" if named else numbers


def touches(model: Any, geom: int) -> bool:
    """Whether a geom can touch anything."""
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def _joint(model: Any, still: Any, flags: Flags, j: int, name: str) -> MjcfJoint:
    v, q, kind = int(model.jnt_dofadr[j]), int(model.jnt_qposadr[j]), KINDS[int(model.jnt_type[j])]
    ball = kind == "ball"
    limited = model.jnt_limited[j] and flags.limit and not ball
    lower, upper = model.jnt_range[j] if limited else (-math.inf, math.inf)
    efforts = model.jnt_actfrcrange[j] if model.jnt_actfrclimited[j] else (-math.inf, math.inf)
    mobility, bears = model.dof_invweight0[v], _load(model, still, j)
    law = limit_law(model, flags, model.jnt_solref[j], model.jnt_solimp[j], mobility, bears)
    loses = flags.frictionloss and not ball
    return MjcfJoint(
        name, j, kind, q, v, int(model.jnt_bodyid[j]),
        damping=float(model.dof_damping[v]) if flags.damper else 0.0,
        friction=float(model.dof_frictionloss[v]) if loses else 0.0,
        armature=0.0 if ball else float(model.dof_armature[v]),
        stiffness=float(model.jnt_stiffness[j]) if flags.spring and not ball else 0.0,
        rest=0.0 if ball else float(model.qpos_spring[q]),
        lower=float(lower), upper=float(upper),
        effort_lower=float(efforts[0]), effort_upper=float(efforts[1]),
        limit_stiffness=law[0], limit_damping=law[1], limit_damping_depth=law[2],
    )  # fmt: skip


def limit_law(
    model: Any, flags: Flags, solref: Array, solimp: Array, mobility: float, load: float
) -> tuple[float, float, float]:
    """Stiffness, damping and damping depth of a limit of a coordinate, see limit_of."""
    least = 2 * float(model.opt.timestep) if flags.refsafe else 0.0
    return limit_of(solref, solimp, least, load, max(float(mobility), LEAST_INERTIA))


def _load(model: Any, still: Any, j: int) -> float:
    """Weight [N] or its greatest torque [N m] on a joint: of what it carries or, in a tree that
    moves freely, of the rest, whichever is more."""
    b, kind = int(model.jnt_bodyid[j]), model.jnt_type[j]
    root = int(model.body_rootid[b])
    masses = [float(model.body_subtreemass[i]) for i in (b, root)]
    moments = [m * still.subtree_com[i] for m, i in zip(masses, (b, root), strict=True)]
    sides = [(masses[0], moments[0])]
    if model.body_dofnum[root] >= 3:
        sides.append((masses[1] - masses[0], moments[1] - moments[0]))
    if kind == SLIDE:
        return GRAVITY * max(mass for mass, _ in sides)
    arms = (moment - mass * still.xanchor[j] for mass, moment in sides)
    return GRAVITY * max(float(np.linalg.norm(np.cross(still.xaxis[j], arm))) for arm in arms)


class Placed:
    """The bodies and joints of a model at one state."""

    def __init__(self, mjcf: Mjcf, data: Any, qpos: Array, qvel: Array) -> None:
        self.mjcf, self._data, self._qpos, self._qvel = mjcf, data, qpos, qvel
        self._twists: dict[int, tuple[Array, Array]] = {0: (np.zeros(3), np.zeros(3))}
        self._after: dict[int, tuple[Array, Array]] = {}
        for b in range(1, mjcf.model.nbody):
            self._twists[b] = self._twist(b)

    @property
    def coordinates(self) -> Array:
        """Of the scalar joints (n,)."""
        return self._qpos[[joint.coordinate for joint in self.mjcf.scalars]]

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
