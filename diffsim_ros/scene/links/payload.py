"""Payloads: mass that a rigid body carries besides its own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.links.link import SceneLink, rigid_body
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.shapes import six_of, symmetric
from diffsim_ros.scene.targets import AXES, INERTIA


@part
class PayloadLink(SceneLink):
    """See the module."""

    WORD = "payload"
    # about the body's centre of mass, see the inverse layer's groups
    VALUES: ClassVar[tuple[str, ...]] = (
        "mass", *(f"moment.{a}" for a in AXES), *(f"inertia.{k}" for k in INERTIA),
    )  # fmt: skip
    body: str = key("name", "a rigid body, which carries it besides its own mass", default=REQUIRED)
    mass: float = key("number", "of the payload", "kg", REQUIRED, minimum=0, strict=True)
    origin: list[float] = key(
        "vector3", "where `centre` counts from, body frame", "m", [0.0, 0.0, 0.0]
    )
    centre: list[float] = key("vector3", "its centre of mass, from `origin`", "m", [0.0, 0.0, 0.0])
    inertia: Any = key("inertia", "about its own centre, body axes", "kg m^2", REQUIRED)

    @classmethod
    def check(cls, parts: Parts, values: dict, key: str) -> None:
        reader, inertia = parts.reader, values["inertia"]
        rigid_body(parts, values["body"], join(key, "body"))
        if inertia == "uniform":
            raise reader.error(join(key, "inertia"), inertia, "numbers: a payload has no shape")
        moments = np.linalg.eigvalsh(symmetric(six_of(inertia)))
        if moments[0] < 0 or moments[2] > (moments[0] + moments[1]) * (1 + 1e-9):
            rule = "principal moments >= 0, none above the sum of the others"
            raise reader.error(join(key, "inertia"), inertia, rule)

    def add(self, scene: Any, parts: Parts) -> None:
        """Moment and inertia are those about the body's centre of mass, in its axes."""
        at = np.array(self.origin) + self.centre
        arm = at @ at * np.eye(3) - np.outer(at, at)
        about = symmetric(six_of(self.inertia)) + self.mass * arm
        scene.add_payload(
            self.name,
            body=self.body,
            mass=self.mass,
            first_moment=self.mass * at,
            inertia=about[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
        )
