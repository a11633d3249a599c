"""Residuals that read outputs of a scene, and their partials.

The engine has dy/dp of every output, through the motion and direct [engine (18)], and its
transpose for the adjoint; an objective adds how its residuals depend on y.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..output_value import OutputValue
from .objectives import BodySlot, Objective


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
