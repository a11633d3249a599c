"""Which of several estimations of the same recordings the data support.

Every model is fitted to all training trials, as `estimate` does it, and once more from where the
others ended if that is lower, so that a poor first guess is not taken for a poor model.  Then it is
fitted without each fold of the trials, from the end of the whole fit, and evaluated on that
fold.  Trials to validate on count as held out from the whole fit.  Nothing here knows what was
recorded (experiment.py).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..executors import Executor
from ..executors.fingerprint import fingerprint
from ..executors.side_by_side import ALONE, SideBySide
from ..executors.tasks import Report
from ..inverse.model_comparison import information_criteria, verdict
from ..inverse.uncertainty import residual_noise
from .common_trials import check_samples, of_all, shared_data
from .experiment import experiment_of
from .fit import Fit, descend, fit_trials, has_parts
from .held_out import Fitted, Task, held_out, tasks_of
from .model import Model, on_one_thread
from .model_verdict import HeldOut, ModelComparison, ModelFit, Unfinished, held_out_squares
from .options import EstimationConfig
from .progress import Progress, ProgressCallback, Reporter
from .sensors.statics.loads import Load
from .spread import noise_of, solution_of, uncertainty_of
from .whole_fit import fit_of, plain, whole_fit

FEW = 10
"""Trials up to which each is left out alone; of more, FOLDS folds."""
FOLDS = 5


def compare_models(
    configs: Mapping[str, EstimationConfig], *, folds: int = 0,
    progress: ProgressCallback | None = None, cancel: Any = None,
    observations: Mapping[str, Sequence] | None = None,
    executor: Executor | None = None, folder: str | Path | None = None,
) -> ModelComparison | Unfinished:  # fmt: skip
    """Fit every model to the same trials and compare what they predict.

    configs       name -> estimation; data, measurement and the fit's loss must be the same
    folds         0: each trial left out alone up to FEW of them, else FOLDS folds
    observations  trials instead of the YAML's, as `estimate` takes them
    cancel        ends with Unfinished, which keeps what has been fitted
    executor      does the models' fits, and those without a fold of all models, side by side
                  (diffsim_ros.executors) [one after the other]
    folder        keeps the results of these; those that it has are not done again
    Raises InputError for estimations that cannot be compared.
    """
    check_alike(configs)
    given, models = dict(observations or {}), []
    whole = None if progress is None else _Whole(progress, len(configs))
    for i, (name, config) in enumerate(configs.items()):
        report = None if whole is None else whole.of(name, i)
        models.append(_Model(name, config, report, cancel, folds))
    side = SideBySide(executor, folder)
    for model in models:
        if not model.cancelled:
            model.read(given)
    notes = _fit_alike(models, side, cancel)
    for model in models:
        if not model.cancelled:
            model.improve(models)
    found = _assessed(models, side, cancel)
    if len(found) < len(models):
        fits = {m.name: (m.config, m.fit) for m in models if m.fit is not None}
        return Unfinished(fits, tuple(found), len(models))
    sets = models[0].sets
    criteria, effective = information_criteria({m.name: m.figures for m in found})
    _, squares = held_out_squares(found)
    scores = {m.name: row for m, row in zip(found, squares, strict=True)}
    overlap = float(np.mean([1.0 / (sets.train - len(s)) for s in sets.folds] or [0.0]))
    best, pairs, sentences = verdict(scores, overlap, criteria)
    good = all(m.fit.status == "converged" for m in found)
    return ModelComparison(
        tuple(found), best, pairs, criteria, effective, tuple(sentences),
        tuple([*notes, *_notes(found, sets, effective)]), len(sets.folds),
        "converged" if good else "not_converged",
    )  # fmt: skip


def check_alike(configs: Mapping[str, EstimationConfig]) -> None:
    """InputError unless all are estimations of the same data with the same measure of error."""
    if len(configs) < 2:
        raise InputError("compare", "models", list(configs), "two models or more")
    first = next(iter(configs.values()))
    for config in configs.values():
        for key in ("kind", "body", "train", "validate", "measurement"):
            a, b = _plain(getattr(first, key)), _plain(getattr(config, key))
            if a != b:
                rule = f"the same as in {first.place}, so that errors can be compared"
                raise config.error(key if key != "train" else "data.train", b, rule)
        if _plain(first.statics) != _plain(config.statics):
            rule = f"the same loads and measurements as in {first.place}"
            loads = config.statics and [one.name for one in config.statics.train]
            raise config.error("statics.loads", loads, rule, "what is measured is not the model's")
        for key, value in _measure(first).items():
            own = _measure(config).get(key)
            if own != value:
                rule = f"{value}, as in {first.place}: errors count equally in all models"
                raise config.error(f"fit.{key}", own, rule)


def _measure(config: EstimationConfig) -> dict[str, Any]:
    """What of the fit decides how errors count, and over how long."""
    given = getattr(config.fit, "__dict__", {})
    words = ("loss", "loss_scale", "initial_state", "length", "position_weight")
    found = {key: given[key] for key in words if key in given}
    return found | ({"horizons[-1]": int(given["horizons"][-1])} if "horizons" in given else {})


def _plain(value: Any) -> Any:
    """Options without the place that they were read from."""
    fields = getattr(value, "__dict__", None)
    if fields is None:
        return value
    own = ("place", "reader", *(["source"] if isinstance(value, Load) else []))
    return {k: _paths(v) for k, v in fields.items() if k not in own}


def _paths(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_paths(v) for v in value]
    if isinstance(value, Mapping):
        return {k: _paths(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return repr(value.tolist())  # NaN, not measured, is the same in both
    if isinstance(value, Load):
        return _plain(value)
    return str(value.resolve()) if isinstance(value, Path) else value


class _Whole:
    """Progress of single models as progress of the whole, which never falls."""

    def __init__(self, callback: ProgressCallback, count: int) -> None:
        self.callback, self.count = callback, count
        self.done, self.started = 0.0, time.perf_counter()
        self.shares = [0.0] * count

    def of(self, name: str, i: int) -> ProgressCallback:
        """Callback of model i."""

        def report(p: Progress) -> None:
            self.shares[i] = p.fraction_done
            self.done = max(self.done, sum(self.shares) / self.count)
            elapsed = time.perf_counter() - self.started
            left = elapsed * (1.0 / self.done - 1.0) if self.done > 0.02 else None
            phase = f"{name}: {p.phase}"
            self.callback(replace(p, phase=phase, fraction_done=self.done, seconds_left=left))

        return report


@dataclass(frozen=True)
class _Sets:
    """Number of training trials, and those that each fold leaves out."""

    train: int
    folds: tuple[tuple[int, ...], ...]


def _sets(count: int, folds: int) -> _Sets:
    """Folds of `count` trials, drawn once, the same for all models."""
    wanted = folds or (count if count <= FEW else FOLDS)
    if count < 2:
        return _Sets(count, ())
    order = np.random.default_rng(0).permutation(count)
    wanted = min(wanted, count)
    return _Sets(count, tuple(tuple(sorted(order[k::wanted].tolist())) for k in range(wanted)))


class _Model:
    """One model's fits, whole and fold by fold."""

    def __init__(
        self, name: str, config: EstimationConfig, progress: ProgressCallback | None, cancel: Any,
        folds: int,
    ) -> None:  # fmt: skip
        self.name, self.config, self.cancel, self.wanted = name, config, cancel, folds
        fit = config.fit
        plan = [("read", 0.5), ("fit", 4.0 * fit.starts * fit.iterations),
                ("search", float(fit.search_evaluations)),
                ("held out", 4.0 * fit.iterations)]  # fmt: skip
        self.reporter = Reporter(progress, plan)
        self.experiment = experiment_of(config)  # refused before any work
        self.sets, self.horizon = _Sets(0, ()), int(fit.horizons[-1])
        self.fit: Any = None  # a Fit, when all trials are fitted

    @property
    def cancelled(self) -> bool:
        return bool(getattr(self.cancel, "cancelled", False))

    def read(self, observations: Mapping[str, Sequence]) -> None:
        """Read the trials."""
        self.reporter.begin("read")
        self.data = self.experiment.read(observations)

    def fit_all(self, side: SideBySide) -> Fit:
        """The fit of all trials."""
        return fit_trials(
            self.experiment.model, self.data.train, self.reporter, self.cancel, side=side
        )

    def take(self, fit: Fit) -> None:
        """Take this as the fit of all trials."""
        self.fit, self.sets = fit, _sets(len(fit.kept), self.wanted)
        self.notes = [f"not fitted: {sentence}" for sentence in fit.dropped]

    def improve(self, others: Sequence[_Model]) -> None:
        """Descend from where another model ended, if its values cost less here."""
        fit, model = self.fit, self.experiment.model
        if fit.surface is not None:
            return
        mine = model.map.named(fit.z)
        for other in others:
            if other is self:
                continue
            theirs = other.experiment.model.map.named(other.fit.z)
            z = model.scaled({**mine, **{n: v for n, v in theirs.items() if n in mine}})
            problem = model.problem(fit.kept, z, horizon=self.horizon)
            if problem.evaluate(z, fit.y, cancel=self.cancel).value >= self.fit.value:
                continue
            found = descend(self.config.fit, problem, z, fit.y, cancel=self.cancel)
            if found.value < (1.0 - self.config.fit.tolerance) * self.fit.value:
                self.fit = replace(
                    self.fit, z=found.z, y=found.y, value=found.value, problem=problem,
                    status="converged" if found.converged else "not_converged",
                    message=found.message, evaluations=self.fit.evaluations + found.evaluations,
                )  # fmt: skip
                self.notes.append(
                    f"its own first guess led to a worse end: fitted from that of {other.name}"
                )

    @property
    def tasks(self) -> list[Task]:
        """What is to be predicted."""
        return tasks_of(self.name, self.fit, self.sets.folds, self.data.validate)

    @property
    def fitted(self) -> Fitted:
        """What predicts it."""
        return Fitted.of(self.experiment, self.fit, self.data.validate, self.horizon)

    def assessed(self, held: Sequence[list]) -> ModelFit:
        """The model with standard deviations, noise, and its predictions of held-out trials.

        held  what came of each of `tasks`
        """
        fit = self.fit
        sigmas, sentence = uncertainty_of(fit, self.config.uncertainty, noise_of(fit))
        noise = residual_noise(fit.problem, solution_of(fit))
        square = 2.0 * float(fit.problem.evaluate(fit.z, fit.y).trial_costs.sum())
        by_trial: dict[int, HeldOut] = {}
        for fold, rows in zip(self.sets.folds, held, strict=False):
            for i, row in zip(fold, rows, strict=True):
                by_trial[i] = replace(HeldOut(*row), source=_source(fit.kept[i]))
        evaluated = [by_trial[i] for i in sorted(by_trial)]
        new = zip(self.data.validate, held[len(self.sets.folds) :], strict=True)
        evaluated += [
            replace(HeldOut(*row), source=_source(one), validated=True) for one, (row,) in new
        ]
        notes = (*self.notes, f"std_dev: {sentence}")
        values = fit, square, sigmas, noise, tuple(evaluated), notes
        return ModelFit(self.name, self.config, *values)


