"""Checks of a legged robot's plan before it is sent: joints, wheels, stance, posture, its start.

Joints are checked as those of an arm are, between points too (`robots.trajectory_check`).  What a
plan must be besides: of this robot, at rest and on its feet at the end, its wheels within their
speeds, its body upright and above the ground.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.robots.arm import Arm
from diffsim_ros.robots.command import JointCommand
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_check import Rules, check_motion, refuse
from diffsim_ros.robots.trajectory_limits import beyond_limits

from .legged_robot import LeggedRobot
from .walk import limits_of

PLACE = "plan"
NEAR = 1e-3
"""[s] from a plan's beginning within which no point of the plan before it is kept: what they differ
by would be moved in that time."""
BRAKES = (0.1, 0.05, 0.025)
"""[s] in which legs brake as they are brought to stand: the longest that keeps the limits."""
UNIT = 1e-3
"""By which the length of a quaternion may differ from 1."""


@dataclass(frozen=True)
class LeggedPlan:
    """A plan as it was received, unchecked; rows are point after point, as in LocomotionPlan."""

    name: str
    robot: str
    continues: str
    since: float
    command: JointCommand
    wheels: tuple[str, ...]
    wheel_speeds: Sequence[float]
    end_effectors: tuple[str, ...]
    contact: Sequence[bool]
    phase: Sequence[float]
    base: np.ndarray


@dataclass(frozen=True, eq=False)
class WalkCourse:
    """A checked plan of N points.

    trajectory   joints in the robot's order;  wheels (N, w) [rad/s] in the robot's order
    contact      (N, m);  phase (N,);  base (N, 7)
    plain        the plan itself where this one is it after a blend of `lead` [s]
    """

    name: str
    continues: str
    since: float
    trajectory: JointTrajectory
    wheels: np.ndarray
    contact: np.ndarray
    phase: np.ndarray
    base: np.ndarray
    plain: WalkCourse | None = None
    lead: float = 0.0

    @property
    def duration(self) -> float:
        """Time of the last point [s]."""
        return self.trajectory.duration

    def wheels_at(self, time: float) -> np.ndarray:
        """(w,) [rad/s] at a time [s]; at rest outside."""
        times = self.trajectory.times
        if not times[0] <= time < times[-1]:
            return np.zeros(self.wheels.shape[1])
        return np.array([np.interp(time, times, column) for column in self.wheels.T])

    def stance_at(self, time: float) -> tuple[np.ndarray, float]:
        """Flags (m,) of contact and phase at a time [s]: those of the last point before it."""
        k = int(np.clip(np.searchsorted(self.trajectory.times, time, "right") - 1, 0, None))
        return self.contact[k], float(self.phase[k])

    def later(self, by: float, position: np.ndarray) -> WalkCourse:
        """The same after a blend [s] from rest at a position (n,), on all feet."""
        own = self.trajectory
        rows = {"positions": position, "velocities": 0 * position}
        own_rows = {"positions": own.positions, "velocities": rates_of(own)}
        moved = [np.vstack([row[None], own_rows[key]]) for key, row in rows.items()]
        trajectory = JointTrajectory(own.names, np.append(0.0, own.times + by), moved[0], moved[1])
        first = slice(0, 1)
        return replace(
            self, trajectory=trajectory, wheels=np.vstack([0 * self.wheels[first], self.wheels]),
            contact=np.vstack([self.contact[first], self.contact]),
            phase=np.append(0.0, self.phase), base=np.vstack([self.base[first], self.base]),
            plain=self, lead=by,
        )  # fmt: skip

    def followed_by(self, other: WalkCourse, begun: float) -> tuple[WalkCourse, float]:
        """From a time `begun` [s] of this plan on, continued by the other one at its `since`; how
        much later than this one's its times are [s].  Times of the result count from `begun`."""
        own, new = self.trajectory, other.trajectory
        q, v, _ = own.at(begun)
        kept = (own.times > begun + NEAR) & (own.times < other.since - NEAR)
        shift = other.since - begun
        times = np.concatenate([[0.0], own.times[kept] - begun, new.times + shift])
        rows = [
            np.vstack([q[None], own.positions[kept], new.positions]),
            np.vstack([v[None], rates_of(own)[kept], rates_of(new)]),
        ]
        contact, phase = self.stance_at(begun)
        wheels = self.wheels_at(begun)
        course = replace(
            other, trajectory=JointTrajectory(own.names, times, rows[0], rows[1]),
            wheels=np.vstack([wheels[None], self.wheels[kept], other.wheels]),
            contact=np.vstack([contact[None], self.contact[kept], other.contact]),
            phase=np.concatenate([[phase], self.phase[kept], other.phase]),
            base=np.vstack([other.base[:1], other.base[:1].repeat(kept.sum(), 0), other.base]),
        )  # fmt: skip
        return course, shift


