"""Walks and drives: from standing, or from a walk that goes on, through whole periods, to standing.

One motion from beginning to end: entering the gait and leaving it are planned as the rest is,
with all constraints, not blended.  A walk that is to change goes on from the end of a period
(begin.py): the new motion begins with two samples of the old one, which fix place and velocity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.robots.arm import Limits
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_limits import beyond_limits

from .begin import Begin
from .config import LocomotionConfig, LocomotionGoals, PlaceGoal
from .densify import densified
from .footfall import FootfallPattern, named_gait
from .generator import Progress, generate
from .legged_robot import LeggedRobot
from .motion import LocomotionMotion, MotionStates
from .planar import composed, inverse, planar
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


DUTY = {"trot": 0.6}
"""Of gaits that open loop walks with longer stances than the pattern's: on two feet for the whole
period a body tips about the line between them, and turns away."""
FALLING = ("bound", "pace")
"""Gaits that fall over in open loop: the feet that stand are all on one side of the body."""


@dataclass(frozen=True)
class Gait:
    """How a robot walks.

    gait, duty     of footfall patterns; duty None: DUTY's, or the pattern's
    period [s];  samples of it;  swing_height [m];  friction [1]
    speed [m/s], turn_rate [rad/s]  largest that are asked for; side: share of the speed sideways
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
    side: float = 1.0

    def least_time(self, pose: Sequence[float] | np.ndarray) -> float:
        """[s] of a walk to a pose (3,), x ahead, y to the left [m] and a turn [rad], at least."""
        x, y, turn = (float(value) for value in pose)
        return max(math.hypot(x, y / self.side) / self.speed, abs(turn) / self.turn_rate)

    @property
    def warning(self) -> str:
        """What whoever walks by it in open loop should know, "" for most gaits."""
        if self.gait not in FALLING:
            return ""
        return f"{self.gait}: falls over in open loop (it did in the twin); walk and trot stay up"

    def pattern(self, robot: LeggedRobot) -> FootfallPattern:
        """One period's."""
        duty = DUTY.get(self.gait) if self.duty is None else self.duty
        duty = None if self.gait in ("roll", "none") else duty
        return named_gait(robot, self.gait, self.samples, duty=duty)


@dataclass(frozen=True, eq=False)
class WalkBegin(Begin):
    """Where a walk goes on from: the end of a period (`PlannedWalk.begin`) of a walk of a gait."""

    gait: Gait = Gait()


