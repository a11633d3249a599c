"""An arm's tool carries a kinematic body: smooth paths between the controls' keys.

The keys of the plan are knots of quintic splines (at rest at both ends, continuous up to the
fourth derivative); the scene's body gets their values at small intervals.  So the planned motion
is one that an arm can execute, and slopes go through the spline's constant matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from ...errors import InputError, nearest
from ...fields import REQUIRED, Field, Reader, Section
from ...parameter import Parameter
from ...robots.arm import Arm
from ...robots.controller import Settings
from ...robots.inverse_kinematics import follow
from ...robots.kinematics import link_pose
from ...robots.robot import Capsule
from ...robots.trajectory import JointTrajectory
from ...rotation import quat_exp, quat_from_matrix, quat_log, quat_matrix
from ...scene.model import SceneModel, load_scene
from ...scene.placing import pose_mapping
from ..arm_motion import (
    LESS,
    RATES,
    Carried,
    clearance,
    derated,
    executed_motion,
    sent,
    turn_difference,
)
from ..config import PlanConfig
from ..stretch import stretched
from .parts import read_pose, read_tracking

LONGER = 1.15
"""By which a task takes longer in the next round, where it may."""
PERIOD = 0.024
"""Longest interval of the kinematic body's keys and of the tool's poses [s]."""
APPROACH = (0.25, 1.0)
"""Largest speed [m/s] and rate of turning [rad/s] from home to the first pose."""
SHORTEST = 1.0
"""Least time from home to the first pose [s]: a short path at full speed would be all jerk."""
STEMS = ("position", "rotation")
AXES = ("x", "y", "z")
ASKED = "end_effector"
KEYS: Section = {
    "end_effector": Field(
        "mapping", "instead: a kinematic body of the scene that the tool carries", formerly="hand"
    ),
}
END_EFFECTOR: Section = {
    "body": Field(
        "text", "a kinematic body of the scene with keys", default=REQUIRED, formerly="handle"
    ),
    "in_tool": Field("mapping", "pose of the kinematic body in the tool's frame", default={}),
    "orientation": Field(
        "quaternion", "of the kinematic body held in the world x y z w, else its keys'"
    ),
    "stretch": Field(
        "number",
        "how many times as long the task may take where the arm's limits bind",
        "1",
        default=1.0,
        minimum=1,
    ),
}
SECTIONS = {"robot.end_effector": END_EFFECTOR}


@dataclass(frozen=True)
class EndEffectorTask:
    """An arm whose tool carries a kinematic body of the scene.

    in_tool      pose (4, 4) of the kinematic body in the tool's frame
    turn         (3, 3) of the kinematic body in the world, or None: as in its keys
    stretch      factor by which the task may take longer where limits bind
    margin       share of the arm's limits of rates that the plan may use
    tracking     controller whose lag is anticipated, None: none is
    """

    arm: Arm
    body: str
    in_tool: np.ndarray
    turn: np.ndarray | None
    stretch: float
    margin: float
    tracking: Settings | None
    parameters: tuple[Parameter, ...] = ()

    controls_key = "controls"
    holds = False
    jitter = 0.0

    def bound(
        self, reader: Reader, scene: SceneModel, parameters: list[Parameter]
    ) -> tuple[SceneModel, list[Parameter], list[Any]]:
        """See Task.bound: the keys of the kinematic body become a spline's."""
        scene, parameters, spline = smoothed(reader, scene, self, parameters)
        return scene, parameters, [spline]

    def held(self, scene: SceneModel) -> list[Capsule]:
        """Nothing: the body is that of the scene."""
        return []

    def carried(self, config: PlanConfig, controls: Mapping[str, float]) -> Carried:
        """The tool straight from home to the first pose, then along its path."""
        values = config.map.engine(config.map.scaled(controls), config.scene.engine.values)
        task = replace(self, arm=derated(self.arm, self.margin))
        clear = clearance(config.scene, self.arm, [])
        trajectory, begins = end_effector_motion(task, config.scene, values, clear)
        return sent(self.arm, self.tracking, trajectory, clear, {"scene_starts": begins})

    def deviation(
        self, config: PlanConfig, controls: Mapping[str, float], carried: Carried
    ) -> dict[str, float]:
        """See Task.deviation: of the kinematic body's keys."""
        arm, keys = self.arm, config.scene.description["bodies"][self.body]["keys"]
        times = keys["interval"] * np.arange(len(keys["positions"]))
        times = times + carried.figures["scene_starts"]
        motion, late = executed_motion(carried, arm.robot.joint_names, self.tracking)
        wanted, done = (
            link_pose(arm.robot, joints.at(at)[0], arm.tool, arm.base) @ self.in_tool
            for joints, at in ((carried.motion, times), (motion, times + late))
        )
        values = config.map.engine(config.map.scaled(controls), config.scene.engine.values)
        index = config.scene.engine.index
        names = [[f"{self.body}.rotation[{k}].{axis}" for axis in AXES] for k in range(len(times))]
        turns = np.array([[values[index(name)] for name in row] for row in names])
        turned = done[:, :3, :3] @ np.swapaxes(wanted[:, :3, :3], 1, 2)
        moved = {"position": done[:, :3, 3] - wanted[:, :3, 3],
                 "rotation": turn_difference(turns, turned)}  # fmt: skip
        return {
            f"{self.body}.{stem}[{k}].{axis}": float(rows[k, a])
            for stem, rows in moved.items()
            for k in range(len(times))
            for a, axis in enumerate(AXES)
        }

    def tightened(
        self, config: PlanConfig, bound: InputError, controls: Mapping[str, float], load: Callable
    ) -> tuple[PlanConfig, str]:
        """More time, where it may take longer, else slower keys."""
        rates = [name for name in RATES if name in bound.key]
        if not rates:
            raise bound
        if self.stretch > 1.0 + 1e-9:
            longer = min(LONGER, self.stretch)
            return stretched(config, longer, load), f"{longer:.3g} times the time"
        named, limits, changed = config.map.named(config.map.scaled(controls)), [], []
        for limit in config.limits:
            less = LESS * min(limit.limit, limit.peak(named))
            limits.append(replace(limit, limit=less, usual=limit.usual or limit.limit))
            changed.append(f"{limit.name} <= {less:.3g}")
        if not changed:
            raise bound
        return replace(config, limits=tuple(limits)), ", ".join(changed)

    def to_twin(
        self, scene: dict[str, Any], shift: dict[str, np.ndarray], jitter: float
    ) -> dict[str, Any]:
        """See Task.to_twin: the arm moves the body; its keys give where it begins."""
        keys = scene["bodies"][self.body]["keys"]
        for name in ("positions", "rotations"):
            keys[name] = [list(keys[name][0]) for _ in range(2)]
        return {"kinematic_bodies": {self.body: {"in_link": pose_mapping(self.in_tool)}}}


