"""Positions of a robot's joints from received joint states: fresh, complete and plausible.

Without ROS: stamps and times of receipt are [ns] of one clock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError

from .command import NANO, JointSample

Clock = Callable[[], int]
"""The present time [ns]."""

PLACE = "joint states"
WINDOW = 0.05
"""[s] over which positions are differenced where a robot sends no velocities."""
BREAK = 0.2
"""[s] between two states after which their positions are not compared any more."""
JITTER = 0.02
"""[rad or m] that positions may differ besides what joints can move between two stamps."""
DOUBT = 1.0
"""[s] for which states that contradict each other are held against a robot."""
MOVED = 5
"""States in a row, and in keeping with each other, after which a robot was moved elsewhere (a
simulator begins again): of two robots that publish at once, the states alternate."""


@dataclass(frozen=True)
class ReceivedState:
    """One joint state: stamp and receipt [ns], position and velocity (n,)."""

    stamp: int
    received: int
    position: np.ndarray
    velocity: np.ndarray


class JointStates:
    """The last sound state of joints `names`, and why a later one was not accepted.

    speed      (n,) [rad/s or m/s] limits: faster changes contradict the last state
    state_age  [s] by which a stamp may differ from the clock, and that a state stays fresh
    All methods may be called from any thread. What depends on the present time is given the clock,
    not a time: a state that another thread adds once a clock was read lies in that time's future.
    """

    def __init__(self, names: Sequence[str], speed: np.ndarray, state_age: float) -> None:
        self.names, self.state_age = tuple(names), state_age
        self._speed = np.asarray(speed, float)
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Begin again: the clock was set."""
        self._state: ReceivedState | None = None
        self._fault: InputError | None = None
        self._fault_at, self._contradicted_at = -1, -(10**18)
        self._history: deque[tuple[int, np.ndarray]] = deque()
        self._elsewhere: list[tuple[int, np.ndarray]] = []

    @property
    def last(self) -> ReceivedState | None:
        """The last sound state, however old."""
        return self._state

    def add(self, stamp: int, received: int, sample: JointSample) -> ReceivedState | None:
        """Add a state; the ReceivedState if it is sound and new, else None."""
        if not set(self.names) <= set(sample.positions):
            return None  # another publisher's joints
        with self._lock:
            if self._state is not None and received < self._state.received:
                self.forget()  # the clock was set back
            if self._state is not None and stamp == self._state.stamp:
                return None
            fault = self._unsound(stamp, received, sample)
            if fault is not None:
                self._fault, self._fault_at = fault, received
                return None
            if self._state is not None and stamp < self._state.stamp:
                return None  # overtaken on the network
            state = self._taken(stamp, received, sample)
        return state

    def _unsound(self, stamp: int, received: int, sample: JointSample) -> InputError | None:
        if stamp <= 0:
            rule, remedy = "the time of the measurement", "the robot's driver must stamp them"
            return InputError(PLACE, "stamp", stamp, rule, remedy)
        old = (received - stamp) / NANO
        if abs(old) > self.state_age:
            got = f"{abs(old):.3f} s {'before' if old > 0 else 'after'} this clock's time"
            rule = f"within {self.state_age:g} s of it"
            remedy = "do the clocks agree? a recording that is played is no robot"
            return InputError(PLACE, "stamp", got, rule, remedy)
        position, _ = sample.rows(self.names)
        for name, value in zip(self.names, position, strict=True):
            if not np.isfinite(value):
                return InputError(PLACE, f"position of {name}", float(value), "a finite number")
        return self._contradiction(stamp, received, position)

    def _contradiction(self, stamp: int, received: int, position: np.ndarray) -> InputError | None:
        """Positions that joints cannot have reached since the last state, as of two robots."""
        last = self._state
        if last is None or abs(stamp - last.stamp) > BREAK * NANO:
            return None
        beyond = self._beyond(last.stamp, last.position, stamp, position)
        if np.all(beyond <= 0.0):
            self._elsewhere.clear()
            return None
        if self._elsewhere and np.any(self._beyond(*self._elsewhere[-1], stamp, position) > 0.0):
            self._elsewhere.clear()
        self._elsewhere.append((stamp, position))
        if len(self._elsewhere) >= MOVED:
            self.forget()
            self._contradicted_at = received  # it is still doubted that they are complete
            return None
        self._contradicted_at = received
        k = int(np.argmax(beyond))
        key, apart = f"position of {self.names[k]}", abs(stamp - last.stamp) / NANO
        got = f"{position[k]:.6g}, {apart:.3g} s from {last.position[k]:.6g}"
        rule = f"a change of at most {abs(position[k] - last.position[k]) - beyond[k]:.3g}"
        return InputError(PLACE, key, got, rule, "does more than one robot publish them?")

    def _beyond(self, before: int, start: np.ndarray, stamp: int, end: np.ndarray) -> np.ndarray:
        """(n,) by how much joints changed more than they can between two stamps."""
        most = 2.0 * self._speed * abs(stamp - before) / NANO + JITTER
        return np.abs(end - start) - most

    def _taken(self, stamp: int, received: int, sample: JointSample) -> ReceivedState:
        position, _ = sample.rows(self.names)
        given = [sample.velocities.get(name, np.nan) for name in self.names]
        velocity = np.array(given, float)
        unknown = ~np.isfinite(velocity)
        if unknown.any():
            velocity[unknown] = self._differenced(stamp, position)[unknown]
        self._history.append((stamp, position))
        while stamp - self._history[0][0] > WINDOW * NANO:
            self._history.popleft()
        self._state = ReceivedState(stamp, received, position, velocity)
        return self._state

    def _differenced(self, stamp: int, position: np.ndarray) -> np.ndarray:
        """Velocity (n,) since the oldest state of the window; NaN where there is none."""
        for before, where in self._history:
            if 0 < stamp - before <= 2 * WINDOW * NANO:
                return (position - where) / ((stamp - before) / NANO)
        return np.full(len(position), np.nan)

    def age(self, clock: Clock) -> float:
        """[s] since the last sound state was measured, or received if that is longer ago.

        NaN before any; negative where the clock was set back since.
        """
        state = self._state
        if state is None:
            return float("nan")
        now = clock()
        if now < state.received:
            return (now - state.received) / NANO
        return max(now - state.stamp, now - state.received) / NANO

    def rests(self, speed: float) -> bool:
        """Whether the last state's joints are slower than `speed` [rad/s or m/s]."""
        state = self._state
        return state is not None and bool(np.all(np.abs(state.velocity) <= speed))

    def doubted(self, clock: Clock) -> bool:
        """Whether states have contradicted each other just now."""
        return (clock() - self._contradicted_at) / NANO < DOUBT

    def is_fresh(self, clock: Clock) -> bool:
        """Whether `present` would return a state."""
        try:
            self.present(clock)
        except InputError:
            return False
        return True

    def present(self, clock: Clock) -> JointSample:
        """The present state; InputError where none is fresh, complete and plausible."""
        with self._lock:
            state, fault = self._state, self._fault
            newer = fault is not None and (state is None or self._fault_at >= state.received)
        if fault is not None and (newer or self.doubted(clock)):
            raise fault
        if state is None:
            remedy = "is the robot's driver running? ros2 topic hz joint_states"
            raise InputError(PLACE, "", None, "at least one", remedy)
        age = self.age(clock)
        if not 0.0 <= age <= self.state_age:
            rule = f"0 to {self.state_age:g} s"
            remedy = "is the robot's driver running?" if age > 0.0 else "the clock was set back"
            raise InputError(PLACE, "age", age, rule, remedy)
        for name, rate in zip(self.names, state.velocity, strict=True):
            if not np.isfinite(rate):
                rule = "a finite number, or two states to difference"
                raise InputError(PLACE, f"velocity of {name}", float(rate), rule)
        named = (dict(zip(self.names, row.tolist(), strict=True)) for row in
                 (state.position, state.velocity))  # fmt: skip
        return JointSample(*named, age)
