"""How fast a motion may be under limits, and motions from rest through a state to rest.

All motions here are piecewise quintics whose limits are checked by their control points, so they
hold between the samples too (quintic.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError

from . import quintic
from .arm import Limits
from .trajectory import JointTrajectory

PERIOD = 0.008
"""Distance of points [s]: a UR5's controller runs at 125 Hz."""
SLACK = 1 + 2e-6
"""Closed forms are slowed by this, so that the bounds of `peaks` keep limits strictly."""
LONGEST = 20.0
"""[s] beyond which no motion is searched."""
QUANTITIES = ("position", "velocity", "acceleration", "jerk")


@dataclass(frozen=True)
class Knots:
    """A motion at its knots: times (m,) [s], states (3, m, j) = q, qd, qdd."""

    times: np.ndarray
    states: np.ndarray

    def then(self, other: Knots) -> Knots:
        """This, and `other` after it: it begins with this one's last state."""
        times = np.concatenate([self.times, self.times[-1] + other.times[1:]])
        return Knots(times, np.concatenate([self.states, other.states[:, 1:]], axis=1))

    def reversed(self) -> Knots:
        """The same path back: velocities change their sign."""
        signs = np.array([1.0, -1.0, 1.0])[:, None, None]
        return Knots(self.times[-1] - self.times[::-1], signs * self.states[:, ::-1])


def peaks(trajectory: JointTrajectory) -> dict[str, np.ndarray]:
    """Extremes (j,) between all points: lower, upper, velocity, acceleration, jerk.

    The trajectory has velocities and accelerations; bounds from above, tight to 1e-6.
    """
    if trajectory.accelerations is None:
        raise InputError("trajectory", "accelerations", None, "given: quintics are scaled")
    steps = np.diff(trajectory.times)
    rows = (trajectory.positions, trajectory.velocities, trajectory.accelerations)
    points = quintic.derivatives(quintic.control_points(steps, *rows), steps)
    lower, upper = quintic.extremes(points[0])
    found = {"lower": lower, "upper": upper}
    for name, row in zip(QUANTITIES[1:], points[1:], strict=True):
        found[name] = np.maximum(*np.abs(quintic.extremes(row)))
    return found


def stretch_needed(found: dict[str, np.ndarray], limits: Limits) -> tuple[float, int, str]:
    """Factor by which times must grow for peaks to keep limits (< 1: may shrink), joint, quantity.

    Positions do not depend on times and do not count.
    """
    factors = np.array(
        [(found[name] / getattr(limits, name)) ** (1 / k) for k, name in enumerate(QUANTITIES) if k]
    )
    row, joint = np.unravel_index(np.argmax(factors), factors.shape)
    return float(factors[row, joint]), int(joint), QUANTITIES[row + 1]


def stretched(trajectory: JointTrajectory, factor: float) -> JointTrajectory:
    """The same path `factor` times as slowly; an end at rest stays exactly at rest."""
    return JointTrajectory(
        trajectory.names,
        factor * trajectory.times,
        trajectory.positions,
        None if trajectory.velocities is None else trajectory.velocities / factor,
        None if trajectory.accelerations is None else trajectory.accelerations / factor**2,
        None if trajectory.release is None else factor * trajectory.release,
    )


def fastest(trajectory: JointTrajectory, limits: Limits) -> JointTrajectory:
    """The same path at the highest uniform speed that keeps velocity, acceleration and jerk.

    A motion that is always at rest does not change.  InputError: positions beyond their limits.
    """
    found = peaks(trajectory)
    for i, name in enumerate(trajectory.names):
        for value in (found["lower"][i], found["upper"][i]):
            if not limits.lower[i] - 1e-9 <= value <= limits.upper[i] + 1e-9:
                rule = f"from {limits.lower[i]:g} to {limits.upper[i]:g}"
                raise InputError("trajectory", f"{name} position", float(value), rule)
    if not (np.ptp(trajectory.positions, axis=0).any() or trajectory.velocities.any()):
        return trajectory
    return stretched(trajectory, stretch_needed(found, limits)[0])


