"""Cassie's recorded landings as trials of the engine: where each begins, its torques, its readings.

data/cassie_landing has states by an estimator and encoders and the motors' measured torques at
about 2 kHz, from 5 ms before to 45 ms after feet touch.  The scene is config/scenes/cassie.yaml.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffsim_ros.inverse.joint_track import JointTrack, Reading
from diffsim_ros.inverse.objectives import PoseTrack
from diffsim_ros.inverse.parameters import ParameterMap
from diffsim_ros.inverse.simulation_problem import SimulationProblem, body_slots
from diffsim_ros.inverse.trial import Trial
from diffsim_ros.inverse.twist_track import TwistTrack
from diffsim_ros.parameter import Parameter
from diffsim_ros.robots.kinematics import body_motions
from diffsim_ros.robots.robot import Robot
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.model import SceneModel
from diffsim_ros.yaml_file import read_yaml

from .common import ROOT

SCENE = ROOT / "config" / "scenes" / "cassie.yaml"
URDF = ROOT / "data" / "robots" / "cassie.urdf"
DATA = ROOT / "data" / "cassie_landing" / "landings.npz"
STEP, STEPS, WINDOW, EVERY = 5e-4, 94, 9, 4
"""The engine's step [s], about the recordings' own, and how many there are; samples from which the
start is smoothed, all of them in the air; steps between the times that are compared."""
ROD = 0.5012
ROD_ENDS = (0.0, 0.0, 0.045), (0.11877, -0.01, 0.0)
"""Length [m] of an achilles rod; its ends in the frames of the left thigh and heel spring."""
SIDES, HEEL, BASE = ("left", "right"), "ankle_spring_joint", "pelvis"
PASSIVE = ("knee_joint", "ankle_joint")
START = ("position", "rotation", "velocity", "angular_velocity")
SIGMA = {"place": 5e-3, "turn": 0.02, "velocity": 0.1, "spin": 0.5, "position": 0.02, "rate": 1.5}
"""What an error of one counts as: m, rad, m/s, rad/s of the pelvis, rad and rad/s of joints."""


@dataclass(frozen=True)
class Landing:
    """One recording on a grid of STEP, from the start of its simulation on.

    t                  (n,) [s], 0: the start
    position, orientation, velocity, spin  of the pelvis' frame (n, 3), (n, 4) xyzw, world
    q, qd              joint -> (n,), as measured; that of the heel's spring has no encoder
    torque             motor -> (n,) [N m]
    start_q, start_qd  joint -> smoothed at the start, the rods closed
    """

    name: str
    t: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray
    q: Mapping[str, np.ndarray]
    qd: Mapping[str, np.ndarray]
    torque: Mapping[str, np.ndarray]
    start_q: Mapping[str, float]
    start_qd: Mapping[str, float]

    def later(self, delay: float) -> Landing:
        """The same with torques that act `delay` [s] later than logged."""
        at = self.t - delay
        return replace(self, torque={m: np.interp(at, self.t, u) for m, u in self.torque.items()})


def landings() -> list[Landing]:
    """All recordings."""
    robot = load_robot(URDF)
    with np.load(DATA) as data:
        columns = {name: i for i, name in enumerate(data["x_columns"])}
        motors = {name: i for i, name in enumerate(data["u_columns"])}
        rows = zip(data["log_id"], data["t"], data["x"], data["u"], strict=True)
        return [
            _landing(robot, str(n), t, x.astype(float), u.astype(float), columns, motors)
            for n, t, x, u in rows
        ]


def _landing(
    robot: Robot, name: str, t: np.ndarray, x: np.ndarray, u: np.ndarray,
    columns: Mapping[str, int], motors: Mapping[str, int],
) -> Landing:  # fmt: skip
    begin = WINDOW // 2
    away = t - t[begin]
    grid = STEP * np.arange(STEPS + 1)

    def read(table: np.ndarray) -> np.ndarray:
        return np.interp(grid, away, table)

    def three(first: str) -> np.ndarray:
        return np.stack([read(x[:, columns[first] + i]) for i in range(3)], axis=1)

    joints = [joint.name for joint in robot.joints]
    turned = np.stack([read(x[:, columns[f"base_q{c}"]]) for c in "xyzw"], axis=1)
    q, qd = {}, {}
    for joint in joints:
        qd[joint], q[joint] = np.polyfit(away[:WINDOW], x[:WINDOW, columns[joint]], 1)
    _close(robot, joints, q, qd)
    return Landing(
        name, grid, three("base_x"), turned / np.linalg.norm(turned, axis=1, keepdims=True),
        three("base_vx"), three("base_wx"), {j: read(x[:, columns[j]]) for j in joints},
        {j: read(x[:, columns[f"{j}dot"]]) for j in joints},
        {m[: -len("_motor")]: read(u[:, i]) for m, i in motors.items()}, q, qd,
    )  # fmt: skip


def _close(robot: Robot, joints: list[str], q: dict[str, float], qd: dict[str, float]) -> None:
    """Set angle and rate of both heel springs such that the rods have their length, and keep it."""
    for side in SIDES:
        heel = f"{HEEL}_{side}"
        for _ in range(8):
            gap, rate, by = _rod(robot, joints, q, qd, side)
            q[heel] -= gap / by
        qd[heel] -= rate / by


def _rod(
    robot: Robot, joints: list[str], q: Mapping[str, float], qd: Mapping[str, float], side: str
) -> tuple[float, float, float]:
    """A rod's length less ROD [m], the length's rate, and its derivative by the heel's angle."""
    names = [joint.body for joint in robot.joints]
    motions = body_motions(robot, [q[j] for j in joints], [qd[j] for j in joints])
    mirror = np.array([1.0, 1.0, 1.0 if side == "left" else -1.0])
    ends = []
    for body, point in zip(("thigh", "heel_spring"), ROD_ENDS, strict=True):
        pose, w, v = motions[names.index(f"{body}_{side}")]
        arm = pose[:3, :3] @ (mirror * point)
        ends.append((pose[:3, 3] + arm, v + np.cross(w, arm), pose[:3, :3], arm))
    (a, va, _, _), (b, vb, turn, arm) = ends
    along = (b - a) / np.linalg.norm(b - a)
    by = along @ np.cross(turn @ robot.joints[joints.index(f"{HEEL}_{side}")].axis, arm)
    return float(np.linalg.norm(b - a) - ROD), float(along @ (vb - va)), float(by)