@dataclass(frozen=True)
class PlanRules:
    """What is accepted besides the robot's limits.

    tilt [rad] of the body;  height [m] least, of its root link above the ground
    flight [s] for which no foot may be on the ground
    end [rad or m] of joints from the standing pose at the end
    wheel_change [rad/s] between two points;  speed [m/s] of the body, mean between two points
    jump [rad or m], kick [rad/s or m/s]  where a plan goes on from another one
    """

    motion: Rules
    tilt: float = 0.5
    height: float = 0.02
    flight: float = 0.3
    end: float = 0.1
    wheel_change: float = 4.0
    speed: float = 2.0
    jump: float = 0.05
    kick: float = 1.5


def rates_of(trajectory: JointTrajectory) -> np.ndarray:
    """Velocities (N, n) of a trajectory that has them: all checked plans do."""
    assert trajectory.velocities is not None
    return trajectory.velocities


def body_of(robot: LeggedRobot) -> Arm:
    """The robot's joints as those of an arm, whose checks and supervision they have."""
    return Arm(robot.robot, robot.robot.base, np.eye(4), robot.stance, limits_of(robot))


def wheel_limits(robot: LeggedRobot) -> dict[str, float]:
    """Joints of wheels with motors -> largest speed [rad/s]."""
    return {e.spin_name: e.speed for e in robot.end_effectors if e.kind == "actuated"}


def check_plan(plan: LeggedPlan, robot: LeggedRobot, rules: PlanRules) -> WalkCourse:
    """The plan with its columns in the robot's order, if it may be sent.

    Raises InputError naming what is wrong, where, its value and what is accepted.
    """
    if not plan.name:
        raise InputError(PLACE, "name", "", "a name: it is how another plan continues it")
    if plan.robot != robot.name:
        raise InputError(PLACE, "robot", plan.robot, f"{robot.name}, which this driver moves")
    if plan.command.stamp:
        raise InputError(PLACE, "trajectory: stamp", plan.command.stamp, "0: at once")
    count = len(plan.command.points)
    sizes = {
        "wheel_speeds": (len(plan.wheel_speeds), len(plan.wheels)),
        "contact": (len(plan.contact), len(plan.end_effectors)),
        "phase": (len(plan.phase), 1), "base": (len(plan.base), 1),
    }  # fmt: skip
    trajectory = check_motion(plan.command, body_of(robot), rules.motion)
    if trajectory.velocities is None:
        raise InputError(PLACE, "trajectory: velocities", None, "given at every point")
    for key, (size, columns) in sizes.items():
        if size != count * columns:
            rule = f"{count * columns}: {columns} at each of {count} points"
            raise InputError(PLACE, key, f"{size} values", rule)
    wheels = _wheels(plan, robot, trajectory.times, rules)
    contact = _contact(plan, robot, trajectory.times, rules)
    phase = np.asarray(plan.phase, float)
    sound = (phase >= 0.0) & (phase < 1.0)
    if not sound.all():
        k = int(np.argmin(sound))
        raise InputError(PLACE, f"point {k}: phase", float(phase[k]), "a share from 0 to below 1")
    base = _base(np.asarray(plan.base, float).reshape(-1, 7), trajectory.times, rules)
    away = np.abs(trajectory.positions[-1] - robot.stance)
    k = int(np.argmax(away))
    if away[k] > rules.end:
        key = f"joint {robot.joint_names[k]} at {trajectory.duration:.6g} s (end): position"
        rule = f"within {rules.end:g} of the standing pose's {robot.stance[k]:.6g}"
        raise InputError(PLACE, key, float(trajectory.positions[-1, k]), rule)
    given = plan.name, plan.continues, plan.since
    return WalkCourse(*given, trajectory, wheels, contact, phase, base)


