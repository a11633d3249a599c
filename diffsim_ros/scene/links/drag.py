"""Drag of a medium on a body's contact spheres."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.bodies.body import contact_spheres_name
from diffsim_ros.scene.links.link import SceneLink
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.targets import AXES


@part
class DragLink(SceneLink):
    """See the module."""

    WORD = "drag"
    VALUES: ClassVar[tuple[str, ...]] = (
        "c_linear", "c_quadratic", *(f"wind.{axis}" for axis in AXES),
    )  # fmt: skip
    body: str = key(
        "name", "a body with contact spheres; on a soft one areas are the shares", default=REQUIRED
    )
    c_linear: float = key("number", "of the whole body", "N s/m", 0.0, minimum=0)
    c_quadratic: float = key("number", "of the whole body", "N s^2/m^2", 0.0, minimum=0)
    wind: list[float] = key(
        "vector3", "velocity of the medium, world frame", "m/s", [0.0, 0.0, 0.0]
    )

    @classmethod
    def check(cls, parts: Parts, values: dict, key: str) -> None:
        body = parts.body(values["body"], join(key, "body"))
        if not (body.SOFT or (body.MOVES and body.touches)):
            rule = "a body with contact spheres"
            raise parts.reader.error(join(key, "body"), values["body"], rule, "give it some")

    def add(self, scene: Any, parts: Parts) -> None:
        values, body = self.given("c_linear", "c_quadratic", "wind"), parts.bodies[self.body]
        points = contact_spheres_name(self.body)
        if body.SOFT:
            shape, points = body.mesh, self.body
            moving = ~np.isin(shape.contact, body.pinned_vertices())
            values |= {"index": shape.contact[moving].tolist(), "shares": shape.weights[moving]}
        scene.add_drag(self.name, points=points, **values)
