"""What every kind of surface has: its place in the engine, in pictures, and a box around it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import Reader
from diffsim_ros.scene.part import Part, part

Array = np.ndarray
LENGTH = {"minimum": 0, "strict": True}
UNBOUNDED = 2.0
"""Half the box in which an unbounded solid is drawn [m]."""


@dataclass(frozen=True)
class SdfInfo:
    """One primitive of the surroundings for pictures.

    kind          plane, box, sphere, or implicit: drawn by the zero set of `sdf`
    position      a point of the plane, or the centre; world or carrier's frame [m]  (3,)
    orientation   x, y, z, w; for a plane its local z axis is the outward normal  (4,)
    size          edges, diameters, box around an implicit one; zero for a plane [m]  (3,)
    carrier       body in whose frame it is, None: the world
    sdf           _engine SDF about the origin of an implicit one
    """

    name: str
    kind: str
    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]
    size: tuple[float, float, float]
    carrier: str | None = None
    sdf: Any = field(default=None, repr=False, compare=False)


@part
class Sdf(Part):
    """A signed distance function by its numbers; surfaces it is made of are named or inline.

    ENGINE  name of the class (or function) of _engine;  CONVEX  whether it is surely convex, and
    its distance exact;  SIZES  keys that can be parameters, as the engine's Sdf.sizes has them
    """

    ENGINE: ClassVar[str]
    CONVEX: ClassVar[bool] = False
    SIZES: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def check(
        cls, reader: Reader, values: dict, key: str, inner: Callable[[object, str], Sdf | str]
    ) -> None:
        """Complete the values of a section, or raise InputError; `inner` reads a member."""

    def plain(self) -> dict:
        return {self.WORD: super().plain()}

    def engine(self, named: Named) -> Any:
        """_engine Sdf."""
        from diffsim_ros import _engine

        return getattr(_engine, self.ENGINE)(*self.arguments(named))

    def arguments(self, named: Named) -> tuple:
        """Arguments of the engine's class."""
        raise NotImplementedError

    def members(self) -> list[Sdf | str]:
        """Surfaces that it is made of."""
        return []

    def convex(self, named: Named) -> bool:
        """See CONVEX."""
        return self.CONVEX

    def bounds(self, named: Named) -> tuple[Array, Array]:
        """Corners of a box around it, cut at UNBOUNDED [m] (3,), (3,)."""
        low, high = self.engine(named).bounds()
        return np.maximum(low, -UNBOUNDED), np.minimum(high, UNBOUNDED)

    def drawn(
        self, name: str, carrier: str | None, named: Named, position: Array, turn: Array
    ) -> list[SdfInfo]:
        """What a picture draws of it at a pose (position (3,), quaternion (4,))."""
        low, high = self.bounds(named)
        size = 2 * np.maximum(np.abs(low), np.abs(high))
        return [picture(name, "implicit", position, turn, size, carrier, self.engine(named))]


Named = Mapping[str, Sdf | str]
"""Surfaces by name; a text is another one's name."""


def picture(
    name: str, kind: str, position: Array, turn: Array, size: Array, carrier: str | None, sdf=None
) -> SdfInfo:
    """SdfInfo of arrays."""
    place = (tuple(np.asarray(a, float).tolist()) for a in (position, turn, size))
    return SdfInfo(name, kind, *place, carrier=carrier, sdf=sdf)


def sizes_of(value: Sdf | str, key: str, named: Named, part: str = "") -> list[tuple[str, str]]:
    """(path into the scene, name in the engine's Sdf.sizes) of each size of the surface at `key`
    and of those that it is made of, which are `part` of the engine's."""
    if isinstance(value, str):
        return sizes_of(named[value], f"sdfs.{value}", named, part)
    key = f"{key}.{value.WORD}"
    found = [(f"{key}.{word}", part + word) for word in value.SIZES]
    listed = isinstance(getattr(value, "of", None), list)
    for i, member in enumerate(value.members()):
        place = f"of[{i}]" if listed else "of"
        found += sizes_of(member, f"{key}.{place}", named, f"{part}{place}.")
    return found


def surface_of(value: Sdf | str, named: Named) -> Sdf:
    """The surface that a name stands for."""
    return surface_of(named[value], named) if isinstance(value, str) else value


def files_of(surfaces: Iterable[Sdf | str]) -> dict[str, str]:
    """Files that surfaces are read from -> SHA-256 of what they contain, "" for none."""
    found: dict[str, str] = {}
    for one in surfaces:
        if isinstance(one, str):
            continue
        file = getattr(one, "file", None)
        if file is not None:
            path = Path(file)
            content = path.read_bytes() if path.is_file() else None
            found[str(file)] = "" if content is None else hashlib.sha256(content).hexdigest()
        found |= files_of(one.members())
    return found
