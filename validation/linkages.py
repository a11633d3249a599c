"""High-order references of planar linkages: pendulum, double pendulum, motor-driven four-bar loop.

Motion is in the x-z plane, gravity along -z; an angle is that of a link's axis from the x axis
towards z (so a link that hangs has -pi/2, and rotation about the world's y axis is minus it). A
link is a rigid body with mass m, length l, centre of mass at a along its axis from its first joint,
moment I about that centre. Minimal coordinates where there is no loop; the loop by its index-1 form

    [M  C^T] [a     ]   [f - c          ]
    [C   0 ] [lambda] = [-Cdot v - 2 w (C v) - w^2 g]

whose last terms (Baumgarte, w = 50 /s) hold the round-off of the closure g = 0. DOP853, rtol 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import solve_ivp

GRAVITY = 9.81
BAUMGARTE = 50.0  # 1/s
RTOL = 1e-12


@dataclass(frozen=True)
class Link:
    """A rod by default: uniform, its centre in the middle."""

    mass: float
    length: float
    centre: float | None = None
    moment: float | None = None

    @property
    def a(self) -> float:
        """Distance of the centre of mass from the first joint [m]."""
        return self.length / 2 if self.centre is None else self.centre

    @property
    def I(self) -> float:  # noqa: E743
        """Moment about the centre of mass [kg m^2]."""
        return self.mass * self.length**2 / 12 if self.moment is None else self.moment


@dataclass(frozen=True)
class Motor:
    """Torque on the first link: stiffness (target(t) - angle) - damping (rate - target rate).

    The thesis' motor [G 4.5.4] with a target angle and a damping torque.
    """

    target: Callable[[float], float]
    rate: Callable[[float], float] = lambda t: 0.0
    stiffness: float = 0.0
    damping: float = 0.0

    def torque(self, t: float, angle: float, speed: float) -> float:
        """[N m], positive towards growing angles."""
        return self.stiffness * (self.target(t) - angle) - self.damping * (speed - self.rate(t))


@dataclass(frozen=True)
class Motion:
    """angles, rates (F, links); centres, ends (F, links, 2) in the x-z plane; energy (F,) [J].

    ends: the far end of each link. work: what the motor put in [J], (F,).
    """

    t: np.ndarray
    angles: np.ndarray
    rates: np.ndarray
    centres: np.ndarray
    ends: np.ndarray
    energy: np.ndarray
    work: np.ndarray = field(default_factory=lambda: np.zeros(0))


def direction(angle):
    """(..., 2) unit vectors along links of these angles."""
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def pendulum(link: Link, angle: float, rate: float, t, gravity: float = GRAVITY) -> Motion:
    """One link on a hinge at the origin, at times t (F,) from t[0] on."""
    return chain([link], [angle], [rate], t, gravity)


def double_pendulum(links, angles, rates, t, gravity: float = GRAVITY) -> Motion:
    """Two links, the second hinged at the end of the first."""
    return chain(list(links), angles, rates, t, gravity)


def chain(links: list[Link], angles, rates, t, gravity: float = GRAVITY) -> Motion:
    """Any number of links, hinged end to start, from the origin."""
    n = len(links)
    inertia, load = _chain_terms(links)

    def slope(_, y):
        th, w = y[:n], y[n:]
        apart = th[:, None] - th[None]
        M = inertia * np.cos(apart)
        f = -(inertia * np.sin(apart)) @ w**2 - gravity * load * np.cos(th)
        return np.concatenate([w, np.linalg.solve(M, f)])

    y = _integrated(slope, np.concatenate([angles, rates]), t)
    return _motion(links, t, y[:n].T, y[n : 2 * n].T, np.zeros((n, 2)), gravity)


def _chain_terms(links) -> tuple[np.ndarray, np.ndarray]:
    """T = 1/2 sum_ij inertia_ij cos(th_i - th_j) w_i w_j;  V = g sum_i load_i sin th_i."""
    n = len(links)
    reach = np.zeros((n, n))  # centre k = sum_i reach_ki direction_i
    for k in range(n):
        reach[k, :k] = [link.length for link in links[:k]]
        reach[k, k] = links[k].a
    mass = np.array([link.mass for link in links])
    inertia = reach.T @ (mass[:, None] * reach) + np.diag([link.I for link in links])
    return inertia, mass @ reach


@dataclass(frozen=True)
class FourBar:
    """Crank from the origin, coupler, rocker; ground pivot of the rocker at (base, 0).

    The rocker's first joint is its ground pivot; its end meets the coupler's end.
    """

    crank: Link
    coupler: Link
    rocker: Link
    base: float

    @property
    def links(self) -> list[Link]:
        """Crank, coupler, rocker."""
        return [self.crank, self.coupler, self.rocker]

    def closed(self, crank_angle: float, branch: int = 1) -> np.ndarray:
        """(3,) angles that close the loop; branch +1: the coupling joint is left of the line
        from the crank's end to the rocker's pivot, -1: right of it."""
        start = self.crank.length * direction(crank_angle)
        across = np.array([self.base, 0.0]) - start
        d, a, b = np.linalg.norm(across), self.coupler.length, self.rocker.length
        cosine = (a**2 + d**2 - b**2) / (2 * a * d)
        if abs(cosine) > 1:
            raise ValueError(f"crank angle {crank_angle}: the loop cannot be closed")
        coupler = np.arctan2(across[1], across[0]) + branch * np.arccos(cosine)
        joint = start + a * direction(coupler)
        return np.array([crank_angle, coupler, np.arctan2(joint[1], joint[0] - self.base)])

    def closure(self, th) -> np.ndarray:
        """(2,) gap of the loop [m]."""
        lengths = np.array([self.crank.length, self.coupler.length, -self.rocker.length])
        return lengths @ direction(th) - np.array([self.base, 0.0])

    def jacobian(self, th) -> np.ndarray:
        """(2, 3) of the closure by the angles."""
        lengths = np.array([self.crank.length, self.coupler.length, -self.rocker.length])
        return (lengths[:, None] * np.stack([-np.sin(th), np.cos(th)], axis=1)).T

    def rates(self, th, crank_rate: float) -> np.ndarray:
        """(3,) rates that keep the loop closed at this rate of the crank."""
        C = self.jacobian(th)
        return np.array([crank_rate, *np.linalg.solve(C[:, 1:], -C[:, 0] * crank_rate)])


def four_bar(
    loop: FourBar, motor: Motor, crank_angle: float, crank_rate: float, t, branch: int = 1,
    gravity: float = GRAVITY,
) -> Motion:  # fmt: skip
    """The motor turns the crank against the ground, from a closed state."""
    pair, load = _chain_terms([loop.crank, loop.coupler])
    inertia = np.zeros((3, 3))
    inertia[:2, :2] = pair
    inertia[2, 2] = loop.rocker.I + loop.rocker.mass * loop.rocker.a**2
    load = np.array([*load, loop.rocker.mass * loop.rocker.a])
    lengths = np.array([loop.crank.length, loop.coupler.length, -loop.rocker.length])
    full = np.zeros((5, 5))

    def slope(t, y):
        th, w = y[:3], y[3:6]
        apart = th[:, None] - th[None]
        f = -(inertia * np.sin(apart)) @ w**2 - gravity * load * np.cos(th)
        torque = motor.torque(t, th[0], w[0])
        f[0] += torque
        C = loop.jacobian(th)
        right = (lengths * w**2) @ direction(th)  # -Cdot v
        right -= 2 * BAUMGARTE * C @ w + BAUMGARTE**2 * loop.closure(th)
        full[:3, :3], full[:3, 3:], full[3:, :3] = inertia * np.cos(apart), C.T, C
        a = np.linalg.solve(full, np.concatenate([f, right]))[:3]
        return np.concatenate([w, a, [torque * w[0]]])

    th = loop.closed(crank_angle, branch)
    y = _integrated(slope, np.concatenate([th, loop.rates(th, crank_rate), [0.0]]), t)
    pivots = np.array([[0, 0], [0, 0], [loop.base, 0.0]])
    return _motion(loop.links, t, y[:3].T, y[3:6].T, pivots, gravity, work=y[6])


def _integrated(slope, start, t) -> np.ndarray:
    """(n, F) states at the times t."""
    t = np.asarray(t, dtype=float)
    run = solve_ivp(
        slope, (t[0], t[-1]), start, method="DOP853", t_eval=t, rtol=RTOL, atol=RTOL / 10
    )
    if not run.success or run.y.shape[1] != len(t):
        raise RuntimeError(f"reference integration: {run.message}")
    return run.y


def _motion(links, t, th, w, pivots, gravity, work=None) -> Motion:
    """Positions and energy; a link whose pivot is the origin and is not first hangs on the last."""
    along, across = direction(th), direction(th + np.pi / 2)
    frames = len(th)
    centres, ends, energy = np.zeros((frames, len(links), 2)), np.zeros((frames, len(links), 2)), 0
    joint, speed = np.zeros((frames, 2)), np.zeros((frames, 2))
    for k, link in enumerate(links):
        if np.any(pivots[k]):
            joint, speed = np.tile(pivots[k], (frames, 1)), np.zeros((frames, 2))
        centres[:, k] = joint + link.a * along[:, k]
        v = speed + link.a * across[:, k] * w[:, k, None]
        energy = energy + link.mass * (np.sum(v**2, axis=1) / 2 + gravity * centres[:, k, 1])
        energy = energy + link.I * w[:, k] ** 2 / 2
        speed = speed + link.length * across[:, k] * w[:, k, None]
        joint = joint + link.length * along[:, k]
        ends[:, k] = joint
    return Motion(
        np.asarray(t), th, w, centres, ends, energy, np.zeros(frames) if work is None else work
    )