def _source(trial: Any) -> str:
    """File of a trial, "" of loads."""
    return str(getattr(trial, "source", ""))


def _fit_alike(models: Sequence[_Model], side: SideBySide, cancel: Any) -> list[str]:
    """Fit every model to the same samples of the same trials; sentences on what is left out."""
    if any(m.cancelled for m in models):
        return []
    data, notes = shared_data([m.experiment for m in models], [m.data for m in models])
    for model, own in zip(models, data, strict=True):
        model.data = own
    _fit_all(models, side, cancel)
    if any(m.cancelled or m.fit is None for m in models):
        return notes
    kept, gone = of_all([m.fit.kept for m in models])
    if gone:  # rollouts of some fail at the first guess of one model
        if not kept[0]:
            rule = "a trial that every model can simulate at its first guess"
            raise InputError("compare", "trials", "none", rule, "begin elsewhere")
        notes.append(f"not fitted by every model, and so by none: {', '.join(gone)}")
        again = [m for m, own in zip(models, kept, strict=True) if len(own) < len(m.fit.kept)]
        for model, trials in zip(models, kept, strict=True):
            model.data = replace(model.data, train=trials)
        _fit_all(again, side, cancel)
        if any(m.cancelled for m in models):
            return notes
    check_samples([m.name for m in models], [m.fit.problem for m in models])
    return notes


