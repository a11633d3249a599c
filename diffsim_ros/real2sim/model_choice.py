"""Which of several estimations of the same recordings the data support.

Every model is fitted to all training trials, as `estimate` does it; then again without each fold of
them, from the end of the whole fit, and judged on what it did not see.  Trials to validate on count
as held out from the whole fit.  Nothing here knows what was recorded (kinds).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..inverse.model_comparison import (
    Criteria,
    FitFigures,
    Paired,
    information_criteria,
    verdict,
)
from ..inverse.optimizers import levenberg_marquardt
from ..inverse.pinned import Pinned
from ..inverse.time_correlation import TimeNoise
from ..inverse.uncertainty import Uncertainty, residual_noise
from .config import EstimationConfig
from .fit import Fit, descend, fit_trials
from .kinds import Data, Experiment, kind_of
from .progress import Progress, ProgressCallback, Reporter
from .provenance import provenance
from .results import finite
from .spread import solution_of, uncertainty_of

FEW = 10
"""Trials up to which each is left out alone; of more, FOLDS folds."""
FOLDS = 5


@dataclass(frozen=True)
class Held:
    """One trial that a model did not see: mean square of its residuals, the kind's own figures."""

    name: str
    square: float
    errors: Mapping[str, float]


@dataclass(frozen=True)
class ModelFit:
    """One model: its fit to all training trials, and what it predicts of trials left out.

    square  sum of squares at the end of the fit, as the losses count them, without priors
    noise   how its residuals are alike over time
    """

    name: str
    config: EstimationConfig
    fit: Fit
    square: float
    uncertainty: Uncertainty | None
    noise: TimeNoise
    held: tuple[Held, ...]
    notes: tuple[str, ...]

    @property
    def figures(self) -> FitFigures:
        """For the information criteria; starts that are fitted too count in all models alike."""
        count, effective = self.noise.count, self.noise.effective
        return FitFigures(self.square, count, effective, len(self.fit.problem.names))

    def parameters(self) -> dict[str, dict]:
        """Values with standard deviation, unit and note by name."""
        problem, z = self.fit.problem, self.fit.z
        found = {}
        for i, (name, value) in enumerate(zip(problem.names, problem.values(z), strict=True)):
            sigma = None if self.uncertainty is None else float(self.uncertainty.std_dev[i])
            note = "" if self.uncertainty is None else self.uncertainty.notes[i]
            unit = self.config.parameters[name].unit
            found[name] = {
                "value": float(value), "std_dev": None if sigma is None else finite(sigma),
                "unit": unit, "note": note,
            }  # fmt: skip
        return found


@dataclass(frozen=True)
class ModelComparison:
    """The verdict, and what it rests on.

    best        of the models by held-out error, else by AIC
    pairs       every other model's held-out error over the best's
    criteria    AIC, BIC by model;  effective: residuals that they count
    sentences   the verdict in words, the first says it all
    folds       of the cross-validation, 0: none;  trials: names of those held out
    """

    models: tuple[ModelFit, ...]
    best: str
    pairs: Mapping[str, Paired]
    criteria: Mapping[str, Criteria]
    effective: float
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    folds: int
    status: str

    @property
    def told_apart(self) -> bool:
        """True when the data speak for one model against all others."""
        if self.pairs:
            return all(pair.clear for pair in self.pairs.values())
        return self.sentences[0].startswith("the data support")

    def metrics(self) -> dict:
        """Content of metrics.json."""
        models = {}
        for m in self.models:
            figures, c = m.figures, self.criteria[m.name]
            models[m.name] = {
                "objective": figures.square / figures.count, "residuals": figures.count,
                "effective_residuals": figures.effective, "parameters": figures.parameters,
                "delta_aic": c.aic, "delta_bic": c.bic, "aic_weight": c.weight,
                "held_out": held_figures(m.held),
            }  # fmt: skip
        pairs = {name: asdict(pair) for name, pair in self.pairs.items()}
        return {
            "best": self.best, "told_apart": int(self.told_apart), "folds": self.folds,
            "effective_residuals": self.effective, "models": models, "against_best": pairs,
            "status": self.status,
        }  # fmt: skip

    def document(self) -> dict:
        """Content of result.yaml."""
        models = {}
        for m in self.models:
            models[m.name] = {
                "status": m.fit.status, "message": m.fit.message, "parameters": m.parameters(),
                "held_out": {h.name: finite(h.square) for h in m.held}, "notes": list(m.notes),
                "provenance": provenance(m.config.place, [t.source for t in m.fit.kept]),
                "config": dict(m.config.source),
            }  # fmt: skip
        return {
            "verdict": list(self.sentences), "best": self.best, "told_apart": self.told_apart,
            "notes": list(self.notes), "status": self.status, "models": models,
        }  # fmt: skip


