"""Actors of the mixed scenes: soft solids, cloth, strings, rigid bodies, linkages; and loads.

An actor is put so that its lowest contact point is within a few millimetres of `place`.
"""

from __future__ import annotations

import numpy as np

from diffsim_ros import _engine, meshes

from .mixed_scenes_builder import Actor, Builder, Watch, handle
from .scenes import CORNERS, quaternion, rotation_matrix

JOINTS = ("hinge", "slider", "ball", "weld", "planar", "universal")
DRIVEN = ("hinge", "slider", "planar")


def motion(b: Builder, place, vertices, reach: float = 0.0, turn: float = 1.5) -> dict:
    """A start above `place` of a body with these vertices (n, 3): pose and velocities."""
    orientation = quaternion(b.rng.normal(size=3) * turn / 1.7)
    low = (vertices @ rotation_matrix(orientation).T)[:, 2].min() - reach
    height = b.rng.uniform(-0.002, 0.002) - low
    side = b.rng.normal(size=2) * (0.5 if b.rng.random() < 0.6 else 0.05)
    return {
        "position": np.asarray(place) + np.array([*b.rng.normal(size=2) * 0.01, height]),
        "orientation": orientation,
        "velocity": np.append(side, -b.rng.uniform(0.1, 0.8)),
        "angular_velocity": b.rng.normal(size=3) * (3 if b.rng.random() < 0.6 else 0.3),
    }


def placed(start: dict, vertices) -> np.ndarray:
    """Vertices (n, 3) in the world at the start."""
    return vertices @ rotation_matrix(start["orientation"]).T + start["position"]


def glue(b: Builder, start: dict, vertices, index) -> list:
    """[(body, vertices)] that hold these vertices: a handle, a rigid body or the world."""
    host = b.draw("glued to", ("handle", "rigid body", "world"))
    start |= {"velocity": 0.2 * start["velocity"], "angular_velocity": np.zeros(3)}
    middle = placed(start, vertices)[index].mean(axis=0)
    if host == "handle":
        return [(handle(b, middle, 0.008, 0.1), index)]
    if host == "world":
        return [("", index)]
    name = b.name("rigid")
    mass = b.rng.uniform(0.1, 0.4)
    b.s.add_rigid_body(
        name, mass=mass, inertia=[*mass * 1e-3 * b.rng.uniform(0.8, 1.2, 3), 0, 0, 0],
        radius=0.04, position=middle, velocity=start["velocity"],
    )  # fmt: skip
    return [(name, index)]


def _mesh(b: Builder, element: str):
    """A small mesh: brick, beam or ball; of quadratic elements a brick of one cell."""
    shape, quadratic = b.draw("mesh", ("brick", "beam", "ball"), tag=False), "p2" in element
    if shape == "ball" and not quadratic:
        vertices, tets = meshes.ball(1, 0.05)
    else:
        cells = (1, 1, 1) if quadratic else (2, 1, 1) if shape == "brick" else (3, 1, 1)
        vertices, tets = meshes.box((0.12 if shape == "beam" else 0.08, 0.07, 0.05), cells)
    return meshes.quadratic(vertices, tets) if quadratic else (vertices, tets)


