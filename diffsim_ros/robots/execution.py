"""Watching a trajectory that a controller runs: where it is, when to let go, when to give up.

Knows no ROS: it is told what is heard, with stamps [ns] of one clock, and asked what to do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .command import NANO
from .trajectory import JointTrajectory

STOPPED = 0.005
"""Speed scaling below which the robot stands (an emergency stop, a pause)."""


class TrajectoryClock:
    """Time [s] since the trajectory's start, which passes more slowly when the speed is scaled.

    It is the integral of the speed scaling, and corrected by each feedback: the commanded positions
    say where on the trajectory the controller is.
    """

    def __init__(self, trajectory: JointTrajectory, begin: int) -> None:
        self._trajectory = trajectory
        self._base, self._elapsed, self.scaling = begin, 0.0, 1.0

    def at(self, stamp: int) -> float:
        """Trajectory time [s] at a stamp [ns]."""
        return self._elapsed + self.scaling * (stamp - self._base) / NANO

    def scale(self, stamp: int, scaling: float) -> None:
        """From now on time passes `scaling` times as fast."""
        self._elapsed, self._base, self.scaling = self.at(stamp), stamp, scaling

    def correct(self, stamp: int, desired: np.ndarray, reach: float = 0.5) -> None:
        """The controller commanded `desired` (n,) at a stamp: the nearest time is the right one.

        Not further than `reach` [s] from the present estimate, and only where joints move.
        """
        expected = found = self.at(stamp)
        for _ in range(8):
            q, qd, _ = self._trajectory.at(found)
            speed = float(qd @ qd)
            if speed < 1e-2:
                return
            found += float(np.clip(qd @ (desired - q) / speed, -0.1, 0.1))
        off = np.abs(self._trajectory.at(found)[0] - desired).max()
        if off < 1e-3 and abs(found - expected) <= reach:
            self._elapsed += found - expected


@dataclass(frozen=True)
class Watch:
    """state_age     [s] without a joint state after which it is late
    abort_late    True: a late joint state ends the motion; False: it is told
    stop_timeout  [s] that a stop (speed scaling 0) may last
    settle        [s] that the robot gets to be at the goal, after the end
    lead          [s] from the gripper's command until the object is free
    lag           [s] by which the arm follows what is commanded
    """

    state_age: float = 0.25
    abort_late: bool = True
    stop_timeout: float = 10.0
    settle: float = 2.0
    lead: float = 0.0
    lag: float = 0.0


class Supervisor:
    """One motion from its acceptance (`begin` [ns]) to its end.

    notes           what was seen, in words
    tracking_error  [rad or m] of all joints at present, `worst` so far; NaN before any
    released        True once the gripper was told
    """

    def __init__(self, trajectory: JointTrajectory, begin: int, watch: Watch) -> None:
        self.trajectory, self.watch = trajectory, watch
        self.clock = TrajectoryClock(trajectory, begin)
        self.notes: list[str] = []
        self.tracking_error = self.worst = np.nan
        self.released = False
        self._heard = begin
        self._stopped: int | None = None
        self._late = self._silent = False
        self._behind = np.zeros(2)

    @property
    def lag(self) -> float:
        """[s] by which the joints follow what is commanded, in the mean; NaN before any feedback.

        What the watch's `lag` should be.
        """
        return float(self._behind[0] / self._behind[1]) if self._behind[1] > 1e-3 else np.nan

    def hear_feedback(self, stamp: int, desired: np.ndarray, actual: np.ndarray) -> None:
        """The controller's feedback, (n,) in the order of the trajectory."""
        self.clock.correct(stamp, desired)
        self._err(desired - actual)
        rate = self.trajectory.at(self.clock.at(stamp))[1] * self.clock.scaling
        self._behind += np.array([rate @ (desired - actual), rate @ rate])

    def hear_state(self, stamp: int, position: np.ndarray, compare: bool = False) -> None:
        """A new joint state; compare: with the trajectory, where there is no feedback."""
        if self._late:
            self.notes.append(f"joint states again after {(stamp - self._heard) / NANO:.3g} s")
        self._heard, self._late, self._silent = stamp, False, False
        if compare:
            self._err(self.trajectory.at(self.clock.at(stamp))[0] - position)

    def _err(self, difference: np.ndarray) -> None:
        self.tracking_error = float(np.abs(difference).max())
        self.worst = float(np.fmax(self.worst, self.tracking_error))

    def hear_scaling(self, stamp: int, scaling: float) -> None:
        """The speed scaling, 0 to 1."""
        if scaling < STOPPED and self._stopped is None:
            self._stopped = stamp
            self.notes.append(f"stopped at {self.clock.at(stamp):.3f} s (speed scaling 0)")
        elif scaling >= STOPPED and self._stopped is not None:
            self.notes.append(f"went on after {(stamp - self._stopped) / NANO:.3g} s")
            self._stopped = None
        self.clock.scale(stamp, scaling if scaling >= STOPPED else 0.0)

    def phase(self, now: int) -> str:
        """waiting (stopped), moving or settling."""
        if self._stopped is not None:
            return "waiting"
        return "moving" if self.clock.at(now) < self.trajectory.duration else "settling"

    def has_arrived(self, now: int, tolerance: float) -> bool:
        """After the end, and within `tolerance` [rad or m] of the goal."""
        return self.phase(now) == "settling" and self.tracking_error <= tolerance

    def until_release(self, now: int) -> float:
        """Seconds until the gripper must be told; infinite: not to be expected."""
        release, scaling = self.trajectory.release, self.clock.scaling
        if release is None or self.released or scaling <= 0.0:
            return np.inf
        left = (release - self.clock.at(now)) / scaling
        return left - self.watch.lead + self.watch.lag

    def release(self) -> None:
        """The gripper was told."""
        self.released = True
        if self.clock.scaling < 0.99:
            self.notes.append(f"released at a speed scaling of {self.clock.scaling:.2f}")

    def trouble(self, now: int) -> str:
        """Why the motion must be given up now, "" while all is well.

        Silence counts at the second look in a row: after a hiccup of our own the first one comes
        before what the robot has said meanwhile is heard.
        """
        silent = (now - self._heard) / NANO
        before, self._silent = self._silent, silent > self.watch.state_age
        if before and self._silent:
            if not self._late:
                self.notes.append(f"no joint state for {silent:.3g} s")
            self._late = True
            if self.watch.abort_late:
                return f"no joint state for {silent:.3g} s (at most {self.watch.state_age:g} s)"
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
