"""The estimation problem: shared parameters z over many trials, each with its own start  [Eq. 3].

    cost(z, u) = |prior(z)|^2/2 + sum_k w_k [ rho_k(S_k)/2 + linear_k + |u_k|^2/2 ],
    S_k = sum over blocks rho_b(|r|^2) of trial k.

One evaluation is one call of the engine over all trials.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.parameter import assign

from .assembly import Assembly, TrialModel
from .engine_options import options_like
from .objectives import BodySlot
from .output_term import outputs_of
from .parameters import ParameterMap
from .problem import Evaluation
from .trial import InitialState, Trial

FEWER = 2
"""Times fewer variables than parameters they move: S is then carried for the variables alone."""
WHOLE = BodySlot(0, 0, 0, 0)
"""Of objectives of no body."""
MODES = {
    "value": "none", "residuals": "none", "equations": "sensitivity", "curvature": "sensitivity"
}  # fmt: skip

Simulator = Callable[..., list[Any]]
"""(scene, P, steps, options, active, mode, threads, cancel[, directions][, outputs=names]) ->
rollouts, as `engine_rollouts`; without `directions` where a problem is made with one, and `outputs`
only where objectives read some."""
Rows = Sequence[np.ndarray | None] | np.ndarray
"""Nuisance variables of every trial; None: none."""


class SimulationProblem:
    """See `Problem`; `nuisance`: starts are estimated too (u ~ N(0, 1) of `InitialState`).

    simulator  (scene, P, steps, options, active, mode, threads, cancel) -> rollouts
    threads    of the engine, 0: all; the result does not depend on it
    """

    def __init__(
        self, scene: Any, options: Any, parameters: ParameterMap, trials: Sequence[Trial], *,
        nuisance: bool = False, threads: int = 0, adjoint: str = "checkpoint",
        simulator: Simulator | None = None,
    ) -> None:  # fmt: skip
        self.scene, self.options, self.map = scene, options, parameters
        self.trials, self.threads, self.nuisance = tuple(trials), threads, nuisance
        self.names, self.start = parameters.names, parameters.start
        self.lower, self.upper = parameters.lower, parameters.upper
        self.logarithmic = parameters.logarithmic
        self.adjoint, self._simulator = adjoint, simulator or engine_rollouts
        self._maps = [parameters.holding(t.held) if t.held else parameters for t in self.trials]
        self.weights = np.array([t.weight for t in self.trials], float)
        self._scales: dict[int, float] = {}
        self._last: dict[str, tuple[tuple[np.ndarray, np.ndarray], Evaluation]] = {}
        self._base = np.array(scene.values, float)
        self._slots = {**body_slots(scene), "": WHOLE}
        self._check()
        moving = set(parameters.active)
        self._start_index = [self._start_parameters(t) for t in self.trials]
        for trial, index in zip(self.trials, self._start_index, strict=True):
            if nuisance or any(s.slopes for s in trial.starts):
                moving.update(index)
        self.active = sorted(moving)
        self._row = {parameter: row for row, parameter in enumerate(self.active)}
        reads = {n for t in self.trials for o in t.objectives for n in o.parameters}
        self._own = sorted(reads & set(self.names))
        fewer = FEWER * len(self.names) <= len(self.active)
        self._directed = simulator is None and not nuisance and fewer

    def _check(self) -> None:
        if not self.trials:
            raise InputError("SimulationProblem", "trials", 0, "at least one trial")
        # what is at rest has no start, and nuisance variables that nothing reads
        sizes = {sum(s.size for s in t.starts) for t in self.trials if t.steps or t.starts}
        if self.nuisance and (len(sizes) > 1 or sizes == {0}):
            rule = "starts of the same bodies in every trial"
            raise InputError("SimulationProblem", "starts", sorted(sizes), rule)
        known = {p.name for p in self.map.parameters}
        for trial in self.trials:
            self._check_trial(trial, known)
        read = {n for t in self.trials for o in t.objectives for n in o.parameters}
        read |= {n for t in self.trials for s in t.starts for n in s.slopes}
        for name in self.map.unset:
            if name not in read:
                near = nearest(name, [info.name for info in self.scene.parameters])
                rule = "a parameter of the scene, or a name that an objective or start reads"
                raise InputError("parameters", "name", name, rule, near)

    def _check_trial(self, trial: Trial, known: set[str]) -> None:
        place = f"trial {trial.name}"
        frames = trial.steps // self.options.record_every + 1
        for objective in trial.objectives:
            if objective.body not in self._slots:
                near = nearest(objective.body, self._slots)
                raise InputError(place, objective.name, objective.body, "a body of the scene", near)
            if self._slots[objective.body].count > 1 and not objective.soft:
                rule = "a rigid body or particle; of a soft body one with `soft` true"
                raise InputError(place, objective.name, objective.body, rule)
            used = np.atleast_1d(getattr(objective, "frames", 0))
            if used.size == 0 or used.min() < 0 or used.max() >= frames:
                got = "none" if used.size == 0 else f"{used.min()}..{used.max()}"
                raise InputError(place, f"{objective.name}.frames", got, f"0..{frames - 1}")
        names = {n for o in trial.objectives for n in o.parameters}
        names |= {n for s in trial.starts for n in s.slopes}
        for name in sorted(names - known):
            raise InputError(place, "parameters", name, "a parameter", nearest(name, known))
        for start in trial.starts:
            if self.nuisance and start.covariance is None:
                rule = "a covariance, as starts are nuisance variables"
                raise InputError(place, f"start of {start.body!r}", None, rule)

    def _start_parameters(self, trial: Trial) -> list[int]:
        try:
            index = [int(self.scene.index(n)) for s in trial.starts for n in s.parameter_names()]
        except KeyError as error:
            rule = "a body of the scene, rigid if it has an orientation"
            raise InputError(f"trial {trial.name}", "starts", str(error), rule) from None
        both = set(index) & set(self.map.active)
        if both:
            parameter = self.scene.parameters[min(both)].name
            rule = "set by the trial's start or by a parameter, not both"
            raise InputError(f"trial {trial.name}", "starts", parameter, rule)
        return index

    @property
    def nuisance_shape(self) -> tuple[int, int]:
        """(number of trials, nuisance variables of each)."""
        sizes = (sum(s.size for s in t.starts) for t in self.trials)
        size = max(sizes) if self.nuisance else 0
        return len(self.trials), size

    def values(self, z: np.ndarray) -> np.ndarray:
        """Natural values (nz,) at z."""
        return self.map.values(z)

    def value_slopes(self, z: np.ndarray) -> np.ndarray:
        """Slopes dvalue/dz (nz,)."""
        return self.map.value_slopes(z)

    def weighted(self, weights: np.ndarray) -> SimulationProblem:
        """Return the problem with trial k counted weights[k] times; 0: not simulated."""
        other = self._copy()
        other.weights = np.asarray(weights, float) * self.weights
        return other

    def only(self, trials: Sequence[int] | np.ndarray) -> SimulationProblem:
        """Return the problem of these of its trials."""
        other = self._copy()
        other.trials = tuple(self.trials[k] for k in trials)
        other._maps = [self._maps[k] for k in trials]
        other._start_index = [self._start_index[k] for k in trials]
        other.weights = self.weights[np.asarray(trials)]
        return other

    def exact(self) -> SimulationProblem:
        """Return the problem run to stagnation with branches recorded, for gradient checks."""
        return self._recording(stagnate=True)

    def watched(self) -> SimulationProblem:
        """Return the problem whose rollouts also record the modes of all contacts."""
        return self._recording(stagnate=self.options.stagnate)

    def simulated_by(self, simulator: Simulator) -> SimulationProblem:
        """Return the problem with another simulator, which takes `directions` too."""
        other = self._copy()
        other._simulator = simulator
        return other

    def _recording(self, *, stagnate: bool) -> SimulationProblem:
        other = self._copy()
        other.options = options_like(self.options, stagnate=stagnate, record_modes=True)
        return other

    def _copy(self) -> SimulationProblem:
        """A copy to be changed, without this one's cached evaluations."""
        other = copy.copy(self)
        other._last = {}
        return other

    def compliant(self, factor: float, parameters: Sequence[str]) -> SimulationProblem:
        """Return the problem with these engine parameters (k_n, k_t ...) multiplied by `factor`."""
        other = self._copy()
        other._scales = {int(self.scene.index(name)): float(factor) for name in parameters}
        return other

    def shortened(self, frames: int | Sequence[int] | np.ndarray) -> SimulationProblem:
        """Return the problem with every trial ended at this frame; a number or one per trial."""
        other, last = self._copy(), np.broadcast_to(frames, len(self.trials))
        every = self.options.record_every
        other.trials = tuple(t.until(int(f), every) for t, f in zip(self.trials, last, strict=True))
        return other

    def starts(self, z: np.ndarray, y: np.ndarray | None) -> list[tuple[InitialState, ...]]:
        """Estimated starts: for each trial its `InitialState`s at (z, y)."""
        every = zip(self.trials, self._maps, self._rows(y), strict=True)
        return [
            tuple(s.moved(u, held.named(z)) for s, u in self._split(t, row))
            for t, held, row in every
        ]

    def rollouts(
        self, z: np.ndarray, y: np.ndarray | None = None, *, mode: str = "none",
        only: Sequence[int] | None = None, cancel: Any = None,
    ) -> list[Any]:  # fmt: skip
        """Rollouts of the trials at (z, y), failed ones included; only: indices of some."""
        chosen = range(len(self.trials)) if only is None else only
        return self._run(self.vectors(z, y)[list(chosen)], chosen, mode, cancel)

    def vectors(self, z: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
        """Parameters of the scene of all trials at (z, y)  (trials, np)."""
        return np.array([self._vector(k, z, self._rows(y)[k]) for k in range(len(self.trials))])

    def evaluate(
        self, z: np.ndarray, y: np.ndarray | None = None, *, want: str = "value",
        cancel: Any = None,
    ) -> Evaluation:  # fmt: skip
        """See `Problem.evaluate`; the last of "equations" and of "curvature" are kept, so that
        further requests at the same point (the pre-flight, then a fit's start; everything that
        judges its end) cost nothing.
        """
        if MODES.get(want) != "sensitivity":
            return self.evaluate_many([z], [y], want=want, cancel=cancel)[0]
        shape = self.nuisance_shape
        at = (np.array(z, float), np.zeros(shape) if y is None else np.array(y, float))
        if want in self._last and all(map(np.array_equal, self._last[want][0], at)):
            return self._last[want][1]
        found = self.evaluate_many([z], [y], want=want, cancel=cancel)[0]
        if found.ok:
            self._last[want] = at, found
        return found

    def evaluate_many(
        self, zs: Sequence[np.ndarray], ys: Sequence[np.ndarray | None], *, want: str = "value",
        cancel: Any = None,
    ) -> list[Evaluation]:  # fmt: skip
        """Evaluations at several points in one call of the engine."""
        kept = [k for k in range(len(self.trials)) if self.weights[k] != 0]
        points = list(zip(zs, ys, strict=True))
        P = [self._vector(k, z, self._rows(y)[k]) for z, y in points for k in kept]
        mode = self.adjoint if want == "gradient" else MODES[want]
        directions = None
        if self._directed and mode == "sensitivity":
            na = len(self.active)
            directions = [self._slopes(k, z, None)[0][:na] for z in zs for k in kept]
        try:
            runs = self._run(np.array(P), kept * len(zs), mode, cancel, directions)
        except ValueError as error:  # the engine refuses a parameter vector: a failed step
            if len(points) == 1:
                return [Evaluation(math.inf, (str(error),))]
            return [self.evaluate(z, y, want=want, cancel=cancel) for z, y in points]
        n = len(kept)
        return [
            self._assembled(z, self._rows(y), dict(zip(kept, runs[i * n :], strict=False)), want)
            for i, (z, y) in enumerate(points)
        ]

    def residuals(
        self, zs: Sequence[np.ndarray], *, only: Sequence[int] | None = None, cancel: Any = None
    ) -> list[list[np.ndarray] | None]:
        """At every point: residuals (m,) of each trial, weights applied; None if a rollout failed.

        Half their squares and those of the prior add up to the cost where losses are plain.
        only  indices of some trials
        """
        chosen = list(range(len(self.trials)) if only is None else only)
        count = len(chosen)
        P = [self._vector(k, z, None) for z in zs for k in chosen]
        runs = self._run(np.array(P), chosen * len(zs), "none", cancel)
        found: list[list[np.ndarray] | None] = []
        for i, z in enumerate(zs):
            here = runs[i * count : (i + 1) * count]
            ok = all(run.ok for run in here)
            pairs = zip(chosen, here, strict=True)
            found.append([self._residual(k, z, run) for k, run in pairs] if ok else None)
        return found

    def _residual(self, k: int, z: np.ndarray, run: Any) -> np.ndarray:
        """Residual (m,) of trial k, all its objectives."""
        named, objectives = self._maps[k].named(z), self.trials[k].objectives
        rows = [o.term(run, self._slots[o.body], named).residual.ravel() for o in objectives]
        return np.sqrt(self.weights[k]) * np.concatenate(rows)

    def _run(
        self, P: np.ndarray, trials: Sequence[int], mode: str, cancel: Any,
        directions: Sequence[np.ndarray] | None = None,
    ) -> list[Any]:  # fmt: skip
        steps = np.array([self.trials[k].steps for k in trials])
        active = None if mode == "none" else self.active
        settings = (self.options, active, mode, self.threads, cancel)
        more = () if directions is None else (directions,)
        named = outputs_of(o for trial in self.trials for o in trial.objectives)
        asked: dict[str, Any] = {"outputs": named} if named else {}
        return self._simulator(self.scene, P, steps, *settings, *more, **asked)

    def _rows(self, y: np.ndarray | None) -> Rows:
        return [None] * len(self.trials) if not self.nuisance or y is None else np.asarray(y, float)

    def _split(
        self, trial: Trial, row: np.ndarray | None
    ) -> Iterable[tuple[InitialState, np.ndarray | None]]:
        """Pairs (start, its nuisance variables or None)."""
        if not trial.starts:
            return ()
        if row is None and self.nuisance:
            row = np.zeros(self.nuisance_shape[1])
        cuts = np.cumsum([s.size for s in trial.starts])[:-1]
        parts: Sequence[np.ndarray | None] = [None] * len(trial.starts)
        if row is not None:
            parts = np.split(row, cuts)
        return zip(trial.starts, parts, strict=True)

    def _vector(self, k: int, z: np.ndarray, row: np.ndarray | None) -> np.ndarray:
        """Engine parameter vector of trial k."""
        trial, named = self.trials[k], self._maps[k].named(z)
        p = self._base.copy()
        assign(self.scene, p, trial.parameters)
        p = self._maps[k].engine(z, p)
        if trial.starts:
            parts = [s.parameter_values(s.offset(u, named))[0] for s, u in self._split(trial, row)]
            p[self._start_index[k]] = np.concatenate(parts)
        for index, factor in self._scales.items():
            p[index] *= factor
        return p

    def _slopes(
        self, k: int, z: np.ndarray, row: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """T_z (na + own, nz) and T_y (na + own, ny): d(active parameters, own values)/d(z, u_k)."""
        nz, ny, na = len(self.names), self.nuisance_shape[1], len(self.active)
        T_z, T_y = np.zeros((na + len(self._own), nz)), np.zeros((na + len(self._own), ny))
        T_z[[self._row[i] for i in self.map.active]] = self._maps[k].jacobian(z)
        value_slopes = self.map.value_slopes(z)
        for i, name in enumerate(self._own):
            column = self.names.index(name)
            T_z[na + i, column] = value_slopes[column]
        first, named, index = 0, self._maps[k].named(z), self._start_index[k]
        for start, u in self._split(self.trials[k], row):
            span = slice(first, first + start.size)
            first += start.size
            if u is None and not start.slopes:
                continue
            _, by_offset = start.parameter_values(start.offset(u, named))
            rows = [self._row[i] for i in index[span]]
            if u is not None:
                T_y[rows, span] = by_offset @ start.factor
            for name, (_, slope) in start.slopes.items():
                if name in self.names:
                    column = self.names.index(name)
                    T_z[rows, column] += by_offset @ np.asarray(slope, float) * value_slopes[column]
        for parameter, factor in self._scales.items():
            if parameter in self._row:
                T_z[self._row[parameter]] *= factor
        return T_z, T_y

    def _assembled(
        self, z: np.ndarray, rows: Rows, runs: Mapping[int, Any], want: str
    ) -> Evaluation:
        """Evaluation at (z, rows) from the rollouts {trial: rollout} of one point."""
        if any(r.status == "cancelled" for r in runs.values()):
            return Evaluation(math.inf, cancelled=True)
        failures = [
            f"{self.trials[k].name}: {r.status}: {r.message}" for k, r in runs.items() if not r.ok
        ]
        if failures:
            return Evaluation(math.inf, tuple(failures))
        ndof = int(self.scene.ndof)
        branches: list[int] = []
        parts = Assembly(self.nuisance_shape, len(self.names), want)
        for k, run in runs.items():
            trial = self.trials[k]
            slots = [self._slots[o.body] for o in trial.objectives]
            named = self._maps[k].named(z)
            terms = [
                o.term(run, slot, named) for o, slot in zip(trial.objectives, slots, strict=True)
            ]
            branches += [int(run.mode_hash), *(t.signature for t in terms if t.signature)]
            row = rows[k]
            u = np.zeros(self.nuisance_shape[1]) if row is None else row
            maps = None if want in ("value", "residuals") else self._slopes(k, z, row)
            columns = len(self.active)
            if maps is not None and self._directed and want in ("equations", "curvature"):
                T_z, T_y = maps  # S is by z already
                columns, own = len(self.names), T_z[columns:]
                maps = np.vstack([np.eye(columns), own]), T_y[: columns + len(own)]
            model = TrialModel(run, trial, terms, slots, self._own, columns, ndof)
            parts.add(k, model, self.weights[k], u, maps)
        names = [t.name for t in self.trials]
        return parts.evaluation(self.map.prior(z), names, tuple(branches))


def body_slots(scene: Any) -> Mapping[str, BodySlot]:
    """Where every body of an engine scene stands in a rollout."""
    names = list(scene.body_names)
    offsets = [int(scene.dof_offset(name)) for name in names] + [int(scene.body_ndof)]
    slots = {}
    for name, dof, end in zip(names, offsets[:-1], offsets[1:], strict=True):
        first, count = scene.nodes_of(name)
        slots[name] = BodySlot(first, dof, end - dof, count)
    return slots


def engine_rollouts(
    scene: Any, P: np.ndarray, steps: np.ndarray, options: Any, active: Sequence[int] | None,
    mode: str, threads: int, cancel: Any, directions: Sequence[np.ndarray] | None = None,
    outputs: Sequence[str] = (),
) -> list[Any]:  # fmt: skip
    """Rollouts of the engine, one a row of P, with `directions` of the active parameters and
    these `outputs`."""
    from diffsim_ros import _engine

    settings = {"active": active, "mode": mode, "threads": threads, "cancel": cancel}
    return _engine.rollout_batch(
        scene, P, steps, options, directions=directions, outputs=list(outputs), **settings
    )
