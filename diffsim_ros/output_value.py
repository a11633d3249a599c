"""Numbers of an engine's outputs by name: what an objective, a sensor or a picture reads.

y = y_k                     one number: a number, a part, a part of one item
y = |(y_1, y_2, y_3)|       the magnitude of a vector
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import InputError, nearest

ITEM = re.compile(r"(?P<name>[^\[\]]+)\[(?P<item>\d+)\](?P<part>\.\w+)?")
"""foam.strain[12].xx, net.tension[3]: of one tetrahedron, of one spring, counted from 0."""
VECTOR = ["x", "y", "z"]


@dataclass(frozen=True, eq=False)
class OutputValue:
    """Numbers of one output: all its items, or one.

    name     of `Scene.outputs`;  unit  of the numbers
    columns  (n, k) where they are in a row of that output: one column each, or three, of which the
             magnitude counts
    """

    name: str
    unit: str
    columns: np.ndarray

    @classmethod
    def of(cls, scene: Any, text: str, place: str, key: str = "output") -> OutputValue:
        """What `text` names of an engine scene: NAME.quantity, behind it [item] and .part.

        A vector x y z without a part is its magnitude. InputError naming place and key for an
        output that the scene lacks, an item beyond the last, and a part that is missing or unknown.
        """
        known = {output.name: output for output in scene.outputs}
        item = ITEM.fullmatch(text)
        name, part = text, ""
        if item is not None:
            name, part = item["name"], (item["part"] or "")[1:]
        elif text not in known and text.rpartition(".")[0] in known:
            name, _, part = text.rpartition(".")
        if name not in known:
            raise InputError(place, key, text, "an output of the scene", nearest(name, known))
        output = known[name]
        parts, width = list(output.parts), max(len(output.parts), 1)
        if item is not None and int(item["item"]) >= output.items:
            rule = f"an item from 0 to {output.items - 1}" if output.items else f"{name}, no item"
            raise InputError(place, key, text, rule)
        if part and part not in parts:
            rule = f"a part of {name}: {', '.join(parts) or 'it has none'}"
            raise InputError(place, key, text, rule)
        if not part and parts and parts != VECTOR:
            rule = f"a part of {name}: {', '.join(f'{name}.{one}' for one in parts)}"
            raise InputError(place, key, text, rule)
        first = np.arange(max(output.items, 1)) if item is None else np.array([int(item["item"])])
        within = np.array([parts.index(part)]) if part else np.arange(width)
        return cls(name, output.unit, width * first[:, None] + within)

    @property
    def count(self) -> int:
        """How many numbers a row has."""
        return len(self.columns)

    def at(self, rollout: Any, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y (M, n) at rows (M,), and its partials (M, n, k) by the output's columns.

        The derivative of a magnitude at 0 is taken as 0.
        """
        values = rollout.outputs[self.name]
        parts = values.reshape(len(values), -1)[rows][:, self.columns]
        if self.columns.shape[1] == 1:
            return parts[..., 0], np.ones_like(parts)
        size = np.linalg.norm(parts, axis=2)
        return size, parts / np.where(size > 0, size, 1.0)[..., None]