def _fit_all(models: Sequence[_Model], side: SideBySide, cancel: Any) -> None:
    """Fit every model to all trials: side by side those whose fits have no parts of their own."""
    whole = [m for m in models if side and not has_parts(m.config.fit) and not m.cancelled]
    ends: dict[int, Fit] = {}

    def here(k: int) -> dict:
        fit = ends[k] = whole[k].fit_all(ALONE)
        return plain(fit, whole[k].data.train)

    def shared() -> dict[str, tuple[Model, list]]:
        once = _Once()
        return {m.name: (on_one_thread(m.experiment.model), once(m.data.train)) for m in whole}

    found = side.results(
        whole_fit, [m.name for m in whole], shared, here, cancel=cancel,
        report=_together(whole, "fit"),
    )  # fmt: skip
    for k, (model, end) in enumerate(zip(whole, found, strict=True)):
        if end is not None:
            own = ends.get(k)
            model.take(own or fit_of(model.experiment.model, model.data.train, end))
    for model in models:
        if model not in whole and not model.cancelled:
            model.take(model.fit_all(side))


def _assessed(models: Sequence[_Model], side: SideBySide, cancel: Any) -> list[ModelFit]:
    """Models all of whose held-out trials were predicted; the trials of all are side by side."""
    ready = [m for m in models if m.fit is not None and not m.cancelled]
    fitted = {m.name: m.fitted for m in ready}
    own = {m.name: m.tasks for m in ready}
    places = [(m, k) for m in ready for k in range(len(own[m.name]))]

    def here(k: int) -> list[list]:
        model, count = places[k]
        if not count:
            model.reporter.begin("held out")
        rows = held_out(fitted, own[model.name][count], cancel)
        if model.cancelled:  # it may have been cut short
            return []
        model.reporter.update((count + 1) / len(own[model.name]), count + 1)
        return rows

    def shared() -> dict[str, Fitted]:
        once = _Once()
        return {
            name: one.for_workers(once(one.kept), once(one.validate))
            for name, one in fitted.items()
        }

    tasks = [task for m in ready for task in own[m.name]]
    rows = side.results(
        held_out, tasks, shared, here, cancel=cancel, report=_together(ready, "held out")
    )
    found = list[ModelFit]()
    for model in ready:
        held = [row for (m, _), row in zip(places, rows, strict=True) if m is model and row]
        if len(held) < len(own[model.name]):
            break
        model.reporter.end()
        found.append(model.assessed(held))
    return found


