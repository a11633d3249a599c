"""Poses of one or several rigid bodies: the sections of their YAML."""

from __future__ import annotations

from ..kinds import Kind
from ..options import TossSimulationOptions
from ..toss_kind import check_fit, selections, whole_files
from .options import PoseFitOptions, PoseMeasurementOptions


def _experiment(config):
    from .experiment import PoseExperiment

    return PoseExperiment(config)


KIND = Kind(
    measurement=PoseMeasurementOptions,
    simulation=TossSimulationOptions,
    fit=PoseFitOptions,
    selections=selections,
    whole_files=whole_files,
    check_fit=check_fit,
    experiment=_experiment,
    several=True,
)
