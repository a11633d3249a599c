"""Scenes of jointed links that several tests share."""

from __future__ import annotations

from diffsim_ros import _engine
from tests.native import batteries

INERTIA = [0.011, 0.014, 0.017, 0.001, -0.002, 0.0015]
DRIVEN = ["hinge", "slider", "planar"]
KINDS = ["ball", "hinge", "slider", "weld", "planar", "universal"]
AXES = {"axis": [0.2, -0.9, 0.4], "second_axis": [0.9, 0.2, 0.0]}


def axes(kind: str) -> dict:
    """The axes that a kind of joint takes."""
    names = {"ball": [], "weld": [], "universal": ["axis", "second_axis"]}.get(kind, ["axis"])
    return {name: AXES[name] for name in names}


def two_links(gravity=(0.3, -0.2, -9.81)):
    """Rigid bodies 'a' and 'b' with general inertias, and a particle 'c'."""
    s = _engine.Scene()
    s.set_gravity(gravity)
    s.add_rigid_body("a", mass=0.7, inertia=INERTIA, radius=0.2, position=[0.1, 0, 0.05],
                     orientation=[0.1, -0.3, 0.2, 0.8])  # fmt: skip
    s.add_rigid_body("b", mass=0.4, inertia=[0.6 * i for i in INERTIA], radius=0.1,
                     position=[0.3, 0.2, 0], orientation=[-0.2, 0.1, 0.4, 0.7])  # fmt: skip
    s.add_particle("c", mass=0.2, position=[0.2, 0.1, 0.3])
    return s


def net_wrench(r, c):
    """Net force and torque about the origin of a residual of two_links at centres c (3, 3)."""
    return batteries.net_wrench(r, c, [(0, True), (6, True), (12, False)])


def jointed(kind: str):
    """two_links with a joint of free coordinate between them, and one to the world."""
    s = two_links()
    for name, a in {"joint": "a", "base": ""}.items():
        s.add_joint(name, kind=kind, body_a=a, body_b="b", position=[0.2, 0.1, 0], **axes(kind))
    return s


def hinged_arm(elbow):
    """Rigid bodies 'a' and 'b' along x on the hinges 'top', at the origin, and 'elbow'."""
    s = _engine.Scene()
    for i, name in enumerate("ab"):
        s.add_rigid_body(name, mass=0.5, inertia=[0.01, 0.01, 0.005, 0, 0, 0], radius=0.2,
                         position=[0.2 + 0.4 * i, 0, 0])  # fmt: skip
    more = {"kind": "hinge", "stiffness": 4e3, "damping": 20.0}
    s.add_joint("top", body_b="a", position=[0, 0, 0], axis=[0, 1, 0], **more)
    s.add_joint("elbow", body_a="a", body_b="b", position=[0.4, 0, 0], axis=elbow, **more)
    return s
