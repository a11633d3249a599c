"""Whole published models with the contact of their files, one second, beside MuJoCo.

Each starts where its file has it (a keyframe, or the start that its package gives), lifted out of
the ground, with the file's controls.  A URDF has no ground and no motors: it stands on a plane with
the same servos here and in MuJoCo, each of which reads the URDF by itself.  Bodies are compared
after DURATION as shares of the model's size.  MuJoCo's own result at its step and at half of it
says how far its motion hangs on the step: where that is less than SETTLED, ours must be within
CLOSE of it.
"""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.robots.urdf import mesh_file
from diffsim_ros.simulation.scene import load_scene

from .common import Models, judged, share
from .zoo import package_folders

DURATION = 1.0
STEP = {"implicit": 0.002, "velocity": 0.002}
SETTLED, CLOSE = 0.01, 0.05
"""Shares of a model's size."""
MARK = "target"
"""In names of bodies that show a goal and touch nothing."""


@dataclass(frozen=True)
class Stance:
    """How a URDF starts: height of its root [m], servos [N m/rad, N m s/rad], where a joint's name
    has the key: its angle [rad]."""

    height: float
    servo: tuple[float, float]
    angles: dict[str, float]

    def angle(self, joint: str) -> float:
        """Start and target of a joint [rad]: that of the first key which its name has, else 0."""
        return next((angle for key, angle in self.angles.items() if key in joint), 0.0)


@dataclass(frozen=True)
class Whole:
    """A model: end of its path, its base body, keyframe, and `init_qpos` of its custom numbers;
    or how it stands, of a URDF."""

    file: str
    base: str
    keyframe: str | None = None
    init: bool = False
    stance: Stance | None = None


MODELS = {
    "dm_control humanoid": Whole("dm_control/suite/humanoid.xml", "torso"),
    "dm_control quadruped": Whole("dm_control/suite/quadruped.xml", "torso"),
    "dm_control dog": Whole("dm_control/suite/dog.xml", "torso"),
    "dm_control stacker": Whole("dm_control/suite/stacker.xml", "box0"),
    "gymnasium ant": Whole("gymnasium/envs/mujoco/assets/ant.xml", "torso", init=True),
    "gymnasium humanoid": Whole("gymnasium/envs/mujoco/assets/humanoid.xml", "torso"),
    "gymnasium hopper": Whole("gymnasium/envs/mujoco/assets/hopper.xml", "torso"),
    "barkour": Whole("mjx/test_data/barkour_v0/assets/barkour_v0_mjx.xml", "chassis", "standing"),
    "shadow hand with a block": Whole("assets/hand/manipulate_block.xml", "object"),
    "shadow hand": Whole("mjx/test_data/shadow_hand/scene_right.xml", "object"),
    "A1": Whole("a1_description/urdf/a1.urdf", "base", stance=Stance(
        0.30, (80.0, 2.0), {"thigh": 0.8, "calf": -1.81})),
    "Go1": Whole("go1_description/urdf/go1.urdf", "base", stance=Stance(
        0.30, (80.0, 2.0), {"thigh": 0.8, "calf": -1.853})),
    "G1": Whole("g1_description/urdf/g1_29dof_rev_1_0.urdf", "pelvis", stance=Stance(
        0.78, (400.0, 10.0), {"hip_pitch": -0.3, "knee": 0.6, "ankle_pitch": -0.3})),
    "ANYmal B": Whole("anymal_b_simple_description/robots/anymal.urdf", "base", stance=Stance(
        0.48, (300.0, 8.0), {"LF_HAA": -0.1, "LH_HAA": -0.1, "HAA": 0.1, "LF_HFE": 0.7,
                             "RF_HFE": 0.7, "HFE": -0.7, "LF_KFE": -1.0, "RF_KFE": -1.0,
                             "KFE": 1.0})),
    "ANYmal C": Whole("anymal_c_simple_description/urdf/anymal.urdf", "base", stance=Stance(
        0.48, (300.0, 8.0), {"LF_HAA": -0.1, "LH_HAA": -0.1, "HAA": 0.1, "LF_HFE": 0.7,
                             "RF_HFE": 0.7, "HFE": -0.7, "LF_KFE": -1.0, "RF_KFE": -1.0,
                             "KFE": 1.0})),
}  # fmt: skip

ABSENT = {"Cassie": "example-robot-data has it as SDF alone, which MuJoCo does not read"}
"""Asked for, in no package."""


