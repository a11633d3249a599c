"""Positions and efforts of a robot as an experiment: fitted by inverse dynamics, without rollouts
(real2sim/efforts), whatever was commanded."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....robots.published import joints_of
from ....robots.robot import Robot
from ....robots.urdf import load_robot
from ....sensing.observation import Observation
from ...efforts import EffortModel, EffortOptions, JointError, errors_of, identify
from ...efforts.identify import GAMMAS
from ...efforts.samples import Samples
from ...experiment import Data, Experiment, RecordingPrediction, notes_on_validation, refuse_twice
from ...options import EstimationConfig
from ...progress import ProgressCallback, Reporter
from ...results import EstimationResult, Verdict, finite, provenance
from ..joint.angles import check_angles
from .options import (
    EffortFiles,
    EffortFitOptions,
    EffortMeasurementOptions,
    EffortTopOptions,
    EffortTrial,
    LoggedRobot,
    gains_of,
)
from .parameters import correlation_of, derived_of, parameters_of
from .verdict import Evidence, geometric_mean

DRAWN = 10.0
"""Samples of predictions per period of the filter's bandwidth."""
MOST_DRAWN = 4000
"""Of them in a trial, at most."""
INERTIAS = {"auto": GAMMAS, "held": (np.inf,), "estimated": tuple(g for g in GAMMAS if g < np.inf)}
"""Weights of the URDF's inertias that are compared."""
PLAN = [("read", 1.0), ("fit", 20.0), ("validate", 3.0)]
"""Expected effort of every phase."""


@dataclass(frozen=True)
class EffortPrediction(RecordingPrediction):
    """One stretch of a log, filtered.

    t         since its first sample [s] (n,)
    joints    names;  unit  of the efforts
    measured, simulated, five  efforts (n, m): as logged, by the model, by five coefficients
    moving    where a joint moves, and its effort counts (n, m)
    errors    effort_over_five, effort_over_constant: geometric means over the joints that say
              something; by joint behind a dot, with effort_rms
    """

    t: np.ndarray
    joints: tuple[str, ...]
    unit: str
    measured: np.ndarray
    simulated: np.ndarray
    five: np.ndarray
    moving: np.ndarray


class EffortExperiment(Experiment):
    """See experiment.Experiment; trials are EffortTrials."""

    measurement, fit = EffortMeasurementOptions, EffortFitOptions  # type: ignore[assignment]
    recordings = EffortFiles
    top = EffortTopOptions
    robot_of = LoggedRobot.read
    what = "trials"

    def __init__(self, config: EstimationConfig) -> None:
        self.config = config

    @classmethod
    def estimation(
        cls, config: EstimationConfig, progress: ProgressCallback | None, cancel: Any
    ) -> Callable[[Mapping[str, Sequence]], EstimationResult]:
        """What runs the whole estimation."""
        return EffortEstimation(cls(config), progress, cancel).run

    def read(self, observations: Mapping[str, Sequence]) -> Data:
        """Stretches passed or read; notes on those in both roles."""
        data = super().read(observations)
        both = [v.name for v in data.validate if any(v.shares(t) for t in data.train)]
        told = notes_on_validation(both, len(data.validate), self.what)
        refuse_twice([t.name for t in data.train], self.config.place, "data.train")
        refuse_twice([t.name for t in data.validate], self.config.place, "data.validate")
        return replace(data, notes=told)

    def role(
        self, given: Sequence[Observation] | None, recordings: Any, notes: list[str]
    ) -> list[EffortTrial]:
        """Stretches of one role."""
        if given:
            return [EffortTrial(log, 0.0, float(log.t[-1])) for log in given]
        if recordings is None:
            return []
        known = joints_of(self.config.robot.urdf)
        return recordings.stretches(known)

    def missing(self, trial: EffortTrial) -> int:
        """Readings that a stretch lacks."""
        return sum(int(np.sum(~np.isfinite(table))) for table in trial.log.measured.values())

    def robot(self, trials: Sequence[EffortTrial]) -> tuple[Robot, list[str]]:
        """The robot of these trials, and what was mended in its URDF."""
        own = self.config.robot
        joints = own.joints or trials[0].log.names
        with warnings.catch_warnings(record=True) as mended:
            warnings.simplefilter("always")
            robot = load_robot(own.urdf, meshes="ignore", joints=joints, held=own.held)
        check_angles(robot, [trial.log for trial in trials])
        return robot, [str(one.message) for one in mended]

    def options(self, robot: Robot) -> EffortOptions:
        """How the robot's efforts are identified."""
        config = self.config
        fit: Any = config.fit
        return EffortOptions(
            bandwidth=config.measurement.bandwidth,
            friction=tuple(fit.friction),
            gains=gains_of(config.place, config.measurement.gains, robot.joint_names),
            gammas=INERTIAS[fit.inertias],
            payload=fit.payload,
            physical=fit.physical,
            gravity=config.robot.gravity,
        )


