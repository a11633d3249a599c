"""Rigid rotation: torque-free tumbling, charts, and MuJoCo as an independent witness."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine

from .common import share
from .physics_contact import CORNERS, GROUND, G, rollouts
from .physics_orders import observed_order, swinging, unit, weight
from .physics_reference import Motion, inertia, lookup, reference, triple

INERTIA = np.array([[8e-4, 1e-4, -2e-4], [1e-4, 1.3e-3, 1e-4], [-2e-4, 1e-4, 1.7e-3]])
SPIN = 20.0  # [rad/s]
FRAME_RATE = 240  # [Hz]


def entries(I0: np.ndarray) -> list[float]:
    """xx yy zz xy xz yz of a symmetric (3, 3)."""
    return [I0[0, 0], I0[1, 1], I0[2, 2], I0[0, 1], I0[0, 2], I0[1, 2]]


def thrown(I0, spin, orientation=(0, 0, 0, 1), mass=0.4) -> _engine.Scene:
    """A free body 'body' under gravity with this angular velocity [rad/s], world."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    s.add_rigid_body(
        "body", mass=mass, inertia=entries(I0), orientation=orientation, radius=0.05,
        angular_velocity=spin, velocity=[0.5, 0.2, 2.0],
    )  # fmt: skip
    return s


def momentum_and_energy(I0, r) -> tuple[np.ndarray, np.ndarray]:
    """L = R I_0 R^T omega (F, 3) [kg m^2/s] and omega . L / 2 (F,) [J] of a rollout's body 0."""
    R, w = Rotation.from_quat(r.orientation[:, 0]), r.angular_velocity[:, 0]
    L = R.apply(R.inv().apply(w) @ I0)
    return L, 0.5 * np.sum(w * L, axis=1)


def drift(a: np.ndarray) -> float:
    """Largest distance of the rows of a from its first row, relative."""
    return float(np.max(np.abs(a - a[0])) / np.linalg.norm(a[0]))


def study_tumbling(fraction: float = 1.0, seed: int = 0) -> dict:
    """Torque-free tumbling of an asymmetric body at 20 rad/s for 1 s.

    The engine balances momentum itself (native/elements/inertia.hpp), so that L drifts by Newton's
    tolerance only, at every step size and order: <= 1e-7 at the default tolerance, and by rounding
    (<= 1e-15 per step) with Newton to stagnation. Energy and orientation err with the scheme's
    order, measured where errors are small enough for one to show: BDF1 at 1/7680 s and below,
    BDF2 at 1/960 s and below. Ten spins.
    """
    figures: dict = {}
    for i in range(share(10, fraction)):
        rng = np.random.default_rng([seed, i])
        spin = SPIN * unit(rng)
        scene = thrown(INERTIA, spin, orientation=rng.normal(size=4))
        exact = reference(Motion(scene, weight, {}, 1.0, 0.0), scene.values)[0]
        for order, finer in ((1, 32), (2, 4)):
            h = 1 / FRAME_RATE / finer / 2.0 ** np.arange(5)
            turn, energy = [], []
            for step in h:
                steps = round(1 / step)
                r = rollouts(
                    scene, scene.values, steps, step, order=order, record_every=steps // 40,
                    tolerance=1e-10, stagnate=True,
                )[0]  # fmt: skip
                L, E = momentum_and_energy(INERTIA, r)
                note(figures, f"bdf{order}_momentum_drift_per_step", drift(L) / steps)
                end = Rotation.from_quat(r.orientation[-1, 0])
                turn.append((end * exact.R.inv()).magnitude())
                energy.append(drift(E[:, None]))
            for name, error in (("orientation", turn), ("energy", energy)):
                figures.setdefault(f"bdf{order}_{name}_order", []).append(observed_order(h, error))
        for order in (1, 2):
            options = {"order": order, "record_every": 1}
            r = rollouts(scene, scene.values, FRAME_RATE, 1 / FRAME_RATE, **options)[0]
            L, E = momentum_and_energy(INERTIA, r)
            note(figures, f"bdf{order}_momentum_drift_at_240Hz", drift(L))
            note(figures, f"bdf{order}_energy_drift_at_240Hz", drift(E[:, None]))
            end = Rotation.from_quat(r.orientation[-1, 0])
            angle = np.degrees((end * exact.R.inv()).magnitude())
            note(figures, f"bdf{order}_orientation_error_at_240Hz_deg", angle)
    return judged_tumbling(figures)


