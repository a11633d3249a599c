"""A legged robot in the engine that follows commands: a twin of it, on a plane.

The robot's URDF in reduced coordinates, its base free; point feet are small balls and wheels
balls of their radius, against z = 0, with the contact law of the implicit stepper.  Motors:

    torque = k (u - q) + d (u' - q')     of legs, commands u, u'
    torque = d (w - q')                  of wheels with motors, speed w

as `robots.tracking.Following` has it, so that a Controller of robots/controller.py moves it.
Torques are not cut off at the URDF's limits of effort: the supervision compares them with these.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.robots.command import NANO, nanoseconds
from diffsim_ros.robots.robot import Robot
from diffsim_ros.robots.tracking import SteppedJoints
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.rotation import quat_from_matrix
from diffsim_ros.scene.model import SceneModel, load_scene
from diffsim_ros.scene.robot_pieces import motor_name

from .legged_robot import LeggedRobot
from .urdf_writer import urdf_text

GROUND, PUSH = "ground", "push"
REST = 9.81
OUTPUTS = ("position", "x_axis", "y_axis", "z_axis", "velocity", "angular_velocity")
"""Of the base, three numbers each."""


@dataclass(frozen=True)
class LeggedSimulation:
    """Numbers of a simulated robot.

    stiffness   of the legs' motors, in weights times standing heights per rad
    damping     [s] of them: their damping over their stiffness
    wheel_gain  of the wheels' motors, in weights times radii per rad/s
    foot [m] radius of point feet;  friction [1] of the ground
    k_n [N/m], c_n [s/m]  of a contact
    step [s]    of the engine, `steps` of which are one call;  delay [s] until a command acts
    wheels      joints of all wheels that turn;  urdf: its text;  tree: of all its joints
    """

    robot: LeggedRobot
    stiffness: float = 20.0
    damping: float = 0.02
    wheel_gain: float = 0.2
    foot: float = 0.004
    friction: float = 0.8
    k_n: float = 2e4
    c_n: float = 0.5
    step: float = 0.004
    steps: int = 1
    delay: float = 0.0
    scene: SceneModel = field(init=False)
    wheels: tuple[str, ...] = field(init=False)
    tree: Robot = field(init=False)
    urdf: str = field(init=False)

    def __post_init__(self) -> None:
        spinning = tuple(e.joint for e in self.robot.end_effectors if e.joint)
        object.__setattr__(self, "wheels", spinning)
        object.__setattr__(self, "urdf", _urdf(self.robot))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "robot.urdf"
            path.write_text(self.urdf, encoding="utf-8")
            object.__setattr__(self, "tree", load_robot(path, meshes="ignore"))
            object.__setattr__(self, "scene", _scene(self, path))

    @property
    def gain(self) -> float:
        """Stiffness of the legs' motors [N m/rad]."""
        robot = self.robot
        com = robot.centre_of_mass(robot.stance, robot.standing_base())
        return float(self.stiffness * robot.mass * REST * com[2])

    def wheel_gains(self) -> dict[str, float]:
        """Damping of wheels' motors [N m s/rad]; 0 of wheels that turn freely."""
        weight = self.robot.mass * REST
        return {
            e.joint: self.wheel_gain * weight * e.radius if e.kind == "actuated" else 0.0
            for e in self.robot.end_effectors
            if e.joint
        }

    def begin(self, position: np.ndarray, time: int = 0) -> LeggedJoints:
        """The robot at rest in its standing pose with joints at positions (n,), a time [ns]."""
        return LeggedJoints(self, position, time)

    def __deepcopy__(self, _: Any) -> LeggedSimulation:
        return self  # nothing in it changes, and the engine's scene cannot be copied


