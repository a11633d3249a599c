"""Outputs of a scene as objectives read them: numbers y of a rollout's rows, and their partials.

    y = y_k                     one number: a number, a part, a part of one item
    y = |(y_1, y_2, y_3)|       the magnitude of a vector

The engine has dy/dp of every output, through the motion and direct [engine (18)], and its
transpose for the adjoint; an objective adds how its residuals depend on y.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, nearest

from .objectives import BodySlot, Objective

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


@dataclass(frozen=True)
class OutputTerm:
    """Residuals of an objective of one output, see objectives.AnyTerm.

    residual  (M, q), whitened; of a functional its shares
    rollout   that it is of
    value     the output's numbers
    rows, by  pairs of rows (M,) of the rollout and partials (M, q, k) of residual m, j by the
              columns of number j at row m (q = n)
    own       name -> (M, q) partials by parameters that the objective uses directly
    """

    residual: np.ndarray
    rollout: Any
    value: OutputValue
    by: tuple[tuple[np.ndarray, np.ndarray], ...]
    own: Mapping[str, np.ndarray] = field(default_factory=dict)
    linear: bool = False
    signature: int = 0
    direct: None = None
    moves: bool = True

    def through(self, slot: BodySlot, dx: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """Residual Jacobian (M, q, na) by the engine's sensitivities of the output."""
        slopes = self.rollout.outputs_dp[self.value.name]
        slopes = slopes.reshape(len(slopes), -1, slopes.shape[-1])
        return sum(
            np.einsum("mqk,mqka->mqa", partial, slopes[rows][:, self.value.columns])
            for rows, partial in self.by
        )

    def pull(self, slot: BodySlot, weight: np.ndarray, gx: np.ndarray, gv: np.ndarray) -> None:
        """Nothing: poses enter through the output alone."""

    def pull_outputs(self, weight: np.ndarray, into: dict[str, np.ndarray]) -> None:
        """Add weight (M, q) . partials to the cotangents of the output, in its shape."""
        values = self.rollout.outputs[self.value.name]
        of_y = into.setdefault(self.value.name, np.zeros(values.shape))
        flat = of_y.reshape(len(values), -1)
        for rows, partial in self.by:
            np.add.at(flat, (rows[:, None, None], self.value.columns), partial * weight[..., None])


def outputs_of(objectives: Iterable[Objective]) -> list[str]:
    """Outputs that objectives read, which a rollout is to be asked for."""
    return list(dict.fromkeys(n for o in objectives for n in getattr(o, "outputs", ())))