class EffortEstimation:
    """One estimation: reads, fits, predicts and judges."""

    def __init__(
        self, experiment: EffortExperiment, progress: ProgressCallback | None, cancel: Any
    ) -> None:
        self.experiment, self.config, self.cancel = experiment, experiment.config, cancel
        self.reporter = Reporter(progress, PLAN)

    @property
    def cancelled(self) -> bool:
        return bool(getattr(self.cancel, "cancelled", False))

    def run(self, observations: Mapping[str, Sequence]) -> EstimationResult:
        self.reporter.begin("read")
        data = self.experiment.read(observations)
        robot, notes = self.experiment.robot([*data.train, *data.validate])
        self.reporter.begin("fit")
        steps = iter(range(10**9))

        def go_on(share: float) -> bool:
            self.reporter.update(share, next(steps))
            return not self.cancelled

        logs = [trial.log for trial in data.train]
        model = identify(robot, logs, self.experiment.options(robot), go_on)
        self.reporter.begin("validate")
        metrics: dict = {"train": self._figures(model, data.train)}
        predictions: list[EffortPrediction] = []
        verdict = None
        if not self.cancelled:
            role, judged = ("validate", data.validate) if data.validate else ("train", data.train)
            metrics["validate"] = self._figures(model, data.validate) if data.validate else None
            predictions = [self._predicted(model, trial, role) for trial in judged]
            evidence = Evidence(model, errors_of(model, _of(model, judged)), bool(data.validate))
            for trial in data.train:
                evidence.hold_against_noise(trial.log, *self._drawn(model, trial)[:2])
            verdict = evidence.verdict()
        return self._result(data, model, metrics, predictions, verdict, [*data.notes, *notes])

    def _figures(self, model: EffortModel, trials: Sequence[EffortTrial]) -> dict:
        """Content of metrics.json for a role."""
        errors = errors_of(model, _of(model, trials))
        return {
            "trials": len(trials),
            "names": [trial.name for trial in trials],
            **_summed(model, errors),
            "joints": {
                e.joint: {k: finite(v) for k, v in {**vars(e), "share": e.share}.items()}
                for e in errors
            },
        }

    def _drawn(self, model: EffortModel, trial: EffortTrial) -> tuple[Samples, np.ndarray]:
        """Samples that are drawn, and what the model predicts there."""
        periods = trial.log.t[-1] * model.bandwidth
        samples = model.samples([trial.log], min(DRAWN, MOST_DRAWN / periods))
        return samples, model.predicted(samples)

    def _predicted(self, model: EffortModel, trial: EffortTrial, role: str) -> EffortPrediction:
        samples, simulated = self._drawn(model, trial)
        found = errors_of(model, _of(model, [trial]))
        errors = _summed(model, found)
        for one in found:
            errors[f"effort_rms.{one.joint}"] = one.rms
            shares = {"five": one.ratio, "constant": one.share}
            errors |= {
                f"effort_over_{name}.{one.joint}": share
                for name, share in shares.items()
                if np.isfinite(share)
            }
        five = np.einsum("njk,jk->nj", samples.five, model.baseline)
        return EffortPrediction(
            trial.name, role, trial.source, samples.motions[0].t[samples.taken[0]],
            model.robot.joint_names, self.config.measurement.unit, samples.effort, simulated, five,
            samples.moving, errors=errors,
        )  # fmt: skip

    def _result(
        self, data: Data, model: EffortModel, metrics: dict, predictions: Sequence[Any],
        verdict: Verdict | None, notes: Sequence[str],
    ) -> EstimationResult:  # fmt: skip
        config, factor = self.config, model.enlargement
        status = "converged" if model.settled else "not_converged"
        if self.cancelled:
            status = "cancelled"
        rms = float(np.sqrt(np.mean(model.halves**2))) if len(model.halves) else None
        metrics["halves"] = {"rms": rms, "factor": factor}
        metrics["bandwidth"] = model.bandwidth
        metrics["timing"] = self.reporter.end()
        metrics["timing"]["total"] = sum(metrics["timing"].values())
        metrics["status"] = status
        if verdict is not None:
            metrics["verdict"] = verdict.metrics()
        unit = config.measurement.unit
        parameters = parameters_of(model, unit)
        names, correlation = correlation_of(model)
        trials = [*data.train, *data.validate]
        sources = [str(config.robot.urdf), *(trial.source for trial in trials)]
        return EstimationResult(
            name=config.name,
            kind=config.kind,
            status=status,
            message=_message(model, self.cancelled),
            parameters=parameters,
            correlated=names,
            correlation=correlation,
            metrics=metrics,
            history=(),
            predictions=tuple(predictions),
            dropped={"missing readings": data.missing},
            notes=(*notes, *model.notes, _on_sigma(factor, rms)),
            provenance=provenance(config.place, sources),
            config=config.source,
            derived=derived_of(model),
            verdict=verdict,
        )


def _of(model: EffortModel, trials: Sequence[EffortTrial]) -> Samples:
    return model.samples([trial.log for trial in trials])


def _summed(model: EffortModel, errors: Sequence[JointError]) -> dict[str, float]:
    """Geometric means over the joints whose efforts are measurements."""
    stuck = [n for n, k in zip(model.robot.joint_names, model.kinds, strict=True) if k == "stuck"]
    seen = [e for e in errors if e.joint not in stuck]
    if not seen:
        return {}
    return {
        "effort_over_five": geometric_mean([e.ratio for e in seen]),
        "effort_over_constant": geometric_mean([e.share for e in seen]),
    }


def _message(model: EffortModel, cancelled: bool) -> str:
    """How the fit ended."""
    if cancelled:
        return "cancelled; the best so far"
    gamma = model.coefficients.gamma
    what = "held, as estimated ones predict left-out parts of the logs no better"
    if np.isfinite(gamma):
        what = f"estimated, with a weight of {gamma:g} on their distance to the URDF's"
    if model.options.payload:
        what = f"held, but for what {model.options.payload} carries"
    elif len(model.options.gammas) == 1 and not np.isfinite(gamma):
        what = "held"
    end = "" if model.settled else "; the descent had not ended after all its steps"
    return f"inertias of the URDF {what}{end}"


def _on_sigma(factor: float, rms: float | None) -> str:
    """What standard deviations rest on."""
    text = "std_dev: by leaving out blocks of time within which noise may be correlated"
    if rms is None:
        return text
    if factor == 1.0:
        return f"{text}; two halves of the logs agree with it (rms {rms:.2g} of it)"
    return f"{text}, times {factor:.3g}: so far apart are the fits of two halves of the logs"