def judged_tumbling(figures: dict) -> dict:
    """The figures, with orders as ranges, held to study_tumbling's bars."""
    for key, value in figures.items():
        if key.endswith("_order"):
            order = int(key[3])
            figures[key] = {"min": min(value), "max": max(value)}
            near = max(abs(min(value) - order), abs(max(value) - order)) <= 0.1
            assert near, f"tumbling, {key}: {figures[key]}, must be {order} +- 0.1"
        if "momentum" in key:
            bar = 1e-15 if "per_step" in key else 1e-7
            assert value <= bar, f"tumbling, {key}: {value:.1e}, must be <= {bar}"
    return figures


def note(figures: dict, key: str, value: float) -> None:
    """Keep the largest value under this key."""
    figures[key] = max(figures.get(key, 0.0), float(value))


# --- charts -------------------------------------------------------------------------------------


def spinning_box(spin, frame: Rotation, half=(0.06, 0.05, 0.04), mass=0.5) -> _engine.Scene:
    """A box on the ground that spins and tumbles with friction, described in a turned body frame.

    The same body for every `frame`: its pose starts at `frame` and its points and inertia are
    turned back by it, so world motions must agree. Only the rotation vector differs.
    """
    half, back = np.asarray(half), frame.inv()
    I0 = np.diag(mass / 3 * (half @ half - half**2))
    B = back.as_matrix()
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    s.add_rigid_body(
        "body", mass=mass, inertia=entries(B @ I0 @ B.T), orientation=frame.as_quat(), radius=0.09,
        position=[0, 0, half[2]], velocity=[0.3, -0.2, -0.5], angular_velocity=spin,
    )  # fmt: skip
    s.add_points(
        "corners", bodies=["body"] * 8, local=back.apply(CORNERS * half),
        inset=back.apply(-CORNERS), radius=0.004,
    )  # fmt: skip
    s.add_contact("ground", points="corners", sdf=GROUND, k_n=5e3, k_t=20.0, c_f=0.3, c_n=0.2)
    return s


def wraps(r) -> int:
    """How often |theta| passes pi, where [G 4.6.2] would change chart."""
    theta = Rotation.from_quat(r.orientation[:, 0]).as_rotvec()
    return int(np.sum(np.linalg.norm(np.diff(theta, axis=0), axis=1) > 3))


def world_gap(one, two, frame: Rotation) -> float:
    """Largest difference of two motions: c [m], v [m/s], omega / 20, orientation [rad].

    `two` started at `frame` in its own body frame, `one` at the identity.
    """
    turned = Rotation.from_quat(one.orientation[:, 0]) * frame
    angle = (turned.inv() * Rotation.from_quat(two.orientation[:, 0])).magnitude()
    pairs = [(one.position, two.position), (one.velocity, two.velocity)]
    gaps = [np.abs(a - b).max() for a, b in pairs]
    gaps.append(np.abs(one.angular_velocity - two.angular_velocity).max() / SPIN)
    return float(max(angle.max(), *gaps))


