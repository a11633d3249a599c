"""Joint motions whose tool goes where it should: whole paths, every branch, within all limits.

A branch is one of the arm's choices of elbow, wrist and shoulder.  All are found at one key of the
path, followed through all keys (branches.py, in the engine), put into their ranges by whole turns
and checked between keys too.  Of those that pass, the one with the largest margins is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError

from .arm import Arm
from .branches import Branches, BranchMotion
from .time_scaling import QUANTITIES
from .trajectory import JointTrajectory

ENOUGH = {"singular": 0.1, "clearance": 0.1}
"""Share of the largest singular value, and distance [m], beyond which more is not better."""
ROUNDS = 6
"""How often clouds are thrown for an arm with joints to spare before its path is given up."""
UNITS = ("rad or m", "rad/s or m/s", "rad/s^2 or m/s^2", "rad/s^3 or m/s^3")

Clearance = Callable[[np.ndarray], tuple[np.ndarray, Sequence[str]]]


@dataclass(frozen=True)
class ArmMotion:
    """A joint motion along a path.

    trajectory  points at the keys, quintics between them with continuous jerk
    margins     position, velocity, acceleration, jerk: 0 (at a limit) to 1, shares of what is
                allowed; singular: smallest over largest singular value; clearance [m]
    branches    how many branches pass all limits
    """

    trajectory: JointTrajectory
    margins: dict[str, float]
    branches: int


def follow(
    arm: Arm, times, poses, *, link: str | None = None, orientation: str | Sequence[float] = "full",
    start=None, at_rest: bool = True, clearance: Clearance | None = None,
    singular: float = 0.0, starts: int = 48, seed: int = 0,
) -> ArmMotion:  # fmt: skip
    """The joint motion that takes a link through poses at times.

    times        (k,) [s], rising; the motion begins at the first
    poses        (k, 4, 4) of the link in the world, or positions (k, 3) with orientation "free"
    link         default: the arm's tool
    orientation  full; free; or an axis (3,) of the link, turns about which are free
    start        joint values (n,) at the first pose; None: any
    at_rest      zero velocity and acceleration at both ends; else they are what the path gives
    clearance    q (m, n) -> distances (m,) [m] to obstacles, and what is near (obstacles.py);
                 a motion below zero at a key is refused
    singular     least share of the largest singular value; 0 refuses none
    starts       first guesses for the branches at one key
    Joints that do not move the link stay at home (`start`, where given).  InputError names joint,
    time, value and limit: a pose out of reach, a limit, a singular path, an obstacle.
    """
    times, poses = _checked(arm, times, poses, orientation)
    search = Branches(arm, link or arm.tool, orientation, times, poses, at_rest)
    rng, failures = np.random.default_rng(seed), []
    rest = arm.home if start is None else arm.robot.values(start, "start")
    anchors = (0,) * ROUNDS if search.spare else (0, len(times) - 1, len(times) // 2)
    for anchor in anchors if start is None or search.spare else (0,):
        found, errors = search.at(anchor, starts, rng) if start is None else search.given(rest)
        if not len(found):
            failures.append(_unreached(search, anchor, errors.min()))
        if search.spare:
            paths = search.threaded(found, rng) if len(found) else ()
        else:
            paths, broken = search.followed(anchor, found, shift=start is None)
            failures.extend(_broken(search, anchor, path) for path in broken)
        passed = []
        for path in paths:
            failure = _refused(search, path, rest, clearance, singular)
            if failure is None:
                passed.append(path)
                if search.spare:
                    break
            else:
                failures.append(failure)
        if search.lost is not None:
            failures.append(_lost(search))
        if passed:
            best = max(passed, key=_score)
            return ArmMotion(search.trajectory(best, rest), best.margins, len(passed))
    raise max(failures, key=lambda failure: failure[0])[1]


def _score(path: BranchMotion) -> float:
    """The smallest margin, each against what is enough of it."""
    return min(min(value / ENOUGH.get(key, 1.0), 1.0) for key, value in path.margins.items())


# Why a path is refused: (rank, error); the failure that came furthest is reported.
Failure = tuple[tuple[int, float], InputError]


def _unreached(search: Branches, key: int, error: float) -> Failure:
    value = f"{error:.4g} m away at best"
    rule = f"a pose within reach and range of the joints (arm: {search.chain.length:.3g} m long)"
    place = f"{search.link} at {search.times[key]:.3f} s"
    return (0, 0.0), InputError("path", place, value, rule)


def _lost(search: Branches) -> Failure:
    place = f"{search.link} at {search.times[search.lost]:.3f} s"
    rule = "a pose that joints within their ranges reach"
    return (1, search.lost), InputError("path", place, "no such joint values found", rule)


def _broken(search: Branches, anchor: int, path: dict) -> Failure:
    """A path that ends before the first or last key: out of reach, or a joint that would jump."""
    ahead = path["last"] < len(search.times) - 1
    key = path["last"] + 1 if ahead else path["first"] - 1
    rank = (1, path["last"] - path["first"])
    if path["jumped"] < 0:
        return rank, _unreached(search, key, path["error"])[1]
    joint = path["jumped"]
    place = f"{search.names[joint]} at {search.times[key]:.3f} s"
    rule = f"a path without singular pose for a joint of at most {search.limits.velocity[joint]:g}"
    remedy = "shift or turn the path, or free its orientation"
    return rank, InputError("path", place, "a jump", rule, remedy)


def _refused(search, path: BranchMotion, rest, clearance: Clearance | None, least: float):
    """None where all limits hold; costlier margins are filled in."""
    failure = _beyond(search, path)
    if failure is not None:
        return failure
    low, high = search.chain.singular_values(search.task, path.states[0]).T
    k = int(np.argmin(low / high))
    path.margins["singular"] = share = float(low[k] / high[k])
    if share < least:
        place = f"{search.link} at {search.times[k]:.3f} s: singular value"
        return (3, share), InputError("path", place, share, f"at least {least:g} of the largest")
    if clearance is None:
        return None
    distances, near = clearance(search.all_joints(path.states[0], rest))
    k = int(np.argmin(distances))
    path.margins["clearance"] = float(distances[k])
    if distances[k] >= 0:
        return None
    place = f"{near[k]} at {search.times[k]:.3f} s"
    error = InputError("path", place, f"{distances[k]:.4f} m", "a distance of at least 0 m")
    return (4, float(distances[k])), error


def _beyond(search: Branches, path: BranchMotion) -> Failure | None:
    """The joint furthest beyond a limit."""
    limits, worst = search.limits, None
    excess = np.maximum(path.upper - limits.upper, limits.lower - path.lower)
    i = int(np.argmax(excess))
    if excess[i] > 0:
        above = path.upper[i] - limits.upper[i] >= limits.lower[i] - path.lower[i]
        value = path.upper[i] if above else path.lower[i]
        rows = path.states[0][:, i]
        rule = f"from {limits.lower[i]:g} to {limits.upper[i]:g} {UNITS[0]}"
        worst = (i, int(rows.argmax() if above else rows.argmin()), "position", value, rule, "")
        rank = (2, -float(excess[i]))
    else:
        most = np.stack([getattr(limits, name) for name in QUANTITIES[1:]])
        stretch = (path.rates / most) ** (1 / np.arange(1, 4)[:, None])
        row, i = np.unravel_index(int(np.argmax(stretch)), stretch.shape)
        if stretch[row, i] <= 1:
            return None
        rule = f"at most {most[row, i]:g} {UNITS[row + 1]}"
        remedy = f"a motion {stretch[row, i]:.3g} times as long would do"
        key = path.fastest_key(row, i)
        worst = (i, key, QUANTITIES[row + 1], path.rates[row, i], rule, remedy)
        rank = (2, -float(stretch[row, i]))
    i, key, quantity, value, rule, remedy = worst
    place = f"{search.names[i]} {quantity} at {search.times[key]:.3f} s"
    return rank, InputError("path", place, round(float(value), 6), rule, remedy)


def _checked(arm: Arm, times, poses, orientation) -> tuple[np.ndarray, np.ndarray]:
    """Times (k,) and poses (k, 4, 4) in the base's frame."""
    times, poses = np.asarray(times, float), np.asarray(poses, float)
    if times.ndim != 1 or len(times) < 2 or not np.all(np.diff(times) > 0):
        raise InputError("path", "times", times.tolist(), "at least two rising numbers [s]")
    if arm.base is None:
        remedy = "give base: {position, orientation} in the robot's YAML"
        raise InputError("path", "base", None, "an arm whose place in the world is known", remedy)
    if poses.shape == (len(times), 3) and isinstance(orientation, str) and orientation == "free":
        poses = np.tile(np.eye(4), (len(times), 1, 1)) + np.pad(
            poses[:, :, None], [(0, 0), (0, 1), (3, 0)]
        )
    if poses.shape != (len(times), 4, 4) or not np.all(np.isfinite(poses)):
        rule = f"finite poses ({len(times)}, 4, 4), or positions ({len(times)}, 3) if free"
        raise InputError("path", "poses", poses.shape, rule)
    turns = poses[:, :3, :3]
    if np.abs(np.swapaxes(turns, 1, 2) @ turns - np.eye(3)).max() > 1e-6:
        raise InputError("path", "poses", "a matrix that does not turn", "rotations [R t; 0 1]")
    return times - times[0], np.linalg.inv(arm.base) @ poses
