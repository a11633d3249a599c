"""Finding the excitation: coefficients of the series whose motion tells most, clear of everything.

Maximised is, of the information F of information.py, -r log(trace(F^-1) / r) over its r directions
(A-optimality: the mean variance), or log det F (D-optimality: the volume of the parameters'
confidence ellipsoid; Swevers et al. 1997), and minus the logs of the variances of chosen
parameters; less a penalty for coming near to the arm itself and to what stands around.  Limits are
kept by construction (series.py).  L-BFGS from the best of many drawn motions; then every joint's
motion is enlarged until one of its limits binds, and all are made smaller until the checks of every
plan, and the driver's check of collisions, pass.  The lag of a controller is not anticipated, as
other plans do: what is fitted is where the joints were.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ...errors import InputError
from ...robots.collision import Around, CollisionCheck
from ...robots.obstacles import Clearance
from ...robots.time_scaling import PERIOD, peaks
from ...robots.trajectory import JointTrajectory
from ..arm_motion import Carried, sent
from .config import ExcitationConfig
from .result import ExcitationResult

DRAWN = 8
"""Motions that are drawn for each start."""
SPREAD = 2.0
"""Of drawn coefficients, in the largest that a joint's limits allow."""
AHEAD = 0.02
"""[m] beyond the clearance at which the search begins to feel it ..."""
NEARER = 0.9
"""... if links of the arm are not as near at home: then at this share of their distance."""
PUSH = 20.0
"""Nats that a sample costs which comes that much too near."""
RIDGE = 1e-9
"""Added to F, in units of what random motions tell: what tells nothing has a number too."""
STEP = 1e-5
"""[rad or m] of differences of distances."""
SMALLER = (1.0, 0.98, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
"""Amplitudes that are tried."""
Report = Callable[[int, int, int, float], None]
"""Called with (start, starts, iteration, objective)."""


class _Cancelled(Exception):
    pass


class ExcitationProblem:
    """Objective and gradient over coefficients (n * size,), to be minimised."""

    def __init__(self, config: ExcitationConfig) -> None:
        self.config, self.bounded = config, config.bounded
        self.information = config.information
        self.clear = Clearance(config.arm, config.obstacles)
        at_home = float(self.clear(config.arm.home[None])[0][0])
        self.least = min(config.clearance + AHEAD, NEARER * at_home)
        self.evaluations = 0
        chosen = [self.information.index(name) for name in config.parameters]
        self.rows = self.information.basis[chosen]

    def shaped(self, z: np.ndarray) -> np.ndarray:
        """Coefficients (n, size)."""
        return z.reshape(len(self.config.arm.home), -1)

    def value(self, F: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective [nats] by the information F of a reading, and its gradient (r, r) by F."""
        F = F + RIDGE * np.eye(len(F))
        inverse, count = np.linalg.inv(F), len(F)
        value, slope = 0.0, np.zeros_like(F)
        if self.config.criterion == "volume":
            value, slope = float(np.linalg.slogdet(F)[1]), inverse
        elif self.config.criterion == "mean":
            total = float(np.trace(inverse))
            value = -count * float(np.log(total / count))
            slope = count / total * inverse @ inverse
        if len(self.rows):
            reach = self.rows @ inverse
            variance = np.sum(reach * self.rows, axis=1)
            value -= float(np.log(variance).sum())
            slope = slope + reach.T @ (reach / variance[:, None])
        return value, slope

    def __call__(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        c, own = self.shaped(z), self.information
        motion, places, columns = self._moved(c)
        q = self.config.arm.home + motion[0]
        value, weight = self.value(own.matrix(columns))
        slopes = np.zeros_like(motion)
        slopes[:3] = own.slopes(q, motion[1], motion[2], columns, weight)
        near, away = self._near(places)
        return near - value, -self.bounded.back(c, slopes, -away).ravel()

    def alone(self, z: np.ndarray) -> tuple[float, float]:
        """The objective without its gradient, and the part of it that is information."""
        _, places, columns = self._moved(self.shaped(z))
        told = self.value(self.information.matrix(columns))[0]
        return self._penalty(self.clear(places)[0]) - told, -told

    def _moved(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self.evaluations += 1
        home = self.config.arm.home
        motion, factor = self.bounded.motion(c)
        columns = self.information.columns(home + motion[0], motion[1], motion[2])
        return motion, home + self.bounded.places(c, factor), columns

    def _lack(self, distance: np.ndarray) -> np.ndarray:
        return np.maximum(self.least - distance, 0.0) / AHEAD

    def _penalty(self, distance: np.ndarray) -> float:
        return PUSH * float(np.sum(self._lack(distance) ** 2))

    def _near(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Penalty for coming near, and its gradient (m, n)."""
        distance, _ = self.clear(q)
        lack, slopes = self._lack(distance), np.zeros_like(q)
        close = np.flatnonzero(lack)
        if len(close):
            n = q.shape[1]
            moved = q[close, None] + STEP * np.eye(n)
            there = self.clear(moved.reshape(-1, n))[0].reshape(-1, n)
            change = (there - distance[close, None]) / STEP
            slopes[close] = -2.0 * PUSH * lack[close, None] / AHEAD * change
        return self._penalty(distance), slopes


def design(
    config: ExcitationConfig, *, progress: Report | None = None, cancel: Any = None
) -> ExcitationResult:
    """The motion that tells most; the same file gives the same motion.

    progress  called with (start, starts, iteration, objective)
    cancel    _engine.CancelToken; when cancelled the best so far is returned
    Raises InputError where no motion about home is clear and within the limits.
    """
    begun, problem = time.perf_counter(), ExcitationProblem(config)
    drawn, levels = _drawn(config, problem)
    ends: list[tuple[float, np.ndarray]] = []
    for k, z in enumerate(drawn[: config.starts]):
        if getattr(cancel, "cancelled", False) and ends:
            break
        ends.append(_improved(problem, z, k, progress, cancel))
    ends.sort(key=lambda end: end[0])
    c = problem.shaped(ends[0][1])
    carried, amplitude, displacement = _carried(config, c)
    found = _told(config, problem, displacement)
    status = "cancelled" if getattr(cancel, "cancelled", False) else "designed"
    values = tuple(-value for value, _ in ends)
    return ExcitationResult(
        config, status, carried, c, amplitude, values, levels, *found,
        problem.evaluations, time.perf_counter() - begun,
    )  # fmt: skip


def _drawn(
    config: ExcitationConfig, problem: ExcitationProblem
) -> tuple[list[np.ndarray], tuple[float, ...]]:
    """Random motions, the best first, and what each tells."""
    rng, series = np.random.default_rng(config.seed), problem.bounded.series
    limits, tables = config.limits, series.tables
    # what a coefficient may be, alone
    size = np.abs(tables).max(axis=1)  # (4, size)
    room = config.room.min(axis=0)
    most = np.stack([room, limits.velocity, limits.acceleration, limits.jerk])
    large = np.min(most[:, :, None] / size[:, None, :], axis=0)
    draws = SPREAD * rng.normal(size=(DRAWN * config.starts, *large.shape)) * large
    starts = [draw.ravel() for draw in draws]
    values = np.array([problem.alone(z) for z in starts])
    order = np.argsort(values[:, 0], kind="stable")
    return [starts[k] for k in order], tuple(float(-values[k, 1]) for k in order)


def _improved(
    problem: ExcitationProblem, z: np.ndarray, number: int, progress: Report | None, cancel: Any
) -> tuple[float, np.ndarray]:
    """(objective, coefficients) at the end of a start."""
    config, done = problem.config, 0
    scale = np.linalg.norm(z.reshape(-1, problem.bounded.series.size), axis=1)
    unit = np.repeat(scale, problem.bounded.series.size) / np.sqrt(problem.bounded.series.size)
    best = problem.alone(z)[0], z

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best
        if getattr(cancel, "cancelled", False):
            raise _Cancelled
        value, slope = problem(x * unit)
        if value < best[0]:
            best = value, x * unit
        return value, slope * unit

    def step(x: np.ndarray) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(number, config.starts, done, -best[0])

    try:
        minimize(
            objective, z / unit, jac=True, method="L-BFGS-B", callback=step,
            options={"maxiter": config.iterations, "maxcor": 20},
        )  # fmt: skip
    except _Cancelled:
        pass
    return best


def _carried(config: ExcitationConfig, c: np.ndarray) -> tuple[Carried, float, np.ndarray]:
    """The motion as large as it may be: checked; its amplitude, and its rows (3, m, n) of one
    period.  InputError where even the smallest comes too near, or cannot be sent."""
    count = max(2, round(config.duration / PERIOD))
    times = np.linspace(0.0, config.duration, count + 1)
    rows = np.einsum("ktc,jc->ktj", config.bounded.series.at(times)[:3], c)
    rows *= _largest(config, times, rows)
    rows[:, [0, -1]] = 0.0  # what rounding leaves there
    clear = Clearance(config.arm, config.obstacles)
    sweep = CollisionCheck(config.arm, config.clearance)
    refused: InputError | None = None
    for amplitude in SMALLER:
        motion = _trajectory(config, times, amplitude * rows)
        try:
            carried = sent(config.arm, None, motion, clear, {"periods": config.periods})
            sweep.check(motion, Around(config.obstacles))
        except InputError as error:
            refused = error
            continue
        return carried, amplitude, amplitude * rows
    assert refused is not None
    raise refused


def _largest(config: ExcitationConfig, times: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Factors (n,) by which every joint's motion reaches the nearest of its limits, between points
    too."""
    joints, limits = config.arm.robot.joint_names, config.limits
    found = peaks(JointTrajectory(joints, times, *rows))
    shares = [found["upper"] / config.room[0], -found["lower"] / config.room[1]]
    shares += [found[k] / getattr(limits, k) for k in ("velocity", "acceleration", "jerk")]
    return 1.0 / np.maximum(np.max(shares, axis=0), 1e-12)


def _trajectory(config: ExcitationConfig, times: np.ndarray, rows: np.ndarray) -> JointTrajectory:
    """All periods, one after the other."""
    rows = rows.copy()
    rows[0] += config.arm.home
    again = [config.duration * k + times[1:] for k in range(config.periods)]
    every = np.concatenate([times[:1], *again])
    whole = np.concatenate([rows[:, :1], *[rows[:, 1:]] * config.periods], axis=1)
    return JointTrajectory(config.arm.robot.joint_names, every, *whole)


def _told(
    config: ExcitationConfig, problem: ExcitationProblem, rows: np.ndarray
) -> tuple[dict[str, float], tuple[str, ...], int]:
    """Expected sigma of what efforts tell by itself; names of the rest; how much they tell."""
    own = problem.information
    columns = own.columns(config.arm.home + rows[0], rows[1], rows[2])
    F = config.readings * own.matrix(columns)
    covariance = own.basis @ np.linalg.inv(F + RIDGE * np.eye(len(F))) @ own.basis.T
    spread = np.sqrt(np.diagonal(covariance))
    alone = {name: own.index(name) for name in own.names if own.alone[own.index(name)]}
    together = tuple(name for name in own.names if name not in alone)
    return {name: float(spread[k]) for name, k in alone.items()}, together, own.basis.shape[1]
