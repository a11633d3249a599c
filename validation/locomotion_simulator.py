"""Legged robots in MuJoCo, which knows nothing of plans: joints with PD motors, a flat ground.

The robot is read from its URDF; joints follow given angles and speeds, wheels with a motor given
speeds, in open loop: nothing measures where the body is [G 2.6, 3.5].
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.planning.locomotion import (
    LeggedRobot,
    LocomotionMotion,
    wheel_speeds,
    write_urdf,
)
from diffsim_ros.planning.locomotion.motion import moved_by_periods
from diffsim_ros.rotation import quat_between, quat_matrix

STEP = 5e-4
EVERY = 4
"""Steps between the times at which loads of feet are looked at."""
RIM = 0.003
"""Half the thickness of wheels at their hubs [m]: an ellipsoid, whose rim is nearly a circle."""
WHEEL_GAIN = 0.2
"""Of wheels' motors, in weights times radii per rad/s."""
SLIGHT = 1e-4
"""Of a wheel's mass that its file does not know, over the robot's."""
LEAD = 0.05
"""Joint error [rad] at which a motor gives the weight times a tenth of the standing height."""


@dataclass(frozen=True)
class Ground:
    """Of a simulation: friction [1], rolling resistance of free wheels [1] as dry friction of their
    bearings, radius of point feet [m]."""

    friction: float = 0.8
    resistance: float = 0.01
    foot: float = 0.004


@dataclass(frozen=True)
class Motors:
    """PD gains of joints: stiffness in weights times standing heights per rad, damping time [s];
    feed_forward: torques of the plan's forces too."""

    stiffness: float = 20.0
    damping_time: float = 0.02
    feed_forward: bool = False


@dataclass(frozen=True)
class Servos:
    """Position servos: torque = stall (u - speed / no_load), u in [-1, 1] of their voltage.

    stall [N m], no_load [rad/s];  gain  u per rad of a joint's error, which alone they know;
    wheel_gain, wheel_integral  u per rad/s of a wheel's error, and per rad of its integral;
    rotor  inertia behind the gear [kg m^2];  period [s] for which what they are told holds
    """

    stall: float
    no_load: float
    gain: float
    wheel_gain: float
    wheel_integral: float
    rotor: float
    period: float


@dataclass(frozen=True, eq=False)
class Simulated:
    """What a robot did: times (N,) [s], centres of mass (N, 3), bases (N, 7) with quaternions
    (x, y, z, w), joints (N, n), their motors' efforts, and every EVERY steps the normal forces on
    end effectors and on the base itself [N]."""

    times: np.ndarray
    com: np.ndarray
    base: np.ndarray
    positions: np.ndarray
    efforts: np.ndarray
    loads: np.ndarray
    belly: np.ndarray

    @property
    def tilt(self) -> np.ndarray:
        """(N,) angle [rad] of the base's z to the vertical."""
        return np.array([math.acos(min(1.0, quat_matrix(q)[2, 2])) for q in self.base[:, 3:]])


def model_of(
    robot: LeggedRobot, ground: Ground = Ground(), motors: Motors | Servos = Motors()
) -> Any:
    """MuJoCo's model: free base, motors at joints and at wheels that have one."""
    import mujoco

    with tempfile.TemporaryDirectory() as folder:
        path = Path(robot.robot.place)
        if robot.description is not None:
            path = Path(folder) / "robot.urdf"
            write_urdf(robot, path)
        spec = mujoco.MjSpec.from_file(str(path))
    option = spec.option
    option.timestep, option.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone, option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 50
    for body in spec.bodies:
        for geom in body.geoms:
            geom.contype = geom.conaffinity = 0
    _sound_inertia(spec.worldbody.first_body())
    spec.worldbody.first_body().add_freejoint()
    for geom in spec.worldbody.first_body().geoms:  # a body that lies on the ground
        _touching(geom, ground)
    plane = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    _touching(plane, ground)
    plane.contype, plane.conaffinity = 0, 1
    _add_feet(spec, robot, ground)
    if isinstance(motors, Servos):
        _add_servos(spec, robot, motors)
    else:
        _add_motors(spec, robot, motors)
    return spec.compile()


