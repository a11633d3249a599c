"""The refined gait in MuJoCo: the same robot and targets, its feet spheres with soft contacts.

A constraint of MuJoCo with constant impedance d gives the force (d/(1 - d)/A)(k depth + b rate -
acceleration), A the foot's inverse mass as MuJoCo estimates it (`body_invweight0`): a spring and
dashpot beside a share d/(1 - d) of that mass.  d is small, k and b are those that a foot of our
engine has when it is pressed on the ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.planning.locomotion.compliant_config import CompliantConfig
from diffsim_ros.scene import load_scene

from .common import ROOT
from .compliant_gait import LEGS

URDF = ROOT / "urdf" / "soft_foot_quadruped.urdf"
IMPEDANCE = 0.1
STEP = 1e-4
LOAD = 12.5  # [N] on each of two feet: at which depth stiffness is taken
SLOW, FAST = 0.005, 0.1  # [m/s]
DEPTH = 0.006  # [m] to which a foot is pressed


@dataclass(frozen=True)
class Foot:
    """radius [m], mass [kg], stiffness [N/m] and damping [N s/m] when pressed, friction [1]."""

    radius: float
    mass: float
    stiffness: float
    damping: float
    friction: float


def pressed(config: CompliantConfig, leg: str = "FL") -> Foot:
    """A foot of the scene, pressed on its ground by a plate that it is glued to."""
    description = config.scene.description
    body = dict(description["bodies"][f"{leg}_foot"])
    contact = next(c for c in description["contact"] if c["points"] == f"{leg}_foot")
    radius = body["shape"]["ball"]["radius"]
    body |= {"glue": [{**body["glue"][0], "to": "plate"}]}
    start = [0.0, 0.0, radius + 1e-4]
    body["pose"] = {**body["pose"], "position": start}
    values = {
        name: value for name, value in zip(
            [info.name for info in config.scene.engine.parameters], config.scene.engine.values,
            strict=True,
        ) if name.startswith((f"{leg}_foot.", f"{contact['name']}.")) and "position" not in name
    }  # fmt: skip

    def force(speed: float) -> tuple[np.ndarray, np.ndarray]:
        """Depths [m] and forces [N]."""
        end = DEPTH / speed
        low = [0.0, 0.0, start[2] - DEPTH]
        plate = {
            "type": "kinematic",
            "waypoints": [{"time": 0, "position": start}, {"time": end, "position": low}],
        }
        scene = load_scene({
            "world": {"step": min(1 / 2000, end / 200), "duration": end},
            "materials": description["materials"],
            "bodies": {"plate": plate, f"{leg}_foot": body},
            "sdfs": {contact["against"]: description["sdfs"][contact["against"]]},
            "contact": [contact],
        }, base=config.place)  # fmt: skip
        p = np.array(scene.engine.values)
        for name, value in values.items():
            if "velocity" not in name and "rotation" not in name:
                p[scene.engine.index(name)] = value
        name = f"{contact['name']}.force"
        run = _engine.rollout(scene.engine, p, scene.steps, scene.options, outputs=[name])
        assert run.ok, run.message
        pushed = np.asarray(run.outputs[name]).reshape(len(run.time), -1)[:, 2]
        return np.asarray(run.time) * speed - 1e-4, np.abs(pushed)

    depth, slow = force(SLOW)
    k = int(np.argmax(slow >= LOAD))
    fast_depth, fast = force(FAST)
    more = float(np.interp(depth[k], fast_depth, fast) - slow[k])
    mass = float(config.scene.engine.values[config.scene.engine.index(f"{leg}_foot.density")])
    mass *= 4.0 / 3.0 * np.pi * radius**3
    friction = values[f"{contact['name']}.c_f"]
    return Foot(radius, mass, float(slow[k] / depth[k]), more / (FAST - SLOW), friction)


def model_of(foot: Foot) -> Any:
    """MuJoCo's model of robot and ground."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(URDF))
    spec.compiler.fusestatic = False
    spec.option.timestep, spec.option.impratio = STEP, 100.0
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[50, 50, 0.1])
    spec.body("trunk").add_freejoint()
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_HINGE:
            joint.armature, joint.limited = 0.0005, False
    for leg in LEGS:
        body = spec.body(f"{leg}_foot")
        body.mass, body.explicitinertial, body.ipos = foot.mass, True, [0, 0, 0]
        body.inertia = [0.4 * foot.mass * foot.radius**2] * 3
        body.add_geom(name=leg, type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[foot.radius, 0, 0])
        pair = spec.add_pair(name=leg, geomname1=leg, geomname2="ground", condim=3)
        pair.friction = [foot.friction, foot.friction, 0, 0, 0]
        pair.solimp = [IMPEDANCE, IMPEDANCE, 0.001, 0.5, 2]
    model = spec.compile()
    for leg in LEGS:
        pair = model.pair(leg)
        A = model.body_invweight0[model.body(f"{leg}_foot").id, 0]
        share = (1.0 - IMPEDANCE) / IMPEDANCE * A
        pair.solref[:] = [-foot.stiffness * share, -foot.damping * share]
    return model


