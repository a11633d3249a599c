"""Supervision of a trajectory that a controller runs: where it is, when to release, when to abort.

Without ROS: it gets what is received, with stamps [ns] of one clock, and decides what to do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .command import NANO
from .trajectory import JointTrajectory

STOPPED = 0.005
"""Speed scaling below which the robot stands (an emergency stop, a pause)."""
RESTS = 0.05
"""[rad/s or m/s] below which a joint is at rest."""
REACH = 0.5
"""[s] by which a controller's feedback may correct the trajectory's time at once."""
FIRST, SENT = 5, 0.1
"""Positions of a moving arm that correct the trajectory's time, and by how much [s] they may."""
SLOW, FAST = 0.1, 0.3
"""[rad/s or m/s] of all joints below which commands, measured positions do not show the time."""
OFF = 1e-3
"""[rad or m] that an arm may be from where its trajectory begins."""


class TrajectoryClock:
    """Time [s] since the trajectory's start, which passes more slowly when the speed is scaled.

    It is the integral of the speed scaling, and corrected by each feedback: the commanded positions
    show where on the trajectory the controller is.

    corrected  True once any feedback has corrected it
    slipped    [s] of the corrections that a controller which runs this trajectory does not need:
               after the first one at this speed, and of the first any that would have it begin
               later than it was known to have begun
    """

    def __init__(self, trajectory: JointTrajectory, begin: int) -> None:
        self._trajectory = trajectory
        self._base, self._elapsed, self.scaling = begin, 0.0, 1.0
        self._shifts: list[float] = []
        self._changed: int | None = None  # stamp of the last change of the scaling
        self.corrected = self._right = False
        self.slipped = 0.0

    def at(self, stamp: int) -> float:
        """Trajectory time [s] at a stamp [ns]."""
        return self._elapsed + self.scaling * (stamp - self._base) / NANO

    def scale(self, stamp: int, scaling: float) -> None:
        """From now on time passes `scaling` times as fast."""
        if scaling == self.scaling:
            return
        if abs(scaling - self.scaling) > 1e-3:  # and since when is not known to the instant
            self._shifts.clear()
            self._changed, self._right, self.slipped = stamp, False, 0.0
        self._elapsed, self._base, self.scaling = self.at(stamp), stamp, scaling

    def correct(self, stamp: int, desired: np.ndarray, near: float | None = None) -> None:
        """The controller commanded `desired` (n,) at a stamp: the nearest time is the right one.

        Not further than REACH [s] from the present estimate, and only where joints move.
        near  time [s] at which the plan has it, where the present estimate leads nowhere: the plan
              may be at rest there
        """
        if self._precedes(stamp):
            return
        expected = self.at(stamp)
        found = self._where(desired, expected, SLOW)
        if found is None and near is not None:
            found = self._where(desired, near, SLOW)
        if found is not None and abs(found - expected) <= REACH:
            self._elapsed += found - expected
            if self._right:
                self.slipped += found - expected
            elif self._changed is None:
                self.slipped = min(found - expected, 0.0)
            self.corrected = self._right = True

    def _precedes(self, stamp: int) -> bool:
        """Whether the speed was another one at a stamp, so that `at` is not valid there."""
        return self._changed is not None and stamp < self._changed

    def follow(self, stamp: int, position: np.ndarray, lag: float) -> None:
        """The arm, which follows its commands by `lag` [s], was at `position` (n,) at a stamp.

        For controllers without feedback: when the trajectory began, or changed its speed, is not
        known to the instant. The first positions after that show it; later ones would excuse an arm
        that is held up or led elsewhere.
        """
        if len(self._shifts) == FIRST or self._precedes(stamp):
            return
        expected = self.at(stamp) - lag
        found = self._where(position, expected, FAST)
        if found is None:
            return
        self._shifts.append(found - expected)
        shift = float(np.median(self._shifts))
        if len(self._shifts) == FIRST and abs(shift) <= SENT:
            self._elapsed += shift

    def _where(self, position: np.ndarray, time: float, least: float) -> float | None:
        """Time [s] near `time` at which the plan has a position; None where it has it not.

        Nor where it is slower than `least` [rad/s or m/s].
        """
        for _ in range(8):
            q, qd, _ = self._trajectory.at(time)
            speed = float(qd @ qd)
            if speed < least**2:
                return None
            time += float(np.clip(qd @ (position - q) / speed, -0.1, 0.1))
        return time if np.abs(self._trajectory.at(time)[0] - position).max() < 1e-3 else None


