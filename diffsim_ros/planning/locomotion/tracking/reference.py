"""A library of motions, and the composer that puts them one after the other [G 3.6.1]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.rotation import quat_conjugate, quat_exp, quat_log, quat_multiply, quat_yaw

from ..densify import densified, of_axes
from ..legged_robot import LeggedRobot
from ..motion import LocomotionMotion, base_poses
from ..wheels import turned_on_links

GRID = 0.005
"""Time between the samples of a composed motion [s]."""
FINE = 0.01
"""Longest step [s] of the motions that are composed: feet stand between their samples."""
JOINT, HEIGHT, TILT, FOOT, SPEED = 0.03, 0.004, 0.02, 0.008, 0.25
"""Largest jumps where two motions meet: joints [rad], body [m], [rad], feet [m] and speeds of the
body and of joints [m/s, rad/s]."""


@dataclass(frozen=True, eq=False)
class ReferenceStates:
    """A composed motion at N times, of a robot with n joints and m end effectors.

    com         (N, 3) centre of mass [m], com_velocity (N, 3) [m/s]
    q           (N, 7 + n): base's position [m] and quaternion (x, y, z, w), joints [rad]
    qd, qdd     (N, 6 + n): base's velocity in the world, angular in its own axes, joints; rates
    points      (N, m, 3) contact points [m], point_velocity, point_acceleration their rates
    contact     (N, m) flags;  forces (N, m, 3) [N]
    spin        (N, m) speeds of wheels beside a frame that only steers and leans [rad/s], 0: a foot
    yaw, tilt   (N, m) [rad] of wheels;  wheel_rates (N, m) their speeds on their links [rad/s]
    """

    com: np.ndarray
    com_velocity: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    points: np.ndarray
    point_velocity: np.ndarray
    point_acceleration: np.ndarray
    contact: np.ndarray
    forces: np.ndarray
    spin: np.ndarray
    yaw: np.ndarray
    tilt: np.ndarray
    wheel_rates: np.ndarray


class ComposedMotion:
    """Motions one after the other, each from where the one before ends.

    names, starts  of the parts, and when they begin [s];  duration [s]
    """

    def __init__(
        self, robot: LeggedRobot, names: tuple[str, ...], starts: tuple[float, ...],
        states: ReferenceStates,
    ) -> None:  # fmt: skip
        self.robot, self.names, self.starts, self._grid = robot, names, starts, states
        self.duration = GRID * (len(states.com) - 1)

    def swings(self) -> list[np.ndarray]:
        """Of every end effector, when it lifts and when it lands, (K, 2) [s]."""
        found = []
        for touching in self._grid.contact.T:
            air = np.concatenate([[0], (~touching).astype(int), [0]])
            change = np.diff(air)
            lift, land = np.flatnonzero(change > 0), np.flatnonzero(change < 0)
            found.append(GRID * (np.stack([lift, land], axis=1) - 0.5))
        return found

    def at(self, times: np.ndarray) -> ReferenceStates:
        """The motion at times (N,) [s]; at rest before its beginning and after its end."""
        u = np.asarray(times, float) / GRID
        last = len(self._grid.com) - 1
        inside = ((u >= 0) & (u <= last)).astype(float)
        u = np.clip(u, 0.0, last)
        before = np.minimum(np.floor(u).astype(int), last - 1)
        part = u - before
        grid, near = self._grid, np.floor(u + 0.5).astype(int)

        def mixed(rows: np.ndarray) -> np.ndarray:
            share = part.reshape(-1, *[1] * (rows.ndim - 1))
            return np.asarray((1 - share) * rows[before] + share * rows[before + 1])

        def rate(rows: np.ndarray) -> np.ndarray:
            return mixed(rows) * inside.reshape(-1, *[1] * (rows.ndim - 1))

        q = mixed(grid.q)
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
        return ReferenceStates(
            mixed(grid.com), rate(grid.com_velocity), q, rate(grid.qd), rate(grid.qdd),
            mixed(grid.points), rate(grid.point_velocity), rate(grid.point_acceleration),
            grid.contact[near], grid.forces[near], rate(grid.spin), mixed(grid.yaw),
            mixed(grid.tilt), rate(grid.wheel_rates),
        )  # fmt: skip


class MotionLibrary:
    """Motions of one robot by their names; those that violate a constraint are refused."""

    def __init__(
        self, robot: LeggedRobot, motions: Mapping[str, LocomotionMotion], *,
        balls: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        """balls: radii [m] of point feet that are balls, as of `densified`."""
        self.robot, self.balls = robot, dict(balls or {})
        self.motions: dict[str, LocomotionMotion] = {}
        for name, motion in motions.items():
            self.add(name, motion)

    def add(self, name: str, motion: LocomotionMotion) -> None:
        """Another motion; InputError where it is another robot's or breaks a constraint."""
        if not motion.holds:
            worst = motion.broken[0]
            got = f"{worst.name} {worst.worst:.3g} {worst.unit} ({worst.where})"
            raise InputError(f"motion {name}", "constraints", got, "all within tolerances")
        factor = max(1, round(motion.step / FINE))
        self.motions[name] = densified(self.robot, motion, factor, balls=self.balls)

    def compose(self, parts: Iterable[str | tuple[str, float]]) -> ComposedMotion:
        """Motions in sequence, each moved on the ground to where the one before ends.

        parts  names; (name, count): a periodic motion's periods; ("stand", seconds): the stance
        InputError: an unknown name, a count that a motion does not have, two motions that do not
        meet (with joint or foot, and by how much).
        """
        placed: list[tuple[str, ReferenceStates]] = []
        for part in parts:
            name, count = (part, None) if isinstance(part, str) else part
            states = self._sampled(name, count)
            if placed:
                states = _moved(states, *_placement(placed[-1][1].q[-1], states.q[0]))
                self._check(placed[-1][0], placed[-1][1], name, states)
            placed.append((name, states))
        if not placed:
            raise InputError("composed motion", "parts", "none", "at least one motion")
        starts, at = [], 0.0
        for _, states in placed:
            starts.append(at)
            at += GRID * (len(states.com) - 1)
        merged = ReferenceStates(**{
            key: np.concatenate([
                getattr(one, key)[: None if k + 1 == len(placed) else -1]
                for k, (_, one) in enumerate(placed)
            ])
            for key in ReferenceStates.__dataclass_fields__
        })  # fmt: skip
        flips = np.sign(np.einsum("ni,ni->n", merged.q[1:, 3:7], merged.q[:-1, 3:7]))
        merged.q[1:, 3:7] *= np.cumprod(np.where(flips < 0, -1.0, 1.0))[:, None]
        merged.yaw[:] = np.unwrap(merged.yaw, axis=0)
        return ComposedMotion(self.robot, tuple(name for name, _ in placed), tuple(starts), merged)

    def _sampled(self, name: str, count: float | None) -> ReferenceStates:
        if name == "stand" and name not in self.motions:
            seconds = 1.0 if count is None else float(count)
            if not 2 * GRID <= seconds < 3600.0:
                rule = f"seconds, {2 * GRID:g} to 3600"
                raise InputError("composed motion", "stand", count, rule)
            return self._standing(seconds)
        if name not in self.motions:
            names = ["stand", *self.motions]
            rule = f"a motion of the library: {', '.join(names)}"
            raise InputError("composed motion", "parts", name, rule, nearest(name, names))
        motion = self.motions[name]
        if count is not None and (not motion.periodic or count != int(count) or count < 1):
            rule = "a whole number of periods" if motion.periodic else "absent: it does not repeat"
            raise InputError("composed motion", f"count of {name}", count, rule)
        steps = max(2, round(motion.duration * int(count or 1) / GRID))
        times = GRID * np.arange(steps + 1)
        seen = motion.at(times)
        rows = np.floor(times / motion.step + 0.5).astype(int)
        rows = rows % motion.samples if motion.periodic else np.minimum(rows, motion.samples - 1)
        turn = np.floor_divide(times + 1e-9, motion.duration) if motion.periodic else 0.0 * times
        c, s = np.cos(turn * motion.travel[3]), np.sin(turn * motion.travel[3])
        f = motion.forces[rows]
        forces = f.copy()
        forces[..., 0] = c[:, None] * f[..., 0] - s[:, None] * f[..., 1]
        forces[..., 1] = s[:, None] * f[..., 0] + c[:, None] * f[..., 1]
        return _differentiated(
            self.robot, seen.com, np.hstack([seen.base, seen.positions]), motion.contact[rows],
            forces, seen.spins, motion.periodic,
        )  # fmt: skip

    def _standing(self, seconds: float) -> ReferenceStates:
        robot, count = self.robot, round(seconds / GRID) + 1
        q = np.tile(robot.settled_state(), (count, 1))
        com = robot.centre_of_mass(q[:, 7:], base_poses(q[:, :7]))
        m = len(robot.end_effectors)
        points = robot.contact_points(q[0, 7:], base_poses(q[:1, :7])[0])
        loads = _shares(points, com[0]) * robot.mass * 9.81
        forces = np.zeros((count, m, 3))
        forces[:, :, 2] = loads
        still = np.zeros((count, m))
        return _differentiated(robot, com, q, np.ones((count, m), bool), forces, still, False)

    def _check(
        self, before: str, last: ReferenceStates, after: str, first: ReferenceStates
    ) -> None:
        a, b = last.q[-1], first.q[0]
        turn = quat_log(quat_multiply(quat_conjugate(a[3:7]), b[3:7]))
        joints = self.robot.joint_names
        feet = [one.name for one in self.robot.end_effectors]
        jumps = [
            (f"joint {n}", abs(d), JOINT, "rad") for n, d in zip(joints, b[7:] - a[7:], strict=True)
        ]
        jumps.append(("height of the body", abs(b[2] - a[2]), HEIGHT, "m"))
        jumps.append(("tilt of the body", float(np.linalg.norm(turn)), TILT, "rad"))
        away = np.linalg.norm(first.points[0] - last.points[-1], axis=1)
        both = first.contact[0] & last.contact[-1]
        jumps += [
            (f"foot {n}", d, FOOT, "m") for n, d, on in zip(feet, away, both, strict=True) if on
        ]
        rates = np.abs(first.qd[0] - last.qd[-1])
        jumps.append(("speed of the body", float(rates[:3].max()), SPEED, "m/s"))
        jumps.append(("turn rate of the body", float(rates[3:6].max()), SPEED, "rad/s"))
        jumps += [
            (f"speed of joint {n}", d, 8 * SPEED, "rad/s")
            for n, d in zip(joints, rates[6:], strict=True)
        ]
        jumps += [
            (f"speed of wheel {e.name}", e.radius * d, SPEED, "m/s")
            for e, d in zip(
                self.robot.end_effectors, np.abs(first.spin[0] - last.spin[-1]), strict=True
            )
        ]
        worst = max(jumps, key=lambda one: one[1] / one[2])
        if worst[1] > worst[2]:
            raise InputError(
                "composed motion", f"{before} to {after}", f"{worst[0]} jumps by {worst[1]:.3g} "
                f"{worst[3]}", f"at most {worst[2]:g} {worst[3]}",
                "put a motion between them that leads from one to the other",
            )  # fmt: skip


