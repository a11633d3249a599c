"""The TIAGo's arm moved by its logged motor currents, in the engine's reduced coordinates.

Currents become torques by the gains of a model of efforts, and the engine's law of friction
(viscous and Coulomb) and rotors have its numbers.  Joints whose currents do not tell their torque
follow the log.  A joint by itself, as five coefficients have it, is integrated beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.inverse.trial import InitialState
from diffsim_ros.real2sim.efforts.friction import SLIP
from diffsim_ros.real2sim.efforts.signals import FilteredMotion
from diffsim_ros.robots.dynamics import inverse_dynamics
from diffsim_ros.robots.kinematics import body_motions
from diffsim_ros.robots.robot import Robot
from diffsim_ros.rotation import quat_from_matrix
from diffsim_ros.scene.model import SceneModel, load_scene

LENGTH, STEP, INTERVAL = 2.0, 0.002, 0.01
"""Of a simulation, its step and the time between keys of its drives [s]."""
EVERY = 0.5
"""Time [s] between starts."""
FOLLOW = {True: (1e5, 1e3), False: (1e7, 1e5)}
"""Stiffness and damping of joints that turn, that slide, and follow the log."""
NUMBERS = (".friction_damping", "_friction.coulomb", "_armature.inertia", "_friction.slip_rate")
"""Of a joint in the engine, behind its name."""
LIGHTEST = 0.01
"""Inertia [kg m^2] of a joint by itself whose coefficients give less."""


@dataclass(frozen=True)
class Drives:
    """Of the joints that currents move (m,): torque = (current - offset) / gain, which moves the
    bodies against damping [N m s/rad], dry friction [N m] and armature [kg m^2].

    joints  their indices;  slip (m,) [rad/s] as of the regression
    """

    joints: tuple[int, ...]
    gain: np.ndarray
    offset: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    armature: np.ndarray
    slip: np.ndarray

    @classmethod
    def of(
        cls, joints: Sequence[int], fast: np.ndarray, gain: np.ndarray, armature: np.ndarray,
        offset: np.ndarray, viscous: np.ndarray, dry: np.ndarray,
    ) -> Drives:  # fmt: skip
        """By numbers of all joints (n,) in the unit of the currents."""
        on = list(joints)
        k = gain[on]
        return cls(
            tuple(on), k, offset[on], viscous[on] / k, dry[on] / k, armature[on] / k,
            SLIP * fast[on],
        )  # fmt: skip


@dataclass(frozen=True)
class Windows:
    """Pieces of a log of LENGTH: q, qd, effort (w, keys, n), INTERVAL apart."""

    q: np.ndarray
    qd: np.ndarray
    effort: np.ndarray

    @classmethod
    def of(cls, motions: Sequence[FilteredMotion]) -> Windows:
        """EVERY apart, where the filter's ends do not reach."""
        clock = np.arange(round(LENGTH / INTERVAL) + 1) * INTERVAL
        found: dict[str, list] = {"q": [], "qd": [], "effort": []}
        for motion in motions:
            inside = motion.t[motion.inside]
            for start in np.arange(inside[0], inside[-1] - LENGTH, EVERY):
                for name, rows in found.items():
                    table = getattr(motion, name)
                    rows.append(
                        np.stack([np.interp(start + clock, motion.t, c) for c in table.T], axis=1)
                    )
        return cls(**{name: np.array(rows) for name, rows in found.items()})


def arm_scene(urdf: str, robot: Robot, driven: Sequence[int]) -> SceneModel:
    """The robot on its base, with currents' torques on some joints."""
    keys = round(LENGTH / INTERVAL) + 1
    motors = []
    for j, joint in enumerate(robot.joints):
        motor = {"name": f"{joint.name}_drive", "type": "motor", "joint": joint.name,
                 "keys": [0.0] * keys, "interval": INTERVAL}  # fmt: skip
        if j in driven:
            motor["kind"] = "torque" if joint.turns else "force"
        else:
            stiffness, damping = FOLLOW[joint.turns]
            motor |= {"kind": "position", "stiffness": stiffness, "damping": damping}
        motors.append(motor)
    # what is to have a number of its own needs one above 0 here
    own = {name: [1.0] * len(robot.joints) for name in ("friction", "damping", "armature")}
    tiago = {"urdf": urdf, "joints": list(robot.joint_names), "slip_rate": 1.0, **own}
    world = {"step": STEP, "duration": LENGTH, "record_every": round(INTERVAL / STEP)}
    return load_scene({"world": world, "robots": {"tiago": tiago}, "links": motors}, base=".")