def read(reader: Reader, robot: Mapping, arm: Arm, scene: SceneModel) -> EndEffectorTask:
    """Key `end_effector` of section `robot`."""
    given = reader.section(END_EFFECTOR, robot["end_effector"], "robot.end_effector")
    carried = read_carried(reader, robot, arm, scene, given, "robot.end_effector")
    return EndEffectorTask(**carried, stretch=given["stretch"])


def read_carried(
    reader: Reader, robot: Mapping, arm: Arm, scene: SceneModel, given: Mapping, key: str
) -> dict[str, Any]:
    """Fields of an EndEffectorTask but `stretch`: body, in_tool, orientation of section `key`."""
    kinematic = [n for n, b in scene.description["bodies"].items() if b["type"] == "kinematic"]
    if given["body"] not in kinematic:
        near = nearest(given["body"], kinematic)
        raise reader.error(f"{key}.body", given["body"], "a kinematic body of the scene", near)
    turn = None
    if given["orientation"] is not None:
        q = np.array(given["orientation"], float)
        turn = quat_matrix(q / np.linalg.norm(q))
    return {
        "arm": arm, "body": given["body"], "turn": turn, "margin": robot["margin"],
        "in_tool": read_pose(reader, given["in_tool"], f"{key}.in_tool"),
        "tracking": read_tracking(reader, robot["tracking"], arm),
    }  # fmt: skip


@dataclass(frozen=True)
class Spline:
    """Knots that are parameters set all keys of a kinematic body: offset + matrix theta.

    keys  the knots as given in the scene: {interval, positions, rotations}
    """

    names: tuple[str, ...]
    scene_parameters: tuple[str, ...]
    matrix: np.ndarray
    offset: np.ndarray
    keys: Mapping
    name: str = "end_effector"

    def values(self, theta: Sequence[float]) -> np.ndarray:
        """Keys' coordinates (k,)."""
        return self.offset + self.matrix @ np.asarray(theta, float)

    def jacobian(self, theta: Sequence[float]) -> np.ndarray:
        """Return the matrix (k, m)."""
        return self.matrix


def splined(count: int, interval: float) -> tuple[np.ndarray, float]:
    """Matrix (fine keys, count) of the spline through knots `interval` apart; fine interval [s]."""
    parts = int(np.ceil(interval / PERIOD - 1e-9))
    knots = interval * np.arange(count)
    fine = interval / parts * np.arange(parts * (count - 1) + 1)
    rest = [(1, np.zeros(count)), (2, np.zeros(count))]
    spline = make_interp_spline(knots, np.eye(count), k=5, bc_type=(rest, rest))
    return spline(fine), interval / parts


