"""Recorded bodies as an experiment: read, checked against free flight, predicted, evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ....errors import InputError
from ....fields import Reader
from ....inverse.simulation_problem import SimulationProblem, body_slots
from ....rotation import quat_angle, quat_matrix
from ....sensing.flight import WINDOW, by_source, check_gravity
from ....sensing.observation import MIN_SAMPLES, PoseTrial
from ....sensing.quaternion_order import check_order
from ...bootstrap import interval
from ...experiment import Experiment, predicted
from ...fit import Fit
from ...results import count_by, labels_of, median_and_mean
from ...scenarios.flight import FreeFlight
from ...scenarios.height import start_state
from .model import PoseModel, centred, spacing
from .options import PoseFitOptions, PoseMeasurementOptions, PoseSimulationOptions
from .selection import Selection


@dataclass(frozen=True)
class PosePrediction:
    """One recording, measured and simulated at the same frames from its start on (world frame).

    t                    time since the start [s]; the samples from `contact` on count     (n,)
    bodies, kinds, sizes their names, "box", "sphere", "mesh", "point" ..., and edges [m]
    surfaces             vertices (k, 3) [m], body frame, and triangles (m, 3) of each body that
                         is drawn by them; () where none is
    measured, simulated  poses: position [m], quaternion x, y, z, w               (n, bodies, 7)
                         (orientations that were not observed are the simulated ones)
    contact_point, _force  points that may touch [m], force on them [N]      (n, contacts, 3)
    errors               figures of this recording, those of metrics.json
    """

    id: int
    role: str
    source: str
    t: np.ndarray
    contact: int
    bodies: tuple[str, ...]
    kinds: tuple[str, ...]
    sizes: tuple[tuple[float, float, float], ...]
    measured: np.ndarray
    simulated: np.ndarray
    contact_point: np.ndarray
    contact_force: np.ndarray
    errors: Mapping[str, float] = field(default_factory=dict)
    surfaces: tuple[tuple[np.ndarray, np.ndarray], ...] = field(default=(), repr=False)
    label: str = ""

    @property
    def name(self) -> str:
        """Title of the recording in pictures, with its file where another's has the same id."""
        return self.label or f"toss {self.id}"


