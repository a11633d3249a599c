"""Made-up recordings with known defects: what a source sends in place of measurements, and when.

Motions are closed forms (flight with bounces, a slide that friction stops, a roll, a swing), so a
recording costs nothing; a study draws things, rates, noise and defects from here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros.rotation import quat_exp, quat_multiply
from diffsim_ros.sensing.observation import Observation

THINGS = ("cube", "ball", "slide", "beam")
RATES = (60.0, 120.0, 240.0, 1000.0)
DEFECTS = (
    "none", "zeros", "identity", "fixed pose", "freeze", "nan", "flip", "doubled", "drift",
)  # fmt: skip
SHARE = 0.08
"""Of the samples that a defect spoils."""
DRIFT = 0.02
"""Of places over a recording [m]: no sample is lost, all of them are off."""
G = 9.81


@dataclass(frozen=True)
class Made:
    """A recording, and which of its samples stand for none (n,); truth: places [m] (n, 3)."""

    stream: Observation
    lost: np.ndarray
    truth: np.ndarray


def motion(thing: str, t: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Places [m] (n, 3) and orientations x, y, z, w (n, 4), None of a marker, at times t (n,)."""
    draw = np.random.default_rng(seed)
    if thing == "beam":
        swing = 0.03 * np.exp(-0.8 * t) * np.cos(2.0 * np.pi * draw.uniform(2.0, 5.0) * t)
        return np.stack([0.3 + 0.0 * t, 0.0 * t + 0.1, 0.4 + swing], axis=1), None
    speed, angle = draw.uniform(0.8, 1.5), draw.uniform(0.0, 2.0 * np.pi)
    if thing == "slide":
        grip = 0.3 * G
        ended = np.minimum(t, speed / grip)
        along = speed * ended - 0.5 * grip * ended**2
        turned, height = 0.5 * along[:, None] * [0.0, 0.0, 1.0], np.full(len(t), 0.025)
    else:
        height, turns, along = _bounces(t, draw.uniform(0.4, 0.8)), *_rolled(t, speed)
        turned = turns[:, None] * draw.uniform(-6.0, 6.0, 3)
    place = np.stack([0.4 + along * np.cos(angle), 0.3 + along * np.sin(angle), height], axis=1)
    tilt = quat_exp(draw.uniform(-0.5, 0.5, 3))
    return place, quat_multiply(quat_exp(turned), np.broadcast_to(tilt, (len(t), 4)))


def _bounces(t: np.ndarray, fall: float) -> np.ndarray:
    """Heights [m] of what falls from `fall` above its rest, 0.05 m, and bounces."""
    height, begun, up = np.full(len(t), 0.05), 0.0, 0.0
    for restitution in (0.4, 0.3, 0.2, 0.0):
        down = (up + np.sqrt(up**2 + 2.0 * G * (fall if begun == 0.0 else 0.0))) / G
        own = (t >= begun) & (t < begun + down)
        s = t[own] - begun
        height[own] += (fall if begun == 0.0 else 0.0) + up * s - 0.5 * G * s**2
        begun, up = begun + down, restitution * (G * down - up)
    return height


def _rolled(t: np.ndarray, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Turns [rad] and way [m] of what slows down over a second."""
    ended = np.minimum(t, 1.0)
    return 1.0 * (ended - 0.5 * ended**2), speed * (ended - 0.5 * ended**2)


def made(
    thing: str, rate: float, defect: str, seed: int, *, noise: float = 5e-4, digits: int = 6,
    seconds: float = 2.0,
) -> Made:  # fmt: skip
    """A recording of one thing [Hz] with one defect; noise [m], 3 rad per m of it of rotations.

    digits  of the numbers in the file
    """
    draw = np.random.default_rng([seed, THINGS.index(thing), DEFECTS.index(defect), int(rate)])
    t = np.arange(int(seconds * rate)) / rate
    truth, q = motion(thing, t, seed)
    p = np.round(truth + noise * draw.normal(size=truth.shape), digits)
    if q is not None:
        q = quat_multiply(q, quat_exp(3.0 * noise * draw.normal(size=truth.shape)))
        q = np.round(q, digits + 2)
        q = q / np.linalg.norm(q, axis=1, keepdims=True)
    lost = np.zeros(len(t), bool)
    if defect not in ("none", "drift", "doubled"):
        lost = _spoilt(len(t), defect, thing, draw)
    p, q = _with(defect, p, q, lost, draw)
    if defect == "drift":
        p = p + np.outer(t / t[-1], [DRIFT, 0.0, 0.0])
    rows = np.arange(len(t))
    if defect == "doubled":
        rows = np.sort(np.concatenate([rows, draw.choice(rows, len(rows) // 3, replace=False)]))
        lost = np.concatenate([[False], np.diff(rows) == 0])
    kind = "markers" if q is None else "poses"
    values = {"position": p[rows, None]}
    if q is not None:
        values["orientation"] = q[rows, None]
    stream = Observation(
        kind=kind, t=t[rows], names=("tip",) if q is None else ("body",), values=values,
        source=f"{thing}.csv", format="made",
    )  # fmt: skip
    return Made(stream, lost, truth[rows])


def _spoilt(n: int, defect: str, thing: str, draw: np.random.Generator) -> np.ndarray:
    """Which samples a defect spoils: runs, or single ones where orientations flip.

    A freeze is no loss where nothing moves: it begins early.
    """
    lost = np.zeros(n, bool)
    if defect == "flip":
        lost[draw.choice(np.arange(5, n - 5, 4), max(3, int(0.03 * n)), replace=False)] = True
        return lost
    length = max(4, int(SHARE * n / 2))
    for begin in (draw.uniform(0.1, 0.25), draw.uniform(0.4, 0.55)):
        k = int(begin * n)
        lost[k : k + length] = True
    return lost


def _with(
    defect: str, p: np.ndarray, q: np.ndarray | None, lost: np.ndarray, draw: np.random.Generator
) -> tuple[np.ndarray, np.ndarray | None]:
    p, q = p.copy(), None if q is None else q.copy()
    if defect == "zeros":
        p[lost] = 0.0
        if q is not None:
            q[lost] = 0.0
    elif defect == "identity":
        p[lost] = 0.0
        if q is not None:
            q[lost] = [0.0, 0.0, 0.0, 1.0]
    elif defect == "fixed pose":
        p[lost] = [1.5, -2.0, 0.7]
        if q is not None:
            q[lost] = [0.6, 0.0, 0.0, 0.8]
    elif defect == "nan":
        p[lost] = np.nan
        if q is not None:
            q[lost] = np.nan
    elif defect == "freeze":
        last = np.maximum.accumulate(np.where(lost, 0, np.arange(len(p))))
        p = p[last]
        q = None if q is None else q[last]
    elif defect == "flip" and q is not None:
        axis = np.array([np.cos(0.4), np.sin(0.4), 0.0])
        q[lost] = quat_multiply(q[lost], quat_exp(np.radians(55.0) * axis))
    return p, q
