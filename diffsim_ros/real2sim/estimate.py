"""The one path from recordings to parameters: command line, service and action all call this."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..inverse.solution import bounds_reached
from ..inverse.uncertainty import Uncertainty
from ..output import OutputFolder
from .config import EstimationConfig, load_estimation
from .fit import Fit, fit_tosses
from .flight import check_gravity
from .model import TossModel, spacing
from .observation import Trial
from .progress import ProgressCallback, Reporter
from .provenance import provenance
from .results import EstimationResult, ParameterResult, Prediction, open_folder, write_results
from .selection import Selection, overlap
from .spread import uncertainty_of
from .validation import Predicted, figures, predict, validated

Observations = Sequence[Trial] | Mapping[str, Sequence[Trial]]


@dataclass(frozen=True)
class _Data:
    """Tosses to train on and to predict, and what was noticed about them."""

    train: list[Trial]
    validate: list[Trial]
    selection: Selection | None
    notes: list[str]


def estimate(
    config: EstimationConfig | str | Path | Mapping,
    *,
    out: OutputFolder | str | os.PathLike | None = None,
    progress: ProgressCallback | None = None,
    cancel=None,
    observations: Observations | None = None,
    report: bool = True,
) -> EstimationResult:
    """Estimate the parameters of `config` from recorded tosses and predict others with them.

    out           folder for result.yaml, metrics.json, report.html, PNGs, motion.mcap; checked
                  before any work. None: nothing is written (`write_results` does it later)
    progress      called with a real2sim.progress.Progress
    cancel        _engine.CancelToken; when cancelled the best so far is returned (and written)
    observations  trials to train on instead of the YAML's, or {"train": [...], "validate": [...]}
    report        write report.html, PNGs and motion.mcap too

    Equal inputs give equal digits, whatever the number of threads and whoever calls.
    Raises InputError for unusable input, NotConverged if no toss can be simulated.
    """
    if not isinstance(config, EstimationConfig):
        config = load_estimation(config)
    folder = None
    if out is not None:
        folder = out if isinstance(out, OutputFolder) else open_folder(out, report=report)
    try:
        result = _Estimation(config, progress, cancel).run(observations)
    except BaseException:
        if folder is not None:
            folder.discard_if_empty()
        raise
    if folder is not None:
        write_results(result, folder, report=report)
    return result


class _Estimation:
    """One estimation: reads, fits, validates and says what it found."""

    def __init__(self, config: EstimationConfig, progress, cancel) -> None:
        self.config, self.cancel = config, cancel
        self.reporter = Reporter(progress, _plan(config))

    @property
    def cancelled(self) -> bool:
        return bool(getattr(self.cancel, "cancelled", False))

    def run(self, observations: Observations | None) -> EstimationResult:
        self.reporter.begin("read")
        model = TossModel.build(self.config)
        data = self._read(observations)
        self._check(model, data)
        fit = fit_tosses(model, data.train, self.reporter, self.cancel)
        notes = [*data.notes, *(f"not fitted: {sentence}" for sentence in fit.dropped)]
        uncertainty = None
        metrics: dict = {"train": self._training(fit, data)}
        predicted = Predicted([], [], [], [], [])
        if not self.cancelled:
            self.reporter.begin("uncertainty")
            uncertainty, sentence = uncertainty_of(fit, self.config.uncertainty)
            notes.append(f"std_dev: {sentence}")
            self.reporter.begin("validate")
            predicted, figures_of, more = self._validate(model, data, fit)
            metrics.update(figures_of)
            notes += more
        status = "cancelled" if self.cancelled else fit.status
        metrics["timing"] = self.reporter.end()
        metrics["timing"]["total"] = sum(metrics["timing"].values())
        metrics["status"] = status
        return self._result(
            model, data, fit, uncertainty, metrics, predicted.predictions, notes, status
        )

    def _read(self, observations: Observations | None) -> _Data:
        """Tosses of the YAML's selections, or those handed over."""
        config = self.config
        sigma = (config.measurement.sigma_position, np.radians(config.measurement.sigma_rotation))
        given = observations or {}
        if not isinstance(given, Mapping):
            given = {"train": given}
        notes = []
        train = list(given.get("train") or config.train.read(config.body, sigma))
        selection = config.validate
        if "validate" in given:
            validate = list(given["validate"])
        else:
            validate = selection.read(config.body, sigma) if selection is not None else []
        both = overlap(train, validate)
        if both:
            notes.append(
                f"{len(both)} of {len(validate)} validated tosses were trained on too "
                f"(first: {both[0].place}): the validation is no test for them"
            )
        if not validate:
            notes.append("nothing to validate on: the figures are those of the trained tosses")
        return _Data(train, validate, selection, notes)

    def _check(self, model: TossModel, data: _Data) -> None:
        """Refuse recordings whose axes, units or rates contradict the scene."""
        for trials in (data.train, data.validate):
            if not trials:
                continue
            spacing(trials)
            if self.config.measurement.check_gravity:
                sources = dict.fromkeys(trial.poses.source for trial in trials)
                for source in sources:
                    own = [trial for trial in trials if trial.poses.source == source]
                    check_gravity(own, model.gravity(model.map.start))

    def _training(self, fit: Fit, data: _Data) -> dict:
        """Figures of the fit itself."""
        return {
            "tosses": len(fit.kept),
            "toss_ids": [trial.id for trial in fit.kept],
            "dropped": len(fit.dropped),
            "objective": fit.value / max(len(fit.kept), 1),
            "evaluations": fit.evaluations,
            "rollouts": fit.evaluations * len(data.train),
            "failed_rollouts": len(fit.failures),
        }

    def _validate(self, model: TossModel, data: _Data, fit: Fit):
        """Predictions and figures of validation, and of the trained tosses."""
        own = self.config.measurement.own_gravity
        trained = predict(model, fit.kept, fit.z, own_gravity=own, role="train", cancel=self.cancel)
        train = {**self._training(fit, data), **figures(trained)}
        self.reporter.tell(0.4, 1)
        if not data.validate:
            return trained, {"train": train, "validate": None}, []
        selection = data.selection or Selection(self.config.place, "observations", (), "all")
        predicted, found, notes = validated(model, data.validate, selection, fit.z, self.cancel)
        return predicted, {"train": train, "validate": found}, notes

    def _result(
        self,
        model: TossModel,
        data: _Data,
        fit: Fit,
        uncertainty: Uncertainty | None,
        metrics: Mapping,
        predictions: Sequence[Prediction],
        notes: Sequence[str],
        status: str,
    ) -> EstimationResult:
        names = model.map.names
        correlation = np.eye(len(names)) if uncertainty is None else uncertainty.correlation
        dropped = {"tosses not fitted": len(fit.dropped), "failed rollouts": len(fit.failures)}
        dropped["missing frames"] = sum(
            int(trial.frames[-1]) + 1 - len(trial) for trial in (*data.train, *data.validate)
        )
        sources = [trial.poses.source for trial in (*data.train, *data.validate)]
        return EstimationResult(
            name=self.config.name,
            status=status,
            message=fit.message,
            parameters=tuple(_parameters(model, fit, uncertainty)),
            correlated=names,
            correlation=correlation,
            metrics=metrics,
            history=tuple(fit.history),
            predictions=tuple(predictions),
            dropped=dropped,
            notes=tuple(notes),
            provenance=provenance(self.config.place, sources),
            config=self.config.source,
            scene=model.entries(fit.z),
        )