def smoothed(
    reader: Reader, scene: SceneModel, task: EndEffectorTask, parameters: Sequence[Parameter]
) -> tuple[SceneModel, list[Parameter], Spline]:
    """The scene with small intervals, the parameters with no `sets` of their own, and their spline.

    InputError where no control moves the end effector.
    """
    keys = scene.description["bodies"][task.body]["keys"]
    knots = {"position": np.array(keys["positions"], float),
             "rotation": np.array(keys["rotations"], float)}  # fmt: skip
    matrix, interval = splined(len(knots["position"]), keys["interval"])
    moved = _knots_of(task.body, parameters)
    if not moved:
        raise reader.error(
            "controls", [p.name for p in parameters], "keys of the end effector's kinematic body"
        )
    names = tuple(dict.fromkeys(moved.values()))
    targets, rows, offsets, fine = [], [], [], {}
    for stem in STEMS:
        fine[stem] = matrix @ knots[stem]
        for a, axis in enumerate(AXES):
            chosen = {k: n for (s, k, x), n in moved.items() if (s, x) == (stem, a)}
            if not chosen:
                continue
            still = knots[stem][:, a].copy()
            still[list(chosen)] = 0.0
            by_name = np.zeros((len(matrix), len(names)))
            for k, name in chosen.items():
                by_name[:, names.index(name)] = matrix[:, k]
            targets += [f"{task.body}.{stem}[{k}].{axis}" for k in range(len(matrix))]
            rows.append(by_name)
            offsets.append(matrix @ still)
    refined = with_keys(scene, task.body, fine, interval)
    free = [replace(p, sets={}) if p.name in names else p for p in parameters]
    spline = Spline(names, tuple(targets), np.vstack(rows), np.concatenate(offsets), keys)
    return refined, free, spline


def _knots_of(body: str, parameters: Sequence[Parameter]) -> dict[tuple[str, int, int], str]:
    """(stem, knot, axis) -> name of the parameter that is this coordinate."""
    found = {}
    for p in parameters:
        for target in p.sets:
            for stem in STEMS:
                if target.startswith(f"{body}.{stem}["):
                    number, axis = target[len(body) + len(stem) + 2 :].split("].")
                    found[stem, int(number), AXES.index(axis)] = p.name
    return found


def with_keys(scene: SceneModel, body: str, fine: Mapping, interval: float) -> SceneModel:
    """The scene with other keys of a kinematic body."""
    keys = {"interval": interval, "positions": fine["position"].tolist(),
            "rotations": fine["rotation"].tolist()}  # fmt: skip
    bodies = scene.description["bodies"]
    bodies = {**bodies, body: {**bodies[body], "keys": keys}}
    return load_scene({**scene.description, "bodies": bodies}, base=Path(scene.place))


def tool_path(
    task: EndEffectorTask, scene: SceneModel, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Times (k,) from the scene's start, and poses (k, 4, 4) of the tool in the world.

    values  parameters of the engine (np,) of the plan
    """
    keys = scene.description["bodies"][task.body]["keys"]
    index, count = scene.engine.index, len(keys["positions"])

    def read(stem: str) -> np.ndarray:
        names = [[f"{task.body}.{stem}[{k}].{axis}" for axis in AXES] for k in range(count)]
        return np.array([[values[index(name)] for name in row] for row in names])

    poses = np.tile(np.eye(4), (count, 1, 1))
    turns = quat_matrix(quat_exp(read("rotation")))
    poses[:, :3, :3] = turns if task.turn is None else task.turn
    poses[:, :3, 3] = read("position")
    return keys["interval"] * np.arange(count), poses @ np.linalg.inv(task.in_tool)


def end_effector_motion(
    task: EndEffectorTask, scene: SceneModel, values: np.ndarray, clearance: Callable | None = None
) -> tuple[JointTrajectory, float]:
    """The arm's motion: the tool goes straight from home, then its path; when that begins [s].

    clearance  as of `follow`
    InputError names joint, time, value and limit.
    """
    times, poses = tool_path(task, scene, values)
    arm = task.arm
    home = link_pose(arm.robot, arm.home, arm.tool, arm.base)
    before, straight = approach(home, poses[0])
    whole = np.concatenate([before, before[-1] + times[1:]])
    poses_of_path = np.concatenate([straight, poses[1:]])
    motion = follow(arm, whole, poses_of_path, start=arm.home, clearance=clearance)
    return motion.trajectory, float(before[-1])


def approach(start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times (k,) [s] and poses (k, 4, 4) straight from rest to rest, limited by APPROACH."""
    turn = quat_log(quat_from_matrix(end[:3, :3] @ start[:3, :3].T))
    displacement = end[:3, 3] - start[:3, 3]
    far, wide = float(np.linalg.norm(displacement)), float(np.linalg.norm(turn))
    longest = max(far / APPROACH[0], wide / APPROACH[1])
    time = max(15 / 8 * longest, SHORTEST if longest > 0 else 0.0)  # a quintic's peak is 15/8
    count = int(np.ceil(time / PERIOD))  # of its mean
    s = np.arange(count + 1) / max(count, 1)
    share = s**3 * (10 + s * (6 * s - 15))
    poses = np.tile(end, (count + 1, 1, 1))
    poses[:, :3, :3] = quat_matrix(quat_exp(share[:, None] * turn)) @ start[:3, :3]
    poses[:, :3, 3] = start[:3, 3] + share[:, None] * displacement
    if count:
        poses[-1] = end
    return PERIOD * np.arange(count + 1), poses
