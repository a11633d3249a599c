"""The thrown soft ball in MuJoCo: a flex of dimension 3 whose vertices are bodies on three slides.

Integrator `discrete`, the only one in MuJoCo 4.0 that integrates flex elasticity implicitly (Euler
and RK4 blow up at all steps benched here). CG and the pyramidal cone are its cheapest: Newton costs
2 to 5 times as much for the same motion. `iterations` is raised, as at the default of 100 the
solve of M + K ends unconverged on the larger meshes. Contact keeps MuJoCo's default softness.
"""

from __future__ import annotations

import mujoco
import numpy as np

from .ball_scene import (
    C_F,
    DURATION,
    HEIGHT,
    POISSON,
    SPIN,
    VELOCITY,
    YOUNG,
    Mesh,
    Throw,
    timed,
)

NAME = f"mujoco {mujoco.__version__}"
DAMPING = 0.01  # s, times the stiffness
SETTINGS = 'integrator="discrete" solver="CG" cone="pyramidal" iterations="500" tolerance="1e-6"'
EPSILONS = (1e-1, 1e-2, 1e-3, 1e-4)  # m/s and rad/s, of the central differences


# Warnings are counted where they matter; MuJoCo would write them to a file in the caller's folder.
mujoco.set_mju_user_warning(lambda message: None)


def model(mesh: Mesh, dt: float) -> mujoco.MjModel:
    """Bodies with the lumped masses, a flex over them, a plane."""
    slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    bodies = "".join(
        f'<body name="v{i}" pos="{x!r} {y!r} {z + HEIGHT!r}">'
        f'<inertial pos="0 0 0" mass="{m!r}" diaginertia="1e-9 1e-9 1e-9"/>{slides}</body>'
        for i, ((x, y, z), m) in enumerate(
            zip(mesh.vertices.tolist(), mesh.masses.tolist(), strict=True)
        )
    )
    names = " ".join(f"v{i}" for i in range(len(mesh.vertices)))
    tets = " ".join(map(str, mesh.tets.ravel()))
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{dt!r}" {SETTINGS}/><worldbody>'
        f'<geom type="plane" size="0 0 1" friction="{C_F} 0 0"/>{bodies}</worldbody><deformable>'
        f'<flex name="ball" dim="3" radius="1e-4" body="{names}" element="{tets}">'
        f'<elasticity young="{YOUNG}" poisson="{POISSON}" damping="{DAMPING}"/>'
        f'<contact selfcollide="none" condim="3" friction="{C_F} 0 0"/></flex>'
        "</deformable></mujoco>"
    )


class Ball:
    """One mesh at one step; `throw` may be called again and again."""

    def __init__(self, mesh: Mesh, dt: float):
        self.mesh, self.model = mesh, model(mesh, dt)
        self.data = mujoco.MjData(self.model)
        self.rest = mesh.vertices + np.array([0, 0, HEIGHT])

    def throw(self, duration: float = DURATION, v=VELOCITY, w=SPIN) -> Throw:
        """Start velocity v [m/s] and spin w [rad/s]."""
        m, d, dt = self.model, self.data, self.model.opt.timestep
        mujoco.mj_resetData(m, d)
        d.qvel[:] = self.mesh.start(v, w).ravel()
        steps = round(duration / dt)
        centre = np.empty((steps + 1, 3))

        def record(k):
            centre[k] = self.mesh.centre(self.rest + d.qpos.reshape(-1, 3))

        record(0)
        cpu = timed(steps, lambda k: mujoco.mj_step(m, d), record)
        return Throw.of(centre, dt, cpu)


def simulate(mesh: Mesh, dt: float, duration: float = DURATION, v=VELOCITY, w=SPIN) -> Throw:
    """One throw."""
    return Ball(mesh, dt).throw(duration, v, w)


def gradient(mesh: Mesh, dt: float, epsilon: float = 1e-2) -> tuple[np.ndarray, float]:
    """dO/d(v, omega) (6,) by 12 rollouts, and their CPU seconds per step."""
    ball, slopes, cpu = Ball(mesh, dt), [], 0.0
    start = np.array([*VELOCITY, *SPIN])
    for k in range(6):
        ends = []
        for sign in (1, -1):
            moved = start.copy()
            moved[k] += sign * epsilon
            throw = ball.throw(v=moved[:3], w=moved[3:])
            cpu += throw.cpu_per_step
            ends.append(throw.objective)
        slopes.append((ends[0] - ends[1]) / (2 * epsilon))
    return np.array(slopes), cpu
