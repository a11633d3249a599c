"""A robot that moves, what it holds or drives, and the motion of that.

The engine runs whole motions from a start: of a held body from its release, with the pose and the
twist that the tool then gives it; of what kinematic bodies move from the beginning, with their keys
put where the robot was.  What changes later (a cancelled motion) changes only later keys, and equal
keys give equal bits, so a motion that is run again has the same past.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .. import _engine
from ..errors import InputError, NotConverged, nearest
from ..parameter import assign
from ..robots.trajectory import JointTrajectory
from ..scene.model import SceneModel, load_scene
from .config import TwinConfig, load_twin, tool_pose
from .record import Held, Phase, TwinRecord

NEAR = 0.005
"""A link takes a kinematic body where it passes the kinematic body's place in the scene, as near
as this [m]."""
LOOK = 0.002
"""Seconds between checks of where it is."""
KEY_BLOCK = 256
"""Keys of kinematic bodies are built in blocks of so many, so that scenes are used again."""
LONGEST_TURN = 6.2
"""Of a kinematic body's rotation vector [rad]."""


@dataclass(frozen=True)
class Variation:
    """Changes of the twin's file, for studies of robustness.

    values   engine parameter -> value;  factors  parameter -> factor
    shift    body -> (3,) [m], turn  body -> (3,) [rad]: of its place, in the tool (held) or world
    delay    [s] of the release
    """

    values: Mapping[str, float] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)
    shift: Mapping[str, Any] = field(default_factory=dict)
    turn: Mapping[str, Any] = field(default_factory=dict)
    delay: float = 0.0