def _wheels(
    plan: LeggedPlan, robot: LeggedRobot, times: np.ndarray, rules: PlanRules
) -> np.ndarray:
    most = wheel_limits(robot)
    for name in plan.wheels:
        if name not in most:
            rule = "a wheel with a motor of the robot"
            raise InputError(PLACE, "wheels", name, rule, nearest(name, most))
    if sorted(plan.wheels) != sorted(most):
        raise InputError(PLACE, "wheels", list(plan.wheels), f"each of {', '.join(most)} once")
    speeds = np.asarray(plan.wheel_speeds, float).reshape(len(times), len(most))
    speeds = speeds[:, [plan.wheels.index(name) for name in most]]
    for (name, limit), column in zip(most.items(), speeds.T, strict=True):
        sound = np.abs(column) <= limit * (1 + 1e-6)
        if not (sound & np.isfinite(column)).all():
            k = int(np.argmin(sound))
            key = f"wheel {name} at {times[k]:.6g} s: speed"
            raise InputError(PLACE, key, float(column[k]), f"from {-limit:g} to {limit:g} rad/s")
        if column[-1] != 0.0:
            key = f"wheel {name} at {times[-1]:.6g} s (end): speed"
            raise InputError(PLACE, key, float(column[-1]), "exactly 0 rad/s")
        first = column[:1] if plan.continues else np.zeros(1)  # there the plan before counts
        change = np.abs(np.diff(column, prepend=first))
        k = int(np.argmax(change))
        if change[k] > rules.wheel_change:
            key = f"wheel {name} at {times[k]:.6g} s: change of speed"
            rule = f"at most {rules.wheel_change:g} rad/s between two points"
            raise InputError(PLACE, key, float(change[k]), rule)
    return speeds


def _contact(
    plan: LeggedPlan, robot: LeggedRobot, times: np.ndarray, rules: PlanRules
) -> np.ndarray:
    names = [effector.name for effector in robot.end_effectors]
    if sorted(plan.end_effectors) != sorted(names):
        rule = f"each of {', '.join(names)} once"
        raise InputError(PLACE, "end_effectors", list(plan.end_effectors), rule)
    contact = np.asarray(plan.contact, bool).reshape(len(times), len(names))
    contact = contact[:, [plan.end_effectors.index(name) for name in names]]
    if not contact[-1].all():
        name = names[int(np.argmin(contact[-1]))]
        raise InputError(PLACE, f"contact of {name} at the end", False, "all feet on the ground")
    air = ~contact.any(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], air, [False]]).astype(int)))
    for first, last in edges.reshape(-1, 2):
        span = float(times[min(last, len(times) - 1)] - times[first])
        if span > rules.flight:
            rule = f"at most {rules.flight:g} s without a foot on the ground"
            raise InputError(PLACE, f"contact at {times[first]:.6g} s", f"{span:.3g} s", rule)
    return contact


def _base(base: np.ndarray, times: np.ndarray, rules: PlanRules) -> np.ndarray:
    length = np.linalg.norm(base[:, 3:], axis=1)
    sound = np.isfinite(base).all(axis=1) & (np.abs(length - 1.0) <= UNIT)
    if not sound.all():
        k = int(np.argmin(sound))
        rule = "finite numbers and a unit quaternion"
        raise InputError(PLACE, f"point {k}: base", base[k].tolist(), rule)
    tilt = np.arccos(np.clip(1 - 2 * (base[:, 3] ** 2 + base[:, 4] ** 2), -1.0, 1.0))
    k = int(np.argmax(tilt))
    if tilt[k] > rules.tilt:
        rule = f"at most {rules.tilt:g} rad"
        raise InputError(PLACE, f"base at {times[k]:.6g} s: tilt", float(tilt[k]), rule)
    k = int(np.argmin(base[:, 2]))
    if base[k, 2] < rules.height:
        rule = f"at least {rules.height:g} m"
        raise InputError(PLACE, f"base at {times[k]:.6g} s: height", float(base[k, 2]), rule)
    speed = np.linalg.norm(np.diff(base[:, :3], axis=0), axis=1) / np.diff(times)
    k = int(np.argmax(speed))
    if speed[k] > rules.speed:
        rule = f"at most {rules.speed:g} m/s"
        raise InputError(PLACE, f"base at {times[k + 1]:.6g} s: speed", float(speed[k]), rule)
    return base


