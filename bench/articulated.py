"""Robots in reduced coordinates: cost per step and of an exact gradient, beside MuJoCo.

A UR5 that falls on its joints' damping, and Solo12 dropped on its feet; 500 steps of 2 ms. The
engine takes implicit steps (BDF2, Newton to 1e-8) and one backward pass for the gradient by all
joints' damping; MuJoCo takes its implicitfast steps, and mjd_transitionFD (forward differences) at
each for what a gradient needs. One thread, one process, in turn; times are CPU times.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.scene import load_scene

from .chain import best_of

ROOT = Path(__file__).resolve().parents[1]
STEP, STEPS = 0.002, 500
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
RADIUS = 0.016
"""Of Solo12's feet [m]."""
STANCE = (0.0, 0.8, -1.6)
"""Angles of a leg [rad]."""
DAMPING = 0.02


def ur5() -> dict:
    """Scene of a UR5 on a table, stretched out, with its URDF's links."""
    angles = [0.3, -1.2, 1.4, -1.7, -1.5, 0.2]
    return {"urdf": str(ROOT / "urdf" / "ur5.urdf"), "angles": angles, "damping": 1.0}


def solo12() -> dict:
    """Robot of a scene: Solo12 above the ground, on its legs."""
    return {
        "urdf": str(ROOT / "data" / "robots" / "solo12.urdf"), "base": "free",
        "pose": {"position": [0, 0, 0.3]}, "angles": list(STANCE) * 4, "damping": DAMPING,
        "contact_spheres": {foot: {"radius": RADIUS} for foot in FEET},
    }  # fmt: skip


def scene_of(robot: dict) -> dict:
    """The scene of one robot, on the ground where it has feet."""
    scene: dict = {"world": {"step": STEP, "duration": STEP * STEPS}, "robots": {"robot": robot}}
    if "contact_spheres" in robot:
        bodies = [foot.replace("FOOT", "LOWER_LEG") for foot in FEET]
        scene["sdfs"] = {"ground": {"plane": {}}}
        scene["contact"] = [
            {"points": body, "against": "ground", "k_n": 2e4, "k_t": 100, "c_n": 0.5, "c_f": 0.7}
            for body in bodies
        ]
    return scene


def engine(robot: dict, repeats: int) -> dict:
    """Microseconds per step of the engine, and of step and gradient."""
    model = load_scene(scene_of(robot))
    scene, p = model.engine, model.engine.values
    active = [i for i, one in enumerate(scene.parameters) if one.name.endswith("friction_damping")]
    options = model.options

    def gradient() -> None:
        run = _engine.rollout(scene, p, STEPS, options, active=active, mode="store")
        assert run.ok, run.message
        seeds = np.zeros((len(run.time), scene.ndof))
        seeds[-1] = 1.0
        run.gradient(seeds, np.zeros_like(seeds))

    forward = best_of(repeats, lambda: _engine.rollout(scene, p, STEPS, options))
    both = best_of(repeats, gradient)
    run = _engine.rollout(scene, p, STEPS, options)
    return {
        "step_us": forward / STEPS * 1e6,
        "step_and_gradient_us": both / STEPS * 1e6,
        "newton_iterations": float(run.iterations.mean()),
        "halved_steps": run.halvings,
    }


def mujoco_model(robot: dict):
    """The same robot in MuJoCo, of the same URDF."""
    import mujoco

    text = Path(robot["urdf"]).read_text()
    text = re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.S)
    spec = mujoco.MjSpec.from_string(text)
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for joint in spec.joints:
        joint.damping = np.full_like(joint.damping, robot["damping"])
    if robot.get("base") == "free":
        base = spec.worldbody.first_body()
        base.add_freejoint()
        for name in FEET:
            foot = spec.body(name)
            foot.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[RADIUS, 0, 0], mass=0.0)
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    model = spec.compile()
    start = mujoco.MjData(model)
    start.qpos[-len(robot["angles"]) :] = robot["angles"]
    if robot.get("base") == "free":
        start.qpos[:3] = robot["pose"]["position"]
    return model, start


def peer(robot: dict, repeats: int) -> dict:
    """Microseconds per step of MuJoCo, and of step and mjd_transitionFD."""
    import mujoco

    model, start = mujoco_model(robot)
    A = np.zeros((2 * model.nv, 2 * model.nv))

    def go(derivatives: bool) -> None:
        data = mujoco.MjData(model)
        data.qpos[:] = start.qpos
        for _ in range(STEPS):
            if derivatives:
                mujoco.mjd_transitionFD(model, data, 1e-6, False, A, None, None, None)
            mujoco.mj_step(model, data)

    def steps() -> None:
        data = mujoco.MjData(model)
        data.qpos[:] = start.qpos
        mujoco.mj_step(model, data, STEPS)

    return {
        "step_us": best_of(repeats, steps) / STEPS * 1e6,
        "step_and_transition_fd_us": best_of(repeats, lambda: go(True)) / STEPS * 1e6,
        "coordinates": int(model.nv),
    }


def main(out: Path, *, repeats: int = 5) -> dict:
    """Figures of both robots; ratios are the engine's over MuJoCo's."""
    figures = {}
    for name, robot in (("ur5", ur5()), ("solo12", solo12())):
        own, other = engine(robot, repeats), peer(robot, repeats)
        figures[name] = {
            "engine": own,
            "mujoco": other,
            "step_ratio": own["step_us"] / other["step_us"],
            "gradient_ratio": own["step_and_gradient_us"] / other["step_and_transition_fd_us"],
            "gradient_over_mujoco_step": own["step_and_gradient_us"] / other["step_us"],
        }
    return figures
