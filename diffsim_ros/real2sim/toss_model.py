"""The simulated toss: starts, horizons and pose tracks as trials of the inverse layer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..inverse.losses import Loss
from ..inverse.objectives import PoseTrack, metric_track
from ..inverse.trial import InitialState, Trial
from ..sensing.observation import PoseTrial
from .estimation import EstimationConfig
from .framed import FramedModel
from .metric import MetricOptions, Start, start_state
from .model import scene_and_map
from .precontact import precontact_fit


@dataclass(frozen=True)
class TossModel(FramedModel):
    """Scene and parameters of tosses; knows how a recorded toss becomes a rollout."""

    metric: MetricOptions

    @classmethod
    def build(cls, config: EstimationConfig) -> TossModel:
        """Build the scene and bind the parameters; InputError naming what does not fit."""
        measurement = config.measurement
        metric = MetricOptions(
            half=measurement.half_edge,
            width=2.0 * measurement.half_edge,
            gravity=measurement.start_gravity,
            frames_before=measurement.frames_before,
        )
        return cls(config, *scene_and_map(config), metric)

    @property
    def size(self) -> tuple[float, float, float]:
        """Edges of the tracked body for pictures, as measured lengths [m]."""
        edge = 2.0 * self.metric.half
        return (edge, edge, edge)

    def start(self, trial: PoseTrial, z: np.ndarray, *, own_gravity: bool) -> InitialState:
        """Start by the metric; with own_gravity its v_z follows the model's gravity."""
        start = start_state(trial, self.metric)
        slopes = {}
        if own_gravity:
            start, slopes = self._with_own_gravity(start, z)
        return self._initial(start, slopes=slopes)

    def _with_own_gravity(self, start: Start, z: np.ndarray):
        """The start with v_z refitted at the model's gravity, and its slopes by the parameters."""
        g = -self.gravity(z)[2]
        velocity = start.velocity.copy()
        velocity[2] += start.dvz_dg * (g - self.metric.gravity)
        by_gravity = np.zeros((12, 3))
        by_gravity[8, 2] = -start.dvz_dg
        return replace(start, velocity=velocity), self._gravity_slopes(z, by_gravity)

    def _gravity_slopes(self, z: np.ndarray, by_gravity: np.ndarray):
        """Slopes of a start by the parameters that set gravity: name -> (value, (12,)).

        by_gravity  (12, 3) change of (dc, dphi, dv, domega) with the model's gravity vector
        """
        jacobian = self.map.jacobian(z) / self.map.value_slopes(z)
        offsets, named = np.zeros((12, len(self.map.names))), self.map.named(z)
        for k, axis in enumerate("xyz"):
            index = self.scene.engine.index(f"gravity.{axis}")
            if index in self.map.active:
                row = jacobian[self.map.active.index(index)]
                offsets += np.outer(by_gravity[:, k], row)
        columns = zip(self.map.names, offsets.T, strict=True)
        return {name: (named[name], column) for name, column in columns if column.any()}

    def free_start(self, trial: PoseTrial, z: np.ndarray) -> InitialState:
        """Start fitted to the flight before it, with its covariance (nuisance starts)."""
        start, covariance, by_gravity = precontact_fit(trial, self.gravity(z), self.metric)
        slopes = self._gravity_slopes(z, by_gravity)
        return self._initial(start, covariance=covariance, slopes=slopes)

    def _initial(self, start: Start, **prior) -> InitialState:
        """The tracked body at this start; prior: covariance and slopes of InitialState."""
        pose, twist = (start.position, start.orientation), (start.velocity, start.angular_velocity)
        return InitialState(self.config.body, *pose, *twist, **prior)

    def sample(self, trial: PoseTrial) -> int:
        """Sample of the trial at which its rollout starts."""
        return start_state(trial, self.metric).sample

    def fitted(self, trial: PoseTrial, z: np.ndarray, horizon: int, spf: int) -> Trial:
        """The toss as a trial of the inverse layer; horizon: last frame after the start, 0: all."""
        fit = self.config.fit
        nuisance = self.nuisance
        i = self.sample(trial)
        frames = trial.frames[i:] - trial.frames[i]
        # with nuisance starts, the samples up to the start are in the prior
        first = 1 if nuisance else 0
        keep = np.arange(first, len(frames))
        if horizon:
            keep = keep[frames[keep] <= horizon]
        if len(keep) < 2:
            raise InputError(trial.place, f"sample {i}", len(keep), "two frames after the start")
        position, orientation = trial.position[i:][keep], trial.orientation[i:][keep]
        track = metric_track if not nuisance else _noise_track(trial)
        length = self.metric.half / fit.position_weight
        objective = track(self.config.body, frames[keep], position, orientation, length)
        start = (
            self.free_start(trial, z)
            if nuisance
            else self.start(trial, z, own_gravity=self.config.measurement.own_gravity)
        )
        loss = self.loss if not nuisance else Loss()
        name = f"toss {trial.id}"
        return Trial(name, int(frames[keep[-1]]) * spf, (objective,), (start,), loss)


def _noise_track(trial: PoseTrial):
    """PoseTrack with the sensor's sigmas, called like metric_track."""
    sigma_p, sigma_r = trial.poses.sigma

    def track(body, frames, position, orientation, _length):
        return PoseTrack(body, frames, position, orientation, sigma_p, sigma_r)

    return track
