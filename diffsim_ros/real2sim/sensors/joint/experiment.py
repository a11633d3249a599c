"""Joint logs as an experiment: read, checked against the robot, predicted and evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ....robots.kinematics import joint_poses
from ....sensing.observation import Observation
from ...experiment import Experiment, RecordingPrediction
from ...options import EstimationConfig, SquaresOptions
from .model import JointModel, joints_of_scene
from .options import JointFiles, JointMeasurementOptions, JointSimulationOptions

UNITS = {"position": "rad", "velocity": "rad_s", "effort": "Nm"}


@dataclass(frozen=True)
class JointPrediction(RecordingPrediction):
    """One trial, measured and simulated at the same samples.

    t          since its first sample [s] (n,)
    joints     names
    command    "position" and/or "effort" -> (n, m)
    measured, simulated  signal -> (n, m);  before: the same at the first guess, or None
    places     who -> origins of the joints and of the flange (n, m + 1, 3) [m, base frame], who of
               "measured", "simulated", "first guess"
    errors     root mean square of every signal that was read, and by joint
    sigma      signal -> noise (m,)
    """

    t: np.ndarray
    joints: tuple[str, ...]
    command: Mapping[str, np.ndarray]
    measured: Mapping[str, np.ndarray]
    simulated: Mapping[str, np.ndarray]
    before: Mapping[str, np.ndarray] | None
    places: Mapping[str, np.ndarray]
    sigma: Mapping[str, np.ndarray]


class JointExperiment(Experiment):
    """See experiment.Experiment; trials are Observations."""

    measurement, simulation, fit = JointMeasurementOptions, JointSimulationOptions, SquaresOptions
    recordings = JointFiles
    what = "trials"

    def __init__(self, config: EstimationConfig) -> None:
        self.config = config
        roles = [files for files in (config.train, config.validate) if files is not None]
        joints = joints_of_scene(config)
        self._logs = {files.key: files.read(joints) for files in roles}
        every = [log for logs in self._logs.values() for log in logs]
        self.model = JointModel.build(config, every)

    def role(
        self, given: Sequence[Observation] | None, recordings: Any, notes: list[str]
    ) -> list[Observation]:
        """Trials of one role, checked against the robot."""
        if not given and recordings is None:
            return []
        logs = list(given or self._logs[recordings.key])
        for log in logs:
            self.model.check(log)
        return logs

    def missing(self, trial: Observation) -> int:
        """Readings that a trial lacks."""
        return sum(int(np.sum(~np.isfinite(table))) for table in trial.measured.values())

    def figures(self, predictions: Sequence[JointPrediction], failed: int, role: str) -> dict:
        """Content of metrics.json: every trial, and root mean squares over all of them."""
        found: dict = {"per_trial": {p.name: dict(p.errors) for p in predictions}}
        keys = {key for p in predictions for key in p.errors if "." not in key}
        for key in sorted(keys):
            squares = [p.errors[key] ** 2 * len(p.t) for p in predictions if key in p.errors]
            counts = [len(p.t) for p in predictions if key in p.errors]
            found[key] = float(np.sqrt(sum(squares) / sum(counts)))
        return found

    def compared(self, prediction: JointPrediction) -> dict:
        """Every signal by itself."""
        return {
            name: (prediction.t, measured, prediction.simulated[name])
            for name, measured in prediction.measured.items()
            if name in prediction.simulated
        }

    def prediction(
        self, trial: Observation, run: Any, ours: Mapping, before: Mapping | None, role: str
    ) -> JointPrediction:
        """See Experiment.prediction."""
        order = [trial.names.index(name) for name in self.model.names]
        measured = {s: table[:, order] for s, table in trial.measured.items()}
        command = {s: table[:, order] for s, table in trial.command.items()}
        sigma = {
            signal: np.array([joints[n].sigma if n in joints else np.nan for n in self.model.names])
            for signal, joints in self.model.readings.items()
            if joints
        }
        places = {}
        motions = {"measured": measured, "simulated": ours, "first guess": before}
        for who, signals in motions.items():
            q = None if signals is None else signals.get("position")
            if q is not None and np.isfinite(q).all():
                places[who] = self._places(q)
        return JointPrediction(
            f"{Path(trial.source).stem} {trial.trial}", role, trial.source, trial.t,
            tuple(self.model.names), command, measured, ours, before, places, sigma,
            errors=_errors(self.model.names, measured, ours),
        )  # fmt: skip

    def _places(self, q: np.ndarray) -> np.ndarray:
        """Origins of the joints' frames and of the last link, base frame (n, m + 1, 3)."""
        poses = joint_poses(self.model.robot, q)
        last = poses[-1][..., :3, 3]
        tip = [f.pose for f in self.model.robot.frames.values() if f.carrier == len(poses) - 1][-1]
        tips = last + poses[-1][..., :3, :3] @ tip[:3, 3]
        return np.stack([*(pose[..., :3, 3] for pose in poses), tips], axis=1)


def _errors(names: Sequence[str], measured: Mapping, ours: Mapping) -> dict[str, float]:
    """Root mean squares: SIGNAL_rms_UNIT, and by joint behind a dot."""
    found = {}
    for signal, values in ours.items():
        apart = values - measured[signal]
        if signal == "position":  # whole turns apart is the same place
            apart = apart - 2 * np.pi * np.round(np.nanmedian(apart, axis=0) / (2 * np.pi))
        if not np.isfinite(apart).any():
            continue
        key = f"{signal}_rms_{UNITS[signal]}"
        found[key] = float(np.sqrt(np.nanmean(apart**2)))
        for name, column in zip(names, apart.T, strict=True):
            if np.isfinite(column).any():
                found[f"{key}.{name}"] = float(np.sqrt(np.nanmean(column**2)))
    return found
