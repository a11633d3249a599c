"""Scenes with closed forms, as engine scenes."""

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.meshes import box, quadratic

GRAVITY = 9.81


def cantilever(length=1.0, height=0.05, width=0.04, cells=(12, 1, 2), *, gravity=GRAVITY,
               young=2e9, poisson=0.3, density=1000.0, mass="consistent"):  # fmt: skip
    """A bar of p2 tets along x from 0, clamped at x = 0, gravity along -z."""
    vertices, tets = quadratic(*box((length, width, height), cells))
    vertices = vertices + np.array([length / 2, 0, 0])
    s = _engine.Scene()
    s.set_gravity([0, 0, -gravity])
    clamped = np.flatnonzero(vertices[:, 0] < 1e-9)
    s.add_solid("beam", vertices=vertices, tets=tets, density=density, young=young,
                poisson=poisson, element="p2", mass=mass, glued=[("", clamped)])  # fmt: skip
    return s, np.delete(vertices, clamped, axis=0)


def on_spring(mass=0.3, stiffness=120.0, rest_length=0.1):
    """A particle 0.2 m below the world's origin on a spring."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -GRAVITY])
    s.add_particle("bob", mass=mass, position=[0, 0, -0.2])
    s.add_points("top", bodies=[""], local=[[0, 0, 0]])
    s.add_points("end", bodies=["bob"], local=[[0, 0, 0]])
    s.add_springs("spring", points_a="top", index_a=[0], points_b="end", index_b=[0],
                  stiffness=stiffness, rest_length=rest_length)  # fmt: skip
    return s


def stretched_string(count=9, length=1.0, stiffness=2000.0, rest=0.08, mass=0.01):
    """Beads between two fixed ends, `count` of them, on equal springs along x; no gravity."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    x = np.linspace(0, length, count + 2)
    for i in range(count):
        s.add_particle(f"bead{i}", mass=mass, position=[x[i + 1], 0, 0])
    names = ["", *(f"bead{i}" for i in range(count)), ""]
    local = [[0, 0, 0]] * (count + 1) + [[length, 0, 0]]
    s.add_points("places", bodies=names, local=local)
    links = list(range(count + 1))
    s.add_springs("string", points_a="places", index_a=links, points_b="places",
                  index_b=[i + 1 for i in links], stiffness=stiffness,
                  rest_length=rest)  # fmt: skip
    return s


CORNERS = 0.05 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def cube_on_plane(k_n=2e4, mass=0.5, normal=(0, 0, 1), height=0.08, **law):
    """A rigid cube, edge 0.1 m, above a plane through the origin."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -GRAVITY])
    inertia = mass * 0.1**2 / 6
    s.add_rigid_body("cube", mass=mass, inertia=[inertia] * 3 + [0] * 3, radius=0.07,
                     position=[0.01, 0.02, height],
                     orientation=[0, 0, np.sin(0.2), np.cos(0.2)])  # fmt: skip
    s.add_points("corners", bodies=["cube"] * 8, local=CORNERS)
    normal = np.array(normal, float) / np.linalg.norm(normal)
    s.add_contact("floor", points="corners", sdf=_engine.Plane(normal, 0.0), k_n=k_n, k_t=50.0,
                  c_f=0.5, **law)  # fmt: skip
    return s


def jointed_arm():
    """Two rigid links on springy hinges that hang askew, the second with a payload off centre."""
    s = _engine.Scene()
    s.set_gravity([0.4, 0.2, -GRAVITY])
    for i, name in enumerate(("upper", "lower")):
        s.add_rigid_body(name, mass=0.5 + 0.2 * i, inertia=[0.01, 0.012, 0.005, 0.001, 0, 0.002],
                         radius=0.2, position=[0.2 + 0.4 * i, 0, 0])  # fmt: skip
    s.add_joint("shoulder", kind="ball", body_b="upper", position=[0, 0, 0], stiffness=3e4)
    s.add_joint("elbow", kind="hinge", body_a="upper", body_b="lower", position=[0.4, 0, 0],
                axis=[0, 1, 0], stiffness=3e4)  # fmt: skip
    hooks = [[0.1, 0.05, 0.02], [0.2, -0.03, 0.01], [0.1, 0.3, 0.5], [0.6, -0.4, 0.3]]
    s.add_points("hooks", bodies=["upper", "lower", "", ""], local=hooks)
    s.add_springs("stays", points_a="hooks", index_a=[0, 1], points_b="hooks", index_b=[2, 3],
                  stiffness=60.0, rest_length=0.2)  # fmt: skip
    return s