def _plan(config: EstimationConfig) -> list[tuple[str, float]]:
    """Expected effort of every phase, in evaluations of the training set."""
    fit = config.fit
    held = max((len(values) for values in fit.continuation.values()), default=0)
    stages = len(fit.horizons) + held
    starts = fit.starts + sum(max(1, fit.starts >> k) for k in range(1, stages))
    return [
        ("read", 0.5),
        ("fit", 4.0 * starts * fit.iterations),
        ("search", float(fit.search_evaluations)),
        ("uncertainty", 2.0 + 0.05 * config.uncertainty.samples),
        ("validate", 5.0),
    ]


def _parameters(model: TossModel, fit: Fit, uncertainty: Uncertainty | None):
    """One ParameterResult per parameter, held ones included, in the order of the YAML."""
    named = model.map.named(fit.z)
    at_bound = bounds_reached(fit.problem, fit.z)
    for name, options in model.config.parameters.items():
        low, high = options.bounds or (None, None)
        if options.fixed:
            yield ParameterResult(
                name, options.unit, options.value, None, low, high, True, False, "held", True
            )
            continue
        i = model.map.names.index(name)
        std_dev, identifiable, note = None, True, ""
        if uncertainty is not None:
            std_dev = float(uncertainty.std_dev[i])
            std_dev = std_dev if np.isfinite(std_dev) else None
            identifiable, note = bool(uncertainty.identifiable[i]), uncertainty.notes[i]
        elif name in at_bound:
            note = f"stopped at its {at_bound[name]} bound"
        yield ParameterResult(
            name,
            options.unit,
            named[name],
            std_dev,
            low,
            high,
            identifiable,
            name in at_bound,
            note,
        )