def _differentiated(
    robot: LeggedRobot, com: np.ndarray, q: np.ndarray, contact: np.ndarray, forces: np.ndarray,
    spin: np.ndarray, moving: bool,
) -> ReferenceStates:  # fmt: skip
    """Rates by differences; moving: not at rest at both ends."""
    bases = base_poses(q[:, :7])
    points, axes = robot.contact_points(q[:, 7:], bases), robot.effector_places(q[:, 7:], bases)[1]

    def rate(rows: np.ndarray) -> np.ndarray:
        found = np.gradient(rows, GRID, axis=0)
        if not moving:
            found[[0, -1]] = 0.0
        return np.asarray(found)

    turn = quat_log(quat_multiply(quat_conjugate(q[:-1, 3:7]), q[1:, 3:7])) / GRID
    turning = np.zeros((len(q), 3))
    turning[1:-1] = 0.5 * (turn[1:] + turn[:-1])
    if moving:
        turning[0], turning[-1] = turn[0], turn[-1]
    qd = np.hstack([rate(q[:, :3]), turning, rate(q[:, 7:])])
    velocity = rate(points)
    wheel = np.array([effector.axis is not None for effector in robot.end_effectors])
    still = contact & ~wheel & (np.abs(velocity).max(axis=2) < 0.05)
    velocity[still] = 0.0
    return ReferenceStates(
        com, rate(com), q.copy(), qd, _smoothed(np.gradient(qd, GRID, axis=0)), points, velocity,
        np.where(contact[..., None], 0.0, _smoothed(np.gradient(velocity, GRID, axis=0))),
        contact, forces, spin, *of_axes(axes),
        turned_on_links(robot, q[:, 7:], q[:, :7], spin, GRID),
    )  # fmt: skip


