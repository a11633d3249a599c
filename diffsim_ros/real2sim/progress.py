"""Progress of an estimation, reported through one callback."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """One report.

    phase          read, choose, fit, search, uncertainty, discretisation, profile or validate
    iteration      within the phase
    objective      mean cost per toss, best so far; None before the first
    fraction_done  of the whole estimation, 0 ... 1, never falling
    seconds_left   by the time that it took so far; None at the beginning
    parameters     values by name
    """

    phase: str
    iteration: int
    objective: float | None
    fraction_done: float
    seconds_left: float | None
    parameters: Mapping[str, float] = field(default_factory=dict)


ProgressCallback = Callable[[Progress], None]


class Reporter:
    """Turns "k of n in this phase" into fractions and seconds of the whole.

    plan   (phase, expected effort) in the order in which they come, in any common unit
    """

    def __init__(
        self, callback: ProgressCallback | None, plan: Sequence[tuple[str, float]]
    ) -> None:
        self.callback = callback
        self.effort = dict(plan)
        self.total = sum(self.effort.values()) or 1.0
        self.before, self.phase, self.fraction = 0.0, "", 0.0
        self.started = time.perf_counter()
        self.objective: float | None = None
        self.seconds: dict[str, float] = {}
        self._phase_started = self.started

    def begin(self, phase: str) -> None:
        """Enter a phase; the one before counts as done, however much of it was needed."""
        now = time.perf_counter()
        if self.phase:
            self.seconds[self.phase] = self.seconds.get(self.phase, 0.0) + now - self._phase_started
            self.before += self.effort.pop(self.phase, 0.0)
        self.phase, self._phase_started = phase, now
        self.update(0.0, 0)

    def end(self) -> dict[str, float]:
        """Close the last phase; seconds spent in each."""
        self.begin("done")
        return {name: seconds for name, seconds in self.seconds.items() if name != "done"}

    def update(
        self,
        done: float,
        iteration: int,
        objective: float | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        """Report that a share `done` (0 ... 1) of this phase is finished."""
        if objective is not None:
            self.objective = objective
        share = self.before + self.effort.get(self.phase, 0.0) * min(max(done, 0.0), 1.0)
        self.fraction = max(self.fraction, min(share / self.total, 1.0))
        if self.callback is None:
            return
        elapsed = time.perf_counter() - self.started
        left = elapsed * (1.0 - self.fraction) / self.fraction if self.fraction > 0.02 else None
        self.callback(
            Progress(
                self.phase, iteration, self.objective, self.fraction, left, dict(parameters or {})
            )
        )
