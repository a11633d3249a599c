"""Composed motions tracked in the engine's own simulation: contact of finite stiffness, joints in
reduced coordinates, torques at 500 Hz.  Beside `tracking_mujoco.py`, with the same worlds."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.learning import Batch, load_environment
from diffsim_ros.planning.locomotion import LeggedRobot, write_urdf
from diffsim_ros.planning.locomotion.tracking import ComposedMotion
from diffsim_ros.rotation import quat_from_matrix, quat_rotate

from .tracking_mujoco import FALLEN, PLAIN, PUSH, Policy, Tracked, World

STEP = 1e-3
STEPS = 2
"""Between two torques."""
STRONG = 100.0
"""Largest push [N]: bounds of an action."""


def environment(
    robot: LeggedRobot, motion: ComposedMotion, friction: float, foot: float, folder: Path
) -> Any:
    """The robot where the motion begins, its torques and the push as actions."""
    path = Path(robot.robot.place)
    if robot.description is not None:
        path = folder / "robot.urdf"
        write_urdf(robot, path)
    start = motion.at(np.zeros(1)).q[0]
    mounts, standing = robot.mounts(), robot.link_poses(robot.stance, robot.standing_base())
    spheres: dict[str, Any] = {}
    contact = []
    for link, point in zip(mounts.links, mounts.positions, strict=True):
        body = robot.robot.joints[link - 2].body
        centre = point + foot * standing[link - 1][2, :3]
        spheres[body] = {"radius": foot, "positions": [[float(x) for x in centre]]}
        contact.append({"points": body, "against": "ground", "k_n": 2e4, "k_t": 200.0,
                        "c_n": 0.5, "c_f": friction})  # fmt: skip
    names, base = robot.joint_names, robot.robot.base
    x, y, z, w = (float(v) for v in start[3:7])
    scene = {
        "name": "tracking",
        "world": {"step": STEP, "duration": 1000.0},
        "robots": {"robot": {
            "urdf": str(path), "base": "free",
            "pose": {"position": [float(v) for v in start[:3]], "orientation": [x, y, z, w]},
            "angles": [float(v) for v in start[7:]], "drive": {"kind": "torque"},
            "contact_spheres": spheres,
        }},
        "sdfs": {"ground": {"plane": {}}}, "contact": contact,
        "links": [{"name": "push", "type": "force", "body": base, "force": [0.0, 0.0, 0.0]}],
    }  # fmt: skip
    effort = robot.robot.limits["effort"]
    bounds = [float(e) if np.isfinite(e) and e > 0 else STRONG for e in effort]
    action: dict[str, Any] = {
        name: {"motor": f"{name}_drive", "bounds": [-most, most]}
        for name, most in zip(names, bounds, strict=True)
    }
    for axis in "xyz":
        parameter = f"push.force[0].{axis}"
        action[f"push_{axis}"] = {"sets": {parameter: 1.0}, "bounds": [-STRONG, STRONG]}
    of = ["position", "x_axis", "y_axis", "z_axis", "velocity", "angular_velocity"]
    observation = [f"{base}.{one}" for one in of]
    observation += [f"{name}.coordinate" for name in names] + [f"{name}.rate" for name in names]
    return load_environment({
        "scene": scene, "action": action, "steps": STEPS, "horizon": 1000000,
        "observation": observation, "reward": {"none": {"of": f"{base}.position.z", "weight": 0}},
        "reset": {},
    })  # fmt: skip


def simulated(
    robot: LeggedRobot, motion: ComposedMotion, policy: Policy, world: World = PLAIN, *,
    foot: float = 0.004, until: float | None = None,
) -> Tracked:  # fmt: skip
    """As of `tracking_mujoco.simulated`, with torques; a payload is refused."""
    if world.payload:
        raise ValueError("a payload is MuJoCo's alone")
    with tempfile.TemporaryDirectory() as folder:
        config = environment(robot, motion, world.friction, foot, Path(folder))
    batch = Batch(config, 1, threads=1)
    row = batch.reset()[0]
    n, centre = len(robot.joint_names), robot.robot.base_inertial.centre
    start = motion.at(np.zeros(1)).q[0]
    end = motion.duration if until is None else until
    push = np.array(world.push) / PUSH
    times, rows, found, fell = [], [], [], False
    for k in range(round(end / (STEPS * STEP))):
        time = k * STEPS * STEP
        q, qd = _state(row, n, centre)
        times.append(time)
        rows.append(q)
        fell = bool(q[2] < FALLEN * start[2] or row[11] < FALLEN)
        torques = np.zeros(n) if fell else policy(time, q, qd)
        found.append(torques)
        if fell:
            break
        pushed = world.push_time <= time < world.push_time + PUSH
        value = np.concatenate([torques, push if pushed else np.zeros(3)])
        step = batch.step(((value - batch.middle) / batch.half)[None])
        if step.failures:
            raise RuntimeError(step.failures[0])
        row = step.observation[0]
    return Tracked(np.array(times), np.array(rows), np.array(found), fell)


def _state(row: np.ndarray, n: int, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q and qd of the base's frame; a body's position and velocity are its centre of mass's."""
    R = row[3:12].reshape(3, 3).T
    turn = quat_from_matrix(R)
    arm = quat_rotate(turn, centre)
    rate = row[15:18]
    q = np.concatenate([row[:3] - arm, turn, row[18 : 18 + n]])
    return q, np.concatenate([row[12:15] - np.cross(rate, arm), R.T @ rate, row[18 + n :]])
