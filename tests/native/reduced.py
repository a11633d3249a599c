"""Scenes with joints in reduced coordinates that several tests share."""

from __future__ import annotations

import numpy as np

from diffsim_ros import _engine
from tests.native.links import INERTIA, axes

FAR = np.array([30.0, -20.0, 10.0])


def add_link(s, name, place, rng, mass=0.5):
    """A rigid body of general inertia, turned and moving at random."""
    q = rng.normal(size=4)
    s.add_rigid_body(name, mass=mass, inertia=[mass * i for i in INERTIA], radius=0.1,
                     position=place, orientation=q / np.linalg.norm(q),
                     velocity=0.5 * rng.normal(size=3),
                     angular_velocity=2 * rng.normal(size=3))  # fmt: skip


def add_handle(s, name, place, rng):
    """A kinematic body that moves and turns."""
    s.add_kinematic_body(name, interval=0.1, radius=0.1,
                         position=np.asarray(place) + 0.05 * rng.normal(size=(4, 3)),
                         rotation=0.4 * rng.normal(size=(4, 3)))  # fmt: skip


def join(s, name, kind, a, b, place, **more):
    """A joint in reduced coordinates, with damping of what it leaves free."""
    if kind != "weld":
        more.setdefault("friction_damping", 0.004)
    s.add_joint(name, kind=kind, body_a=a, body_b=b, position=place, reduced=True,
                **(axes(kind) | more))  # fmt: skip


def add_base(s, base, rng, place):
    """The body a tree stands on: the world "", a free body or a driven one; after or before."""
    if base == "free body":
        add_link(s, "base", place, rng, 0.8)
    elif base == "driven body":
        add_handle(s, "base", place, rng)
    return "" if base == "world" else "base"


def smooth_names(s, without=()):
    """Parameters that may move both ways, but for those whose names hold a word of `without`."""
    p = s.values
    return [
        info.name for info, value in zip(s.parameters, p, strict=True)
        if info.lower < value < info.upper and not any(word in info.name for word in without)
    ]  # fmt: skip


def tree(base="world", at=(0.0, 0.0, 0.0), seed=0, forces=True):
    """A branched tree: hinge, weld, then universal and slider side by side, ball, planar.

    forces: a position motor, limits that are reached, dry friction and armature.
    """
    rng = np.random.default_rng(seed)
    s = _engine.Scene()
    s.set_gravity([0.3, -0.2, -9.81])
    at = np.asarray(at, float)
    ground = add_base(s, base, rng, at - [0.15, 0, 0])
    places = {name: at + 0.2 * np.array(p) for name, p in {
        "a": (0.5, 0, 0), "b": (1, 0.3, 0), "c": (1.8, 0.4, 0.2), "d": (1.2, 1, 0.1),
        "e": (2.4, 0.6, 0.4), "f": (1.3, 1.8, 0.2),
    }.items()}  # fmt: skip
    for name, place in places.items():
        add_link(s, name, place, rng)
    join(s, "hinge", "hinge", ground, "a", at)
    join(s, "weld", "weld", "a", "b", places["a"] + [0.05, 0.03, 0])
    join(s, "universal", "universal", "b", "c", places["b"] + [0.08, 0, 0.02])
    join(s, "slider", "slider", "b", "d", places["b"] + [0.02, 0.08, 0], coordinate=0.01)
    join(s, "ball", "ball", "c", "e", places["c"] + [0.05, 0.02, 0])
    join(s, "planar", "planar", "d", "f", places["d"] + [0, 0.08, 0])
    if forces:
        s.add_motor("servo", joint="hinge", keys=[0.0, 0.3, -0.2], interval=0.1, stiffness=4.0,
                    damping=0.1)  # fmt: skip
        s.add_motor("push", joint="slider", kind="force", keys=[1.0, -2.0], interval=0.2)
        s.add_joint_limit("stop", joint="slider", lower=-0.01, upper=0.011, stiffness=900.0,
                          damping=0.2)  # fmt: skip
        s.add_joint_limit("bar", joint="planar", lower=-0.02, upper=0.03, stiffness=9.0)
        s.add_joint_friction("rub", joint="hinge", coulomb=0.05, slip_rate=0.5)
        s.add_joint_friction("scrape", joint="planar", coulomb=0.02, slip_rate=0.8)
        s.add_armature("rotor", joint="hinge", inertia=0.01)
        s.add_armature("drum", joint="slider", inertia=0.3)
    return s
