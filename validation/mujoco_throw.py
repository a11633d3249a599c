"""A UR5's throw in MuJoCo: another engine's kinematics, flight and bounce for the same motion.

MuJoCo reads the arm's URDF, moves its joints as they were executed, and its tool carries the ball
until the release; from then on the ball is a free body with MuJoCo's contact and friction.  The
contact's spring and dashpot are given the restitution that the scene's law has at the speed of the
first touch; how both behave at other speeds, and in friction, is each engine's own.

The throw is config/planning/ur5_throw.yaml, planned with our engine, one bounce before the target.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from diffsim_ros.planning.config import PlanConfig
from diffsim_ros.planning.load import load_plan
from diffsim_ros.planning.plan import plan
from diffsim_ros.robots.arm import Arm
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.scene.export import damping_ratio, restitution
from diffsim_ros.twin.execution import executed
from diffsim_ros.twin.record import TwinRecord
from diffsim_ros.twin.twin import Twin

from .common import ROOT

PLAN = ROOT / "config" / "planning" / "ur5_throw.yaml"
GRAVITY = 9.81
STIFF, FINE = 5e3, 1 / 20000
"""Stiffness of the table [N/m] and step [s]: with the file's 1000 N/m the ball is pressed in by two
thirds of its radius, and engines differ about where on it friction then acts."""
STEP = 5e-5
FRICTION = 5e-3  # [s] in which slip ends; faster, and slip would change the normal force too
IMPEDANCE = 0.9999  # share of the asked acceleration that the contact gives


@dataclass(frozen=True)
class Ball:
    """radius [m], mass [kg], inertia [kg m^2]; its contact with the plane z = 0."""

    radius: float
    mass: float
    inertia: float
    k_n: float
    c_n: float
    c_f: float


def model_of(urdf: Path, ball: Ball, impact: float):
    """MuJoCo's model of arm, ball and table; impact: speed [m/s] at which restitutions agree."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(urdf))
    spec.compiler.fusestatic = False  # the tool's frame is a fixed link
    spec.option.timestep, spec.option.impratio = STEP, 100.0
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    spec.worldbody.add_geom(name="table", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    body = spec.worldbody.add_body(name="ball")
    body.add_freejoint()
    body.mass, body.inertia, body.explicitinertial = ball.mass, [ball.inertia] * 3, True
    body.ipos = [0, 0, 0]
    body.add_geom(name="ball", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[ball.radius, 0, 0])
    stiffness = ball.k_n / ball.mass
    zeta = damping_ratio(restitution(ball.c_n * impact))
    pair = spec.add_pair(geomname1="ball", geomname2="table", condim=3)
    pair.friction = [ball.c_f, ball.c_f, 0, 0, 0]
    pair.solref = [-stiffness, -2 * zeta * np.sqrt(stiffness)]
    pair.solreffriction = [FRICTION, 1.0]
    pair.solimp = [IMPEDANCE, IMPEDANCE, 0.001, 0.5, 2]
    return spec.compile()


def thrown(
    arm: Arm, motion: JointTrajectory, release: float, in_tool: np.ndarray, ball: Ball,
    times: np.ndarray, impact: float,
) -> np.ndarray:  # fmt: skip
    """Centres (k, 3) [m] of the ball at times (k,) after the release, and its state there first.

    motion  of the joints as executed, by name;  in_tool  pose (4, 4) of the ball in the tool
    """
    import mujoco

    model = model_of(Path(arm.robot.place), ball, impact)
    data = mujoco.MjData(model)
    q, qd, _ = motion.at(release)
    for name, place, rate in zip(motion.names, q, qd, strict=True):
        joint = model.joint(name)
        data.qpos[joint.qposadr[0]], data.qvel[joint.dofadr[0]] = place, rate
    mujoco.mj_forward(model, data)
    _let_go(mujoco, model, data, model.body(arm.tool).id, in_tool)
    still = [model.joint(name).dofadr[0] for name in motion.names]
    found, begin = [], data.time
    for time in times:
        while data.time - begin < time - STEP / 2:
            data.qvel[still] = 0.0  # the arm has nothing to do with it any more
            mujoco.mj_step(model, data)
        found.append(data.body("ball").xpos.copy())
    return np.array(found)


def _let_go(mujoco, model, data, tool: int, in_tool: np.ndarray) -> None:
    """The ball's place, velocity and spin are the tool's."""
    turn = data.xmat[tool].reshape(3, 3)
    arm = turn @ in_tool[:3, 3]
    twist = np.zeros(6)  # of the tool's frame, world axes: angular, linear
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, tool, twist, 0)
    at = model.joint(model.body("ball").jntadr[0])
    data.qpos[at.qposadr[0] : at.qposadr[0] + 3] = data.xpos[tool] + arm
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, (turn @ in_tool[:3, :3]).ravel())
    data.qpos[at.qposadr[0] + 3 : at.qposadr[0] + 7] = quat
    spin = twist[:3]
    body = np.linalg.solve(turn @ in_tool[:3, :3], spin)  # MuJoCo's is in the body's axes
    data.qvel[at.dofadr[0] : at.dofadr[0] + 6] = [*(twist[3:] + np.cross(spin, arm)), *body]
    mujoco.mj_forward(model, data)


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """Distance from the target at its time [m], in both engines, joints as planned and as executed.

    Executed: through the mock controller, which lags; the release waits for its delay.
    """
    config = _stiffened(load_plan(PLAN))
    found = plan(config)
    assert found.status == "reached", found.status
    trajectory, twin = found.carried.trajectory, Twin(_twin(config.source), base=PLAN)
    late = trajectory.release + twin.config.controller.dynamics.delay
    motions = {
        "planned": (found.carried.motion, trajectory.release),
        "executed": (executed(twin.config, trajectory).motion, late),
    }
    figures: dict = {"tolerance_m": float(config.goals[0].sigma)}
    for name, (motion, release) in motions.items():
        record = twin.episode().play(replace(motion, release=None), release)
        figures[name] = _compared(twin, record, config)
    worst = max(figures[name]["mujoco_m"] for name in motions)
    assert worst <= figures["tolerance_m"], f"{worst:.3g} m from the target in MuJoCo"
    return figures


