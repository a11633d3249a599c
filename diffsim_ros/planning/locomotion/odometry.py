"""Where a robot that walks really is: measured poses of its body, checked, and what they say about
the plan that it carries out.

A plan is carried out open loop; feet slip and the body turns a little.  Poses that are measured
meanwhile show where the plan's frame has come to: `measured = frame . planned`.  It is the mean
over the last period of the gait, as the body sways about its plan, and drifts on as it did from
the period before to the last one.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.robots.command import NANO

from .planar import composed, inverse, planar, relative, wrapped
from .walk import PlannedWalk

PLACE = "odometry"
UNIT = 1e-2
"""By which the length of a quaternion may differ from 1."""
CORRECTED = 0.25
"""Share of a goal's tolerances beyond which the end of a walk is corrected."""
DRIFTING = 2.0
"""Periods for which a plan's frame is taken to drift on after a correction begins."""
LATE = 0.2
"""[s] before the last moment at which a walk is corrected from an end of a period."""
KEPT = 64
"""Poses at least that are kept of the frame of a plan."""


@dataclass(frozen=True)
class OdometryRules:
    """What is accepted.

    frame  that poses are in;  age [s] of the last one
    speed [m/s], turn_rate [rad/s], slack [m], turn_slack [rad]  beyond which one is a jump
    """

    frame: str = "odom"
    age: float = 0.3
    speed: float = 2.0
    turn_rate: float = 4.0
    slack: float = 0.03
    turn_slack: float = 0.1


def ground_pose(frame: str, pose: np.ndarray, wanted: str, place: str, key: str = "") -> np.ndarray:
    """x, y, yaw (3,) of a pose (7,) that was received in a frame.

    InputError, of `place` and keys below `key`: another frame than the one wanted, numbers that
    are not finite, a quaternion that is not of unit length.
    """
    if frame != wanted:
        rule = f"{wanted!r}, the parameter world_frame"
        raise InputError(place, f"{key}header.frame_id", frame, rule)
    if not np.isfinite(pose).all():
        got = ", ".join(f"{value:.3g}" for value in pose)
        raise InputError(place, f"{key}pose", got, "finite numbers")
    length = float(np.linalg.norm(pose[3:]))
    if not abs(length - 1.0) < UNIT:
        raise InputError(place, f"{key}pose.orientation: length", length, "1")
    return planar(np.append(pose[:3], pose[3:] / length))


class OdometryTrack:
    """The last pose of the body that is sound; jumps of it are counted.

    jumps  how often it was suddenly elsewhere;  problem  with the last message, None: it is sound
    """

    def __init__(self, rules: OdometryRules) -> None:
        self.rules, self.jumps = rules, 0
        self.problem: InputError | None = None
        self._last: tuple[int, np.ndarray] | None = None

    @property
    def ever(self) -> bool:
        """Whether there was any message."""
        return self._last is not None or self.problem is not None

    def add(self, stamp: int, frame: str, pose: np.ndarray) -> np.ndarray | None:
        """Take a pose (7,) at a stamp [ns]: (3,) x, y, yaw of it, None if it is not sound."""
        here = None
        try:
            here, self.problem = ground_pose(frame, pose, self.rules.frame, PLACE), None
        except InputError as error:
            self.problem = error
        if self._last is not None and stamp < self._last[0] - self.rules.age * NANO:
            self._last, self.jumps = None, self.jumps + 1  # another clock
        old = self._last is not None and stamp <= self._last[0]
        if here is None or old:
            return None
        if self._last is not None:
            self._look_for_jump((stamp - self._last[0]) / NANO, relative(self._last[1], here))
        self._last = stamp, here
        return here

    def _look_for_jump(self, over: float, moved: np.ndarray) -> None:
        rules, size = self.rules, math.hypot(*moved[:2])
        if size > rules.slack + rules.speed * over:
            got, rule = f"{size:.3g} m in {over:.3g} s", f"at most {rules.speed:g} m/s"
        elif abs(moved[2]) > rules.turn_slack + rules.turn_rate * over:
            got = f"{abs(moved[2]):.3g} rad in {over:.3g} s"
            rule = f"at most {rules.turn_rate:g} rad/s"
        else:
            return
        self.jumps += 1
        self.problem = InputError(PLACE, "a jump", got, rule)

    def latest(self, now: int) -> tuple[int, np.ndarray]:
        """Stamp [ns] and pose (3,) of the last one; InputError: there is none, it is too old, or
        what came last is not sound."""
        if self.problem is not None:
            raise self.problem
        if self._last is None:
            raise InputError(PLACE, "messages", "none", "poses of the body")
        age = abs(now - self._last[0]) / NANO
        if age > self.rules.age:
            rule = f"at most {self.rules.age:g} s"
            raise InputError(PLACE, "age of the last message", f"{age:.2f} s", rule)
        return self._last


