"""What controllers command of the motions that the driver accepts: within limits, in each version.

Random motions of a UR5 from random places of rest, as fast as limits allow or a little faster:
straight lines, cubics and quintics whose first point is late, at the start, put there, or blended
to.  Those that pass the checks are run through the mock controller's interpolation in each version
of ros2_controllers, every millisecond, and through a transcription of the real one's formulas
(power basis, `Pieces`), at its extrema too.  None may leave a limit.  Counted as well is what a
check of the old rule alone (a cubic to the first point) would have let through.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.robots.arm import Arm, load_arm
from diffsim_ros.robots.blend import blended, from_present
from diffsim_ros.robots.command import JointSample
from diffsim_ros.robots.interpolation import VERSIONS, Course, approach_rule
from diffsim_ros.robots.start_check import check_start
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_check import Rules, check_motion

from .common import ROOT, share

ACCEPTED = 10_000
KINDS = ("late", "late", "late", "from_present", "at_start", "blended")
"""Of first points: half of the motions have a late one."""
STEP = 1e-3
GRID = np.linspace(0.0, 1.0, 65)
BEYOND = 1e-6
"""Share of a limit by which rounding may exceed it."""
OLD = Rules(approach="cubic")
FACTORS = [[math.perm(power, order) for power in range(6)] for order in range(4)]
"""Of the powers of time in a derivative of each order."""


@dataclass(frozen=True)
class Pieces:
    """Polynomials of time in each piece: begins and lasts (m,) [s], coefficients (6, m, joints)."""

    begins: np.ndarray
    lasts: np.ndarray
    coefficients: np.ndarray

    @staticmethod
    def of(motion: JointTrajectory, start: JointSample, version: str) -> Pieces:
        """As ros2_controllers of this version computes them, from a state at t = 0 on."""
        rows = [row for row in (motion.positions, motion.velocities, motion.accelerations)
                if row is not None]  # fmt: skip
        lasts = np.diff(motion.times)[:, None]
        begins, body = motion.times[:-1], _polynomials(lasts, [r[:-1] for r in rows],
                                                       [r[1:] for r in rows])  # fmt: skip
        if motion.times[0] > 0.0:
            position, velocity = start.rows(motion.names)
            state = [position, velocity, np.zeros_like(position)]
            known = len(rows) if approach_rule(version) == "quintic" else min(len(rows), 2)
            wait = motion.times[:1, None]
            approach = _polynomials(
                wait, [r[None] for r in state[:known]], [r[:1] for r in rows[:known]]
            )
            body = np.concatenate([approach, body], axis=1)
            begins, lasts = np.append(0.0, begins), np.concatenate([wait, lasts])
        return Pieces(begins, lasts[:, 0], body)

    def at(self, times: np.ndarray, order: int) -> np.ndarray:
        """Derivatives (n, joints) at times (n,) within the pieces [s]."""
        piece = np.searchsorted(self.begins, times, side="right") - 1
        since = (times - self.begins[piece])[:, None]
        return _value(self.coefficients[:, piece], since, order)

    def peaks(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest value (joints,) of a derivative, at its ends and turns."""
        c, since = self.coefficients, GRID[:, None, None] * self.lasts[:, None]
        slopes, values = _value(c, since, order + 1), _value(c, since, order)
        low, high = values.min(axis=(0, 1)), values.max(axis=(0, 1))
        k, m, j = np.nonzero(slopes[:-1] * slopes[1:] < 0.0)
        c, a, b = c[:, m, j], since[k, m, 0], since[k + 1, m, 0]
        rising = slopes[k, m, j] > 0.0
        for _ in range(20):  # values at turns are flat: an error of time counts squared
            middle = 0.5 * (a + b)
            same = (_value(c, middle, order + 1) > 0.0) == rising
            a, b = np.where(same, middle, a), np.where(same, b, middle)
        turns = _value(c, a, order)
        np.minimum.at(low, j, turns)
        np.maximum.at(high, j, turns)
        return low, high


def _value(coefficients: np.ndarray, since: np.ndarray, order: int) -> np.ndarray:
    """A derivative at times since the pieces' begins, by Horner's rule."""
    found = FACTORS[order][5] * coefficients[5]
    for power in reversed(range(order, 5)):
        found = found * since + FACTORS[order][power] * coefficients[power]
    return found


