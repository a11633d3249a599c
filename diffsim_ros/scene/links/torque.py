"""Torques on rigid bodies."""

from __future__ import annotations

from typing import Any

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.links.link import (
    FRAME,
    INTERVAL,
    SceneLink,
    check_interval,
    key_targets,
    rigid_body,
)
from diffsim_ros.scene.part import key, part, shared
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.targets import Entries, Target


@part
class TorqueLink(SceneLink):
    """See the module."""

    WORD = "torque"
    body: str = key("name", "a rigid body", default=REQUIRED)
    torque: list = key("controls3", "one, or several `interval` apart", "N m", REQUIRED)
    interval: float | None = shared(INTERVAL)
    frame: str = shared(FRAME)

    @classmethod
    def check(cls, parts: Parts, values: dict, key: str) -> None:
        rigid_body(parts, values["body"], join(key, "body"))
        check_interval(parts, values, "torque", key)

    def add(self, scene: Any, parts: Parts) -> None:
        scene.add_torque(self.name, body=self.body, **self.keys_over_time("torque"))

    def targets(self, entries: Entries, parts: Parts) -> dict[str, Target]:
        return key_targets(entries, self.name, "torque", len(self.torque))