def _smoothed(rows: np.ndarray) -> np.ndarray:
    """A mean over five samples: second differences of splines whose pieces meet are rough."""
    padded = np.concatenate([rows[:1], rows[:1], rows, rows[-1:], rows[-1:]])
    return np.asarray(sum(padded[k : k + len(rows)] for k in range(5)) / 5)


def _shares(points: np.ndarray, com: np.ndarray) -> np.ndarray:
    """Shares (m,) of the weight, of least squares, about whose centre the moments vanish."""
    A = np.vstack([np.ones(len(points)), points[:, 0] - com[0], points[:, 1] - com[1]])
    return np.asarray(np.linalg.lstsq(A, np.array([1.0, 0.0, 0.0]), rcond=None)[0])


def _placement(end: np.ndarray, start: np.ndarray) -> tuple[float, np.ndarray]:
    """Turn about z and shift (2,) that lead a base pose `start` (7,) to where `end` is."""
    turn = quat_yaw(end[3:7]) - quat_yaw(start[3:7])
    c, s = np.cos(turn), np.sin(turn)
    return turn, end[:2] - np.array([[c, -s], [s, c]]) @ start[:2]


def _moved(states: ReferenceStates, turn: float, shift: np.ndarray) -> ReferenceStates:
    c, s = np.cos(turn), np.sin(turn)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    step = np.array([*shift, 0.0])
    q, qd, qdd = states.q.copy(), states.qd.copy(), states.qdd.copy()
    q[:, :3] = q[:, :3] @ R.T + step
    q[:, 3:7] = quat_multiply(quat_exp([0.0, 0.0, turn]), q[:, 3:7])
    qd[:, :3], qdd[:, :3] = qd[:, :3] @ R.T, qdd[:, :3] @ R.T
    return ReferenceStates(
        states.com @ R.T + step, states.com_velocity @ R.T, q, qd, qdd, states.points @ R.T + step,
        states.point_velocity @ R.T, states.point_acceleration @ R.T, states.contact,
        states.forces @ R.T, states.spin, states.yaw + turn, states.tilt, states.wheel_rates,
    )  # fmt: skip
