"""The branches of an arm along a path of poses: found, followed, smoothed, put into range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from diffsim_ros.errors import InputError

from . import quintic
from .arm import Arm, Limits
from .kinematics import chain
from .trajectory import JointTrajectory

REACHED = 1e-8
"""Largest error of a pose [m] (angles count by a quarter of the arm's length)."""
MOST = 16  # branches that are followed: a general six-axis arm has no more
# Of an arm with joints to spare: keys with clouds of joint values, their size, new ones in each,
# starts again of those beyond their ranges; paths through the clouds that are smoothed, which
# differ by so much somewhere [rad or m].
CLOUDS, CLOUD, FRESH, RETRIES = 24, 32, 8, 2
ALTERNATIVES, APART = 3, 0.5
TIGHT = 1e-4  # bounds of velocities and so on are too large by this share at most


@dataclass
class BranchMotion:
    """One joint motion along the path.

    states  q, qd, qdd (3, k, n) at the keys
    lower, upper, rates  (n,), (n,), (3, n): extremes of q; of |qd|, |qdd|, |qddd|, between keys too
    """

    states: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    rates: np.ndarray
    margins: dict[str, float]

    def fastest_key(self, row: int, joint: int) -> int:
        """Key at which a rate (0: velocity) is about largest; of the jerk: where qdd changes."""
        if row < 2:
            return int(np.argmax(np.abs(self.states[row + 1][:, joint])))
        return int(np.argmax(np.abs(np.diff(self.states[2][:, joint]))))


class Branches:
    """An arm's chain to a link, and the path (times (k,), poses (k, 4, 4)) that it is to follow."""

    def __init__(self, arm: Arm, link: str, orientation, times, poses, at_rest: bool) -> None:
        from diffsim_ros import _engine

        self.arm, self.link, self.times, self.poses = arm, link, times, poses
        self.at_rest = at_rest
        self.chain, self.index = chain(arm.robot, link)
        self.names = [arm.robot.joint_names[i] for i in self.index]
        self.limits = Limits(**{k: v[self.index] for k, v in vars(arm.limits).items()})
        self.home = arm.home[self.index]
        bounded = np.isfinite(self.limits.lower) & np.isfinite(self.limits.upper)
        low, high = (
            np.where(bounded, v, self.home) for v in (self.limits.lower, self.limits.upper)
        )
        self.middle, self.half = (low + high) / 2, np.where(bounded, (high - low) / 2, np.inf)
        self.turning = np.array([arm.robot.joints[i].turns for i in self.index])
        kind, axis = _kind(orientation)
        self.task = _engine.PoseTask(kind, axis, self.chain.length / 4)
        self.spare = self.chain.size > {"full": 6, "axis": 5, "free": 3}[kind]
        self.lost: int | None = None
        self._engine_limits = _engine.MotionLimits(**vars(self.limits))

    def given(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A start of all joints, brought onto the first pose exactly: (1, n), errors (1,) [m]."""
        q = start[self.index]
        found, errors = self.chain.reach(self.task, self.poses[:1], q[None])
        if errors[0] > REACHED or np.abs(found[0] - q).max() > 1e-3:
            raise InputError("path", "start", q.tolist(), "joint values at the first pose")
        return found, errors

    def at(self, key: int, starts: int, rng) -> tuple[np.ndarray, np.ndarray]:
        """Joint values (b, n) of different branches that reach a key; errors (starts,) [m]."""
        guesses = np.vstack([self.home, self._guesses(starts, rng)])
        found, errors = self.chain.reach(self.task, self.poses[key : key + 1], guesses)
        found = self._near_home(found[errors <= REACHED])
        return (found if self.spare else _different(found, self.turning)[:MOST]), errors

    def _guesses(self, count: int, rng) -> np.ndarray:
        """Joint values (count, n) within the ranges, at most half a turn from home."""
        low = np.maximum(self.limits.lower, self.home - np.pi)
        high = np.minimum(self.limits.upper, self.home + np.pi)
        return low + (high - low) * rng.random((count, len(low)))

    def _near_home(self, q: np.ndarray) -> np.ndarray:
        """The same joint values (m, n), whole turns taken off that lead away from home."""
        turns = np.round((q - self.home) / (2 * np.pi))
        return np.where(self.turning, q - 2 * np.pi * turns, q)

    def followed(self, key: int, found: np.ndarray, shift: bool):
        """Candidates of the branches at a key that can be followed, and those that cannot."""
        whole, broken = [], []
        for q in found:
            path = self.chain.follow(self.task, self.poses, key, q)
            if path["first"] == 0 and path["last"] == len(self.times) - 1:
                whole.append(self._into_range(path["q"]) if shift else path["q"])
            else:
                broken.append(path)
        return (self._candidates(np.stack(whole)) if whole else []), broken

    def threaded(self, first: np.ndarray, rng) -> Iterator[BranchMotion]:
        """For a redundant arm: the quickest paths through sets of joint values.

        At every few keys there is a set: the last one continued with the least motion, and some
        new ones.  Dynamic programming picks paths through them with slow joints, which are then
        smoothed.  Where no joint values within the ranges reach a key there is none, and `lost` is
        that key.
        """
        count = len(self.times)
        keys = np.unique(np.linspace(0, count - 1, min(count, CLOUDS)).round().astype(int))
        self.lost, first = 0, self._inside(0, first, rng)
        if not len(first):
            return
        clouds, costs, before = [first], self._unease(first), []
        for last, key in pairwise(keys):
            guesses = np.vstack([clouds[-1], self._guesses(FRESH, rng)])
            cloud = self._inside(key, guesses, rng)
            if not len(cloud):
                self.lost = int(key)
                return
            span = self.limits.velocity * (self.times[key] - self.times[last])
            share = np.abs(cloud[:, None] - clouds[-1]) / span
            steps = np.mean(share**2, axis=2) + 100 * np.maximum(share.max(axis=2) - 1, 0) ** 2
            total = costs + steps
            before.append(np.argmin(total, axis=1))
            costs = total.min(axis=1) + self._unease(cloud)
            clouds.append(cloud)
        self.lost, tried = None, []
        for at in np.argsort(costs):
            path = [clouds[-1][at]]
            for cloud, origin in zip(clouds[-2::-1], before[::-1], strict=True):
                at = origin[at]
                path.append(cloud[at])
            path = np.stack(path[::-1])
            if any(np.abs(path - other).max() < APART for other in tried):
                continue
            tried.append(path)
            q = np.stack([np.interp(self.times, self.times[keys], row) for row in path.T], axis=1)
            q, errors = self.chain.reach(self.task, self.poses, q)
            if errors.max() <= REACHED:
                yield from self._candidates(self._smooth(q)[None])
            if len(tried) == ALTERNATIVES:
                return

    def _unease(self, q: np.ndarray) -> np.ndarray:
        """Costs (m,) of joint values near the ends of their ranges."""
        off = np.abs(q - self.middle) / self.half
        return np.sum(np.maximum(off - 0.8, 0) ** 2, axis=1) * 10

    def _inside(self, key: int, guesses: np.ndarray, rng) -> np.ndarray:
        """Joint values (m, n) within their ranges that reach a key, CLOUD of them at most.

        Those that end beyond a range are put onto its end and start again.
        """
        pose, kept = self.poses[key : key + 1], []
        for _ in range(RETRIES):
            q, errors = self.chain.reach(self.task, pose, guesses)
            guesses = np.clip(q, self.limits.lower, self.limits.upper)
            inside = np.all(guesses == q, axis=1)
            kept.append(q[inside & (errors <= REACHED)])
            guesses = guesses[~inside]
            if not len(guesses):
                break
        found = np.concatenate(kept)
        return found if len(found) <= CLOUD else found[rng.choice(len(found), CLOUD, False)]

    def _into_range(self, q: np.ndarray) -> np.ndarray:
        """The path (k, n) by whole turns nearest to the middle of the ranges, or to home."""
        low, high = q.min(axis=0), q.max(axis=0)
        turns = np.round((self.middle - (low + high) / 2) / (2 * np.pi))
        return np.where(self.turning, q + 2 * np.pi * turns, q)

    def _smooth(self, q: np.ndarray) -> np.ndarray:
        return self.chain.smooth(
            self.task, self.poses, self.times, self._engine_limits, self.at_rest, q
        )

    def _candidates(self, paths: np.ndarray) -> list[BranchMotion]:
        """Splines of degree 5 through paths (b, k, n), with bounds of what happens between keys."""
        count, n = len(paths), len(self.names)
        steps = np.diff(self.times)
        flat = paths.transpose(1, 0, 2).reshape(len(self.times), -1)
        states = spline_states(self.times, flat, self.at_rest)
        points = quintic.derivatives(quintic.control_points(steps, *states), steps)
        lower, upper = (v.reshape(count, n) for v in quintic.extremes(points[0], TIGHT))
        rates = [np.maximum(*np.abs(quintic.extremes(p, TIGHT))) for p in points[1:]]
        rates = np.stack(rates).reshape(3, count, n).transpose(1, 0, 2)
        states = states.reshape(3, len(self.times), count, n).transpose(2, 0, 1, 3)
        return [
            BranchMotion(states[b], lower[b], upper[b], rates[b],
                      self._margins(lower[b], upper[b], rates[b]))
            for b in range(count)
        ]  # fmt: skip

    def _margins(self, lower, upper, rates) -> dict[str, float]:
        """Of position (of half the range, of pi at most), velocity, acceleration and jerk."""
        limits = self.limits
        room = np.minimum(lower - limits.lower, limits.upper - upper)
        found = {"position": float(np.min(room / np.minimum(self.half, np.pi)).clip(max=1.0))}
        for key, rate in zip(("velocity", "acceleration", "jerk"), rates, strict=True):
            found[key] = float(1 - np.max(rate / getattr(limits, key)))
        return found

    def all_joints(self, q: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Values of all the robot's joints (k, all) of the chain's (k, n); others as in `rest`."""
        found = np.tile(rest, (len(q), 1))
        found[:, self.index] = q
        return found

    def trajectory(self, path: BranchMotion, rest: np.ndarray) -> JointTrajectory:
        """Of all the robot's joints."""
        q, qd, qdd = path.states
        still = np.zeros_like(rest)
        rows = (self.all_joints(q, rest), self.all_joints(qd, still), self.all_joints(qdd, still))
        return JointTrajectory(self.arm.robot.joint_names, self.times, *rows)


def _kind(orientation) -> tuple[str, tuple[float, ...]]:
    """The engine's kind of task and axis."""
    if isinstance(orientation, str):
        if orientation in ("full", "free"):
            return orientation, (0.0, 0.0, 1.0)
    else:
        axis = np.asarray(orientation, float)
        if axis.shape == (3,) and np.all(np.isfinite(axis)) and np.linalg.norm(axis) > 1e-9:
            return "axis", tuple(axis / np.linalg.norm(axis))
    raise InputError("path", "orientation", orientation, "full, free, or an axis (three numbers)")


def _different(found: np.ndarray, turning: np.ndarray, apart: float = 1e-3) -> np.ndarray:
    """Rows (b, n) that are not whole turns of earlier ones."""
    kept: list[int] = []
    for i, row in enumerate(found):
        off = found[kept] - row
        off = np.where(turning, off - 2 * np.pi * np.round(off / (2 * np.pi)), off)
        if not (np.abs(off) < apart).all(axis=1).any():
            kept.append(i)
    return found[kept]


def spline_states(times: np.ndarray, q: np.ndarray, at_rest: bool) -> np.ndarray:
    """q, qd, qdd (3, k, m) at keys of the spline of degree 5 through q (k, m)."""
    from scipy.interpolate import make_interp_spline

    still = np.zeros((1, q.shape[1]))
    ends = [(1, still[0]), (2, still[0])] if at_rest else [(3, still[0]), (4, still[0])]
    spline = make_interp_spline(times, q, k=5, bc_type=(ends, ends))
    states = np.stack([q, spline(times, 1), spline(times, 2)])
    if at_rest:
        states[1:, [0, -1]] = 0.0
    return states