@dataclass(frozen=True)
class Watch:
    """Bounds of a motion; [rad or m] and [rad/s or m/s] are of each joint.

    state_age     [s] without a joint state after which it is late
    abort_late    True: a late joint state ends the motion; False: it is reported
    stop_timeout  [s] that a stop (speed scaling 0) may last
    settle        [s] that the robot gets to be at the goal, after the end
    lead          [s] from the gripper's command until the object is free
    lag           [s] by which the arm follows what is commanded
    period        [s] between two checks
    path          [rad or m] from the plan, at the nearest time of it within `ahead`
    ahead         [s] by which the arm may be ahead of or behind the plan's time
    velocity      [rad/s or m/s] beyond what the plan has there, at any speed scaling
    goal          [rad or m] from the plan's end, where a motion has ended
    release_path, release_velocity, release_lateness
                  the gripper opens only where the arm is so near to the plan's place and to its
                  full velocity, and so soon [s] after it is due, by a joint state not older
    """

    state_age: float = 0.25
    abort_late: bool = True
    stop_timeout: float = 10.0
    settle: float = 2.0
    lead: float = 0.0
    lag: float = 0.0
    period: float = 0.01
    path: float = 0.1
    ahead: float = 0.25
    velocity: float = 1.0
    goal: float = 0.1
    release_path: float = 0.1
    release_velocity: float = 0.5
    release_lateness: float = 0.05


GRID = 0.004
"""[s] between the plan's samples that a measured position is compared with."""
OTHER = 0.03
"""[rad or m] off the plan at which a commanded position belongs to another trajectory."""


class Plan:
    """A trajectory sampled, to find where on it a position is."""

    def __init__(self, trajectory: JointTrajectory) -> None:
        self.trajectory = trajectory
        count = int(np.ceil(trajectory.duration / GRID)) + 1
        self._times = np.linspace(0.0, trajectory.duration, count)
        self._positions = trajectory.at(self._times)[0]

    def nearest(self, position: np.ndarray, time: float, ahead: float) -> tuple[float, np.ndarray]:
        """Time [s] within `ahead` of `time` at which the plan is nearest; difference (n,) there."""
        low, high = np.searchsorted(self._times, [time - ahead, time + ahead])
        low = min(max(int(low) - 1, 0), len(self._times) - 1)
        high = min(max(int(high) + 1, low + 1), len(self._times))
        away = position - self._positions[low:high]
        k = int(np.argmin(np.abs(away).max(axis=1)))
        return float(self._times[low + k]), away[k]


