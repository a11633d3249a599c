"""Obstacles of mixed scenes, standing or carried, and random contact laws against them."""

from __future__ import annotations

import numpy as np

from diffsim_ros import _engine, meshes

from .mixed_scenes_builder import Actor, Builder, Watch, handle
from .scenes import NO_TURN, quaternion

OBSTACLES = ("plane", "sphere", "box", "capsule", "cylinder", "blend", "union", "vdb")
SUPPORTS = ("world", "handle", "body")
FRICTIONS = ("linear", "tanh", "hybrid")
SOFT = ("soft", "cloth", "string")
OUT = 0.3 * np.array([[1, 0, 0.3], [-0.5, 0.87, 0.3], [-0.5, -0.87, 0.3]])

_VDB: dict = {}


def blob() -> tuple[np.ndarray, np.ndarray]:
    """A closed surface, 0.4 m wide and 0.2 m high, top at the origin: a ball with two hollows."""
    vertices, tets = meshes.ball(4, 1.0)
    x, y, _ = vertices.T
    dent = 1 - 0.15 * np.exp(-4 * ((x - 0.8) ** 2 + y**2)) - 0.1 * np.exp(-3 * (y + 0.8) ** 2)
    shaped = vertices * [0.2, 0.2, 0.1] * dent[:, None]
    return shaped - [0, 0, shaped[:, 2].max()], meshes.surface(tets)


def level_set():
    """The blob as an OpenVDB level set, made once."""
    if not _VDB:
        vertices, faces = blob()
        used, index = np.unique(faces, return_inverse=True)
        mesh = _engine.TriangleMesh(vertices[used], index.reshape(-1, 3))
        _VDB["blob"] = _engine.LevelSet(mesh, 0.02)
    return _VDB["blob"]


def obstacle(b: Builder, kind: str, crease: bool):
    """An sdf with its top at the origin, upwards +z, about 0.3 m wide and flat at 0.05 m.

    The members of a sharp union meet in a crease only where asked: several points of a body would
    come to rest in it, where the normal jumps and a step may have no root.
    """
    tilt = quaternion(b.rng.normal(size=3) * 0.08)
    if kind == "plane":
        return _engine.Plane(np.append(b.rng.normal(size=2) * 0.08, 1.0), 0.0)
    if kind == "sphere":
        return _engine.Transformed(_engine.Sphere(0.25), [0, 0, -0.25], NO_TURN)
    if kind == "box":
        return _engine.Transformed(_engine.Box([0.2, 0.2, 0.05]), [0, 0, -0.05], tilt)
    if kind == "capsule":
        lying = quaternion(np.array([0, np.pi / 2, 0]) + b.rng.normal(size=3) * 0.08)
        return _engine.Transformed(_engine.Capsule(0.15, 0.1), [0, 0, -0.1], lying)
    if kind == "cylinder":
        return _engine.Transformed(_engine.Cylinder(0.05, 0.2), [0, 0, -0.05], tilt)
    if kind == "vdb":
        return level_set()
    slope = _engine.Transformed(_engine.Plane([0, 0, 1], 0.0), [0, 0, 0], tilt)
    if kind == "union" and not crease:
        ball = _engine.Transformed(_engine.Sphere(0.04), [0.15, 0.02, 0.07], NO_TURN)
    else:
        ball = _engine.Transformed(_engine.Sphere(0.1), [0.05, 0.02, -0.09], NO_TURN)
    return _engine.Union([slope, ball], 0.02 if kind == "blend" else 0.0)


