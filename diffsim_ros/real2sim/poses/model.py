"""The simulated bodies: starts and tracks of a recording as trials of the inverse layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...errors import InputError
from ...inverse.losses import Loss
from ...inverse.objectives import Objective, PoseTrack
from ...inverse.simulation_problem import SimulationProblem
from ...inverse.trial import InitialState, Trial
from ...inverse.twist_track import TwistTrack
from ...scene.build import mass_of
from ...sensing.observation import PoseTrial
from ..estimation import EstimationConfig
from ..framed import FramedModel
from ..model import scene_and_map
from .flight import Flown, FreeFlight, flight_of, flown
from .pivot import Pivot, centred, read_pivots


@dataclass(frozen=True)
class PoseModel(FramedModel):
    """Scene and parameters of recorded bodies; knows how a recording becomes a rollout."""

    pivots: Mapping[str, Pivot] = field(default_factory=dict)
    _known: dict[tuple, Flown] = field(default_factory=dict, repr=False, compare=False)
    """Starts by trial and parameters: stages and predictions ask for the same ones again."""

    @classmethod
    def build(cls, config: EstimationConfig) -> PoseModel:
        """Build the scene and bind the parameters; InputError naming what does not fit."""
        model = cls(config, *scene_and_map(config), read_pivots(config))
        for body in config.bodies:
            if model.scene.description["bodies"][body]["type"] != "rigid":
                raise config.error("body", body, "a rigid body")
        return model

    @property
    def free_starts(self) -> bool:
        """False with the scene's starts, whose parameters may be estimated."""
        return self.nuisance and self.config.measurement.start != "scene"

    @property
    def unknown_pivot(self) -> bool:
        """True where a tracker's pivot is estimated."""
        return any(any(pivot.names) for pivot in self.pivots.values())

    @property
    def masses(self) -> np.ndarray:
        """Masses of the tracked bodies in the scene [kg]."""
        bodies = self.scene.description["bodies"]
        return np.array([mass_of(bodies[body]) for body in self.config.bodies])

    def flight(self, trial: PoseTrial) -> FreeFlight | None:
        """Samples before the first contact; with other starts than `flight` nothing is before it.

        None: it never touches anything.
        """
        options = self.config.measurement
        if options.start == "file":
            return FreeFlight(0, 1, 0)
        if options.start == "scene":
            return FreeFlight(0, 0, 0)
        most, values = int(options.flight_frames[1]), self.map.named(self.map.start)
        return flight_of(self.scene, centred(trial, self.pivots, values), options.clearance, most)

    def kept_frames(self, trial: PoseTrial, horizon: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Samples that count, and their frames since the start; horizon: last frame, 0: all."""
        flight = self.flight(trial)
        frames = trial.frames - trial.frames[flight.start]
        keep = np.arange(flight.last, len(frames))
        before = frames[max(flight.last - 1, 0)]
        if self.config.measurement.window:
            last = before + self.config.measurement.window / trial.dt
            keep = keep[frames[keep] <= last + 1e-9]
        if horizon:
            keep = keep[frames[keep] <= before + horizon]
        if not len(keep):
            raise InputError(trial.place, "frames", 0, "a frame after the start")
        return keep, frames[keep]

    def starts(self, trial: PoseTrial, z: np.ndarray) -> tuple[InitialState, ...]:
        """Starts of all bodies with their covariance; none where the scene has them."""
        options = self.config.measurement
        if options.start == "scene":
            return ()
        return self._first_frame(trial) if options.start == "file" else self.flown(trial, z).starts

    def flown(self, trial: PoseTrial, z: np.ndarray) -> Flown:
        """Starts from the trial's flight, simulated with the parameters at z."""
        key = (trial.place, *self.map.named(z).values())
        if key in self._known:
            return self._known[key]
        spf, held = self.config.simulation.steps_per_frame, self.held(self.map.named(z))

        def problem(fitted: Trial, free: bool) -> SimulationProblem:
            return SimulationProblem(
                self.scene.engine,
                self.engine_options(trial.dt, spf),
                self.map if free else held.map,
                [fitted],
                nuisance=True,
                threads=self.config.simulation.threads,
            )

        bodies = centred(trial, self.pivots, self.map.named(z))
        self._known[key] = flown(trial, bodies, self.flight(trial), spf, z, problem, self.pivots)
        return self._known[key]

    def _first_frame(self, trial: PoseTrial) -> tuple[InitialState, ...]:
        options = self.config.measurement
        if trial.velocity is None:
            rule = "13 columns (measurement.start: file)"
            raise InputError(trial.place, "state", "poses alone", rule)
        noise = (*trial.poses.sigma, options.sigma_velocity, options.sigma_spin)
        covariance, found = np.diag(np.repeat(noise, 3) ** 2), []
        for body in trial.bodies:
            one = trial.of(body)
            motion = one.velocity[0, :3], one.velocity[0, 3:]
            pose = one.position[0], one.orientation[0]
            found.append(InitialState(body, *pose, *motion, covariance))
        return tuple(found)

    def fitted(self, trial: PoseTrial, z: np.ndarray, horizon: int, spf: int) -> Trial:
        """The recording as a trial of the inverse layer; horizon: last frame that counts."""
        keep, frames = self.kept_frames(trial, horizon)
        tracks = tuple(self._track(trial.of(body), keep, frames) for body in trial.bodies)
        loss = Loss() if self.nuisance else self.loss
        steps = int(frames[-1]) * spf
        return Trial(f"toss {trial.id}", steps, tracks, self.starts(trial, z), loss)

    def _track(self, one: PoseTrial, keep: np.ndarray, frames: np.ndarray) -> Objective:
        """What was measured of a body; with starts held |r|^2 is a mean over frames and bodies."""
        options, body = self.config.measurement, one.bodies[0]
        count = np.sqrt(len(keep) * len(self.config.bodies))
        weights = count * self.config.fit.length, count
        if options.observed == "velocities":
            if one.velocity is None:
                rule = "13 columns (measurement.observed: velocities)"
                raise InputError(one.place, "state", "poses alone", rule)
            sigmas = (options.sigma_velocity, options.sigma_spin) if self.nuisance else weights
            motion = one.velocity[keep, :3], one.velocity[keep, 3:]
            return TwistTrack(body, frames, *motion, *sigmas)
        sigmas = one.poses.sigma if self.nuisance else weights
        turns = one.orientation[keep] if options.observed == "poses" else None
        pivot = self.pivots[body].track if body in self.pivots else {}
        return PoseTrack(body, frames, one.position[keep], turns, *sigmas, **pivot)