class LeggedJoints(SteppedJoints):
    """Joints of a LeggedSimulation's legs, stepped by one call of the engine every `steps` steps.

    time [ns];  position, velocity, efforts  (n,) of the legs [rad, rad/s, N m]
    wheel_commands  (w,) [rad/s] of twin.wheels;  push  (3,) [N] on the base, world frame
    base     (7,) position [m] and quaternion (x, y, z, w) of its root link in the world
    twist    (6,) velocity and angular velocity [m/s, rad/s], world frame
    acceleration  (3,) [m/s^2] of the base, by differences over a call
    wheel_position, wheel_velocity (w,);  load (m,) [N] normal force on end effectors
    """

    def __init__(self, twin: LeggedSimulation, position: np.ndarray, time: int) -> None:
        super().__init__(position, twin.delay, time)
        self._twin, robot = twin, twin.robot
        engine = twin.scene.engine
        known = {info.name: i for i, info in enumerate(engine.parameters)}
        legs, wheels = list(robot.joint_names), list(twin.wheels)
        self._targets = [known[f"{motor_name(name)}.target[0]"] for name in legs]
        self._forward = [known[f"{_forward(name)}.torque[0]"] for name in [*legs, *wheels]]
        self._push = [known[f"{PUSH}.force[0].{axis}"] for axis in "xyz"]
        names, base = [*legs, *wheels], robot.robot.base
        self._outputs = [f"{name}.{word}" for word in ("coordinate", "rate") for name in names]
        self._outputs += [f"{base}.{word}" for word in OUTPUTS]
        self._outputs += [f"{_contact(effector)}.normal_force" for effector in robot.end_effectors]
        gains = [*[twin.gain * twin.damping] * len(legs), *twin.wheel_gains().values()]
        self._damping = np.array(gains)
        self._period = nanoseconds(twin.step * twin.steps)
        self.velocity, self.efforts = 0 * self.position, 0 * self.position
        self.wheel_commands, self.push = np.zeros(len(wheels)), np.zeros(3)
        self._values = np.array(engine.values)
        start = dict.fromkeys(wheels, (0.0, 0.0))
        start |= {name: (float(q), 0.0) for name, q in zip(legs, self.position, strict=True)}
        self._snapshot = engine.snapshot(self._values, start)
        self.acceleration, self.twist = np.zeros(3), np.zeros(6)
        self._centre = robot.robot.base_inertial.centre
        rows = engine.outputs_at(self._snapshot, self._values, self._outputs)
        self._read(np.asarray(rows), None)

    def advance(self, time: int) -> None:
        """Let the robot move until `time` [ns]. Raises NotConverged where the engine fails."""
        while self._stepped + self._period <= time:
            self._step()
        self.time = max(self.time, time)

    def _step(self) -> None:
        while self._commands.due(self._stepped):
            self._commands.take()
        self._stepped += self._period
        twin, n = self._twin, len(self.position)
        wanted = self._commands.at(self._stepped)
        rates = np.concatenate([self._commands.rate, self.wheel_commands])
        self._values[self._targets] = wanted
        self._values[self._forward] = self._damping * rates
        self._values[self._push] = self.push
        segment = _engine.Segment(
            twin.scene.engine, [self._snapshot], self._values[None], twin.steps,
            twin.scene.options, threads=1, outputs=self._outputs,
        )  # fmt: skip
        if not segment.ok[0]:
            raise NotConverged(f"{twin.robot.name}: {segment.failure(0)}")
        self._snapshot = segment.ends[0]
        self._read(segment.outputs[0], self._period / NANO)
        self.efforts = twin.gain * (wanted - self.position)
        self.efforts += self._damping[:n] * (self._commands.rate - self.velocity)

    def _read(self, row: np.ndarray, over: float | None) -> None:
        """Take outputs; over [s] since the last ones."""
        n, w = len(self.position), len(self._twin.wheels)
        q, v, rest = np.split(row, [n + w, 2 * (n + w)])
        self.position, self.wheel_position = q[:n], q[n:]
        self.velocity, self.wheel_velocity = v[:n], v[n:]
        axes = rest[3:12].reshape(3, 3).T
        centre, before = axes @ self._centre, self.twist[:3]
        spin = rest[15:18]
        self.twist = np.concatenate([rest[12:15] - np.cross(spin, centre), spin])
        self.base = np.concatenate([rest[:3] - centre, quat_from_matrix(axes)])
        if over is not None:
            self.acceleration = (self.twist[:3] - before) / over
        forces = rest[18:].reshape(-1, 3)
        self.load = np.maximum(forces[:, 2], 0.0)

    @property
    def tilt(self) -> float:
        """Angle [rad] of the base's z to the vertical."""
        x, y = self.base[3:5]
        return float(np.arccos(np.clip(1 - 2 * (x * x + y * y), -1.0, 1.0)))


