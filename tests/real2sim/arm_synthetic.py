"""Logs of an arm that is like a URDF's, but not quite, made by its own inverse dynamics."""

import numpy as np

from diffsim_ros.real2sim.efforts.physical import from_pseudo_inertia, pseudo_inertia
from diffsim_ros.robots.dynamics import inertial_parameters, regressor
from diffsim_ros.sensing.observation import Observation

GAINS = np.array([0.1, -0.08, 0.12, 0.5, -0.4, 0.3])  # motors on either side of their gears
OFFSETS = np.array([0.02, 0.0, -0.03, 0.01, 0.02, 0.0])
VISCOUS, DRY, BY_LOAD = 0.5, 0.8, 0.1  # [N m s], [N m], N m per N m


def true_inertias(robot):
    """Inertial parameters of an arm that is like the URDF's, but not quite."""
    rng, rows = np.random.default_rng(8), []
    for phi in inertial_parameters(robot):
        L = np.linalg.cholesky(pseudo_inertia(phi))
        turn = np.eye(4) + 0.15 * rng.normal(size=(4, 4))
        rows.append(from_pseudo_inertia(L @ turn @ turn.T @ L.T))
    return np.array(rows)


def recording(
    robot, seed, noise=0.002, law="coulomb_viscous", seconds=30.0, rate=100.0, gains=GAINS,
    inertias=None,
):  # fmt: skip
    """Observation of a random smooth motion, its efforts in amperes, say."""
    rng, t = np.random.default_rng(seed), np.arange(0, seconds, 1 / rate)
    n = len(robot.joints)
    q, qd, qdd = np.zeros((3, len(t), n))
    for k in range(1, 6):
        w, a, p = 2 * np.pi * 0.1 * k, 0.5 * rng.normal(size=n) / k, rng.uniform(0, 6, n)
        q += a * np.sin(w * t[:, None] + p)
        qd += a * w * np.cos(w * t[:, None] + p)
        qdd -= a * w * w * np.sin(w * t[:, None] + p)
    phi = true_inertias(robot) if inertias is None else inertias
    load = np.einsum("njp,p->nj", regressor(robot, q, qd, qdd), phi.ravel())
    dry = DRY + (BY_LOAD * np.abs(load) if law == "load" else 0.0)
    effort = (load + VISCOUS * qd + dry * np.sign(qd)) * gains[:n] + OFFSETS[:n]
    values = {"position": q, "effort": effort + noise * rng.normal(size=effort.shape)}
    return Observation(
        kind="joints", t=t, names=robot.joint_names, values=values, source=f"log{seed}"
    )
