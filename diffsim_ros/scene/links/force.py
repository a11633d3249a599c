"""Forces on a point of a body, or shared by vertices of a soft one."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.bodies.regions import region, resolve_region
from diffsim_ros.scene.links.link import (
    FRAME,
    INTERVAL,
    SceneLink,
    check_interval,
    free_vertices,
    key_targets,
    read_point,
)
from diffsim_ros.scene.part import key, part, shared
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.targets import Entries, Target


@part
class ForceLink(SceneLink):
    """See the module."""

    WORD = "force"
    body: str = key("name", "any body but a kinematic body", default=REQUIRED)
    point: list[float] | None = key("vector3", "of a rigid body; absent: its centre of mass", "m")
    where: dict | None = key(
        "any", "region of a solid, cloth or string: the force is shared by its vertices"
    )
    force: list = key("controls3", "one, or several `interval` apart", "N", REQUIRED)
    interval: float | None = shared(INTERVAL)
    frame: str = shared(FRAME)

    @classmethod
    def check(cls, parts: Parts, values: dict, key: str) -> None:
        reader = parts.reader
        body = parts.body(values["body"], join(key, "body"))
        kind, where = body.type, join(key, "where")
        if not body.MOVES:
            rule = "a body that forces can move"
            raise reader.error(join(key, "body"), values["body"], rule)
        if body.SOFT:
            if values["point"] is not None or values["where"] is None:
                raise reader.error(key, values["body"], f"`where` and no `point` on a {kind}")
            values["where"] = resolve_region(reader, values["where"], body.mesh.vertices, where)
            if values["frame"] == "body":
                raise reader.error(join(key, "frame"), "body", f"world: a {kind} has no frame")
        else:
            if values["where"] is not None:
                rule = f"`point`, not `where`, on a {kind}"
                raise reader.error(where, values["where"], rule)
            values["point"] = read_point(parts, body, values["point"], join(key, "point"))
        check_interval(parts, values, "force", key)

    def _vertices(self, parts: Parts) -> list[int]:
        body = parts.bodies[self.body]
        return free_vertices(body, region(self.where, body.mesh.vertices)) if body.SOFT else [0]

    def add(self, scene: Any, parts: Parts) -> None:
        points, index = self.body, self._vertices(parts)
        if not parts.bodies[self.body].SOFT:
            points = f"{self.name}_point"
            scene.add_points(points, bodies=[self.body], local=np.array([self.point]))
        controls = self.keys_over_time("force")
        controls["force"] = controls["force"] / len(index)
        scene.add_point_force(self.name, points=points, index=index, **controls)

    def targets(self, entries: Entries, parts: Parts) -> dict[str, Target]:
        share = 1.0 / len(self._vertices(parts))
        return key_targets(entries, self.name, "force", len(self.force), share)
