"""A motion of a legged robot as data: samples of body, feet, forces and joints, and what of its
constraints and goals it fulfils.  It can be saved and read without the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.npz import numbers, read_npz
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.rotation import quat_conjugate, quat_exp, quat_matrix, quat_multiply

REACH = 16
"""Samples beyond which a spline forgets another one: 0.17^16 is 1e-12."""
ACCEPTED = "a motion.npz, as `diffsim plan` of a locomotion writes it"


@dataclass(frozen=True)
class Violation:
    """The worst row of a constraint.

    worst, tolerance  in `unit`;  where  sample and end effector
    """

    name: str
    worst: float
    tolerance: float
    unit: str
    where: str

    @property
    def holds(self) -> bool:
        """Whether it is within its tolerance."""
        return self.worst <= self.tolerance


@dataclass(frozen=True)
class GoalDistance:
    """How far a motion is from a goal: `distance` of `tolerance` in `unit`."""

    name: str
    distance: float
    tolerance: float
    unit: str

    @property
    def reached(self) -> bool:
        """Whether it is within its tolerance."""
        return self.distance <= self.tolerance


@dataclass(frozen=True, eq=False)
class MotionStates:
    """A motion at N times of one or several periods, between samples by splines.

    times       (N,) [s];  com (N, 3) [m]
    base        (N, 7): position [m], quaternion (x, y, z, w)
    twist       (N, 6): velocity of the base in the world [m/s], angular in its own axes [rad/s]
    positions, velocities  (N, n) of joints [rad or m], [rad/s or m/s]
    spins       (N, m) of wheels [rad/s], linear between samples as they roll
    """

    times: np.ndarray
    com: np.ndarray
    base: np.ndarray
    twist: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    spins: np.ndarray


@dataclass(frozen=True, eq=False)
class LocomotionMotion:
    """A motion plan [G (2.1)] of T samples of a robot with n joints and m end effectors.

    step        time between samples [s];  periodic: one period, whose end is the first sample
                moved by `travel`
    joints, end_effectors  names
    com         (T, 3) centre of mass [m];  base (T, 7): position [m], quaternion (x, y, z, w)
    positions   (T, n) of joints [rad or m]
    contacts    (T, m, 3) [m];  contact (T, m) flags;  forces (T, m, 3) [N] of the ground
    spins       (T, m) speed of wheels about their axes, relative to a frame that does not turn
                about them [rad/s], 0: a foot;  yaw, tilt (T, m) [rad] of wheels
    travel      (4,): shift [m] and turn [rad] of a period
    constraints, goals  what the motion fulfils
    begin_rates (10 + n) of a motion that goes on from another: rates of com, base and joints at
                its beginning [1/s]; (): it repeats itself, or begins at rest
    status      reached, goals_missed, violated or cancelled
    """

    name: str
    step: float
    periodic: bool
    joints: tuple[str, ...]
    end_effectors: tuple[str, ...]
    com: np.ndarray
    base: np.ndarray
    positions: np.ndarray
    contacts: np.ndarray
    contact: np.ndarray
    forces: np.ndarray
    spins: np.ndarray
    yaw: np.ndarray
    tilt: np.ndarray
    travel: np.ndarray
    constraints: tuple[Violation, ...] = ()
    goals: tuple[GoalDistance, ...] = ()
    iterations: int = 0
    seconds: float = 0.0
    values: tuple[float, ...] = ()
    cancelled: bool = False
    begin_rates: tuple[float, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether all constraints hold."""
        return not self.broken

    @property
    def broken(self) -> list[Violation]:
        """Constraints that do not hold, the worst by its tolerance first."""
        broken = [one for one in self.constraints if not one.holds]
        return sorted(broken, key=lambda one: -one.worst / max(one.tolerance, 1e-12))

    @property
    def status(self) -> str:
        """reached, goals_missed, cancelled, or violated: a constraint does not hold."""
        if self.cancelled:
            return "cancelled"
        if not self.holds:
            return "violated"
        return "reached" if all(one.reached for one in self.goals) else "goals_missed"

    @property
    def samples(self) -> int:
        """T."""
        return len(self.com)

    @property
    def duration(self) -> float:
        """Of the period, or of the motion from rest to rest [s]."""
        return self.step * (self.samples if self.periodic else self.samples - 1)

    @property
    def velocity(self) -> np.ndarray:
        """(3,) mean velocity of the centre of mass [m/s]."""
        if self.periodic:
            end = moved_by_periods(self.com[0], self.travel, 1)
            return np.asarray(end - self.com[0]) / self.duration
        return np.asarray(self.com[-1] - self.com[0]) / self.duration

    def trajectory(self, *, periods: int = 1, rate: float = 60.0) -> JointTrajectory:
        """Joint positions and velocities at `rate` [Hz]: splines through the samples.

        Raises InputError where a constraint is violated: such a motion must not be sent.
        """
        if self.broken:
            got = "; ".join(f"{v.name} {v.worst:.3g} {v.unit} ({v.where})" for v in self.broken)
            raise InputError(f"motion {self.name}", "constraints", got, "all within tolerances")
        spline = self.joint_splines()
        duration = self.duration * (periods if self.periodic else 1)
        times = np.linspace(0.0, duration, max(2, round(duration * rate) + 1))
        inside = np.mod(times, self.duration) if self.periodic else times
        return JointTrajectory(self.joints, times, spline(inside), spline(inside, 1))

    def joint_splines(self) -> Any:
        """Splines (n,) of positions over time, from 0 to `duration`."""
        if not self.periodic:
            return self._spline(self.positions, 0, slice(10, None))
        rows = np.tile(self.positions, (2 * self._around + 1, 1))
        return self._spline(rows, -self._around * self.samples, slice(10, None))

    @property
    def _around(self) -> int:
        """Periods on both sides that a spline of one period has to know."""
        return -(-REACH // self.samples)

    def _spline(self, rows: np.ndarray, first: int, columns: slice) -> Any:
        """Through rows at samples first, first + 1, ...; `columns`: their rates in `begin_rates`.

        Of a periodic motion the acceleration is constant from half a step before to half a step
        after a sample, as its forces are; other motions are cubic, at rest at their end.
        """
        from scipy.interpolate import CubicSpline, make_interp_spline

        times = self.step * (first + np.arange(len(rows)))
        if self.periodic:
            return make_interp_spline(times, rows, k=2)
        if not self.begin_rates:
            return CubicSpline(times, rows, bc_type="clamped")
        begin = np.array(self.begin_rates[columns])
        return CubicSpline(times, rows, bc_type=((1, begin), (1, np.zeros(len(begin)))))

    def rates(self, time: float) -> np.ndarray:
        """(10 + n) rates of com, base and joints at a time [1/s], as in `begin_rates`."""
        own = np.mod(time, self.duration) if self.periodic else time
        return np.concatenate([self._body_spline(own)(own, 1), self.joint_splines()(own, 1)])

    def _body_spline(self, until: float) -> Any:
        """Splines (10,) of com and base over time, from 0 to a time [s] at least."""
        first, last = 0, 1
        if self.periodic:
            first, last = -self._around, int(until // self.duration) + 1 + self._around
        rows = np.concatenate(
            [
                np.hstack([
                    moved_by_periods(self.com, self.travel, k),
                    moved_by_periods(self.base[:, :3], self.travel, k),
                    quat_multiply(quat_exp([0.0, 0.0, k * self.travel[3]]), self.base[:, 3:]),
                ])
                for k in range(first, last)
            ]
        )  # fmt: skip
        flips = np.sign(np.einsum("ni,ni->n", rows[1:, 6:], rows[:-1, 6:]))
        rows[1:, 6:] *= np.cumprod(np.where(flips < 0, -1.0, 1.0))[:, None]
        return self._spline(rows, first * self.samples, slice(0, 10))

    def at(self, times: np.ndarray) -> MotionStates:
        """The motion at times (N,) [s], of as many periods as they reach; at rest outside a motion
        that does not repeat itself."""
        times = np.asarray(times, float)
        if not self.periodic:
            times = np.clip(times, 0.0, self.duration)
        own = np.mod(times, self.duration) if self.periodic else times
        joints = self.joint_splines()
        body = self._body_spline(times.max())
        found, rate = body(times), body(times, 1)
        size = np.linalg.norm(found[:, 6:], axis=1)[:, None]
        found[:, 6:] /= size
        turning = 2.0 * quat_multiply(quat_conjugate(found[:, 6:]), rate[:, 6:] / size)[:, :3]
        spins = self.spins[np.arange(self.samples + self.periodic) % self.samples]
        rolled = [
            np.interp(own, self.step * np.arange(len(spins)), spin) for spin in spins.T
        ]  # fmt: skip
        return MotionStates(
            times, found[:, :3], found[:, 3:], np.hstack([rate[:, 3:6], turning]), joints(own),
            joints(own, 1), np.stack(rolled, axis=1),
        )  # fmt: skip

    def seen_from(self, frame: np.ndarray) -> LocomotionMotion:
        """The motion in a frame (3,) that is at x, y [m] and turned by a yaw [rad]."""
        c, s = np.cos(frame[2]), np.sin(frame[2])
        turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        origin, back = np.array([frame[0], frame[1], 0.0]), quat_exp([0.0, 0.0, -frame[2]])
        base = np.hstack([
            (self.base[:, :3] - origin) @ turn.T, quat_multiply(back, self.base[:, 3:])
        ])  # fmt: skip
        shift = moved_by_periods(origin, self.travel, 1) - origin
        rates = np.array(self.begin_rates)
        if len(rates):
            rates[:3], rates[3:6] = turn @ rates[:3], turn @ rates[3:6]
            rates[6:10] = quat_multiply(back, rates[6:10])
        return replace(
            self, com=(self.com - origin) @ turn.T, base=base,
            contacts=(self.contacts - origin) @ turn.T, forces=self.forces @ turn.T,
            yaw=self.yaw - frame[2], travel=np.append(turn @ shift, self.travel[3]),
            begin_rates=tuple(rates.tolist()),
        )  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Write a motion.npz."""
        report = {
            "name": self.name, "step": self.step, "periodic": self.periodic,
            "joints": self.joints, "end_effectors": self.end_effectors,
            "constraints": [asdict(one) for one in self.constraints],
            "goals": [asdict(one) for one in self.goals],
            "iterations": self.iterations, "seconds": self.seconds, "cancelled": self.cancelled,
            "begin_rates": self.begin_rates,
        }  # fmt: skip
        arrays = {name: getattr(self, name) for name in _SHAPED}
        np.savez_compressed(path, report=np.array(json.dumps(report)), **arrays)

    @staticmethod
    def load(path: str | Path) -> LocomotionMotion:
        """Read a motion.npz; InputError names what is wrong with it."""
        read = read_npz(path, ACCEPTED)
        for name in ("report", *_SHAPED):
            if name not in read:
                raise InputError(path, name, "no such array", ACCEPTED)
        try:
            report = json.loads(str(read["report"]))
            report["constraints"] = tuple(Violation(**one) for one in report["constraints"])
            report["goals"] = tuple(GoalDistance(**one) for one in report["goals"])
            report["joints"] = tuple(map(str, report["joints"]))
            report["end_effectors"] = tuple(map(str, report["end_effectors"]))
            report["begin_rates"] = tuple(map(float, report.get("begin_rates", ())))
            if len(report["begin_rates"]) not in (0, 10 + len(report["joints"])):
                raise ValueError(f"{len(report['begin_rates'])} begin_rates")
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(path, "report", str(error), ACCEPTED) from None
        sizes = {
            "T": len(read["com"]), "n": len(report["joints"]), "m": len(report["end_effectors"])
        }  # fmt: skip
        arrays: dict[str, Any] = {
            name: numbers(path, read, name, tuple(sizes.get(str(s), s) for s in shape))
            for name, shape in _SHAPED.items()
        }
        arrays["contact"] = arrays["contact"] != 0
        return LocomotionMotion(**report, **arrays)


_SHAPED: Mapping[str, tuple[Any, ...]] = {
    "com": ("T", 3), "base": ("T", 7), "positions": ("T", "n"), "contacts": ("T", "m", 3),
    "contact": ("T", "m"), "forces": ("T", "m", 3), "spins": ("T", "m"), "yaw": ("T", "m"),
    "tilt": ("T", "m"), "travel": (4,),
}  # fmt: skip


def moved_by_periods(
    rows: np.ndarray, travel: np.ndarray, periods: int, *, place: bool = True
) -> np.ndarray:
    """Places, or directions, (..., 3) of samples as they are `periods` later, or earlier."""
    sign, out = (1.0 if periods > 0 else -1.0), rows.copy()
    c, s = np.cos(sign * travel[3]), np.sin(sign * travel[3])
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    shift = travel[:3] if sign > 0 else -turn @ travel[:3]
    for _ in range(abs(periods)):
        out = out @ turn.T + (shift if place else 0.0)
    return out


def base_poses(base: np.ndarray) -> np.ndarray:
    """Poses (N, 4, 4) of rows (N, 7): position [m], quaternion (x, y, z, w)."""
    out = np.tile(np.eye(4), (len(base), 1, 1))
    out[:, :3, :3], out[:, :3, 3] = quat_matrix(base[:, 3:]), base[:, :3]
    return out


def engine_plan(
    motion: LocomotionMotion, weight: float | None = None
) -> dict[str, np.ndarray]:  # fmt: skip
    """A motion as the engine's plan; weight [N] of the robot, None: what the motion carries."""
    weight = motion.forces.sum(axis=1)[:, 2].mean() if weight is None else weight
    return {
        "x": motion.com, "R": np.array([quat_matrix(q) for q in motion.base[:, 3:]]),
        "e": motion.contacts, "f": motion.forces / weight, "spin": motion.spins,
        "yaw": motion.yaw, "tilt": motion.tilt,
        "q": np.hstack([motion.base, motion.positions]), "travel": motion.travel,
    }  # fmt: skip
