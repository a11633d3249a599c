"""Contact and friction against closed forms: restitution, bounces, stopping, creeping, symmetry."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from diffsim_ros import _engine

from .common import share

CORNERS = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)
GROUND = _engine.Plane([0, 0, 1], 0)
G = 9.81
OMEGA_DT = 0.1  # sqrt(k_n / m) times the step
PHASES = 100
V_IN, K_N = 1.3, 2e4  # of the restitution study [m/s], [N/m]
RESTITUTIONS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1)


def rollouts(scene, P, steps, h, **options):
    """Batch on one thread; asserts that every one converged. Returns the rollouts."""
    options = _engine.Options(step=h, **{"order": 2, "record_every": steps} | options)
    done = _engine.rollout_batch(scene, np.atleast_2d(P), steps, options, threads=1)
    failed = [r.message for r in done if not r.ok]
    assert not failed, f"{len(failed)} of {len(done)} rollouts failed, first: {failed[0]}"
    return done


def ball(mass, position, velocity=(0, 0, 0), gravity=(0, 0, -G), sdf=GROUND, **contact):
    """A point mass 'body' that is its own contact point against sdf (contact 'ground')."""
    s = _engine.Scene()
    s.set_gravity(gravity)
    s.add_particle("body", mass=mass, position=position, velocity=velocity)
    s.add_points("point", bodies=["body"], local=np.zeros((1, 3)))
    s.add_contact("ground", points="point", sdf=sdf, **contact)
    return s


# --- restitution --------------------------------------------------------------------------------


def damping_for(e: float) -> float:
    """a = c_n v_in of the continuous law: the root of a (1 + e) = ln((1 + a) / (1 - e a)).

    m d'' = -k_n d (1 + c_n d') gives v dv / (1 + c_n v) = -(k_n/m) d dd; integrating from
    d = 0, v = v_in to d = 0, v = -e v_in leaves the relation, free of k_n and m.
    """
    if e == 1:
        return 0.0
    return brentq(lambda a: np.log((1 + a) / (1 - e * a)) - a * (1 + e), 1e-4, (1 - 1e-13) / e)


def thesis_restitution(zeta: float) -> float:
    """e of f_n = max(0, k_n d + k_d d'), zeta = k_d / (2 sqrt(k_n m)) < 1.

    The linear oscillator is left when f_n reaches 0, while still d > 0:
    e = exp(-zeta/sqrt(1-zeta^2) (pi - atan2(2 zeta sqrt(1-zeta^2), 1 - 2 zeta^2))).
    [G 4.5.2] integrates to d = 0 with an adhesive force: its e lacks the atan2.
    """
    root = np.sqrt(1 - zeta * zeta)
    return float(np.exp(-zeta / root * (np.pi - np.arctan2(2 * zeta * root, 1 - 2 * zeta * zeta))))


def relative_errors(e: float, mass: float, phases, **damping) -> np.ndarray:
    """v_out / (e v_in) - 1 for touchdowns at these phases within a step (n,), no gravity."""
    h = OMEGA_DT / np.sqrt(K_N / mass)
    scene = ball(
        mass, [0, 0, 1], [0, 0, -V_IN], gravity=[0, 0, 0], k_n=K_N, k_t=0.0, c_f=0.0, **damping
    )
    P = np.tile(scene.values, (len(phases), 1))
    P[:, scene.index("body.position.z")] = (5 + phases) * V_IN * h
    steps = 200  # contact takes pi / 0.1 steps, a little more when damped
    done = rollouts(scene, P, steps, h, record_modes=True)
    for r in done:
        assert r.modes.any() and not r.modes[-1].any(), "no bounce within the run"
    if "c_n" in damping:  # the thesis' law may have no root at touchdown
        assert not any(r.halvings for r in done), "a touchdown needed a halved step"
    return np.array([r.velocity[-1, 0, 2] for r in done]) / (e * V_IN) - 1


def study_restitution(fraction: float = 1.0, seed: int = 0) -> dict:
    """Coefficient of restitution by BDF2 at omega dt = 0.1, over touchdown phases.

    Bars for the continuous damping: mean |error| <= 1 %, worst <= 2 %. The thesis' law jumps at
    touchdown; its figures are reported without a bar.
    """
    n, mass = share(PHASES, fraction), 0.7
    phases = (np.arange(n) + np.random.default_rng(seed).random()) / n
    figures: dict = {"omega_dt": OMEGA_DT, "phases": n, "continuous": {}, "thesis": {}}
    for e in RESTITUTIONS:
        laws = {"continuous": {"c_n": damping_for(e) / V_IN}}
        if e > thesis_restitution(1 - 1e-9):  # it cannot go below exp(-2), where zeta = 1
            zeta = brentq(lambda z, e=e: thesis_restitution(z) - e, 0, 1 - 1e-9)
            laws["thesis"] = {"k_d": 2 * zeta * np.sqrt(K_N * mass), "damping": "thesis"}
        for law, damping in laws.items():
            error = relative_errors(e, mass, phases, **damping)
            figures[law][f"e={e}"] = {
                "mean_error": float(error.mean()), "mean_absolute": float(np.abs(error).mean()),
                "worst": float(np.abs(error).max()),
            }  # fmt: skip
    for e, figure in figures["continuous"].items():
        assert figure["mean_absolute"] <= 0.01, f"restitution {e}: {figure}, mean must be <= 1 %"
        assert figure["worst"] <= 0.02, f"restitution {e}: {figure}, worst must be <= 2 %"
    return figures


# --- bouncing cube ------------------------------------------------------------------------------


def box(half, mass, radius, k_n, k_t=0.0, c_f=0.0, c_n=0.0, sdf=GROUND, **start):
    """A rigid box 'body' with eight corner spheres against sdf (contact 'ground')."""
    half = np.asarray(half, float)
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    moments = mass / 3 * (half @ half - half**2)
    s.add_rigid_body(
        "body", mass=mass, inertia=[*moments, 0, 0, 0], radius=float(np.linalg.norm(half)), **start
    )
    s.add_points(
        "corners", bodies=["body"] * 8, local=CORNERS * half, inset=-CORNERS, radius=radius
    )
    s.add_contact("ground", points="corners", sdf=sdf, k_n=k_n, k_t=k_t, c_f=c_f, c_n=c_n)
    return s


def study_bouncing_cube(fraction: float = 1.0, seed: int = 0) -> dict:
    """The cube of [G Fig. 4.5], undamped, bouncing flat: energy lost per bounce <= 0.5 %.

    Energy m v^2/2 + m g z (z above rest height) is taken in flight, where the scheme keeps it;
    omega dt = 0.1 with omega = sqrt(k_n / m) of the whole set (four corners touch: half of k_n).
    Ten drops of ten bounces; every single bounce is held to the bar.
    """
    half, mass, k_n = 0.1, 1.0, 4e4
    h = OMEGA_DT / np.sqrt(k_n / mass)
    heights = 0.3 + 0.2 * np.random.default_rng(seed).random(share(10, fraction))
    losses, tilt = [], 0.0
    scene = box([half] * 3, mass, 0.01, k_n, position=[0, 0, half + 0.3])
    P = np.tile(scene.values, (len(heights), 1))
    P[:, scene.index("body.position.z")] = half + heights
    steps = int(6.5 / h)
    for r in rollouts(scene, P, steps, h, record_every=1, record_modes=True):
        z, v = r.position[1:, 0, 2] - half, r.velocity[1:, 0, 2]
        energy = mass * (0.5 * v * v + G * z)
        flying = ~r.modes.any(axis=1)
        rising = np.flatnonzero(flying[1:] & ~flying[:-1]) + 10  # well off the ground
        levels = np.append(energy[5], energy[rising[rising < len(energy)]])
        losses.append(1 - levels[1:11] / levels[:10])
        assert len(levels) >= 11, f"only {len(levels) - 1} bounces"
        tilt = max(tilt, np.abs(r.orientation[:, 0, :3]).max(), np.abs(r.position[:, 0, :2]).max())
    losses = np.concatenate(losses)
    figures = {
        "omega_dt": OMEGA_DT, "bounces": losses.size, "mean_loss": float(losses.mean()),
        "worst_loss": float(losses.max()), "largest_gain": float(-losses.min()),
        "asymmetry": float(tilt),
    }  # fmt: skip
    assert losses.max() <= 0.005, f"bouncing cube: {figures}, must lose <= 0.5 % a bounce"
    assert tilt <= 1e-9, f"bouncing cube: {figures}, must stay upright"
    return figures
