"""What logged efforts are beside the torques of the drives: a gain per joint, with its sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ....errors import InputError
from ....robots.urdf import load_robot
from ....sensing.observation import Observation
from ...efforts import EffortOptions, identify
from ...efforts.identify import OWN

NEAR = 2.0
"""Gains that are all at most so many times off 1 are those of torques."""
BOUNDS = 2.0
"""How many times off a gain may be."""
GAMMA = 1e-4
"""Weight of the URDF's inertias: little, for an arm may carry what its URDF lacks."""
MOVES = 0.02
"""Range [rad or m] from which on a joint moves."""


@dataclass(frozen=True)
class EffortGain:
    """Reading over torque [N m or N]: first guess and bounds.

    of    joint whose gain is taken, as the joint's own efforts do not tell it; else itself
    held  they do not tell it either, but the sign and size may differ from others'
    """

    value: float
    bounds: tuple[float, float]
    of: str
    held: bool = False


def effort_gains(
    urdf: str | Path, names: Sequence[str], logs: Sequence[Observation]
) -> dict[str, EffortGain]:
    """Gains of all joints by inverse dynamics (real2sim/efforts); 1 where they are near it, or the
    logs are too short."""
    told, signs = _told(urdf, names, logs)
    torques = all(1 / NEAR < gain < NEAR for gain in told.values())
    usual = 1.0 if torques else float(np.median(np.abs(list(told.values()))))
    found, last = {}, next(iter(told), "")
    for name in names:
        seen = name in told or not told
        last = name if seen else last
        value = 1.0 if torques else told.get(name, signs.get(name, 1.0) * usual)
        ends = sorted((value / BOUNDS, value * BOUNDS))
        of = last if torques else name
        found[name] = EffortGain(value, (ends[0], ends[1]), of, not seen and not torques)
    return found


def _told(
    urdf: str | Path, names: Sequence[str], logs: Sequence[Observation]
) -> tuple[dict[str, float], dict[str, float]]:
    """Gains that efforts tell, and the signs of all that rub: friction's effort has the gain's."""
    places = {
        name: np.concatenate([log.column(log.measured["position"], name) for log in logs])
        for name in names
    }
    moving = [name for name in names if np.ptp(places[name]) > MOVES]  # NaN: does not
    held = {n: float(np.nanmean(places[n])) for n in names if n not in moving}
    options = EffortOptions(friction=("coulomb_viscous",), gammas=(GAMMA,))
    try:
        robot = load_robot(urdf, meshes="ignore", joints=moving, held=held)
        model = identify(robot, logs, options)
    except InputError:  # too short, too still
        return {}, {}
    told, signs, dry = {}, {}, len(OWN) + model.laws[0].terms.index("coulomb")
    for j, name in enumerate(robot.joint_names):
        if model.kinds[j] in ("estimated", "reference"):
            told[name] = float(model.coefficients.gain[j])
        signs[name] = float(np.sign(model.coefficients.friction[j][dry]) or 1.0)
    return told, signs
