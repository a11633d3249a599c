"""Walks and drives: from standing, or from a walk that goes on, through whole periods, to standing.

One motion from beginning to end: the way into the gait and out of it are planned as the rest is,
with all constraints, not blended.  A walk that is to change is continued at the end of a period:
the new motion begins with two samples of the old one, which fix place and velocity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.robots.arm import Limits
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_limits import beyond_limits
from diffsim_ros.rotation import quat_exp, quat_multiply

from .config import LocomotionConfig, LocomotionGoals, PlaceGoal
from .densify import densified
from .footfall import FootfallPattern, named_gait
from .generator import Progress, generate
from .legged_robot import LeggedRobot
from .motion import LocomotionMotion
from .wheels import wheel_speeds

PLACE = "walk"
MOST_TURN = 2.8
"""[rad] of one walk; beyond half a turn its sign would be lost."""
BEFORE, AFTER = 4, 5
"""Samples of standing at both ends, in which the robot gets into its gait and comes to rest."""
OVERLAP = 8
"""Samples of the old walk before a new one, so that splines go through where they meet."""
STILL = 0.05
"""[rad/s] of a wheel at the end that counts as rest."""
ITERATIONS, ATTEMPTS = 150, 2
"""Of a search: whoever waits for a walk wants to know soon that there is none."""
ROUNDS, SLOWER = 3, 0.8
"""Of searches, each with this share of the speeds of the one before, until speeds between samples
are within limits too."""
WHEELS = 0.85
"""Share of wheels' speeds that is used at samples."""
FIXED = 2
"""First samples that a motion from rest, or from a walk, does not change."""


@dataclass(frozen=True)
class Gait:
    """How a robot walks.

    gait, duty     of footfall patterns; duty None: the gait's
    period [s];  samples of it;  swing_height [m];  friction [1]
    speed [m/s], turn_rate [rad/s]  largest that are asked for
    share          of the joints' speeds that is used at samples: between them more is needed
    factor         samples between those of the plan, in which feet stand; 1: splines alone
    foot           radius [m] of point feet that are balls
    """

    gait: str = "trot"
    duty: float | None = None
    period: float = 0.5
    samples: int = 12
    swing_height: float = 0.03
    friction: float = 0.6
    speed: float = 0.4
    turn_rate: float = 1.0
    share: float = 0.7
    factor: int = 3
    foot: float = 0.0

    def pattern(self, robot: LeggedRobot) -> FootfallPattern:
        """One period's."""
        duty = None if self.gait in ("roll", "none") else self.duty
        return named_gait(robot, self.gait, self.samples, duty=duty)


@dataclass(frozen=True)
class Way:
    """Where to go: travel (2,) [m] in the axes at the start, turn [rad], in so many periods."""

    travel: tuple[float, float]
    turn: float
    periods: int


