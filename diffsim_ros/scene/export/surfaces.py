"""Surfaces of contacts as geoms, where other simulators have such."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diffsim_ros.rotation import quat_between, quat_matrix, quat_multiply
from diffsim_ros.scene.export.numbers import UPRIGHT, Geom
from diffsim_ros.scene.sdfs import Named, Sdf, surface_of

Array = np.ndarray


class NoGeom(Exception):
    """Nothing of other simulators is this surface; the text says what it is."""


class SurfaceGeoms:
    """Geoms of a contact's surface, with the sizes that the engine has.

    entries  parameters of the engine -> value
    """

    def __init__(self, contact: str, named: Named, entries: Mapping[str, float]) -> None:
        self.contact, self.named, self.entries = contact, named, entries
        self.grown = entries.get(f"{contact}.surface_offset", 0.0)
        self.scale = entries.get(f"{contact}.surface_scale", 1.0)

    def of(self, value: Sdf | str, name: str) -> list[Geom]:
        """In the frame of what carries it. Raises NoGeom."""
        return self._of(surface_of(value, self.named), name, np.zeros(3), UPRIGHT, "")

    def _of(self, value: Sdf, name: str, at: Array, turn: Array, part: str) -> list[Geom]:
        if value.WORD == "transform":
            at = at + quat_matrix(turn) @ np.array(value.position)
            turn = quat_multiply(turn, np.array(value.orientation))
            return self._of(surface_of(value.of, self.named), name, at, turn, f"{part}of.")
        if value.WORD == "union" and not value.width:
            return [
                geom
                for k, member in enumerate(value.of)
                for geom in self._of(
                    surface_of(member, self.named), f"{name}_{k}", at, turn, f"{part}of[{k}]."
                )
            ]
        if value.WORD == "plane":
            normal = np.array(value.normal)
            height = self.scale * self._size(value, "offset", part) + self.grown
            place = self.scale * at + quat_matrix(turn) @ (height * normal)
            upright = quat_multiply(turn, quat_between([0.0, 0.0, 1.0], normal))
            return [Geom(name, "plane", np.zeros(3), place, upright)]
        return [Geom(name, value.WORD, self._edges(value, part), self.scale * at, turn)]

    def _edges(self, value: Sdf, part: str) -> Array:
        grown = 2 * self.grown
        if value.WORD in ("sphere", "capsule"):
            across = 2 * self.scale * self._size(value, "radius", part) + grown
            long = value.WORD == "capsule"
            along = self.scale * self._size(value, "length", part) if long else 0.0
            return np.array([across, across, across + along])
        if value.WORD not in ("box", "cylinder"):
            raise NoGeom(f"a surface of kind {value.WORD}")
        if grown:
            raise NoGeom(f"a {value.WORD} that is grown by {self.grown:g} m (rounded edges)")
        if value.WORD == "box":
            words = ("size.x", "size.y", "size.z")
            return self.scale * np.array([self._size(value, word, part) for word in words])
        across = 2 * self._size(value, "radius", part)
        return self.scale * np.array([across, across, self._size(value, "height", part)])

    def _size(self, value: Sdf, word: str, part: str) -> float:
        """The engine's, which the file's is where it is no parameter."""
        key, _, axis = word.partition(".")
        own = getattr(value, key)
        own = own["xyz".index(axis)] if axis else own
        return self.entries.get(f"{self.contact}.surface.{part}{word}", own)