def _sound_inertia(body: Any) -> None:
    """Diagonal where a URDF writes one number everywhere, as for links that stand for others."""
    xx, yy, zz, xy, xz, yz = body.fullinertia
    full = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if not np.isnan(full).any() and np.linalg.eigvalsh(full)[0] <= 0:
        body.fullinertia[3:] = 0.0


def _touching(geom: Any, ground: Ground) -> None:
    geom.contype, geom.conaffinity = 1, 0  # the ground alone: legs pass through each other
    geom.condim, geom.friction = 3, [ground.friction, 0, 0]
    geom.solref, geom.solimp = [0.004, 1], [0.999, 0.999, 0.001, 0.5, 2]


def _add_feet(spec: Any, robot: LeggedRobot, ground: Ground) -> None:
    import mujoco

    poses = robot.link_poses(robot.stance, robot.standing_base())
    share = robot.mass * 9.81 / len(robot.end_effectors)
    for effector in robot.end_effectors:
        if effector.spins:
            if not effector.joint:
                _add_wheel(spec, robot, effector)
            joint = spec.joint(effector.spin_name)
            body, at, axis = joint.parent, np.zeros(3), np.array(joint.axis)
            if effector.kind == "passive":
                joint.frictionloss = ground.resistance * effector.radius * share
        else:
            body, at, axis = spec.body(effector.link), effector.position, effector.axis
        if effector.axis is None:
            turn = poses[robot.robot.frame(effector.link).carrier + 1][:3, :3]
            geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[ground.foot, 0, 0])
            geom.pos = at + ground.foot * turn[2]
        else:
            size = [effector.radius, effector.radius, RIM]
            geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_ELLIPSOID, size=size)
            geom.pos, geom.quat = at, np.roll(quat_between([0.0, 0.0, 1.0], axis), 1)
        geom.mass, geom.name = 0, effector.name
        _touching(geom, ground)


def _add_wheel(spec: Any, robot: LeggedRobot, effector: Any) -> None:
    """A wheel that its file does not have, of next to no mass."""
    wheel = spec.body(effector.link).add_body(pos=effector.position)
    moment = SLIGHT * robot.mass * effector.radius**2
    wheel.explicitinertial, wheel.mass = True, SLIGHT * robot.mass
    wheel.inertia = [moment] * 3
    wheel.add_joint(name=effector.spin_name, axis=effector.axis, armature=10 * moment)


