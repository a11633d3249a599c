"""The result of an excitation's design, and its plain data: result.yaml and metrics.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arm_motion import Carried
from .config import ExcitationConfig


@dataclass(frozen=True)
class ExcitationResult:
    """A designed motion.

    status      "designed", or "cancelled": the best so far
    carried     the arm's motion, checked, and its command
    coefficients  (n, 2 harmonics - 2) of the series;  amplitude  share of it that is clear
    objective   of each start that was improved, the best first, [nats] as design.py has it; `drawn`
                of those drawn
    sigmas      JOINT.PARAMETER -> expected standard deviation of what efforts tell by itself
    together    names of what they tell only together with inertias or others
    rank        number of combinations that efforts tell
    """

    config: ExcitationConfig
    status: str
    carried: Carried
    coefficients: np.ndarray
    amplitude: float
    objective: tuple[float, ...]
    drawn: tuple[float, ...]
    sigmas: Mapping[str, float]
    together: tuple[str, ...]
    rank: int
    evaluations: int
    seconds: float

    @property
    def gain(self) -> float:
        """Standard deviations over those of the median drawn motion: root of the mean square of all
        ("mean"), else the geometric mean; with what `parameters` add."""
        count = len(self.config.parameters)
        count += 0 if self.config.criterion == "chosen" else self.rank
        return float(np.exp((np.median(self.drawn) - self.objective[0]) / (2 * count)))

    @property
    def notes(self) -> list[str]:
        """Sentences for who reads the result."""
        found = []
        if self.amplitude < 1.0:
            found.append(
                f"the motion is {self.amplitude:g} times what the limits allow: it would come too "
                "near to the arm itself or to what stands around"
            )
        if self.together:
            listed = ", ".join(self.together)
            found.append(f"efforts tell these only together with inertias: {listed}")
        if self.status == "cancelled":
            found.append("cancelled: the best motion so far")
        return found


def unit_of(config: ExcitationConfig, name: str) -> str:
    """Unit of JOINT.PARAMETER."""
    joint, _, what = name.rpartition(".")
    turns = config.arm.robot.joints[config.arm.robot.joint_names.index(joint)].turns
    units = {
        "armature": ("kg*m^2", "kg"), "viscous": ("N m s/rad", "N s/m"), "coulomb": ("N m", "N"),
        "offset": ("N m", "N"), "gain": ("1", "1"),
    }  # fmt: skip
    return units[what][0 if turns else 1]


def figures(result: ExcitationResult) -> dict[str, Any]:
    """Content of metrics.json."""
    return {
        "status": result.status,
        "robot": dict(result.carried.figures),
        "information": {
            "objective": result.objective[0],
            "starts": list(result.objective),
            "drawn_median": float(np.median(result.drawn)),
            "sigma_over_drawn": result.gain,
            "told": result.rank,
            "amplitude": result.amplitude,
        },
        "sigma": dict(result.sigmas),
        "evaluations": result.evaluations,
        "seconds": result.seconds,
    }


def document(result: ExcitationResult) -> dict[str, Any]:
    """Content of result.yaml."""
    config = result.config
    return {
        "command": "plan",
        "name": config.name,
        "status": result.status,
        "expected": {
            name: {"sigma": value, "unit": unit_of(config, name)}
            for name, value in result.sigmas.items()
        },
        "together": list(result.together),
        "readings": config.readings,
        "coefficients": {
            joint: row.tolist()
            for joint, row in zip(config.arm.robot.joint_names, result.coefficients, strict=True)
        },
        "notes": result.notes,
        "config": dict(config.source),
    }
