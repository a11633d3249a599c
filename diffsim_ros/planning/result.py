"""The result of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..inverse.settling_note import Unsettled
from .arm_motion import Carried
from .config import PlanConfig
from .evaluation import places, tolerances
from .execution_check import ExecutionCheck
from .spread import Spread


@dataclass(frozen=True)
class Candidate:
    """End of one start.

    controls    name -> value;  first  its start
    objective   half the sum of squares there, and `objective_first` at the first guess
    distances   goal -> distance from it [m, m/s or rad]
    reached     every goal within its tolerance
    pattern     contacts, in order: ("floor", "floor", "wall"); shortest_touch  in steps
    rollouts    of all its stages;  seconds  wall time
    history     objective after every iteration of the last stage
    motion      the rollout, with contact modes
    """

    controls: Mapping[str, float]
    first: Mapping[str, float]
    objective: float
    objective_first: float
    distances: Mapping[str, float]
    reached: bool
    pattern: tuple[str, ...]
    rollouts: int
    seconds: float
    status: str
    message: str
    at_bound: Mapping[str, str]
    history: tuple[float, ...]
    shortest_touch: int | None
    motion: Any

    def plain(self) -> dict[str, Any]:
        """All but the motion, which the controls give again: data that can be sent and kept."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "motion"}


@dataclass(frozen=True)
class PlanResult:
    """Distinct candidates, best first (those that reach every goal before the others).

    status   "reached", "not_reached", "cancelled", or "refused": reached, but not by the arm
    starts   of which `failed` could not be run
    carried  the arm's motion, where there is an arm that can execute the plan
    rounds   changes due to the arm's limits, and at last the reason of a refusal
    execution  at half of the step, joints as planned and as executed, where there is an arm
    spread   distances over samples, where the plan is robust
    unsettled  derivatives at the best plan that depend on the phase of contacts
    """

    config: PlanConfig
    candidates: tuple[Candidate, ...]
    status: str
    starts: int
    failed: tuple[str, ...]
    seconds: float
    carried: Carried | None = None
    rounds: tuple[str, ...] = ()
    execution: ExecutionCheck | None = None
    spread: Spread | None = None
    unsettled: Unsettled | None = None

    @property
    def best(self) -> Candidate:
        """The first candidate."""
        return self.candidates[0]

    @property
    def tolerances(self) -> dict[str, float]:
        """Goal -> tolerance [m, m/s or rad]."""
        return tolerances(self.config)

    @property
    def targets(self) -> dict[str, np.ndarray]:
        """Goal -> place [m], of those that have one."""
        return {place: x for goal in self.config.goals for place, x in places(goal)}
