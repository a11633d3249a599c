"""Forces on a point of a body, or shared by vertices of a soft one."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffsim_ros.fields import REQUIRED, Reader, join
from diffsim_ros.scene.bodies.body import Body
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
    sharing: str | None = key(
        "choice",
        "by the region's vertices: `area`, a uniform traction on the faces that lie in it, or "
        "`equal`; absent: area where there is a face and no inner vertex of a solid",
        choices=("area", "equal"),
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
            values["sharing"] = _sharing(reader, values, body, key)
        else:
            if values["where"] is not None:
                rule = f"`point`, not `where`, on a {kind}"
                raise reader.error(where, values["where"], rule)
            if values["sharing"] is not None:
                rule = f"no sharing on a {kind}"
                raise reader.error(join(key, "sharing"), values["sharing"], rule, "remove it")
            values["point"] = read_point(parts, body, values["point"], join(key, "point"))
        check_interval(parts, values, "force", key)

    def add(self, scene: Any, parts: Parts) -> None:
        body, points, controls = parts.bodies[self.body], self.body, self.keys_over_time("force")
        if body.SOFT:
            chosen = region(self.where, body.mesh.vertices)
            index = free_vertices(body, chosen)
            weights = np.ones(len(index))
            if self.sharing == "area":
                weights = body.loaded_areas(chosen)[index]
            controls |= {"index": index, "shares": weights / weights.sum()}
        else:
            points = f"{self.name}_point"
            scene.add_points(points, bodies=[self.body], local=np.array([self.point]))
        scene.add_point_force(self.name, points=points, **controls)

    def targets(self, entries: Entries, parts: Parts) -> dict[str, Target]:
        return key_targets(entries, self.name, "force", len(self.force))


def _sharing(reader: Reader, values: dict, body: Body, key: str) -> str:
    """How a region's vertices share the force; InputError where nothing free has a part of it."""
    chosen = region(values["where"], body.mesh.vertices)
    index = free_vertices(body, chosen)
    if not index:
        rule = "a region with at least one vertex that is not pinned"
        raise reader.error(join(key, "where"), values["where"], rule)
    on_faces = body.loaded_areas(chosen)[index].sum() > 0
    if values["sharing"] == "area" and not on_faces:
        rule = "equal: the region holds no face with a free vertex"
        raise reader.error(join(key, "sharing"), "area", rule)
    inside = np.setdiff1d(chosen, body.mesh.triangles) if body.mesh.tets is not None else []
    return values["sharing"] or ("area" if on_faces and not len(inside) else "equal")