def check_junction(whole: WalkCourse, time: float, robot: LeggedRobot) -> None:
    """The joints keep their limits on the piece before the plan that `followed_by` joined on at a
    time [s]: neither of the two had that piece.  Raises InputError.
    """
    own = whole.trajectory
    k = max(int(np.searchsorted(own.times, time - 1e-9)), 1)
    piece = slice(k - 1, k + 1)
    rows = own.positions[piece], rates_of(own)[piece]
    joined = JointTrajectory(own.names, own.times[piece], *rows)
    refuse(beyond_limits(joined, limits_of(robot), jerk=False))


def check_continuation(
    course: WalkCourse, running: WalkCourse | None, time: float, lead: float, rules: PlanRules
) -> None:
    """The course goes on from the one that runs, now at a time [s] of it, no sooner than `lead`.

    Raises InputError.
    """
    if running is None or course.continues != running.name:
        runs = "no plan runs" if running is None else f"{running.name} runs"
        raise InputError(PLACE, "continues", course.continues, f"the plan that runs: {runs}")
    since = course.since
    if not math.isfinite(since) or since > running.duration:
        rule = f"a time of {running.name}, 0 to {running.duration:.6g} s"
        raise InputError(PLACE, "since", since, rule)
    if since < time + lead:
        rule = f"at least {time + lead:.3f} s: it must begin {lead:g} s ahead"
        raise InputError(PLACE, "since", since, rule, "the plan comes too late")
    q, v, _ = running.trajectory.at(since)
    apart = (
        ("position", course.trajectory.positions[0], q, rules.jump),
        ("velocity", rates_of(course.trajectory)[0], v, rules.kick),
    )
    for what, first, last, most in apart:
        away = np.abs(first - last)
        k = int(np.argmax(away))
        if away[k] > most:
            key = f"joint {course.trajectory.names[k]} at its beginning: {what}"
            rule = f"within {most:g} of {running.name}'s {last[k]:.6g}"
            raise InputError(PLACE, key, float(first[k]), rule)
    before, after = running.wheels_at(since), course.wheels[0]
    away = np.abs(after - before)
    if away.max(initial=0.0) > rules.wheel_change:
        k = int(np.argmax(away))
        rule = f"within {rules.wheel_change:g} rad/s of {running.name}'s {before[k]:.6g}"
        raise InputError(PLACE, f"wheel {k} at its beginning: speed", float(after[k]), rule)


def path_to_stand(
    robot: LeggedRobot, position: np.ndarray, velocity: np.ndarray, least: float, share: float
) -> JointTrajectory:
    """From joints at a position and velocity (n,) to rest in the standing pose.

    They brake, then go there within a `share` of their speeds, in at least `least` [s].  Limits of
    position and velocity hold at the points and between them.  Where no braking keeps them, or the
    joints are beyond them, it begins at rest within them.  Raises InputError: the standing pose is
    beyond the limits.
    """
    limits = limits_of(robot)
    for brake in (*BRAKES, 0.0):
        rest = np.clip(position + 0.5 * brake * velocity, limits.lower, limits.upper)
        most = float(np.max(np.abs(rest - robot.stance) / robot.speed))
        over = max(least, 1.5 * most / share)  # a cubic's largest speed is 1.5 of its mean
        times, rows = np.array([0.0, brake, brake + over]), np.stack([position, rest, robot.stance])
        rates = np.stack([velocity, 0 * velocity, 0 * velocity])
        kept = slice(0 if brake else 1, None)
        path = JointTrajectory(robot.joint_names, times[kept], rows[kept], rates[kept])
        broken = beyond_limits(path, limits, jerk=False)
        if not broken:
            break
    refuse(broken)
    return path
