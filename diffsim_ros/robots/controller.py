"""A joint trajectory controller without hardware, as ros2_controllers' runs on a UR.

It accepts and refuses what the real one does (`rejection`), interpolates as it does, in the version
that is asked for (interpolation.py), stretches time with the speed scaling, watches the tolerances
of path and goal, and moves joints that follow late (`tracking`).  It uses neither ROS nor the wall
clock: only `step` moves it.

Sources: ros2_controllers joint_trajectory_controller (validate_trajectory_msg, topic_callback,
goal_accepted_callback, sort_to_local_joint_order, update, Trajectory::sample) and ur_controllers
scaled_joint_trajectory_controller with ur_robot_driver's ur_controllers.yaml.  What all releases
that were read, of 2.x and 4.x, do:
- An action's goal ends the goal before it.  A message on the topic does not: it replaces the
  trajectory, under the tolerances in force, and a running goal goes on with it: its feedback is of
  the new trajectory, and it succeeds when that one ends (`replace`).
- In the first cycle of a trajectory the path's tolerance counts even if that is its last point.
- A cancelled goal and a violated tolerance hold the measured position at once; late 4.x releases
  can be set to brake (decelerate_on_cancel), as `deceleration` does here.
- Names are looked up, not counted: of a joint named twice the last column counts.  The joint that
  is missing for it gets zeros in 2.x; in 4.x, as here, what the buffer for sorting holds from the
  row before, of whatever field and trajectory.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .command import NANO, JointCommand, nanoseconds
from .interpolation import VERSIONS, Course, approach_rule
from .tracking import Dynamics, Following
from .trajectory import FIELDS, JointTrajectory

SUCCESSFUL, INVALID_GOAL, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = 0, -1, -4, -5
"""Result codes of FollowJointTrajectory that a running goal can end with."""
END_VELOCITY = 1.19e-7
"""Speed [rad/s] of the last point above which a trajectory is rejected (float's epsilon)."""

FARTHEST = 1e6
"""[rad or m, per s] that drives accept at all: NaN and more than this they do not follow."""


@dataclass(frozen=True)
class Settings:
    """A controller's parameters; the defaults are ur_robot_driver's.

    rate          [Hz] at which commands change
    path, goal    [rad or m] tolerances while moving and at the end
    goal_time     [s] after the end until the goal must be reached; 0: waits forever
    deceleration  [rad/s^2 or m/s^2] when it holds; infinite: as the real one, which commands the
                  measured position at once and leaves the braking to the drives
    slope         [1/s] at which the speed scaling changes: an emergency stop brakes along the path
    version       of ros2_controllers, which decides how a later first point is approached
    """

    rate: float = 125.0
    path: float = 0.2
    goal: float = 0.1
    goal_time: float = 0.0
    deceleration: float = np.inf
    slope: float = 10.0
    dynamics: Following = field(default_factory=Dynamics)
    version: str = VERSIONS[-1]

    def __post_init__(self) -> None:
        approach_rule(self.version)


@dataclass(frozen=True)
class Outcome:
    """How a trajectory ended: a result code, one line, and whether it was cancelled."""

    code: int
    text: str
    canceled: bool = False


@dataclass(frozen=True)
class Sample:
    """Position, velocity and acceleration, each (n,), that are commanded at present."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


def rejection(command: JointCommand, names: Sequence[str], now: int) -> str:
    """Why the real controller of joints `names` refuses a command at `now` [ns]; "": it does not.

    Only these rules: neither NaN nor limits nor the distance from the present state are checked.
    """
    if len(command.names) != len(names) or not command.names:
        return f"{len(command.names)} joints, the controller has {len(names)}"
    if not command.points:
        return "empty trajectory"
    unknown = [name for name in command.names if name not in names]
    if unknown:
        return f"joint {unknown[0]!r} is none of the controller's"
    last = command.points[-1]
    fast = [v for v in last.velocities if abs(v) > END_VELOCITY]
    if fast:
        return f"velocity of the last point is {fast[0]:g}, not zero"
    if command.stamp and command.stamp + last.time < now:
        return "the trajectory ends in the past"
    for k, point in enumerate(command.points):
        if k and point.time <= command.points[k - 1].time:
            return f"time of point {k} is not after that of point {k - 1}"
        for key in FIELDS:
            size = len(getattr(point, key))
            if size != len(names) and (size or key == "positions"):
                return f"{size} {key} at point {k}, {len(names)} joints"
        if point.effort:
            return f"effort at point {k} is not empty"
    return ""


class Controller:
    """Joints `names` and the controller that moves them; see `Settings`.

    time                [ns] of the same clock as commands' stamps
    position, velocity  (n,) of the joints, as in /joint_states
    desired             Sample that is commanded, since `updated` [ns]
    speed_scaling       1: full speed, 0: stopped, as set from outside; `scaling` follows it
    active              True while a trajectory runs
    elapsed             [s] of the trajectory at `updated`, NaN before any; passes more slowly when
                        the speed is scaled
    begun               [ns] when the last trajectory was at its start, None before its first cycle
    """

    def __init__(
        self,
        names: Sequence[str],
        position: np.ndarray,
        settings: Settings | None = None,
        time: int = 0,
    ) -> None:
        self.names, self.settings, self.time = tuple(names), settings or Settings(), time
        self._joints = self.settings.dynamics.begin(position, time)
        self._period = nanoseconds(1.0 / self.settings.rate)
        self._tick = self.updated = time
        self.speed_scaling = self.scaling = 1.0
        self._course: Course | None = None
        self._path, self._goal = self.settings.path, self.settings.goal
        self._goal_time = self.settings.goal_time
        self._buffer, self._fresh = np.zeros(len(self.names)), False
        self.elapsed = self._next = np.nan
        self.active = False
        self.begun: int | None = None
        self._braking: _Brake | None = None
        self._hold()

    @property
    def position(self) -> np.ndarray:
        """(n,) [rad or m]."""
        return self._joints.position

    @property
    def velocity(self) -> np.ndarray:
        """(n,) [rad/s or m/s]."""
        return self._joints.velocity

    @property
    def efforts(self) -> np.ndarray | None:
        """(n,) [N m or N] of the drives, None where the joints have no masses."""
        return self._joints.efforts

    def soon(self, span: int) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity (n,) a time [ns] from now, by the commands given so far."""
        joints = copy.deepcopy(self._joints)
        joints.advance(self.time + span)
        return joints.position, joints.velocity

    @property
    def error(self) -> np.ndarray:
        """Commanded less actual position (n,)."""
        return self.desired.position - self.position

    def start(
        self,
        command: JointCommand,
        path: np.ndarray | float | None = None,
        goal: np.ndarray | float | None = None,
        goal_time: float | None = None,
    ) -> Outcome | None:
        """Run a command that has no `rejection`; returns how the one before ended, if one ran.

        path, goal, goal_time  tolerances of this command instead of the settings'.
        """
        before = None
        if self.active:
            text = "Current goal cancelled due to new incoming action."
            before = Outcome(INVALID_GOAL, text, canceled=True)
        self._path = self.settings.path if path is None else path
        self._goal = self.settings.goal if goal is None else goal
        self._goal_time = self.settings.goal_time if goal_time is None else goal_time
        self.replace(command)
        return before

    def replace(self, command: JointCommand) -> None:
        """Run a command that has no `rejection` from now on; if one runs, it ends as this one does.

        The tolerances in force stay.
        """
        self.elapsed = (self.time - command.stamp) / NANO if command.stamp else 0.0
        self._next, self.begun = self.elapsed, None
        with np.errstate(all="ignore"):  # odd numbers end as NaN, which the drives refuse
            rule = approach_rule(self.settings.version)
            trajectory = self._sorted(command)
            state = self.position, self.velocity
            self._course = Course(trajectory, *state, self.elapsed, rule)
        self._braking = None
        self.active = self._fresh = True

    def _sorted(self, command: JointCommand) -> JointTrajectory:
        """Columns in the order of the joints, through one buffer as the real controller's."""
        twice = len(set(command.names)) < len(command.names)
        columns = [self.names.index(name) for name in command.names]
        points = []
        for point in command.points if twice else command.points[-1:]:
            rows = {}
            for key in FIELDS:
                if len(getattr(point, key)):
                    for column, value in zip(columns, getattr(point, key), strict=True):
                        self._buffer[column] = value
                    rows[key] = tuple(self._buffer.tolist())
            points.append(replace(point, **rows))
        if twice:
            command = replace(command, names=self.names, points=tuple(points))
        return command.trajectory(self.names)

    def cancel(self) -> Outcome | None:
        """Stop and hold; None if no trajectory runs."""
        if not self.active:
            return None
        self._hold()
        return Outcome(SUCCESSFUL, "canceled", canceled=True)

    def step(self, duration: float) -> Outcome | None:
        """Advance by `duration` [s]; returns how the trajectory ended, if it did."""
        return self.advance(self.time + nanoseconds(duration))

    def advance(self, time: int) -> Outcome | None:
        """Advance to `time` [ns]; returns how the trajectory ended, if it did."""
        outcome = None
        while self._tick <= time:
            self._joints.advance(self._tick)
            self.time = max(self.time, self._tick)
            with np.errstate(all="ignore"):
                outcome = self._update() or outcome
            self._tick += self._period
        self._joints.advance(time)
        self.time = max(self.time, time)
        return outcome

    def set_clock(self, time: int) -> None:
        """The clock shows `time` [ns] from now on; nothing moves for that."""
        by, self.time = time - self.time, time
        self._tick, self.updated = self._tick + by, self.updated + by
        self._joints.shift(by)
        self.begun = self.begun if self.begun is None else self.begun + by
        if self._braking is not None:
            self._braking.since += by

    def _update(self) -> Outcome | None:
        """One control cycle: sample, check, command."""
        period, self.updated = self._period / NANO, self.time
        change = np.clip(self.speed_scaling, 0.0, 1.0) - self.scaling
        most = self.settings.slope * period
        self.scaling += float(np.clip(change, -most, most))
        outcome = None
        if self._course is not None:
            self.elapsed, self._next = self._next, self._next + self.scaling * period
            if self.begun is None:
                self.begun = self.time - nanoseconds(self.elapsed)
            self.desired = Sample(*self._course.at(self.elapsed))
            outcome = self._checked() if self.active else None
            self._fresh = False
        if self._braking is not None:
            self.desired = self._braking.at(self.time)
            rate = self.desired.velocity
        else:
            rate = self.scaling * self.desired.velocity
        if np.all(np.abs([self.desired.position, rate]) <= FARTHEST):
            self._joints.command(self.desired.position, rate)
        return outcome

    def _checked(self) -> Outcome | None:
        """Tolerances, and the end of the trajectory."""
        over = self.elapsed - self._course.duration
        away = np.abs(self.error)
        outside = away > self._path
        if (over < 0.0 or self._fresh) and outside.any():
            self._hold()
            text = f"path tolerance violated: {self._worst(away, outside)}"
            return Outcome(PATH_TOLERANCE_VIOLATED, text)
        if over < 0.0:
            return None
        outside = away > self._goal
        if not outside.any():
            self.active = False
            return Outcome(SUCCESSFUL, "Goal successfully reached!")
        if self._goal_time and over > self._goal_time:
            self._hold()
            text = f"goal tolerance violated {over:g} s after the end: {self._worst(away, outside)}"
            return Outcome(GOAL_TOLERANCE_VIOLATED, text)
        return None

    def _worst(self, away: np.ndarray, outside: np.ndarray) -> str:
        k = int(np.argmax(np.where(outside, away, -1.0)))
        return f"{self.names[k]} is {away[k]:g} off"

    def _hold(self) -> None:
        """Give up the trajectory: hold the present position, after braking."""
        self._course, self.active = None, False
        self._braking = _Brake(self.position, self.velocity, self.settings.deceleration, self.time)
        self.desired = self._braking.at(self.time)


class _Brake:
    """From a state at `since` [ns] to rest with a constant deceleration, then hold."""

    def __init__(self, position, velocity, deceleration: float, since: int) -> None:
        self._position, self._velocity, self.since = position, velocity, since
        self._deceleration = np.where(np.isfinite(deceleration), deceleration, 0.0)
        brakes = self._deceleration > 0.0
        time = np.abs(velocity) / np.where(brakes, self._deceleration, 1.0)
        self._end = np.where(brakes, time, 0.0)

    def at(self, time: int) -> Sample:
        """What is commanded at `time` [ns]."""
        tau = np.minimum((time - self.since) / NANO, self._end)
        slower = np.sign(self._velocity) * self._deceleration
        moving = tau < self._end
        return Sample(
            self._position + self._velocity * tau - 0.5 * slower * tau**2,
            np.where(moving, self._velocity - slower * tau, 0.0),
            np.where(moving, -slower, 0.0),
        )
