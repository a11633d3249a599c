"""How joints follow their commands: late, and each like a damped mass on a spring."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .command import NANO, nanoseconds

KEPT = 16
"""Durations whose transitions are kept."""


class Commands:
    """Straight lines that joints are commanded to follow, each from its time and a delay on.

    place, rate  (n,) [rad or m, per s] of the present line, which counts from `since` [ns] on
    """

    def __init__(self, position: np.ndarray, delay: float, time: int) -> None:
        self.place, self.rate, self.since = position, np.zeros_like(position), time
        self._delay = nanoseconds(delay)
        self._queue: deque[tuple[int, np.ndarray, np.ndarray]] = deque()

    def give(self, time: int, position: np.ndarray, velocity: np.ndarray) -> None:
        """Another line, given at `time` [ns]."""
        self._queue.append((time + self._delay, np.array(position), np.array(velocity)))

    def due(self, time: int) -> bool:
        """Whether another line begins by `time` [ns]."""
        return bool(self._queue) and self._queue[0][0] <= time

    def take(self) -> None:
        """Begin the next line."""
        self.since, self.place, self.rate = self._queue.popleft()

    @property
    def next(self) -> int:
        """[ns] when the next line begins."""
        return self._queue[0][0]

    def at(self, time: int) -> np.ndarray:
        """(n,) of the present line at `time` [ns]."""
        return self.place + self.rate * ((time - self.since) / NANO)

    def shift(self, by: int) -> None:
        """The clock was set by [ns]."""
        self.since += by
        self._queue = deque((stamp + by, *rest) for stamp, *rest in self._queue)


class SteppedJoints:
    """What joints that are stepped by the engine share: commands, and a clock that can be set.

    time [ns];  _stepped [ns] that they were stepped to
    """

    def __init__(self, position: np.ndarray, delay: float, time: int) -> None:
        self.time = self._stepped = time
        self.position = np.array(position, float)
        self._commands = Commands(self.position, delay, time)

    def command(self, position: np.ndarray, velocity: np.ndarray) -> None:
        """From now (and the delay) on: go on from `position` with `velocity`, both (n,)."""
        self._commands.give(self.time, position, velocity)

    def shift(self, by: int) -> None:
        """The clock was set by [ns]."""
        self.time, self._stepped = self.time + by, self._stepped + by
        self._commands.shift(by)


class Joints(Protocol):
    """Joints that follow commands; time [ns], arrays (n,) [rad or m, per s].

    efforts  (n,) [N m or N] of the drives, None where they have no masses
    """

    time: int
    position: np.ndarray
    velocity: np.ndarray
    efforts: np.ndarray | None

    def command(self, position: np.ndarray, velocity: np.ndarray) -> None: ...
    def shift(self, by: int) -> None: ...
    def advance(self, time: int) -> None: ...


class Following(Protocol):
    """How joints follow their commands: `delay` [s] late, and then as `begin`'s do."""

    @property
    def delay(self) -> float: ...

    def begin(self, position: np.ndarray, time: int = 0) -> Joints: ...


@dataclass(frozen=True)
class Dynamics:
    """bandwidth [rad/s] and damping ratio [1] of a joint's closed loop, a number or (n,).

    delay        [s] until a command has an effect
    feedforward  [1] share of the commanded velocity that is fed forward: with 1 a joint follows a
                 constant velocity without lag (but for the delay)
    """

    bandwidth: float | np.ndarray = 60.0
    damping: float | np.ndarray = 1.0
    delay: float = 0.008
    feedforward: float = 1.0

    def begin(self, position: np.ndarray, time: int = 0) -> Tracking:
        """Joints at rest at positions (n,), at a time [ns]."""
        return Tracking(position, self, time)


class Tracking:
    """Joints q with q'' = w^2 (u - q) + 2 z w (f u' - q'), u(t) piecewise linear and late.

    Integrated exactly between two commands, so the steps in which it advances do not matter.
    time  [ns];  position, velocity  (n,) [rad or m, per s]
    """

    efforts = None

    def __init__(self, position: np.ndarray, dynamics: Dynamics, time: int = 0) -> None:
        self.position = np.array(position, float)
        self.velocity = np.zeros_like(self.position)
        self.time = time
        self._dynamics = dynamics
        self._commands = Commands(self.position, dynamics.delay, time)
        self._steps: dict[int, np.ndarray] = {}  # a controller's cycles are equal

    def command(self, position: np.ndarray, velocity: np.ndarray) -> None:
        """From now (and the delay) on: go on from `position` with `velocity`, both (n,)."""
        self._commands.give(self.time, position, velocity)

    def shift(self, by: int) -> None:
        """The clock was set by [ns]."""
        self.time += by
        self._commands.shift(by)

    def advance(self, time: int) -> None:
        """Let the joints move until `time` [ns]."""
        while self._commands.due(time):
            self._integrate(self._commands.next)
            self._commands.take()
        self._integrate(time)

    def _integrate(self, time: int) -> None:
        """On one straight piece of u: the distance from it (less the lag) decays freely."""
        if time <= self.time:
            return
        d, rate = self._dynamics, self._commands.rate
        lag = -2.0 * d.damping * (1.0 - d.feedforward) * rate / d.bandwidth
        here, there = (self._commands.at(t) + lag for t in (self.time, time))
        away = np.stack([self.position - here, self.velocity - rate], axis=-1)[..., None]
        away = (self._over(time - self.time) @ away)[..., 0]
        self.position, self.velocity = there + away[..., 0], rate + away[..., 1]
        self.time = time

    def _over(self, duration: int) -> np.ndarray:
        """`_step` at a time [ns]; the last few are kept."""
        if duration not in self._steps:
            if len(self._steps) >= KEPT:
                self._steps.clear()
            self._steps[duration] = self._step(duration)
        return self._steps[duration]

    def _step(self, duration: int) -> np.ndarray:
        """Transition matrices (n, 2, 2) of distance and its rate over a time [ns]."""
        tau, d = duration / NANO, self._dynamics
        shape = np.ones_like(self.position)
        stiffness, decay = np.square(d.bandwidth) * shape, d.damping * d.bandwidth * shape
        root = np.emath.sqrt(np.square(decay) - stiffness) + 0j
        near = np.abs(root) * tau < 1e-4  # critical damping, where the quotient is 0/0
        root = np.where(near, 1.0, root)
        fast, slow = np.exp((-decay - root) * tau), np.exp((-decay + root) * tau)
        once = np.exp(-decay * tau)
        cosine = np.where(near, once, (0.5 * (fast + slow)).real)
        sine = np.where(near, once * tau, ((slow - fast) / (2.0 * root)).real)
        rows = [[cosine + decay * sine, sine], [-stiffness * sine, cosine - decay * sine]]
        return np.moveaxis(np.array(rows), -1, 0)
