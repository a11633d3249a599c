"""Friction against closed forms (stop, creep, accelerate), and drops that stay symmetric."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine

from .common import share
from .physics_contact import GROUND, G, ball, box, rollouts

CASES = 20
BAR = 1e-3
PLATE = np.array([[a, b, 0.0] for a in (-1, 1) for b in (-1, 1)])


def plate(mass, position, velocity, sdf=GROUND, orientation=(0, 0, 0, 1), **contact):
    """A rigid body whose four contact points lie in the plane of its centre of mass.

    Friction then has no moment arm, so the points always carry equal loads.
    """
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    s.add_rigid_body(
        "body", mass=mass, inertia=[1e-3 * mass, 2e-3 * mass, 3e-3 * mass, 0, 0, 0], radius=0.1,
        position=position, velocity=velocity, orientation=orientation,
    )  # fmt: skip
    s.add_points("point", bodies=["body"] * 4, local=PLATE * [0.1, 0.05, 0])
    s.add_contact("ground", points="point", sdf=sdf, **contact)
    return s


def stopping_distance(v0: float, v_c: float, c_f: float, friction: str) -> float:
    """Distance to rest of a slider on level ground, v_c = c_f m g / k_t.

    linear: v' = -c_f g above v_c, v' = -c_f g v / v_c below: (v0^2 + v_c^2) / (2 c_f g).
    tanh:   v' = -c_f g tanh(v / v_c): v_c^2 / (c_f g) times the integral of u / tanh u to v0/v_c.
    """
    if friction == "linear":
        return (v0**2 + v_c**2) / (2 * c_f * G)
    return v_c**2 / (c_f * G) * quad(lambda u: u / np.tanh(u) if u else 1.0, 0, v0 / v_c)[0]


def slider_case(rng) -> dict:
    """Mass, contact parameters and speeds of one sliding case."""
    mass, c_f = rng.uniform(0.1, 2), rng.uniform(0.15, 0.8)
    v0, v_c = rng.uniform(0.5, 2), rng.uniform(0.02, 0.2)
    heading = rng.uniform(0, 2 * np.pi)
    return {
        "mass": mass, "c_f": c_f, "k_n": mass * 10 ** rng.uniform(3, 4), "v0": v0, "v_c": v_c,
        "k_t": c_f * mass * G / v_c, "direction": np.array([np.cos(heading), np.sin(heading), 0.0]),
    }  # fmt: skip


def relative_stop(case: dict, make, friction: str) -> float:
    """Simulated over exact stopping distance, minus 1."""
    m, k_n, v_c = case["mass"], case["k_n"], case["v_c"]
    scene = make(
        m, [0, 0, -m * G / k_n], case["v0"] * case["direction"],
        k_n=k_n, k_t=case["k_t"], c_f=case["c_f"], friction=friction,
    )  # fmt: skip
    deceleration = case["c_f"] * G
    duration = (case["v0"] + 14 * v_c) / deceleration  # v falls as exp(-t c_f g / v_c) at the end
    h = 0.02 * v_c / deceleration
    r = rollouts(scene, scene.values, int(np.ceil(duration / h)), h)[0]
    distance = (r.position[-1, 0] - r.position[0, 0]) @ case["direction"]
    return distance / stopping_distance(case["v0"], v_c, case["c_f"], friction) - 1


def incline(alpha: float, heading: float) -> tuple[_engine.Plane, np.ndarray, np.ndarray, list]:
    """Plane at angle alpha, its normal, downhill direction, and the orientation (xyzw) on it."""
    turn = Rotation.from_rotvec(alpha * np.array([-np.sin(heading), np.cos(heading), 0]))
    downhill = turn.apply([np.cos(heading), np.sin(heading), 0])
    return _engine.Plane(turn.apply([0, 0, 1]), 0), turn.apply([0, 0, 1]), downhill, turn.as_quat()


def relative_incline(case: dict, ratio: float, rigid: bool, friction: str) -> float:
    """Creeping speed (tan alpha = ratio c_f < c_f) or acceleration (above), over exact, minus 1.

    Below: v = m g sin(alpha) / k_t, tanh (c_f m g cos(alpha) / k_t) artanh(tan(alpha) / c_f);
    above: g (sin(alpha) - c_f cos(alpha)), taken from 10 v_c on, where tanh = 1 - 4e-9.
    """
    m, c_f, k_n, k_t = case["mass"], case["c_f"], case["k_n"], case["k_t"]
    alpha = np.arctan(ratio * c_f)
    sdf, normal, downhill, orientation = incline(alpha, np.arctan2(*case["direction"][1::-1]))
    load = m * G * np.cos(alpha)
    start = 10 * c_f * load / k_t * downhill if ratio > 1 else np.zeros(3)
    contact = {"sdf": sdf, "k_n": k_n, "k_t": k_t, "c_f": c_f, "friction": friction}
    place = -load / k_n * normal
    if rigid:
        scene = plate(m, place, start, orientation=orientation, **contact)
    else:
        scene = ball(m, place, start, **contact)
    h = 0.02 * m / k_t
    steps = 2000 if ratio < 1 else 500
    r = rollouts(scene, scene.values, steps, h)[0]
    speed = r.velocity[-1, 0] @ downhill
    if ratio > 1:
        exact = G * (np.sin(alpha) - c_f * np.cos(alpha))
        return (speed - start @ downhill) / (steps * h) / exact - 1
    if friction == "linear":
        return speed / (m * G * np.sin(alpha) / k_t) - 1
    return speed / (c_f * load / k_t * np.arctanh(np.tan(alpha) / c_f)) - 1


def study_friction(fraction: float = 1.0, seed: int = 0) -> dict:
    """Stopping distance, creep and acceleration on an incline within 0.1 %, both friction laws.

    Random masses, speeds, headings and angles; a point mass at rest on its normal spring, and a
    rigid plate whose four points carry equal loads (k_t is the set's total).
    """
    worst: dict = {}
    for i in range(share(CASES, fraction)):
        rng = np.random.default_rng([seed, i])
        case = slider_case(rng)
        below, above = rng.uniform(0.2, 0.9), rng.uniform(1.1, 2)
        for friction in ("linear", "tanh"):
            for body, make in (("point", ball), ("plate", plate)):
                for name, error in (
                    ("stop", relative_stop(case, make, friction)),
                    ("creep", relative_incline(case, below, make is plate, friction)),
                    ("accelerate", relative_incline(case, above, make is plate, friction)),
                ):
                    key = f"{name}_{friction}_{body}"
                    worst[key] = max(worst.get(key, 0.0), abs(float(error)))
    for key, error in worst.items():
        assert error <= BAR, f"friction, {key}: relative error {error:.2e}, must be <= {BAR}"
    return {"cases": share(CASES, fraction), "worst": worst, "real_block": real_block()}


def real_block() -> dict:
    """A block with eight corner spheres and its centre of mass above the ground: reported only.

    Friction below the centre of mass loads the leading corners; every corner slips at its own
    load, so the sum still obeys Coulomb, but sticking sets in corner by corner and the block rocks.
    """
    half, mass, c_f, k_n, k_t, v0 = [0.1, 0.06, 0.03], 1.0, 0.3, 2e4, 60.0, 1.0
    figures, h = {}, 1 / 4000
    contact = {"k_n": k_n, "k_t": k_t, "c_f": c_f, "c_n": 0.5}
    rest = {"half": half, "mass": mass, "radius": 0.005, **contact}
    # Four of the eight corners touch: half the set's k_n and k_t carry the block.
    v_c = c_f * mass * G / (k_t / 2)
    scene = box(**rest, position=[0, 0, half[2] - mass * G / (k_n / 2)], velocity=[v0, 0, 0])
    r = rollouts(scene, scene.values, 8000, h)[0]
    distance = r.position[-1, 0, 0]
    figures["stop"] = float(distance / stopping_distance(v0, v_c, c_f, "linear") - 1)
    for name, ratio in (("creep", 0.6), ("accelerate", 1.5)):
        alpha = np.arctan(ratio * c_f)
        sdf, normal, downhill, orientation = incline(alpha, 0.0)
        place = (half[2] - mass * G * np.cos(alpha) / (k_n / 2)) * normal
        start = 3 * v_c * downhill if ratio > 1 else np.zeros(3)
        scene = box(**rest, sdf=sdf, position=place, orientation=orientation, velocity=start)
        speed = rollouts(scene, scene.values, 8000, h)[0].velocity[-1, 0] @ downhill
        if ratio > 1:
            exact = G * (np.sin(alpha) - c_f * np.cos(alpha))
            figures[name] = float((speed - start @ downhill) / (8000 * h) / exact - 1)
        else:
            figures[name] = float(speed / (mass * G * np.sin(alpha) / (k_t / 2)) - 1)
    return figures


# --- symmetry -----------------------------------------------------------------------------------


def study_symmetry(fraction: float = 1.0, seed: int = 0) -> dict:
    """Symmetric drops stay symmetric; mirrored drops stay mirror images of each other.

    flat: a box dropped flat moves along z only. planar: pitched and thrown in the plane y = 0, it
    stays there. mirrored: a tumbling box and its mirror image in y = 0; impacts multiply rounding,
    so the bar is 1e-7 of the box's size (or rad) there and 1e-9 for the others.
    """
    rng = np.random.default_rng(seed)
    contact = {"k_n": 5e3, "k_t": 20.0, "c_f": 0.4, "c_n": 0.3}
    body = {"half": [0.06, 0.05, 0.04], "mass": 0.5, "radius": 0.004, **contact}
    h, steps = 1 / 1000, 1000
    options = {"tolerance": 1e-12, "stagnate": True, "record_every": 10}
    flat = planar = mirrored = 0.0
    bounces = []
    for _ in range(share(CASES, fraction)):
        scene = box(**body, position=[0, 0, rng.uniform(0.1, 0.3)])
        r = rollouts(scene, scene.values, steps, h, **options)[0]
        assert r.contact_force.any(axis=(0, 2)).sum() == 4, "a flat drop lands on four corners"
        flat = max(flat, *(np.abs(a[:, 0, :2]).max() for a in (r.position, r.orientation)))
        turn, spin = rng.uniform(-0.6, 0.6), rng.uniform(-8, 8)
        scene = box(
            **body, position=[0, 0, rng.uniform(0.15, 0.3)], angular_velocity=[0, spin, 0],
            orientation=[0, np.sin(turn / 2), 0, np.cos(turn / 2)],
            velocity=[rng.uniform(-1, 1), 0, 0],
        )  # fmt: skip
        r = rollouts(scene, scene.values, steps, h, **options)[0]
        assert r.contact_force.any(), "a planar drop never landed"
        planar = max(planar, np.abs(r.position[:, 0, 1]).max())
        planar = max(planar, np.abs(r.orientation[:, 0, [0, 2]]).max())
        gap, count = mirror_gap(rng, body, steps, h, options)
        mirrored = max(mirrored, gap)
        bounces.append(count)
    figures = {
        "drops": share(CASES, fraction), "flat": float(flat), "planar": float(planar),
        "mirrored": float(mirrored), "impacts_of_mirrored_drops": int(np.sum(bounces)),
    }  # fmt: skip
    assert flat <= 1e-9 and planar <= 1e-9 and mirrored <= 1e-7, f"symmetry lost: {figures}"
    assert min(bounces) >= 2, f"mirrored drops hit the ground too seldom: {bounces}"
    return figures


def mirror_gap(rng, body, steps, h, options) -> tuple[float, int]:
    """Largest pose difference between a drop and its mirrored twin, mirrored back; impacts."""
    turn, spin = rng.normal(size=3), 4 * rng.normal(size=3)
    position = np.array([0, rng.normal() * 0.1, rng.uniform(0.15, 0.3)])
    velocity = rng.normal(size=3)
    polar, axial = np.array([1, -1, 1]), np.array([-1, 1, -1])  # mirror in y = 0
    twins = []
    for p, a in ((1, 1), (polar, axial)):
        scene = box(
            **body, position=p * position, velocity=p * velocity, angular_velocity=a * spin,
            orientation=Rotation.from_rotvec(a * turn).as_quat(),
        )  # fmt: skip
        twins.append(rollouts(scene, scene.values, steps, h, record_modes=True, **options)[0])
    one, two = twins
    gap = np.abs(one.position[:, 0] - polar * two.position[:, 0]).max()
    turned = Rotation.from_rotvec(axial * Rotation.from_quat(two.orientation[:, 0]).as_rotvec())
    angle = (Rotation.from_quat(one.orientation[:, 0]).inv() * turned).magnitude().max()
    touching = one.modes.any(axis=1)
    return max(gap / 0.06, angle), int(np.sum(touching[1:] & ~touching[:-1]))
