"""The same falls in MuJoCo: how far its central differences scatter with the phase of touchdown.

D is taken by central differences of MuJoCo's own motion and compared with that of its own shorter
steps. Its contact is a spring and dashpot of the scene's k_n, and of its restitution at the
first touch; its friction is MuJoCo's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros.scene.export import damping_ratio, restitution

DIFFERENCES = (1e-6, 1e-3, 1e-2)
"""Of the start velocity [m/s]: as small as rounding lets it be, and wider than a step's phase."""
IMPEDANCE = 0.9999  # share of the asked acceleration that the contact gives


def model_of(values: Mapping[str, float], body: str, contact: str, shape: str, impact: float):
    """MuJoCo's model of a body above the plane z = 0.

    values  of the engine's parameters;  shape  the geom's type and size;  impact  [m/s]
    """
    import mujoco

    mass, k_n = values[f"{body}.mass"], values[f"{contact}.k_n"]
    inertia = " ".join(repr(values[f"{body}.inertia.{axis}"]) for axis in ("xx", "yy", "zz"))
    zeta = damping_ratio(restitution(values[f"{contact}.c_n"] * impact))
    stiffness, c_f = k_n / mass, values[f"{contact}.c_f"]
    damping = 2 * zeta * math.sqrt(stiffness)
    return mujoco.MjModel.from_xml_string(
        '<mujoco><option cone="elliptic" impratio="100" tolerance="1e-12" iterations="200"/>'
        '<worldbody><geom name="floor" type="plane" size="0 0 1"/><body name="body"><freejoint/>'
        f'<inertial pos="0 0 0" mass="{mass!r}" diaginertia="{inertia}"/>'
        f'<geom name="geom" {shape}/></body></worldbody><contact>'
        f'<pair geom1="geom" geom2="floor" condim="3" friction="{c_f!r} {c_f!r} 0 0 0" '
        f'solref="{-stiffness!r} {-damping!r}" solreffriction="0.005 1" '
        f'solimp="{IMPEDANCE} {IMPEDANCE} 0.001 0.5 2"/></contact></mujoco>'
    )


def fall(model, values: Mapping[str, float], body: str, duration: float) -> Callable:
    """end(velocity, up, step): the body's centre (3,) [m] at the end, started `up` higher [m]."""
    import mujoco

    def start(what: str) -> np.ndarray:
        return np.array([values[f"{body}.{what}.{axis}"] for axis in "xyz"])

    turn = Rotation.from_rotvec(start("rotation"))
    spin = turn.inv().apply(start("angular_velocity"))  # MuJoCo's is in the body's axes

    def end(velocity: np.ndarray, up: float, step: float) -> np.ndarray:
        data, steps = mujoco.MjData(model), round(duration / step)
        model.opt.timestep = duration / steps
        data.qpos[:] = [*start("position"), *np.roll(turn.as_quat(), 1)]
        data.qpos[2] += up
        data.qvel[:] = [*velocity, *spin]
        mujoco.mj_step(model, data, steps)
        return data.qpos[:3].copy()

    return end


def differences(end: Callable, velocity: np.ndarray, up: float, step: float, e: float):
    """D (3, 3) by central differences of e [m/s]."""
    moves = e * np.eye(3)
    return np.stack(
        [(end(velocity + m, up, step) - end(velocity - m, up, step)) / (2 * e) for m in moves],
        axis=1,
    )


def scatter(end: Callable, velocity: np.ndarray, step: float, ups: np.ndarray) -> dict:
    """rms of the differences at this step over the heights `ups`, by their width.

    They are compared with the widest ones at an eighth of the step, the mean over two heights.
    """
    wide = [differences(end, velocity, up, step / 8, DIFFERENCES[-1]) for up in ups[::16][:2]]
    fine = np.mean(wide, axis=0)
    size, found = float(np.linalg.norm(fine)), {}
    for e in DIFFERENCES:
        error = np.array([differences(end, velocity, up, step, e) for up in ups]) - fine
        found[f"{e:g}"] = float(np.sqrt(np.mean(np.sum(error**2, axis=(1, 2)))) / size)
    return {"rms": found, "size": size}
