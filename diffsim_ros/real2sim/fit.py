"""Training: descents (fit.optimizer) from several starts over growing horizons, then a search.

The sum over tosses is smooth at first and rugged at full length: each impact multiplies small
differences. So the horizon grows stage by stage, the better half of the starts is kept, and a
search without gradients (search.py) ends the fit where gradients no longer help.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import NotConverged
from ..executors.side_by_side import ALONE, SideBySide
from ..inverse.adam import AdamOptions, adam
from ..inverse.optimizers import LMOptions, lbfgs, levenberg_marquardt
from ..inverse.problem import Problem
from ..inverse.simulation_problem import SimulationProblem
from ..inverse.solution import STATUSES, Callback, Iteration, Solution
from .model import Model, on_one_thread
from .options import FitOptions
from .progress import Reporter
from .results import Step
from .surface import Surface, better_half

START_SPREAD = 0.2
"""Standard deviation of drawn starts, as a share of the distance between the bounds (in z)."""
SEARCH_SPREAD = 0.03
"""Standard deviation of the draws of a search, likewise."""
SEARCH_ROUNDS = 4
"""Rounds of draws; after each the centre moves to the smooth minimum of all so far."""
FURTHER_ROUNDS = 4
"""Rounds at most that follow while the smoothed cost still falls."""
ENOUGH_DRAWS = 1.5
"""Draws that a surface needs, as a multiple of its coefficients."""
SETTLED = 0.02
"""A search has converged when its last round gained less than this share of the cost, however much
tosses differ."""
BATCH = 16
"""Points whose rollouts go to the engine at once; a task of an executor is one point."""


@dataclass
class Fit:
    """Where training ended.

    z, y        shared and nuisance variables;  value  cost there, summed over the tosses
    problem     the last problem, all frames;  taken  z (nz,) at which its starts were taken
    surface     smoothed costs around the end of a search, None without one
    kept        trials that were fitted; dropped: sentences about those that could not be simulated
    """

    z: np.ndarray
    y: np.ndarray
    value: float
    status: str
    message: str
    problem: SimulationProblem
    kept: list
    dropped: list[str]
    surface: Surface | None = None
    history: list[Step] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    evaluations: int = 0
    taken: np.ndarray | None = None


def fit_trials(
    model: Model,
    trials: Sequence,
    reporter: Reporter,
    cancel: Any,
    first: SimulationProblem | None = None,
    side: SideBySide = ALONE,
) -> Fit:
    """Estimate the shared parameters from these trials; raises NotConverged if none can be run.

    first  the model's problem of these trials, evaluated at the first guess (preflight)
    side   how descents from several starts, and draws of a search, are done
    """
    reporter.begin("fit")
    return _Training(model, reporter, cancel, first, side).run(trials)


def has_parts(options: FitOptions) -> bool:
    """Whether a fit has independent parts."""
    return options.starts > 1 or options.search_evaluations > 0


def part_of_fit(shared: tuple[Model, Sequence], task: tuple, cancel: Any) -> Any:
    """A part of a fit as a task of an executor: ("descent", ...) or ("costs", ...)."""
    (model, trials), (kind, *arguments) = shared, task
    if kind == "descent":
        return _descent(model, trials, *arguments, cancel=cancel)
    at, draws = arguments
    return _costs(_problem_at(shared, at), draws, cancel)


_last = threading.local()
"""The problem that this thread had last: draws of a search are tasks of one problem."""


def _problem_at(shared: tuple[Model, Sequence], at: np.ndarray) -> SimulationProblem:
    last: Any = getattr(_last, "value", (None, None, None))
    known, z, problem = last
    if known is not shared or not np.array_equal(z, at):
        model, trials = shared
        problem = model.problem(trials, at)
        _last.value = shared, at, problem
    return problem


def _descent(
    model: Model, trials: Sequence, held: Mapping[str, float] | None, z: np.ndarray,
    y: np.ndarray | None, horizon: int, *, cancel: Any = None,
    problem: SimulationProblem | None = None,
    report: Callable[[Iteration, dict], None] | None = None,
) -> dict:  # fmt: skip
    """The end of one descent as plain data, z of all parameters.

    held     parameter -> value at which it is fixed meanwhile
    problem  its own, where it is there already
    report   called with an iteration, and all parameters then
    """
    named = model.map.named(z)
    inner = model if held is None else model.held(held)
    start = inner.scaled(named)
    if problem is None:
        problem = inner.problem(trials, start, horizon=horizon)
    history: list[list] = []

    def note(p: Iteration) -> None:
        history.append([p.iteration, p.value / len(trials), {**named, **p.parameters}])
        if report is not None:
            report(p, history[-1][2])

    end = descend(model.config.fit, problem, start, y, callback=note, cancel=cancel)
    status = "converged" if end.converged else "not_converged"
    return {
        "z": model.scaled(inner.map.named(end.z)), "y": end.y, "value": end.value,
        "status": "cancelled" if end.status == "cancelled" else status, "message": end.message,
        "failures": list(end.failures), "evaluations": end.evaluations, "history": history,
    }  # fmt: skip


def _costs(problem: SimulationProblem, z: np.ndarray, cancel: Any) -> tuple[np.ndarray, list[str]]:
    """Costs (m, K) of every toss at points z (m, nz), inf where a rollout failed, and why."""
    found = problem.evaluate_many(list(z), [None] * len(z), cancel=cancel)
    rows, failures = np.full((len(z), len(problem.trials)), np.inf), list[str]()
    for row, evaluation in zip(rows, found, strict=True):
        if evaluation.ok:
            row[:] = evaluation.trial_costs
        failures += evaluation.failures
    return rows, failures


def descend(
    fit: FitOptions, problem: Problem, z: np.ndarray, y: np.ndarray | None, *,
    callback: Callback | None = None, cancel: Any = None,
) -> Solution:  # fmt: skip
    """One descent from (z, y) by the optimiser and with the settings of the YAML's `fit`."""
    hooks: dict[str, Any] = {"callback": callback, "cancel": cancel}
    if fit.optimizer == "lbfgs":
        limits: dict[str, Any] = {
            "max_iterations": fit.iterations, "cost_tolerance": fit.tolerance
        }  # fmt: skip
        return lbfgs(problem, z, y, **limits, **hooks)
    if fit.optimizer == "adam":
        return adam(problem, z, y, options=AdamOptions(max_iterations=fit.iterations), **hooks)
    options = LMOptions(
        max_iterations=fit.iterations,
        cost_tolerance=fit.tolerance,
        gradient_tolerance=1e-6,
        step_tolerance=1e-6,
    )
    return levenberg_marquardt(problem, z, y, options=options, **hooks)


