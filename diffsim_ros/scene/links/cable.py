"""Cables: one length over several points, which only pulls."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.links.link import End, SceneLink, add_ends, read_end
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.parts import Parts


@part
class CableLink(SceneLink):
    """See the module."""

    WORD = "cable"
    VALUES: ClassVar[tuple[str, ...]] = ("stiffness", "damping", "rest_length")
    via: list[End] = key(
        "list", "ends and what it runs over without friction: two or more ENDs", default=REQUIRED
    )
    stiffness: float = key("number", "of the whole cable, tension only", "N/m", REQUIRED, minimum=0)
    damping: float = key("number", "continuous, as in contact", "s/m", 0.0, minimum=0)
    rest_length: float = key("number", "absent: its length at the start", "m", minimum=0)

    @classmethod
    def check(cls, parts: Parts, values: dict, key: str) -> None:
        reader, via = parts.reader, values["via"]
        if len(via) < 2:
            raise reader.error(join(key, "via"), via, "at least two ends")
        ends = [read_end(parts, end, f"{key}.via[{i}]") for i, end in enumerate(via)]
        if all(end.world is not None for end in ends):
            raise reader.error(join(key, "via"), via, "at least one end on a body")
        values["via"] = ends
        if values["rest_length"] is None:
            places = np.array([end.place(parts) for end in ends])
            lengths = np.linalg.norm(np.diff(places, axis=0), axis=1)
            values["rest_length"] = float(lengths.sum())

    def add(self, scene: Any, parts: Parts) -> None:
        points, index, name = [], [], f"{self.name}_points"
        fixed = [end for end in self.via if end.vertex is None]
        if fixed:
            add_ends(scene, name, fixed)
        for end in self.via:
            points.append(name if end.vertex is None else end.body)
            index.append(points.count(name) - 1 if end.vertex is None else end.vertex)
        scene.add_cable(self.name, points=points, index=index, **self.given(*self.VALUES))

    def lines(self):
        return list(pairwise(self.via))
