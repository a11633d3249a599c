"""The one path from recordings to parameters: command line, service and action all call this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..executors import Executor
from ..executors.side_by_side import SideBySide
from ..inverse.adequacy import Adequacy
from ..inverse.bands import TrialBand
from ..inverse.one_sided import Bound
from ..inverse.profile import Profile
from ..inverse.settling_note import unsettled
from ..inverse.solution import bounds_reached
from ..inverse.uncertainty import Uncertainty
from ..output import OutputFolder
from .choice import Choice, choose
from .config import load_estimation
from .discretisation import Check, checks_of, enlarged_note, noted
from .experiment import Data, Experiment, experiment_of, kind_of
from .fit import Fit, fit_trials
from .halves import enlarged, halves_of
from .inertias import read_back
from .model import Model
from .one_side import bounds_of
from .options import EstimationConfig
from .preflight import preflight
from .progress import ProgressCallback, Reporter
from .results import (
    EstimationResult,
    ParameterResult,
    Verdict,
    open_folder,
    provenance,
    write_results,
)
from .spread import band_figures, bands_of, noise_of, profiles_of, uncertainty_of
from .verdict import verdict_of

Known = tuple[Uncertainty | None, Mapping[str, Bound]]
"""Standard deviations, and bounds where these are of no use."""
Observations = Sequence[Any] | Mapping[str, Sequence[Any]]
"""Trials as the kind of the estimation has them: observation.PoseTrial of tosses, for example."""


def estimate(
    config: EstimationConfig | str | Path | Mapping,
    *,
    out: OutputFolder | str | Path | None = None,
    progress: ProgressCallback | None = None,
    cancel: Any = None,
    observations: Observations | None = None,
    report: bool = True,
    executor: Executor | None = None,
    folder: str | Path | None = None,
) -> EstimationResult:
    """Estimate the parameters of `config` from recordings and predict others with them.

    out           folder for result.yaml, metrics.json, report.html, PNGs, motion.mcap; checked
                  before any work. None: nothing is written (`write_results` does it later)
    progress      called with a real2sim.progress.Progress
    cancel        engine.CancelToken; when cancelled the best so far is returned (and written)
    observations  trials to train on instead of the YAML's, or {"train": [...], "validate": [...]}
    report        write report.html, PNGs and motion.mcap too
    executor      does the fit's independent parts side by side (diffsim_ros.executors): descents
                  from several starts, draws of a search, halves of the trials, profiles
                  [one after the other]
    folder        keeps the results of these parts; those that it has are not done again

    Equal inputs give equal digits, whatever the number of threads, the executor and the caller.
    Raises InputError for unusable input, NotConverged if no trial can be simulated.
    """
    if not isinstance(config, EstimationConfig):
        config = load_estimation(config)
    side = SideBySide(executor, folder)
    run = kind_of(config.kind).estimation(config, progress, cancel)
    if run is not None and side:
        rule = "a kind whose fit simulates, for an executor or a folder of its parts"
        raise config.error("kind", config.kind, rule, "leave them out: it is fitted in a moment")
    results = None
    if out is not None:
        results = out if isinstance(out, OutputFolder) else open_folder(out, report=report)
    given = observations or {}
    roles = given if isinstance(given, Mapping) else {"train": given}
    try:
        result = (run or _Estimation(config, progress, cancel, side).run)(roles)
    except BaseException:
        if results is not None:
            results.discard_if_empty()
        raise
    if results is not None:
        write_results(result, results, report=report)
    return result


class _Estimation:
    """One estimation: reads, fits, validates and reports."""

    def __init__(
        self, config: EstimationConfig, progress: ProgressCallback | None, cancel: Any,
        side: SideBySide,
    ) -> None:  # fmt: skip
        self.config, self.cancel, self.side = config, cancel, side
        self.reporter = Reporter(progress, _plan(config))

    @property
    def cancelled(self) -> bool:
        return bool(getattr(self.cancel, "cancelled", False))

    def run(self, observations: Mapping[str, Sequence[Any]]) -> EstimationResult:
        self.reporter.begin("read")
        experiment, data, choice = self._chosen(observations)
        before = preflight(experiment.model, data.train, self.cancel)
        fit = fit_trials(
            experiment.model, data.train, self.reporter, self.cancel, before.problem, self.side
        )
        notes = [*data.notes, *choice.notes, *before.notes]
        notes += [f"not fitted: {sentence}" for sentence in fit.dropped]
        uncertainty: Uncertainty | None = None
        bounds: dict[str, Bound] = {}
        profiles: tuple[Profile, ...] = ()
        bands: tuple[TrialBand, ...] = ()
        metrics: dict = {"train": self._training(experiment, fit, data)}
        metrics["preflight"] = before.figures
        if choice.figures is not None:
            metrics["choice"] = choice.figures
        predictions: Sequence[Any] = ()
        at_rest: Sequence[Any] = ()
        verdict: Verdict | None = None
        checks: list[Check] = []
        if not self.cancelled:
            self.reporter.begin("uncertainty")
            noise = noise_of(fit)
            uncertainty, sentence = uncertainty_of(fit, self.config.uncertainty, noise)
            uncertainty, more = self._compared_halves(experiment.model, fit, uncertainty, metrics)
            notes.append(f"std_dev: {sentence}{more}")
            if self.config.uncertainty.one_sided:
                bounds = bounds_of(experiment.model, fit, uncertainty, self.cancel, self.side)
            if self.config.fit.check_settling:
                rollouts = fit.evaluations * len(fit.kept)
                loose = unsettled(fit.problem, fit.z, fit.y, rollouts, self.cancel)
                if loose is not None:
                    notes.append(str(loose))
                    fit = replace(fit, message=f"{fit.message}; {loose.short}")
            plain = uncertainty
            self.reporter.begin("discretisation")
            checks, sentences = checks_of(experiment.model, fit, plain, self.cancel)
            uncertainty = noted(checks, plain)
            notes += [check.sentence() for check in checks] + sentences
            notes += filter(None, [enlarged_note(plain, uncertainty)])
            metrics |= {check.of.kind: check.figures() for check in checks}
            self.reporter.begin("profile")
            profiles = profiles_of(
                experiment.model, fit, uncertainty, self.reporter, self.cancel, self.side
            )
            notes += [f"profile of {one.name}: {one.note}" for one in profiles if one.note]
            self.reporter.begin("validate")
            assessed = experiment.assess(data, fit, self.reporter, self.cancel)
            metrics["train"].update(assessed.train)
            metrics["validate"] = assessed.validate
            count = self.config.uncertainty.bands
            bands = bands_of(experiment.model, data.validate, fit, plain, count, self.cancel)
            if bands:
                metrics["bands"] = band_figures(bands)
            predictions, at_rest = assessed.predictions, assessed.at_rest
            notes += assessed.notes
            known = (plain, bounds)
            verdict = self._verdict(experiment, fit, known, noise, predictions, checks)
        status = "cancelled" if self.cancelled else fit.status
        metrics["timing"] = self.reporter.end()
        metrics["timing"]["total"] = sum(metrics["timing"].values())
        metrics["status"] = status
        if verdict is not None:
            metrics["verdict"] = verdict.metrics()
        result = self._result(
            experiment, data, fit, (uncertainty, bounds), metrics, predictions, notes, status
        )
        return replace(
            result, profiles=profiles, bands=bands, at_rest=tuple(at_rest), verdict=verdict
        )

    def _chosen(self, given: Mapping[str, Sequence[Any]]) -> tuple[Experiment, Data, Choice]:
        """Experiment, recordings and what was chosen, from here on the configuration."""
        experiment = experiment_of(self.config)
        data = experiment.read(given)
        choice = choose(
            self.config, experiment.model, data.train, self.reporter, self.cancel, self.side
        )
        if choice.config is not self.config:
            self.config = choice.config
            experiment = experiment_of(self.config)
        return experiment, experiment.read(given) if choice.changed else data, choice

    def _compared_halves(
        self, model: Model, fit: Fit, found: Uncertainty | None, metrics: dict
    ) -> tuple[Uncertainty | None, str]:
        """Uncertainty that halves of the trials agree with, and what to add to its sentence."""
        options = self.config.uncertainty
        if found is None:
            return None, ""
        if not options.halves:
            return found, "; not compared with halves of the trials"
        halves = halves_of(model, fit, found, options.seed, self.cancel, self.side)
        if halves is None:
            return found, ""
        metrics["halves"] = halves.metrics()
        return enlarged(found, halves), str(halves)

    def _verdict(
        self, experiment: Experiment, fit: Fit, known: Known, noise: Adequacy | None,
        shown: Sequence[Any], checks: Sequence[Check],
    ) -> Verdict | None:  # fmt: skip
        """Verdict by the recordings that were not fitted, if there are any."""
        new, (found, bounds) = [p for p in shown if p.role == "validate"], known
        verdict = verdict_of(
            experiment, fit, found, noise, new or shown, self.cancel, bounds, checks
        )
        return None if self.cancelled else verdict

    def _training(self, experiment: Experiment, fit: Fit, data: Data) -> dict:
        """Figures of the fit itself."""
        return {
            **experiment.counts(fit),
            "dropped": len(fit.dropped),
            "objective": fit.value / max(len(fit.kept), 1),
            "evaluations": fit.evaluations,
            "rollouts": fit.evaluations * len(data.train),
            "failed_rollouts": len(fit.failures),
        }

    def _result(
        self,
        experiment: Experiment,
        data: Data,
        fit: Fit,
        known: Known,
        metrics: Mapping,
        predictions: Sequence[Any],
        notes: Sequence[str],
        status: str,
    ) -> EstimationResult:
        model, kind, (uncertainty, bounds) = experiment.model, self.config.kind, known
        names = model.map.names
        correlation = np.eye(len(names)) if uncertainty is None else uncertainty.correlation
        sources = [
            source
            for trial in (*data.train, *data.validate)
            for source in (trial.source, *getattr(trial, "further", ()))
        ]
        return EstimationResult(
            name=self.config.name,
            kind=kind,
            status=status,
            message=fit.message,
            parameters=tuple(_parameters(model, fit, uncertainty, bounds)),
            correlated=names,
            correlation=correlation,
            metrics=metrics,
            history=tuple(fit.history),
            predictions=tuple(predictions),
            dropped={
                f"{kind} not fitted": len(fit.dropped),
                "failed rollouts": len(fit.failures),
                "missing frames": data.missing,
            },
            notes=tuple(notes),
            provenance=provenance(self.config.place, sources),
            config=self.config.source,
            scene=model.scene_parameters(fit.z),
            derived=tuple(_derived(model, fit, uncertainty)),
        )


def _plan(config: EstimationConfig) -> list[tuple[str, float]]:
    """Expected effort of every phase, in evaluations of the training set."""
    fit, uncertainty = config.fit, config.uncertainty
    held = max((len(values) for values in fit.continuation.values()), default=0)
    choice = config.choice
    laws = 0 if choice is None else (1 + len(choice.laws)) * choice.starts
    stages = len(fit.horizons) + held
    starts = fit.starts + sum(max(1, fit.starts >> k) for k in range(1, stages))
    descents, search = 4.0 * starts * fit.iterations, float(fit.search_evaluations)
    halves = descents + 0.5 * search if uncertainty.halves and uncertainty.method != "none" else 0.0
    return [
        ("read", 0.5),
        ("choose", 0.0 if choice is None else float(laws * choice.iterations)),
        ("fit", descents),
        ("search", search),
        ("uncertainty", 2.0 + 0.05 * uncertainty.samples + halves),
        ("discretisation", 2.0 + 10.0 * fit.check_mesh),
        ("profile", 30.0 * len(uncertainty.profile)),
        ("validate", 5.0),
    ]


def _derived(model: Model, fit: Fit, uncertainty: Uncertainty | None) -> Iterator[ParameterResult]:
    """Mass, centre and inertia of every payload whose inertia was estimated."""
    covariance = None if uncertainty is None else uncertainty.covariance_z
    for name, unit, value, std_dev in read_back(model.map, fit.z, covariance):
        yield ParameterResult(name, unit, value, std_dev, None, None, True, False)


def _parameters(
    model: Model, fit: Fit, uncertainty: Uncertainty | None, bounds: Mapping[str, Bound]
) -> Iterator[ParameterResult]:
    """One ParameterResult per parameter, fixed ones included, in the order of the YAML."""
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
        bound = bounds.get(name)
        if bound is not None:
            note = "; ".join(filter(None, [str(bound), note]))
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
            start=options.value,
            bound=bound,
        )
