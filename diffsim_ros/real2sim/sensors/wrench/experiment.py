"""Force–torque sensors as an experiment: forces and torques of contacts, measured and simulated.

The scene's own motion is that of the experiment (a plate that presses, a table that is hit); a
recording's t = 0 is the start of the scene, or `measurement.delay` later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import InputError, nearest
from ....fields import REQUIRED
from ....inverse.clock import Clock
from ....inverse.joint_track import Scaled
from ....inverse.simulation_problem import SimulationProblem, body_slots
from ....inverse.trial import Trial
from ....inverse.wrench_track import UPRIGHT, WrenchTrack
from ....sensing.observation import Observation
from ....sensing.read import read_trials
from ...experiment import Experiment, RecordingPrediction, refuse_twice
from ...model import Model, scene_and_map
from ...options import EstimationConfig, SquaresOptions, option, positive
from ...recordings import Recordings

UNITS = {"force": "N", "torque": "Nm"}
ZERO = (0.0, 0.0, 0.0)
LATEST = 60.0
"""A recording begins so long after the start of the scene at most [s]: other stamps count from
elsewhere (1970, say)."""


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


def check_start(trial: Observation) -> None:
    """InputError for stamps that do not count from the start of the scene."""
    start = float(trial.t[0])
    if not 0.0 <= start <= LATEST:
        rule = f"stamps [s] from the start of the scene on, the first at most {LATEST:g}"
        remedy = "subtract its start, or add a column `trial`: each counts from its first stamp"
        raise InputError(trial.place, "sample 0, t", start, rule, remedy)


@dataclass(frozen=True)
class WrenchPrediction(RecordingPrediction):
    """One trial, measured and simulated at the same samples.

    t          stamps of the recording [s] (n,)
    measured, simulated  force [N] and torque [N m], sensor's axes (n, 6);  before: the same at the
               first guess, or None
    sigma      of force [N] and torque [N m]
    origin, turn         of the sensor in the world: place [m] (3,), quaternion x, y, z, w (4,)
    vertices, triangles  surface of the body at the samples, world (n, k, 3) [m], (l, 3), if soft
    errors     force_rms_N, torque_rms_Nm
    """

    t: np.ndarray
    measured: np.ndarray
    simulated: np.ndarray
    before: np.ndarray | None
    sigma: tuple[float, float]
    origin: np.ndarray
    turn: np.ndarray
    vertices: np.ndarray | None = None
    triangles: np.ndarray | None = None


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
        pressing = [c for c in scene.parts.contacts if config.body in (c.points, c.carrier)]
        known = {c.name: c for c in pressing}
        rule = f"contacts of {config.body}: " + (", ".join(known) or "it has none")
        if not options.contacts:
            raise config.error("measurement.contacts", [], rule)
        for i, name in enumerate(options.contacts):
            if name not in known:
                near = nearest(str(name), known)
                raise config.error(f"measurement.contacts[{i}]", name, rule, near)
            if known[name].friction == "hybrid":
                rule = "a contact with linear or tanh friction: hybrid depends on the step before"
                raise config.error(f"measurement.contacts[{i}]", name, rule)
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
        self, given: Sequence[Observation] | None, recordings: Any, notes: list[str]
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
            check_start(one)
        key = recordings.key if recordings else "observations"
        refuse_twice([one.name for one in seen], self.config.place, key)
        return seen

    def title(self, trial: Observation) -> str:
        """Name of the file and number of the trial."""
        return trial.name

    def compared(self, prediction: WrenchPrediction) -> dict:
        """Force and torque."""
        both = prediction.measured, prediction.simulated
        parts = {"force": slice(0, 3), "torque": slice(3, 6)}
        return {name: (prediction.t, *(b[:, part] for b in both)) for name, part in parts.items()}

    def prediction(
        self, trial: Observation, run: Any, ours: np.ndarray, before: np.ndarray | None, role: str
    ) -> WrenchPrediction:
        """See Experiment.prediction."""
        options = self.config.measurement
        measured = np.concatenate([trial.values[signal][:, 0] for signal in UNITS], axis=1)
        mean = np.mean((ours - measured) ** 2, axis=0)
        errors = {
            f"{signal}_rms_{unit}": float(np.sqrt(np.mean(mean[3 * k : 3 * k + 3])))
            for k, (signal, unit) in enumerate(UNITS.items())
        }
        return WrenchPrediction(
            trial.name, role, trial.source, trial.t, measured, ours, before,
            (options.sigma_force, options.sigma_torque), np.array(options.position),
            np.array(options.orientation), *self.model.surface(run, trial.t), errors=errors,
        )  # fmt: skip
