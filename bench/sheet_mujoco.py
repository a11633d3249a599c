"""The sheets in MuJoCo, in two forms.

membrane   flex of dimension 2 with the springs' equivalent elasticity, integrator `discrete`,
           the only one that takes it implicitly
springs    flex of dimension 1 with the very same springs, which no implicit integrator of
           MuJoCo 4.0 takes: Euler, at steps small enough to stay stable
"""

from __future__ import annotations

import mujoco
import numpy as np

from .ball_scene import timed
from .sheet_scene import C_F, DURATION, RADIUS, RELAXATION, SPHERE, STIFFNESS, Fall, Sheet

mujoco.set_mju_user_warning(lambda message: None)  # no log file in the caller's folder
THICKNESS = 1e-3  # m; only its product with Young's modulus acts
SETTINGS = {
    "membrane": 'integrator="discrete" solver="CG"',
    "springs": 'integrator="Euler" solver="CG"',
}


def model(sheet: Sheet, dt: float, kind: str) -> mujoco.MjModel:
    """One body on three slides per vertex (none if it is held), a flex over them, the sphere."""
    slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    bodies = "".join(
        f'<body name="v{i}" pos="{x!r} {y!r} {z!r}">'
        f'<inertial pos="0 0 0" mass="{sheet.mass!r}" diaginertia="1e-9 1e-9 1e-9"/>'
        f"{'' if i in sheet.held else slides}</body>"
        for i, (x, y, z) in enumerate(sheet.vertices.tolist())
    )
    if kind == "membrane":
        dim, elements = 2, sheet.triangles
        law = (
            f'<elasticity young="{4 / 3 * STIFFNESS / THICKNESS!r}" poisson="{1 / 3!r}" '
            f'thickness="{THICKNESS}" damping="{RELAXATION}" elastic2d="stretch"/>'
        )
    else:
        dim, elements = 1, sheet.edges
        law = f'<edge stiffness="{STIFFNESS}" damping="{STIFFNESS * RELAXATION}"/>'
    falls = sheet.scene == "drop"
    sphere = f'<geom type="sphere" size="{SPHERE}" friction="{C_F} 0 0"/>' if falls else ""
    touch = f'condim="3" friction="{C_F} 0 0"' if falls else 'contype="0" conaffinity="0"'
    names = " ".join(f"v{i}" for i in range(len(sheet.vertices)))
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{dt!r}" {SETTINGS[kind]}/><worldbody>{sphere}{bodies}'
        f'</worldbody><deformable><flex name="sheet" dim="{dim}" radius="{RADIUS}" body="{names}" '
        f'element="{" ".join(map(str, elements.ravel()))}">{law}'
        f'<contact selfcollide="none" {touch}/></flex></deformable></mujoco>'
    )


def simulate(sheet: Sheet, dt: float, kind: str = "membrane", duration: float = DURATION) -> Fall:
    """One fall; a motion that blows up ends at once."""
    m = model(sheet, dt, kind)
    d = mujoco.MjData(m)
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    cpu = timed(round(duration / dt), lambda k: mujoco.mj_step(m, d), lambda k: None)
    mujoco.mj_kinematics(m, d)
    mujoco.mj_flex(m, d)
    return Fall(
        np.array(d.flexvert_xpos), cpu / round(duration / dt),
        int(d.warning[mujoco.mjtWarning.mjWARN_INERTIA].number),
    )  # fmt: skip
