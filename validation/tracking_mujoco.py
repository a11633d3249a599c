"""Composed motions in MuJoCo with feedback and without: pushes, slippery ground, payloads.

The simulator knows the robot's URDF alone (`locomotion_simulator.py`).  With feedback joints have
torques of the tracking controller, which is given the true state; without, PD motors are told the
motion's angles, speeds and efforts in time, and nothing measures where the body is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffsim_ros.planning.locomotion import LeggedRobot
from diffsim_ros.planning.locomotion.tracking import ComposedMotion, InverseDynamics

from .locomotion_simulator import STEP, WHEEL_GAIN, Ground, Motors, model_of

RATE = 4
"""Steps between two torques of the controller: 500 Hz."""
FALLEN = 0.5
"""Share of the standing height of the base below which, or cosine of its tilt below which, a robot
has fallen."""


@dataclass(frozen=True)
class World:
    """friction of the ground; payload: mass on the base, in masses of the robot; push: impulse
    (3,) [N s] on the base at `push_time` [s], over PUSH seconds."""

    friction: float = 0.8
    payload: float = 0.0
    push: tuple[float, float, float] = (0.0, 0.0, 0.0)
    push_time: float = 0.0


PLAIN = World()
PUSH = 0.1
"""[s] over which an impulse acts."""


@dataclass(frozen=True, eq=False)
class Tracked:
    """What a robot did, every RATE steps: times (N,) [s], q (N, 7 + n), torques (N, k) [N m] of its
    motors, and whether it fell; it ends there."""

    times: np.ndarray
    q: np.ndarray
    torques: np.ndarray
    fell: bool


Policy = Callable[[float, np.ndarray, np.ndarray], np.ndarray]
"""What motors are told (n + w,) for time, q and qd, joints first, then wheels that turn: torques,
or angles and wheels' speeds for PD motors."""


@dataclass(frozen=True)
class OpenLoop:
    """Angles for PD motors: the motion's, ahead by its speeds and by its efforts over stiffness; of
    wheels speeds, ahead by efforts as well."""

    robot: LeggedRobot
    motion: ComposedMotion
    dynamics: InverseDynamics
    motors: Motors = field(default_factory=Motors)

    def __call__(self, time: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Nothing of q and qd is looked at: the motors alone know joints' angles."""
        of, wheels = self.motion.at(np.array([time])), self.robot.spinning
        rates, n = of.wheel_rates[0, wheels], len(self.robot.joint_names)
        at = self.dynamics.dynamics(of.q[0], np.concatenate([of.qd[0], rates]))
        qdd = np.concatenate([of.qdd[0], np.zeros(len(wheels))])
        efforts = (at["M"] @ qdd + at["h"] - at["J"].T @ of.forces[0].ravel())[6:]
        ahead = self.motors.damping_time * of.qd[0, 6:] + efforts[:n] / self.stiffness
        radii = np.array([self.robot.end_effectors[j].radius for j in wheels])
        turning = rates + efforts[n:] / (WHEEL_GAIN * self.robot.mass * 9.81 * radii)
        return np.concatenate([of.q[0, 7:] + ahead, turning])

    @property
    def stiffness(self) -> float:
        """[N m/rad] as of `locomotion_simulator`."""
        height = self.robot.centre_of_mass(self.robot.stance, self.robot.standing_base())[2]
        return float(self.motors.stiffness * self.robot.mass * 9.81 * height)


def simulated(
    robot: LeggedRobot, motion: ComposedMotion, policy: Policy, world: World = PLAIN, *,
    foot: float = 0.004, begin: float = 0.0, until: float | None = None,
) -> Tracked:  # fmt: skip
    """The robot in MuJoCo from where the motion is at `begin` [s], to its end or `until` [s], or
    till it falls.

    An `OpenLoop` has its PD motors; any other policy gives torques.
    """
    import mujoco

    held = isinstance(policy, OpenLoop)
    model = model_of(robot, Ground(world.friction, foot=foot), policy.motors if held else Motors())
    if not held:
        model.actuator_gainprm[:, 0], model.actuator_biasprm[:] = 1.0, 0.0
    _load(model, robot.mass * world.payload)
    data = mujoco.MjData(model)
    legs = [joint.name for joint in robot.robot.joints]
    names = legs + [robot.end_effectors[j].spin_name for j in robot.spinning]
    at = [model.joint(name).qposadr[0] for name in legs]
    dofs = [model.joint(name).dofadr[0] for name in names]
    driven = [k for k, name in enumerate(names) if name not in _free(robot)]
    motors = [model.actuator(names[k]).id for k in driven]
    base = model.jnt_bodyid[0]
    start = motion.at(np.array([begin]))
    turning = start.wheel_rates[0, robot.spinning]
    _set(data, start.q[0], np.concatenate([start.qd[0], turning]), at, dofs)
    mujoco.mj_forward(model, data)
    end = motion.duration if until is None else until
    push = np.array(world.push) / PUSH
    times, rows, found, fell = [], [], [], False
    for k in range(round(begin / STEP), round(end / STEP)):
        time = k * STEP
        pushed = world.push_time <= time < world.push_time + PUSH
        data.xfrc_applied[base, :3] = push if pushed else 0.0
        if k % RATE == 0:
            q, qd = _state(data, at, dofs)
            times.append(time)
            rows.append(q)
            found.append(data.actuator_force[motors])
            if _fallen(q, start.q[0]):
                fell = True
                break
            data.ctrl[motors] = policy(time, q, qd)[driven]
        mujoco.mj_step(model, data)
    return Tracked(np.array(times), np.array(rows), np.array(found), fell)


def _free(robot: LeggedRobot) -> list[str]:
    """Joints of wheels without a motor."""
    return [e.spin_name for e in robot.end_effectors if e.kind == "passive"]


def _load(model: Any, payload: float) -> None:
    """A payload in the middle of the base's mass, shaped as the base is."""
    import mujoco

    body = model.jnt_bodyid[0]
    model.body_inertia[body] *= 1.0 + payload / model.body_mass[body]
    model.body_mass[body] += payload
    mujoco.mj_setConst(model, mujoco.MjData(model))


def _set(data: Any, q: np.ndarray, qd: np.ndarray, at: list, dofs: list) -> None:
    data.qpos[:3], data.qpos[3:7], data.qpos[at] = q[:3], np.roll(q[3:7], 1), q[7:]
    data.qvel[:6], data.qvel[dofs] = qd[:6], qd[6:]


def _state(data: Any, at: list, dofs: list) -> tuple[np.ndarray, np.ndarray]:
    q = np.concatenate([data.qpos[:3], np.roll(data.qpos[3:7], -1), data.qpos[at]])
    return q, np.concatenate([data.qvel[:6], data.qvel[dofs]])


def _fallen(q: np.ndarray, start: np.ndarray) -> bool:
    x, y = q[3], q[4]
    return bool(q[2] < FALLEN * start[2] or 1 - 2 * (x * x + y * y) < FALLEN)