class Supervisor:
    """One motion from its acceptance (`begin` [ns]) to its end.

    notes           sentences on what happened
    tracking_error  [rad or m] of all joints at present, `worst` so far; NaN before any
    lateness        [s] of the last check, `latest` the largest so far
    released        True once the gripper was commanded
    """

    def __init__(self, trajectory: JointTrajectory, begin: int, watch: Watch) -> None:
        self.trajectory, self.watch = trajectory, watch
        self.clock = TrajectoryClock(trajectory, begin)
        self.notes: list[str] = []
        self.tracking_error = self.worst = np.nan
        self.lateness = self.latest = 0.0
        self.released = False
        self._plan = Plan(trajectory)
        self._received = self._looked = begin
        self._state: tuple[int, np.ndarray, np.ndarray] | None = None
        self._stopped: int | None = None
        self._late = self._silent = False
        self._behind = np.zeros(2)
        self._back = 0.0  # [s] by which the clock was set back
        self._off, self._off_states, self._off_commands = "", 0, 0

    @property
    def lag(self) -> float:
        """[s] by which the joints follow what is commanded, in the mean; NaN before any feedback.

        What the watch's `lag` should be.
        """
        return float(self._behind[0] / self._behind[1]) if self._behind[1] > 1e-3 else np.nan

    def on_feedback(self, stamp: int, desired: np.ndarray, actual: np.ndarray) -> None:
        """The controller's feedback, (n,) in the order of the trajectory."""
        near = None
        if not self.clock.corrected:  # when it began is not known to the instant
            near, _ = self._plan.nearest(desired, self.clock.at(stamp), REACH)
        self.clock.correct(stamp, desired, near)
        self._err(desired - actual)
        rate = self.trajectory.at(self.clock.at(stamp))[1] * self.clock.scaling
        self._behind += np.array([rate @ (desired - actual), rate @ rate])
        _, away = self._plan.nearest(desired, self.clock.at(stamp), REACH + self.watch.ahead)
        self._off_commands = self._off_commands + 1 if np.abs(away).max() > OTHER else 0
        if self._off_commands:
            joint, by = self._largest(away)
            self._off = f"the controller runs another trajectory: {joint} is commanded {by} off"

    def on_joint_state(
        self,
        stamp: int,
        position: np.ndarray,
        velocity: np.ndarray | None = None,
        compare: bool = False,
        received: int | None = None,
    ) -> None:
        """A new joint state; compare: it stands for feedback, where there is none."""
        received = stamp if received is None else received
        if self._late:
            self.notes.append(
                f"joint states again after {(received - self._received) / NANO:.3g} s"
            )
        # a state that comes before the next check would hide it
        self._back = max(self._back, (self._received - received) / NANO)
        self._received, self._late, self._silent = received, False, False
        velocity = np.zeros_like(position) if velocity is None else velocity
        self._state = stamp, position, velocity
        if compare:
            self.clock.follow(stamp, position, self.watch.lag)
        time = self.clock.at(stamp)
        if compare:
            self._err(self.trajectory.at(time)[0] - position)
        off = self._off_plan(time - self.watch.lag, position, velocity)
        self._off_states = self._off_states + 1 if off else 0
        self._off = off or self._off

    def _off_plan(self, time: float, position: np.ndarray, velocity: np.ndarray) -> str:
        """What is wrong with a state at a time [s] of the plan, "" if nothing is."""
        watch = self.watch
        nearest, away = self._plan.nearest(position, time, watch.ahead)
        if np.abs(away).max() > watch.path:
            joint, by = self._largest(away)
            return f"{joint} is {by} off its path (at most {watch.path:g})"
        rate = self.trajectory.at(nearest)[1]
        beyond = velocity - np.clip(velocity, np.minimum(rate, 0.0), np.maximum(rate, 0.0))
        excess = np.nan_to_num(np.abs(beyond))  # one joint's that is not known hides no other's
        if excess.max() > watch.velocity:
            k = int(np.argmax(excess))
            text = f"{self.trajectory.names[k]} moves at {velocity[k]:.3g} where {rate[k]:.3g}"
            return f"{text} is planned (at most {watch.velocity:g} beyond)"
        return ""

    def _largest(self, away: np.ndarray) -> tuple[str, str]:
        k = int(np.argmax(np.abs(away)))
        return self.trajectory.names[k], f"{abs(away[k]):.3g}"

    def _err(self, difference: np.ndarray) -> None:
        self.tracking_error = float(np.abs(difference).max())
        self.worst = float(np.fmax(self.worst, self.tracking_error))

    def on_speed_scaling(self, stamp: int, scaling: float) -> None:
        """The speed scaling, 0 to 1."""
        if scaling < STOPPED and self._stopped is None:
            self._stopped = stamp
            self.notes.append(f"stopped at {self.clock.at(stamp):.3f} s (speed scaling 0)")
        elif scaling >= STOPPED and self._stopped is not None:
            self.notes.append(f"went on after {(stamp - self._stopped) / NANO:.3g} s")
            self._stopped = None
        self.clock.scale(stamp, scaling if scaling >= STOPPED else 0.0)

    def reached(self, now: int) -> float:
        """Where on the plan the arm should be [s]: at the last check, if the clock was set back."""
        time = self.clock.at(max(now, self._looked))
        return float(np.clip(time, 0.0, self.trajectory.duration))

    def expected(self, now: int) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity (n,) that the plan has there."""
        q, qd, _ = self.trajectory.at(self.reached(now))
        return q, qd * self.clock.scaling

    def phase(self, now: int) -> str:
        """waiting (stopped), moving or settling."""
        if self._stopped is not None:
            return "waiting"
        return "moving" if self.clock.at(now) < self.trajectory.duration else "settling"

    def has_arrived(self, now: int) -> bool:
        """By a state from after the end, by SENT [s] to be sure: at the goal, and slow."""
        if self._state is None or self.phase(now) != "settling" or self.away_from_goal():
            return False
        stamp, _, velocity = self._state
        early = self.clock.at(stamp) < self.trajectory.duration + SENT
        moves = np.any(np.abs(velocity) > RESTS)  # what is not known is no motion
        return not early and not moves

    def away_from_goal(self) -> str:
        """Which joint the last state has away from the plan's end, "" if none."""
        if self._state is None:
            return "no joint state was received"
        away = self._state[1] - self.trajectory.positions[-1]
        if np.abs(away).max() <= self.watch.goal:
            return ""
        joint, by = self._largest(away)
        return f"{joint} is {by} from the goal (at most {self.watch.goal:g})"

    # --- the release ----------------------------------------------------------------------------

    def until_release(self, now: int) -> float:
        """Seconds until the gripper must be commanded; infinite: not to be expected."""
        release, scaling = self.trajectory.release, self.clock.scaling
        if release is None or self.released or scaling <= 0.0:
            return np.inf
        left = (release - self.clock.at(now)) / scaling
        return left - self.watch.lead + self.watch.lag

    def release_fault(self, now: int) -> str | None:
        """Why the gripper must not open now that it is due; "": it may, None: not known yet.

        It is not known where the last joint state is too old; a newer one may come in time.
        """
        watch, late = self.watch, -self.until_release(now)
        if late > watch.release_lateness:
            return f"the release is {late:.3g} s late (at most {watch.release_lateness:g})"
        if abs(self.clock.slipped) > watch.release_lateness:
            side = "behind" if self.clock.slipped < 0 else "ahead of"
            return (
                f"at the release the controller is {abs(self.clock.slipped):.3g} s {side} where "
                f"its own begin and speed lead (at most {watch.release_lateness:g}): it may run "
                "another trajectory"
            )
        if self._state is None or (now - self._state[0]) / NANO > watch.release_lateness:
            return None
        stamp, position, velocity = self._state
        if not np.isfinite(velocity).all():
            return None  # it compares with nothing; the next state's may be known
        q, qd, _ = self.trajectory.at(self.clock.at(stamp) - watch.lag)
        for what, away, most in (
            ("off its place", position - q, watch.release_path),
            ("off its velocity", velocity - qd, watch.release_velocity),
        ):
            if np.abs(away).max() > most:
                joint, by = self._largest(away)
                return f"at the release {joint} is {by} {what} (at most {most:g})"
        ahead = self._time_apart(stamp, position)
        if abs(ahead) > watch.release_lateness:
            side, most = "behind" if ahead > 0 else "ahead of", watch.release_lateness
            return (
                f"at the release the arm is {abs(ahead):.3g} s {side} the plan (at most {most:g})"
            )
        return ""

    def _time_apart(self, stamp: int, position: np.ndarray) -> float:
        """[s] that a measured position is behind the plan and the arm's lag, less what OFF makes of
        it; 0 of a slow arm."""
        lag = self.lag if np.isfinite(self.lag) else self.watch.lag
        q, qd, _ = self.trajectory.at(self.clock.at(stamp) - lag)
        speed = float(np.linalg.norm(qd))
        if speed < SLOW:
            return 0.0
        behind = float(qd @ (q - position)) / speed
        return float(np.sign(behind)) * max(abs(behind) - OFF, 0.0) / speed

    def release(self) -> None:
        """The gripper was commanded."""
        self.released = True
        if self.clock.scaling < 0.99:
            self.notes.append(f"released at a speed scaling of {self.clock.scaling:.2f}")

    # --- trouble --------------------------------------------------------------------------------

    def look(self, now: int) -> str:
        """`trouble`'s answer; notes how late this check comes after the last one."""
        self._back = max(self._back, (self._looked - now) / NANO)
        self.lateness = max((now - self._looked) / NANO - self.watch.period, 0.0)
        self.latest, self._looked = max(self.latest, self.lateness), max(self._looked, now)
        return self.trouble(now)

    def trouble(self, now: int) -> str:
        """Why the motion must be aborted now, "" if there is no reason.

        Silence counts at the second check in a row: after a stall of our own the first one comes
        before what the robot has sent meanwhile is received. So does a state off the plan: one
        alone may be a measurement's fault.
        """
        back = max(self._back, (self._received - now) / NANO)
        if back > 0.0:
            return f"the clock was set back by {back:.3g} s"
        silent = (now - self._received) / NANO
        before, self._silent = self._silent, silent > self.watch.state_age
        if before and self._silent:
            if not self._late:
                self.notes.append(f"no joint state for {silent:.3g} s")
            self._late = True
            if self.watch.abort_late:
                return f"no joint state for {silent:.3g} s (at most {self.watch.state_age:g} s)"
        if max(self._off_states, self._off_commands) > 1:
            return self._off
        if self._stopped is not None:
            stood = (now - self._stopped) / NANO
            if stood > self.watch.stop_timeout:
                most = f"(at most {self.watch.stop_timeout:g} s)"
                return f"the robot has been stopped for {stood:.3g} s {most}"
        over = self.clock.at(now) - self.trajectory.duration
        if over > self.watch.settle:
            off = f"{self.tracking_error:.3g} off" if np.isfinite(self.tracking_error) else "away"
            return f"{over:.3g} s after the end the robot is still {off} from the goal"
        return ""
