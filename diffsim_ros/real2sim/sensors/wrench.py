"""Force–torque sensors as an experiment: forces and torques of contacts, measured and simulated.

The scene's own motion is that of the experiment (a plate that presses, a table that is hit); a
recording's t = 0 is the start of the scene, or `measurement.delay` later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import InputError, nearest
from ...fields import REQUIRED
from ...inverse.clock import Clock
from ...inverse.joint_track import Scaled
from ...inverse.simulation_problem import SimulationProblem, body_slots
from ...inverse.trial import Trial
from ...inverse.wrench_track import UPRIGHT, WrenchTrack
from ...scene.vertices import vertex_positions
from ...sensing.observation import Observation
from ...sensing.read import read_trials
from ..experiment import Experiment, predicted, refuse_twice
from ..fit import Fit
from ..model import Model, scene_and_map
from ..options import EstimationConfig, SquaresOptions, option, positive
from ..recordings import Recordings

UNITS = {"force": "N", "torque": "Nm"}
ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class WrenchFiles(Recordings):
    """Recordings of a role; every trial of a file counts."""

    accepted = "a CSV file or a bag"


@dataclass(frozen=True, kw_only=True)
class WrenchMeasurementOptions:
    """Section `measurement` of wrenches."""

    contacts: tuple = option(
        "list", "contacts of the scene by which `body` presses on the sensor", REQUIRED
    )
    topic: str = option("text", "of a bag with several sensors", "")
    position: tuple = option("vector3", "of the sensor's frame in the scene", ZERO, "m")
    orientation: tuple = option("quaternion", "of its frame, x, y, z, w", UPRIGHT)
    sigma_force: float = positive("noise of a force, per axis", 0.1, "N")
    sigma_torque: float = positive("noise of a torque, per axis", 0.01, "N m")
    delay: object = option("any", "of the sensor [s]: a number, or the name of a parameter", 0.0)
    drift: object = option(
        "any", "seconds that its clock loses per second of its own, likewise", 0.0
    )


@dataclass(frozen=True)
class WrenchPrediction:
    """One trial, measured and simulated at the same samples.

    t          stamps of the recording [s] (n,)
    measured, simulated  force [N] and torque [N m], sensor's axes (n, 6);  before: the same at the
               first guess, or None
    sigma      of force [N] and torque [N m]
    origin, turn         of the sensor in the world: place [m] (3,), quaternion x, y, z, w (4,)
    vertices, triangles  surface of the body at the samples, world (n, k, 3) [m], (l, 3), if soft
    errors     force_rms_N, torque_rms_Nm
    """

    name: str
    role: str
    source: str
    t: np.ndarray
    measured: np.ndarray
    simulated: np.ndarray
    before: np.ndarray | None
    sigma: tuple[float, float]
    origin: np.ndarray
    turn: np.ndarray
    vertices: np.ndarray | None = None
    triangles: np.ndarray | None = None
    errors: Mapping[str, float] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Name, as pictures sort by."""
        return self.name


@dataclass(frozen=True)
class WrenchModel(Model):
    """Scene and parameters of bodies that press on one sensor.

    clock  of the sensor;  sets  parameter of the scene -> what sets it, for the contacts
    """

    clock: Clock
    sets: Mapping[str, Scaled]

    @classmethod
    def build(cls, config: EstimationConfig) -> WrenchModel:
        """Build the scene and bind the parameters; InputError naming what does not fit."""
        scene, parameters = scene_and_map(config)
        options = config.measurement
        known = [c.name for c in scene.parts.contacts if config.body in (c.points, c.carrier)]
        rule = f"contacts of {config.body}: " + (", ".join(known) or "it has none")
        if not options.contacts:
            raise config.error("measurement.contacts", [], rule)
        for i, name in enumerate(options.contacts):
            if name not in known:
                near = nearest(str(name), known)
                raise config.error(f"measurement.contacts[{i}]", name, rule, near)
        delay, late = config.number(options.delay, "measurement.delay")
        drift, loses = config.number(options.drift, "measurement.drift")
        if not drift > -1:
            raise config.error("measurement.drift", drift, "a number > -1")
        model = cls(config, scene, parameters, Clock(delay, drift, late, loses), {})
        rule = "one parameter at most for each number, where a contact's force is measured"
        targets = dict.fromkeys(target for p in parameters.parameters for target in p.sets)
        sets = {target: model.number_of(target, rule) for target in targets}
        return cls(config, scene, parameters, model.clock, sets)

    def track(self, seen: Observation) -> WrenchTrack:
        """The objective of a recording."""
        options = self.config.measurement
        return WrenchTrack(
            body=self.config.body, contacts=options.contacts, scene=self.scene.engine, t=seen.t,
            interval=self.interval, force=seen.values["force"][:, 0],
            torque=seen.values["torque"][:, 0], sigma_force=options.sigma_force,
            sigma_torque=options.sigma_torque, origin=options.position,
            orientation=options.orientation, clock=self.clock, sets=self.sets,
        )  # fmt: skip

    def fitted(self, seen: Observation, horizon: int = 0) -> Trial:
        """The recording as a trial of the inverse layer; horizon: samples that count, 0: all."""
        kept = seen.kept(slice(horizon or None))
        steps = self.rows(kept.t[-1]) * self.scene.options.record_every
        return Trial(seen.name, steps, (self.track(kept),), (), self.loss)

    def problem(
        self, trials: Sequence[Observation], z: np.ndarray, *, horizon: int = 0
    ) -> SimulationProblem:
        """Estimation problem of these trials."""
        return self.of_trials([self.fitted(seen, horizon) for seen in trials])

    def simulated(self, seen: Observation, run: Any, z: np.ndarray) -> np.ndarray:
        """What the sensor would measure (n, 6): force [N], torque [N m], its own axes."""
        slot = body_slots(self.scene.engine)[self.config.body]
        return self.track(seen).predicted(run, slot, self.map.named(z))


