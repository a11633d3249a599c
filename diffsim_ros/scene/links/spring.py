"""Springs between points of rigid bodies, particles and the world."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, Field, Section, join
from diffsim_ros.scene.links.link import End, SceneLink, add_ends, read_end
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.parts import Parts

PAIR: Section = {
    "a": Field("mapping", "one end", default=REQUIRED),
    "b": Field("mapping", "other end", default=REQUIRED),
}


@part
class SpringLink(SceneLink):
    """A batch of equal springs."""

    WORD = "spring"
    VALUES: ClassVar[tuple[str, ...]] = ("stiffness", "damping", "rest_length")
    MORE: ClassVar = {".pairs[j]": PAIR, ".pairs[j].a, .b": End.section()}
    name: str = key("name", "name of the batch of springs", default=REQUIRED)
    pairs: list[dict[str, End]] = key(
        "list", "springs of the batch: {a: END, b: END}", default=REQUIRED
    )
    stiffness: float = key("number", "of each spring", "N/m", REQUIRED, minimum=0)
    damping: float = key("number", "of each spring, along its axis", "N s/m", 0.0, minimum=0)
    rest_length: float = key(
        "number", "absent: the length at the start, the same for all pairs", "m", minimum=0
    )

    @classmethod
    def check(cls, parts: Parts, values: dict, key: str) -> None:
        reader, given = parts.reader, values["pairs"]
        if not given:
            raise reader.error(join(key, "pairs"), given, "at least one pair of ends")
        pairs = [_pair(parts, pair, f"{key}.pairs[{i}]") for i, pair in enumerate(given)]
        values["pairs"] = pairs
        if values["rest_length"] is None:
            apart = [pair["a"].place(parts) - pair["b"].place(parts) for pair in pairs]
            lengths = [float(np.linalg.norm(d)) for d in apart]
            if max(lengths) - min(lengths) > 1e-9 * max(lengths):
                rule = cls.section()["rest_length"].rule()
                got = f"the lengths at the start differ: {min(lengths):g} to {max(lengths):g} m"
                raise reader.error(join(key, "rest_length"), None, rule, got)
            values["rest_length"] = lengths[0]

    def add(self, scene: Any, parts: Parts) -> None:
        sides = {side: f"{self.name}_{side}" for side in "ab"}
        for side, points in sides.items():
            add_ends(scene, points, [pair[side] for pair in self.pairs])
        index = list(range(len(self.pairs)))
        scene.add_springs(
            self.name,
            points_a=sides["a"],
            index_a=index,
            points_b=sides["b"],
            index_b=index,
            **self.given(*self.VALUES),
        )

    def lines(self):
        return [(pair["a"], pair["b"]) for pair in self.pairs]


def _pair(parts: Parts, given: object, key: str) -> dict[str, End]:
    pair = parts.reader.section(PAIR, given, key)
    ends = {side: read_end(parts, pair[side], join(key, side)) for side in "ab"}
    for side, end in ends.items():
        if end.vertex is not None:
            raise parts.reader.error(
                f"{key}.{side}.vertex",
                end.vertex,
                "an end on a rigid body or particle",
                "glue the vertices to a body, or use type: cable",
            )
    if all(end.world is not None for end in ends.values()):
        raise parts.reader.error(key, given, "at least one end on a body")
    return ends
