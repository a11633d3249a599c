"""Released bodies with markers as an experiment: recordings read, predictions evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....sensing.observation import Observation
from ....sensing.read import read_trials
from ...experiment import Experiment, RecordingPrediction, predicted, refuse_twice
from ...fit import Fit
from .model import MEASURES, MarkerModel, ReleaseRecording, Swing
from .options import MarkerFiles, MarkerMeasurementOptions


@dataclass(frozen=True)
class MarkerPrediction(RecordingPrediction):
    """One recording, measured and simulated at the same frames (world frame).

    t                    since the release by the rule [s] (n,); the simulation starts at `start`
    measured, simulated  markers [m] (n, m, 3);  before: the same at the first guess, or None
    swings               "measured", "simulated" -> Swing
    vertices, triangles  surface of the body at the frames (n, k, 3) [m], (l, 3), if it is soft
    errors               relative errors of the measures, mean_marker_error_m
    """

    markers: tuple[str, ...]
    t: np.ndarray
    start: float
    measured: np.ndarray
    simulated: np.ndarray
    before: np.ndarray | None
    swings: Mapping[str, Swing]
    vertices: np.ndarray | None = None
    triangles: np.ndarray | None = None


class MarkerExperiment(Experiment):
    """See experiment.Experiment; trials are ReleaseRecordings."""

    measurement = MarkerMeasurementOptions
    recordings = MarkerFiles
    model_of = MarkerModel.build

    def role(
        self, given: Sequence[Observation] | None, recordings: MarkerFiles | None, notes: list[str]
    ) -> list[ReleaseRecording]:
        """Releases of one role, each with the conditions of its name."""
        if recordings is None:
            return []
        sigma = self.config.measurement.sigma
        observations = given or [
            one for file in recordings.files for one in read_trials(file, "markers", sigma=sigma)
        ]
        found = []
        for observation in observations:
            name = observation.name
            found.append(self.model.release(observation, name, recordings.condition(name)))
        refuse_twice([release.name for release in found], self.config.place, recordings.key)
        notes += [release.note for release in found if release.note]
        return found

    def missing(self, trial: ReleaseRecording) -> int:
        """Missing markers, over all frames."""
        return int(np.sum(~np.isfinite(trial.position).all(axis=2)))

    def title(self, trial: ReleaseRecording) -> str:
        """Name of the recording."""
        return trial.name

    def predictions(
        self, trials: Sequence[ReleaseRecording], fit: Fit, role: str, cancel: Any
    ) -> tuple[list, list[str]]:
        """Predictions of the recordings that can be simulated, and sentences about the others."""
        loading = self.config.measurement.loading
        spans = [loading + float(r.t[-1] - r.released) + 0.05 for r in trials]
        runs = self.model.rollouts(trials, fit.z, spans, cancel)
        starts = self.model.delays(trials, fit.z, cancel)
        window = [loading + self.config.measurement.window] * len(trials)
        before = self.model.rollouts(trials, self.model.map.start, window, cancel)
        notes: list[str] = []

        def predict(release: ReleaseRecording, run: Any, start: float, guess: Any) -> Any:
            if start == release.released - loading:
                notes.append(
                    f"{release.name}: the simulated {self.config.measurement.release_marker} does "
                    "not move by measurement.align_distance; it starts at the release by the rule"
                )
            return self._prediction(release, run, start, guess, role)

        return predicted(predict, trials, runs, starts, before, notes=notes)

    def _prediction(
        self, release: ReleaseRecording, run: Any, start: float, first: Any, role: str
    ) -> MarkerPrediction:
        """`run` and `first` are rollouts at the end and at the first guess."""
        t = release.t - release.released
        clock = release.t - start
        measured = release.world(release.position)
        simulated = self.model.markers_at(release, run, clock)
        before = None
        if first.ok:
            early = t <= self.config.measurement.window
            before = self.model.markers_at(release, first, clock[early])
        swings = {
            "measured": self.model.swing(release, release.position),
            "simulated": self.model.swing(release, release.tracker(simulated)),
        }
        return MarkerPrediction(
            release.name, role, release.source, self.model.names, t, start - release.released,
            measured, simulated, before, swings, *self.model.surface(run, clock),
            errors=self._errors(t, measured, simulated, swings),
        )  # fmt: skip

    def _errors(
        self, t: np.ndarray, measured: np.ndarray, simulated: np.ndarray,
        swings: Mapping[str, Swing],
    ) -> dict[str, float]:  # fmt: skip
        theirs, ours = swings["simulated"].figures, swings["measured"].figures
        errors = {f"{name}_error": abs(theirs[name] / ours[name] - 1.0) for name in MEASURES}
        inside = (t >= 0) & (t <= self.config.measurement.window)
        distance = np.linalg.norm(simulated[inside] - measured[inside], axis=2)
        errors["mean_marker_error_m"] = float(np.nanmean(distance))
        for name, column in zip(self.model.names, distance.T, strict=True):
            errors[f"mean_error_m.{name}"] = float(np.nanmean(column))
        return errors

    def figures_of(self, prediction: MarkerPrediction) -> dict:
        """Content of metrics.json for one recording."""
        errors = prediction.errors
        per_marker = {name: errors[f"mean_error_m.{name}"] for name in prediction.markers}
        plain = {k: v for k, v in errors.items() if "." not in k}
        swings = {who: swing.figures for who, swing in prediction.swings.items()}
        return {**plain, **swings, "marker_error_m": per_marker, "start_s": prediction.start}
