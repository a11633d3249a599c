"""A joint's log, measured late and with a gain and a bias: residuals with exact partials.

With the coordinate q of a joint at rows of a rollout and the sensor's delay T [Eq. 7h],

    y(t) = gain x((1 + drift) t - T) + bias,   r = (y - measured)/sigma

x is q along the cubic of its rows' values and rates (7a), or q', or the torque of the motor on it,
k (q* - q) + c (q*' - q') within its limits, as the engine applies it, both along a cubic through
their rows.  Before the start a joint is as at the start.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from diffsim_ros.errors import InputError

from .at_times import rows_around
from .losses import Loss
from .objectives import BodySlot, Term, _checked, _checked_times

_Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Reading:
    """How one signal is measured: numbers, or the names of parameters to read them from."""

    sigma: float
    delay: float | str = 0.0
    gain: float | str = 1.0
    bias: float | str = 0.0
    drift: float | str = 0.0

    def named(self) -> list[str]:
        """Parameters that it uses."""
        every = (self.delay, self.gain, self.bias, self.drift)
        return [v for v in every if isinstance(v, str)]

    def numbers(self, values: Mapping[str, float]) -> tuple[float, ...]:
        """(delay, gain, bias, drift)."""
        numbers = (self.delay, self.gain, self.bias, self.drift)
        return tuple(values[v] if isinstance(v, str) else v for v in numbers)


@dataclass(frozen=True)
class Scaled:
    """A number of the engine: constant, or factor * (parameter)^power."""

    value: float
    name: str | None = None
    factor: float = 1.0
    power: float = 1.0

    def number(self, values: Mapping[str, float]) -> float:
        """Its value."""
        if self.name is None:
            return self.value
        return self.factor * values[self.name] ** self.power

    def slope(self, values: Mapping[str, float]) -> float:
        """Its derivative by the parameter."""
        if self.name is None:
            return 0.0
        return self.factor * self.power * values[self.name] ** (self.power - 1)


@dataclass(frozen=True)
class Servo:
    """A motor that follows targets: gains, and q* and q*' at the rows of a rollout (F,).

    lower, upper  where its torque is cut off, None: nowhere
    """

    stiffness: Scaled
    damping: Scaled
    target: np.ndarray
    target_rate: np.ndarray
    turns: bool = True
    lower: Scaled | None = None
    upper: Scaled | None = None

    @property
    def numbers(self) -> list[Scaled]:
        """What it has of the engine."""
        every = (self.stiffness, self.damping, self.lower, self.upper)
        return [number for number in every if number is not None]

    def torque(
        self, q: np.ndarray, rate: np.ndarray, values: Mapping[str, float]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[tuple[Scaled, np.ndarray]]]:
        """(torque (F,), its slopes by q and by the rate (F,), those by each of its numbers)."""
        k, c = self.stiffness.number(values), self.damping.number(values)
        error, lag = self.error(q), self.target_rate[: len(q)] - rate
        torque = k * error + c * lag
        low = torque < (-np.inf if self.lower is None else self.lower.number(values))
        high = torque > (np.inf if self.upper is None else self.upper.number(values))
        free = 1.0 - low - high
        slopes = [(self.stiffness, free * error), (self.damping, free * lag)]
        for end, beyond in ((self.lower, low), (self.upper, high)):
            if end is not None:
                torque = np.where(beyond, end.number(values), torque)
                slopes.append((end, 1.0 * beyond))
        return torque, -k * free, -c * free, slopes

    def error(self, q: np.ndarray) -> np.ndarray:
        """q* - q, of angles within half a turn."""
        error = self.target[: len(q)] - q
        return np.angle(np.exp(1j * error)) if self.turns else error


@dataclass(frozen=True, kw_only=True)
class JointTerm(Term):
    """Residuals by a joint's coordinate and rate at rows of the rollout, and these by both bodies.

    rows, by_q, by_rate  (M, signals, 4)  rows that a residual reads, and its partials
    g, rate_x            (F, d)  dq/dx (and drate/dv), drate/dx at every row, by `dofs`
    """

    rows: np.ndarray
    by_q: np.ndarray
    by_rate: np.ndarray
    g: np.ndarray
    rate_x: np.ndarray

    def through(self, slot: BodySlot, dx: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """See `Term.through`: the sensitivities of q and its rate first, once for all signals."""
        dx, dv = (d[:, self._columns(slot)] for d in (dx, dv))
        by_g = np.einsum("fd,fda->fa", self.g, dx)
        of_rate = np.einsum("fd,fda->fa", self.rate_x, dx) + np.einsum("fd,fda->fa", self.g, dv)
        J = np.zeros((*self.residual.shape, dx.shape[2]))
        for s in range(4):
            rows = self.rows[..., s]
            J += self.by_q[..., s, None] * by_g[rows] + self.by_rate[..., s, None] * of_rate[rows]
        return J

    def pull(self, slot: BodySlot, weight: np.ndarray, gx: np.ndarray, gv: np.ndarray) -> None:
        """See `Term.pull`."""
        dofs, count, rows = self._columns(slot), len(self.g), self.rows.ravel()
        on_q, on_rate = (
            np.bincount(rows, (by * weight[..., None]).ravel(), count)[:, None]
            for by in (self.by_q, self.by_rate)
        )
        gx[:, dofs] += on_q * self.g + on_rate * self.rate_x
        gv[:, dofs] += on_rate * self.g


@dataclass(frozen=True)
class JointTrack:
    """Measured signals of one joint: r per time and signal.

    body      the joint's body_b;  other  first dof of its body_a in the scene, None: the world
    scene     engine scene, for its joint_motion
    t         times since the start of the rollout (M,) [s];  interval  between its rows [s]
    measured  signal -> values (M,), NaN: not measured
    readings  signal -> Reading;  servo  its motor, for the signal effort
    """

    body: str
    joint: str
    scene: Any
    other: int | None
    t: np.ndarray
    interval: float
    measured: Mapping[str, np.ndarray]
    readings: Mapping[str, Reading]
    servo: Servo | None = None
    turns: bool = True
    loss: Loss = field(default_factory=Loss)
    soft: ClassVar[bool] = False

    def __post_init__(self) -> None:
        place, put = f"objective of joint {self.joint!r}", object.__setattr__
        put(self, "t", _checked_times(place, self.t))
        if not self.interval > 0:
            raise InputError(place, "interval", self.interval, "a number > 0 [s]")
        for signal, values in self.measured.items():
            values = np.asarray(values, float)
            _checked(place, signal, np.nan_to_num(values), self.t.shape)
            if not self.readings[signal].sigma > 0:
                raise InputError(place, "sigma", self.readings[signal].sigma, "a number > 0")
        if "effort" in self.measured and self.servo is None:
            raise InputError(place, "servo", None, "a motor, whose effort is measured")

    @property
    def name(self) -> str:
        """For messages."""
        return f"joint {self.joint}"

    @property
    def frames(self) -> np.ndarray:
        """First and last row of the rollout that are used without a delay."""
        return rows_around(self.t[[0, -1]], self.interval).ravel()

    @property
    def parameters(self) -> tuple[str, ...]:
        """Parameters that the objective uses directly."""
        names = [name for signal in self.measured for name in self.readings[signal].named()]
        if self.servo is not None and "effort" in self.measured:
            names += [one.name for one in self.servo.numbers if one.name is not None]
        return tuple(dict.fromkeys(names))

    def until(self, frame: int) -> JointTrack | None:
        """See `Objective.until`."""
        kept = rows_around(self.t, self.interval)[:, 1] <= frame
        if kept.all():
            return self
        if not kept.any():
            return None
        cut = {signal: np.asarray(v)[kept] for signal, v in self.measured.items()}
        return JointTrack(**{**vars(self), "t": self.t[kept], "measured": cut})

    def motion(self, rollout: Any) -> dict[str, np.ndarray]:
        """The engine's joint_motion of the rollout, its angle made continuous."""
        found = self.scene.joint_motion(self.joint, self.scene.values, rollout)
        if self.turns:
            found["coordinate"] = np.unwrap(found["coordinate"])
        return found

    def predicted(self, rollout: Any, values: Mapping[str, float]) -> dict[str, np.ndarray]:
        """Readings (M,) of every measured signal, by name."""
        motion = self.motion(rollout)
        return {s: self._read(s, motion, values)[0] for s in self.measured}

    def term(self, rollout: Any, slot: BodySlot, values: Mapping[str, float]) -> JointTerm:
        """Residuals (M, signals) and partials by both bodies and by its parameters."""
        motion, signals = self.motion(rollout), list(self.measured)
        parts = [self._residual(s, motion, values) for s in signals]
        columns, dofs = slice(6, 12), np.arange(slot.size)
        if self.other is not None:
            columns = slice(0, 12)
            dofs = np.concatenate([self.other - slot.dof + np.arange(6), dofs])
        own: dict[str, np.ndarray] = {}
        for i, part in enumerate(parts):
            for name, slope in part[4].items():
                own.setdefault(name, np.zeros((len(self.t), len(signals))))[:, i] += slope
        residual, rows, by_q, by_rate = (
            np.stack(p, axis=1) for p in list(zip(*parts, strict=True))[:4]
        )
        return JointTerm(
            residual, rows[:, 0, 0], own=own, dofs=dofs, rows=rows, by_q=by_q, by_rate=by_rate,
            g=motion["by_pose"][:, columns], rate_x=motion["rate_by_pose"][:, columns],
        )  # fmt: skip

    def _residual(
        self, signal: str, motion: Mapping[str, np.ndarray], values: Mapping[str, float]
    ) -> _Rows:
        """(r (M,), rows (M, 4), dr/dq, dr/drate of the rows (M, 4), own) of one signal."""
        measured = np.asarray(self.measured[signal], float)
        y, rows, by_q, by_rate, own = self._read(signal, motion, values)
        valid = np.isfinite(measured)
        weight = valid / self.readings[signal].sigma
        apart = y - np.where(valid, measured, y)
        if signal == "position" and self.turns:
            apart = apart - 2 * math.pi * np.round(np.median(apart[valid]) / (2 * math.pi))
        own = {name: weight * slope for name, slope in own.items()}
        by_q, by_rate = (weight[:, None] * by for by in (by_q, by_rate))
        return weight * apart, rows, by_q, by_rate, own

    def _read(
        self, signal: str, motion: Mapping[str, np.ndarray], values: Mapping[str, float]
    ) -> _Rows:
        """(y (M,), rows (M, 4), dy/dq, dy/drate of the rows (M, 4), own name -> (M,))."""
        reading = self.readings[signal]
        delay, gain, bias, drift = reading.numbers(values)
        last = (len(motion["coordinate"]) - 1 - 1e-9) * self.interval
        wanted = (1.0 + drift) * self.t - delay
        at = np.clip(wanted, 0.0, last)
        inside, first = at == wanted, rows_around(at, self.interval)[:, 0]
        share = at / self.interval - first
        rows = np.clip(first[:, None] + np.arange(-1, 3), 0, len(motion["rate"]) - 1)
        q, rate = motion["coordinate"], motion["rate"]
        own: dict[str, np.ndarray] = {}
        if signal == "position":
            by_q, by_rate, slopes = _cubic(share, self.interval)
            x = np.sum(by_q * q[rows] + by_rate * rate[rows], axis=1)
            slope = np.sum(slopes[0] * q[rows] + slopes[1] * rate[rows], axis=1)
        else:
            at_rows, k, c = rate, 0.0 * rate, 1.0 + 0.0 * rate
            curve, by_time = _smooth(share, self.interval)
            if self.servo is not None and signal == "effort":
                at_rows, k, c, own_slopes = self.servo.torque(q, rate, values)
                for number, by in own_slopes:
                    if number.name is not None:
                        by = gain * number.slope(values) * np.sum(curve * by[rows], axis=1)
                        own[number.name] = own.get(number.name, 0.0) + by
            x = np.sum(curve * at_rows[rows], axis=1)
            slope = np.sum(by_time * at_rows[rows], axis=1)
            by_q, by_rate = k[rows] * curve, c[rows] * curve
        late = gain * slope * inside
        moved = (
            (reading.delay, -late), (reading.gain, x), (reading.bias, 1.0 + 0 * x),
            (reading.drift, late * self.t),
        )  # fmt: skip
        for name, by in moved:
            if isinstance(name, str):
                own[name] = own.get(name, 0.0) + by
        return gain * x + bias, rows, gain * by_q, gain * by_rate, own


