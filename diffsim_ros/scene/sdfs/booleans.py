"""Surfaces combined: union, intersection, difference, complement."""

from __future__ import annotations

import numpy as np

from diffsim_ros.fields import REQUIRED, join
from diffsim_ros.scene.part import key, part
from diffsim_ros.scene.sdfs.surface import Named, Sdf, surface_of


@part
class BooleanSdf(Sdf):
    """ENGINE is the engine's name of the operation."""

    of: list[Sdf | str] = key("list", "surfaces: names or inline ones", default=REQUIRED)
    width: float = key(
        "number", "gaps that differ by less are blended; 0: sharp", "m", 0.0, minimum=0
    )

    @classmethod
    def check(cls, reader, values, key, inner) -> None:
        if not values["of"]:
            raise reader.error(join(key, "of"), values["of"], "at least one surface")
        values["of"] = [inner(one, f"{key}.of[{i}]") for i, one in enumerate(values["of"])]

    def arguments(self, named: Named) -> tuple:
        members = [surface_of(one, named).engine(named) for one in self.of]
        return members, self.width

    def members(self):
        return self.of

    def _corners(self, named: Named) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corners of the members' boxes (n, 3), (n, 3)."""
        low, high = zip(*(surface_of(one, named).bounds(named) for one in self.of), strict=True)
        return np.array(low), np.array(high)


@part
class UnionSdf(BooleanSdf):
    WORD, ENGINE = "union", "Union"

    WALL = 0.0
    """What a picture shows around the members [m]."""

    def bounds(self, named):
        low, high = self._corners(named)
        grow = self.width + self.WALL
        return low.min(axis=0) - grow, high.max(axis=0) + grow

    def drawn(self, name, carrier, named, position, turn):
        if self.width > 0:
            return super().drawn(name, carrier, named, position, turn)
        members = [surface_of(one, named) for one in self.of]
        return [info for m in members for info in m.drawn(name, carrier, named, position, turn)]


@part
class IntersectionSdf(BooleanSdf):
    WORD, ENGINE = "intersection", "Intersection"

    def bounds(self, named):
        low, high = self._corners(named)
        return low.max(axis=0), high.min(axis=0)


@part
class DifferenceSdf(BooleanSdf):
    WORD, ENGINE = "difference", "Difference"
    of: list[Sdf | str] = key("list", "the first without all others", default=REQUIRED)

    def bounds(self, named):
        return surface_of(self.of[0], named).bounds(named)


@part
class ComplementSdf(UnionSdf):
    WORD, ENGINE, WALL = "complement", "Complement", 0.1
    of: list[Sdf | str] = key(
        "list", "outside of all of them: walls of a container", default=REQUIRED
    )

    def drawn(self, name, carrier, named, position, turn):
        return Sdf.drawn(self, name, carrier, named, position, turn)
