"""Feedback for legged robots: model predictive control at 50 Hz, inverse dynamics at 500 Hz."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.rotation import quat_conjugate, quat_log, quat_multiply

from ..legged_robot import LeggedRobot
from .body_integral import BodyIntegral, IntegralOptions
from .footfalls import FootfallOptions, Footfalls
from .inverse_dynamics import Efforts, InverseDynamics, InverseDynamicsOptions, Wanted
from .mpc import Horizon, Mpc, MpcOptions
from .reference import ComposedMotion, ReferenceStates

SOON = 0.03
"""[s] in which a foot reaches its foothold at the earliest."""

HELD = 0.002
"""[s] that torques are held."""
MOST_DAMPING = 0.9
"""Of a joint over HELD, in apparent inertias: more would make joints that carry little chatter."""


@dataclass(frozen=True)
class ControllerOptions:
    """Of both layers.

    period  of the predictive control [s]
    feet, joints  gains on errors of position [1/s^2] and speed [1/s]: of feet in the air (position:
            height alone), of joints;  wheels  gain on errors of their speeds [1/s]
    stiffness  of joints about the plan's angles, in weights times standing heights per rad: what
            motors add to the torques of inverse dynamics;  damping_time  over it [s].  Less at
            joints that carry little (MOST_DAMPING)
    wheel_gain  likewise of wheels about the plan's speeds, in weights times radii per rad/s
    """

    period: float = 0.02
    feet: tuple[float, float] = (900.0, 60.0)
    joints: tuple[float, float] = (100.0, 20.0)
    wheels: float = 20.0
    stiffness: float = 2.0
    damping_time: float = 0.01
    wheel_gain: float = 0.01
    integral: IntegralOptions = field(default_factory=IntegralOptions)
    footfalls: FootfallOptions = field(default_factory=FootfallOptions)
    mpc: MpcOptions = field(default_factory=MpcOptions)
    dynamics: InverseDynamicsOptions = field(default_factory=InverseDynamicsOptions)


@dataclass
class TickTimes:
    """Seconds of every tick of the predictive control, and of every solve of inverse dynamics."""

    mpc: list[float] = field(default_factory=list)
    dynamics: list[float] = field(default_factory=list)
    unsolved: int = 0


class TrackingController:
    """Torques along a composed motion from an estimate of the state."""

    def __init__(
        self, robot: LeggedRobot, motion: ComposedMotion, *,
        options: ControllerOptions = ControllerOptions(), balls: dict[str, float] | None = None,
    ) -> None:  # fmt: skip
        """balls: radii [m] of point feet that are balls.  InputError: an end effector that is not
        tracked (a skate), PIQP not installed."""
        self.robot, self.motion, self.options = robot, motion, options
        self.mpc = Mpc(robot, motion, options.mpc)
        self.dynamics = InverseDynamics(robot, options.dynamics, balls=balls)
        self.footfalls = Footfalls(robot, motion, options.footfalls)
        self.integral = BodyIntegral(options.integral, self.footfalls.height)
        self.joint_names = self.dynamics.dynamics.names
        radii = np.array([robot.end_effectors[j].radius for j in robot.spinning])
        most = MOST_DAMPING / HELD * self._apparent_inertia()
        n = len(robot.joint_names)
        stiffness = options.stiffness * self.mpc.weight * self.footfalls.height
        damping = stiffness * options.damping_time
        self._stiffness = stiffness * np.minimum(1.0, most[:n] / max(damping, 1e-12))
        self._wheel_gain = np.minimum(options.wheel_gain * self.mpc.weight * radii, most[n:])
        self.timing = TickTimes()
        self._horizon: Horizon | None = None
        self._next = -np.inf

    def _apparent_inertia(self) -> np.ndarray:
        """(n + w,) [kg m^2] of joints and wheels when the robot floats, in its standing pose."""
        robot, model = self.robot, self.dynamics.dynamics
        M = model(robot.settled_state(), np.zeros(6 + model.size))["M"]
        return np.asarray(1.0 / np.diag(np.linalg.inv(M))[6:])

    def torques(self, time: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(n + w,) [N m] of `joint_names` at `time` [s] of the motion: n joints, then w wheels that
        turn, 0 of those without a motor.

        q (7 + n,), qd (6 + n + w,)  estimated state: base's position [m], quaternion (x, y, z, w),
                 joints; base's velocity in the world, angular in its own axes, joints, and speeds
                 of wheels on their links
        InputError: a state of another shape, a time or numbers that are not finite.
        """
        if not np.isfinite(time):
            raise InputError("tracking", "time", time, "a finite number [s]")
        self.dynamics.dynamics.check(q, qd)
        at = self.dynamics.dynamics(q, qd)
        of = self.motion.at(np.array([time]))
        landed = self.footfalls.observe(time, at["point"])
        if landed or time >= self._next - 1e-9:
            began = clock.thread_time()
            stands, _ = self.footfalls.stands(time, at["point"])
            after = self._landed(at, qd, stands)
            offset = self.integral.update(time, q[:3] - of.q[0, :3])
            self._horizon = self.mpc.tick(time, q, after, self.footfalls, offset)
            self.timing.mpc.append(clock.thread_time() - began)
            self._next = time + self.options.period
        began = clock.thread_time()
        found = self._efforts(time, q, qd, of, at)
        self.timing.dynamics.append(clock.thread_time() - began)
        self.timing.unsolved += not found.solved
        return found.torques

    @staticmethod
    def _landed(at: Mapping[str, np.ndarray], qd: np.ndarray, stands: np.ndarray) -> np.ndarray:
        """qd after feet that stand have stopped, as by an impact without rebound."""
        rows = (3 * np.flatnonzero(stands)[:, None] + np.arange(3)).ravel()
        J = at["J"][rows]
        by = np.linalg.solve(at["M"], J.T)
        mass = J @ by
        mass[np.diag_indices(len(rows))] *= 1 + 1e-6
        return np.asarray(qd - by @ np.linalg.solve(mass, J @ qd))

    def _efforts(
        self, time: float, q: np.ndarray, qd: np.ndarray, of: ReferenceStates,
        at: dict[str, np.ndarray],
    ) -> Efforts:  # fmt: skip
        horizon, h = self._horizon, self.options.mpc.step
        assert horizon is not None
        u = 1.0 + np.clip((time - horizon.times[1]) / h, 0.0, len(horizon.times) - 3.0)
        k = int(u)
        part = u - k
        rows = horizon.deviation()[2][k : k + 2]
        joints = (1 - part) * rows[0] + part * rows[1], (rows[1] - rows[0]) / h
        base = self._base(horizon, k)
        kp, kd = self.options.joints
        q_wanted, qd_wanted = of.q[0, 7:] + joints[0], of.qd[0, 6:] + joints[1]
        legs = 6 + len(q_wanted)
        joint = kp * (q_wanted - q[7:]) + kd * (qd_wanted - qd[6:legs])
        spins = horizon.plan["spin"][k : k + 2, self.dynamics.dynamics.wheels]
        slower = (1 - part) * spins[0] + part * spins[1] - at["spin"][self.dynamics.dynamics.wheels]
        wheel = (spins[1] - spins[0]) / h + self.options.wheels * slower
        joint = np.concatenate([joint, wheel])
        kd = self.options.feet[1]
        feet = self._feet(horizon, time, of, at)
        # A foot that should stand but is in the air cannot push: it is sent down.
        stands, high = self.footfalls.stands(time, at["point"])
        down = kd * (np.array([0.0, 0.0, -self.options.footfalls.down]) - at["place_velocity"])
        feet = np.where(high[:, None], down, feet)
        forces = self.mpc.weight * horizon.plan["f"][k if part < 0.5 else k + 1]
        out = self.dynamics(q, qd, Wanted(base, stands, feet, forces, joint), at)
        beside = q_wanted - q[7:] + self.options.damping_time * (qd_wanted - qd[6:legs])
        held = np.concatenate([self._stiffness * beside, self._wheel_gain * slower])
        effort = self.dynamics.effort
        torques = np.clip(out.torques + held, -effort, effort)
        return replace(out, torques=torques)

    def _feet(
        self, horizon: Horizon, time: float, of: ReferenceStates, at: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """(m, 3) accelerations of feet in the air: along the ground they reach the planned foothold
        when it is due, whatever they are off the reference now; heights are the reference's."""
        kp, kd = self.options.feet
        ahead = horizon.wanted.contact[1:].copy()
        ahead[-1] = True
        landing = 1 + np.argmax(ahead, axis=0)
        each = np.arange(len(landing))
        lands = np.where(self.footfalls.swing >= 0, self.footfalls.lands, horizon.times[landing])
        moved = horizon.plan["e"][landing, each] - horizon.reference.points[landing, each]
        left = np.maximum(lands - time, SOON)[:, None]
        off = of.points[0] - at["point"]
        rate = (off + moved) / left
        rate[:, 2] = 0.0
        lift = np.zeros_like(off)
        lift[:, 2] = kp * off[:, 2]
        speed = of.point_velocity[0] + rate - at["place_velocity"]
        found = np.asarray(of.point_acceleration[0] + lift + kd * speed)
        for j in self.footfalls.hastened():
            fall = -min(max(at["point"][j, 2] / left[j, 0], 0.2), 1.0)
            found[j, 2] = kd * (fall - at["place_velocity"][j, 2])
        return found

    def _base(self, horizon: Horizon, k: int) -> np.ndarray:
        """(6,) acceleration of the plan about sample k."""
        h, rows = self.options.mpc.step, horizon.plan["q"][k - 1 : k + 2]
        linear = (rows[2, :3] - 2 * rows[1, :3] + rows[0, :3]) / h**2
        turns = quat_log(quat_multiply(quat_conjugate(rows[:2, 3:7]), rows[1:, 3:7]))
        return np.concatenate([linear, (turns[1] - turns[0]) / h**2])