def held_figures(held: Sequence[Held]) -> dict:
    """Mean over held-out trials: root of the mean square residual, and the kind's figures."""
    seen = [h for h in held if math.isfinite(h.square)]
    found: dict = {"trials": len(seen)}
    if seen:
        found["rms_residual"] = math.sqrt(float(np.mean([h.square for h in seen])))
        keys = set.intersection(*(set(h.errors) for h in seen))
        for key in sorted(keys):
            found[key] = float(np.mean([h.errors[key] for h in seen]))
    return found


def compare_models(
    configs: Mapping[str, EstimationConfig], *, folds: int = 0,
    progress: ProgressCallback | None = None, cancel=None,
    observations: Mapping[str, Sequence] | None = None,
) -> ModelComparison:  # fmt: skip
    """Fit every model to the same trials and compare what they predict.

    configs       name -> estimation; data, measurement and the fit's loss must be the same
    folds         0: each trial left out alone up to FEW of them, else FOLDS folds
    observations  trials instead of the YAML's, as `estimate` takes them
    cancel        ends with InputError unless every model was fitted
    Raises InputError for estimations that cannot be compared.
    """
    check_alike(configs)
    found, sets = [], None
    for i, (name, config) in enumerate(configs.items()):
        told = _share(progress, name, i, len(configs))
        one = _Model(name, config, told, cancel, folds)
        found.append(one.run(dict(observations or {})))
        sets = sets or one.sets
        if getattr(cancel, "cancelled", False):
            rule = "every model to be fitted"
            raise InputError("compare", "cancelled", f"after {i + 1} of {len(configs)}", rule)
    criteria, effective = information_criteria({m.name: m.figures for m in found})
    names = [h.name for h in found[0].held]
    scores = {m.name: _row(m.held, names) for m in found}
    overlap = float(np.mean([len(s) / (sets.train - len(s)) for s in sets.folds] or [0.0]))
    best, pairs, sentences = verdict(scores, overlap, criteria)
    good = all(m.fit.status == "converged" for m in found)
    return ModelComparison(
        tuple(found), best, pairs, criteria, effective, tuple(sentences),
        tuple(_notes(found, sets, effective)), len(sets.folds),
        "converged" if good else "not_converged",
    )  # fmt: skip


def _row(held: Sequence[Held], names: Sequence[str]) -> list[float]:
    by_name = {h.name: h.square for h in held}
    return [by_name.get(name, math.nan) for name in names]


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
        own = getattr(config.fit, "__dict__", {})
        for key, value in getattr(first.fit, "__dict__", {}).items():
            if key in ("loss", "loss_scale", "initial_state", "position_weight"):
                if own.get(key) != value:
                    rule = f"{value}, as in {first.place}: errors count alike in all models"
                    raise config.error(f"fit.{key}", own.get(key), rule)


def _plain(value):
    """Options without the place that they were read from."""
    fields = getattr(value, "__dict__", None)
    if fields is None:
        return value
    return {k: _paths(v) for k, v in fields.items() if k not in ("place", "reader")}


def _paths(value):
    if isinstance(value, (tuple, list)):
        return [_paths(v) for v in value]
    return str(value.resolve()) if isinstance(value, Path) else value


def _share(progress, name, i, count) -> ProgressCallback | None:
    """Progress of one of the models as progress of the whole."""
    if progress is None:
        return None

    def told(p: Progress) -> None:
        done = (i + p.fraction_done) / count
        progress(replace(p, phase=f"{name}: {p.phase}", fraction_done=done, seconds_left=None))

    return told


@dataclass(frozen=True)
class _Sets:
    """Number of training trials, and those that each fold leaves out."""

    train: int
    folds: tuple[tuple[int, ...], ...]


def _sets(count: int, folds: int) -> _Sets:
    """Folds of `count` trials, drawn once and for all models alike."""
    wanted = folds or (count if count <= FEW else FOLDS)
    if count < 2:
        return _Sets(count, ())
    order = np.random.default_rng(0).permutation(count)
    wanted = min(wanted, count)
    return _Sets(count, tuple(tuple(sorted(order[k::wanted].tolist())) for k in range(wanted)))


