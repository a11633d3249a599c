"""Objectives at times of a sensor's own: between rows of a rollout, by a clock of its own [7f]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from .clock import Clock
from .losses import Loss
from .objectives import _checked_times


def rows_around(t: np.ndarray, interval: float) -> np.ndarray:
    """Rows of a rollout before and after times t [s] since its start (M, 2)."""
    first = np.floor(t / interval + 1e-9).astype(np.int64)
    return np.stack([first, first + 1], axis=1)


@dataclass(frozen=True, eq=False)
class AtTimes:
    """What these objectives have in common; see also objectives.AtFrames.

    t          (M,)  stamps since the start of the rollout [s], >= 0
    interval   of the rollout's rows [s]
    clock      of the stamps
    each_time  names of the fields with one row a time, which `until` cuts
    """

    body: str
    t: np.ndarray
    interval: float
    clock: Clock = field(default_factory=Clock, kw_only=True)
    loss: Loss = field(default_factory=Loss, kw_only=True)
    name: str = field(default="", kw_only=True)
    soft: ClassVar[bool] = True
    each_time: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", _checked_times(self.place, self.t))

    @property
    def place(self) -> str:
        """For messages."""
        return f"objective {self.name!r} of {self.body!r}"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Parameters that the objective itself reads."""
        return self.clock.parameters

    @property
    def frames(self) -> np.ndarray:
        """Rows of the rollout before and after every time at the first guess (M, 2)."""
        return rows_around(np.maximum(self.clock.times(self.t), 0.0), self.interval)

    def until(self, frame: int) -> Self | None:
        """See `Objective.until`."""
        kept = self.frames[:, 1] <= frame
        rows = {key: getattr(self, key) for key in ("t", *self.each_time)}
        cut = {key: value[kept] for key, value in rows.items() if value is not None}
        return replace(self, **cut) if kept.any() else None

    def within(
        self, rollout: Any, values: Mapping[str, float] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Times of the simulation (M,), and which of them move with the clock."""
        # the last row of a rollout has none after it
        last = (len(rollout.position) - 1 - 1e-6) * self.interval
        return self.clock.within(self.t, values, last)
