"""Random scenes in frictional contact, for derivative studies.

Every kind of parameter, element and sdf of the engine occurs; bodies start near or just inside
obstacles, some with a rotation vector close to pi, where [G 4.6.2] changes chart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros import _engine

CORNERS = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)
NO_TURN = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass
class RandomScene:
    """An engine scene with how to run it; obstacle names its sdf kind, contact its friction."""

    engine: _engine.Scene
    steps: int
    step: float
    order: int
    obstacle: str
    friction: str


def quaternion(rotation_vector):
    """(x, y, z, w) of a rotation vector [rad]."""
    angle = np.linalg.norm(rotation_vector)
    if angle == 0:
        return NO_TURN
    return np.append(np.sin(angle / 2) * rotation_vector / angle, np.cos(angle / 2))


def obstacle(rng, kind: str):
    """An sdf whose top is at the origin, upwards +z, nearly flat on the scale of 0.1 m."""
    tilt = quaternion(rng.normal(size=3) * 0.1)
    if kind == "plane":
        return _engine.Plane(np.append(rng.normal(size=2) * 0.1, 1.0), 0.0)
    if kind == "box":
        half = np.array([0.6, 0.6, 0.2])
        return _engine.Transformed(_engine.Box(half), [0, 0, -0.2], tilt)
    if kind == "sphere":
        return _engine.Transformed(_engine.Sphere(1.5), [0, 0, -1.5], NO_TURN)
    slope = _engine.Transformed(_engine.Plane([0, 0, 1], 0.0), [0, 0, 0], tilt)
    ball = _engine.Transformed(_engine.Sphere(0.2), [0.1, 0.05, -0.19], NO_TURN)
    return _engine.Union([slope, ball])


def start(rng, height: float, fast: bool) -> dict:
    """Position, orientation and velocities of a body dropped onto the obstacle."""
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    near_pi = rng.random() < 0.5
    angle = rng.uniform(2.95, 3.12) if near_pi else rng.uniform(0, 2.5)
    spin = rng.uniform(4, 12) * axis if near_pi else rng.normal(size=3) * 4
    sideways = rng.normal(size=2) * (1.5 if fast else 0.1)
    return {
        "position": np.append(rng.normal(size=2) * 0.05, height + rng.uniform(-0.002, 0.004)),
        "orientation": quaternion(angle * axis),
        "velocity": np.append(sideways, -rng.uniform(0.2, 1.5)),
        "angular_velocity": spin if fast or near_pi else 0.1 * spin,
    }


def add_box(s, rng, name: str, fast: bool) -> str:
    """A rigid box with eight corner spheres, a general inertia, just above the ground."""
    half = rng.uniform(0.03, 0.08, 3)
    radius = rng.uniform(0.002, 0.012)
    mass = rng.uniform(0.2, 1.0)
    inertia = mass / 3 * (half @ half - half**2) * rng.uniform(0.95, 1.05, 3)
    products = rng.normal(size=3) * 0.02 * inertia.min()
    begin = start(rng, 0.0, fast)
    theta = _engine.exp_rotation(_engine.log_rotation(rotation_matrix(begin["orientation"])))
    reach = np.abs((CORNERS * (half - radius)) @ theta.T[:, 2]).max() + radius
    begin["position"][2] += reach
    s.add_rigid_body(
        name, mass=mass, inertia=[*inertia, *products], radius=float(np.linalg.norm(half)), **begin
    )
    points = f"{name}_corners"
    s.add_points(points, bodies=[name] * 8, local=CORNERS * half, inset=-CORNERS, radius=radius)
    return points


def rotation_matrix(q):
    """(3, 3) of (x, y, z, w)."""
    x, y, z, w = q
    v = np.array([x, y, z])
    hat = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * hat + 2 * (np.outer(v, v) - v @ v * np.eye(3))


def add_ball(s, rng, name: str, fast: bool) -> str:
    """A rigid sphere with one contact sphere."""
    radius, mass = rng.uniform(0.03, 0.08), rng.uniform(0.2, 1.0)
    begin = start(rng, radius, fast)
    s.add_rigid_body(
        name, mass=mass, inertia=[0.4 * mass * radius**2] * 3 + [0] * 3, radius=radius, **begin
    )
    points = f"{name}_surface"
    s.add_points(points, bodies=[name], local=np.zeros((1, 3)), radius=radius)
    return points


def add_particle(s, rng, name: str, fast: bool) -> str:
    """A point mass with a small contact sphere."""
    radius = rng.uniform(0.0, 0.01)
    begin = start(rng, radius, fast)
    s.add_particle(
        name, mass=rng.uniform(0.2, 1.0), position=begin["position"], velocity=begin["velocity"]
    )
    points = f"{name}_point"
    s.add_points(points, bodies=[name], local=np.zeros((1, 3)), radius=radius)
    return points


def add_springs(s, rng, first: str, second: str | None, zero_length: bool) -> None:
    """Springs from a body to the world, and to a second body where there is one."""
    s.add_points("anchors", bodies=["", ""], local=rng.normal(size=(2, 3)) * 0.2 + [0, 0, 0.4])
    s.add_points("hooks", bodies=[first, second or first], local=rng.normal(size=(2, 3)) * 0.02)
    values = {
        "stiffness": rng.uniform(5, 60), "damping": rng.uniform(0, 0.5),
        "rest_length": 0.0 if zero_length else rng.uniform(0.1, 0.4),
    }  # fmt: skip
    s.add_springs(
        "tether", points_a="anchors", index_a=[0, 1], points_b="hooks", index_b=[0, 1], **values
    )
    if second:
        s.add_springs(
            "link", points_a="hooks", index_a=[0], points_b="hooks", index_b=[1],
            stiffness=rng.uniform(20, 200), damping=rng.uniform(0, 0.5),
            rest_length=rng.uniform(0.05, 0.2),
        )  # fmt: skip


def random_scene(seed: int) -> RandomScene:
    """The scene of this seed; obstacle, friction, order, body kinds cycle so that all occur."""
    rng = np.random.default_rng(seed)
    fast = bool(rng.random() < 0.6)
    s = _engine.Scene()
    s.set_gravity(np.array([*rng.normal(size=2) * 0.3, -9.81]))
    bodies = [add_box, add_box, add_ball, add_particle][seed % 4]
    points = [bodies(s, rng, "a", fast)]
    two = rng.random() < 0.4
    if two:
        points.append([add_particle, add_ball, add_box][seed % 3](s, rng, "b", fast))
    if two or rng.random() < 0.6:
        add_springs(s, rng, "a", "b" if two else None, seed % 5 == 0)
    kind = ["plane", "box", "sphere", "union"][(seed // 4) % 4]
    friction = ["linear", "linear", "tanh"][seed % 3]
    step = rng.choice([1 / 250, 1 / 500, 1 / 1000])
    sdf = obstacle(rng, kind)
    for i, name in enumerate(points):
        k_n = 10 ** rng.uniform(2.5, 3.7)
        c_f = rng.uniform(0.1, 0.4) if fast else rng.uniform(0.5, 1.2)
        law: dict = {"damping": "continuous", "c_n": rng.uniform(0.0, 0.6)}
        if (seed + i) % 3 == 1:
            law = {"damping": "ramped", "k_d": rng.uniform(1, 20), "d_0": rng.uniform(1e-3, 1e-2)}
        if (seed + i) % 4 == 2:
            law |= {"c_s": c_f + rng.uniform(0.1, 0.3), "f_0": rng.uniform(0.5, 5)}
        s.add_contact(
            f"contact_{i}", points=name, sdf=sdf, k_n=k_n, k_t=rng.uniform(2, 60), c_f=c_f,
            friction=friction, **law,
        )  # fmt: skip
    steps = int(rng.integers(40, 120))
    return RandomScene(s, steps, float(step), 1 + (seed // 2) % 2, kind, friction)
