"""Training: descents (fit.optimizer) from several starts over growing horizons, then a search.

The sum over tosses is smooth at first and rugged at full length: each impact multiplies small
differences. So the horizon grows stage by stage, the better half of the starts is kept, and a
search without gradients (search.py) ends the fit where gradients no longer help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import NotConverged
from ..inverse.adam import AdamOptions, adam
from ..inverse.optimizers import LMOptions, lbfgs, levenberg_marquardt
from ..inverse.problem import Problem
from ..inverse.simulation_problem import SimulationProblem
from ..inverse.solution import Callback, Iteration, Solution
from .model import Model
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
"""Points whose rollouts go to the engine at once."""


@dataclass
class Fit:
    """Where training ended.

    z, y        shared and nuisance variables;  value  cost there, summed over the tosses
    problem     the last problem, all frames
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


def fit_trials(
    model: Model,
    trials: Sequence,
    reporter: Reporter,
    cancel: Any,
    first: SimulationProblem | None = None,
) -> Fit:
    """Estimate the shared parameters from these trials; raises NotConverged if none can be run.

    first  the model's problem of these trials, evaluated at the first guess (preflight)
    """
    reporter.begin("fit")
    return _Training(model, reporter, cancel, first).run(trials)


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


class _Training:
    """One run of the stages; keeps history and counts."""

    def __init__(
        self, model: Model, reporter: Reporter, cancel: Any, first: SimulationProblem | None = None
    ) -> None:
        self.model, self.reporter, self.cancel = model, reporter, cancel
        self.first = first
        self.options = model.config.fit
        self.history: list[Step] = []
        self.failures: list[str] = []
        self.evaluations = 0
        self.tosses = 1

    @property
    def cancelled(self) -> bool:
        return bool(getattr(self.cancel, "cancelled", False))

    def run(self, trials: Sequence) -> Fit:
        z0 = np.clip(self.model.map.start, self.model.map.lower, self.model.map.upper)
        kept, dropped = self._runnable(trials, z0)
        self.tosses = len(kept)
        found = self._starts(kept, z0)
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

    def _starts(self, trials: list, z0: np.ndarray) -> Fit:
        """Best end of all starts: stage by stage, and the better half goes on."""
        candidates: list[tuple[np.ndarray, np.ndarray | None]] = [
            (z, None) for z in self._drawn(z0)
        ]
        stages = self._stages()
        for s, (model, horizon) in enumerate(stages):
            fits = []
            for k, (z, y) in enumerate(candidates):
                done = (s + k / len(candidates)) / len(stages)
                room = 1.0 / len(candidates) / len(stages)
                fits.append(self._descend(model, trials, z, y, horizon, (done, room)))
                if self.cancelled:
                    break
            fits.sort(key=lambda f: f.value)
            if self.cancelled:
                # a stage may fix parameters; the result needs all of them
                whole = self.model.problem(trials, fits[0].z)
                return replace(fits[0], status="cancelled", problem=whole)
            fits = fits[: max(1, (len(fits) + 1) // 2)]
            candidates = [(f.z, f.y) for f in fits]
        return fits[0]

    def _stages(self) -> list[tuple[Model, int]]:
        """(model, horizon) of every stage: held parameters first, then growing horizons."""
        held = self.options.continuation
        count = len(next(iter(held.values()))) if held else 0
        last = int(self.options.horizons[-1])
        stages = [
            (self.model.held({name: values[k] for name, values in held.items()}), last)
            for k in range(count)
        ]
        return stages + [(self.model, int(horizon)) for horizon in self.options.horizons]

    def _drawn(self, z0: np.ndarray) -> list[np.ndarray]:
        """The YAML's start, then seeded draws around it."""
        rng = np.random.default_rng(self.options.seed)
        low, high = self.model.map.lower, self.model.map.upper
        span = np.where(np.isfinite(high - low), high - low, 1.0)
        draws = rng.standard_normal((self.options.starts - 1, len(z0)))
        return [z0, *np.clip(z0 + START_SPREAD * span * draws, low, high)]

    def _descend(
        self, model: Model, trials: list, z: np.ndarray, y: np.ndarray | None, horizon: int,
        share: tuple[float, float],
    ) -> Fit:  # fmt: skip
        """One descent; z is that of all parameters, whatever `model` holds."""
        named = self.model.map.named(z)
        inner = model.scaled(named)
        problem = self._problem(model, trials, inner, horizon)
        limit, (before, room) = self.options.iterations, share

        def on_iteration(p: Iteration) -> None:
            done = before + room * p.iteration / limit
            parameters = {**named, **p.parameters}
            self._note("fit", p.iteration, p.value / self.tosses, parameters, done)

        solution = descend(
            self.options, problem, inner, y, callback=on_iteration, cancel=self.cancel
        )
        self.evaluations += solution.evaluations
        self.failures += solution.failures
        status = "converged" if solution.converged else "not_converged"
        if solution.status == "cancelled":
            status = "cancelled"
        z = self.model.scaled(model.map.named(solution.z))
        return Fit(z, solution.y, solution.value, status, solution.message, problem, trials, [])

    def _problem(
        self, model: Model, trials: list, z: np.ndarray, horizon: int
    ) -> SimulationProblem:
        """The problem of a stage; that of the pre-flight where it is the same one."""
        begins = np.array_equal(z, np.clip(model.map.start, model.map.lower, model.map.upper))
        if self.first is not None and model is self.model and begins and not horizon:
            return self.first
        return model.problem(trials, z, horizon=horizon)

    def _note(
        self, phase: str, iteration: int, objective: float, parameters: Mapping[str, float],
        done: float,
    ) -> None:  # fmt: skip
        self.history.append(Step(phase, iteration, float(objective), dict(parameters)))
        self.reporter.update(done, iteration, objective, parameters)

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
            found = self._drawn_costs(problem, np.clip(draws, low, high), k)
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
            self._note(
                "search",
                k + 1,
                float(np.median(total[-count:])) / self.tosses,
                self.model.map.named(centre),
                (k + 1) / SEARCH_ROUNDS,
            )
            rounds = k + 1
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
        value = float(self._costs(problem, z[None])[0].sum())
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
        )

    def _drawn_costs(
        self, problem: SimulationProblem, z: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draws of round k that could be simulated, and their costs; reported batch by batch."""
        kept, rows = [], []
        for first in range(0, len(z), BATCH):
            batch = z[first : first + BATCH]
            costs = self._costs(problem, batch)
            good = np.isfinite(costs).all(axis=1)
            kept.append(batch[good])
            rows.append(costs[good])
            if self.cancelled:
                break
            done = (k + (first + len(batch)) / len(z)) / SEARCH_ROUNDS
            self.reporter.update(done, k + 1)
        return np.concatenate(kept), np.concatenate(rows)

    def _costs(self, problem: SimulationProblem, z: np.ndarray) -> np.ndarray:
        """Costs (m, K) of every toss at points z (m, nz); inf where a rollout failed."""
        found = problem.evaluate_many(list(z), [None] * len(z), cancel=self.cancel)
        self.evaluations += len(z)
        rows = np.full((len(z), len(problem.trials)), np.inf)
        for row, evaluation in zip(rows, found, strict=True):
            if evaluation.ok:
                row[:] = evaluation.trial_costs
            self.failures += evaluation.failures
        return rows


def _gain(surface: Surface, before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Decrease of the smoothed cost and its standard error over tosses, relative to the cost."""
    now = surface.values(after)
    gained = surface.values(before) - now
    level = abs(float(now.mean())) or 1.0
    error = float(gained.std(ddof=1)) / np.sqrt(len(gained)) if len(gained) > 1 else 0.0
    return float(gained.mean()) / level, error / level
