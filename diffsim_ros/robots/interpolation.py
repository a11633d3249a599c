"""What a joint trajectory controller commands between the points of a trajectory, by its version.

Read from the source of ros2_controllers (joint_trajectory_controller, trajectory.cpp:
set_point_before_trajectory_msg, sample, interpolate_between_points) and of ur_controllers' scaled
controller, which inherits it.

Between two points a joint follows a straight line; a cubic where both points give velocities; a
quintic where both give accelerations as well. After the last point it rests there.

A first point later than the start is approached from the measured state of the first cycle, and the
first point's own fields do not decide alone: a field that the state lacks counts as missing.
  before 4.36  (of Humble's 2.x at least up to 2.51) a UR states position and velocity, never
               acceleration, so the approach is a cubic even to a point with accelerations
  since 4.36   the state's missing velocity or acceleration is filled with zeros where the first
               point gives it, so the approach to a point with accelerations is a quintic that
               begins without acceleration
The quintic is faster in the middle than the cubic: 15/8 of the mean speed against 3/2 from rest to
rest.  Both rules are for hardware that states velocities: without them versions before 4.36 draw a
straight line at once, whatever the first point gives.

A first point at the start is not approached: the command jumps to it.  A joint of type continuous
is first shifted by whole turns to within half a turn of the first point.  Where some points
lack velocities or accelerations the real controller decides piece by piece; here they count only
where all points give them.
"""

from __future__ import annotations

import re

import numpy as np

from diffsim_ros.errors import InputError

from .trajectory import JointTrajectory

VERSIONS = ("4.35.0", "4.36.0")
"""One release of ros2_controllers for each rule of the approach, the newest last."""
FILLED_SINCE = (4, 36)
"""First release that fills the start's missing fields with zeros."""
RULES = ("cubic", "quintic", "worst")
"""Approaches to a later first point with accelerations; worst: either, so both must be safe."""


def approach_rule(version: str) -> str:
    """ "cubic" or "quintic": how this version of ros2_controllers ("4.36.0") goes to a first point.

    Raises InputError for what is no version.
    """
    found = re.match(r"(\d+)\.(\d+)(\.|$)", version)
    if not found:
        rule = f"a version of ros2_controllers, as {' or '.join(VERSIONS)}"
        raise InputError("controller", "version", version, rule)
    return "quintic" if (int(found[1]), int(found[2])) >= FILLED_SINCE else "cubic"


def approach(
    position: np.ndarray, velocity: np.ndarray, target: JointTrajectory, duration: float, rule: str
) -> JointTrajectory:
    """The path from a state (n,), (n,) to the first point of `target`, `duration` [s] later.

    rule  "cubic" or "quintic"; it counts only where the target gives accelerations.
    """
    rows = [np.stack([position, target.positions[0]])]
    if target.velocities is not None:
        rows.append(np.stack([velocity, target.velocities[0]]))
        if target.accelerations is not None and rule == "quintic":
            rows.append(np.stack([np.zeros(len(position)), target.accelerations[0]]))
    return JointTrajectory(target.names, np.array([0.0, duration]), *rows)


def approaches(
    position: np.ndarray, velocity: np.ndarray, target: JointTrajectory, duration: float, rule: str
) -> list[JointTrajectory]:
    """As `approach`, for every rule that `rule` (one of RULES) may stand for; no two are equal."""
    rules = ("cubic", "quintic") if rule == "worst" else (rule,)
    rules = rules if target.accelerations is not None else rules[:1]
    return [approach(position, velocity, target, duration, one) for one in rules]


class Course:
    """Everything that is commanded: the path to a trajectory's first point, it, and rest.

    position, velocity  (n,) of the joints at `begin` [s] of the trajectory's time
    duration            [s] when the trajectory ends
    """

    def __init__(
        self,
        trajectory: JointTrajectory,
        position: np.ndarray,
        velocity: np.ndarray,
        begin: float = 0.0,
        rule: str = "quintic",
    ) -> None:
        self._body, self._begin = trajectory, begin
        self.duration = trajectory.duration
        before, self._approach = float(trajectory.times[0]) - begin, None
        if before > 0.0:
            self._approach = approach(position, velocity, trajectory, before, rule)

    def at(self, elapsed: np.ndarray | float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity, acceleration (..., n) at times (...) of the trajectory [s].

        A trajectory that began before `begin` jumps to where it is by then.
        """
        times, body = np.asarray(elapsed, float), self._body
        rows = np.zeros((3, *times.shape, len(body.names)))
        rows[0] = body.positions[-1]
        early = times < (body.times[0] if self._approach is not None else -np.inf)
        inside = ~early & (times < self.duration)
        if early.any():
            rows[:, early] = self._approach.at(times[early] - self._begin)
        if inside.any():
            rows[:, inside] = body.at(times[inside])
        return tuple(rows)