def _twin(source) -> dict:
    """A twin whose truth is what the plan believes."""
    robot = source["robot"]
    return {"scene": source["scene"], "robot": robot["arm"], "grasp": robot["grasp"]}


def _stiffened(config: PlanConfig) -> PlanConfig:
    """The plan with another k_n, and steps that resolve the shorter touch."""
    scene = copy.deepcopy(config.source["scene"])
    scene["contact"][0]["k_n"] = STIFF
    scene["world"] |= {"step": FINE, "record_every": round(0.002 / FINE)}
    return load_plan({**config.source, "scene": scene}, base=PLAN)


def _ball(twin: Twin) -> Ball:
    description, truth = twin.config.scene.description, twin.truth
    radius = description["bodies"]["ball"]["shape"]["sphere"]["radius"]
    inertia = truth["ball.inertia.xx"]
    law = (truth[f"table.{key}"] for key in ("k_n", "c_n", "c_f"))
    return Ball(radius, truth["ball.mass"], inertia, *law)


def _impact(record: TwinRecord, ball: Ball) -> tuple[float, float]:
    """Speed [m/s] of the first touch, and its time after the release [s]."""
    begin = record.state("ball", record.release)
    rise, drop = begin.velocity[0, 2], begin.position[0, 2] - ball.radius
    speed = float(np.sqrt(rise**2 + 2 * GRAVITY * drop))
    return speed, float(rise + speed) / GRAVITY


def _compared(twin: Twin, record: TwinRecord, config: PlanConfig) -> dict:
    """Of one motion of the joints: at the release, in flight and at the target's time."""
    ball = _ball(twin)
    impact, touch = _impact(record, ball)
    times = np.array([0.0, 0.9 * touch, config.source["goals"][0]["at"]])
    theirs = thrown(
        twin.config.arm, record.motion, record.release, record.held.in_tool, ball, times, impact
    )
    ours, target = record.centre("ball", record.release + times), config.goals[0].target
    between = np.linalg.norm(ours - theirs, axis=1)
    return {
        "impact_speed_m_s": impact,
        "ours_m": float(np.linalg.norm(ours[-1] - target)),
        "mujoco_m": float(np.linalg.norm(theirs[-1] - target)),
        "between_at_release_m": float(between[0]),
        "between_in_flight_m": float(between[1]),
        "between_at_target_m": float(between[-1]),
    }