def walked(config: CompliantConfig, targets: np.ndarray, foot: Foot) -> np.ndarray:
    """Poses of the trunk (rows, 7) [m, w x y z] at the rows of the config's rollout."""
    import mujoco

    model = model_of(foot)
    data = mujoco.MjData(model)
    body = config.scene.parts.bodies[config.options["body"]]
    x, y, z, w = body.pose["orientation"]
    data.qpos[:7] = [*body.pose["position"], w, x, y, z]
    joints = [model.joint(name) for name in config.nominal.joints]
    at, dof = (np.array([getattr(j, key)[0] for j in joints]) for key in ("qposadr", "dofadr"))
    data.qpos[at] = config.standing
    engine, values = config.scene.engine, config.scene.engine.values
    gains = [
        np.array([values[engine.index(f"{m}.{word}")] for m in config.motors])
        for word in ("stiffness", "damping")
    ]
    keys = _keys(config, targets)
    interval, found = config.nominal.interval, []
    steps = round(interval / STEP)
    for k in range(len(keys)):
        found.append(data.qpos[:7].copy())
        rate = (keys[min(k + 1, len(keys) - 1)] - keys[k]) / interval
        for i in range(steps if k + 1 < len(keys) else 0):
            goal = keys[k] + rate * (i + 1) / steps * interval
            data.qfrc_applied[dof] = gains[0] * (goal - data.qpos[at])
            data.qfrc_applied[dof] += gains[1] * (rate - data.qvel[dof])
            model.opt.timestep = interval / steps
            mujoco.mj_step(model, data)
    return np.array(found)


def _keys(config: CompliantConfig, targets: np.ndarray) -> np.ndarray:
    """Targets of all rows for those of a cycle (n, m)."""
    share, row = config.nominal.shares(config.cycles, config.options["lead_in"])
    return config.standing + share[:, None] * (targets[row] - config.standing)


def speeds(config: CompliantConfig, poses: np.ndarray) -> dict[str, Any]:
    """Speeds [m/s] of the trunk, and whether it stayed up."""
    ends = poses[config.ends]
    duration = config.cycles * config.nominal.period
    up = 1.0 - 2.0 * (poses[:, 4] ** 2 + poses[:, 5] ** 2)  # cosine of the tilt
    return {
        "speed": float((ends[-1, 0] - ends[0, 0]) / duration),
        "speeds": (np.diff(ends[:, 0]) / config.nominal.period).tolist(),
        "largest_tilt": float(np.arccos(np.clip(up.min(), -1, 1))),
        "lowest": float(poses[:, 2].min()),
        "drift": float(np.abs(poses[:, 1]).max()),
    }