def point_to_point(
    limits: Limits, q_start, q_end, *, names: Sequence[str], period: float = PERIOD
) -> JointTrajectory:
    """From rest at q_start (j,) to rest at q_end, straight in joint space, at limits' speed."""
    start, end = (_inside(names, limits, q, at) for q, at in ((q_start, "start"), (q_end, "end")))
    return _trajectory(names, _rest_to_rest(limits, start, end), period)


def through_state(
    limits: Limits, q_start, q_release, qd_release, q_end=None, *, names: Sequence[str],
    hold: float = 0.0, period: float = PERIOD,
) -> JointTrajectory:  # fmt: skip
    """From rest at q_start through (q_release, qd_release) to rest at q_end: a throw.

    limits, q_* (j,) in the order of `names`; q_end None: wherever the arm comes to rest first
    hold    [s] of constant velocity about the release, so that a late gripper changes less
    The motions to the release and to the end are each the quicker of one quintic, and of two with
    a rest between (wind-up, follow-through).  `release` is the time of the state; there the
    acceleration is zero.  InputError names joint and limit: states beyond limits, or no such
    motion.
    """
    start, through = (
        _inside(names, limits, q, at) for q, at in ((q_start, "start"), (q_release, "release"))
    )
    end = None if q_end is None else _inside(names, limits, q_end, "end")
    speed = _numbers(names, qd_release, "release velocity")
    for name, value, most in zip(names, speed, limits.velocity, strict=True):
        if abs(value) > most:
            raise InputError("release", f"{name} velocity", float(value), f"at most {most:g}")
    near, far = (_inside(names, limits, through + s * hold / 2 * speed, "release") for s in (-1, 1))
    before = _from_rest(names, limits, start, near, speed, "wind-up")
    after = _from_rest(names, limits, end, far, -speed, "follow-through").reversed()
    still = np.zeros_like(speed)
    whole, moment = before, before.times[-1] + hold / 2
    if hold > 0:
        rows = np.stack([[near, through, far], [speed] * 3, [still] * 3])
        whole = whole.then(Knots(np.array([0, hold / 2, hold]), rows))
    return _trajectory(names, whole.then(after), period, float(moment))


def _from_rest(names, limits, start, end, speed, part: str) -> Knots:
    """The quicker of both motions from rest at `start` (None: anywhere) to (end, speed)."""
    if start is None and not speed.any():
        return Knots(np.zeros(1), np.stack([end[None], speed[None], 0 * speed[None]]))
    motions = [] if start is None else [_one_quintic(limits, start, end, speed)]
    turn, swing = _swing(limits, end, speed)
    beyond = np.maximum(turn - limits.upper, limits.lower - turn)
    if np.all(beyond <= 0):
        motions.append(swing if start is None else _rest_to_rest(limits, start, turn).then(swing))
    motions = [motion for motion in motions if motion is not None]
    if not motions:
        i = int(np.argmax(beyond))
        rule = f"from {limits.lower[i]:g} to {limits.upper[i]:g}"
        remedy = f"it needs a {part} to {turn[i]:.4g}: another release state, or a slower one"
        raise InputError("release", f"{names[i]} {part}", float(turn[i]), rule, remedy)
    return min(motions, key=lambda motion: motion.times[-1])


def _one_quintic(limits, start, end, speed) -> Knots | None:
    """From rest at `start` to (end, speed) by one quintic of the least duration; None: there is
    none.  More time is not always better: a quintic with a given end speed swings back further."""
    still = np.zeros_like(speed)
    rows = np.stack([[start, end], [still, speed], [still, still]])
    low, high = 1e-3, LONGEST
    for _ in range(3):  # finer grids between the last that fails and the first that keeps limits
        grid = np.geomspace(low, high, 120)
        kept = _keeps(limits, grid, rows)
        if not kept.any():
            return None
        first = int(np.argmax(kept))
        low, high = grid[max(first - 1, 0)], grid[first]
    return Knots(np.array([0.0, high]), rows)