def _cubic(s: np.ndarray, T: float) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Weights (M, 4) of four rows' values and rates on the cubic (7a) at shares s, and of dx/dt."""
    zero = 0.0 * s
    of_q = [zero, (1 + 2 * s) * (1 - s) ** 2, s * s * (3 - 2 * s), zero]
    of_rate = [zero, T * s * (1 - s) ** 2, T * s * s * (s - 1), zero]
    turn = 6 * s * (1 - s) / T
    slope_q = [zero, -turn, turn, zero]
    slope_rate = [zero, (1 - s) * (1 - 3 * s), s * (3 * s - 2), zero]
    by_q, by_rate, *by_time = (np.stack(w, axis=1) for w in (of_q, of_rate, slope_q, slope_rate))
    return by_q, by_rate, by_time


def _smooth(s: np.ndarray, T: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights (M, 4) of four rows' values, and of dx/dt, on the curve of Catmull and Rom.

    Its slope has no kinks at rows, as the derivative by a delay needs.
    """
    by = [
        s * (-1 + s * (2 - s)),
        2 + s * s * (3 * s - 5),
        s * (1 + s * (4 - 3 * s)),
        s * s * (s - 1),
    ]
    slope = [-1 + s * (4 - 3 * s), s * (9 * s - 10), 1 + s * (8 - 9 * s), s * (3 * s - 2)]
    return 0.5 * np.stack(by, axis=1), 0.5 / T * np.stack(slope, axis=1)