def _forward(joint: str) -> str:
    """Name of the motor for what is fed forward."""
    return f"{joint}_forward"


def _contact(effector: Any) -> str:
    return f"{effector.name}_on_ground"


def _urdf(robot: LeggedRobot) -> str:
    """Text of the robot's URDF.  InputError: a robot of an MJCF."""
    if robot.description is not None:
        return urdf_text(robot)
    path = Path(robot.robot.place)
    if path.suffix == ".xml":
        raise InputError(robot.robot.place, "robot", "an MJCF", "a description, or a URDF")
    return path.read_text(encoding="utf-8")


def _scene(twin: LeggedSimulation, urdf: Path) -> SceneModel:
    """The engine's scene of a URDF.  InputError: two end effectors on one link."""
    robot = twin.robot
    spheres: dict[str, Any] = {}
    bodies = []
    for effector in robot.end_effectors:
        link, body = _carrier(twin, effector)
        if link in spheres:
            rule = "one end effector on each link"
            raise InputError(robot.robot.place, f"end effector {effector.name}", link, rule)
        spheres[link] = {"radius": effector.radius or twin.foot}
        if not effector.joint and robot.description is None:
            spheres[link]["positions"] = [effector.position.tolist()]
        bodies.append(body)
    position, quaternion = robot.standing_pose()
    up = 0.0 if all(e.radius for e in robot.end_effectors) else twin.foot
    legs, gains = dict.fromkeys(robot.joint_names, twin.gain), twin.wheel_gains()
    damping = {**dict.fromkeys(robot.joint_names, twin.gain * twin.damping), **gains}
    angles = dict(zip(robot.joint_names, map(float, robot.stance), strict=True))
    forward = [
        {"name": _forward(name), "type": "motor", "joint": name, "kind": "torque", "keys": 0}
        for name in damping
    ]
    push = {"name": PUSH, "type": "force", "body": robot.robot.base, "force": [0, 0, 0]}
    whole: Mapping[str, Any] = {
        "urdf": str(urdf), "base": "free", "contact_spheres": spheres,
        "pose": {"position": [*position[:2].tolist(), float(position[2]) + up],
                 "orientation": quaternion.tolist()},
        "angles": {**angles, **dict.fromkeys(gains, 0.0)},
        "drive": {"stiffness": {**legs, **dict.fromkeys(gains, 0.0)}, "damping": damping,
                  "effort": "none"},
    }  # fmt: skip
    contact = [
        {"name": _contact(effector), "points": body, "against": GROUND, "k_n": twin.k_n,
         "k_t": twin.k_n / 20.0, "c_n": twin.c_n, "c_f": twin.friction}
        for effector, body in zip(robot.end_effectors, bodies, strict=True)
    ]  # fmt: skip
    return load_scene(
        {"world": {"step": twin.step, "duration": 1.0, "scheme": "bdf1"},
         "robots": {"robot": whole}, "sdfs": {GROUND: {"plane": {}}}, "contact": contact,
         "links": [*forward, push]}, base=urdf.parent,
    )  # fmt: skip


def _carrier(twin: LeggedSimulation, effector: Any) -> tuple[str, str]:
    """The URDF's link that carries the contact sphere, and the scene's body that it moves with."""
    described = twin.robot.description is not None
    link = f"{effector.name}_end" if described else effector.link
    if effector.joint and not described:
        names = twin.tree.joint_names
        link = twin.tree.joints[names.index(effector.joint)].body
    carrier = twin.tree.frame(link).carrier
    return link, twin.tree.base if carrier < 0 else twin.tree.joints[carrier].body
