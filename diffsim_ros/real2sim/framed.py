"""Models of recordings of rigid bodies by frames: several time steps each, at one rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..inverse.simulation_problem import SimulationProblem
from ..inverse.trial import Trial
from ..sensing.observation import PoseTrial
from .model import Model

SAME_RATE = 1e-3
"""Relative difference of frame spacings that one problem may hold."""


@dataclass(frozen=True)
class FramedModel(Model):
    """A Model whose trials are observation.PoseTrial; kinds say how one becomes a rollout."""

    @property
    def nuisance(self) -> bool:
        """True where starts are fitted and residuals are in the sensor's sigmas."""
        return self.config.fit.initial_state == "nuisance"

    @property
    def free_starts(self) -> bool:
        """True where a trial brings a start that is fitted beside the parameters."""
        return self.nuisance

    def fitted(self, trial: PoseTrial, z: np.ndarray, horizon: int, spf: int) -> Trial:
        """The recording as a trial of the inverse layer; horizon: last frame that counts, 0: all.

        spf  time steps per frame
        """
        raise NotImplementedError

    def gravity(self, z: np.ndarray) -> np.ndarray:
        """Gravity of the model at z, recorded lengths [m/s^2] (3,)."""
        p = self.map.engine(z, self.scene.engine.values)
        return p[[self.scene.engine.index(f"gravity.{axis}") for axis in "xyz"]]

    def problem(
        self,
        trials: Sequence[PoseTrial],
        z: np.ndarray,
        *,
        horizon: int = 0,
        spf: int | None = None,
    ) -> SimulationProblem:
        """Estimation problem of these recordings with starts (and their slopes) taken at z."""
        spf = spf or self.config.simulation.steps_per_frame
        return SimulationProblem(
            self.scene.engine,
            self.engine_options(spacing(trials), spf),
            self.map,
            [self.fitted(trial, z, horizon, spf) for trial in trials],
            nuisance=self.free_starts,
            threads=self.config.simulation.threads,
        )


def spacing(trials: Sequence[PoseTrial]) -> float:
    """Frame spacing [s] that all trials share; InputError naming one that differs."""
    dt = trials[0].dt
    for trial in trials:
        if abs(trial.dt - dt) > SAME_RATE * dt:
            rule = f"{dt:.6g} s as in {trials[0].place}"
            raise InputError(trial.place, "dt", trial.dt, rule, "estimate the recordings apart")
    return dt
