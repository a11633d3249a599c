"""What an estimation YAML says, checked (config.py reads it)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from .options import FitOptions, ParameterOptions, UncertaintyOptions


@dataclass(frozen=True)
class EstimationConfig:
    """A checked estimation.

    place         the file (or "YAML text") that messages name
    base          folder that relative paths of the YAML start from
    scene         scene mapping, or the path of a scene YAML
    bodies        names of the tracked bodies
    kind          what was recorded (kinds.py); train, validate, measurement and simulation are its
    train         recordings that are fitted;  validate: those that are predicted (None: none)
    parameters    name -> ParameterOptions, in the order of the YAML, those of inertias behind
    inertias      payloads whose ten parameters are among them
    source        the mapping as read, with every --set, --train and --validate in it (provenance)
    """

    place: str
    base: Path
    name: str
    kind: str
    scene: Mapping | Path
    bodies: tuple[str, ...]
    train: Any
    validate: Any
    measurement: Any
    simulation: Any
    parameters: Mapping[str, ParameterOptions]
    fit: FitOptions
    uncertainty: UncertaintyOptions
    source: Mapping
    inertias: tuple[str, ...] = ()

    def error(self, key: str, value: object, accepted: str, remedy: str = "") -> InputError:
        """An InputError that names this estimation's file."""
        return InputError(self.place, key, value, accepted, remedy)

    @property
    def body(self) -> str:
        """The tracked body, of several the first."""
        return self.bodies[0]

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the parameters that are estimated."""
        return tuple(name for name, p in self.parameters.items() if not p.fixed)
