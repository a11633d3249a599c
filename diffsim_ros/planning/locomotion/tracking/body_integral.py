"""Integral of the body's error: what the model does not know of, a payload first of all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError


@dataclass(frozen=True)
class IntegralOptions:
    """height, along  [s] over which an error that stays, of the body's height and along the ground,
            moves the reference by as much; inf: no integral
    most    offset of the reference, in heights of the centre of mass
    band    error beyond which the integral stays as it is, in heights: a push is none of its affair
    """

    height: float = 0.3
    along: float = 1.0
    most: float = 0.1
    band: float = 0.05

    def __post_init__(self) -> None:
        for name in ("height", "along", "most", "band"):
            value = getattr(self, name)
            if not value > 0.0:
                raise InputError("body integral", name, value, "a number > 0")


class BodyIntegral:
    """Offset (3,) [m] by which the reference of the predictive control is moved against the mean
    error of the body (T7)."""

    def __init__(self, options: IntegralOptions, height: float) -> None:
        self.options, self.height = options, height
        self.offset = np.zeros(3)
        self._last: float | None = None

    def update(self, time: float, error: np.ndarray) -> np.ndarray:
        """The offset at `time` [s] with the body's place less the motion's, `error` (3,) [m]."""
        o = self.options
        since = 0.0 if self._last is None else time - self._last
        self._last = time
        if np.linalg.norm(error) <= o.band * self.height:
            times = np.array([o.along, o.along, o.height])
            self.offset = self.offset - since / times * error
            size, most = float(np.linalg.norm(self.offset)), o.most * self.height
            if size > most:
                self.offset = self.offset * (most / size)
        return self.offset