class PoseExperiment(Experiment):
    """See experiment.Experiment; trials are observation.PoseTrial of all bodies."""

    measurement, simulation, fit = PoseMeasurementOptions, PoseSimulationOptions, PoseFitOptions
    recordings = Selection
    model_of = PoseModel.build
    several = True

    @classmethod
    def check_fit(cls, reader: Reader, fit: PoseFitOptions) -> None:
        """Refuse a search over starts."""
        if fit.initial_state == "nuisance" and fit.search_evaluations:
            rule = "0 with initial_state: nuisance (a search has no place for starts)"
            remedy = "initial_state: held searches; with fitted starts shorter horizons help"
            raise reader.error("fit.search_evaluations", fit.search_evaluations, rule, remedy)

    def role(
        self, given: Sequence[PoseTrial] | None, recordings: Selection | None, notes: list[str]
    ) -> list[PoseTrial]:
        """Recordings of one role that can be started; sentences about the others."""
        options = self.config.measurement
        sigma = options.sigma_position, np.radians(options.sigma_rotation)
        flying = options.start in ("flight", "height")
        least = MIN_SAMPLES if flying else 2
        read = given or (recordings.read(self.config.bodies, sigma, least) if recordings else [])
        if not read:
            return []
        trials = [self._named(trial) for trial in read]
        spacing(trials)
        if not flying:
            self._fit_starts(trials, notes)
            return trials
        if options.check_gravity:
            self._check_gravity(trials)
        if not self.model.by_height:
            return self._flying(trials, notes)
        rules = count_by(start_state(trial, self.model.height).rule for trial in trials)
        for rule in sorted(rules.keys() - {"refitted"}):
            notes.append(
                f"{rules[rule]} of {len(trials)} recordings begin too near to the ground for their "
                f"velocity to be refitted: it is {RULES[rule]}"
            )
        return trials

    def _fit_starts(self, trials: list[PoseTrial], notes: list[str]) -> None:
        """Fit the starts too where a file has no velocities; InputError for a search then."""
        fit = self.model.fit
        alone = [trial for trial in trials if trial.velocity is None]
        if self.config.measurement.start != "file" or not alone or self.model.nuisance:
            return
        if fit.search_evaluations or self.config.measurement.observed == "velocities":
            rule = "13 columns (a search, or observed velocities)"
            raise InputError(alone[0].place, "state", "poses alone", rule)
        self.config = replace(self.config, fit=replace(fit, initial_state="nuisance"))
        self.model = replace(self.model, config=self.config)
        notes.append(
            f"starts of {len(alone)} recordings of poses alone are fitted "
            "(fit.initial_state: nuisance)"
        )

    def missing(self, trial: PoseTrial) -> int:
        """Frames that a trial lacks."""
        return int(trial.frames[-1]) + 1 - len(trial)

    def _named(self, trial: PoseTrial) -> PoseTrial:
        """The recording with the names of the scene; one body has any name.

        Where it starts by height, as poses of the body's centre: velocities of a pivot are not
        those of it.
        """
        if len(trial.bodies) == len(self.config.bodies) == 1:
            trial = replace(trial, poses=replace(trial.poses, names=self.config.bodies))
        elif set(self.config.bodies) - set(trial.bodies):
            got, rule = ", ".join(trial.bodies), ", ".join(self.config.bodies)
            raise InputError(trial.place, "bodies", got, f"recordings of {rule}")
        if self.model.by_height and self.model.pivots:
            return replace(centred(trial, self.model.pivots, {}), velocity=None)
        return trial

    def _flying(self, trials: list[PoseTrial], notes: list[str]) -> list[PoseTrial]:
        """Those that begin in free flight, as the scene simulates it, and touch something later."""
        options, z = self.config.measurement, self.model.map.start
        fewest = int(options.flight_frames[0])
        # an unknown pivot misses every flight until it is estimated
        most = np.inf if self.model.unknown_pivot else options.flight_misfit
        kept: list[PoseTrial] = []
        left: dict[str, list[str]] = {}
        for trial in trials:
            flight = self.model.flight(trial)
            if flight is None:
                why = "never touch anything"
            elif flight.last - flight.first < fewest:
                why = f"have less than {fewest} frames before contact"
            elif self.model.flown(trial, z).misfit > most:
                why = f"miss a simulated flight by more than {options.flight_misfit:g} sigma"
            else:
                kept.append(trial)
                continue
            left.setdefault(why, []).append(trial.place)
        for why, places in left.items():
            notes.append(f"{len(places)} recordings {why} and are left out (first: {places[0]})")
        if trials and not kept:
            rule = "a recording that begins in free flight and touches something"
            raise InputError(trials[0].source, "tosses", notes[-1], rule)
        return kept

    def _check_gravity(self, trials: list[PoseTrial]) -> None:
        """Refuse recordings in which the common centre of mass does not fall as the world says."""
        falling = trials if self.model.by_height else self._falling(trials)
        for own in by_source(falling):
            gravity = self.model.gravity(self.model.map.start)
            check_gravity(own, gravity)
            check_order(own, -gravity / np.linalg.norm(gravity))

    def _falling(self, trials: list[PoseTrial]) -> list[PoseTrial]:
        """The centre of mass of the bodies of each recording whose flight is long enough."""
        share = self.model.masses / self.model.masses.sum()
        falling = []
        for trial in trials:
            bodies = self.model.centres(trial, self.model.map.start)
            first, value = bodies.of(bodies.bodies[0]), bodies.poses.value
            centre = sum(w * value[:, 7 * k : 7 * k + 3] for k, w in enumerate(share))
            place = np.concatenate([centre, first.orientation], axis=1)
            flight = self.model.flight(trial)
            if flight is None or flight.last >= WINDOW:
                falling.append(replace(first, poses=first.poses.with_value(place)))
        return falling

    def flight_of(self, trial: PoseTrial) -> FreeFlight | None:
        """See Experiment.flight_of."""
        return self.model.flight(trial)

    def set_flight(self, trial: PoseTrial, flight: FreeFlight) -> None:
        """See Experiment.set_flight."""
        known = {**self.model.flights, trial.place: flight}
        self.model = replace(self.model, flights=known, _known={})

    def counts(self, fit: Fit) -> dict:
        """Recordings that were fitted."""
        return {"recordings": len(fit.kept), "ids": [trial.id for trial in fit.kept]}

    def predictions(
        self, trials: Sequence[PoseTrial], fit: Fit, role: str, cancel: Any
    ) -> tuple[list, list[str]]:
        """Open-loop predictions at the end of the fit."""
        return self.predicted(trials, fit.z, role, cancel)

    def shown(self, predicted: list, trained: list) -> list:
        """Those validated."""
        return predicted

    def predicted(
        self, trials: Sequence[PoseTrial], z: np.ndarray, role: str, cancel: Any = None
    ) -> tuple[list[PosePrediction], list[str]]:
        """Open-loop predictions at z, and sentences about recordings without one."""

        def problem(some: list[PoseTrial], spf: int) -> SimulationProblem:
            return self.model.problem(some, z, spf=spf)

        def predict(trial: PoseTrial, run: Any) -> PosePrediction:
            return self._prediction(trial, self.model.centres(trial, z), run, role)

        runs = self.model.refined_rollouts(problem, trials, z, cancel)
        found, notes = predicted(predict, trials, runs)
        labels = labels_of([(p.source, p.name, False) for p in found])
        return [replace(p, label=x) for p, x in zip(found, labels, strict=True)], notes

    def compared(self, prediction: PosePrediction) -> dict:
        """Positions and, as rotation matrices, orientations from the first sample that counts."""
        rows = slice(prediction.contact, None)
        t, found = prediction.t[rows], {}
        poses = prediction.measured[rows], prediction.simulated[rows]
        observed = self.config.measurement.observed
        if observed != "velocities":
            found["position"] = (t, *(p[..., :3].reshape(len(t), -1) for p in poses))
        if observed == "poses":
            turned = (quat_matrix(p[..., 3:]).reshape(len(t), -1) for p in poses)
            found["orientation"] = (t, *turned)
        return found

    def figures(self, predictions: Sequence[PosePrediction], failed: int, role: str) -> dict:
        """Means, medians and 95 % bootstrap intervals of the mean over the predicted recordings."""
        result: dict = {"recordings": len(predictions), "failed": failed}
        if predictions:
            names = list(predictions[0].errors)
            rows = np.array([[p.errors[name] for name in names] for p in predictions])
            result.update(median_and_mean(rows, names))
            ranges = interval(rows, 0)
            result.update({f"{name}_interval": r for name, r in zip(names, ranges, strict=True)})
        if role == "validate":
            several = len({p.source for p in predictions}) > 1  # whose ids may be the same
            result["per_recording"] = [
                {"id": p.id, **({"source": p.source} if several else {}), **p.errors}
                for p in predictions
            ]
        return result

    def _prediction(
        self, trial: PoseTrial, bodies: PoseTrial, run: Any, role: str
    ) -> PosePrediction:
        flight = self.model.begun(trial)
        keep, _ = self.model.kept_frames(trial)
        rows = np.arange(flight.start, keep[-1] + 1)
        frames = trial.frames[rows] - trial.frames[flight.start]
        at = [body_slots(self.model.scene.engine)[body].index for body in trial.bodies]
        poses = (run.position[frames][:, at], run.orientation[frames][:, at])
        simulated = np.concatenate(poses, axis=2)
        measured = bodies.poses.value[rows].reshape(len(rows), -1, 7)
        shapes = [self.model.scene.bodies[body] for body in trial.bodies]
        if self.config.measurement.observed == "positions":
            measured = np.concatenate([measured[..., :3], simulated[..., 3:]], axis=2)
        begun = int(keep[0] - flight.start)
        if self.config.measurement.observed == "velocities":
            assert trial.velocity is not None  # or it could not have been fitted
            motion = (run.velocity[frames][:, at], run.angular_velocity[frames][:, at])
            theirs = trial.velocity[rows].reshape(len(rows), -1, 6)
            errors = errors_of(np.concatenate(motion, axis=2), theirs, begun, VELOCITIES)
        else:
            kinds = POSES if self.config.measurement.observed == "poses" else POSES[:1]
            errors = errors_of(simulated, measured, begun, kinds)
        return PosePrediction(
            trial.id, role, trial.source, frames * trial.dt, begun, trial.bodies,
            tuple(shape.kind for shape in shapes), tuple(shape.size for shape in shapes),
            measured, simulated, run.contact_point[frames], run.contact_force[frames], errors,
            tuple((shape.vertices, shape.triangles) for shape in shapes),
        )  # fmt: skip


RULES = {"file": "that of the file", "difference": "a difference of poses"}
"""Where the velocity of a start by height comes from, but where it is refitted."""


def _distance(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    return np.linalg.norm(ours[..., :3] - theirs[..., :3], axis=-1)


def _angle(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    return np.degrees(quat_angle(theirs[..., 3:7], ours[..., 3:7]))


def _spin(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    return np.linalg.norm(ours[..., 3:] - theirs[..., 3:], axis=-1)


POSES = (("position_error_m", _distance), ("rotation_error_deg", _angle))
VELOCITIES = (("velocity_error_m_s", _distance), ("spin_error_rad_s", _spin))
"""Figures of a recording: means over bodies and frames that count; `final_`: the last frame."""


def errors_of(ours: np.ndarray, theirs: np.ndarray, first: int, kinds: Any) -> dict[str, float]:
    """Figures of a motion (n, bodies, 7 | 6) against another one, from sample `first` on."""
    found = {}
    for name, measure in kinds:
        error = measure(ours[first:], theirs[first:]).mean(axis=1)
        found[name] = float(error.mean())
        if len(error) > 1:
            found[f"final_{name}"] = float(error[-1])
    return found
