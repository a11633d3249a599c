"""Between the samples of a motion: feet that stand still, wheels that roll, until others take over.

A plan's forces at a sample act half a step before and after it.  So does contact: a foot leaves
the ground amid the step after its last sample in contact, as the next foot lands.  Splines of joint
angles alone know of that to second order only; feet slide a little before they lift.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.rotation import quat_matrix

from .legged_robot import LeggedRobot
from .motion import LocomotionMotion, base_poses, moved_by_periods

ROUNDS, SLOPES = 6, 2
"""Of the search, and those of them in which slopes are found anew: it begins near."""
AXIS = 0.05
"""Weight [m] of a wheel's axis beside places of feet."""
Z = np.array([0.0, 0.0, 1.0])
NEAR = 1e-3
"""Weight [m/rad] of joint angles near the splines through the samples."""


def densified(
    robot: LeggedRobot, motion: LocomotionMotion, factor: int = 4, *,
    balls: Mapping[str, float] = MappingProxyType({}),
) -> LocomotionMotion:  # fmt: skip
    """The motion with `factor` times as many samples, whose joints hold the feet in place.

    The centre of mass goes and the body turns along splines.  Feet in contact stay, wheels roll at
    their speeds, and swings go along the plan's paths, in the time that is left.  Joints are found
    by least squares of places of end effectors and directions of wheels' axes.  Constraints and
    goals are those of the plan.

    balls  radii [m] of point feet that are balls: the lowest point of a ball that leans is lower
           than the point of the link that the plan has on the ground
    InputError: a motion of another robot.
    """
    if motion.joints != robot.joint_names:
        rule = f"joints of {robot.name}: {', '.join(robot.joint_names)}"
        raise InputError(f"motion {motion.name}", "joints", motion.joints, rule)
    count = motion.samples * factor if motion.periodic else (motion.samples - 1) * factor + 1
    step = motion.step / factor
    states = motion.at(step * np.arange(count))
    shares = np.arange(count) / factor
    paths = _Paths(robot, motion)
    places, axes, touching = paths.at(shares)
    pose = _Poses(robot, states.base[:, 3:], states.com, balls)
    positions = _solved(pose, states.positions, places, axes)
    yaw, tilt = of_axes(axes)
    base = np.hstack([pose.bases(positions)[:, :3, 3], states.base[:, 3:]])
    return replace(
        motion, step=step, com=states.com, base=base, positions=positions, contacts=places,
        contact=touching, forces=paths.forces(shares), spins=states.spins, yaw=yaw, tilt=tilt,
    )  # fmt: skip


