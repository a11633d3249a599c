"""A TWIN.yaml, read strictly: the true scene, the robot, what it holds, and the sensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import nearest
from ..fields import Reader
from ..robots.arm import Arm, load_arm
from ..robots.controller import Settings
from ..robots.kinematics import joint_poses, link_pose
from ..robots.robot import Robot
from ..rotation import quat_from_matrix, quat_matrix
from ..scene.controllers import read_following
from ..scene.driven_arm import DrivenArm
from ..scene.model import SceneModel, load_scene
from ..scene.placing import absolute, resolve_pose
from ..yaml_file import read_mapping
from . import schema
from .efforts import JointEfforts, read_efforts
from .sensors import TwinSensor, read_sensor

WORLD = "world"
"""Frame of the scene, which every tree of frames hangs on."""
KEY_INTERVAL = 0.004
"""Between keys of a kinematic body [s], about."""
MOVING = ("rigid", "particle")


@dataclass(frozen=True)
class Grasp:
    """body: its name;  in_tool: its pose (4, 4);  kick: sigmas of velocity [m/s], spin [rad/s]."""

    body: str
    in_tool: np.ndarray
    kick: tuple[float, float]


@dataclass(frozen=True)
class Drive:
    """link that drives a kinematic body, the kinematic body's pose (4, 4) in it, steps between its
    keys."""

    link: str
    in_link: np.ndarray
    stride: int


class LinkPose(NamedTuple):
    """position (3,) [m] and orientation (x, y, z, w) of a link in another; fixed: never changes."""

    parent: str
    child: str
    position: np.ndarray
    orientation: np.ndarray
    fixed: bool


@dataclass(frozen=True)
class TwinConfig:
    """A checked twin.

    scene       the true scene's model;  before: the same without the held body (None: nothing
                else moves)
    arm         the robot;  start: joint values (n,)
    spread      body -> sigmas of position (3,) [m] and rotation (3,) [rad]
    latency     of the gripper and its sigma [s]
    controller  of the robot
    efforts     of the joints, None: joint states have none
    sensors     name -> sensor
    source      the mapping as read
    """

    place: str
    name: str
    scene: SceneModel
    before: SceneModel | None
    arm: Arm
    start: np.ndarray
    grasp: Grasp | None
    drives: Mapping[str, Drive]
    spread: Mapping[str, tuple[np.ndarray, np.ndarray]]
    latency: tuple[float, float]
    controller: Settings
    efforts: JointEfforts | None
    sensors: Mapping[str, TwinSensor]
    seed: int
    source: Mapping

    @property
    def outputs(self) -> list[str]:
        """Outputs of the scene that sensors need."""
        return list(
            dict.fromkeys(n for s in self.sensors.values() for n in getattr(s, "outputs", ()))
        )


def load_twin(source: str | Path | Mapping, *, base: str | Path | None = None) -> TwinConfig:
    """Read a twin from a file, or a mapping with paths relative to `base`; raises InputError."""
    raw, place = read_mapping(source, base)
    place = "twin" if place == "scene" else place
    reader = Reader(place)
    top = reader.section(schema.TWIN, raw)
    beside = Path(place) if not isinstance(source, Mapping) else base
    scene = _scene(reader, top["scene"], beside)
    arm = _arm(reader, top["robot"], beside)
    start = _start(reader, top["start"], arm)
    grasp = _grasp(reader, top["grasp"], scene)
    gripper = reader.section(schema.GRIPPER, top["gripper"], "gripper")
    drives = {
        name: _drive(reader, name, value, scene, arm)
        for name, value in top["kinematic_bodies"].items()
    }
    controller = _controller(reader, top["controller"], arm)
    driven = controller.dynamics if isinstance(controller.dynamics, DrivenArm) else None
    return TwinConfig(
        place, top["name"], scene, _before(reader, scene, grasp), arm, start, grasp, drives,
        _spread(reader, top["spread"], scene), (gripper["latency"], gripper["jitter"]),
        controller, read_efforts(reader, top["efforts"], arm, driven),
        _sensors(reader, top["sensors"], scene),
        top["seed"], raw,
    )  # fmt: skip


def _scene(reader: Reader, value: object, beside: str | Path | None) -> SceneModel:
    if not isinstance(value, (str, Mapping)):
        raise reader.error("scene", value, "a path or a mapping")
    return load_scene(value, base=beside)


def _arm(reader: Reader, value: object, beside: str | Path | None) -> Arm:
    if isinstance(value, Mapping):
        folder = Path(beside or ".")
        arm = load_arm(value, folder if folder.is_dir() else folder.parent)
    elif isinstance(value, str):
        arm = load_arm(absolute(reader, value) if beside is not None else value)
    else:
        raise reader.error("robot", value, "a path or a mapping")
    if arm.robot.frame(arm.tool).carrier < 0:
        raise reader.error("robot", arm.tool, "a robot whose tool is moved by its joints")
    if arm.base is None:
        raise reader.error("robot", value, "a robot with a `base`, its pose in the world")
    return arm


def _start(reader: Reader, value: object, arm: Arm) -> np.ndarray:
    if value is None:
        return arm.home
    start = arm.robot.values(value, "start", place=reader.place, unit="rad or m")
    limits = arm.limits
    for name, q, low, high in zip(
        arm.robot.joint_names, start, limits.lower, limits.upper, strict=True
    ):
        if not low <= q <= high:
            raise reader.error(f"start.{name}", float(q), f"from {low:g} to {high:g}")
    return start


def _pose(reader: Reader, value: object, key: str) -> np.ndarray:
    """(4, 4) of {position, orientation or rotation}."""
    given = resolve_pose(reader, value, key)
    pose = np.eye(4)
    pose[:3, :3] = quat_matrix(given["orientation"])
    pose[:3, 3] = given["position"]
    return pose


def _body(reader: Reader, scene: SceneModel, name: object, kinds: tuple[str, ...], key: str) -> str:
    bodies = scene.parts.bodies
    if name not in bodies:
        raise reader.error(key, name, "a body of the scene", nearest(name, bodies))
    if bodies[name].type not in kinds:
        raise reader.error(key, f"{name}, a {bodies[name].type}", f"one of {', '.join(kinds)}")
    return name


def _grasp(reader: Reader, value: object, scene: SceneModel) -> Grasp | None:
    if value is None:
        return None
    given = reader.section(schema.GRASP, value, "grasp")
    name = _body(reader, scene, given["body"], ("rigid", "solid"), "grasp.body")
    body = scene.parts.bodies[name]
    if body.SOFT and body.glue:
        raise reader.error("grasp.body", name, "a body that is glued to nothing")
    in_tool = _pose(reader, given["in_tool"], "grasp.in_tool")
    return Grasp(name, in_tool, (given["kick_velocity"], given["kick_spin"]))


def _drive(reader: Reader, name: str, value: object, scene: SceneModel, arm: Arm) -> Drive:
    key = f"kinematic_bodies.{name}"
    _body(reader, scene, name, ("kinematic",), key)
    given = reader.section(schema.KINEMATIC, value, key)
    link = given["link"] or arm.tool
    arm.robot.frame(link)
    step = scene.options.step
    stride = max(1, round((given["interval"] or KEY_INTERVAL) / step))
    if given["interval"] and abs(stride * step - given["interval"]) > 1e-6 * step:
        rule = f"a whole number of the scene's steps of {step:g} s"
        raise reader.error(f"{key}.interval", given["interval"], rule)
    return Drive(link, _pose(reader, given["in_link"], f"{key}.in_link"), stride)


def _controller(reader: Reader, value: object, arm: Arm) -> Settings:
    given = reader.section(schema.CONTROLLER, value, "controller")
    rest = {key: given[key] for key in ("path", "goal", "goal_time")}
    slowing = np.inf if given["deceleration"] is None else given["deceleration"]
    return read_following(reader, given, arm, "controller", **rest, deceleration=slowing)


def _sensors(reader: Reader, values: Mapping, scene: SceneModel) -> dict[str, TwinSensor]:
    found = {name: read_sensor(reader, name, value, scene) for name, value in values.items()}
    by_topic: dict[str, str] = {}
    for name, sensor in found.items():
        other = by_topic.setdefault(sensor.topic, name)
        if other != name:
            rule, remedy = f"a topic that {other} does not have", "give it a `topic` of its own"
            raise reader.error(f"sensors.{name}", sensor.topic, rule, remedy)
    return found


def _before(reader: Reader, scene: SceneModel, grasp: Grasp | None) -> SceneModel | None:
    """The scene until the release, without what is held; None where nothing moves in it."""
    if grasp is None:
        return None
    held, description = grasp.body, scene.description
    bodies = {name: body for name, body in description["bodies"].items() if name != held}
    moving = {name for name, body in bodies.items() if body["type"] != "kinematic"}
    if not moving:
        return None
    soft = sorted(name for name in moving if bodies[name]["type"] not in MOVING)
    if soft:
        rule = "rigid bodies and particles beside what is held: others cannot start in mid-motion"
        raise reader.error("scene.bodies", soft[0], rule)
    contact = [c for c in description["contact"] if held not in (c["points"], c.get("carrier"))]
    base = scene.place if scene.path else None
    description = {**description, "bodies": bodies, "contact": contact, "parameters": {}}
    known = load_scene({**description, "values": {}}, base=base).engine.parameters
    names = {info.name for info in known}
    values = {name: v for name, v in description["values"].items() if name in names}
    return load_scene({**description, "values": values}, base=base)


def _spread(reader: Reader, values: Mapping, scene: SceneModel) -> dict:
    found = {}
    for name, value in values.items():
        key = f"spread.{name}"
        _body(reader, scene, name, ("rigid", "particle", "solid"), key)
        given = reader.section(schema.SPREAD, value, key)
        found[name] = np.array(given["position"]), np.array(given["rotation"])
    return found


def link_tree(config: TwinConfig, q: np.ndarray) -> list[LinkPose]:
    """Every link in the frame of its parent, as robot_state_publisher publishes them, and
    the root in the world's; at q (n,). A root that is called `world` is the world."""
    return robot_links(config.arm.robot, np.array(config.arm.base), q)


def robot_links(robot: Robot, base: np.ndarray, q: np.ndarray) -> list[LinkPose]:
    """The same of a robot whose root is at a pose (4, 4) in the world."""
    moved = joint_poses(robot, q)
    places = {"": np.eye(4)}
    for name, frame in robot.frames.items():
        carrier = moved[frame.carrier] if frame.carrier >= 0 else np.eye(4)
        places[name] = base @ carrier @ frame.pose
    places[WORLD] = np.eye(4)
    found = []
    for name, frame in robot.frames.items():
        if name == WORLD:
            continue
        pose = np.linalg.solve(places[frame.parent], places[name])
        above = robot.frames.get(frame.parent)
        fixed = above is None or above.carrier == frame.carrier
        turn = quat_from_matrix(pose[:3, :3])
        found.append(LinkPose(frame.parent or WORLD, name, pose[:3, 3], turn, fixed))
    return found


def tool_pose(config: TwinConfig, q: np.ndarray, link: str | None = None) -> np.ndarray:
    """Pose (..., 4, 4) in the world of the tool, or a link, at joint values (..., n)."""
    return link_pose(config.arm.robot, q, link or config.arm.tool, config.arm.base)