def _polynomials(h: np.ndarray, a: list[np.ndarray], b: list[np.ndarray]) -> np.ndarray:
    """Coefficients (6, m, joints) between states of positions, velocities, accelerations."""
    c = np.zeros((6, *a[0].shape))
    c[0] = a[0]
    if len(a) == 1:
        c[1] = (b[0] - a[0]) / h
        return c
    (p, q), (v, w) = (a[0], b[0]), (a[1], b[1])
    c[1] = v
    if len(a) == 2:
        c[2] = (3 * (q - p) - (2 * v + w) * h) / h**2
        c[3] = (2 * (p - q) + (v + w) * h) / h**3
        return c
    x, y = a[2], b[2]
    c[2] = 0.5 * x
    c[3] = (20 * (q - p) - (3 * x - y) * h**2 - (12 * v + 8 * w) * h) / (2 * h**3)
    c[4] = (30 * (p - q) + (3 * x - 2 * y) * h**2 + (16 * v + 14 * w) * h) / (2 * h**4)
    c[5] = (12 * (q - p) - (x - y) * h**2 - 6 * (v + w) * h) / (2 * h**5)
    return c


def candidate(rng: np.random.Generator, arm: Arm) -> tuple[JointTrajectory, JointSample, str]:
    """A random motion that may or may not be within limits, the state it starts at, its kind."""
    kind, limits, names = str(rng.choice(KINDS)), arm.limits, arm.robot.joint_names
    fields = int(rng.choice([1, 2, 3], p=[0.1, 0.2, 0.7]))
    middle, half = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
    q = middle + half * rng.uniform(-1.0, 1.0, len(names)) * rng.choice([0.5, 0.999])
    rest = rng.choice([0.0, 0.02])
    velocity = rest * rng.uniform(-1.0, 1.0, len(names))
    start = JointSample(dict(zip(names, q.tolist(), strict=True)),
                        dict(zip(names, velocity.tolist(), strict=True)))  # fmt: skip
    near = {"at_start": 0.0, "blended": 0.3}.get(kind, 2.5)
    away = near * rng.uniform(-1.0, 1.0, len(names)) * rng.choice([0.1, 0.5, 1.0])
    moving = rng.choice([0.0, 0.5, 1.0]) if near else 0.0
    v = moving * rng.uniform(-0.7, 0.7, len(names)) * limits.velocity
    a = moving * rng.uniform(-0.9, 0.9, len(names)) * limits.acceleration
    if fields == 1:
        v, a = 0.0 * v, 0.0 * a
    shortest = np.max(np.maximum(1.5 * np.abs(away - 0.4 * v) / limits.velocity,
                                 np.sqrt(6.0 * np.abs(away) / limits.acceleration)))  # fmt: skip
    wait = max(rng.uniform(1.0, 1.3) * shortest, 0.04) if near else 0.0
    motion = _body(rng, arm, q + away, v, a, fields)
    motion = replace(motion, times=motion.times + (0.0 if kind == "blended" else wait))
    return motion, start, kind


def _body(rng, arm: Arm, q: np.ndarray, v: np.ndarray, a: np.ndarray, fields: int):
    """From a state to rest, by one or two quintics that are sampled where lines are drawn."""
    limits, count = arm.limits, int(rng.integers(1, 3))
    states, times = [np.stack([q, v, a])], [0.0]
    for left in reversed(range(count)):
        lasts = rng.uniform(0.3, 1.2)
        mean = rng.uniform(-0.5, 0.5, len(q)) * limits.velocity * rng.choice([0.1, 0.7])
        last = states[-1]
        after = 0.5 * mean if left else 0.0 * mean
        speed = np.abs(last[1]) + np.abs(mean)
        lasts = max(lasts, 3.0 * float(np.max(speed / limits.acceleration)))
        states.append(np.stack([last[0] + 0.5 * (last[1] + mean) * lasts, after, 0.0 * mean]))
        times.append(times[-1] + lasts)
    states = np.stack(states, axis=1)
    motion = JointTrajectory(arm.robot.joint_names, np.array(times), *states)
    if fields == 1:
        fine = np.linspace(0.0, motion.duration, max(int(motion.duration / 0.008), 2))
        return JointTrajectory(motion.names, fine, motion.at(fine)[0])
    return motion if fields == 3 else replace(motion, accelerations=None)