def study(fraction: float = 1.0, folder: Path | None = None) -> dict[str, Any]:
    """Figures of every model that is found; Missed where one is off."""
    roots = [root for root in [folder or Models.folder] if root] or package_folders()
    found: dict[str, Any] = {}
    names = list(MODELS)[: share(len(MODELS), fraction)]
    for name in names:
        files = [f for root in roots for f in root.rglob(Path(MODELS[name].file).name)
                 if str(f).endswith(MODELS[name].file)]  # fmt: skip
        found[name] = compared(files[0], MODELS[name]) if files else "not installed"
    return judged({"models": found, "not_on_pypi": ABSENT}, missed_bars(found))


def missed_bars(found: dict[str, Any]) -> list[str]:
    """One sentence for each that is refused, fails, or is off where MuJoCo is sure of itself."""
    missed = []
    for name, row in found.items():
        if isinstance(row, str):
            continue
        for stepper in STEP:
            own = row[stepper]
            if "off" not in own:
                missed.append(f"{name}, {stepper}: {own['status']}")
            elif row["mujoco"]["by_step"] < SETTLED and own["off"] > CLOSE:
                missed.append(f"{name}, {stepper}: off by {own['off']:.1%} of its size")
    return missed


def compared(file: Path, whole: Whole) -> dict[str, Any]:
    """Base height and time per step of both steppers and of MuJoCo, and how far they are apart."""
    model = _model(file, whole)
    runs = {stepper: _ours(file, whole, model, stepper) for stepper in STEP}
    starts = [run["start"] for run, _ in runs.values() if "start" in run]
    if not starts:
        return {"mujoco": {}, **{s: {"status": run["status"]} for s, (run, _) in runs.items()}}
    lifted = starts[0]
    coarse, fine = (_theirs(model, whole, lifted, factor) for factor in (1, 2))
    size = max(float(np.ptp(np.array(list(lifted.values())), axis=0).max()), 1e-3)
    row: dict[str, Any] = {
        "size": size, "read": "URDF" if whole.stance else "MJCF",
        "mujoco": {"base": coarse["places"].get(whole.base, np.zeros(3)).tolist(),
                   "base_at_half_step": fine["places"].get(whole.base, np.zeros(3)).tolist(),
                   "by_step": _apart(coarse["places"], fine["places"]) / size,
                   "step": model.opt.timestep, "ms_per_step": coarse["ms"]},
    }  # fmt: skip
    for stepper, (run, figures) in runs.items():
        row[stepper] = {"status": run["status"], **figures}
        if "end" in run:
            row[stepper] |= {
                "base": run["end"].get(whole.base, np.zeros(3)).tolist(),
                "off": _apart(run["end"], fine["places"]) / size,
            }
    return row


def _apart(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    both = set(one) & set(other)
    return max((float(np.linalg.norm(one[b] - other[b])) for b in both), default=0.0)


def _model(file: Path, whole: Whole) -> Any:
    """MuJoCo's model; of a URDF on a plane, free, with its servos."""
    import mujoco

    if whole.stance is None:
        return mujoco.MjModel.from_xml_path(str(file))
    tree = ElementTree.parse(file)
    for link in tree.iter("link"):
        for seen in link.findall("visual"):
            link.remove(seen)
    for inertia in tree.iter("inertia"):  # all six numbers alike: placeholders
        if len(set(inertia.attrib.values())) == 1:
            inertia.attrib.update(ixy="0", ixz="0", iyz="0")
    for mesh in tree.iter("mesh"):
        mesh.set("filename", str(mesh_file(file, mesh.get("filename", ""), {})))
    compiler = {"strippath": "false", "fusestatic": "false", "balanceinertia": "true"}
    ElementTree.SubElement(ElementTree.SubElement(tree.getroot(), "mujoco"), "compiler", compiler)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(tree.getroot(), encoding="unicode"))
    spec.option.timestep = STEP["implicit"]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[9, 9, 1])
    for geom in spec.geoms:
        geom.density = 0.0  # a link without <inertial> has no mass
    spec.bodies[1].add_freejoint()
    stiffness, damping = whole.stance.servo
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_HINGE:
            servo = spec.add_actuator(name=joint.name, target=joint.name,
                                      trntype=mujoco.mjtTrn.mjTRN_JOINT)  # fmt: skip
            servo.set_to_position(kp=stiffness, kv=damping)
    return spec.compile()


