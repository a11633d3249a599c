"""What tasks have in common: poses and the controller's dynamics in a YAML, and slowing down."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from ...errors import InputError
from ...fields import Field, Reader, Section
from ...inverse.parameters import ParameterMap
from ...robots.arm import Arm
from ...robots.controller import Settings
from ...rotation import quat_matrix
from ...scene.controllers import FOLLOWING, read_following
from ..arm_motion import LESS
from ..config import PlanConfig

POSE: Section = {
    "position": Field("vector3", "of the inner frame's origin", "m", default=[0.0, 0.0, 0.0]),
    "orientation": Field("quaternion", "of it x y z w", default=[0.0, 0.0, 0.0, 1.0]),
}


def read_pose(reader: Reader, value: object, key: str) -> np.ndarray:
    """A pose (4, 4) of {position, orientation}."""
    pose = reader.section(POSE, value, key)
    turn, matrix = np.array(pose["orientation"], float), np.eye(4)
    matrix[:3, :3] = quat_matrix(turn / np.linalg.norm(turn))
    matrix[:3, 3] = pose["position"]
    return matrix


def read_tracking(reader: Reader, value: object, arm: Arm) -> Settings | None:
    """How the joints follow commands; None: the lag is not anticipated."""
    if value is None:
        return None
    given = reader.section(FOLLOWING, value, "robot.tracking")
    return read_following(reader, given, arm, "robot.tracking")


def slower(
    config: PlanConfig, bound: InputError, controls: Mapping[str, float], rates: Collection[str]
) -> tuple[PlanConfig, str]:
    """The plan with tighter bounds of these controls, and a sentence; `bound` if there are none."""
    parameters, changed = [], []
    for p in config.map.parameters:
        if p.name in rates and p.free:
            most = LESS * abs(controls[p.name])
            low, high = max(p.lower, -most), min(p.upper, most)
            p = replace(p, lower=low, upper=high, value=float(np.clip(p.value, low, high)))
            changed.append(f"|{p.name}| <= {most:.3g} {p.unit}")
        parameters.append(p)
    if not changed:
        raise bound
    tight = ParameterMap(parameters, config.scene.engine, config.map.groups)
    return replace(config, map=tight), ", ".join(changed)