@dataclass(frozen=True, eq=False)
class PlacedWalk:
    """A walk in the frame of the first one of those that go on from each other.

    origin  (3,) pose of its own frame there;  chain  name of the first one
    """

    name: str
    walk: PlannedWalk
    origin: np.ndarray
    chain: str

    def __post_init__(self) -> None:
        rows = composed(self.origin, planar(self.walk.states().base))
        rows[:, 2] = np.unwrap(rows[:, 2])
        object.__setattr__(self, "_rows", rows)

    def at(self, time: float) -> np.ndarray:
        """(3,) planned pose of the body at a time [s] of the walk; at rest outside."""
        times = self.walk.times()
        return np.array([np.interp(time, times, column) for column in self._rows.T])  # type: ignore[attr-defined]

    @property
    def duration(self) -> float:
        """[s] of the walk."""
        return float(self.walk.times()[-1])


@dataclass(frozen=True)
class Nearness:
    """Of a goal: tolerance [m], turn_tolerance [rad] within which it counts as reached."""

    tolerance: float = 0.02
    turn_tolerance: float = 0.03

    def reached(self, off: np.ndarray, share: float = 1.0) -> bool:
        """Whether a pose (3,), the goal in the body's axes, is within a share of them."""
        near = math.hypot(*off[:2]) <= share * self.tolerance
        return bool(near and abs(off[2]) <= share * self.turn_tolerance)


@dataclass(frozen=True)
class Correction:
    """A walk that is to go on from `sample` to a pose (3,) in the body's axes there, in `least`
    periods or more."""

    sample: int
    pose: np.ndarray
    least: int


class FrameTrack:
    """Where the frame of the plans of a chain is on the ground, of poses that were measured.

    chain  name of the first plan;  period [s] of the gait
    """

    def __init__(self, chain: str, period: float) -> None:
        self.chain, self.period = chain, period
        self._rows: deque[tuple[float, np.ndarray]] = deque()

    def add(self, time: float, measured: np.ndarray, planned: np.ndarray) -> None:
        """The body's pose (3,) as measured and as planned at a time [s] of any clock."""
        frame = composed(measured, inverse(planned))
        if self._rows:
            last = self._rows[-1][1][2]
            frame[2] = last + wrapped(frame[2] - last)
        self._rows.append((time, frame))
        while len(self._rows) > KEPT and time - self._rows[0][0] > 2.2 * self.period:
            self._rows.popleft()

    def at(self, time: float) -> np.ndarray | None:
        """(3,) the frame at a time [s], at present or soon; None: nothing was measured."""
        if not self._rows:
            return None
        times = np.array([row[0] for row in self._rows])
        frames = np.array([row[1] for row in self._rows])
        end = times[-1]
        last = times > end - self.period
        mean = frames[last].mean(axis=0)
        before = (times <= end - self.period) & (times > end - 2.0 * self.period)
        if not before.any() or times[0] > end - 1.8 * self.period:
            return np.asarray(mean)
        span = float(times[last].mean() - times[before].mean())
        rate = (mean - frames[before].mean(axis=0)) / span
        return np.asarray(mean + rate * (time - times[last].mean()))

    def correction(
        self, placed: PlacedWalk, time: float, own: float, ahead: float, goal: np.ndarray,
        near: Nearness,
    ) -> Correction | None:  # fmt: skip
        """What brings the walk that runs to a goal (3,) on the ground, from the first end of a
        period that is `ahead` [s] away; `own` [s] of the walk at a time [s].

        None: it comes to rest before, it goes to the goal already, nothing was measured, or more
        can be measured before that end of a period is LATE.
        """
        walk = placed.walk
        sample = walk.after(own + ahead)
        left = 0 if sample is None else sum(k > sample for k in walk.boundaries())
        if sample is None or not left:
            return None
        begun = sample * walk.motion.step
        if begun - own - ahead > LATE:
            return None
        frame = self.at(time + begun - own)
        if frame is None:
            return None
        end = composed(frame, placed.at(placed.duration))
        if near.reached(relative(end, goal), CORRECTED):
            return None
        on = min(placed.duration - begun, DRIFTING * self.period)
        return Correction(sample, self.pose_to(goal, placed, begun, time + begun - own, on), left)

    def pose_to(
        self, goal: np.ndarray, placed: PlacedWalk, own: float, time: float, on: float
    ) -> np.ndarray:
        """A goal (3,) on the ground in the body's axes at `own` [s] of a walk, at a time [s], where
        the plan's frame drifts `on` [s] from then; there must be measured poses."""
        later = self.at(time + on)
        assert later is not None
        return relative(placed.at(own), composed(inverse(later), goal))
