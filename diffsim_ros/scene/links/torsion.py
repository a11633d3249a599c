"""Torsion springs between the orientations of two bodies, or of one and the world."""

from __future__ import annotations

from typing import Any, ClassVar

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.links.link import SceneLink
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.parts import Parts


@part
class TorsionLink(SceneLink):
    """At rest as the scene starts."""

    WORD = "torsion"
    VALUES: ClassVar[tuple[str, ...]] = ("stiffness", "damping")
    body_a: str | None = key("name", "rigid body or kinematic body; absent: the world")
    body_b: str = key("name", "rigid body or kinematic body", default=REQUIRED)
    stiffness: float = key(
        "number", "k of the energy k (1 - cos angle)", "N m/rad", REQUIRED, minimum=0
    )
    damping: float = key("number", "of the relative rotation", "N m s/rad", 0.0, minimum=0)

    @classmethod
    def check(cls, parts: Parts, values: dict, key: str) -> None:
        for side in ("body_a", "body_b"):
            if values[side] is not None and not parts.body(values[side], join(key, side)).CARRIES:
                rule = "a rigid body or kinematic body"
                raise parts.reader.error(join(key, side), values[side], rule)
        if values["body_a"] == values["body_b"]:
            rule = "another body than body_a"
            raise parts.reader.error(join(key, "body_b"), values["body_b"], rule)

    def add(self, scene: Any, parts: Parts) -> None:
        scene.add_torsion(
            self.name, body_a=self.body_a or "", body_b=self.body_b, **self.given(*self.VALUES)
        )
