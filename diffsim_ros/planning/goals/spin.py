"""The angular velocity of a rigid body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...fields import Field, Section
from ...inverse.goals import Aim
from ...inverse.objectives import AtFrames, BodySlot, Term
from .entry import GoalEntry

ASKED = ("angular_velocity",)
PASSES = False
KEYS: Section = {
    "angular_velocity": Field("vector3", "of a rigid body, as its tolerance", "rad/s"),
}


@dataclass(frozen=True)
class SpinGoal(Aim, AtFrames):
    """An angular velocity: r = (omega - target)/sigma, the mean square over the rows.

    target  (3,) [rad/s, world];  sigma  tolerance [rad/s]
    """

    target: np.ndarray
    sigma: float
    name: str = field(default="spin", kw_only=True)

    def _away(self, rollout: Any, slot: BodySlot) -> np.ndarray:
        """(M, 3) [rad/s]."""
        return np.asarray(rollout.angular_velocity)[self.frames, slot.index] - self.target

    def reached(self, rollout: Any, slot: BodySlot) -> float:
        """Distance from the target, root of the mean square over the rows [rad/s]."""
        return float(np.sqrt(np.mean(np.sum(self._away(rollout, slot) ** 2, axis=1))))

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> Term:
        """Residual (M, 3) and its partials by velocity, which are constant."""
        scale = 1.0 / (self.sigma * np.sqrt(len(self.frames)))
        by_velocity = np.tile(scale * np.eye(3, 6, 3), (len(self.frames), 1, 1))
        return Term(self._away(rollout, slot) * scale, self.frames, jv=by_velocity)


def check(entry: GoalEntry) -> None:
    """Of rigid bodies only."""
    entry.of_rigid("angular_velocity")


def read(entry: GoalEntry) -> SpinGoal:
    """See the module."""
    target = np.array(entry.goal["angular_velocity"])
    return SpinGoal(entry.goal["body"], entry.frames, target, entry.sigma,
                    name=entry.called("angular_velocity"))  # fmt: skip