def prepared(motion: JointTrajectory, start: JointSample, arm: Arm, kind: str) -> JointTrajectory:
    """As the driver would send it; InputError where it cannot be blended to."""
    if kind == "from_present":
        return from_present(motion, start)
    if kind == "blended":
        return blended(motion, arm, start)
    return motion


def _accepted(motion, arm: Arm, start: JointSample, rules: Rules | None = None):
    try:
        trajectory = check_motion(motion, arm, rules)
        check_start(trajectory, arm, start, rules)
    except InputError:
        return None
    return trajectory


def excess(pieces: Pieces, arm: Arm) -> np.ndarray:
    """(3,) by what share of its limit position, velocity and acceleration exceed it, at most."""
    limits, found = arm.limits, []
    for order, most in enumerate((None, limits.velocity, limits.acceleration)):
        low, high = pieces.peaks(order)
        if most is None:
            over = np.maximum(
                (high - limits.upper) / limits.upper, (low - limits.lower) / limits.lower
            )
        else:
            over = np.maximum(high, -low) / most - 1.0
        found.append(float(np.max(over)))
    return np.array(found)


def sampled(motion: JointTrajectory, start: JointSample, version: str, arm: Arm, pieces: Pieces):
    """The same of what the mock commands every STEP, and its difference from the transcription."""
    limits, state = arm.limits, start.rows(motion.names)
    times = np.arange(0.0, motion.duration, STEP)
    rows = Course(motion, *state, 0.0, approach_rule(version)).at(times)
    over = [np.maximum(rows[0] / limits.upper, rows[0] / limits.lower).max() - 1.0]
    for row, most in ((rows[1], limits.velocity), (rows[2], limits.acceleration)):
        over.append(np.max(np.abs(row) / most) - 1.0)
    inside = times >= pieces.begins[0]
    apart = [np.abs(row[inside] - pieces.at(times[inside], order)).max()
             for order, row in enumerate(rows)]  # fmt: skip
    return np.array(over), np.array(apart)


def study(fraction: float = 1.0) -> dict:
    """Counts and the largest excesses; asserts the bars."""
    arm = load_arm(ROOT / "config" / "robots" / "ur5.yaml")
    rng = np.random.default_rng(20261122)
    most = {version: np.full(3, -np.inf) for version in VERSIONS}
    apart = np.zeros(3)
    counts = dict.fromkeys(dict.fromkeys(KINDS), 0)
    degrees = dict.fromkeys(("lines", "cubics", "quintics"), 0)
    tried, old_passed, slipped, worst = 0, 0, 0, 0.0
    while sum(counts.values()) < share(ACCEPTED, fraction):
        motion, start, kind = candidate(rng, arm)
        tried += 1
        try:
            motion = prepared(motion, start, arm, kind)
        except InputError:
            continue
        found = _accepted(motion, arm, start)
        if kind == "late" and (old := found or _accepted(motion, arm, start, OLD)) is not None:
            old_passed += 1
            over = float(excess(Pieces.of(old, start, VERSIONS[-1]), arm).max())
            slipped, worst = slipped + (over > BEYOND), max(worst, over)
        if found is None:
            continue
        counts[kind] += 1
        degrees[_degree(found)] += 1
        for version in VERSIONS:
            pieces = Pieces.of(found, start, version)
            over, off = sampled(found, start, version, arm, pieces)
            most[version] = np.max([most[version], over, excess(pieces, arm)], axis=0)
            apart = np.maximum(apart, off)
    named = ("position", "velocity", "acceleration")
    figures = {
        "tried": tried,
        "accepted": sum(counts.values()),
        "by_first_point": counts,
        "by_degree": degrees,
        "largest_share_of_a_limit": {
            version: dict(zip(named, (1.0 + row).tolist(), strict=True))
            for version, row in most.items()
        },
        "mock_beside_transcription": dict(zip(named, apart.tolist(), strict=True)),
        "cubic_rule_alone": {
            "accepted_late_first_points": old_passed,
            "beyond_a_limit_since_4_36": int(slipped),
            "worst_share_of_a_limit": 1.0 + worst,
        },
    }
    assert all((row <= BEYOND).all() for row in most.values()), figures
    assert (apart < [1e-12, 1e-10, 1e-7]).all(), figures
    assert slipped > 0.1 * old_passed, figures  # else these motions would show nothing
    return figures


def _degree(motion: JointTrajectory) -> str:
    if motion.velocities is None:
        return "lines"
    return "cubics" if motion.accelerations is None else "quintics"