class _Model:
    """One model's fits, whole and fold by fold."""

    def __init__(self, name: str, config: EstimationConfig, progress, cancel, folds: int) -> None:
        self.name, self.config, self.cancel, self.wanted = name, config, cancel, folds
        fit = config.fit
        plan = [("read", 0.5), ("fit", 4.0 * fit.starts * fit.iterations),
                ("search", float(fit.search_evaluations)),
                ("held out", 4.0 * fit.iterations)]  # fmt: skip
        self.reporter = Reporter(progress, plan)
        self.sets, self.horizon = _Sets(0, ()), int(fit.horizons[-1])

    def run(self, observations: Mapping[str, Sequence]) -> ModelFit:
        self.reporter.begin("read")
        experiment = kind_of(self.config.kind).experiment(self.config)
        data = experiment.read(observations)
        fit = fit_trials(experiment.model, data.train, self.reporter, self.cancel)
        self.sets = _sets(len(fit.kept), self.wanted)
        notes = [f"not fitted: {sentence}" for sentence in fit.dropped]
        found, sentence = uncertainty_of(fit, self.config.uncertainty)
        notes.append(f"std_dev: {sentence}")
        noise = residual_noise(fit.problem, solution_of(fit))
        square = 2.0 * float(fit.problem.evaluate(fit.z, fit.y).trial_costs.sum())
        self.reporter.begin("held out")
        held = []
        for k, fold in enumerate(self.sets.folds):
            if getattr(self.cancel, "cancelled", False):
                break
            z = self._without(experiment, fit, set(fold))
            held += [self._held(experiment, fit, fit.kept[i], z) for i in fold]
            self.reporter.tell((k + 1) / len(self.sets.folds), k + 1)
        held += [self._held(experiment, fit, trial, fit.z) for trial in data.validate]
        self.reporter.end()
        return ModelFit(
            self.name, self.config, fit, square, found, noise, tuple(held), tuple(notes)
        )

    def _without(self, experiment: Experiment, fit: Fit, fold: set[int]) -> np.ndarray:
        """Parameters (nz,) fitted to the trials that are not in the fold."""
        kept = [t for i, t in enumerate(fit.kept) if i not in fold]
        if fit.surface is not None:  # rugged: the minimum of the others' smoothed costs
            weights = np.array([float(i not in fold) for i in range(len(fit.kept))])
            z = fit.surface.minimum(weights)
            return np.clip(z, fit.problem.lower, fit.problem.upper)
        y = np.array([row for i, row in enumerate(fit.y) if i not in fold])
        problem = experiment.model.problem(kept, fit.z, horizon=self.horizon)
        return descend(self.config.fit, problem, fit.z, y, cancel=self.cancel).z

    def _held(self, experiment: Experiment, fit: Fit, trial, z: np.ndarray) -> Held:
        """What the model with these parameters makes of a trial; its start may be fitted."""
        problem = experiment.model.problem([trial], z, horizon=self.horizon)
        name = problem.trials[0].name
        y = np.zeros(problem.nuisance_shape)
        if y.size:
            pinned = Pinned(problem, dict(enumerate(z)))
            y = levenberg_marquardt(pinned, pinned.start, cancel=self.cancel).y
        seen = problem.evaluate(z, y, cancel=self.cancel)
        if not seen.ok:
            return Held(name, math.nan, {})
        one = replace(fit, kept=[trial], z=z)
        judged = experiment.judge(Data([], [], []), one, Reporter(None, []), self.cancel)
        errors = judged.predictions[0].errors if judged.predictions else {}
        plain = {k: float(v) for k, v in errors.items() if "." not in k}
        return Held(name, 2.0 * float(seen.trial_costs.sum()) / seen.count, plain)


def _notes(found: Sequence[ModelFit], sets: _Sets, effective: float) -> list[str]:
    """How the comparison was made, for a reader who has to trust it."""
    count = found[0].noise.count
    notes = [
        f"AIC and BIC count {effective:.4g} independent residuals of {count}: how alike residuals "
        "are over time and channels is taken from those of the model that fits best"
    ]
    if sets.folds:
        how = "each left out alone" if len(sets.folds) == sets.train else f"{len(sets.folds)} folds"
        notes.append(
            f"cross-validation over {sets.train} trials, {how}; every fold is fitted from the end "
            "of the whole fit; intervals allow for training sets that overlap"
        )
    if found[0].fit.problem.nuisance_shape[1]:
        notes.append("the start of a held-out trial is fitted to that trial, in all models alike")
    lost = sorted({h.name for m in found for h in m.held if not math.isfinite(h.square)})
    if lost:
        notes.append(f"not predicted by every model and left out: {', '.join(lost)}")
    for m in found:
        if m.fit.status != "converged":
            notes.append(f"{m.name} is not converged: {m.fit.message}")
    return notes
