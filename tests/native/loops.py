"""Mechanisms with loops that several tests share, and a planar four-bar linkage by itself."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from diffsim_ros import _engine
from tests.native.links import axes
from tests.native.reduced import add_base, add_link, join

PIVOTS = np.array([[0.0, 0.0], [0.5, 0.0]])  # of crank and rocker [m]
LENGTHS = {"crank": 0.2, "coupler": 0.45, "rocker": 0.35}  # [m]
MASSES = {"crank": 0.4, "coupler": 0.9, "rocker": 0.7}  # [kg]
GRAVITY = 9.81
SPIN = 2.0  # of the crank at the start [rad/s]


def inertia(name: str, mass: float | None = None) -> float:
    """About the centre, of a rod [kg m^2]."""
    return (MASSES[name] if mass is None else mass) * LENGTHS[name] ** 2 / 12


def four_bar_start(angle: float = 1.0, spin: float = SPIN):
    """Places (3, 3) x, y, angle of crank, coupler, rocker, and their rates, all joints closed."""
    a, b, c = LENGTHS.values()
    A = PIVOTS[0] + a * np.array([np.cos(angle), np.sin(angle)])
    d = PIVOTS[1] - A
    D = np.linalg.norm(d)
    along = (D**2 + b**2 - c**2) / (2 * D)
    e = d / D
    B = A + along * e + np.sqrt(b**2 - along**2) * np.array([-e[1], e[0]])
    u, w = B - A, B - PIVOTS[1]
    q = np.array([
        [*(PIVOTS[0] + A) / 2, angle],
        [*(A + B) / 2, np.arctan2(u[1], u[0])],
        [*(PIVOTS[1] + B) / 2, np.arctan2(w[1], w[0])],
    ])  # fmt: skip
    G, _ = _rows(q.ravel(), np.zeros(9))
    free = np.linalg.svd(G)[2][-1]  # the one direction left
    return q, (free * spin / free[2]).reshape(3, 3)


def _rows(q, v):
    """G (8, 9) of the four hinges in the plane, and G' v."""
    half = np.array(list(LENGTHS.values())) / 2
    angle, rate = q[2::3], v[2::3]
    u = half[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    G, turn = np.zeros((8, 9)), np.zeros(8)

    def end(row, body, side, sign):
        G[row : row + 2, 3 * body : 3 * body + 2] += sign * np.eye(2)
        G[row : row + 2, 3 * body + 2] += sign * side * np.array([-u[body, 1], u[body, 0]])
        turn[row : row + 2] -= sign * side * u[body] * rate[body] ** 2

    end(0, 0, -1, 1)  # crank on the ground
    end(2, 2, -1, 1)  # rocker
    end(4, 1, -1, 1), end(4, 0, 1, -1)  # coupler on the crank
    end(6, 1, 1, 1), end(6, 2, 1, -1)  # and on the rocker: the loop is closed
    return G, turn


def four_bar_reference(time, masses=None, gravity=GRAVITY, spin=SPIN):
    """Places (times, 3, 3), rates and force on the coupler where the loop is closed, by DOP853."""
    m = np.array(list((masses or MASSES).values()))
    diagonal = np.ravel([[mass, mass, inertia(n, mass)] for n, mass in zip(MASSES, m, strict=True)])
    force = np.ravel([[0, -mass * gravity, 0] for mass in m])

    def solve(y):
        G, turn = _rows(y[:9], y[9:])
        W = G / diagonal
        # accelerations a = M^-1 (f + G^T lambda) with G a = -G' v
        lam = np.linalg.solve(W @ G.T, -turn - W @ force)
        return (force + G.T @ lam) / diagonal, lam

    q, v = four_bar_start(spin=spin)
    found = solve_ivp(
        lambda _, y: np.concatenate([y[9:], solve(y)[0]]), (0, time[-1]),
        np.concatenate([q.ravel(), v.ravel()]), "DOP853", time, rtol=1e-13, atol=1e-13,
    )  # fmt: skip
    y = found.y.T
    lam = np.array([solve(row)[1][6:] for row in y])
    return y[:, :9].reshape(-1, 3, 3), y[:, 9:].reshape(-1, 3, 3), lam


def four_bar(kind: str = "ball", how: str = "constrained", tree: bool = True, **closing):
    """The linkage in the engine, about z; its last joint is constrained or held by springs.

    tree: crank, coupler and rocker in reduced coordinates; else every joint is like the last one.
    """
    s = _engine.Scene()
    s.set_gravity([0, -GRAVITY, 0])
    start = four_bar_start()
    for name, (x, y, angle), (u, v, w) in zip(LENGTHS, *start, strict=True):
        s.add_rigid_body(
            name, mass=MASSES[name], inertia=[inertia(name), inertia(name), inertia(name), 0, 0, 0],
            radius=LENGTHS[name] / 2, position=[x, y, 0], velocity=[u, v, 0],
            orientation=[0, 0, np.sin(angle / 2), np.cos(angle / 2)], angular_velocity=[0, 0, w],
        )  # fmt: skip
    q = start[0]
    half = [
        LENGTHS[n] / 2 * np.array([np.cos(t), np.sin(t)])
        for n, t in zip(LENGTHS, q[:, 2], strict=True)
    ]
    places = {"O": PIVOTS[0], "D": PIVOTS[1], "A": q[0, :2] + half[0], "B": q[2, :2] + half[2]}
    ends = {"O": ("", "crank"), "D": ("", "rocker"), "A": ("crank", "coupler")}
    last = closing | ({"constrained": True} if how == "constrained" else {})
    for name, (a, b) in ends.items():
        more = {"reduced": True} if tree else last
        s.add_joint(name, kind="hinge", body_a=a, body_b=b, position=[*places[name], 0], **more)
    s.add_joint("B", kind=kind, body_a="rocker", body_b="coupler", position=[*places["B"], 0],
                **last)  # fmt: skip
    return s


def places(s, r):
    """Places (frames, 3, 3) of the linkage and their rates in a rollout."""
    turn = 2 * np.unwrap(np.arctan2(r.orientation[..., 2], r.orientation[..., 3]), axis=0)
    q = np.concatenate([r.position[..., :2], turn[..., None]], 2)
    return q, np.concatenate([r.velocity[..., :2], r.angular_velocity[..., 2:]], 2)


HANGERS = 0.4 * np.array([[1, 0, 0], [-0.5, 0.8, 0], [-0.5, -0.8, 0]])  # of the platform [m]
ROD, ROD_MASS, PLATFORM = 0.6, 0.3, 1.5  # [m], [kg], [kg]


def platform_start(angle: float = 0.5, rate=(0.7, 1.1)):
    """Direction n of the rods and its rate."""
    n = np.array([np.sin(angle), 0, -np.cos(angle)])
    along, across = np.array([np.cos(angle), 0, np.sin(angle)]), np.array([0, 1.0, 0])
    return n, rate[0] * along + rate[1] * across


def platform(gravity: float = GRAVITY):
    """A platform that hangs on three parallel rods and does not turn: a spherical pendulum."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -gravity])
    n, dn = platform_start()
    own = np.stack([np.cross([0, 1.0, 0], n), [0, 1.0, 0], n], 1)  # n across y: columns x, y, z
    w, x, y, z = _quaternion(own)
    slender = ROD_MASS * ROD**2 / 12
    for k, top in enumerate(HANGERS):
        s.add_rigid_body(f"rod{k}", mass=ROD_MASS, inertia=[slender, slender, 1e-3, 0, 0, 0],
                         radius=ROD / 2, position=top + ROD / 2 * n, orientation=[x, y, z, w],
                         velocity=ROD / 2 * dn, angular_velocity=np.cross(n, dn))  # fmt: skip
    s.add_rigid_body("platform", mass=PLATFORM, inertia=[0.05, 0.06, 0.1, 0, 0, 0], radius=0.4,
                     position=ROD * n + HANGERS.mean(0), velocity=ROD * dn)  # fmt: skip
    for k, top in enumerate(HANGERS):
        s.add_joint(f"top{k}", kind="ball", body_b=f"rod{k}", position=top, reduced=True)
        hold = {"reduced": True} if k == 0 else {"constrained": True}
        s.add_joint(f"end{k}", kind="ball", body_a=f"rod{k}", body_b="platform",
                    position=top + ROD * n, **hold)  # fmt: skip
    return s


def platform_reference(time: float, gravity: float = GRAVITY):
    """n and its rate after `time`, by DOP853."""
    inertia = (len(HANGERS) * ROD_MASS / 3 + PLATFORM) * ROD**2
    moment = (len(HANGERS) * ROD_MASS / 2 + PLATFORM) * ROD * gravity
    down = np.array([0, 0, -1.0])

    def slope(_, y):
        n, dn = y[:3], y[3:]
        return np.concatenate([dn, moment / inertia * (down - (down @ n) * n) - dn @ dn * n])

    y = solve_ivp(slope, (0, time), np.concatenate(platform_start()), "DOP853", [time],
                  rtol=1e-13, atol=1e-13).y[:, -1]  # fmt: skip
    return y[:3], y[3:]


def _quaternion(R):
    """(w, x, y, z) of a rotation matrix of less than half a turn."""
    theta = np.asarray(_engine.log_rotation(R))
    angle = np.linalg.norm(theta)
    return np.cos(angle / 2), *(np.sin(angle / 2) * theta / angle)


def ring(kind: str, base: str = "world", seed: int = 0, how: str = "constrained", **more):
    """A chain of four links on joints of three kinds, its end held at `base` again."""
    rng = np.random.default_rng(seed)
    s = _engine.Scene()
    s.set_gravity([0.3, -0.2, -9.81])
    ground = add_base(s, base, rng, [0, 0, 0.1])
    at = {"a": [0.2, 0, 0.05], "b": [0.35, 0.2, 0.1], "c": [0.2, 0.35, 0], "d": [0.05, 0.2, -0.1]}
    for name, place in at.items():
        add_link(s, name, place, rng)
    join(s, "one", "universal", ground, "a", [0.1, 0, 0])
    join(s, "two", "ball", "a", "b", [0.3, 0.1, 0.1])
    join(s, "three", "ball", "b", "c", [0.3, 0.3, 0])
    join(s, "four", "slider", "c", "d", [0.1, 0.3, -0.1], coordinate=0.02)
    more |= axes(kind) | ({"constrained": True} if how == "constrained" else {})
    if kind != "weld":
        more.setdefault("friction_damping", 0.004)
    s.add_joint("end", kind=kind, body_a=ground, body_b="d", position=[0.05, 0.1, -0.05], **more)
    return s