def study_charts(fraction: float = 1.0, seed: int = 0) -> dict:
    """Charts cost nothing: the engine re-centres its chart at every step.

    relabelled: one and the same motion in two body frames, one that never passes |theta| = pi
    (no chart change needed) and one that does (starts at 3.1 rad), in flight and in contact with
    friction: the two agree to 1e-9, so nothing is lost at a passage.
    long: a symmetric body in steady precession at 20 rad/s for 20 s (over 60 passages of pi)
    loses no more energy per second than in its first 0.1 s, where it turns by 2 rad only; its
    angular momentum drifts by no more than Newton's tolerance; the same for a puck turning on
    frictionless ground.
    """
    figures: dict = {"flight_gap": 0.0, "contact_gap": 0.0, "passages": 0}
    options = {"tolerance": 1e-12, "stagnate": True, "record_every": 1}
    for i in range(share(10, fraction)):
        rng = np.random.default_rng([seed, i])
        axis = unit(rng)
        spin, frame = 8 * axis, Rotation.from_rotvec(3.1 * axis)
        B = frame.inv().as_matrix()
        pairs = {
            "flight": (thrown(INERTIA, spin), thrown(B @ INERTIA @ B.T, spin, frame.as_quat())),
            "contact": (spinning_box(spin, Rotation.identity()), spinning_box(spin, frame)),
        }
        for name, (plain, turned) in pairs.items():
            one, two = (rollouts(s, s.values, 300, 1e-3, **options)[0] for s in (plain, turned))
            assert wraps(one) == 0 and wraps(two) > 0, f"{name} {i}: not the passages planned"
            assert name == "flight" or one.contact_force.any(), f"{i}: no contact"
            figures["passages"] += wraps(two)
            note(figures, f"{name}_gap", world_gap(one, two, frame))
    figures |= long_spin() | spinning_puck()
    bars = {"flight_gap": 1e-9, "contact_gap": 1e-9, "momentum_drift_20s": 1e-7, "puck_drift": 1e-7}
    for key, bar in bars.items():
        assert figures[key] <= bar, f"charts, {key}: {figures[key]:.1e}, must be <= {bar}"
    late, early = figures["energy_loss_per_s_after"], figures["energy_loss_per_s_first_2_rad"]
    assert late <= early * 1.001, f"charts: late energy loss {late} must be <= early {early}"
    return figures


def long_spin() -> dict:
    """Energy loss per second of a symmetric top in its first 2 rad, and in 20 s; its L drift."""
    I0 = np.diag([1e-3, 1e-3, 1.6e-3])
    scene = thrown(I0, SPIN * np.array([0.6, 0, 0.8]))
    r = rollouts(scene, scene.values, 20 * FRAME_RATE, 1 / FRAME_RATE, record_every=1)[0]
    L, E = momentum_and_energy(I0, r)
    begin, first = 10, 10 + FRAME_RATE // 10  # 2 rad, once the BDF1 step's start-up has faded
    rates = -np.diff(np.log(E)) * FRAME_RATE
    return {
        "long_passages": wraps(r), "momentum_drift_20s": drift(L),
        "energy_loss_per_s_first_2_rad": float(rates[begin:first].mean()),
        "energy_loss_per_s_after": float(rates[first:].mean()),
    }  # fmt: skip


def spinning_puck() -> dict:
    """Relative loss of spin of a puck on four frictionless points over 20 s at 20 rad/s."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    s.add_rigid_body(
        "body", mass=0.5, inertia=[1e-3, 1e-3, 1.6e-3, 0, 0, 0], angular_velocity=[0, 0, SPIN],
        position=[0, 0, 0.02 - 0.5 * G / 5e3], radius=0.08,
    )  # fmt: skip
    feet = np.array([[a, b, -0.02] for a in (-0.05, 0.05) for b in (-0.05, 0.05)])
    s.add_points("feet", bodies=["body"] * 4, local=feet)
    s.add_contact("ground", points="feet", sdf=GROUND, k_n=5e3, k_t=0.0, c_f=0.0)
    r = rollouts(s, s.values, 20 * FRAME_RATE, 1 / FRAME_RATE, record_every=1, record_modes=True)[0]
    assert (r.modes > 0).all(), "the puck left the ground"
    return {"puck_drift": drift(r.angular_velocity[:, 0]), "puck_passages": wraps(r)}


# --- MuJoCo -------------------------------------------------------------------------------------

MUJOCO_BODY = """
<mujoco>
  <option timestep="1e-4" integrator="RK4" gravity="{g[0]} {g[1]} {g[2]}"/>
  <worldbody>
    <site name="anchor" pos="0 0 0"/>
    <body name="body" pos="{c[0]} {c[1]} {c[2]}" quat="{q[3]} {q[0]} {q[1]} {q[2]}">
      <freejoint/>
      <inertial pos="0 0 0" mass="{m}" fullinertia="{I[0]} {I[1]} {I[2]} {I[3]} {I[4]} {I[5]}"/>
      <site name="hook" pos="0.03 -0.02 0.05"/>
    </body>
  </worldbody>
  {tendon}
