"""Thrown bodies before sensors as an experiment: read, predicted, evaluated by distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....fields import Reader
from ....inverse.optimizers import LMOptions, levenberg_marquardt
from ....inverse.simulation_problem import body_slots
from ....sensing.observation import Observation
from ...experiment import Data, Experiment, RecordingPrediction, predicted, refuse_twice
from ...fit import Fit
from ...options import FitOptions
from ...spread import StartEstimate, start_estimates
from .camera import Camera
from .comparison import SensorComparison, frames_of, predicted_for
from .detections import skin_of
from .model import CloudModel, ThrowRecording
from .options import CloudFiles, CloudFitOptions, CloudMeasurementOptions

DRAWN = 120.0
"""Simulated surfaces per second that a prediction keeps for pictures, about."""
FLIGHT_FIT = LMOptions(max_iterations=30, cost_tolerance=1e-6)


@dataclass(frozen=True, eq=False)
class CloudPrediction(RecordingPrediction):
    """One recording, measured and simulated (scene's frame).

    sensor       the first one's name;  camera  whether it is one
    t            times of its frames that show the body, since the first [s] (F,)
    points       measured in each of them [m] (n, 3)
    distance     of these to the simulated surface, > 0 outside, of a tracker to where they
                 would be [m] (n,);  residual the same/sigma
    before       rms distance of every frame at the first guess [m] (F,), None: not simulated
    shift        of the simulated body that fits each frame's points best [m] (F, 3)
    flight       how many of the frames are of the free flight
    clock        times of the simulated surfaces [s] (G,);  vertices (G, n, 3), triangles (m, 3)
    eye          the camera, or the viewpoint of pictures [m] (3,)
    floor        (normal (3,), offset [m]) of the scene's, or None
    start        as estimated
    sensors      what other sensors measured, and would measure of the simulation
    errors       figures of the recording, as in metrics.json
    """

    sensor: str
    camera: bool
    t: np.ndarray
    points: Sequence[np.ndarray]
    distance: Sequence[np.ndarray]
    residual: Sequence[np.ndarray]
    before: np.ndarray | None
    shift: np.ndarray
    flight: int
    clock: np.ndarray
    vertices: np.ndarray
    triangles: np.ndarray
    eye: np.ndarray
    floor: tuple[np.ndarray, float] | None
    start: StartEstimate
    stages: Sequence[Mapping]
    sensors: Sequence[SensorComparison] = ()

    @property
    def rms(self) -> np.ndarray:
        """Rms distance of every frame [m] (F,)."""
        return np.array([np.sqrt(np.mean(d**2)) for d in self.distance])


class CloudExperiment(Experiment):
    """See experiment.Experiment; trials are ThrowRecordings."""

    measurement, fit, recordings = CloudMeasurementOptions, CloudFitOptions, CloudFiles
    model_of = CloudModel.build

    @classmethod
    def check_fit(cls, reader: Reader, fit: FitOptions) -> None:
        """Refuse a search over starts: every recording has one that is fitted."""
        if fit.search_evaluations:
            rule = "0 for clouds (a search has no place for starts)"
            raise reader.error("fit.search_evaluations", fit.search_evaluations, rule)

    def read(self, observations: Mapping[str, Sequence]) -> Data:
        """Recordings of the YAML's files, or those passed by role: what each sensor recorded, by
        its name, or the one Observation of a camera alone."""
        data = super().read(observations)
        for throw in (*data.train, *data.validate):
            floor = next((p for p in throw.detections.planes if p.name == "floor"), None)
            if floor is not None and self.config.measurement.floor:
                tilt = np.degrees(np.arccos(min(1.0, np.trace(throw.detections.turn) / 2 - 0.5)))
                data.notes.append(
                    f"{throw.name}: put onto the floor found, {tilt:.2f} deg and "
                    f"{1e3 * np.linalg.norm(throw.detections.shift):.1f} mm from the pose of the "
                    f"camera; the floor is known to {np.degrees(floor.sigma_normal):.3f} deg and "
                    f"{1e3 * floor.sigma_height():.2f} mm"
                )
        return data

    def role(
        self, given: Sequence | None, recordings: Any, notes: list[str]
    ) -> list[ThrowRecording]:
        """Throws of one role, prepared."""
        if not given and recordings is None:
            return []
        throws = given or recordings.read(self.model.sensors)
        first = self.model.reference.name
        throws = [{first: one} if isinstance(one, Observation) else one for one in throws]
        key = "observations" if given else f"{recordings.key}.files"
        ready = [self.model.ready(throw) for throw in throws]
        refuse_twice([throw.name for throw in ready], self.config.place, key)
        return ready

    def missing(self, trial: ThrowRecording) -> int:
        """Frames that do not show the body."""
        return trial.detections.frames - len(trial.t)

    def title(self, trial: ThrowRecording) -> str:
        """Name of the recording."""
        return trial.name

    def counts(self, fit: Fit) -> dict:
        """Recordings that were fitted."""
        points = sum(len(cloud) for throw in fit.kept for cloud in throw.detections.clouds)
        return {**super().counts(fit), "points": points}

    def predictions(
        self, trials: Sequence[ThrowRecording], fit: Fit, role: str, cancel: Any
    ) -> tuple[list, list[str]]:
        """Predictions of the recordings that can be simulated, and sentences about the others.

        A validated recording starts from its free flight, fitted with fixed parameters;
        nothing later of it is used.
        """
        if role == "train":
            problem, at = self.model.problem(trials, fit.z), (fit.z, fit.y)
            known = problem
        else:
            held = self.model.held(self.model.map.named(fit.z))
            known = held.problem_of(trials, [throw.flight for throw in trials])
            flights = levenberg_marquardt(known, options=FLIGHT_FIT, cancel=cancel)
            problem, at = held.problem(trials, flights.z), (flights.z, flights.y)
        runs = problem.rollouts(*at, cancel=cancel)
        first = self.model.problem(trials, self.model.map.start)
        guesses = first.rollouts(self.model.map.start, cancel=cancel)
        named = problem.map.named(at[0])

        def predict(throw: ThrowRecording, run: Any, guess: Any, start: StartEstimate) -> Any:
            return self._prediction(throw, run, guess, start, role, named)

        return predicted(predict, trials, runs, guesses, start_estimates(known, *at))

    def _prediction(
        self, throw: ThrowRecording, run: Any, guess: Any, start: StartEstimate, role: str,
        named: Mapping[str, float],
    ) -> CloudPrediction:  # fmt: skip
        model, slot = self.model, body_slots(self.model.scene.engine)[self.config.body]
        tracks, detections = model.tracks(throw), throw.detections
        reference = model.reference
        arguments = reference, detections, tracks[reference.name]
        frames = frames_of(*arguments, run, slot, named)
        before = frames_of(*arguments, guess, slot, self._first).rms if guess.ok else None
        clock, vertices, drawn = self._drawn(run, float(throw.t[-1]))
        sensors = [
            predicted_for(sensor, tracks[sensor.name], run, slot, named)
            for sensor in model.sensors[1:]
        ]
        return CloudPrediction(
            throw.name, role, throw.source, reference.name, isinstance(reference, Camera), throw.t,
            frames.points, frames.distance, frames.residual, before, frames.shift, throw.flight,
            clock, vertices, drawn, detections.clouds[0].eye, self._floor(), start,
            detections.stages, sensors,
            errors=_errors(frames.distance, frames.residual, frames.shift, throw.flight),
        )  # fmt: skip

    @property
    def _first(self) -> dict[str, float]:
        """Values of the parameters at the first guess."""
        return self.model.map.named(self.model.map.start)

    def _drawn(self, run: Any, last: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, vertices and triangles of the simulated surface for pictures."""
        skin = skin_of(self.model.scene, self.config.body, min(1, self.config.measurement.refine),
                       self.config.measurement.radius)  # fmt: skip
        every = max(1, round(1.0 / DRAWN / self.model.interval))
        rows = np.arange(0, int(last / self.model.interval + 1e-9) + 1, every)
        slot = body_slots(self.model.scene.engine)[self.config.body]
        vertices, _ = skin.motion(run, slot, rows)
        return rows * self.model.interval, vertices.astype(np.float32), skin.triangles

    def _floor(self) -> tuple[np.ndarray, float] | None:
        name = self.config.measurement.floor
        if not name:
            return None
        plane = self.model.scene.description["sdfs"][name]["plane"]
        return np.asarray(plane["normal"], float), float(plane["offset"])

    def figures_of(self, prediction: CloudPrediction) -> dict:
        """Content of metrics.json for one recording."""
        sensors = {one.name: dict(one.errors) for one in prediction.sensors}
        return {
            **prediction.errors,
            "frames": len(prediction.t),
            "flight_frames": prediction.flight,
            "points": sum(map(len, prediction.points)),
            "start": prediction.start.document(),
            **({"sensors": sensors} if sensors else {}),
            "pipeline": {row["stage"]: {k: v for k, v in row.items() if k != "stage"}
                         for row in prediction.stages},
        }  # fmt: skip


def _errors(
    distances: Sequence[np.ndarray], residuals: Sequence[np.ndarray], shift: np.ndarray, flight: int
) -> dict[str, float]:
    """Figures of one recording; _later are those of the frames after the free flight."""
    away = np.linalg.norm(shift, axis=1)
    found = {}
    for which, first in (("", 0), ("_later", flight)):
        if first >= len(distances):
            continue
        d, r = np.concatenate(distances[first:]), np.concatenate(residuals[first:])
        found[f"rms_distance_m{which}"] = float(np.sqrt(np.mean(d**2)))
        found[f"rms_over_sigma{which}"] = float(np.sqrt(np.mean(r**2)))
        found[f"mean_shift_m{which}"] = float(away[first:].mean())
    return found