def _add_motors(spec: Any, robot: LeggedRobot, motors: Motors) -> None:
    import mujoco

    height = robot.centre_of_mass(robot.stance, robot.standing_base())[2]
    stiffness = motors.stiffness * robot.mass * 9.81 * height
    damping = stiffness * motors.damping_time
    for joint in robot.robot.joints:
        motor = spec.add_actuator(name=joint.name, target=joint.name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.gainprm[0] = stiffness
        motor.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        motor.biasprm[:3] = [0, -stiffness, -damping]
        if math.isfinite(joint.effort) and joint.effort > 0:
            motor.forcelimited, motor.forcerange = True, [-joint.effort, joint.effort]
    for effector in robot.end_effectors:
        if effector.kind != "actuated":
            continue
        motor = spec.add_actuator(name=effector.spin_name, target=effector.spin_name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        gain = WHEEL_GAIN * robot.mass * 9.81 * effector.radius
        motor.gainprm[0] = gain
        motor.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        motor.biasprm[:3] = [0, 0, -gain]


def _add_servos(spec: Any, robot: LeggedRobot, servos: Servos) -> None:
    """Their control is u, but for the wheels' part that is proportional to speed."""
    import mujoco

    wheels = [one.spin_name for one in robot.end_effectors if one.kind == "actuated"]
    for name in (*(joint.name for joint in robot.robot.joints), *wheels):
        motor = spec.add_actuator(name=name, target=name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.gainprm[0] = servos.stall
        motor.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        slope = 1.0 / servos.no_load + (servos.wheel_gain if name in wheels else 0.0)
        motor.biasprm[:3] = [0, 0, -servos.stall * slope]
        spec.joint(name).armature += servos.rotor


def followed(
    robot: LeggedRobot, motion: LocomotionMotion, periods: int, *, ground: Ground = Ground(),
    motors: Motors | Servos = Motors(), at_rest: bool = False,
) -> Simulated:  # fmt: skip
    """What the robot does that begins as the motion does, or at rest, and is told its angles."""
    import mujoco

    model = model_of(robot, ground, motors)
    data = mujoco.MjData(model)
    steps = round(motion.duration * (periods if motion.periodic else 1) / STEP)
    times = STEP * np.arange(steps + 1)
    state = motion.at(times)
    turning = wheel_speeds(robot, state)
    names = [joint.name for joint in robot.robot.joints]
    at = [model.joint(name).qposadr[0] for name in names]
    data.qpos[:3], data.qpos[3:7] = state.base[0, :3], np.roll(state.base[0, 3:], 1)
    data.qpos[at] = state.positions[0]
    if not at_rest:
        data.qvel[:3], data.qvel[3:6] = state.twist[0, :3], state.twist[0, 3:]
        data.qvel[[model.joint(name).dofadr[0] for name in names]] = state.velocities[0]
        for j, effector in enumerate(robot.end_effectors):
            if effector.spins:
                data.qvel[model.joint(effector.spin_name).dofadr[0]] = turning[0, j]
    if isinstance(motors, Servos):
        control = _servo_control(robot, state.positions, turning, motors, model)
    else:
        control = _motor_control(robot, motion, state, turning, motors, model)
    com, base = np.zeros((steps + 1, 3)), np.zeros((steps + 1, 7))
    positions, efforts = np.zeros((steps + 1, len(names))), np.zeros((steps + 1, model.nu))
    control(0, data)
    mujoco.mj_forward(model, data)
    loads = np.zeros((steps // EVERY + 1, len(robot.end_effectors) + 1))
    feet = {model.geom(effector.name).id: j for j, effector in enumerate(robot.end_effectors)}
    force = np.zeros(6)
    for k in range(steps + 1):
        if k % EVERY == 0:
            for c in range(data.ncon):
                mujoco.mj_contactForce(model, data, c, force)
                j = feet.get(max(data.contact[c].geom1, data.contact[c].geom2), -1)
                loads[k // EVERY, j] += force[0]
        com[k] = data.subtree_com[1]
        base[k, :3], base[k, 3:] = data.qpos[:3], np.roll(data.qpos[3:7], -1)
        positions[k], efforts[k] = data.qpos[at], data.actuator_force
        control(k, data)
        mujoco.mj_step(model, data)
    return Simulated(times, com, base, positions, efforts, loads[:, :-1], loads[:, -1])


def _motor_control(
    robot: LeggedRobot, motion: LocomotionMotion, state: Any, turning: np.ndarray, motors: Motors,
    model: Any,
) -> Callable[[int, Any], None]:  # fmt: skip
    """Sets the controls of step k: angles and speeds, and the plan's efforts over the stiffness."""
    control = np.zeros((len(state.positions), model.nu))
    names = [joint.name for joint in robot.robot.joints]
    for k, name in enumerate(names):
        control[:, model.actuator(name).id] = (
            state.positions[:, k] + motors.damping_time * state.velocities[:, k]
        )
    for j, effector in enumerate(robot.end_effectors):
        if effector.kind == "actuated":
            control[:, model.actuator(effector.spin_name).id] = turning[:, j]
    if motors.feed_forward:
        found, _ = plan_efforts(robot, motion, model)
        period = len(found) - (1 if motion.periodic else 0)
        rows = np.arange(len(control))
        rows = rows % period if motion.periodic else rows
        for k, name in enumerate(names):
            motor = model.actuator(name).id
            control[:, motor] += found[rows, k] / model.actuator_gainprm[motor, 0]

    def give(k: int, data: Any) -> None:
        data.ctrl[:] = control[k]

    return give


def _servo_control(
    robot: LeggedRobot, positions: np.ndarray, turning: np.ndarray, servos: Servos, model: Any
) -> Callable[[int, Any], None]:
    """Sets the controls of step k from what joints and wheels measure and were told last."""
    names = [joint.name for joint in robot.robot.joints]
    at = [model.joint(name).qposadr[0] for name in names]
    motors = [model.actuator(name).id for name in names]
    driven = [j for j, one in enumerate(robot.end_effectors) if one.kind == "actuated"]
    wheels = [robot.end_effectors[j].spin_name for j in driven]
    speeds = [model.joint(name).dofadr[0] for name in wheels]
    drives = [model.actuator(name).id for name in wheels]
    every, integral = round(servos.period / STEP), np.zeros(len(driven))

    def give(k: int, data: Any) -> None:
        told = k // every * every
        u = servos.gain * (positions[told] - data.qpos[at])
        data.ctrl[motors] = np.clip(u, -1.0, 1.0)
        speed = data.qvel[speeds]
        error = turning[told, driven] - speed
        integral[:] = np.clip(integral + servos.wheel_integral * STEP * error, -1.0, 1.0)
        u = np.clip(servos.wheel_gain * error + integral, -1.0, 1.0)
        data.ctrl[drives] = u + servos.wheel_gain * speed  # which the motor's bias takes off

    return give


def plan_efforts(
    robot: LeggedRobot, motion: LocomotionMotion, model: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Efforts (N, n) of joints over the motion at MuJoCo's steps, by its inverse dynamics with the
    plan's forces; what then lacks at the base: force and moment (N, 6) [N, N m]."""
    import mujoco

    steps = round(motion.duration / STEP)
    times = STEP * np.arange(-1, steps + 2) + (0.0 if motion.periodic else STEP)
    if motion.periodic:
        times += motion.duration
    state = motion.at(times)
    turning = wheel_speeds(robot, state)
    q, v = np.zeros((len(times), model.nq)), np.zeros((len(times), model.nv))
    q[:, :3], q[:, 3:7] = state.base[:, :3], np.roll(state.base[:, 3:], 1, axis=1)
    v[:, :6] = state.twist
    for k, joint in enumerate(robot.robot.joints):
        at = model.joint(joint.name)
        q[:, at.qposadr[0]], v[:, at.dofadr[0]] = state.positions[:, k], state.velocities[:, k]
    for j, effector in enumerate(robot.end_effectors):
        if effector.spins:
            v[:, model.joint(effector.spin_name).dofadr[0]] = turning[:, j]
    smooth = np.gradient(v, STEP, axis=0)
    forces, points = _contacts_at(motion, times)
    free, data = _without_contact(model), mujoco.MjData(model)
    at = [model.joint(joint.name).dofadr[0] for joint in robot.robot.joints]
    bodies = [model.geom(effector.name).bodyid[0] for effector in robot.end_effectors]
    efforts, lacking = np.zeros((steps + 1, len(at))), np.zeros((steps + 1, 6))
    J = np.zeros((3, model.nv))
    for k in range(steps + 1):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k + 1], v[k + 1], smooth[k + 1]
        mujoco.mj_inverse(free, data)
        total = data.qfrc_inverse.copy()
        for j, body in enumerate(bodies):
            if forces[k + 1, j].any():
                mujoco.mj_jac(free, data, J, None, points[k + 1, j], body)
                total -= J.T @ forces[k + 1, j]
        efforts[k], lacking[k] = total[at], total[:6]
    return efforts, lacking


def _contacts_at(motion: LocomotionMotion, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Forces and points (N, m, 3) of the nearest sample, in the period that times are in."""
    near = np.floor(times / motion.step + 0.5).astype(int)
    periods = near // motion.samples if motion.periodic else np.zeros_like(near)
    rows = near % motion.samples if motion.periodic else np.clip(near, 0, motion.samples - 1)
    forces, points = motion.forces[rows], motion.contacts[rows]
    for k in np.unique(periods):
        on = periods == k
        forces[on] = moved_by_periods(forces[on], motion.travel, int(k), place=False)
        points[on] = moved_by_periods(points[on], motion.travel, int(k))
    return forces, points


def _without_contact(model: Any) -> Any:
    import copy

    import mujoco

    free = copy.deepcopy(model)
    free.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    free.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    free.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    return free
