"""Obstacles around the robot of a node, and whether a motion keeps away from them.

Obstacles come from the robot's YAML (`surroundings`), from a scene's surfaces that stand still and
from MoveIt's planning scene, where moveit_msgs is installed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.nodes.common import BaseNode, Declared, quality
from diffsim_ros.nodes.planning_scene import PlanningScene
from diffsim_ros.robots.arm import Arm
from diffsim_ros.robots.collision import Around, CollisionCheck
from diffsim_ros.robots.collision_solids import ball
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.scene import load_scene
from diffsim_ros.scene.standing import own_surroundings, still_surfaces, together

try:
    from moveit_msgs.msg import PlanningScene as SceneMessage
except ImportError:  # MoveIt's messages are not everywhere
    SceneMessage = None

SCENES = quality(100, reliable=True)
"""As MoveIt publishes its planning scene."""
PARAMETERS = (
    Declared(
        "collision", "check", "whether motions are checked against the arm and its surroundings",
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
        self._moveit, self._changes = PlanningScene(arm), 0
        self._topics = [topic for topic in node["planning_scenes"] if topic]
        if SceneMessage is not None:
            for topic in self._topics:
                node.create_subscription(SceneMessage, topic, self._on_scene, SCENES)

    def _on_scene(self, message: Any) -> None:
        with self._lock:
            before = self._moveit.snapshot()
            self._moveit.apply(message)
            if not self._moveit.same(before):
                self._changes += 1

    def state(self) -> tuple:
        """Equal at two times, between which nothing changed that `check` goes by."""
        return self._changes, *(str(self._node[spec.name]) for spec in PARAMETERS)

    def check(
        self, trajectory: JointTrajectory, cancelled: Callable[[], bool] = lambda: False
    ) -> list[str]:
        """Sentences about what was not checked, where nothing comes within the margin.

        Raises InputError naming both things, time, distance and margin, and soon after
        `cancelled()` is true.  Any thread may call it; messages that arrive meanwhile count for the
        next: `state` shows that there were some.
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
        """All obstacles known now."""
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
            self._scenes = {file: still_surfaces(load_scene(file))}
        return self._scenes[file] if file else {}

    def _unseen(self, moveit: PlanningScene) -> list[str]:
        unchecked = []
        if not self._node["scene"]:
            names = ", ".join(self._own) or "nothing"
            unchecked.append(f"no scene is given: of the surroundings only {names} is checked")
        if not self._topics:
            unchecked.append("no planning scene is received: planning_scenes is empty")
        elif SceneMessage is None:
            unchecked.append("no planning scene is received: moveit_msgs is not installed")
        elif not moveit.received:
            unchecked.append(f"no planning scene was published on {' or '.join(self._topics)}")
        elif moveit.octomap:
            unchecked.append("the octomap of the planning scene is not checked")
        if self._arm.gripper is None:
            unchecked.append("the gripper is not checked: the robot's YAML has no key gripper")
        return unchecked