def moved(scene: SceneModel, robot: Robot, drives: Drives, windows: Windows) -> np.ndarray:
    """Positions (w, keys, n) that the currents of windows make of the whole arm; NaN after a step
    that failed."""
    engine = scene.engine
    at = {info.name: i for i, info in enumerate(engine.parameters)}
    P = np.tile(np.asarray(engine.values, float), (len(windows.q), 1))
    for j, joint in enumerate(robot.joints):
        own, name = drives.joints.index(j) if j in drives.joints else None, joint.name
        rubs = (0.0, 0.0, 0.0, 1.0) if own is None else (
            drives.damping[own], drives.friction[own], drives.armature[own], drives.slip[own]
        )  # fmt: skip
        for word, value in zip(NUMBERS, rubs, strict=True):
            P[:, at[name + word]] = value
        word, keys = "target", windows.q[:, :, j]
        if own is not None:
            word = "torque" if joint.turns else "force"
            keys = (windows.effort[:, :, j] - drives.offset[own]) / drives.gain[own]
        P[:, [at[f"{name}_drive.{word}[{k}]"] for k in range(keys.shape[1])]] = keys
    for row, q, qd in zip(P, windows.q[:, 0], windows.qd[:, 0], strict=True):
        for start in _starts(robot, q, qd):
            row[[at[name] for name in start.parameter_names()]] = start.parameter_values(
                np.zeros(12)
            )[0]
    steps = np.full(len(P), scene.steps)
    runs = _engine.rollout_batch(engine, P, steps, scene.options, threads=1)
    found = np.full(windows.q.shape, np.nan)
    for row, run, out in zip(P, runs, found, strict=True):
        for j, name in enumerate(robot.joint_names):
            q = engine.joint_motion(name, row, run)["coordinate"]
            out[: len(q), j] = q
    return found


def _starts(robot: Robot, q: np.ndarray, qd: np.ndarray) -> list[InitialState]:
    """Of every body, at joint values and rates (n,)."""
    found = []
    for joint, (pose, w, v) in zip(robot.joints, body_motions(robot, q, qd), strict=True):
        arm = pose[:3, :3] @ joint.inertial.centre
        turn = quat_from_matrix(pose[:3, :3])
        found.append(InitialState(joint.body, pose[:3, 3] + arm, turn, v + np.cross(w, arm), w))
    return found


def moved_alone(robot: Robot, drives: Drives, windows: Windows) -> np.ndarray:
    """Positions (w, keys, n) by a law of each joint by itself: I q'' = torque - weight(q) -
    friction, with the armature as I (LIGHTEST at least); by implicit Euler.  Joints that currents
    do not move are as logged."""
    found, fine = windows.q.copy(), round(INTERVAL / STEP)
    own = list(drives.joints)
    inertia = np.maximum(drives.armature, LIGHTEST) / STEP
    q, v = windows.q[:, 0, own], windows.qd[:, 0, own]
    torque = (windows.effort[:, :, own] - drives.offset) / drives.gain
    still = np.zeros(windows.q[:, 0].shape)
    for k in range(1, windows.q.shape[1]):
        for m in range(1, fine + 1):
            share = m / fine
            there = (1 - share) * windows.q[:, k - 1] + share * windows.q[:, k]
            there[:, own] = q
            pull = (1 - share) * torque[:, k - 1] + share * torque[:, k]
            pull -= inverse_dynamics(robot, there, still, still)[:, own]
            v = _slowed(inertia, drives, inertia * v + pull)
            q = q + STEP * v
        found[:, k, own] = q
    return found


def _slowed(a: np.ndarray, drives: Drives, right: np.ndarray) -> np.ndarray:
    """Velocities (w, m) with (a + damping) v + friction tanh(v / slip) = right, by bisection: it
    grows with v."""
    a = a + drives.damping
    high = np.abs(right) / a + drives.slip
    low = -high
    for _ in range(50):
        v = 0.5 * (low + high)
        above = a * v + drives.friction * np.tanh(v / drives.slip) > right
        low, high = np.where(above, low, v), np.where(above, v, high)
    return 0.5 * (low + high)