@dataclass(frozen=True)
class WalkGoal:
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
        """Samples from which another walk may go on: ends of periods, where no swing is cut."""
        air, last = ~self.motion.contact, self.motion.samples - FIXED
        whole = np.flatnonzero(self.phase[1:] < self.phase[:-1]) + 1
        return [int(k) for k in whole if k < last and not (air[k - 1] & air[k]).any()]

    def after(self, time: float) -> int | None:
        """The first boundary at or after a time [s] of the walk; None: it comes to rest first."""
        later = [k for k in self.boundaries() if k * self.motion.step >= time]
        return later[0] if later else None

    def begin(self, sample: int) -> WalkBegin:
        """Where another walk goes on from; InputError: the sample is none of `boundaries`."""
        if sample not in self.boundaries():
            rule = f"the end of a period: {self.boundaries()}"
            raise InputError(PLACE, "sample to go on from", sample, rule)
        return WalkBegin(self.motion, sample, self.gait)

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

    def states(self) -> MotionStates:
        """The motion at `times`."""
        return self._states

    @cached_property
    def _states(self) -> MotionStates:
        return self.fine.at(self.times() + self.first * self.fine.step)

    def wheels(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Joints of wheels with motors, and their speeds (N, w) [rad/s] at `times`."""
        chosen = [j for j, e in enumerate(self.robot.end_effectors) if e.kind == "actuated"]
        names = tuple(self.robot.end_effectors[j].spin_name for j in chosen)
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


def goal_of_twist(gait: Gait, twist: Sequence[float], duration: float) -> WalkGoal:
    """An arc: twist (forward, to the left [m/s], turning [rad/s]) for a duration [s].

    InputError: what is not finite, faster than the gait's limits, or turns by more than MOST_TURN.
    """
    vx, vy, rate = (float(value) for value in twist)
    if not all(map(math.isfinite, (vx, vy, rate, duration))) or duration <= 0.0:
        raise InputError(PLACE, "twist, duration", [vx, vy, rate, duration], "finite, above 0 s")
    if math.hypot(vx, vy / gait.side) > gait.speed * (1 + 1e-9):
        rule = f"at most {gait.speed:g} m/s, {gait.side * gait.speed:g} sideways"
        hint = "parameters max_speed, side_speed_share"
        raise InputError(PLACE, "twist.linear", [vx, vy], rule, hint)
    if abs(rate) > gait.turn_rate * (1 + 1e-9):
        rule = f"at most {gait.turn_rate:g} rad/s in size"
        raise InputError(PLACE, "twist.angular.z", rate, rule, "parameter max_turn_rate")
    periods = max(1, round(duration / gait.period))
    x, y, turn = (float(value) for value in arc((vx, vy, rate), periods * gait.period))
    _check_turn(turn)
    return WalkGoal((x, y), turn, periods)


def arc(twist: Sequence[float] | np.ndarray, span: float) -> np.ndarray:
    """Pose (3,), x, y [m] and yaw [rad], after a twist (forward, left, turning) of a time [s]."""
    vx, vy, rate = twist
    turn = rate * span
    along = np.sinc(turn / (2 * math.pi)) * span  # of the chord, at half the turn
    c, s = math.cos(turn / 2), math.sin(turn / 2)
    return np.array([along * (c * vx - s * vy), along * (s * vx + c * vy), turn])


def goal_of_travel(gait: Gait, travel: Sequence[float], turn: float) -> WalkGoal:
    """To a place [m] and heading [rad], in as few periods as the gait's limits allow."""
    if len(travel) != 2 or not all(map(math.isfinite, (*travel, turn))):
        raise InputError(PLACE, "travel, turn", [*travel, turn], "x, y and a turn, finite numbers")
    _check_turn(turn)
    periods = max(1, math.ceil(gait.least_time((*travel, turn)) / gait.period - 1e-9))
    return WalkGoal((float(travel[0]), float(travel[1])), float(turn), periods)


def goal_of_pose(
    robot: LeggedRobot, gait: Gait, pose: Sequence[float] | np.ndarray, *,
    begin: WalkBegin | None = None, least: int = 1, longest: float = math.inf,
) -> WalkGoal:  # fmt: skip
    """To a pose of the body, x, y [m] and yaw [rad], in its own axes where the walk begins.

    In as few periods as the gait's limits allow, `least` or more; of what takes longer than
    `longest` [s], or turns by more than MOST_TURN, a part.  InputError: what is not finite.
    """
    x, y, turn = (float(value) for value in pose)
    if not all(map(math.isfinite, (x, y, turn))):
        raise InputError(PLACE, "pose", [x, y, turn], "x, y and a yaw, finite numbers")
    need = gait.least_time((x, y, turn))
    share = min(1.0, longest / max(need, 1e-9), MOST_TURN / max(abs(turn), 1e-9))
    own = np.zeros(3)  # the body where the walk begins, in the axes of its plan
    centre = start = robot.centre_of_mass(robot.stance, robot.standing_base())[:2]
    if begin is not None:
        moved = begin.at_origin()
        own, start = planar(moved.motion.base[moved.sample]), np.zeros(2)
    end = composed(own, share * np.array([x, y, turn]))
    c, s = math.cos(end[2]), math.sin(end[2])
    travel = end[:2] + np.array([[c, -s], [s, c]]) @ centre - start
    periods = max(least, 1, math.ceil(share * need / gait.period - 1e-9))
    return WalkGoal((float(travel[0]), float(travel[1])), float(end[2]), periods)


def _check_turn(turn: float) -> None:
    if abs(turn) > MOST_TURN:
        rule = f"at most {MOST_TURN:g} rad in size, of one walk"
        raise InputError(PLACE, "turn", turn, rule, "ask for several walks")


def plan_walk(
    robot: LeggedRobot, gait: Gait, goal: WalkGoal, *, begin: WalkBegin | None = None,
    name: str = "walk", progress: Progress | None = None, cancel: Any = None,
) -> PlannedWalk:  # fmt: skip
    """A walk from the standing pose, or from where another one goes on (`PlannedWalk.begin`).

    Its frame is where the robot stands, or `begin.frame`.  Its `motion` says what it fulfils;
    constraints that the points between samples violate (speeds and ranges of joints) are added.
    InputError: a gait whose samples are not those of the walk before.
    """
    pattern, phase = _pattern(robot, gait, goal.periods, begin)
    if begin is None:
        origin = robot.centre_of_mass(robot.stance, robot.standing_base())[:2]
    else:
        begin, origin = begin.at_origin(), np.zeros(2)
    step = gait.period / gait.samples
    config = LocomotionConfig(
        PLACE, name, robot, pattern, step * (pattern.samples - 1), gait.swing_height,
        friction=gait.friction, goals=_goals(robot, goal, origin, pattern.samples), begin=begin,
        iterations=ITERATIONS, attempts=ATTEMPTS if begin is None else 1,
    )  # fmt: skip
    guess = None if begin is None else _guess(begin, pattern)
    share = gait.share
    for turn in range(ROUNDS):
        slower = replace(config, robot=_slower(robot, share))
        motion = generate(slower, start=guess, progress=progress, cancel=cancel)
        last = turn + 1 == ROUNDS  # splines alone, with which feet slide a little before they lift
        own = replace(gait, factor=1) if last and begin is None else gait
        if begin is not None:  # points go on as they were
            own = replace(gait, factor=begin.gait.factor)
        walk = _refined(robot, own, motion, phase, begin)
        if last or walk.holds or not motion.holds or motion.cancelled:
            break
        guess, share = motion, SLOWER * share  # too fast between samples
    return walk


@lru_cache(maxsize=16)
def _slower(robot: LeggedRobot, share: float) -> LeggedRobot:
    """The robot with a share of its joints' speeds, and of its wheels'."""
    tree = robot.robot
    joints = tuple(replace(joint, velocity=share * joint.velocity) for joint in tree.joints)
    ends = tuple(replace(one, speed=WHEELS * one.speed) for one in robot.end_effectors)
    return replace(robot, robot=replace(tree, joints=joints), end_effectors=ends)


def _pattern(
    robot: LeggedRobot, gait: Gait, periods: int, begin: WalkBegin | None
) -> tuple[FootfallPattern, np.ndarray]:
    """Contact and phase of all samples; a walk that changes its gait stands in between."""
    one = gait.pattern(robot)
    share = np.tile(np.arange(one.samples) / one.samples, periods)
    if begin is None:
        whole = one.repeated(periods, BEFORE, AFTER)
        return whole, np.concatenate([np.zeros(BEFORE), share, np.zeros(AFTER)])
    former = begin.gait
    if former.period != gait.period or former.samples != gait.samples:
        rule = f"{former.period:g} s and {former.samples} samples, as of the present walk"
        raise InputError(PLACE, "gait", f"{gait.period:g} s, {gait.samples} samples", rule)
    now = begin.motion.contact[begin.sample : begin.sample + FIXED]
    old, lead, ahead = former.pattern(robot), [], []
    if not np.array_equal(old.contact, one.contact):
        if not now.all():  # feet in the air land first
            lead, ahead = [old.contact], [np.arange(old.samples) / old.samples]
        lead.append(np.ones((BEFORE, len(one.names)), bool))
        ahead.append(np.zeros(BEFORE))
    rows = [*lead, *[one.contact] * periods, np.ones((AFTER, len(one.names)), bool)]
    contact = np.vstack(rows)
    phase = np.concatenate([*ahead, share, np.zeros(AFTER)])
    if not np.array_equal(contact[:FIXED], now):  # the old walk comes to rest there
        contact = np.vstack([now, np.ones((BEFORE, len(one.names)), bool), contact])
        phase = np.concatenate([np.zeros(FIXED + BEFORE), phase])
    return FootfallPattern(one.names, contact, False), phase


def _goals(
    robot: LeggedRobot, goal: WalkGoal, origin: np.ndarray, samples: int
) -> LocomotionGoals:  # fmt: skip
    """Travel and turn, and the standing pose at the end: feet in place, body at its height."""
    base = robot.standing_base()
    com, feet = robot.centre_of_mass(robot.stance, base), robot.contact_points(robot.stance, base)
    c, s = math.cos(goal.turn), math.sin(goal.turn)
    turn, end = np.array([[c, -s], [s, c]]), origin + np.array(goal.travel)
    last = samples - FIXED
    places = [PlaceGoal(last, -1, (math.nan, math.nan, float(com[2])))]
    for j, foot in enumerate(feet):
        x, y = end + turn @ (foot - com)[:2]
        places.append(PlaceGoal(last, j, (float(x), float(y), math.nan)))
    return LocomotionGoals(goal.travel, goal.turn, None, tuple(places), stance=True)


ROWS = "com base positions contacts contact forces spins yaw tilt".split()
"""What a motion has at every sample."""


def _guess(begin: WalkBegin, pattern: FootfallPattern) -> LocomotionMotion:
    """To begin the search with: the old walk with its last period and its end, and periods before
    them left out or repeated; of another gait see `_standing_guess`."""
    old, left, count = begin.motion, begin.motion.samples - begin.sample, pattern.samples
    period = begin.gait.samples
    tail, more = period + AFTER, count - left
    kept = min(count, left) - tail  # samples before the last period
    if more % period or kept < 0 or (more > 0 and kept < period):
        return _standing_guess(begin, pattern)
    between = np.arange(max(more, 0)) % period + kept - period
    rows = begin.sample + np.concatenate([np.arange(kept), between, np.arange(left - tail, left)])
    if not np.array_equal(old.contact[rows], pattern.contact):
        return _standing_guess(begin, pattern)
    parts: list[dict[str, Any]] = []
    place = begin.frame  # where the next piece begins, in axes of the old walk
    for piece in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
        own = Begin(old, int(piece[0])).frame
        moved = old.seen_from(composed(own, inverse(place)))
        parts.append({key: getattr(moved, key)[piece] for key in ROWS})
        if piece[-1] + 1 < old.samples:
            place = Begin(moved, int(piece[-1]) + 1).frame
    whole: dict[str, Any] = {key: np.concatenate([one[key] for one in parts]) for key in ROWS}
    return replace(old, **whole)


def _standing_guess(begin: Begin, pattern: FootfallPattern) -> LocomotionMotion:
    """The old walk as long as its feet are on the ground as the new one's are, then a robot that
    stands where that leads to."""
    old = begin.motion
    rows = {key: getattr(old, key)[begin.sample :] for key in ROWS}
    count, left = pattern.samples, old.samples - begin.sample
    shared = min(left - FIXED, count)
    same = (rows["contact"][:shared] == pattern.contact[:shared]).all(axis=1)
    kept = max(FIXED, shared if same.all() else int(np.argmin(same)))
    at = np.minimum(np.arange(count), kept - 1)
    at[kept:] = left - 1
    guess = {key: value[at] for key, value in rows.items()}
    shift = np.zeros((count, 3))
    shift[kept:, :2] = rows["com"][kept - 1, :2] - rows["com"][-1, :2]
    on = pattern.contact[..., None]
    standing = rows["forces"][-1].sum(axis=0) / np.maximum(on.sum(axis=1, keepdims=True), 1)
    guess["com"] = guess["com"] + shift
    guess["base"] = guess["base"] + np.pad(shift, ((0, 0), (0, 4)))
    guess["contacts"] = guess["contacts"] + shift[:, None]
    guess["forces"] = np.where(on, standing, 0.0)
    guess["forces"][:kept] = rows["forces"][:kept]
    return replace(old, **{**guess, "contact": pattern.contact})


def _refined(
    robot: LeggedRobot, gait: Gait, motion: LocomotionMotion, phase: np.ndarray, begin: Begin | None
) -> PlannedWalk:
    """With the points that are sent; their ranges and speeds are checked too."""
    whole, back = motion, 0
    if begin is not None:
        back = min(OVERLAP, begin.sample)
        before = slice(begin.sample - back, begin.sample)
        rows: dict[str, Any] = {
            key: np.concatenate([getattr(begin.motion, key)[before], getattr(motion, key)])
            for key in ROWS
        }
        for key in ("yaw", "tilt"):
            rows[key] = np.unwrap(rows[key], axis=0)
        whole = replace(motion, **rows, begin_rates=())  # the walk before takes care of its rates
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
