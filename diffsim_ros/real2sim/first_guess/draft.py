"""What is known of a body or robot beforehand, and the texts of a first estimation of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...sensing.observation import PoseTrial


@dataclass(frozen=True)
class Given:
    """What the person who asks knows: edges of the body [m] (1 or 3), its mass [kg]; of a robot
    its URDF."""

    size: tuple[float, ...] = ()
    mass: float | None = None
    urdf: Path | None = None

    def __post_init__(self) -> None:
        if len(self.size) not in (0, 1, 3) or not all(s > 0 and np.isfinite(s) for s in self.size):
            rule = "one or three lengths > 0 [m]"
            raise InputError("diffsim init", "--size", list(self.size), rule)
        if self.mass is not None and not (self.mass > 0 and np.isfinite(self.mass)):
            raise InputError("diffsim init", "--mass", self.mass, "a number > 0 [kg]")


@dataclass(frozen=True)
class First:
    """Texts of the YAMLs, recordings that were converted (name -> trials), and what was assumed."""

    scene: str
    estimation: str
    tosses: dict[str, list[PoseTrial]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