@dataclass(frozen=True)
class _End:
    """The end of a descent: z (nz,) of all parameters, as `begun`; problem None: done elsewhere."""

    z: np.ndarray
    y: np.ndarray
    value: float
    status: str
    message: str
    begun: np.ndarray
    problem: SimulationProblem | None


class _Training:
    """One run of the stages; keeps history and counts."""

    def __init__(
        self, model: Model, reporter: Reporter, cancel: Any,
        first: SimulationProblem | None = None, side: SideBySide = ALONE,
    ) -> None:  # fmt: skip
        self.model, self.reporter, self.cancel = model, reporter, cancel
        self.first, self.side = first, side
        self.trials: list = []
        self.options = model.config.fit
        self.history: list[Step] = []
        self.failures: list[str] = []
        self.evaluations = 0

    @property
    def cancelled(self) -> bool:
        return bool(getattr(self.cancel, "cancelled", False))

    def run(self, trials: Sequence) -> Fit:
        z0 = np.clip(self.model.map.start, self.model.map.lower, self.model.map.upper)
        kept, dropped = self._runnable(trials, z0)
        self.trials = kept
        found = self._starts(z0)
        if not self.cancelled and self.options.search_evaluations:
            self.reporter.begin("search")
            found = self._search(found)
        return replace(
            found,
            kept=kept,
            dropped=dropped,
            history=self.history,
            failures=self.failures,
            evaluations=self.evaluations,
        )

    def _runnable(self, trials: Sequence, z: np.ndarray) -> tuple[list, list[str]]:
        """Tosses whose rollout succeeds at the first guess, and sentences about the others."""
        if self.first is not None and self.first.evaluate(z, want="equations").ok:
            return list(trials), []
        problem = self.model.problem(trials, z)
        runs = problem.rollouts(z, cancel=self.cancel)
        self.evaluations += 1
        kept, dropped = [], []
        for trial, run in zip(trials, runs, strict=True):
            if run.ok or run.status == "cancelled":
                kept.append(trial)
            else:
                dropped.append(f"{trial.place}: {run.status}: {run.message}")
        if not kept:
            raise NotConverged(f"no trial can be simulated at the first guess: {dropped[0]}")
        return kept, dropped

    @cached_property
    def _shared(self) -> tuple[Model, list]:
        """What all parts need."""
        return on_one_thread(self.model), self.trials

    def _starts(self, z0: np.ndarray) -> Fit:
        """Best end of all starts: stage by stage, and the better half goes on."""
        candidates: list[tuple[np.ndarray, np.ndarray | None]] = [
            (z, None) for z in self._drawn(z0)
        ]
        stages = self._stages()
        for s, (held, horizon) in enumerate(stages):
            ends = self._descended(held, candidates, horizon, (s / len(stages), 1.0 / len(stages)))
            ends.sort(key=lambda end: end.value)
            if self.cancelled:
                if not ends:
                    return self._unfitted(candidates[0][0])
                # a stage may fix parameters; the result needs all of them
                whole = self.model.problem(self.trials, ends[0].z)
                return self._fit(replace(ends[0], status="cancelled", problem=whole), 0)
            ends = ends[: max(1, (len(ends) + 1) // 2)]
            candidates = [(end.z, end.y) for end in ends]
        return self._fit(ends[0], stages[-1][1])

    def _fit(self, end: _End, horizon: int) -> Fit:
        """The end of a descent whose parameters were all free, with its problem."""
        problem = end.problem or self._problem(None, end.begun, horizon)
        given = (end.z, end.y, end.value, end.status, end.message)
        taken = self._begun(None, end.begun)[1]
        return Fit(*given, problem, self.trials, [], taken=taken)

    def _descended(
        self, held: Mapping[str, float] | None, starts: Sequence[tuple], horizon: int,
        share: tuple[float, float],
    ) -> list[_End]:  # fmt: skip
        """Ends of a stage's descents, in the order of the starts; of a cancelled one those there
        are."""
        before, room = share
        problems: dict[int, SimulationProblem] = {}

        def here(k: int) -> dict:
            z, y = starts[k]
            problem = problems[k] = self._problem(held, z, horizon)

            def report(p: Iteration, parameters: dict) -> None:
                done = (k + p.iteration / self.options.iterations) / len(starts)
                objective = float(p.value) / len(self.trials)
                self.reporter.update(before + room * done, p.iteration, objective, parameters)

            return _descent(
                self.model, self.trials, held, z, y, horizon, cancel=self.cancel,
                problem=problem, report=report,
            )  # fmt: skip

        def done(count: int, whole: int) -> None:
            self.reporter.update(before + room * count / whole, count)

        tasks = [("descent", held, z, y, horizon) for z, y in starts]
        ends = self.side.results(
            part_of_fit, tasks, lambda: self._shared, here, report=done, cancel=self.cancel
        )
        found = list[_End]()
        for k, end in enumerate(ends):
            if end is None:
                continue
            self.history += [Step("fit", i, float(value), at) for i, value, at in end["history"]]
            self.evaluations += end["evaluations"]
            self.failures += end["failures"]
            given = {name: end[name] for name in ("z", "y", "value", "status", "message")}
            found.append(_End(**given, begun=starts[k][0], problem=problems.get(k)))
        return found

    def _unfitted(self, z: np.ndarray) -> Fit:
        """Where a fit was cancelled before any descent had ended."""
        problem = self.model.problem(self.trials, z)
        y = np.zeros(problem.nuisance_shape)
        value = problem.evaluate(z, y).value
        message = STATUSES["cancelled"][1]
        return Fit(z, y, value, "cancelled", message, problem, self.trials, [], taken=z)

    def _stages(self) -> list[tuple[dict[str, float] | None, int]]:
        """(what is held, horizon) of every stage: held parameters first, then growing horizons."""
        held = self.options.continuation
        count = len(next(iter(held.values()))) if held else 0
        last = int(self.options.horizons[-1])
        stages: list[tuple[dict[str, float] | None, int]] = [
            ({name: values[k] for name, values in held.items()}, last) for k in range(count)
        ]
        return stages + [(None, int(horizon)) for horizon in self.options.horizons]

    def _drawn(self, z0: np.ndarray) -> list[np.ndarray]:
        """The YAML's start, then seeded draws around it."""
        rng = np.random.default_rng(self.options.seed)
        low, high = self.model.map.lower, self.model.map.upper
        span = np.where(np.isfinite(high - low), high - low, 1.0)
        draws = rng.standard_normal((self.options.starts - 1, len(z0)))
        return [z0, *np.clip(z0 + START_SPREAD * span * draws, low, high)]

    def _begun(self, held: Mapping[str, float] | None, z: np.ndarray) -> tuple[Model, np.ndarray]:
        """The model of a stage, and z of its own parameters where a descent from z begins."""
        inner = self.model if held is None else self.model.held(held)
        return inner, inner.scaled(self.model.map.named(z))

    def _problem(
        self, held: Mapping[str, float] | None, z: np.ndarray, horizon: int
    ) -> SimulationProblem:
        """The problem of a descent; that of the pre-flight where it is the same one."""
        inner, start = self._begun(held, z)
        begins = np.array_equal(start, np.clip(inner.map.start, inner.map.lower, inner.map.upper))
        if self.first is not None and held is None and begins and not horizon:
            return self.first
        return inner.problem(self.trials, start, horizon=horizon)

    def _search(self, start: Fit) -> Fit:
        """Rounds of draws around the best point so far, which moves to their smooth minimum."""
        low, high = self.model.map.lower, self.model.map.upper
        spread = SEARCH_SPREAD * np.where(np.isfinite(high - low), high - low, 1.0)
        rng, n = np.random.default_rng(self.options.seed), len(start.z)
        problem = self.model.problem(start.kept, start.z)
        weights = np.ones(len(start.kept))
        count = -(-self.options.search_evaluations // SEARCH_ROUNDS)
        centre, surface, gain = start.z, None, (np.inf, 0.0)
        z, costs, rounds = np.zeros((0, n)), np.zeros((0, len(weights))), 0
        for k in range(SEARCH_ROUNDS + FURTHER_ROUNDS):
            if k >= SEARCH_ROUNDS and (surface is None or gain[0] <= SETTLED):
                break
            draws = centre + spread * rng.standard_normal((count, n))
            found = self._drawn_costs(problem, np.clip(draws, low, high), start.z, k)
            if self.cancelled:
                break
            z, costs = np.concatenate([z, found[0]]), np.concatenate([costs, found[1]])
            if not len(z):
                continue
            total = costs.sum(axis=1)
            before = centre
            # a surface through few draws around a far start would only follow their ripples
            if k == 0 or len(z) < ENOUGH_DRAWS * Surface.coefficients(n):
                centre = better_half(z, total)
            else:
                surface = Surface.through(z, costs)
                centre = np.clip(surface.minimum(weights), low, high)
                gain = _gain(surface, before, centre)
            rounds, objective = k + 1, float(np.median(total[-count:])) / len(self.trials)
            parameters = self.model.map.named(centre)
            self.history.append(Step("search", rounds, objective, parameters))
            self.reporter.update(rounds / SEARCH_ROUNDS, rounds, objective, parameters)
        return self._searched(start, problem, centre, surface, (rounds, *gain))

    def _searched(
        self, start: Fit, problem: SimulationProblem, z: np.ndarray, surface: Surface | None,
        ended: tuple[int, float, float],
    ) -> Fit:  # fmt: skip
        """The end of a search as a Fit; it has converged when the last round gained little.

        ended  rounds, gain of the last one and its standard error over the tosses
        """
        if self.cancelled:
            return replace(start, z=z, status="cancelled", message="cancelled; the best so far")
        costs, failures = _costs(problem, z[None], self.cancel)
        value = float(costs[0].sum())
        self.evaluations += 1
        self.failures += failures
        rounds, gain, error = ended
        settled = gain <= SETTLED
        message = (
            f"the last of {rounds} rounds of the search "
            f"lowered the smoothed cost by {100 * gain:.2g} %, with a standard error over the "
            f"tosses of {100 * error:.2g} %"
            if surface is not None
            else "the search had too few draws for a surface; raise fit.search_evaluations"
        )
        return replace(
            start,
            z=z,
            value=value,
            status="converged" if settled else "not_converged",
            message=message,
            problem=problem,
            surface=surface,
            taken=start.z,
        )

    def _drawn_costs(
        self, problem: SimulationProblem, z: np.ndarray, at: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draws of round k that could be simulated, and their costs; reported batch by batch.

        at  z at which the starts of `problem` were taken
        """
        size = 1 if self.side else BATCH
        batches = [z[first : first + size] for first in range(0, len(z), size)]

        def report(done: int, count: int) -> None:
            self.reporter.update((k + done / count) / SEARCH_ROUNDS, k + 1)

        def here(i: int) -> tuple[np.ndarray, list[str]]:
            found = _costs(problem, batches[i], self.cancel)
            if not self.cancelled:
                report(i + 1, len(batches))
            return found

        tasks = [("costs", at, batch) for batch in batches]
        rows = self.side.results(
            part_of_fit, tasks, lambda: self._shared, here, report=report, cancel=self.cancel
        )
        kept, costs = [z[:0]], [np.zeros((0, len(self.trials)))]
        for batch, row in zip(batches, rows, strict=True):
            if row is None:
                continue
            self.evaluations += len(batch)
            self.failures += row[1]
            good = np.isfinite(row[0]).all(axis=1)
            kept.append(batch[good])
            costs.append(row[0][good])
        return np.concatenate(kept), np.concatenate(costs)


def _gain(surface: Surface, before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Decrease of the smoothed cost and its standard error over tosses, relative to the cost."""
    now = surface.values(after)
    gained = surface.values(before) - now
    level = abs(float(now.mean())) or 1.0
    error = float(gained.std(ddof=1)) / np.sqrt(len(gained)) if len(gained) > 1 else 0.0
    return float(gained.mean()) / level, error / level
