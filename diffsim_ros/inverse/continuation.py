"""Continuation: a sequence of easier problems, each started where the last one ended.

Bouncing motion has a rough cost: a slightly different impact ends on another face.  Two methods to
start in the right valley, alone or together:

    [problem.compliant(f, ["ground.k_n", "ground.k_t"]) for f in (0.03, 0.2)] + [problem]
        soft to stiff: a soft k_n spreads impacts over many steps; fewer and wider valleys
    [problem.shortened(n) for n in horizons(frames)] + [problem]
        short to long: few bounces first; each stage's start states are good enough for the next
    growing(problem)
        the same with shares of each trial: a quarter, half, all of it
    three_phases(problem, starts, contact, bounce)
        a throw [G 4.7.3]: starts by the flight, material by the first bounce, then everything
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError

from .optimizers import LMOptions, levenberg_marquardt
from .pinned import Pinned
from .problem import Problem
from .simulation_problem import SimulationProblem
from .solution import Solution

# enough for a stage that only prepares the next
EARLY = LMOptions(max_iterations=25, cost_tolerance=1e-5, kink_tolerance=1e-3)


def horizons(longest: int, first: int = 6, growth: float = 1.35) -> list[int]:
    """Frames at which to end the stages of `shortened`: first, growing, below `longest`."""
    if first < 1 or not growth > 1.0:
        raise InputError("horizons", "first, growth", (first, growth), "first >= 1 and growth > 1")
    stages = [int(first)]
    while stages[-1] * growth < longest:
        stages.append(int(np.ceil(stages[-1] * growth)))
    return [n for n in stages if n < longest]


def growing(problem: SimulationProblem, shares: Sequence[float] = (0.25, 0.5)) -> list[Problem]:
    """The problem up to growing shares of each trial's length, then the whole one.

    problem  a SimulationProblem;  shares  increasing, within (0, 1)
    A share at which no trial has measurements left is skipped.
    """
    if any(not 0 < s < 1 for s in shares) or list(shares) != sorted(set(shares)):
        raise InputError("growing", "shares", list(shares), "increasing numbers between 0 and 1")
    every = problem.options.record_every
    stages = []
    for share in shares:
        frames = [max(1, round(share * t.steps / every)) for t in problem.trials]
        short = problem.shortened(frames)
        if all(trial.objectives for trial in short.trials):
            stages.append(short)
    return [*stages, problem]


def continuation(
    problems: Sequence[Problem], *, z: np.ndarray | None = None, y: np.ndarray | None = None,
    solver: Callable[..., Solution] = levenberg_marquardt,
    on_stage: Callable[[int], None] | None = None, early: Mapping | None = None, **settings: Any,
) -> list[Solution]:  # fmt: skip
    """Solve the problems in turn; the last is the actual one.

    on_stage  called with the stage's number before it starts
    settings  go to the solver; `early` replaces some of them in all stages but the last, e.g.
              {"options": EARLY}
    Returns one Solution per stage; the last is the answer.  A stage whose start fails passes its
    own start on.  Cancelling ends with the stages so far: the last point may be of an easier
    problem.
    """
    if not problems:
        raise InputError("continuation", "problems", 0, "at least one problem")
    solutions: list[Solution] = []
    for stage, problem in enumerate(problems):
        if on_stage is not None:
            on_stage(stage)
        here = settings if stage == len(problems) - 1 else {**settings, **(early or {})}
        solution = solver(problem, z, y, **here)
        solutions.append(solution)
        if solution.status == "cancelled":
            break
        if np.isfinite(solution.value):
            z, y = solution.z, solution.y
    return solutions


def three_phases(
    problem: SimulationProblem, starts: Sequence[str], contact: int | Sequence[int],
    bounce: int | Sequence[int], *, z: np.ndarray | None = None,
    solver: Callable[..., Solution] = levenberg_marquardt,
    on_stage: Callable[[int], None] | None = None, early: Mapping | None = None, **settings: Any,
) -> list[Solution]:  # fmt: skip
    """Fit a throw in the three phases of [G 4.7.3]; the last Solution is the answer.

    problem   a SimulationProblem without nuisance starts
    starts    names of the parameters that are its start; they alone are fitted to the flight
    contact   frame of the first contact: a number, or one per trial;  bounce: where the first
              bounce ends; up to there the other parameters alone are fitted
    solver, on_stage, early, settings  as in `continuation`
    The first two Solutions are of the problem with the others fixed.
    """
    unknown = [name for name in starts if name not in problem.names]
    if unknown or len(set(starts)) in (0, len(problem.names)):
        raise InputError("three_phases", "starts", list(starts), "some, not all, of the parameters")
    own = [problem.names.index(name) for name in starts]
    rest = [i for i in range(len(problem.names)) if i not in own]
    z = np.array(problem.start if z is None else z, float)
    solutions: list[Solution] = []
    for stage, (frame, held) in enumerate(((contact, rest), (bounce, own), (None, []))):
        if on_stage is not None:
            on_stage(stage)
        part = Pinned(
            problem if frame is None else problem.shortened(frame), {i: z[i] for i in held}
        )
        here = {**settings, **(early or {})} if held else settings
        solution = solver(part, z[part.kept], **here)
        if np.isfinite(solution.value):
            z = part.whole(solution.z)
        solutions.append(solution)
        if solution.status == "cancelled":
            break
    return solutions