def _start(model: Any, whole: Whole) -> Any:
    """MuJoCo's data at the start of the file."""
    import mujoco

    data = mujoco.MjData(model)
    if whole.stance:
        data.qpos[2] = whole.stance.height
        for k in range(model.nu):
            name = model.actuator(k).name
            data.ctrl[k] = data.joint(name).qpos[0] = whole.stance.angle(name)
    elif whole.keyframe:
        mujoco.mj_resetDataKeyframe(model, data, model.key(whole.keyframe).id)
    elif whole.init:
        data.qpos[:] = model.numeric("init_qpos").data
    mujoco.mj_kinematics(model, data)
    return data


def _ours(
    file: Path, whole: Whole, model: Any, stepper: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Status, places of bodies at start and end; contacts and time per step."""
    robot: dict[str, Any] = {"contact": "from the file", "lift": True}
    robot["urdf" if whole.stance else "mjcf"] = str(file)
    if whole.stance:
        stiffness, damping = whole.stance.servo
        joints = [model.actuator(k).name for k in range(model.nu)]
        robot |= {"base": "free", "inertia": "mend",
                  "pose": {"position": [0, 0, whole.stance.height]},
                  "angles": {joint: whole.stance.angle(joint) for joint in joints},
                  "drive": {"stiffness": stiffness, "damping": damping}}  # fmt: skip
    if whole.keyframe:
        robot["keyframe"] = whole.keyframe
    if whole.init:
        data = _start(model, whole)
        robot["angles"] = {
            model.joint(j).name: float(data.qpos[model.jnt_qposadr[j]])
            for j in range(model.njnt) if model.jnt_type[j] >= 2
        }  # fmt: skip
    step = STEP[stepper]
    scene = {
        "world": {"step": step, "duration": DURATION, "stepper": stepper,
                  "gravity": model.opt.gravity.tolist()},
        "robots": {"r": robot},
    }  # fmt: skip
    if whole.stance:
        scene["sdfs"] = {"floor": {"plane": {}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            loaded = load_scene(scene)
            begin = time.perf_counter()
            run = loaded.rollout(allow_failure=True)
        except InputError as error:
            return {"status": f"refused: {error}".replace(str(file), file.name)[:300]}, {}
    seconds = time.perf_counter() - begin
    names = [name for name in _names(model)[1:] if name in run and MARK not in name]
    figures = {"contacts": len(loaded.parts.contacts),
               "ms_per_step": 1e3 * seconds / max(len(run.time) - 1, 1)}  # fmt: skip
    found = {"status": "ok" if run.ok else str(run.status),
             "start": {n: run[n].position[0] for n in names}}  # fmt: skip
    if run.ok:
        found["end"] = {n: run[n].position[-1] for n in names}
    return found, figures


def _theirs(model: Any, whole: Whole, start: dict[str, np.ndarray], factor: int) -> dict[str, Any]:
    """MuJoCo's places from the same start, lifted alike, at a fraction of its step."""
    import mujoco

    data, own = _start(model, whole), model.opt.timestep
    for j in range(model.njnt):
        body, q = int(model.jnt_bodyid[j]), int(model.jnt_qposadr[j])
        name = _names(model)[body]
        if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE and name in start:
            data.qpos[q : q + 3] += start[name] - _centre(model, data, body)
    model.opt.timestep = own / factor
    begin, steps = time.perf_counter(), round(DURATION * factor / own)
    for _ in range(steps):
        mujoco.mj_step(model, data)
    ms = 1e3 * (time.perf_counter() - begin) / steps
    model.opt.timestep = own
    mujoco.mj_kinematics(model, data)
    places = {name: _centre(model, data, b) for b, name in enumerate(_names(model)) if b}
    return {"places": {name: at for name, at in places.items() if MARK not in name}, "ms": ms}


def _names(model: Any) -> list[str]:
    """Of bodies, as a scene has them."""
    given = [model.body(b).name for b in range(model.nbody)]
    return [re.sub(r"[^A-Za-z0-9_-]", "_", name) for name in given]


def _centre(model: Any, data: Any, body: int) -> np.ndarray:
    """Centre of mass (3,) of a body with all that is fixed to it."""
    group = np.flatnonzero(model.body_weldid == model.body_weldid[body])
    mass = model.body_mass[group]
    return mass @ data.xipos[group] / mass.sum() if mass.sum() > 0 else data.xpos[body].copy()
