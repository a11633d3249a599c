"""Joint logs as an experiment: read, checked against the robot, predicted and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...robots.kinematics import joint_poses
from ...sensing.joints.log import JointLog
from ..estimation import EstimationConfig
from ..experiment import Assessment, Data, notes_on_validation
from ..fit import Fit
from ..progress import Reporter
from .model import JointModel, simulated

UNITS = {"position": "rad", "velocity": "rad_s", "effort": "Nm"}


@dataclass(frozen=True)
class JointPrediction:
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

    name: str
    role: str
    source: str
    t: np.ndarray
    joints: tuple[str, ...]
    command: Mapping[str, np.ndarray]
    measured: Mapping[str, np.ndarray]
    simulated: Mapping[str, np.ndarray]
    before: Mapping[str, np.ndarray] | None
    places: Mapping[str, np.ndarray]
    sigma: Mapping[str, np.ndarray]
    errors: Mapping[str, float] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Name, as pictures sort by."""
        return self.name


class JointExperiment:
    """See experiment.Experiment; trials are JointLogs."""

    def __init__(self, config: EstimationConfig) -> None:
        self.config = config
        self._logs = {"train": config.train.read()}
        self._logs["validate"] = config.validate.read() if config.validate is not None else []
        every = [log for logs in self._logs.values() for log in logs]
        self.model = JointModel.build(config, every)

    def read(self, observations: Mapping[str, Sequence]) -> Data:
        """Trials of the YAML's files, or JointLogs handed over by role."""
        train = list(observations.get("train") or self._logs["train"])
        given = "validate" in observations
        validate = list(observations["validate"] if given else self._logs["validate"])
        for log in (*train, *validate):
            self.model.check(log)
        known = {log.place for log in train}
        both = [log.place for log in validate if log.place in known]
        notes = notes_on_validation(both, len(validate), "trials")
        missing = sum(
            int(np.sum(~np.isfinite(table)))
            for log in (*train, *validate)
            for table in log.measured.values()
        )
        return Data(train, validate, notes, missing)

    def counts(self, fit: Fit) -> dict:
        """Trials that were fitted."""
        return {"trials": len(fit.kept), "names": [log.place for log in fit.kept]}

    def assess(self, data: Data, fit: Fit, reporter: Reporter, cancel) -> Assessment:
        """Predictions and figures of the trained trials and of those to validate on."""
        trained, sentences = self._predicted(fit.kept, fit.z, "train", cancel)
        reporter.update(0.4, 1)
        train = _figures(trained)
        if not data.validate:
            return Assessment(trained, train, None, sentences)
        predicted, more = self._predicted(data.validate, fit.z, "validate", cancel)
        return Assessment([*predicted, *trained], train, _figures(predicted), sentences + more)

    def _predicted(self, logs: Sequence[JointLog], z: np.ndarray, role: str, cancel):
        """Predictions of the trials that can be simulated, and sentences about the others."""
        first = np.clip(self.model.map.start, self.model.map.lower, self.model.map.upper)
        runs = self.model.rollouts(logs, z, cancel)
        guesses = self.model.rollouts(logs, first, cancel)
        found, sentences = [], []
        for log, run, guess in zip(logs, runs, guesses, strict=True):
            if not run.ok:
                sentences.append(f"no prediction for {log.place}: {run.status}: {run.message}")
                continue
            before = simulated(self.model, log, guess, first) if guess.ok else None
            found.append(self._prediction(log, simulated(self.model, log, run, z), before, role))
        return found, sentences

    def _prediction(self, log: JointLog, ours: Mapping, before, role: str) -> JointPrediction:
        order = [log.joints.index(name) for name in self.model.names]
        measured = {s: table[:, order] for s, table in log.measured.items()}
        command = {s: table[:, order] for s, table in log.command.items()}
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
            f"{Path(log.source).stem} {log.id}", role, log.source, log.t,
            tuple(self.model.names), command, measured, ours, before, places, sigma,
            _errors(self.model.names, measured, ours),
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


def _figures(predictions: Sequence[JointPrediction]) -> dict:
    """Content of metrics.json: every trial, and root mean squares over all of them."""
    found: dict = {"per_trial": {p.name: dict(p.errors) for p in predictions}}
    keys = {key for p in predictions for key in p.errors if "." not in key}
    for key in sorted(keys):
        squares = [p.errors[key] ** 2 * len(p.t) for p in predictions if key in p.errors]
        counts = [len(p.t) for p in predictions if key in p.errors]
        found[key] = float(np.sqrt(sum(squares) / sum(counts)))
    return found