def _keeps(limits: Limits, durations: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Which durations (n,) let one quintic between two states (3, 2, j) keep all limits."""
    h = durations[:, None]
    q, v, a = rows
    points = np.stack(np.broadcast_arrays(
        q[0], q[0] + h * v[0] / 5, q[0] + h * (2 * v[0] / 5 + h * a[0] / 20),
        q[1] + h * (-2 * v[1] / 5 + h * a[1] / 20), q[1] - h * v[1] / 5, q[1],
    ))  # fmt: skip
    steps, kept = durations, np.ones(len(durations), bool)
    for _ in range(4):  # sixteen parts: hulls within a hundredth of the curve
        points, steps = quintic.halves(points), np.tile(steps / 2, 2)
    orders = quintic.derivatives(points, steps)
    inside = [np.all((orders[0] >= limits.lower) & (orders[0] <= limits.upper), axis=(0, 2))]
    for name, p in zip(QUANTITIES[1:], orders[1:], strict=True):
        inside.append(np.all(np.abs(p) <= getattr(limits, name), axis=(0, 2)))
    for one in inside:
        kept &= one.reshape(-1, len(durations)).all(axis=0)
    return kept


def _swing(limits, end, speed) -> tuple[np.ndarray, Knots]:
    """Where (j,) the shortest smooth swing from rest to (end, speed) begins, and the swing.

    Velocity speed (3 s^2 - 2 s^3), s = t/T: acceleration at most 1.5 speed/T, jerk 6 speed/T^2.
    """
    need = np.maximum(1.5 * np.abs(speed) / limits.acceleration,
                      np.sqrt(6 * np.abs(speed) / limits.jerk))  # fmt: skip
    duration = max(float(need.max()) * SLACK, 1e-3)
    turn, still = end - speed * duration / 2, np.zeros_like(speed)
    rows = np.stack([[turn, end], [still, speed], [still, still]])
    return turn, Knots(np.array([0.0, duration]), rows)


def _rest_to_rest(limits, start, end) -> Knots:
    """One quintic from rest to rest: peaks 15/8 d/T, 10/sqrt(3) d/T^2, 60 d/T^3."""
    displacement, still = np.abs(end - start), np.zeros_like(start)
    need = np.maximum.reduce([
        15 / 8 * displacement / limits.velocity,
        np.sqrt(10 / np.sqrt(3) * displacement / limits.acceleration),
        np.cbrt(60 * displacement / limits.jerk),
    ])  # fmt: skip
    duration = float(need.max()) * SLACK
    if duration < 1e-6:
        return Knots(np.zeros(1), np.stack([end[None], still[None], still[None]]))
    return Knots(np.array([0.0, duration]), np.stack([[start, end], [still] * 2, [still] * 2]))


def _trajectory(names, knots: Knots, period: float, release: float | None = None):
    if len(knots.times) == 1:  # already there: one period of standing still
        states = np.repeat(knots.states, 2, axis=1)
        return JointTrajectory(tuple(names), np.array([0.0, period]), *states, release=release)
    times, states = quintic.sampled(knots.times, knots.states, period)
    return JointTrajectory(tuple(names), times, *states, release=release)


def _numbers(names, value, key: str) -> np.ndarray:
    value = np.array(value, float)
    if value.shape != (len(names),) or not np.all(np.isfinite(value)):
        raise InputError("trajectory", key, value.tolist(), f"{len(names)} finite numbers")
    return value


def _inside(names, limits: Limits, q, key: str) -> np.ndarray:
    """q (j,) as an array; InputError where it is beyond the position limits."""
    q = _numbers(names, q, key)
    for name, value, low, high in zip(names, q, limits.lower, limits.upper, strict=True):
        if not low <= value <= high:
            rule = f"from {low:g} to {high:g}"
            raise InputError("trajectory", f"{key}: {name} position", float(value), rule)
    return q