def law(b: Builder, rolls: bool) -> tuple[dict, set]:
    """A random contact law and its traits."""
    friction = b.draw("friction", FRICTIONS)
    values = {
        "k_n": b.log_uniform(500, 5000), "c_n": 0, "k_t": b.log_uniform(3, 60),
        "c_f": float(b.rng.uniform(0.1, 1.0)), "friction": friction,
    }  # fmt: skip
    traits = {friction}
    if b.sometimes("ramped", 0.4):
        d_0 = b.rng.uniform(1e-3, 1e-2)
        values |= {"damping": "ramped", "k_d": b.rng.uniform(1, 20), "d_0": d_0}
        traits.add("ramped")
    else:
        values |= {"c_n": b.log_uniform(0.05, 3)}
        traits.add("continuous")
    if b.sometimes("load-dependent", 0.3):
        values |= {"c_s": values["c_f"] + b.rng.uniform(0.1, 0.3), "f_0": b.rng.uniform(0.5, 5)}
    if rolls and b.sometimes("rolling friction", 0.7):
        values |= {"c_roll": b.log_uniform(1e-3, 1e-2), "c_spin": b.log_uniform(1e-3, 1e-2)}
        values |= {"k_roll": b.log_uniform(1e-3, 3e-2)}
        traits.add("rolling")
    return values, traits


def watch_contact(b: Builder, actor: Actor, count: int, traits: set) -> None:
    """Remember how to read a contact's codes."""
    b.watch.append(Watch("contact", count, frozenset(traits | {f"touching {actor.kind}"})))


def held_body(b: Builder, place) -> str:
    """A rigid body to carry an obstacle: on a joint to the world, or between springs."""
    name = b.name("rigid")
    mass = b.rng.uniform(0.8, 2.0)
    inertia = mass * 0.01 * b.rng.uniform(0.8, 1.2, 3)
    products = 0.1 * inertia.min() * b.rng.uniform(-1, 1, 3)
    b.s.add_rigid_body(
        name, mass=mass, inertia=[*inertia, *products], radius=0.15, position=place,
        velocity=b.rng.normal(size=3) * 0.05, angular_velocity=b.rng.normal(size=3) * 0.3,
    )  # fmt: skip
    points = b.name("points")
    b.s.add_points(
        points, bodies=["", "", "", name, name, name],
        local=np.concatenate([np.array(place) + OUT * [1, 1, 2], OUT / 2]),
    )  # fmt: skip
    b.s.add_springs(
        b.name("spring"), points_a=points, index_a=[0, 1, 2], points_b=points, index_b=[3, 4, 5],
        stiffness=b.log_uniform(50, 500), damping=b.rng.uniform(0.5, 5), rest_length=0.15,
    )  # fmt: skip
    return name


def add_contact(b: Builder, actor: Actor, place) -> None:
    """An obstacle below the actor, standing or carried, with a contact of any law."""
    kind = b.draw("obstacle", OBSTACLES, tag=False)
    support = b.draw("support", SUPPORTS, tag=False)
    values, traits = law(b, actor.rolls)
    place = np.asarray(place, float)
    shape = obstacle(b, kind, actor.count == 1)
    if support == "world":
        sdf, carrier = _engine.Transformed(shape, place, NO_TURN), ""
    elif support == "handle":
        sdf, carrier = shape, handle(b, place, 0.01, 0.1)
    else:
        sdf = _engine.Transformed(shape, [0, 0, 0.05], NO_TURN)
        carrier = held_body(b, place - [0, 0, 0.05])
    if support == "body" and actor.shape is not None:
        _add_pair(b, actor, carrier, sdf, values, traits | {kind})
        return
    b.s.add_contact(b.name("contact"), points=actor.points, sdf=sdf, carrier=carrier, **values)
    watch_contact(b, actor, actor.count, traits | {kind, f"carried by {support}"})


def _add_pair(b: Builder, actor: Actor, carrier: str, sdf, values, traits) -> None:
    """Both directions between a rigid actor and the body below it."""
    feet = b.name("points")
    flat = [[x, y, 0.05] for x in (-0.04, 0.0, 0.04) for y in (-0.04, 0.0, 0.04)]
    b.s.add_points(feet, bodies=[carrier] * 9, local=np.array(flat), radius=0.003)
    b.s.add_contact_pair(
        b.name("contact"), points_a=actor.points, sdf_a=actor.shape, body_a=actor.body,
        points_b=feet, sdf_b=sdf, body_b=carrier, **values,
    )  # fmt: skip
    both = traits | {"carried by body"}
    watch_contact(b, actor, actor.count, both | {"pair forwards"})
    watch_contact(b, actor, 9, (both - set(OBSTACLES)) | {"pair backwards"})
