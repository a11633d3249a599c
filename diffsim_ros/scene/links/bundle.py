"""Bundles: a spring or thread from each vertex of a region of a soft body."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.bodies.regions import region, resolve_region
from diffsim_ros.scene.links.link import (
    End,
    SceneLink,
    add_ends,
    free_vertices,
    read_end,
    soft_body,
)
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.parts import Parts

NEAR = 1e-6
"""Share of a body's extent within which two vertices are in one place."""


@part
class BundleLink(SceneLink):
    """See the module; `to` without point and vertex is another soft body, its twin."""

    WORD = "bundle"
    VALUES: ClassVar[tuple[str, ...]] = ("stiffness", "damping", "rest_length", "rest_scale")
    body: str = key("name", "a solid, cloth or string", default=REQUIRED)
    where: dict = key("any", "region of it: one spring from each of its vertices", default=REQUIRED)
    to: End = key(
        "mapping",
        "an END; or {body: another soft body}: each to its vertex in the same place, if any",
        default=REQUIRED,
    )
    stiffness: float = key("number", "of all springs together", "N/m", REQUIRED, minimum=0)
    damping: float = key(
        "number", "of all together; of threads in s/m, as of cables", "N s/m or s/m", 0.0, minimum=0
    )
    acts: str = key(
        "choice",
        "springs (to twins: in all directions, without length), or threads that only pull",
        default="springs",
        choices=("springs", "threads"),
    )

    @classmethod
    def check(cls, parts: Parts, values: dict, key: str) -> None:
        reader, to, place = parts.reader, values["to"], join(key, "to")
        body = soft_body(parts, values["body"], join(key, "body"))
        vertices = body.mesh.vertices
        values["where"] = resolve_region(reader, values["where"], vertices, join(key, "where"))
        chosen = free_vertices(body, region(values["where"], vertices))
        if not chosen:
            rule = "a region with at least one vertex that is not pinned"
            raise reader.error(join(key, "where"), values["where"], rule)
        other = parts.bodies.get(to.get("body")) if isinstance(to.get("body"), str) else None
        if other is None or not other.SOFT or "vertex" in to:
            values["to"] = read_end(parts, to, place)
            return
        if other is body or not np.isin(_shared_vertices(body, other)[:, 0], chosen).any():
            rule = f"another body with vertices where {values['body']} has some in `where`"
            raise reader.error(join(place, "body"), to["body"], rule)
        if values["acts"] == "threads":
            raise reader.error(join(key, "acts"), "threads", "springs: twins start in one place")
        values["to"] = End(**dict.fromkeys(End.section()) | {"body": to["body"]})

    @property
    def to_twin(self) -> bool:
        """Whether the springs join vertices to those of another body in the same place."""
        return self.to.world is None and self.to.point is None and self.to.vertex is None

    def pairs(self, parts: Parts) -> np.ndarray:
        """Vertices (n, 2) of the springs: of its body, and of the other end's points."""
        body = parts.bodies[self.body]
        chosen = free_vertices(body, region(self.where, body.mesh.vertices))
        if not self.to_twin:
            return np.array([[vertex, self.to.vertex or 0] for vertex in chosen])
        pairs = _shared_vertices(body, parts.bodies[self.to.body])
        return pairs[np.isin(pairs[:, 0], chosen)]

    def add(self, scene: Any, parts: Parts) -> None:
        index = self.pairs(parts)
        values = self.given("stiffness", "damping")
        values |= {"stiffness_factors": np.full(len(index), 1 / len(index))}
        if self.to_twin:
            values |= {"points_b": self.to.body, "rest_length": 0.0}
        else:
            here = parts.bodies[self.body].placed_vertices()[index[:, 0]]
            lengths = np.linalg.norm(here - self.to.place(parts), axis=1)
            values |= {"points_b": self.to.body, "rest_length": lengths}
            if self.to.vertex is None:
                values["points_b"] = f"{self.name}_end"
                add_ends(scene, values["points_b"], [self.to])
        scene.add_springs(
            self.name,
            points_a=self.body,
            index_a=index[:, 0].tolist(),
            index_b=index[:, 1].tolist(),
            tension_only=self.acts == "threads",
            **values,
        )


def _shared_vertices(one: Any, other: Any) -> np.ndarray:
    """Pairs (n, 2) of vertices of two soft bodies that start in one place."""
    here, there = one.placed_vertices(), other.placed_vertices()
    apart = np.linalg.norm(here[:, None] - there, axis=2)
    return np.argwhere(apart < NEAR * np.ptp(here, axis=0).max())