class WrenchExperiment(Experiment):
    """See experiment.Experiment; trials are Observations."""

    measurement, fit = WrenchMeasurementOptions, SquaresOptions
    recordings = WrenchFiles
    model_of = WrenchModel.build
    what = "trials"

    def role(
        self, given: Sequence[Observation] | None, recordings: WrenchFiles | None, notes: list[str]
    ) -> list[Observation]:
        """Trials of one role, none before the start of the scene."""
        if not given and recordings is None:
            return []
        options = self.config.measurement
        sigma = options.sigma_force, options.sigma_torque
        seen = list(given or ()) or [
            one
            for file in recordings.files
            for one in read_trials(file, "wrench", options.topic, sigma_force=sigma[0],
                                   sigma_torque=sigma[1])
        ]  # fmt: skip
        for one in seen:
            if one.t[0] < 0:
                rule = "stamps [s] from the start of the scene on"
                raise InputError(one.place, "sample 0, t", float(one.t[0]), rule)
        key = recordings.key if recordings else "observations"
        refuse_twice([one.name for one in seen], self.config.place, key)
        return seen

    def missing(self, trial: Observation) -> int:
        """None: a sample without all six numbers is refused."""
        return 0

    def title(self, trial: Observation) -> str:
        """Name of the file and number of the trial."""
        return trial.name

    def predictions(
        self, trials: Sequence[Observation], fit: Fit, role: str, cancel: Any
    ) -> tuple[list, list[str]]:
        """Predictions of the trials that can be simulated, and sentences about the others."""
        model = self.model
        first = np.clip(model.map.start, model.map.lower, model.map.upper)
        runs, guesses = (
            model.problem(trials, z).rollouts(z, cancel=cancel) for z in (fit.z, first)
        )

        def predict(seen: Observation, run: Any, guess: Any) -> WrenchPrediction:
            before = model.simulated(seen, guess, first) if guess is not None and guess.ok else None
            return self._prediction(seen, run, model.simulated(seen, run, fit.z), before, role)

        return predicted(predict, trials, runs, guesses)

    def _prediction(
        self, seen: Observation, run: Any, ours: np.ndarray, before: np.ndarray | None, role: str
    ) -> WrenchPrediction:
        options, body = self.config.measurement, self.config.body
        measured = np.concatenate([seen.values[signal][:, 0] for signal in UNITS], axis=1)
        mean = np.mean((ours - measured) ** 2, axis=0)
        errors = {
            f"{signal}_rms_{unit}": float(np.sqrt(np.mean(mean[3 * k : 3 * k + 3])))
            for k, (signal, unit) in enumerate(UNITS.items())
        }
        surface: tuple = (None, None)
        shape = self.model.scene.parts.bodies[body]
        if shape.SOFT:
            rows = np.rint(np.maximum(seen.t, 0.0) / self.model.interval).astype(int)
            rows = np.minimum(rows, len(run.time) - 1)
            used, triangles = np.unique(shape.mesh.triangles, return_inverse=True)
            vertices = vertex_positions(self.model.scene, run, body, rows)[:, used]
            surface = vertices.astype(np.float32), triangles.reshape(-1, 3)
        return WrenchPrediction(
            seen.name, role, seen.source, seen.t, measured, ours, before,
            (options.sigma_force, options.sigma_torque), np.array(options.position),
            np.array(options.orientation), *surface, errors,
        )  # fmt: skip

    def figures_of(self, prediction: WrenchPrediction) -> dict:
        """Content of metrics.json for one recording."""
        return dict(prediction.errors)