class Twin:
    """A twin of a TWIN.yaml; `episode` is one attempt, with placements and jitter of its own."""

    def __init__(self, config: TwinConfig | str | Path | Mapping, base: str | Path | None = None):
        self.config = (
            config if isinstance(config, TwinConfig) else load_twin(config, base=base)
        )  # fmt: skip
        self._driven: dict[tuple[bool, int], SceneModel] = {}
        self._entries: dict[int, tuple[SceneModel, dict[str, int]]] = {}

    @property
    def truth(self) -> dict[str, float]:
        """Engine parameter -> its true value."""
        engine = self.config.scene.engine
        return dict(zip((i.name for i in engine.parameters), engine.values.tolist(), strict=True))

    def episode(self, number: int = 0, variation: Variation | None = None) -> Episode:
        """The attempt of this number: the same number, the same draws."""
        return Episode(self, number, variation or Variation())

    def entries(self, model: SceneModel) -> dict[str, int]:
        """Engine parameter of a model -> its index."""
        if id(model) not in self._entries:
            names = {info.name: i for i, info in enumerate(model.engine.parameters)}
            self._entries[id(model)] = model, names
        return self._entries[id(model)][1]

    def driven(self, before: bool, keys: int) -> SceneModel:
        """The scene (or the one before the release) with room for `keys` keys of every kinematic
        body."""
        model = self.config.before if before else self.config.scene
        if not self.config.drives:
            return model
        keys = KEY_BLOCK * (1 + keys // KEY_BLOCK)
        if (before, keys) not in self._driven:
            bodies = dict(model.description["bodies"])
            for name, drive in self.config.drives.items():
                still = bodies[name]["keys"]
                bodies[name] = {**bodies[name], "keys": {
                    "interval": drive.stride * model.options.step,
                    "positions": [still["positions"][0]] * keys,
                    "rotations": [still["rotations"][0]] * keys,
                }}  # fmt: skip
            description = {**model.description, "bodies": bodies, "parameters": {}}
            base = model.place if model.path else None
            self._driven[before, keys] = load_scene(description, base=base)
        return self._driven[before, keys]


class Episode:
    """One attempt: places of bodies, jitter of the release and the true values, all drawn.

    in_tool  pose (4, 4) of what is held;  jitter  of the gripper's latency [s]
    kick     velocity and spin (2, 3) that the opening fingers add, world
    """

    def __init__(self, twin: Twin, number: int, variation: Variation) -> None:
        self.twin, self.config, self.variation = twin, twin.config, variation
        config = twin.config
        draw = np.random.default_rng([config.seed, number, 1])
        places = {
            name: (draw.normal(size=3) * position, draw.normal(size=3) * turn)
            for name, (position, turn) in sorted(config.spread.items())
        }
        self.jitter = max(config.latency[1] * draw.normal(), -config.latency[0])
        kick = config.grasp.kick if config.grasp else (0.0, 0.0)
        self.kick = np.array(kick)[:, None] * draw.normal(size=(2, 3))
        self._moved = self._places(places)
        self.in_tool = None
        if config.grasp is not None:
            self.in_tool = config.grasp.in_tool @ self._moved.get(config.grasp.body, np.eye(4))

    def _places(self, drawn: Mapping) -> dict[str, np.ndarray]:
        """Body -> (4, 4): how it is placed otherwise."""
        variation, found = self.variation, {}
        for name in {*drawn, *variation.shift, *variation.turn}:
            self._known(name, self.config.scene.bodies, "variation")
            shift, turn = drawn.get(name, (0.0, 0.0))
            pose = np.eye(4)
            pose[:3, 3] = shift + np.asarray(variation.shift.get(name, (0, 0, 0)), float)
            turn = turn + np.asarray(variation.turn.get(name, (0, 0, 0)), float)
            pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
            found[name] = pose
        return found

    def _known(self, name: str, known: Any, key: str) -> None:
        if name not in known:
            near = nearest(name, known)
            raise InputError(self.config.place, key, name, "a name of the scene", near)

    def values(self, model: SceneModel) -> np.ndarray:
        """The true values p of a scene's engine, as varied, with bodies where they are placed."""
        p, index = np.array(model.engine.values), self.twin.entries(model)
        varied = self.variation
        for name in (*varied.factors, *varied.values):
            self._known(name, self.twin.entries(self.config.scene), "variation")
        factors = {name: f * p[index[name]] for name, f in varied.factors.items() if name in index}
        assign(model.engine, p, factors)
        values = {name: value for name, value in varied.values.items() if name in index}
        assign(model.engine, p, values)
        held = self.config.grasp.body if self.config.grasp else None
        for name, pose in self._moved.items():
            if name != held and name in model.bodies:
                self._displace(model, p, name, pose)
        model.engine.check(p)
        return p

    def _displace(self, model: SceneModel, p: np.ndarray, name: str, pose: np.ndarray) -> None:
        """Move a body's start by a world displacement and a turn about itself."""
        index = self.twin.entries(model)
        at = index[f"{name}.position.x"]
        p[at : at + 3] += pose[:3, 3]
        if f"{name}.rotation.x" in index:
            at = index[f"{name}.rotation.x"]
            turn = Rotation.from_matrix(pose[:3, :3]) * Rotation.from_rotvec(p[at : at + 3])
            p[at : at + 3] = turn.as_rotvec()

    def play(
        self,
        motion: JointTrajectory,
        release: float | None = None,
        until: float | None = None,
        cancel: Any = None,
        *,
        taken: bool = True,
    ) -> TwinRecord:
        """The bodies' motion for this motion of the joints.

        The scene of a twin with kinematic bodies, and nothing held, begins when its links are
        where the kinematic bodies are; before that bodies stay where they are.

        motion   of the joints as executed, from 0 s on; they rest before and after it
        release  [s] when the gripper releases, without jitter and the variation's delay
        until    [s]; absent: the scene's duration after the release (or the start), or the end of
                 the motion, if that is later
        taken    refuse a motion that does not take the kinematic bodies; False: bodies stay then
        Raises InputError, and NotConverged where the engine fails.
        """
        motion = self._ordered(motion)
        if release is not None and self.config.grasp is None:
            raise InputError(self.config.place, "release", release, "a twin with a `grasp`")
        free = None
        if release is not None:
            free = max(float(release) + self.jitter + self.variation.delay, 0.0)
        begin = self._begin(motion, taken)
        if begin is None:
            until = motion.duration
        if until is None:
            length = self.config.scene.description["world"]["duration"]
            until = max(motion.duration, length + (begin if free is None else free))
        held = None
        if self.config.grasp is not None:
            body = self.config.grasp.body
            described = self.config.scene.parts.bodies[body]
            rest = described.rest_nodes() if described.SOFT else None
            held = Held(self.config.arm, body, self.in_tool, motion, rest)
        phases = self._phases(motion, held, begin, free, until, cancel)
        return TwinRecord(motion, free, until, held, tuple(phases))

    def _begin(self, motion: JointTrajectory, taken: bool) -> float | None:
        """When the links first pass their kinematic bodies' places [s]; None if they never do.

        That is where they come no nearer: taken before that, kinematic bodies would pull at
        once.
        """
        times = np.arange(0.0, motion.duration + LOOK, LOOK)
        farthest = np.zeros(len(times))
        q, *_ = motion.at(times)
        for name, drive in self.config.drives.items():
            place = self.config.scene.parts.bodies[name].keys["positions"][0]
            poses = tool_pose(self.config, q, drive.link) @ drive.in_link
            away = np.linalg.norm(poses[:, :3, 3] - place, axis=1)
            farthest = np.maximum(farthest, away)
            if taken and farthest.min() > NEAR:
                rule = f"a motion that comes within {NEAR:g} m of its place in the scene"
                raise InputError(self.config.place, f"kinematic_bodies.{name}",
                                 f"{away.min():.3g} m from {place}", rule)  # fmt: skip
        near = np.flatnonzero(farthest <= NEAR)
        if not len(near):
            return None
        leaves = np.append(np.diff(farthest[near[0] :]) >= 0.0, True)
        return float(times[near[0] + np.argmax(leaves)])

    def _ordered(self, motion: JointTrajectory) -> JointTrajectory:
        """The motion with columns in the robot's order."""
        names = self.config.arm.robot.joint_names
        if sorted(motion.names) != sorted(names):
            raise InputError("trajectory", "joints", list(motion.names), f"{', '.join(names)}")
        return motion if tuple(motion.names) == names else motion.ordered(names)

    def _phases(self, motion, held: Held | None, begin, free, until, cancel) -> list[Phase]:
        """Motions of the engine, one after the other."""
        if held is None:
            begin = until if begin is None else begin
            return [self._run(motion, False, begin, max(until, begin), {}, cancel)]
        found = []
        if self.config.before is not None:
            end = until if free is None else min(free, until)
            found.append(self._run(motion, True, 0.0, end, {}, cancel))
        if free is not None and free <= until:
            starts = {held.body: self._let_go(held, free)}
            for name in found[0].model.bodies if found else ():
                if found[0].model.parts.bodies[name].MOVES:
                    starts[name] = found[0].state(name, np.array([free]))
            found.append(self._run(motion, False, free, until, starts, cancel))
        return found

    def _let_go(self, held: Held, free: float):
        """State at the release, with what the fingers add."""
        state = held.state(np.array([free]))
        return replace(
            state, velocity=state.velocity + self.kick[0], spin=state.spin + self.kick[1]
        )

    def _run(self, motion, before: bool, begin: float, until: float, starts, cancel) -> Phase:
        """One motion of the engine from `begin`, bodies of `starts` in these states."""
        options = (self.config.before if before else self.config.scene).options
        every, step = options.record_every, options.step
        frames = max(1, int(np.ceil((until - begin) / (step * every) - 1e-9)))
        steps = frames * every
        strides = [drive.stride for drive in self.config.drives.values()]
        model = self.twin.driven(before, steps // min(strides) + 2 if strides else 0)
        p = self.values(model)
        for name, state in starts.items():
            self._start(model, p, name, state)
        for name in self.config.drives if until > begin else ():
            self._keys(model, p, name, motion, begin, steps)
        known = {output.name for output in model.engine.outputs}
        outputs = [name for name in self.config.outputs if name in known]
        rollout = _engine.rollout(model.engine, p, steps, options, cancel=cancel, outputs=outputs)
        if not rollout.ok:
            raise NotConverged(f"{self.config.place}: {rollout.message}")
        return Phase(model, rollout, begin, p)

    def _start(self, model: SceneModel, p: np.ndarray, name: str, state) -> None:
        """Put a state (of one time) into a body's start."""
        turn = Rotation.from_quat(state.orientation[0]).as_rotvec()
        entries = {"position": state.position[0], "velocity": state.velocity[0]}
        index = self.twin.entries(model)
        if f"{name}.rotation.x" in index:
            entries |= {"rotation": turn, "angular_velocity": state.spin[0]}
        for key, value in entries.items():
            at = index[f"{name}.{key}.x"]
            p[at : at + 3] = value

    def _keys(self, model, p, name: str, motion, begin: float, steps: int) -> None:
        """Put the keys of a kinematic body where its link is, from `begin` on."""
        drive = self.config.drives[name]
        positions = model.parts.bodies[name].keys["positions"]
        times = begin + drive.stride * model.options.step * np.arange(len(positions))
        q, *_ = motion.at(times)
        poses = tool_pose(self.config, q, drive.link) @ drive.in_link
        turns = rotation_vectors(poses[:, :3, :3])
        last = min(steps // drive.stride + 2, len(turns))
        if np.linalg.norm(turns[:last], axis=1).max() > LONGEST_TURN:
            rule = f"a link that turns by less than {LONGEST_TURN} rad from the world's axes"
            raise InputError(self.config.place, f"kinematic_bodies.{name}", "a whole turn", rule)
        turns[last:] = turns[last - 1]
        for key, rows in (("position", poses[:, :3, 3]), ("rotation", turns)):
            at = model.engine.index(f"{name}.{key}[0].x")
            p[at : at + rows.size] = rows.ravel()


def rotation_vectors(matrices: np.ndarray) -> np.ndarray:
    """Rotation vectors (k, 3) of matrices (k, 3, 3) that change little by little, without jumps
    as long as the angle stays below 2 pi."""
    q = Rotation.from_matrix(matrices).as_quat()
    q[0] *= np.where(q[0, 3] < 0, -1.0, 1.0)
    sign = np.where(np.sum(q[1:] * q[:-1], axis=1) < 0, -1.0, 1.0)
    q[1:] *= np.cumprod(sign)[:, None]
    sine = np.linalg.norm(q[:, :3], axis=1)
    angle = 2 * np.arctan2(sine, q[:, 3])
    scale = np.where(sine > 1e-12, angle / np.where(sine > 1e-12, sine, 1.0), 2.0)
    return q[:, :3] * scale[:, None]
