"""Orders of convergence of the motion and of its derivative, against SciPy's reference motions."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine

from .common import share
from .physics_reference import (
    Instant,
    Motion,
    cross,
    ground_contact,
    reference_with_gradient,
    simulated,
    triple,
)

SEEDS = 10  # motions of each kind in the full study
HALVINGS = 4
CORNERS = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)
PLATE = np.array([[a, b, -1.0] for a in (-1, 1) for b in (-1, 1)])


def weight(P):
    """force(c, R, v, w) = (m g, 0)."""
    f = P("body.mass") * triple(P, "gravity"), np.zeros(3)
    return lambda c, R, v, w: f


def start_scales(scene) -> dict[str, float]:
    """Initial values as gradient parameters: one of each kind, with its scale."""
    return {
        "body.position.z": 0.1, "body.rotation.y": 0.3, "body.velocity.x": 1.0,
        "body.angular_velocity.y": 5.0, "body.mass": scene.values[scene.index("body.mass")],
        "body.inertia.xx": scene.values[scene.index("body.inertia.xx")],
        "body.inertia.xy": scene.values[scene.index("body.inertia.xx")], "gravity.z": 9.81,
    }  # fmt: skip


def flight(rng) -> Motion:
    """A tumbling body of unequal moments (principal axes not the body's) thrown into the air."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -9.81])
    s.add_rigid_body(
        "body", mass=rng.uniform(0.2, 1), inertia=[8e-4, 1.3e-3, 1.7e-3, 1e-4, -2e-4, 1e-4],
        velocity=rng.normal(size=3), angular_velocity=12 * unit(rng), radius=0.05,
        orientation=rng.normal(size=4),
    )  # fmt: skip
    return Motion(s, weight, start_scales(s), duration=0.4, step=1 / 800)


def sliding(rng, friction: str) -> Motion:
    """A plate on four corner spheres, sliding, turning and rocking on its contact springs."""
    half, radius = np.array([0.08, 0.06, 0.02]), 0.005
    mass, k_n, c_f = 0.5, 400.0, rng.uniform(0.1, 0.2)
    k_t = 4.0 if friction == "linear" else 0.5  # tanh: slip where tanh is still curved
    moments = mass / 3 * (half @ half - half**2)
    s = _engine.Scene()
    s.set_gravity([0, 0, -9.81])
    along = rng.uniform(0, 2 * np.pi)
    s.add_rigid_body(
        "body", mass=mass, inertia=[*moments, 0, 0, 0], radius=0.08,
        position=[0, 0, half[2] - mass * 9.81 / k_n + rng.uniform(-1e-3, 1e-3)],
        velocity=[3 * np.cos(along), 3 * np.sin(along), 0],
        angular_velocity=[*rng.normal(size=2) * 0.02, rng.uniform(-3, 3)],
    )  # fmt: skip
    local, inset = PLATE * half, -PLATE
    s.add_points("feet", bodies=["body"] * 4, local=local, inset=inset, radius=radius)
    s.add_contact(
        "ground", points="feet", sdf=_engine.Plane([0, 0, 1], 0), k_n=k_n, k_t=k_t, c_f=c_f,
        c_n=0.3, friction=friction,
    )  # fmt: skip

    def force(P):
        contact = ground_contact(P, "feet", "ground", local, inset, friction)
        mg = P("body.mass") * triple(P, "gravity")

        def both(c, R, v, w):
            f, tau = contact(c, R, v, w)
            return f + mg, tau

        return both

    active = start_scales(s) | {
        "body.position.z": 0.01, "body.rotation.y": 0.01, "body.angular_velocity.y": 0.1,
        "ground.k_n": k_n, "ground.c_n": 0.3, "ground.c_f": c_f, "feet.radius": radius,
        "feet.scale": 0.1,
    }  # fmt: skip
    if friction == "tanh":
        active["ground.k_t"] = k_t
    slipping = {"linear": (2,), "tanh": (1, 2)}[friction]  # tanh has no kink between the two

    def in_contact(modes):
        return np.isin(modes, slipping).all()

    return Motion(s, force, active, 0.2, 1 / 800, smooth=in_contact)


def swinging(rng) -> Motion:
    """A body hung by one corner on a damped spring: it swings, bounces and tumbles."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -9.81])
    hook = np.array([0.03, -0.02, 0.05])
    s.add_rigid_body(
        "body", mass=0.4, inertia=[8e-4, 1.3e-3, 1.7e-3, 1e-4, -2e-4, 1e-4], radius=0.06,
        position=np.array([0.2, 0.1, -0.35]) + 0.03 * rng.normal(size=3),
        velocity=rng.normal(size=3), angular_velocity=5 * unit(rng),
    )  # fmt: skip
    s.add_points("anchor", bodies=[""], local=np.zeros((1, 3)))
    s.add_points("hook", bodies=["body"], local=hook[None])
    s.add_springs(
        "rope", points_a="anchor", index_a=[0], points_b="hook", index_b=[0], stiffness=60.0,
        damping=0.4, rest_length=0.25,
    )  # fmt: skip

    def force(P):
        k, damping, rest = (P(f"rope.{n}") for n in ("stiffness", "damping", "rest_length"))
        mg = P("body.mass") * triple(P, "gravity")

        def pull(c, R, v, w):
            lever = R @ hook
            x, u = c + lever, v + cross(w, lever)
            length = np.sqrt(x @ x)
            f = -(k * (length - rest) + damping * (x @ u) / length) * x / length
            return f + mg, cross(lever, f)

        return pull

    active = start_scales(s) | {
        "rope.stiffness": 60.0, "rope.damping": 0.4, "rope.rest_length": 0.25,
    }  # fmt: skip
    return Motion(s, force, active, duration=0.5, step=1 / 1000)


def unit(rng) -> np.ndarray:
    """A random direction (3,)."""
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


MOTIONS = {
    "flight": flight,
    "sliding_linear": lambda rng: sliding(rng, "linear"),
    "sliding_tanh": lambda rng: sliding(rng, "tanh"),
    "swinging": swinging,
}


def errors(
    motion: Motion, order: int, exact: Instant, directions, halvings=HALVINGS, spectral_radius=None
):
    """Steps h, errors of the motion and of its derivative at the end, at halvings + 1 steps.

    The motion's error adds those of position [m], rotation [rad], velocity and angular velocity
    (relative to their size); the derivative's is a relative Frobenius norm in the same measures.
    """
    h = motion.step / 2.0 ** np.arange(halvings + 1)
    size = np.repeat(
        [1, 1, max(1e-3, np.linalg.norm(exact.v)), max(1e-3, np.linalg.norm(exact.w))], 3
    )
    state, slope = [], []
    derivative = exact.derivative / size[:, None]
    for step in h:
        end = simulated(motion, step, order, directions, spectral_radius)
        state.append(np.linalg.norm(end.minus(exact) / size))
        gap = end.derivative / size[:, None] - derivative
        slope.append(np.linalg.norm(gap) / np.linalg.norm(derivative))
    return h, np.array(state), np.array(slope)


def observed_order(h, error) -> float:
    """Slope of log error over log h."""
    return float(np.polyfit(np.log(h), np.log(error), 1)[0])


def study_orders(fraction: float = 1.0, seed: int = 0) -> dict:
    """Orders 1 +- 0.1 (BDF1) and 2 +- 0.1 (BDF2) of motion and derivative, over four halvings.

    Flight, sliding and swinging; ten random motions of each in the full study. The derivative is
    taken in three random directions of all active parameters at once. The error itself must be
    small at the finest step: the scheme converges to the reference, not just somewhere.
    """
    found: dict = {}
    for name, make in MOTIONS.items():
        for i in range(share(SEEDS, fraction)):
            rng = np.random.default_rng([seed, i])
            motion = make(rng)
            directions = rng.normal(size=(len(motion.active), 3))
            exact = reference_with_gradient(motion, directions)
            for order in (1, 2):
                h, state, slope = errors(motion, order, exact, directions)
                for kind, error in (("motion", state), ("gradient", slope)):
                    entry = found.setdefault(f"{name}_bdf{order}_{kind}", ([], []))
                    entry[0].append(observed_order(h, error))
                    entry[1].append(error[-1])
    figures = {
        key: {"order_min": min(o), "order_max": max(o), "error_at_finest": float(max(e))}
        for key, (o, e) in found.items()
    }
    for key, figure in figures.items():
        order = int(key.split("_bdf")[1][0])
        near = max(abs(figure["order_min"] - order), abs(figure["order_max"] - order)) <= 0.1
        assert near, f"{key}: order {figure}, must be {order} +- 0.1"
        bar = {1: 0.05, 2: 2e-3}[order]
        assert figure["error_at_finest"] <= bar, f"{key}: {figure}, must be <= {bar}"
    return figures


def thrown_box(rng) -> Motion:
    """A tumbling box of which one corner strikes the ground once and leaves it again."""
    half, radius, mass = np.array([0.05, 0.04, 0.06]), 0.004, 0.4
    s = _engine.Scene()
    s.set_gravity([0, 0, -9.81])
    corner_down = Rotation.align_vectors([[0, 0, -1]], [half / np.linalg.norm(half)])[0]
    turn = Rotation.from_rotvec(0.1 * unit(rng)) * corner_down
    place = CORNERS * (half - radius)
    low = turn.apply(place)[:, 2].min()
    s.add_rigid_body(
        "body", mass=mass, inertia=[*mass / 3 * (half @ half - half**2), 0, 0, 0],
        position=[0, 0, radius - low + 0.04], orientation=turn.as_quat(), radius=0.09,
        velocity=[*rng.uniform(-0.4, 0.4, 2), -2.0], angular_velocity=2 * unit(rng),
    )  # fmt: skip
    local, inset = CORNERS * half, -CORNERS
    s.add_points("corners", bodies=["body"] * 8, local=local, inset=inset, radius=radius)
    s.add_contact(
        "ground", points="corners", sdf=_engine.Plane([0, 0, 1], 0), k_n=8e4, k_t=20.0, c_f=0.3,
        c_n=0.2,
    )  # fmt: skip

    def force(P):
        contact = ground_contact(P, "corners", "ground", local, inset, "linear")
        mg = P("body.mass") * triple(P, "gravity")

        def both(c, R, v, w):
            f, tau = contact(c, R, v, w)
            return f + mg, tau

        return both

    def once(modes):
        touching = modes > 0
        starts = np.sum(touching[1:] & ~touching[:-1])
        return starts == 1 and not touching[0].any() and not touching[-1].any()

    return Motion(s, force, start_scales(s), 0.06, 1 / 1000, smooth=once)


def thrown_ball(rng, bounces: int) -> Motion:
    """A spinning ball that bounces so many times, sliding first, and flies again at the end."""
    mass, radius, k_n = 0.1, 0.05, 4000.0
    s = _engine.Scene()
    s.set_gravity([0, 0, -9.81])
    height, down = rng.uniform(0.05, 0.06), rng.uniform(1.0, 1.2)
    s.add_rigid_body(
        "body", mass=mass, inertia=[*[0.4 * mass * radius**2] * 3, 0, 0, 0],
        position=[0, 0, radius + height], radius=radius, angular_velocity=3 * unit(rng),
        velocity=[*rng.uniform(0.5, 1.5, 2), -down],
    )  # fmt: skip
    local, inset = np.zeros((1, 3)), np.zeros((1, 3))
    s.add_points("sphere", bodies=["body"], local=local, inset=inset, radius=radius)
    s.add_contact(
        "ground", points="sphere", sdf=_engine.Plane([0, 0, 1], 0), k_n=k_n, k_t=10.0, c_f=0.2,
        c_n=0.1,
    )  # fmt: skip

    def force(P):
        contact = ground_contact(P, "sphere", "ground", local, inset, "linear")
        mg = P("body.mass") * triple(P, "gravity")

        def both(c, R, v, w):
            f, tau = contact(c, R, v, w)
            return f + mg, tau

        return both

    def times(modes):
        touching = modes > 0
        starts = np.sum(touching[1:] & ~touching[:-1])
        return starts == bounces and not touching[0].any() and not touching[-1].any()

    # touched for the first time after about 45 ms; then 220 to 280 ms lie between touches
    return Motion(s, force, start_scales(s), 0.12 + 0.315 * (bounces - 1), 1 / 1000, smooth=times)


def study_impact_order(fraction: float = 1.0, seed: int = 0) -> dict:
    """Order of motion and derivative through an impact with friction: reported, no bar.

    Force laws are continuous but have kinks at touchdown, at slip and at release, and where in a
    step a kink falls changes with h: errors jump about their trend, the gradient's most. Median and
    range over ten throws and seven halvings; required is only that errors fall.
    """
    found: dict = {}
    for i in range(share(SEEDS, fraction)):
        rng = np.random.default_rng([seed, 100 + i])
        motion = thrown_box(rng)
        directions = rng.normal(size=(len(motion.active), 1))
        exact = reference_with_gradient(motion, directions)
        for order in (1, 2):
            h, state, slope = errors(motion, order, exact, directions, halvings=7)
            for kind, error in (("motion", state), ("gradient", slope)):
                entry = found.setdefault(f"bdf{order}_{kind}", ([], []))
                entry[0].append(observed_order(h, error))
                entry[1].append(error[-1] / error[0])
    figures: dict = {}
    for key, (orders, falls) in found.items():
        figures[key] = {
            "median": float(np.median(orders)), "min": min(orders), "max": max(orders),
            "error_at_finest_over_coarsest": float(max(falls)),
        }  # fmt: skip
        assert max(falls) < 0.2, f"through an impact {key}: {figures[key]}, errors must fall"
    return figures
