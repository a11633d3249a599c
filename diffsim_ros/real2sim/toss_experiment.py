"""Tosses of a tracked rigid body as an experiment: read, checked against free flight, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..sensing.flight import check_gravity
from ..sensing.observation import PoseTrial
from .estimation import EstimationConfig
from .experiment import Assessment, Data, notes_on_validation
from .fit import Fit
from .framed import spacing
from .poses.pivot import Pivot, centred
from .progress import Reporter
from .selection import Selection, overlap
from .toss_model import TossModel
from .validation import figures, predict, validated


class TossExperiment:
    """See experiment.Experiment; trials are observation.PoseTrial."""

    def __init__(self, config: EstimationConfig) -> None:
        self.config = config
        self.model = TossModel.build(config)
        offset = config.measurement.body_offset
        if len(offset) not in (0, 6):
            rule = "six numbers: x, y, z [m] and a rotation vector [rad]"
            raise config.error("measurement.body_offset", list(offset), rule)
        self.pivots = {config.body: Pivot(offset, ("",) * 6)} if offset else {}

    def read(self, observations: Mapping[str, Sequence]) -> Data:
        """Tosses of the YAML's selections, or those handed over."""
        config = self.config
        sigma = (config.measurement.sigma_position, np.radians(config.measurement.sigma_rotation))
        train = list(observations.get("train") or config.train.read(config.body, sigma))
        if "validate" in observations:
            validate = list(observations["validate"])
        else:
            selection = config.validate
            validate = selection.read(config.body, sigma) if selection is not None else []
        train, validate = ([self._centred(trial) for trial in role] for role in (train, validate))
        both = overlap(train, validate)
        notes = notes_on_validation([trial.place for trial in both], len(validate), "tosses")
        for trials in (train, validate):
            if trials:
                self._check(trials)
        missing = sum(int(trial.frames[-1]) + 1 - len(trial) for trial in (*train, *validate))
        return Data(train, validate, notes, missing)

    def _centred(self, trial: PoseTrial) -> PoseTrial:
        """The toss as poses of the body's centre; velocities of a pivot are not those of it."""
        if not self.pivots:
            return trial
        named = replace(trial, poses=replace(trial.poses, names=(self.config.body,)))
        return replace(centred(named, self.pivots, {}), velocity=None)

    def _check(self, trials: list) -> None:
        """Refuse recordings whose axes, units or rates contradict the scene."""
        spacing(trials)
        if not self.config.measurement.check_gravity:
            return
        for source in dict.fromkeys(trial.source for trial in trials):
            own = [trial for trial in trials if trial.source == source]
            check_gravity(own, self.model.gravity(self.model.map.start))

    def counts(self, fit: Fit) -> dict:
        """Tosses that were fitted."""
        return {"tosses": len(fit.kept), "toss_ids": [trial.id for trial in fit.kept]}

    def assess(self, data: Data, fit: Fit, reporter: Reporter, cancel) -> Assessment:
        """Predictions and figures of validation, and of the trained tosses."""
        own = self.config.measurement.own_gravity
        trained = predict(self.model, fit.kept, fit.z, own_gravity=own, role="train", cancel=cancel)
        train = figures(trained)
        reporter.update(0.4, 1)
        if not data.validate:
            return Assessment(trained.predictions, train, None, [])
        selection = self.config.validate or Selection(self.config.place, "observations", (), "all")
        predicted, found, notes = validated(self.model, data.validate, selection, fit.z, cancel)
        return Assessment(predicted.predictions, train, found, notes)
