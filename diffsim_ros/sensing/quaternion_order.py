"""Whether quaternions are stored scalar first or last, from what the data themselves show.

The length of a quaternion, its continuity and a constant spin are the same in either order: taking
one for the other turns R into A R^T B with two fixed rotations A, B. Two things do differ. A body
that comes to rest lies on one of a few sides, whatever its heading, so the vertical in its frame is
one of a few directions, and an axis of it where the frame is that of a box; in the wrong order it
turns with the heading. And a recorded angular velocity agrees with the turns in one order only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..rotation import quat_conjugate, quat_log, quat_multiply, quat_rotate
from .observation import PoseTrial
from .resting import rests
from .toss_file import TOSSES

NEAR, FAR = np.radians(6.0), np.radians(9.0)
"""In the right order a body's sides are nearer to the vertical than NEAR at most rests; in the
wrong one they are farther than FAR at some."""
LEAST, MANY = 2, 6
"""Fewest rests that decide by axes, and by how alike they are; LEAST of them must be off."""
MOST = 0.75
"""Share of the rests that must be near: some bodies lean, or lie on an edge."""
SPIN = 0.5
"""Least share of a recorded angular velocity by which the wrong order must miss it."""


@dataclass(frozen=True)
class Order:
    """Evidence of an order: True if the order read is right, None if nothing tells.

    why  in words, with the figures of both
    """

    right: bool | None
    why: str


def swapped(orientation: np.ndarray, *, first: bool) -> np.ndarray:
    """Quaternions x, y, z, w (..., 4) as they are in the other order; first: read scalar first."""
    return np.roll(orientation, 1 if first else -1, axis=-1)


def order_of(
    t: np.ndarray, position: np.ndarray, orientation: np.ndarray, trial: np.ndarray, dt: float,
    up: np.ndarray, metre: float = 1.0, spin: np.ndarray | None = None, *, first: bool,
) -> Order:  # fmt: skip
    """Which order poses show, of one body.

    orientation  as read (n, 4), x, y, z, w;  first: the source was read scalar first
    up           against gravity (3,);  metre: recorded units in it
    spin         recorded angular velocity, body frame [rad/s] (n, 3)
    """
    both = orientation, swapped(orientation, first=first)
    names = ("first", "last") if first else ("last", "first")
    if spin is not None and dt > 0:
        off = [_spin_misfit(t, q, trial, spin) for q in both]
        if max(off) > SPIN and min(off) < SPIN * max(off):
            why = (
                f"the angular velocity in the file differs from that of the turns by "
                f"{100 * off[0]:.0f} % (w {names[0]}) and {100 * off[1]:.0f} % (w {names[1]})"
            )
            return Order(off[0] < off[1], why)
    begins, length = rests(t, position, trial, dt, metre)
    if len(begins) < LEAST:
        return Order(None, f"the body comes to rest in {len(begins)} trials")
    lying = [_vertical(q, begins, length, up) for q in both]
    begins = begins[: len(lying[0])]
    if len(begins) < LEAST:
        return Order(None, f"the body's orientation is seen in {len(begins)} rests")
    measures = (_to_axes, "an axis of the body", LEAST), (_to_another, "that of another rest", MANY)
    for angles, word, least in measures:
        found = [angles(u) for u in lying]
        near = [float(np.quantile(one, MOST)) for one in found]
        off = [int(np.sum(one > FAR)) for one in found]
        if len(begins) < least or min(near) > NEAR or max(off) < max(LEAST, 3 * min(off)):
            continue
        k = int(np.argmin(off))
        why = (
            f"with w {names[k]} the vertical is within {np.degrees(near[k]):.2g} deg of {word} at "
            f"most of {len(begins)} rests; with w {names[1 - k]} it is farther than "
            f"{np.degrees(FAR):.0f} deg at {off[1 - k]}"
        )
        return Order(k == 0, why)
    return Order(None, f"{len(begins)} rests are alike in both orders")


def check_order(trials: Sequence[PoseTrial], up: np.ndarray) -> None:
    """Refuse trials in which a body's rests show that w is at the other end.

    Raises InputError naming the source.
    """
    if not trials:
        return
    poses = [one.poses for one in trials]
    first = poses[0].format == TOSSES
    found = order_of(
        np.concatenate([one.frames * one.dt for one in trials]),
        np.concatenate([one.position[:, 0] for one in poses]),
        np.concatenate([one.orientation for one in poses]),
        np.repeat(np.arange(len(trials)), [len(one) for one in trials]),
        trials[0].dt, up, first=first,
    )  # fmt: skip
    if found.right is False:
        raise contradicted(trials[0].source, found, first=first)


def contradicted(place: str, found: Order, *, first: bool) -> InputError:
    """The refusal of an order that the data contradict."""
    read, other = ("first", "last") if first else ("last", "first")
    rule = f"quaternions with w {read}: {found.why}"
    remedy = f"w is {other}: move it, or let `diffsim init` write the recording anew"
    return InputError(place, "orientation", f"w {other}", rule, remedy)


def _vertical(q: np.ndarray, begins: np.ndarray, length: int, up: np.ndarray) -> np.ndarray:
    """The vertical in the body's frame at every rest, (k, 3)."""
    found = []
    for begin in begins:
        rows = q[begin : begin + length]
        rows = rows[np.isfinite(rows).all(axis=1)]
        if not len(rows):
            continue
        mean = np.sum(rows * np.sign(rows @ rows[0])[:, None], axis=0)
        found.append(quat_rotate(quat_conjugate(mean / np.linalg.norm(mean)), up))
    return np.array(found).reshape(-1, 3)


def faced(q: np.ndarray, up: np.ndarray) -> np.ndarray:
    """The axis of a body that is nearest to `up` during a rest (n, 4), in the recording's frame."""
    rows = q[np.isfinite(q).all(axis=1)]
    if not len(rows):
        return -up
    mean = np.sum(rows * np.sign(rows @ rows[0])[:, None], axis=0)
    axes = quat_rotate(mean / np.linalg.norm(mean), np.eye(3))
    k = int(np.argmax(np.abs(axes @ up)))
    return axes[k] * np.sign(axes[k] @ up)


def _to_axes(u: np.ndarray) -> np.ndarray:
    """Angles [rad] of unit vectors (k, 3) to the nearest axis (k,)."""
    return np.arccos(np.clip(np.abs(u).max(axis=1), 0.0, 1.0))


def _to_another(u: np.ndarray) -> np.ndarray:
    """Angles [rad] of unit vectors (k, 3) to the nearest of the others (k,)."""
    cosine = np.clip(u @ u.T, -1.0, 1.0) - 3.0 * np.eye(len(u))
    return np.arccos(np.clip(cosine.max(axis=1), -1.0, 1.0))


def _spin_misfit(t: np.ndarray, q: np.ndarray, trial: np.ndarray, spin: np.ndarray) -> float:
    """Relative difference between a recorded angular velocity and that of the turns, robust."""
    step = np.diff(t)
    good = (trial[1:] == trial[:-1]) & (step > 0)
    turn = quat_log(quat_multiply(quat_conjugate(q[:-1][good]), q[1:][good]))
    rate = turn / step[good][:, None]
    mean = 0.5 * (spin[:-1] + spin[1:])[good]
    size = np.linalg.norm(mean, axis=1)
    fast = size > np.median(size)
    if not fast.any() or not np.isfinite(size).all():
        return 0.0
    return float(np.median(np.linalg.norm(rate - mean, axis=1)[fast] / size[fast]))
