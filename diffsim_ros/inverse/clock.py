"""A sensor's clock relative to the simulation's: late by a delay, fast or slow by a drift [7f].

    time of the simulation = (1 + drift) t - delay

of a stamp t since the start of the rollout.  Either may be the value of a parameter; what a sensor
would measure then changes with it by the trajectory's velocity.  `NamedNumbers`: where a sensor's
frame or pivot is, likewise given or estimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError


@dataclass(frozen=True)
class NamedNumbers:
    """Numbers, and in place of each the name of a parameter, or ""."""

    numbers: tuple[float, ...]
    names: tuple[str, ...]

    def at(self, values: Mapping[str, float]) -> np.ndarray:
        """The numbers at values of the parameters."""
        pairs = zip(self.numbers, self.names, strict=True)
        return np.array([values[name] if name else number for number, name in pairs])

    @classmethod
    def zero(cls, count: int) -> NamedNumbers:
        """So many zeros."""
        return cls((0.0,) * count, ("",) * count)


@dataclass(frozen=True)
class Clock:
    """delay [s] and drift [1]; with a name the number is the first guess of that parameter.

    reference  what has been subtracted from stamps already [s]: (1 + drift) t - (delay -
    reference), so
               that a drift turns about the time of the recording, whatever its epoch
    """

    delay: float = 0.0
    drift: float = 0.0
    delay_name: str = ""
    drift_name: str = ""
    reference: float = 0.0

    def __post_init__(self) -> None:
        for key in ("delay", "drift"):
            if not np.isfinite(getattr(self, key)):
                raise InputError("clock", key, getattr(self, key), "a finite number")
        if not self.drift > -1:
            raise InputError("clock", "drift", self.drift, "greater than -1")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that it uses."""
        return tuple(dict.fromkeys(name for name in (self.delay_name, self.drift_name) if name))

    def times(self, t: np.ndarray, values: Mapping[str, float] | None = None) -> np.ndarray:
        """Times of the simulation (M,) of stamps t (M,); without values at the first guess."""
        values = values or {}
        delay = values.get(self.delay_name, self.delay)
        return (1.0 + values.get(self.drift_name, self.drift)) * t - (delay - self.reference)

    def within(
        self, t: np.ndarray, values: Mapping[str, float] | None, last: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Times from 0 to `last` [s], and which of them (M,) lie in between and so move."""
        wanted = self.times(t, values)
        at = np.clip(wanted, 0.0, last)
        return at, at == wanted

    def own(self, t: np.ndarray, moving: np.ndarray, by_time: np.ndarray) -> dict[str, np.ndarray]:
        """Partials by its parameters of residuals (M, q) whose slopes by time are by_time."""
        found: dict[str, np.ndarray] = {}
        slopes = ((self.delay_name, -np.ones_like(t)), (self.drift_name, t))
        for name, slope in slopes:
            if name:
                found[name] = found.get(name, 0.0) + (slope * moving)[:, None] * by_time
        return found