</mujoco>
"""
MUJOCO_ROPE = """
  <tendon>
    <spatial stiffness="{k}" damping="{d}" springlength="{l}">
      <site site="anchor"/><site site="hook"/>
    </spatial>
  </tendon>
"""


def mujoco_motion(scene, rope: bool, times) -> tuple[np.ndarray, Rotation]:
    """c (F, 3) and orientation at `times` of the scene's body in MuJoCo: RK4 at 0.1 ms."""
    import mujoco  # a witness for tests and studies, not a dependency

    P = lookup(scene, scene.values)
    start = Rotation.from_rotvec(triple(P, "body.rotation"))
    tendon = ""
    if rope:
        k, d, length = (P(f"rope.{n}") for n in ("stiffness", "damping", "rest_length"))
        tendon = MUJOCO_ROPE.format(k=k, d=d, l=length)
    text = MUJOCO_BODY.format(
        g=triple(P, "gravity"), c=triple(P, "body.position"), q=start.as_quat(), m=P("body.mass"),
        I=entries(inertia(P)), tendon=tendon,
    )  # fmt: skip
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:3] = triple(P, "body.velocity")
    data.qvel[3:] = start.inv().apply(triple(P, "body.angular_velocity"))  # MuJoCo: body frame
    poses = []
    for t in times:
        mujoco.mj_step(model, data, nstep=round((t - data.time) / model.opt.timestep))
        poses.append(data.qpos.copy())
    poses = np.array(poses)
    return poses[:, :3], Rotation.from_quat(poses[:, [4, 5, 6, 3]])


def study_mujoco(fraction: float = 1.0, seed: int = 0) -> dict:
    """Free tumbling and a body swinging on a damped spring, BDF2 against MuJoCo's RK4.

    MuJoCo has no law of contact in common with us, so only smooth motions are compared. The
    largest distance over 0.5 s at dt = 1/8000 must be <= 1e-4 m and 1e-3 rad.
    """
    import mujoco

    times = np.arange(1, 11) * 0.05
    figures: dict = {"mujoco": mujoco.__version__}
    for i in range(share(10, fraction)):
        rng = np.random.default_rng([seed, i])
        scenes = {
            "flight": thrown(INERTIA, SPIN * unit(rng), rng.normal(size=4)),
            "swinging": swinging(rng).scene,
        }
        for name, scene in scenes.items():
            c, R = mujoco_motion(scene, name == "swinging", times)
            r = rollouts(scene, scene.values, 4000, 1 / 8000, record_every=400)[0]
            angle = (R.inv() * Rotation.from_quat(r.orientation[1:, 0])).magnitude()
            note(figures, f"{name}_position_m", np.abs(c - r.position[1:, 0]).max())
            note(figures, f"{name}_rotation_rad", angle.max())
    for name in ("flight", "swinging"):
        gap, turn = figures[f"{name}_position_m"], figures[f"{name}_rotation_rad"]
        assert gap <= 1e-4 and turn <= 1e-3, f"{name} against MuJoCo: {gap:.1e} m, {turn:.1e} rad"
    return figures
