"""Searches that go on from a plan: as it is executed, and over samples of what is uncertain.

What the arm's limits refuse is searched over the same trials again, with these limits tightened.
What is found is checked as executed (execution_check.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..errors import NotConverged
from ..executors import ALONE, SideBySide
from ..inverse.simulation_problem import SimulationProblem
from ..inverse.wide import Widened
from .arm_plan import carried_out
from .config import PlanConfig
from .execution_check import (
    Alternating,
    check_execution,
    executed_problem,
    executed_trials,
)
from .result import PlanResult
from .samples import PlanSamples, residuals_by
from .spread import Spread, measured

WIDTH = 0.02
"""Over which slopes of a mean over samples are taken, in halves of the bounds' distance."""
SEARCHES = 2
"""With joints as executed, at most: the deviation changes with the plan."""
Over = Callable[..., PlanResult]
"""(plan, controls to start from, problem) -> the plan where the problem's cost is least."""


def with_execution(result: PlanResult) -> PlanResult:
    """The result, checked where the arm can execute it."""
    if result.carried is None:
        return result
    found = check_execution(
        result.config, result.best.controls, result.carried, result.best.distances
    )
    return replace(result, execution=found)


def searched_on(result: PlanResult, over: Over, cancel: Any) -> PlanResult:
    """The plan, or one from there that reaches its goals as executed too, at half of the step.

    Where none is found: the one that is nearest, whose check says what it misses.
    """
    best = result
    for _ in range(SEARCHES):
        missed = best.execution
        if missed is None or missed.settled or getattr(cancel, "cancelled", False):
            break
        text = f"{missed.sentence(best.tolerances)}; searched on with joints as executed: "
        found, end = _moved(best, over, _as_executed), "no nearer plan was found"
        now = None if found is None else found.execution
        nearer = now is not None and now.worst < missed.worst
        if found is not None and nearer:
            best, end = found, "a nearer plan was found"
        best = replace(best, rounds=(*best.rounds, text + end))
        if not nearer:
            break
    return best


def hardened(result: PlanResult, over: Over, cancel: Any, side: SideBySide = ALONE) -> PlanResult:
    """The plan moved to where the mean over samples is least; evaluated on fresh samples.

    The slopes of a mean over samples are smaller than discontinuities: they are taken over a width.
    Where its end is not settled as executed, the search goes on with joints as executed in every
    other sample.  The plan itself is kept where that one is not reached, not executed as well, or
    not better over the fresh samples.

    side  who simulates the samples
    """
    found = _moved(result, over, _over(side, executed=False))
    check = None if found is None else found.execution
    cancelled = getattr(cancel, "cancelled", False)
    if found is not None and check is not None and not (check.settled or cancelled):
        again = _moved(found, over, _over(side, executed=True))
        if again is not None and again.execution is not None:
            found = again if again.execution.worst < check.worst else found
    after = result if found is None else found
    plans = [
        (PlanSamples(one.config, _deviation(one), executed=True, fresh=True), one.best.controls)
        for one in (result, after)
    ]
    spread = measured(plans, after.best.rollouts, side)
    why = _not_better(result, found, spread)
    if not why:
        return replace(after, candidates=(after.best, *result.candidates[1:]), spread=spread)
    text = f"the search over samples found no better plan: {why}; the plan is kept as it was"
    spread = replace(spread, after=spread.before)
    return replace(result, spread=spread, rounds=(*result.rounds, text))


def _not_better(result: PlanResult, found: PlanResult | None, spread: Spread) -> str:
    """Why the plan is kept; empty where it is not."""
    if found is None:
        return "it ended at no plan that reaches the goals and that the arm can execute"
    was, now = result.execution, found.execution
    if was is not None and now is not None and now.worst > max(was.worst, 1.0):
        return now.sentence(found.tolerances)
    before, after = spread.costs(result.tolerances, result.config.guides)
    if not after < before:
        return f"over fresh samples the cost is {after:.3g}, {before:.3g} before"
    return ""


def _moved(
    result: PlanResult, over: Over, problem_of: Callable[[PlanConfig, Mapping], Any]
) -> PlanResult | None:
    """The plan moved over trials, carried out and checked; None: no such plan was found.

    problem_of  (plan, deviation) -> the problem of these trials
    """

    def again(config: PlanConfig, controls: Mapping[str, float]) -> PlanResult:
        same = config.scene is result.config.scene  # else it takes longer, with other keys
        return over(config, controls, problem_of(config, _deviation(result) if same else {}))

    try:
        found = again(result.config, result.best.controls)
        if found.status == "reached" and found.config.task is not None:
            found = with_execution(carried_out(found, again))
    except NotConverged:
        return None
    if found.status != "reached":
        return None
    return replace(
        found, candidates=(found.best, *result.candidates[1:]), starts=result.starts,
        failed=result.failed, rounds=(*result.rounds, *found.rounds),
    )  # fmt: skip


def _as_executed(config: PlanConfig, deviation: Mapping[str, float]) -> SimulationProblem:
    """The plan with joints as planned and as executed, at its step and at half of it."""
    fine, trials = zip(*executed_trials(config), strict=True)
    return executed_problem(config, trials, deviation).simulated_by(Alternating(fine))


def _over(side: SideBySide, executed: bool) -> Callable[[PlanConfig, Mapping], Widened]:
    """(plan, deviation) -> the plan over samples of what is uncertain, at its step.

    executed  joints are as executed in every other sample, else as planned
    """

    def problem_of(config: PlanConfig, deviation: Mapping[str, float]) -> Widened:
        samples = PlanSamples(config, deviation, executed)
        return Widened(samples.problem, WIDTH, residuals_by(side, samples))

    return problem_of


def _deviation(result: PlanResult) -> Mapping[str, float]:
    """Of the joints as executed; empty without an arm."""
    return {} if result.execution is None else result.execution.deviation