def soft(b: Builder, place) -> Actor:
    """A soft solid of any element, model, viscosity and mass; perhaps glued."""
    element = b.draw("element", ("p1", "p1_fbar", "p2"), tag=False)
    if element == "p2":
        element = b.draw("quadratic", ("p2", "p2_p0"), tag=False)
    b.tags.add(f"element {element}")
    vertices, tets = _mesh(b, element)
    start = motion(b, place, vertices, turn=0.3 if b.rng.random() < 0.5 else 1.5)
    more: dict = {"glued": []}
    if b.sometimes("glued solid", 0.4):
        high = np.argsort(placed(start, vertices)[:, 2])[-max(3, len(vertices) // 6) :]
        more["glued"] = glue(b, start, vertices, high.tolist())
    if b.sometimes("viscous", 0.7):
        more |= {"viscosity": b.log_uniform(3, 60)}
        more |= {"viscosity_model": b.draw("viscosity", ("invariant", "linear"))}
    if b.sometimes("field of stiffness", 0.3):
        more["young_field"] = b.rng.uniform(0.5, 2.0, len(tets))
    if element != "p1_fbar" and b.sometimes("parameters per element", 0.8):
        more["fields"] = ["young", "poisson"] + ["viscosity"] * ("viscosity" in more)
    name = b.name("soft")
    b.s.add_solid(
        name, vertices=vertices, tets=tets, density=b.rng.uniform(400, 1200), element=element,
        young=b.log_uniform(1e4, 2e5),
        poisson=b.rng.uniform(0.2, 0.45 if element == "p1" else 0.48),
        model=b.draw("model", ("neo_hookean", "neo_hookean_safe")),
        mass=b.draw("mass", ("lumped", "consistent")), **(start | more),
    )  # fmt: skip
    return _soft_actor(b, "soft", name, len(vertices), more["glued"])


def _soft_actor(b: Builder, kind: str, name: str, count: int, glued: list) -> Actor:
    """Contact at all vertices that can move, as they are or as spheres; hooks at two of them."""
    fixed = {i for body, index in glued for i in index if not body}
    index = [i for i in range(count) if i not in fixed]
    points, radius = name, 0.0
    if b.sometimes("spheres at vertices", 0.6):
        radius = b.rng.uniform(0.001, 0.004)
    if radius or fixed:
        points = b.name("points")
        b.s.add_subset(points, points=name, index=index, radius=radius)
    return Actor(kind, points, len(index), [(name, int(i)) for i in b.rng.permutation(index)[:2]])


def cloth(b: Builder, place) -> Actor:
    """A sheet of mass points and springs; perhaps with glued corners."""
    n = int(b.rng.integers(3, 6))
    vertices, faces = meshes.sheet(n, 0.12, 4)
    start = motion(b, place, vertices, turn=0.15)
    held = []
    if b.sometimes("glued cloth", 0.4):
        held = glue(b, start, vertices, [0, 3] if b.rng.random() < 0.5 else [0])
    name = b.name("cloth")
    shares = b.rng.uniform(0.8, 1.2, len(vertices))
    b.s.add_mass_points(
        name, vertices=vertices, mass=b.rng.uniform(0.05, 0.2), shares=shares / shares.sum(),
        glued=held, **start,
    )  # fmt: skip
    a, c = meshes.edges(faces).T
    held_points = {i for _, index in held for i in index}
    free = [k for k in range(len(a)) if not {a[k], c[k]} <= held_points]
    a, c = a[free], c[free]
    natural = b.sometimes("natural lengths", 0.7)
    lengths = np.linalg.norm(vertices[a] - vertices[c], axis=1) * b.rng.uniform(0.9, 1.05)
    b.s.add_springs(
        b.name("spring"), points_a=name, index_a=a.tolist(), points_b=name, index_b=c.tolist(),
        stiffness=b.log_uniform(30, 400), damping=b.rng.uniform(0.01, 0.2),
        rest_length=lengths if natural else float(lengths.min()),
        stiffness_factors=b.rng.uniform(0.5, 1.5, len(a)) if b.rng.random() < 0.5 else None,
    )  # fmt: skip
    return _soft_actor(b, "cloth", name, len(vertices), held)


def string(b: Builder, place) -> Actor:
    """A string of masses that pulls only, across the obstacle; perhaps glued at an end."""
    n = int(b.rng.integers(4, 8))
    x = np.linspace(-0.08, 0.08, n)
    vertices = np.stack([x, 0.01 * b.rng.normal(size=n), 1.5 * x**2], axis=1)
    start = motion(b, place, vertices, turn=0.1)
    held = glue(b, start, vertices, [0]) if b.sometimes("glued string", 0.5) else []
    name = b.name("string")
    b.s.add_mass_points(name, vertices=vertices, mass=b.rng.uniform(0.05, 0.2), glued=held, **start)
    lengths = np.linalg.norm(np.diff(vertices, axis=0), axis=1)
    b.s.add_springs(
        b.name("strand"), points_a=name, index_a=list(range(n - 1)), points_b=name,
        index_b=list(range(1, n)), stiffness=b.log_uniform(50, 1000),
        damping=b.rng.uniform(0.05, 1.0), rest_length=lengths * b.rng.uniform(0.93, 1.02, n - 1),
        tension_only=True,
    )  # fmt: skip
    b.watch.append(Watch("strand", n - 1))
    return _soft_actor(b, "string", name, n, held)


def _box(b: Builder, place, turn: float, radius: float) -> tuple[str, np.ndarray, dict]:
    """(name, half extents, start) of a rigid box just above `place`."""
    half = b.rng.uniform(0.02, 0.05, 3)
    mass = b.rng.uniform(0.2, 0.8)
    inertia = mass / 3 * (half @ half - half**2) * b.rng.uniform(0.95, 1.05, 3)
    products = b.rng.normal(size=3) * 0.02 * inertia.min()
    start = motion(b, place, CORNERS * (half - radius), radius, turn)
    name = b.name("rigid")
    b.s.add_rigid_body(
        name, mass=mass, inertia=[*inertia, *products], radius=float(np.linalg.norm(half)), **start
    )
    return name, half, start


def box(b: Builder, place) -> Actor:
    """A rigid box with corner spheres and general inertia."""
    radius = b.rng.uniform(0.002, 0.01)
    name, half, _ = _box(b, place, 0.1 if b.rng.random() < 0.5 else 2.0, radius)
    points = b.name("points")
    b.s.add_points(points, bodies=[name] * 8, local=CORNERS * half, inset=-CORNERS, radius=radius)
    hooks = b.name("points")
    b.s.add_points(hooks, bodies=[name] * 2, local=b.rng.normal(size=(2, 3)) * 0.02)
    ways = [(hooks, 0), (hooks, 1)]
    return Actor("rigid", points, 8, ways, name, _engine.Box(half), rolls=True)


def ball(b: Builder, place) -> Actor:
    """A rigid ball: one contact sphere, which rolls."""
    radius, mass = b.rng.uniform(0.03, 0.06), b.rng.uniform(0.2, 0.8)
    start = motion(b, place, np.zeros((1, 3)), radius)
    name = b.name("rigid")
    b.s.add_rigid_body(
        name, mass=mass, inertia=[0.4 * mass * radius**2] * 3 + [0] * 3, radius=radius, **start
    )
    points = b.name("points")
    b.s.add_points(points, bodies=[name], local=np.zeros((1, 3)), radius=radius)
    hooks = b.name("points")
    b.s.add_points(hooks, bodies=[name], local=[[0, 0, radius]], scale=0.9)
    return Actor("rigid", points, 1, [(hooks, 0)], name, _engine.Sphere(radius), rolls=True)


def particle(b: Builder, place) -> Actor:
    """A point mass with a small contact sphere."""
    radius = b.rng.uniform(0.002, 0.01)
    start = motion(b, place, np.zeros((1, 3)), radius)
    name = b.name("particle")
    b.s.add_particle(
        name, mass=b.rng.uniform(0.1, 0.5), position=start["position"], velocity=start["velocity"]
    )
    points = b.name("points")
    b.s.add_points(points, bodies=[name], local=np.zeros((1, 3)), radius=radius)
    return Actor("particle", points, 1, [(points, 0)])


def linkage(b: Builder, place) -> Actor:
    """Two rigid boxes jointed to each other and to the world or a handle; motors and limits."""
    radius = b.rng.uniform(0.002, 0.006)
    name, half, start = _box(b, place, 0.4, radius)
    middle = start["position"] + [-0.06, 0.0, 0.03]
    root = start["position"] + [-0.12, 0.0, 0.06]
    arm = b.name("rigid")
    mass = b.rng.uniform(0.2, 0.8)
    inertia = mass * 1e-3 * b.rng.uniform(0.6, 1.2, 3)
    b.s.add_rigid_body(
        arm, mass=mass, inertia=[*inertia, *0.05 * inertia.min() * b.rng.normal(size=3)],
        radius=0.06, position=(middle + root) / 2, velocity=start["velocity"],
    )  # fmt: skip
    ground = handle(b, root, 0.005, 0.05) if b.sometimes("joint on a handle", 0.4) else ""
    for first, second, at in ((ground, arm, root), (arm, name, middle)):
        kind = b.draw("joint", (*JOINTS, "slider"))  # few others have a force
        joint = _joint(b, kind, first, second, at)
        if kind in DRIVEN:
            _drive(b, kind, joint)
    points = b.name("points")
    b.s.add_points(points, bodies=[name] * 8, local=CORNERS * half, inset=-CORNERS, radius=radius)
    return Actor("linkage", points, 8, [(points, 0), (points, 7)], rolls=True)


def _joint(b: Builder, kind: str, first: str, second: str, place) -> str:
    """A joint of this kind, at default or at lower stiffness."""
    axes = {}
    if kind not in ("ball", "weld"):
        axes["axis"] = np.array([0.1, 1.0, 0.1]) + 0.2 * b.rng.normal(size=3)
    if kind == "universal":
        axes["second_axis"] = np.cross(axes["axis"], [0.3, 0.2, 1.0])
    more = {}
    if b.sometimes("joint of own stiffness", 0.6):
        more = {"stiffness": b.log_uniform(1e3, 2e4), "damping": b.rng.uniform(2, 20)}
        if kind != "ball":
            more |= {"rotational_stiffness": b.log_uniform(3, 50)}
            more |= {"rotational_damping": b.rng.uniform(0.01, 0.1)}
    if kind != "weld":
        more["friction_damping"] = b.log_uniform(1e-3, 1e-2)
    joint = b.name("joint")
    b.s.add_joint(joint, kind=kind, body_a=first, body_b=second, position=place, **axes, **more)
    return joint


def _drive(b: Builder, kind: str, joint: str) -> None:
    """A motor and perhaps a limit on a joint with a free coordinate."""
    slides = kind == "slider"
    unit = 0.02 if slides else 0.5
    effort = "force" if slides else "torque"
    motor = b.draw(f"motor by {effort}", ("position", effort, effort), tag=False)
    if motor == "position":
        interval, keys = b.keys(0.0, unit)
        stiff = {"stiffness": b.log_uniform(100, 1000) if slides else b.log_uniform(1, 10)}
        stiff["damping"] = b.rng.uniform(2, 20) if slides else b.rng.uniform(0.02, 0.2)
        b.tags.add("motor position")
    else:
        interval, keys = b.keys(0.0, 5.0 if slides else 0.5)
        keys[0], stiff = keys[-1], {}
        b.tags.add(f"motor {motor}")
    b.s.add_motor(b.name("motor"), joint=joint, kind=motor, keys=keys, interval=interval, **stiff)
    if b.sometimes("limit", 0.8):
        near = unit * b.rng.uniform(0.01, 0.06)
        low, high = (-near, 2 * near) if b.rng.random() < 0.5 else (-2 * near, near)
        b.s.add_joint_limit(
            b.name("limit"), joint=joint, lower=low, upper=high,
            stiffness=b.log_uniform(500, 3000) if slides else b.log_uniform(5, 30),
            damping=b.rng.uniform(0.1, 1.0),
        )  # fmt: skip
        b.watch.append(Watch("limit", 1))


ACTORS = {"soft": soft, "cloth": cloth, "string": string, "box": box, "ball": ball,
          "particle": particle, "linkage": linkage}  # fmt: skip
