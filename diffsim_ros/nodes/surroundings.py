"""What stands around the robot of a node, and whether a motion keeps off it.

Obstacles come from the robot's YAML (`surroundings`), from a scene's surfaces that stand still and
from MoveIt's planning scene, where moveit_msgs is installed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.nodes.common import BaseNode, Declared, quality
from diffsim_ros.nodes.planning_scene import PlanningScene
from diffsim_ros.robots.arm import Arm
from diffsim_ros.robots.collision import Around, CollisionCheck
from diffsim_ros.robots.collision_solids import Convex, ball
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.build_sdf import engine_sdf
from diffsim_ros.scene.fields import Reader
from diffsim_ros.scene.surfaces import resolve_sdfs

try:
    from moveit_msgs.msg import PlanningScene as SceneMessage
except ImportError:  # MoveIt's messages are not everywhere
    SceneMessage = None

SCENES = quality(100, reliable=True)
"""As MoveIt publishes its planning scene."""
CONVEX = ("plane", "box", "sphere", "capsule", "cylinder", "half_spaces")
"""Kinds of surfaces."""
PARAMETERS = (
    Declared(
        "collision", "check", "whether motions are held against the arm and its surroundings",
        choices=("check", "off"),
    ),
    Declared("collision_margin", 0.01, "[m] kept from everything", 0.0, 0.5),
    Declared("scene", "", "scene YAML whose surfaces stand around the robot; empty: none"),
    Declared(
        "planning_scenes", ["planning_scene", "monitored_planning_scene"],
        'topics of moveit_msgs/PlanningScene; [""]: none',
    ),
    Declared("held_radius", 0.0, "[m] of a ball about what the gripper holds; 0: none", 0.0, 1.0),
    Declared("held_offset", [0.0, 0.0, 0.1], "[m] of its centre, tool frame"),
)  # fmt: skip
"""Of a node that has Surroundings."""


class Surroundings:
    """Obstacles about the arm of a node that has PARAMETERS.

    Raises InputError: surroundings or a scene that cannot be used.
    """

    def __init__(self, node: BaseNode, arm: Arm) -> None:
        self._node, self._arm = node, arm
        self._lock, self._building = threading.Lock(), threading.Lock()
        self._checks: dict[float, CollisionCheck] = {}
        self._scenes: dict[str, dict[str, Any]] = {}
        self._own = own_surroundings(arm)
        self._of_scene(node["scene"])
        self._moveit = PlanningScene(arm)
        self._topics = [topic for topic in node["planning_scenes"] if topic]
        if SceneMessage is not None:
            for topic in self._topics:
                node.create_subscription(SceneMessage, topic, self._hear, SCENES)

    def _hear(self, message: Any) -> None:
        with self._lock:
            self._moveit.hear(message)

    def check(
        self, trajectory: JointTrajectory, cancelled: Callable[[], bool] = lambda: False
    ) -> list[str]:
        """Sentences about what was not checked, where nothing comes within the margin.

        Raises InputError naming both things, time, distance and margin, and soon after
        `cancelled()` is true.  Any thread may call it; what arrives meanwhile counts for the next.
        """
        node = self._node
        if node["collision"] == "off":
            return ["collisions are not checked at all: collision is off"]
        with self._lock:
            moveit = self._moveit.snapshot()
        with self._building:
            model = self._model(float(node["collision_margin"]))
            around = self._around(moveit)
        return model.check(trajectory, around, cancelled) + self._unseen(moveit)

    def _around(self, moveit: PlanningScene) -> Around:
        """All that is known now."""
        links = self._arm.robot.frames
        ours = together(self._own, self._of_scene(self._node["scene"]), "scene")
        theirs, attached = moveit.obstacles(), moveit.held()
        ids = {link: link for link in links} | {solid.name: solid.name for solid in attached}
        obstacles = together(ours, theirs, "planning scene", ids)

        def allowed(one: str, other: str) -> bool:
            return one in ids and other in ids and moveit.may_touch(ids[one], ids[other])

        return Around(obstacles, [*self._held(), *attached], allowed)

    def _model(self, margin: float) -> CollisionCheck:
        if margin not in self._checks:
            self._checks = {margin: CollisionCheck(self._arm, margin)}
        return self._checks[margin]

    def _held(self) -> list:
        radius, offset = self._node["held_radius"], self._node["held_offset"]
        if radius == 0.0:
            return []
        if len(offset) != 3 or not np.all(np.isfinite(offset)):
            key = "parameter held_offset"
            raise InputError(self._node.get_name(), key, list(offset), "three finite numbers [m]")
        return [ball(self._arm, "what is held", radius, offset)]

    def _of_scene(self, file: str) -> dict[str, Any]:
        """Surfaces of a scene that stand still; each file is read once."""
        if file and file not in self._scenes:
            self._scenes = {file: still_surfaces(file)}
        return self._scenes[file] if file else {}

    def _unseen(self, moveit: PlanningScene) -> list[str]:
        said = []
        if not self._node["scene"]:
            names = ", ".join(self._own) or "nothing"
            said.append(f"no scene is given: of the surroundings only {names} is checked")
        if not self._topics:
            said.append("no planning scene is heard: planning_scenes is empty")
        elif SceneMessage is None:
            said.append("no planning scene is heard: moveit_msgs is not installed")
        elif not moveit.heard:
            said.append(f"no planning scene was published on {' or '.join(self._topics)}")
        elif moveit.octomap:
            said.append("the octomap of the planning scene is not checked")
        if self._arm.gripper is None:
            said.append("the gripper is not checked: the robot's YAML has no key gripper")
        return said


def together(
    first: Mapping[str, Any],
    others: Mapping[str, Any],
    source: str,
    names: dict[str, str] | None = None,
) -> dict[str, Any]:
    """All obstacles; of two with the same name the later one is told by its source.

    names  gets what each of `others` is called -> its own name
    """
    found = dict(first)
    for name, sdf in others.items():
        told = f"{name} ({source})" if name in found else name
        found[told] = sdf
        if names is not None:
            names[told] = name
    return found


def own_surroundings(arm: Arm) -> dict[str, Any]:
    """Name -> _engine Sdf in the world of what the robot's YAML says stands around it."""
    reader, named = Reader(arm.place), {}
    try:
        given = reader.mapping(arm.surroundings, "surroundings")
        named = resolve_sdfs(reader, given)
    except InputError as error:
        key = error.key.replace("sdfs", "surroundings", 1)
        raise InputError(error.place, key, error.value, error.accepted, error.remedy) from error
    if arm.base is None:
        return {}
    turn = Rotation.from_matrix(arm.base[:3, :3]).as_quat()
    found = {}
    for name in named:
        sdf = _engine.Transformed(engine_sdf(name, named), arm.base[:3, 3], turn)
        found[name] = Convex(sdf) if is_convex(name, named) else sdf
    return found


def still_surfaces(source: str | Mapping) -> dict[str, Any]:
    """Name -> _engine Sdf in the world of a scene's surfaces that no body carries."""
    scene = load_scene(source)
    named, found = scene.description["sdfs"], {}
    for contact in scene.description["contact"]:
        if contact.get("carrier") is None:
            against = contact["against"]
            name = against if isinstance(against, str) else contact["name"]
            sdf = engine_sdf(against, named)
            found[name] = Convex(sdf) if is_convex(against, named) else sdf
    return found


def is_convex(value: Any, named: Mapping[str, Any]) -> bool:
    """Whether a resolved surface is surely convex, and its distance exact."""
    if isinstance(value, str):
        return is_convex(named[value], named)
    ((kind, values),) = value.items()
    return kind in CONVEX or (kind == "transform" and is_convex(values["of"], named))
