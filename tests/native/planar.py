"""Engine scenes of the planar linkages whose references are in validation/linkages.py.

Links move in the x-z plane; angles count from x towards z, so hinges have the axis -y.
"""

from __future__ import annotations

import numpy as np

from diffsim_ros import _engine
from validation.linkages import GRAVITY, FourBar, Link

AXIS = [0.0, -1.0, 0.0]


def spatial(point, y: float = 0.0) -> np.ndarray:
    """(x, z) of the plane in space."""
    return np.array([point[0], y, point[1]])


def direction(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle)])


def add_link(s, name: str, link: Link, joint, angle: float, velocity=(0.0, 0.0), rate=0.0) -> None:
    """A rod whose first joint is at (x, z) = joint and moves at `velocity`."""
    arm = link.a * direction(angle)
    s.add_rigid_body(
        name, mass=link.mass, inertia=[link.I / 50, link.I, link.I, 0, 0, 0],
        position=spatial(np.asarray(joint) + arm), radius=link.length / 2,
        orientation=[0, -np.sin(angle / 2), 0, np.cos(angle / 2)],
        velocity=spatial(np.asarray(velocity) + rate * np.array([-arm[1], arm[0]])),
        angular_velocity=[0, -rate, 0],
    )  # fmt: skip


def chain(links, angles, **joint):
    """Links 'link0' ... at rest, hinged by 'hinge0' ... end to start from the origin."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -GRAVITY])
    place = np.zeros(2)
    for k, (link, angle) in enumerate(zip(links, angles, strict=True)):
        add_link(s, f"link{k}", link, place, angle)
        s.add_joint(f"hinge{k}", kind="hinge", body_a=f"link{k - 1}" if k else "",
                    body_b=f"link{k}", position=spatial(place), axis=AXIS, **joint)  # fmt: skip
        place = place + link.length * direction(angle)
    return s


def four_bar(loop: FourBar, crank_angle: float, reduced: bool = False, **joint):
    """Crank 'link0', coupler 'link1', rocker 'link2' at rest; hinges 'hinge0' ... 'hinge3'.

    reduced: all but 'hinge3', which closes the loop, are in reduced coordinates.
    """
    s = _engine.Scene()
    s.set_gravity([0, 0, -GRAVITY])
    angles = loop.closed(crank_angle)
    tip = loop.crank.length * direction(angles[0])
    pivot = np.array([loop.base, 0.0])
    starts = [np.zeros(2), tip, pivot]
    for k, (link, start, angle) in enumerate(zip(loop.links, starts, angles, strict=True)):
        add_link(s, f"link{k}", link, start, angle)
    joint_place = tip + loop.coupler.length * direction(angles[1])
    pins = [("", "link0", np.zeros(2)), ("link0", "link1", tip), ("", "link2", pivot),
            ("link1", "link2", joint_place)]  # fmt: skip
    for k, (a, b, place) in enumerate(pins):
        more = {"reduced": True} if reduced and k < 3 else joint
        s.add_joint(f"hinge{k}", kind="hinge", body_a=a, body_b=b, position=spatial(place),
                    axis=AXIS, **more)  # fmt: skip
    return s


def angles(r) -> np.ndarray:
    """(F, links) angles of all links of a rollout, unwrapped along time."""
    turn = -2 * np.arctan2(r.orientation[:, :, 1], r.orientation[:, :, 3])
    return np.unwrap(turn, axis=0)
