"""Poses of one or several rigid bodies: the sections of their YAML."""

from __future__ import annotations

from ..kinds import Kind, imported
from ..options import TossSimulationOptions
from ..toss_kind import check_fit, selections, whole_files
from .options import PoseFitOptions, PoseMeasurementOptions

KIND = Kind(
    measurement=PoseMeasurementOptions,
    simulation=TossSimulationOptions,
    fit=PoseFitOptions,
    selections=selections,
    whole_files=whole_files,
    check_fit=check_fit,
    experiment=imported(".poses.experiment", "PoseExperiment"),
    several=True,
)