class _Once:
    """Gives lists that were equal as one, which is sent once."""

    def __init__(self) -> None:
        self._known: dict[str, list] = {}

    def __call__(self, trials: list) -> list:
        return self._known.setdefault(fingerprint(trials), trials)


def _together(models: Sequence[_Model], phase: str) -> Report:
    """Shows how many tasks of all models are done."""

    def report(done: int, count: int) -> None:
        for model in models:
            if model.reporter.phase != phase:
                model.reporter.begin(phase)
            model.reporter.update(done / max(count, 1), done)

    return report


def _notes(found: Sequence[ModelFit], sets: _Sets, effective: float) -> list[str]:
    """How the comparison was made, for a reader who has to trust it."""
    count = found[0].noise.count
    notes = [
        f"AIC and BIC count {effective:.4g} independent residuals of {count}: the correlation "
        "of residuals over time and channels is that of the model that fits best"
    ]
    if sets.folds:
        how = "each left out alone" if len(sets.folds) == sets.train else f"{len(sets.folds)} folds"
        notes.append(
            f"cross-validation over {sets.train} trials, {how}; every fold is fitted from the end "
            "of the whole fit; intervals allow for training sets that overlap"
        )
    if found[0].fit.problem.nuisance_shape[1]:
        notes.append("the start of a held-out trial is fitted to that trial, in every model")
    labels, squares = held_out_squares(found)
    lost = [x for x, row in zip(labels, squares.T, strict=True) if not np.isfinite(row).all()]
    if lost:
        notes.append(f"not predicted by every model and left out: {', '.join(lost)}")
    for m in found:
        if m.fit.status != "converged":
            notes.append(f"{m.name} is not converged: {m.fit.message}")
    return notes
