"""Random legged robots for studies over many morphologies."""

from __future__ import annotations

import math

import numpy as np

from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.robots.kinematics import joint_motion

from .build import build_robot
from .description import BodyBox, Leg, LegCopy, LegEnd, LegJoint, RobotDescription
from .end_effector import KINDS, SPINNING
from .footfall import named_gait
from .legged_robot import LeggedRobot
from .schema import GAITS

CHAINS = {
    2: ("xy", "zx", "zy", "xx"),
    3: ("xyy", "zyy", "xxz", "zxx"),
    4: ("zxyy", "xyyz", "xyyx", "zxxz"),
    5: ("zxyyx", "xyyxz", "zxyyy", "zxyyz"),
}
"""Axes of a leg's joints when the robot stands, from the body outwards, by their number."""
ROLLING = (*SPINNING, "skate")
TRIES = 200
INSIDE = 0.01
"""Least distance [m] of the centre of mass from the support polygon's edge."""
APART = 0.03
"""Least distance [m] between rims of end effectors of different legs; the generator keeps 0.02
[G 2.10]."""


def random_robot(rng: np.random.Generator, name: str = "random") -> LeggedRobot:
    """A robot of 2 to 6 legs of 2 to 5 joints on end effectors of any kinds, which stands.

    Legs stand in mirrored pairs, L1 and R1 ahead, and one in the middle, C, where their number is
    odd.  Pairs differ in everything; of two legs each has two end effectors in line.  The centre of
    mass is INSIDE the support polygon, and feet are APART.  Equal generators give equal robots.
    NotConverged: no such robot in TRIES draws.
    """
    for _ in range(TRIES):
        robot = build_robot(_drawn(rng, name))
        if stability_margin(robot) >= INSIDE and clearance(robot) >= APART:
            return robot
    raise NotConverged(f"no robot that stands in {TRIES} draws")


def gaits_of(robot: LeggedRobot) -> tuple[str, ...]:
    """Named gaits in which the robot may travel: `roll` only where all end effectors roll freely or
    by motors, and never `none`."""
    rolls = all(effector.kind in ROLLING for effector in robot.end_effectors)
    found = []
    for gait in GAITS:
        if gait == "none" or (gait == "roll" and not rolls):
            continue
        try:
            named_gait(robot, gait, 4)
        except InputError:
            continue
        found.append(gait)
    return tuple(found)


def stability_margin(robot: LeggedRobot) -> float:
    """Distance [m] of the centre of mass from the nearest edge of the support polygon in the
    standing pose, negative outside; -inf of feet on a line."""
    from scipy.spatial import ConvexHull, QhullError

    base = robot.standing_base()
    points = robot.contact_points(robot.stance, base)[:, :2]
    try:
        edges = ConvexHull(points).equations  # outward normals and offsets
    except (QhullError, ValueError):
        return -math.inf
    centre = robot.centre_of_mass(robot.stance, base)[:2]
    return float(-(edges[:, :2] @ centre + edges[:, 2]).max())


def clearance(robot: LeggedRobot) -> float:
    """Least distance [m] between end effectors of different legs in the standing pose, less their
    radii, as [G 2.10] has it; inf of one leg."""
    points = robot.contact_points(robot.stance, robot.standing_base())
    ends, least = robot.end_effectors, math.inf
    for j, one in enumerate(ends):
        for k in range(j):
            if ends[k].leg != one.leg:
                apart = float(np.linalg.norm(points[j] - points[k]))
                least = min(least, apart - one.radius - ends[k].radius)
    return least


def _drawn(rng: np.random.Generator, name: str) -> RobotDescription:
    legs = int(rng.integers(2, 7))
    size = np.array([rng.uniform(0.2, 0.4), rng.uniform(0.1, 0.2), rng.uniform(0.04, 0.08)])
    body = BodyBox(size, float(rng.uniform(0.8, 2.5)))
    height = float(rng.uniform(0.14, 0.26))
    pairs = legs // 2
    places = np.linspace(0.45, -0.45, pairs) if pairs > 1 else rng.uniform(-0.1, 0.1, 1)
    found = []
    if legs % 2:  # ahead or behind
        end = 1.0 if rng.uniform() < 0.5 else -1.0
        at = np.array([end * size[0] / 2.0, 0.0, 0.0])
        places = places * 0.7 - 0.15 * end
        found.append(_drawn_leg(rng, "middle", at, height, 0.0, (LegCopy("C"),), False))
    for k, place in enumerate(places):
        at = np.array([place * size[0], size[1] / 2.0, rng.uniform(-0.3, 0.3) * size[2]])
        copies = (LegCopy(f"L{k + 1}"), LegCopy(f"R{k + 1}", "y"))
        outwards = float(rng.uniform(0.02, 0.07))
        pair = _drawn_leg(rng, f"pair{k + 1}", at, height, outwards, copies, legs == 2)
        found.append(pair)
    return RobotDescription(name, name, body, tuple(found))


def _drawn_leg(
    rng: np.random.Generator, name: str, at: np.ndarray, height: float, outwards: float,
    copies: tuple[LegCopy, ...], doubled: bool,
) -> Leg:  # fmt: skip
    """A leg from a place on the body to the plane z = -height, as it stands; then its joints are
    turned back by angles of the standing pose to the zero position."""
    kind = str(rng.choice([*KINDS[1:]] if doubled else KINDS))
    radius = 0.0 if kind == "point" else float(rng.uniform(0.018, 0.035))
    ahead = float(rng.uniform(-0.03, 0.03))
    centre = np.array([at[0] + ahead, at[1] + outwards, radius - height])
    count = int(rng.integers(2, 6))
    axes = str(rng.choice(CHAINS[count]))
    shares = np.concatenate([[0.0], np.sort(rng.uniform(0.15, 0.8, count - 1))])
    points = at + np.outer(shares, centre - at)
    bend = rng.uniform(0.02, 0.05) * rng.choice([-1.0, 1.0])
    points[:, 0] += bend * np.sin(np.pi * shares)
    angles = rng.uniform(-0.6, 0.6, count)
    speed = float(rng.uniform(6.0, 8.0))
    turn, before, joints = np.eye(3), np.zeros(3), []
    for k, point in enumerate(points):
        axis = turn.T @ np.eye(3)["xyz".index(axes[k])]
        reach = rng.uniform(1.0, 1.6, 2)
        joints.append(
            LegJoint(
                f"j{k + 1}", turn.T @ (point - before), axis, float(angles[k]),
                float(angles[k] - reach[0]), float(angles[k] + reach[1]), speed,
                motor_mass=float(rng.uniform(0.03, 0.08)),
            )
        )  # fmt: skip
        turn = turn @ joint_motion(axis, True, angles[k])[:3, :3]
        before = point
    mass = float(rng.uniform(0.01, 0.06))
    axle = None if kind == "point" else turn.T @ np.array([0.0, 1.0, 0.0])
    half = float(rng.uniform(0.03, 0.045)) if doubled or rng.uniform() < 0.2 else 0.0
    ends = tuple(
        LegEnd(
            f"e{k + 1}", kind, turn.T @ (centre - before + [side * half, 0.0, 0.0]), axle, radius,
            mass=mass, speed=float(rng.uniform(6.0, 12.0)) if kind == "actuated" else math.inf,
        )
        for k, side in enumerate((1.0, -1.0) if half else (0.0,))
    )  # fmt: skip
    return Leg(name, tuple(joints), ends, copies)