def problem_of(
    trials: Sequence[Landing], parameters: Sequence[Parameter], *, locked: bool = False
) -> SimulationProblem:
    """The engine's problem: shared parameters, every landing with its own start and torques.

    locked  springs are held where they are at the start, by whatever stiffness they have
    """
    models = [_scene(landing, locked) for landing in trials]
    first, options = models[0].engine, models[0].options
    names, base = [p.name for p in first.parameters], np.array(first.values)
    starts = {f"{body}.{what}" for body in body_slots(first) for what in START}
    own = [
        i
        for i, name in enumerate(names)
        if name.rpartition(".")[0] in starts or "_motor.torque[" in name or ".target[" in name
    ]  # not joints' places, which poses would move a second time
    found = []
    for landing, model in zip(trials, models, strict=True):
        values = np.array(model.engine.values)
        changed = {names[i]: float(values[i]) for i in own if values[i] != base[i]}
        found.append(Trial(landing.name, STEPS, _objectives(first, landing), parameters=changed))
    return SimulationProblem(first, options, ParameterMap(parameters, first), found)


def _scene(landing: Landing, locked: bool) -> SceneModel:
    """The scene as one landing begins it, driven by its torques."""
    raw: Any = copy.deepcopy(read_yaml(SCENE))
    robot = raw["robots"]["cassie"]
    raw["world"] |= {"step": STEP, "duration": STEPS * STEP, "record_every": 1}
    place = {"position": landing.position[0], "orientation": landing.orientation[0]}
    robot |= {
        "pose": {name: value.tolist() for name, value in place.items()},
        "velocity": landing.velocity[0].tolist(),
        "angular_velocity": landing.spin[0].tolist(),
        "angles": {j: float(v) for j, v in landing.start_q.items()},
        "rates": {j: float(v) for j, v in landing.start_qd.items()},
    }
    for link in raw["links"]:
        if locked and "torsion" in link["name"]:
            link["keys"] = float(landing.start_q[link["joint"]])
    drive = {"type": "motor", "kind": "torque", "interval": STEP}
    for name, torque in landing.torque.items():
        link = drive | {"name": f"{name}_motor", "joint": name, "keys": torque.tolist()}
        raw["links"].append(link)
    return load_scene(raw, base=SCENE)


def _objectives(engine: Any, landing: Landing) -> tuple[Any, ...]:
    """What is compared at every EVERY-th step."""
    robot, rows = load_robot(URDF), np.arange(EVERY, STEPS + 1, EVERY)
    turn, centre = quat_matrix(landing.orientation[rows]), robot.base_inertial.centre
    drift = landing.velocity[rows] + np.cross(landing.spin[rows], turn @ centre)
    pose = PoseTrack(
        BASE, rows, landing.position[rows], landing.orientation[rows], SIGMA["place"],
        SIGMA["turn"], (*-centre, 0.0, 0.0, 0.0),
    )  # fmt: skip
    twist = TwistTrack(BASE, rows, drift, landing.spin[rows], SIGMA["velocity"], SIGMA["spin"])
    readings = {"position": Reading(SIGMA["position"]), "velocity": Reading(SIGMA["rate"])}
    slots, found = body_slots(engine), [pose, twist]
    for joint in robot.joints:
        if joint.name.startswith(HEEL):
            continue
        carrier = BASE if joint.parent < 0 else robot.joints[joint.parent].body
        measured = {"position": landing.q[joint.name], "velocity": landing.qd[joint.name]}
        track = JointTrack(
            joint.body, joint.name, engine, slots[carrier].dof, landing.t[rows], STEP,
            {signal: values[rows] for signal, values in measured.items()}, readings,
        )  # fmt: skip
        found.append(track)
    return tuple(found)