class _Paths:
    """Paths of contact points and axes over the samples of three periods, or of the motion."""

    def __init__(self, robot: LeggedRobot, motion: LocomotionMotion) -> None:
        self.motion, self.h = motion, motion.step
        bases = base_poses(motion.base)
        points = robot.contact_points(motion.positions, bases)
        _, axes = robot.effector_places(motion.positions, bases)
        ahead = np.cross(axes, [0.0, 0.0, 1.0])
        ahead /= np.maximum(np.linalg.norm(ahead, axis=-1, keepdims=True), 1e-12)
        radii = np.array([one.radius for one in robot.end_effectors])
        rolling = radii[:, None] * motion.spins[..., None] * ahead
        periods = (-1, 0, 1) if motion.periodic else (0,)
        travel = motion.travel
        self.points = np.concatenate([moved_by_periods(points, travel, k) for k in periods])
        self.axes, self.rolling = (
            np.concatenate([moved_by_periods(x, travel, k, place=False) for k in periods])
            for x in (axes, rolling)
        )
        self.contact = np.concatenate([motion.contact] * len(periods))
        self.first = motion.samples if motion.periodic else 0

    def at(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points (N, m, 3), unit axes (N, m, 3) and contact (N, m) at samples' shares (N,)."""
        from scipy.interpolate import make_interp_spline

        index = np.arange(len(self.points))
        u = shares + self.first
        axes = make_interp_spline(index, self.axes, k=2)(u)
        axes /= np.maximum(np.linalg.norm(axes, axis=-1, keepdims=True), 1e-12)
        near = np.floor(u + 0.5 - 1e-9).astype(int), np.floor(u + 0.5 + 1e-9).astype(int)
        near = tuple(np.clip(one, 0, len(index) - 1) for one in near)
        touching = self.contact[near[0]] | self.contact[near[1]]
        points = make_interp_spline(index, self.points, k=2)(u)
        for j in range(self.contact.shape[1]):
            points[:, j] = self._standing(j, u, points[:, j])
            for last, next_ in self._swings(j):
                inside = (u > last + 0.5) & (u < next_ - 0.5)
                points[inside, j] = self._swing(j, last, next_, u[inside])
        return points, axes, touching

    def forces(self, shares: np.ndarray) -> np.ndarray:
        """(N, m, 3) [N]: a sample's act half a step before and after it, at the swap both half."""
        f = self.motion.forces
        if self.motion.periodic:
            f = np.concatenate([f, moved_by_periods(f, self.motion.travel, 1, place=False)])
        near = [np.floor(shares + 0.5 + shift).astype(int) for shift in (-1e-9, 1e-9)]
        before, after = (f[np.clip(one, 0, len(f) - 1)] for one in near)
        return 0.5 * (before + after)

    def _standing(self, j: int, u: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
        out, count = otherwise.copy(), len(self.points)
        before = np.clip(np.floor(u + 1e-9).astype(int), 0, count - 1)
        after = np.minimum(before + 1, count - 1)
        s = np.clip(u - before, 0.0, 1.0)[:, None]
        P, V = self.points[:, j], self.h * self.rolling[:, j]
        both = self.contact[before, j] & self.contact[after, j]
        hermite = (
            (1 + 2 * s) * (1 - s) ** 2 * P[before] + s * (1 - s) ** 2 * V[before]
            + s**2 * (3 - 2 * s) * P[after] - s**2 * (1 - s) * V[after]
        )  # fmt: skip
        out[both] = hermite[both]
        leaving = self.contact[before, j] & ~both & (s[:, 0] <= 0.5)
        out[leaving] = (P[before] + s * V[before])[leaving]
        landing = self.contact[after, j] & ~both & (s[:, 0] >= 0.5)
        out[landing] = (P[after] - (1 - s) * V[after])[landing]
        return out

    def _swings(self, j: int) -> list[tuple[int, int]]:
        """Last sample in contact before a swing, and first one after it."""
        on = np.flatnonzero(self.contact[:, j])
        return [(int(a), int(b)) for a, b in pairwise(on) if b > a + 1]

    def _swing(self, j: int, last: int, next_: int, u: np.ndarray) -> np.ndarray:
        """The plan's path in the air, from the end of a contact half a step after `last` to the
        next one's begin half a step before `next_`."""
        from scipy.interpolate import CubicSpline

        P, V = self.points[:, j], self.h * self.rolling[:, j]
        inside = np.arange(last + 1, next_)
        knots = np.concatenate([[last + 0.5], inside, [next_ - 0.5]])
        ends = P[last] + 0.5 * V[last], P[next_] - 0.5 * V[next_]
        points = np.vstack([ends[0], P[inside], ends[1]])
        return np.asarray(CubicSpline(knots, points, bc_type=((1, V[last]), (1, V[next_])))(u))


class _Poses:
    """The robot about given centres of mass (N, 3) with the base's quaternions (N, 4): places of
    end effectors and axes of wheels by its joints, and their slopes."""

    def __init__(
        self, robot: LeggedRobot, quaternions: np.ndarray, com: np.ndarray,
        balls: Mapping[str, float],
    ) -> None:  # fmt: skip
        self.robot, self.com, self.mounts = robot, com, robot.mounts()
        self.carriers = self.mounts.links - 1  # rows of `LeggedRobot.link_poses`
        self.balls = np.array([balls.get(one.name, 0.0) for one in robot.end_effectors])
        self.wheels = np.array([one.axis is not None for one in robot.end_effectors])
        standing = robot.link_poses(robot.stance, robot.standing_base())
        self.up = np.array([standing[k][2, :3] for k in self.carriers])
        self.turned = np.tile(np.eye(4), (len(com), 1, 1))
        self.turned[:, :3, :3] = quat_matrix(quaternions)
        bodies, joints = [inertial for _, inertial in robot.whole], robot.robot.joints
        self.masses = np.array([one.mass for one in bodies]) / robot.mass
        self.centres = np.array([one.centre for one in bodies])
        self.moves = np.zeros((len(joints), len(bodies)), bool)  # joint k moves body b
        for b in range(1, len(bodies)):
            k = b - 1
            while k >= 0:
                self.moves[k, b] = True
                k = joints[k].parent
        self.joint_axes = np.array([joint.axis for joint in joints]).reshape(-1, 3)
        self.turning = np.array([joint.turns for joint in joints], bool)

    def bases(self, q: np.ndarray) -> np.ndarray:
        """Poses (N, 4, 4) of the base for joints (N, n)."""
        return self._placed(q)[0]

    def _placed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Poses of the base, turns (N, b, 3, 3) and origins (N, b, 3) of base and bodies."""
        poses = np.stack(self.robot.link_poses(q, self.turned), axis=1)
        turns, origins = poses[..., :3, :3], poses[..., :3, 3]
        centres = origins + (turns @ self.centres[..., None])[..., 0]
        shift = self.com - np.einsum("b,nbi->ni", self.masses, centres)
        base = self.turned.copy()
        base[:, :3, 3] = shift
        return base, turns, origins + shift[:, None]

    def places(self, q: np.ndarray, slopes: bool = False) -> tuple[np.ndarray, ...]:
        """Contact points (N, m, 3), those of balls as high as the balls' lowest points, and axes
        (N, m, 3) of joints (N, n); and by these (..., n)."""
        _, turns, origins = self._placed(q)
        R, mounts = turns[:, self.carriers], self.mounts
        centres = origins[:, self.carriers] + (R @ mounts.positions[..., None])[..., 0]
        axes = (R @ mounts.axes[..., None])[..., 0]
        down = axes * axes[..., 2:] - Z
        length = np.maximum(np.linalg.norm(down, axis=-1, keepdims=True), 1e-12)
        radii = mounts.radii[:, None]
        points = centres + radii * down / length
        up = (R @ self.up[..., None])[..., 0]
        points[..., 2] += self.balls * (up[..., 2] - 1.0)
        if not slopes:
            return points, axes
        hinges = (turns[:, 1:] @ self.joint_axes[..., None])[..., 0]  # (N, n, 3)
        pivots, turning = origins[:, 1:], self.turning[:, None, None]
        along = np.where(self.turning[:, None], 0.0, hinges)

        def by_joints(at: np.ndarray, bodies: np.ndarray) -> np.ndarray:
            """(N, n, k, 3) velocities of points (N, k, 3) that bodies carry."""
            arm = at[:, None] - pivots[:, :, None]
            moved = np.where(turning, np.cross(hinges[:, :, None], arm), hinges[:, :, None])
            return np.where(self.moves[:, bodies, None], moved, 0.0)

        def turned(vectors: np.ndarray) -> np.ndarray:
            """(N, n, m, 3) of directions (N, m, 3) that the end effectors' links carry."""
            moved = np.cross((hinges - along)[:, :, None], vectors[:, None])
            return np.where(self.moves[:, self.carriers, None], moved, 0.0)

        bodies = origins + (turns @ self.centres[..., None])[..., 0]
        everything = by_joints(bodies, np.arange(bodies.shape[1]))
        d_com = np.einsum("b,nkbi->nki", self.masses, everything)
        d_axes = turned(axes)
        d_down = d_axes * axes[:, None, :, 2:] + axes[:, None] * d_axes[..., 2:]
        unit = (down / length)[:, None]
        d_unit = d_down - unit * np.sum(unit * d_down, axis=-1, keepdims=True)
        d_points = by_joints(centres, self.carriers) - d_com[:, :, None]
        d_points += radii * d_unit / length[:, None]
        d_points[..., 2] += self.balls * turned(up)[..., 2]
        return points, axes, np.moveaxis(d_points, 1, -1), np.moveaxis(d_axes, 1, -1)


def _solved(pose: _Poses, start: np.ndarray, places: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Joints (N, n) by damped Gauss-Newton from `start`, which they stay near, within limits."""
    robot, wheels = pose.robot, pose.wheels
    q, n = start.copy(), start.shape[1]
    if n == 0:
        return q
    for turn in range(ROUNDS):
        found = pose.places(q, slopes=turn < SLOPES)
        residual = _stacked(found[0] - places, (found[1] - axes)[:, wheels])
        if turn < SLOPES:
            J = _stacked(found[2], found[3][:, wheels])
            JT = J.transpose(0, 2, 1)
            A = JT @ J + NEAR**2 * np.eye(n)
        gradient = (JT @ residual[..., None])[..., 0] + NEAR**2 * (q - start)
        step = np.linalg.solve(A, gradient[..., None])[..., 0]
        q = np.clip(q - np.clip(step, -0.3, 0.3), robot.lower, robot.upper)
    return q


def _stacked(points: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Rows (N, r, ...) of points (N, m, 3, ...) and of wheels' axes (N, w, 3, ...), weighed."""
    rows = [x.reshape(len(x), -1, *x.shape[3:]) for x in (points, AXIS * axes)]
    return np.concatenate(rows, axis=1)


def of_axes(axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Yaw and tilt (N, m) [rad] of wheels on level ground, 0 of point feet."""
    wheel = np.linalg.norm(axes, axis=-1) > 0.5
    yaw = np.unwrap(np.arctan2(-axes[..., 0], axes[..., 1]), axis=0)
    tilt = np.arcsin(np.clip(axes[..., 2], -1.0, 1.0))
    return np.where(wheel, yaw, 0.0), np.where(wheel, tilt, 0.0)
