"""From a plan to the arm's motion: within its limits, or planned again within tightened ones.

Where no motion of the arm can do what the plan requires of a joint, the plan is made again within
tighter limits of that joint, starting where it ended: the goal is still reached, by another motion.
Only slowing the motion down would miss it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..errors import InputError
from .config import PlanConfig
from .load import load_plan
from .result import PlanResult

ROUNDS = 10
"""Plans that are made again, at most, because the arm cannot execute one."""


def carried_out(
    result: PlanResult, again: Callable[[PlanConfig, Mapping[str, float]], PlanResult]
) -> PlanResult:
    """The plan with its arm's motion; status "refused" where there is none.

    again  (plan with tightened bounds, controls to start from) -> its result
    """
    rounds: list[str] = []
    for _ in range(ROUNDS):
        found = _first_carried(result)
        if isinstance(found, PlanResult):
            return replace(found, rounds=tuple(rounds))
        try:
            task, controls = result.config.task, result.best.controls
            config, change = task.tightened(result.config, found, controls, load_plan)
        except InputError as refused:
            rounds.append(f"the arm cannot do it: {refused}")
            break
        rounds.append(f"the arm cannot do it ({found}); planned again with {change}")
        replanned = again(config, result.best.controls)
        if replanned.status != "reached":
            return replace(replanned, rounds=tuple(rounds))
        result = replanned
    return replace(result, status="refused", rounds=tuple(rounds))


def _first_carried(result: PlanResult) -> PlanResult | InputError:
    """The result with the first candidate that the arm can execute, or the reason for the best."""
    refused: list[InputError] = []
    for candidate in (c for c in result.candidates if c.reached):
        try:
            carried = result.config.task.carried(result.config, candidate.controls)
        except InputError as error:
            refused.append(error)
            continue
        others = tuple(c for c in result.candidates if c is not candidate)
        return replace(result, candidates=(candidate, *others), carried=carried)
    return refused[0]
