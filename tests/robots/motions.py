"""A sound motion of the UR5 that tests corrupt, and methods to corrupt it."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.command import NANO, JointCommand, JointSample
from diffsim_ros.robots.trajectory import JointTrajectory

ROOT = Path(__file__).resolve().parents[2]
NOW = 1_700_000_000 * NANO
ARM = load_arm(ROOT / "config" / "robots" / "ur5.yaml")
NAMES = ARM.robot.joint_names
HOME = JointSample(dict(zip(NAMES, ARM.home.tolist(), strict=True)), dict.fromkeys(NAMES, 0.0))


@cache
def swing(size=0.5, duration=1.0, count=26, release=0.6):
    """Every joint goes `size` [rad] from home and rests: a polynomial of fifth degree."""
    s = np.linspace(0.0, 1.0, count)
    away = np.array([1.0, 0.5, -0.5, 0.4, 0.3, -1.0]) * size
    q = 10 * s**3 - 15 * s**4 + 6 * s**5
    qd = (30 * s**2 - 60 * s**3 + 30 * s**4) / duration
    qdd = (60 * s - 180 * s**2 + 120 * s**3) / duration**2
    qd[-1] = qdd[-1] = qdd[0] = 0.0  # to the last bit
    rows = [ARM.home + np.outer(q, away), np.outer(qd, away), np.outer(qdd, away)]
    return JointTrajectory(NAMES, s * duration, *rows, release=release)


def command(**options):
    """The swing as in a message."""
    return JointCommand.of(swing(**options))


def with_point(given, k, **changes):
    """A command with fields of its point k replaced."""
    points = list(given.points)
    points[k] = replace(points[k], **changes)
    return replace(given, points=tuple(points))


def with_value(given, k, key, joint, value):
    """A command with one number of point k replaced."""
    row = list(getattr(given.points[k], key))
    row[joint] = value
    return with_point(given, k, **{key: tuple(row)})


def without(given, *keys):
    """A command without these fields at any point."""
    points = [replace(point, **dict.fromkeys(keys, ())) for point in given.points]
    return replace(given, points=tuple(points))


def shifted(given, offset):
    """A command whose joint positions are all moved by offset (6,)."""
    points = [replace(p, positions=tuple(np.asarray(p.positions) + offset)) for p in given.points]
    return replace(given, points=tuple(points))


def later(given, seconds):
    """A command whose times are all later."""
    more = round(seconds * NANO)
    points = [replace(p, time=p.time + more) for p in given.points]
    return replace(given, points=tuple(points))


_GOOD = command()
GOOD_ODD = {
    "NaN": with_value(_GOOD, 3, "positions", 0, np.nan),
    "huge": with_value(with_value(_GOOD, 3, "velocities", 0, 1e308), 4, "positions", 1, -1e308),
    "infinite": with_value(_GOOD, -1, "positions", 2, np.inf),
    "late": replace(_GOOD, stamp=NOW - NANO // 2),
    "long past": replace(later(_GOOD, 1.7e9 - 0.5), stamp=1),
    "before the start": later(_GOOD, -0.5),
    "all before the start": later(_GOOD, -5.0),
    "one point": replace(_GOOD, points=_GOOD.points[-1:]),
    "one point ahead": replace(_GOOD, points=later(_GOOD, 0.1).points[:1]),
    "fields of some points": with_point(_GOOD, 3, velocities=(), accelerations=()),
    "accelerations alone": without(_GOOD, "velocities"),
    "names twice": replace(_GOOD, names=(NAMES[0],) * 6),
    "points too near to distinguish": later(_GOOD, 2**31 - 2),
    "a nanosecond": with_point(with_point(later(_GOOD, 2**30), 0, time=0), 1, time=1),
}
"""Commands that the real controller accepts although something is odd about them."""