@dataclass(frozen=True, eq=False)
class PlannedWalk:
    """A walk to standing that was planned.

    motion   the plan; its frame is where the robot stood, or walked, x ahead
    fine     with the samples that are sent, `first` of them of the walk before
    phase    (T,) share of the gait's period at the plan's samples, 0: standing
    gait     as asked for
    """

    robot: LeggedRobot
    gait: Gait
    motion: LocomotionMotion
    fine: LocomotionMotion
    first: int
    phase: np.ndarray

    @property
    def holds(self) -> bool:
        """Whether all constraints hold, between samples too."""
        return self.motion.holds

    def boundaries(self) -> list[int]:
        """Samples at which it may be continued: ends of periods, where no swing is cut in two."""
        air, last = ~self.motion.contact, self.motion.samples - FIXED
        whole = np.flatnonzero(self.phase[1:] < self.phase[:-1]) + 1
        return [int(k) for k in whole if k < last and not (air[k - 1] & air[k]).any()]

    def after(self, time: float) -> int | None:
        """The first boundary at or after a time [s] of the walk; None: it comes to rest first."""
        later = [k for k in self.boundaries() if k * self.motion.step >= time]
        return later[0] if later else None

    def times(self) -> np.ndarray:
        """(N,) [s] of the points that are sent, 0 at the beginning."""
        return self.fine.step * np.arange(self.fine.samples - self.first)

    def trajectory(self) -> JointTrajectory:
        """Joints of the legs, at rest at the end.  InputError where a constraint is violated."""
        broken = broken_of(self.motion)
        if broken:
            raise InputError(f"motion {self.motion.name}", "constraints", broken, "all hold")
        times = self.times() + self.first * self.fine.step
        spline = self.fine.joint_splines()
        positions, velocities = spline(times), spline(times, 1)
        velocities[-1] = 0.0  # as clamped, but for rounding
        return JointTrajectory(self.robot.joint_names, self.times(), positions, velocities)

    def states(self) -> Any:
        """The motion (MotionStates) at `times`."""
        return self.fine.at(self.times() + self.first * self.fine.step)

    def wheels(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Joints of wheels with motors, and their speeds (N, w) [rad/s] at `times`."""
        chosen = [j for j, e in enumerate(self.robot.end_effectors) if e.kind == "actuated"]
        names = tuple(self.robot.end_effectors[j].joint for j in chosen)
        if not chosen:
            return names, np.zeros((len(self.times()), 0))
        speeds = wheel_speeds(self.robot, self.states())[:, chosen]
        speeds[-1] = np.where(np.abs(speeds[-1]) < STILL, 0.0, speeds[-1])
        return names, speeds

    def contact(self) -> np.ndarray:
        """(N, m) flags at `times`."""
        return self.fine.contact[self.first :]

    def phases(self) -> np.ndarray:
        """(N,) share of the period at `times`."""
        at = self.times() / self.motion.step
        low = np.minimum(at.astype(int), self.motion.samples - 1)
        walking = self.phase_known()[low]
        whole = np.mod(self.phase[low] + (at - low) / self.gait.samples, 1.0)
        return np.where(walking, whole, 0.0)

    def phase_known(self) -> np.ndarray:
        """(T,) whether the plan's samples are in a period."""
        return ~self.motion.contact.all(axis=1) | (self.phase > 0.0)


def broken_of(motion: LocomotionMotion) -> str:
    """Every constraint that is violated, in words, the worst first; "" where all hold."""
    return "; ".join(
        f"{v.name} {v.worst:.3g} {v.unit} at {v.where} (at most {v.tolerance:.3g})"
        for v in motion.broken
    )


def limits_of(robot: LeggedRobot) -> Limits:
    """Limits of the robot's joints; no acceleration is known."""
    none = np.full(len(robot.joint_names), np.inf)
    return Limits(robot.lower, robot.upper, robot.speed, none, none)


def way_of_twist(gait: Gait, twist: Sequence[float], duration: float) -> Way:
    """An arc: twist (forward, to the left [m/s], turning [rad/s]) for a duration [s].

    InputError: what is not finite, faster than the gait's limits, or turns by more than MOST_TURN.
    """
    vx, vy, rate = (float(value) for value in twist)
    if not all(map(math.isfinite, (vx, vy, rate, duration))) or duration <= 0.0:
        raise InputError(PLACE, "twist, duration", [vx, vy, rate, duration], "finite, above 0 s")
    if math.hypot(vx, vy) > gait.speed * (1 + 1e-9):
        rule = f"at most {gait.speed:g} m/s"
        raise InputError(PLACE, "twist.linear", math.hypot(vx, vy), rule, "parameter max_speed")
    if abs(rate) > gait.turn_rate * (1 + 1e-9):
        rule = f"at most {gait.turn_rate:g} rad/s in size"
        raise InputError(PLACE, "twist.angular.z", rate, rule, "parameter max_turn_rate")
    periods = max(1, round(duration / gait.period))
    span = periods * gait.period
    turn = rate * span
    _check_turn(turn)
    along = np.sinc(turn / (2 * math.pi)) * span  # of the chord, at half the turn
    c, s = math.cos(turn / 2), math.sin(turn / 2)
    return Way((along * (c * vx - s * vy), along * (s * vx + c * vy)), turn, periods)


def way_to(gait: Gait, travel: Sequence[float], turn: float) -> Way:
    """To a place [m] and heading [rad], in as few periods as the gait's limits allow."""
    if len(travel) != 2 or not all(map(math.isfinite, (*travel, turn))):
        raise InputError(PLACE, "travel, turn", [*travel, turn], "x, y and a turn, finite numbers")
    _check_turn(turn)
    need = max(math.hypot(*travel) / gait.speed, abs(turn) / gait.turn_rate)
    periods = max(1, math.ceil(need / gait.period - 1e-9))
    return Way((float(travel[0]), float(travel[1])), float(turn), periods)


def _check_turn(turn: float) -> None:
    if abs(turn) > MOST_TURN:
        rule = f"at most {MOST_TURN:g} rad in size, of one walk"
        raise InputError(PLACE, "turn", turn, rule, "ask for several walks")


def plan_walk(
    robot: LeggedRobot, gait: Gait, way: Way, *, before: PlannedWalk | None = None, at: int = 0,
    name: str = "walk", progress: Progress | None = None, cancel: Any = None,
) -> PlannedWalk:  # fmt: skip
    """A walk from the standing pose, or from sample `at` of the walk `before`.

    Its `motion` says what it fulfils; constraints that the points between samples violate (speeds
    and ranges of joints) are added to it.  InputError: `at` is no boundary of `before`.
    """
    pattern, phase = _pattern(robot, gait, way.periods, before, at)
    start = None if before is None else _moved(before.motion, at)
    x0 = robot.centre_of_mass(robot.stance, robot.standing_base())
    origin = x0[:2] if start is None else start.com[0, :2]
    step = gait.period / gait.samples
    config = LocomotionConfig(
        PLACE, name, robot, pattern, step * (pattern.samples - 1), gait.swing_height,
        friction=gait.friction, goals=_goals(robot, way, origin, pattern.samples),
        iterations=ITERATIONS, attempts=ATTEMPTS,
    )  # fmt: skip
    guess, share = None, gait.share
    if start is not None:
        guess, config = _guess(robot, start, pattern), replace(config, attempts=1)
    for turn in range(ROUNDS):
        slower = replace(config, robot=_slower(robot, share))
        motion = generate(slower, start=guess, progress=progress, cancel=cancel)
        last = turn + 1 == ROUNDS  # splines alone, with which feet slide a little before they lift
        own = replace(gait, factor=1) if last and before is None else gait
        if before is not None:  # points go on as they were
            own = replace(gait, factor=before.gait.factor)
        walk = _refined(robot, own, motion, phase, before, at)
        if last or walk.holds or not motion.holds or motion.cancelled:
            break
        guess, share = motion, SLOWER * share  # too fast between samples
    return walk


def _slower(robot: LeggedRobot, share: float) -> LeggedRobot:
    """The robot with a share of its joints' speeds, and of its wheels'."""
    tree = robot.robot
    joints = tuple(replace(joint, velocity=share * joint.velocity) for joint in tree.joints)
    ends = tuple(replace(one, speed=WHEELS * one.speed) for one in robot.end_effectors)
    return replace(robot, robot=replace(tree, joints=joints), end_effectors=ends)


def _pattern(
    robot: LeggedRobot, gait: Gait, periods: int, before: PlannedWalk | None, at: int
) -> tuple[FootfallPattern, np.ndarray]:
    """Contact and phase of all samples; a walk that changes its gait stands in between."""
    one = gait.pattern(robot)
    share = np.tile(np.arange(one.samples) / one.samples, periods)
    if before is None:
        whole = one.repeated(periods, BEFORE, AFTER)
        return whole, np.concatenate([np.zeros(BEFORE), share, np.zeros(AFTER)])
    if at not in before.boundaries():
        rule = f"the end of a period: {before.boundaries()}"
        raise InputError(PLACE, "sample to go on from", at, rule)
    if before.gait.period != gait.period or before.gait.samples != gait.samples:
        rule = f"{before.gait.period:g} s and {before.gait.samples} samples, as of the present walk"
        raise InputError(PLACE, "gait", f"{gait.period:g} s, {gait.samples} samples", rule)
    old, lead, ahead = before.gait.pattern(robot), [], []
    same = np.array_equal(old.contact, one.contact)
    if not same:
        if not before.motion.contact[at : at + FIXED].all():  # feet in the air land first
            lead, ahead = [old.contact], [np.arange(old.samples) / old.samples]
        lead.append(np.ones((BEFORE, len(one.names)), bool))
        ahead.append(np.zeros(BEFORE))
    rows = [*lead, *[one.contact] * periods, np.ones((AFTER, len(one.names)), bool)]
    contact = np.vstack(rows)
    phase = np.concatenate([*ahead, share, np.zeros(AFTER)])
    now = before.motion.contact[at : at + FIXED]
    if not np.array_equal(contact[:FIXED], now):  # the old walk comes to rest there
        contact = np.vstack([now, np.ones((BEFORE, len(one.names)), bool), contact])
        phase = np.concatenate([np.zeros(FIXED + BEFORE), phase])
    return FootfallPattern(one.names, contact, False), phase


def _goals(
    robot: LeggedRobot, way: Way, origin: np.ndarray, samples: int
) -> LocomotionGoals:  # fmt: skip
    """Travel and turn, and the standing pose at the end: feet in place, body at its height."""
    base = robot.standing_base()
    com, feet = robot.centre_of_mass(robot.stance, base), robot.contact_points(robot.stance, base)
    c, s = math.cos(way.turn), math.sin(way.turn)
    turn, end = np.array([[c, -s], [s, c]]), origin + np.array(way.travel)
    last = samples - FIXED
    places = [PlaceGoal(last, -1, (math.nan, math.nan, float(com[2])))]
    for j, foot in enumerate(feet):
        x, y = end + turn @ (foot - com)[:2]
        places.append(PlaceGoal(last, j, (float(x), float(y), math.nan)))
    return LocomotionGoals(way.travel, way.turn, None, tuple(places))


def _moved(motion: LocomotionMotion, at: int, back: int = 0) -> LocomotionMotion:
    """The motion's samples from `at - back` on, in the frame where sample `at` is at the origin
    and heads along x."""
    x, y, z, w = motion.base[at, 3:]
    yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    c, s = math.cos(yaw), math.sin(yaw)
    turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    origin = np.array([*motion.com[at, :2], 0.0])
    rows = slice(at - back, None)
    base = np.hstack([
        (motion.base[rows, :3] - origin) @ turn.T,
        quat_multiply(quat_exp([0.0, 0.0, -yaw]), motion.base[rows, 3:]),
    ])  # fmt: skip
    return replace(
        motion, com=(motion.com[rows] - origin) @ turn.T, base=base,
        contacts=(motion.contacts[rows] - origin) @ turn.T, forces=motion.forces[rows] @ turn.T,
        yaw=motion.yaw[rows] - yaw, tilt=motion.tilt[rows], spins=motion.spins[rows],
        positions=motion.positions[rows], contact=motion.contact[rows],
    )  # fmt: skip


def _guess(
    robot: LeggedRobot, start: LocomotionMotion, pattern: FootfallPattern
) -> LocomotionMotion:
    """To begin the search with: the old walk as long as its feet are on the ground as the new one's
    are, then a robot that stands where that leads to."""
    count = pattern.samples
    shared = min(start.samples - FIXED, count)
    same = (start.contact[:shared] == pattern.contact[:shared]).all(axis=1)
    kept = max(FIXED, shared if same.all() else int(np.argmin(same)))
    rows = np.minimum(np.arange(count), kept - 1)
    rows[kept:] = start.samples - 1
    shift = np.zeros((count, 3))
    shift[kept:, :2] = start.com[kept - 1, :2] - start.com[-1, :2]
    on = pattern.contact[..., None]
    share = start.forces[-1].sum(axis=0) / np.maximum(on.sum(axis=1, keepdims=True), 1)
    forces = np.where(on, share, 0.0)
    forces[:kept] = start.forces[:kept]
    base = start.base[rows].copy()
    base[:, :3] += shift
    return replace(
        start, com=start.com[rows] + shift, base=base, positions=start.positions[rows],
        contacts=start.contacts[rows] + shift[:, None], contact=pattern.contact, forces=forces,
        spins=start.spins[rows], yaw=start.yaw[rows], tilt=start.tilt[rows],
    )  # fmt: skip


def _refined(
    robot: LeggedRobot, gait: Gait, motion: LocomotionMotion, phase: np.ndarray,
    before: PlannedWalk | None, at: int,
) -> PlannedWalk:  # fmt: skip
    """With the points that are sent; their ranges and speeds are checked too."""
    whole, back = motion, 0
    if before is not None:
        back = min(OVERLAP, at)
        old = _moved(before.motion, at, back)
        rows: dict[str, Any] = {
            key: np.concatenate([getattr(old, key)[:back], getattr(motion, key)])
            for key in (
                "com base positions contacts contact forces spins yaw tilt".split()
            )
        }  # fmt: skip
        for key in ("yaw", "tilt"):
            rows[key] = np.unwrap(rows[key], axis=0)
        whole = replace(motion, **rows)
    factor = gait.factor if not motion.contact.all() else 1
    fine = whole
    if factor > 1 and motion.holds:
        names = [e.name for e in robot.end_effectors if e.kind == "point"]
        balls: Mapping[str, float] = dict.fromkeys(names, gait.foot)
        fine = densified(robot, whole, factor, balls=balls)
    first = back * (factor if fine is not whole else 1)
    walk = PlannedWalk(robot, gait, motion, fine, first, phase)
    return walk if not motion.holds else replace(walk, motion=_with_between(walk))


def _with_between(walk: PlannedWalk) -> LocomotionMotion:
    """The motion with what is wrong between its samples as constraints of it."""
    from .motion import Violation

    found = [
        Violation(f"{one.quantity} of {one.joint}", abs(one.value), 0.0, "rad or rad/s, beyond "
                  + one.rule, f"{one.time:.3g} s, between samples")
        for one in beyond_limits(walk.trajectory(), limits_of(walk.robot), jerk=False)
    ]  # fmt: skip
    names, speeds = walk.wheels()
    most = [e.speed for e in walk.robot.end_effectors if e.kind == "actuated"]
    for name, column, limit in zip(names, speeds.T, most, strict=True):
        worst = int(np.argmax(np.abs(column)))
        if abs(column[worst]) > limit:
            found.append(Violation(f"speed of wheel {name}", abs(float(column[worst])), limit,
                                   "rad/s", f"{walk.times()[worst]:.3g} s"))  # fmt: skip
    return replace(walk.motion, constraints=(*walk.motion.constraints, *found))
