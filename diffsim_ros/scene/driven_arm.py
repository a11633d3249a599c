"""An arm in the engine whose drives follow a controller's commands.

    torque = stiffness (u - q) + damping (u' - q') + g(q)

with commands u, u', and the torque g of the URDF's weights where drives compensate gravity. Links,
rotors, friction and a payload are those of a scene's robot, in reduced coordinates. Torques have no
limits: a controller that reaches them reports a fault, which is not simulated.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.errors import NotConverged
from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join
from diffsim_ros.robots.arm import Arm
from diffsim_ros.robots.command import NANO
from diffsim_ros.robots.tracking import SteppedJoints
from diffsim_ros.robots.tree import GRAVITY, model_of
from diffsim_ros.scene.model import SceneModel, load_scene
from diffsim_ros.scene.placing import pose_mapping
from diffsim_ros.scene.robot_pieces import motor_name
from diffsim_ros.scene.schema_robots import DRIVE_UNITS, PER_JOINT, ROBOT

TICK = 2_000_000
"""The engine's step [ns]."""
DYNAMIC = ("damping", "friction", "slip_rate", "armature", "payload")
"""Keys of a scene's robot that count here."""

DRIVEN: Section = {
    "drive": Field(
        "mapping", "stiffness and damping, as of a scene's robot (scene.md)", default=REQUIRED
    ),
    **{name: ROBOT[name] for name in DYNAMIC},
    "gravity_compensation": Field(
        "flag", "whether drives hold the URDF's weights (a payload's never)", default=True
    ),
}
GAINS: Section = {
    name: Field("any", f"[{DRIVE_UNITS[name]}]: {PER_JOINT}", default=REQUIRED)
    for name in ("stiffness", "damping")
}


@dataclass(frozen=True, eq=False)
class DrivenArm:
    """What a Controller's settings have in the place of tracking.Dynamics.

    stiffness, damping  (n,) of the drives;  delay [s] until a command has an effect
    weights             the ArticulatedModel whose weights drives compensate, None: they do not
    given               keys of DYNAMIC and what was given for them
    """

    arm: Arm
    scene: SceneModel
    stiffness: np.ndarray
    damping: np.ndarray
    delay: float
    weights: Any
    given: Mapping[str, Any]

    def begin(self, position: np.ndarray, time: int = 0) -> DrivenJoints:
        """The joints at rest at positions (n,), at a time [ns]."""
        return DrivenJoints(self, position, time)

    def __deepcopy__(self, _: Any) -> DrivenArm:
        return self  # nothing in it changes, and the engine's scene cannot be copied


class DrivenJoints(SteppedJoints):
    """Joints of a DrivenArm, stepped every TICK; between two steps they go on evenly.

    time [ns];  position, velocity, efforts  (n,) [rad or m, per s, N m or N]; efforts: the drives'
    """

    def __init__(self, arm: DrivenArm, position: np.ndarray, time: int) -> None:
        super().__init__(position, arm.delay, time)
        self._arm = arm
        engine, names = arm.scene.engine, arm.arm.robot.joint_names
        known = {info.name: i for i, info in enumerate(engine.parameters)}
        self._targets = [known[f"{motor_name(name)}.target[0]"] for name in names]
        self._torques = [known[f"{_forward(name)}.{_word(arm, k)}[0]"]
                         for k, name in enumerate(names)]  # fmt: skip
        self._outputs = [f"{n}.{word}" for word in ("coordinate", "rate") for n in names]
        self.velocity = np.zeros_like(self.position)
        self._at = self.position, self.velocity
        self._values = np.array(engine.values)
        start = {name: (float(q), 0.0) for name, q in zip(names, self.position, strict=True)}
        self._snapshot = engine.snapshot(self._values, start)
        self.efforts = self._forward_torque()

    def __deepcopy__(self, _: Any) -> DrivenJoints:
        other = copy.copy(self)  # arrays are replaced, never changed, but these
        other._commands, other._values = copy.deepcopy(self._commands), self._values.copy()
        return other

    def advance(self, time: int) -> None:
        """Let the joints move until `time` [ns]. Raises NotConverged where the engine fails."""
        while self._stepped + TICK <= time:
            self._step()
        self.time = max(self.time, time)
        q, v = self._at
        self.position = q + v * ((self.time - self._stepped) / NANO)
        self.velocity = v

    def _forward_torque(self) -> np.ndarray:
        """What drives add to the torques of stiffness and damping (n,)."""
        arm, (q, _) = self._arm, self._at
        torque = arm.damping * self._commands.rate
        if arm.weights is None:
            return torque
        return torque + arm.weights.inverse_dynamics(q, 0 * q, 0 * q)

    def _step(self) -> None:
        while self._commands.due(self._stepped):
            self._commands.take()
        self._stepped += TICK
        wanted = self._commands.at(self._stepped)
        forward = self._forward_torque()
        self._values[self._targets], self._values[self._torques] = wanted, forward
        model = self._arm.scene
        segment = _engine.Segment(
            model.engine, [self._snapshot], self._values[None], 1, model.options, threads=1,
            outputs=self._outputs,
        )  # fmt: skip
        if not segment.ok[0]:
            raise NotConverged(f"{self._arm.arm.place}: the arm: {segment.failure(0)}")
        self._snapshot = segment.ends[0]
        q, v = np.split(segment.outputs[0], 2)
        self._at = q, v
        self.efforts = self._arm.stiffness * (wanted - q) - self._arm.damping * v + forward


def _forward(joint: str) -> str:
    """Name of the motor for what is fed forward."""
    return f"{joint}_forward"


def _word(arm: DrivenArm, joint: int) -> str:
    return "torque" if arm.arm.robot.joints[joint].turns else "force"


def read_driven_arm(reader: Reader, value: object, arm: Arm, delay: float, key: str) -> DrivenArm:
    """A section `arm` of a controller; InputError naming key, value and rule."""
    given = reader.section(DRIVEN, value, key)
    gains = reader.section(GAINS, given["drive"], join(key, "drive"))
    stiffness, damping = (
        arm.robot.values(gains[name], f"{key}.drive.{name}", place=reader.place) for name in GAINS
    )
    if not np.all(stiffness > 0):
        raise reader.error(f"{key}.drive.stiffness", gains["stiffness"], "greater than 0")
    if not np.all(damping >= 0):
        raise reader.error(f"{key}.drive.damping", gains["damping"], "0 or more")
    base = np.eye(4) if arm.base is None else np.array(arm.base)
    robot = {
        "urdf": str(arm.robot.place), "pose": pose_mapping(base), "angles": arm.home.tolist(),
        "drive": {"stiffness": stiffness.tolist(), "damping": damping.tolist(), "effort": "none"},
        **{name: given[name] for name in DYNAMIC if given[name] is not None},
    }  # fmt: skip
    forward = [
        {"name": _forward(joint.name), "type": "motor", "joint": joint.name,
         "kind": "torque" if joint.turns else "force", "keys": 0}
        for joint in arm.robot.joints
    ]  # fmt: skip
    world: Mapping[str, Any] = {"step": TICK / NANO, "duration": 1, "gravity": list(GRAVITY)}
    scene = load_scene({"world": world, "robots": {"arm": robot}, "links": forward}, base=".")
    down = base[:3, :3].T @ GRAVITY
    weights = model_of(arm.robot, down) if given["gravity_compensation"] else None
    own = {name: given[name] for name in DYNAMIC}
    return DrivenArm(arm, scene, stiffness, damping, delay, weights, own)
