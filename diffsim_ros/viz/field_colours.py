"""Colours of solids by a field: von Mises stress, or a component of stress or strain.

A vertex has the mean of the tetrahedra around it, weighted by their volumes at rest; the colour map
is matplotlib's viridis, from dark violet (low) through green to yellow (high).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.output_value import OutputValue

MAP = "viridis"
BARS = 5
"""Colours of a legend."""


@dataclass(frozen=True, eq=False)
class FieldColours:
    """A field over the recorded frames.

    quantity, unit;  values  body -> (F, n) of its vertices
    low, high  values of the two ends of the colour map; what is beyond has their colours
    """

    quantity: str
    unit: str
    values: Mapping[str, np.ndarray]
    low: float
    high: float

    def at(self, body: str, frame: int, alpha: float = 1.0) -> np.ndarray:
        """Colours (n, 4) of a body's vertices at a recorded frame."""
        found = self.mapped(self.values[body][frame])
        found[:, 3] = alpha
        return found

    def mapped(self, values: np.ndarray) -> np.ndarray:
        """Colours (k, 4) of values (k,)."""
        from matplotlib import colormaps

        width = self.high - self.low
        share = (values - self.low) / width if width > 0 else np.zeros_like(values)
        return np.array(colormaps[MAP](np.clip(share, 0.0, 1.0)))

    def legend(self) -> list[tuple[str, str]]:
        """(label, "#rrggbb") from high to low."""
        steps = np.linspace(self.high, self.low, BARS)
        rgb = np.rint(255.0 * self.mapped(steps)[:, :3]).astype(int)
        small = 1e-9 * (self.high - self.low)  # rounding of a value that is 0
        labels = [f"{value if abs(value) > small else 0.0:.4g} {self.unit}" for value in steps]
        labels[0] += f"  {self.quantity}"
        return [
            (label, f"#{r:02x}{g:02x}{b:02x}") for label, (r, g, b) in zip(labels, rgb, strict=True)
        ]

    def document(self) -> dict:
        """Content of result.yaml."""
        return {"field": self.quantity, "unit": self.unit, "range": [self.low, self.high]}


def fields_of(scene: Any, quantity: str) -> dict[str, OutputValue]:
    """Body -> its numbers of this quantity, one a tetrahedron, of every solid; InputError where no
    solid has such a field."""
    solids = [name for name, body in scene.parts.bodies.items() if body.WORD == "solid"]
    if not solids:
        rule = "a scene with a solid: cloth and strings have no stress"
        raise InputError(scene.place, "--colour", quantity, rule)
    found = {}
    for name in solids:
        try:
            value = OutputValue.of(scene.engine, f"{name}.{quantity}", scene.place, "--colour")
        except InputError as error:
            raise InputError(scene.place, "--colour", quantity,
                             "von_mises, stress.xx ... or strain.xx ..., of every solid",
                             error.remedy) from None  # fmt: skip
        if value.count != len(_tets(scene, name)):
            raise InputError(scene.place, "--colour", quantity, "a field of all tetrahedra")
        found[name] = value
    return found


def field_colours(
    scene: Any, rollout: Any, quantity: str, limits: Sequence[float] | None = None
) -> FieldColours:
    """Of a rollout that was asked for the outputs of `fields_of`.

    limits  (low, high); None: smallest and largest value of a vertex in the motion
    """
    values, unit = {}, ""
    for name, value in fields_of(scene, quantity).items():
        cells, _ = value.at(rollout, np.arange(len(rollout.time)))
        values[name], unit = _at_vertices(scene, name, cells), value.unit
    low, high = limits or (
        min(float(v.min()) for v in values.values()),
        max(float(v.max()) for v in values.values()),
    )
    return FieldColours(quantity, unit, values, low, high)


def _tets(scene: Any, name: str) -> np.ndarray:
    return scene.parts.bodies[name].mesh.tets


def _at_vertices(scene: Any, name: str, cells: np.ndarray) -> np.ndarray:
    """Values (F, n) of vertices of values (F, m) of tetrahedra."""
    vertices, tets = scene.parts.bodies[name].mesh.vertices, _tets(scene, name)
    a, b, c, d = vertices[tets[:, :4]].transpose(1, 0, 2)
    volume = np.abs(np.einsum("mi,mi->m", np.cross(b - a, c - a), d - a))
    total, weight = np.zeros((len(cells), len(vertices))), np.zeros(len(vertices))
    for corner in tets.T:
        np.add.at(weight, corner, volume)
        for frame, row in zip(total, cells * volume, strict=True):
            np.add.at(frame, corner, row)
    return total / weight
