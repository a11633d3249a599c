"""Planar mechanisms of pinned bars: an independent reference (index-reduced ODE, DOP853), and the
same mechanism as an engine scene.

Bars lie in the x-y plane, bar i at (x, y, angle); pins hold a point of one bar to a point of another
or of the world. Reference: M q'' + J^T l = Q, J q'' = -J' q', eliminated at every instant.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.integrate import solve_ivp

from diffsim_ros import _engine

GRAVITY = 9.81


@dataclasses.dataclass
class Bar:
    mass: float
    length: float
    start: tuple[float, float, float]  # centre x, y, angle
    rate: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def inertia(self) -> float:
        return self.mass * self.length**2 / 12

    def end(self, side: int) -> np.ndarray:
        x, y, a = self.start
        return np.array([x, y]) + side * self.length / 2 * np.array([np.cos(a), np.sin(a)])


@dataclasses.dataclass
class Pin:
    """Holds `side` of bar to `other_side` of other; other None: to the world there."""

    bar: int
    side: int
    other: int | None = None
    other_side: int = 0


@dataclasses.dataclass
class Mechanism:
    bars: list[Bar]
    pins: list[Pin]
    gravity: tuple[float, float] = (0.0, -GRAVITY)

    def reference(self, times, torque=None, breaks=()):
        """q (len(times), bars, 3); torque(t, q, v): generalized forces; breaks: where it has kinks."""
        n = len(self.bars)
        M = np.array([[b.mass, b.mass, b.inertia] for b in self.bars]).ravel()
        weight = np.array([[*(b.mass * np.array(self.gravity)), 0.0] for b in self.bars]).ravel()

        def rows(q, v):
            J, rhs = np.zeros((2 * len(self.pins), 3 * n)), np.zeros(2 * len(self.pins))
            for k, pin in enumerate(self.pins):
                for bar, side, sign in ((pin.bar, pin.side, 1), (pin.other, pin.other_side, -1)):
                    if bar is None:
                        continue
                    a, rate = q[3 * bar + 2], v[3 * bar + 2]
                    arm = side * self.bars[bar].length / 2 * np.array([np.cos(a), np.sin(a)])
                    part = slice(2 * k, 2 * k + 2)
                    J[part, 3 * bar : 3 * bar + 2] = sign * np.eye(2)
                    J[part, 3 * bar + 2] = sign * np.array([-arm[1], arm[0]])
                    rhs[part] += sign * arm * rate**2
            return J, rhs

        def slope(t, y):
            q, v = y[: 3 * n], y[3 * n :]
            J, rhs = rows(q, v)
            Q = weight + (torque(t, q, v) if torque else 0)
            JM = J / M
            multipliers = np.linalg.solve(JM @ J.T, JM @ Q - rhs)
            return np.concatenate([v, (Q - J.T @ multipliers) / M])

        y = np.array([[*b.start] for b in self.bars] + [[*b.rate] for b in self.bars]).ravel()
        found = []
        edges = [0.0, *[b for b in breaks if b < times[-1]], times[-1]]
        for begin, end in zip(edges[:-1], edges[1:], strict=True):
            inside = [t for t in times if begin < t <= end or t == begin == 0]
            at = [*inside, *([end] if end not in inside else [])]
            run = solve_ivp(slope, (begin, end), y, "DOP853", at, rtol=1e-11, atol=1e-12)
            found.extend(run.y[: 3 * n, : len(inside)].T)
            y = run.y[:, -1]
        return np.array(found).reshape(len(times), n, 3)

    def scene(self, **joint):
        """The same in the engine: bars 'bar0' ..., hinges 'pin0' ... about z."""
        s = _engine.Scene()
        s.set_gravity([*self.gravity, 0])
        for i, b in enumerate(self.bars):
            x, y, a = b.start
            s.add_rigid_body(
                f"bar{i}", mass=b.mass, inertia=[b.inertia / 50, b.inertia, b.inertia, 0, 0, 0],
                position=[x, y, 0], orientation=[0, 0, np.sin(a / 2), np.cos(a / 2)],
                velocity=[*b.rate[:2], 0], angular_velocity=[0, 0, b.rate[2]], radius=b.length / 2,
            )  # fmt: skip
        for k, pin in enumerate(self.pins):
            place = self.bars[pin.bar].end(pin.side)
            other = "" if pin.other is None else f"bar{pin.other}"
            s.add_joint(f"pin{k}", kind="hinge", body_a=other, body_b=f"bar{pin.bar}",
                        position=[*place, 0], axis=[0, 0, 1], **joint)  # fmt: skip
        return s


def engine_motion(r):
    """Centres and angles (F, bars, 3) of a rollout, unwrapped along time."""
    angle = 2 * np.arctan2(r.orientation[:, :, 2], r.orientation[:, :, 3])
    return np.concatenate([r.position[:, :, :2], np.unwrap(angle, axis=0)[:, :, None]], axis=2)


def pendulum(bars=1, angle=-0.3):
    """Bars hanging off one another from the origin, all at `angle` from the x axis at the start."""
    way = np.array([np.cos(angle), np.sin(angle)])
    links = [Bar(0.5 + 0.2 * i, 0.4, (*(way * (0.2 + 0.4 * i)), angle)) for i in range(bars)]
    pins = [Pin(i, -1, *((i - 1, 1) if i else (None, 0))) for i in range(bars)]
    return Mechanism(links, pins)


def four_bar():
    """Crank, coupler, rocker on pivots (0, 0) and (0.5, 0.05), at rest with the crank at 1 rad."""
    lengths, ground = (0.15, 0.45, 0.35), np.array([0.5, 0.05])
    tip = lengths[0] * np.array([np.cos(1.0), np.sin(1.0)])
    apart = ground - tip
    gap = np.linalg.norm(apart)
    along = (lengths[1] ** 2 - lengths[2] ** 2 + gap**2) / (2 * gap)
    side = np.sqrt(lengths[1] ** 2 - along**2)
    elbow = tip + (along * apart + side * np.array([-apart[1], apart[0]])) / gap
    ends = [(np.zeros(2), tip), (tip, elbow), (ground, elbow)]
    bars = []
    for length, (a, b) in zip(lengths, ends, strict=True):
        bars.append(Bar(2.0 * length, length, (*((a + b) / 2), np.arctan2(*(b - a)[::-1]))))
    return Mechanism(bars, [Pin(0, -1), Pin(1, -1, 0, 1), Pin(2, -1), Pin(2, 1, 1, 1)])
